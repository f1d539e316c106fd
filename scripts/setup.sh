#!/bin/sh
# Installs what policygrad needs and this machine lacks: apt-get as root or with sudo, brew on macOS; without either it
# prints the one line to type. With everything present it only looks at files: no network, a few milliseconds.
#   sh scripts/setup.sh            install what is missing
#   sh scripts/setup.sh --missing  print the missing packages, install nothing; exit 1 if there are any
#   sh scripts/setup.sh --packages print all packages of Debian and Ubuntu that it would install on a bare machine
# shellcheck disable=SC2317  # need() calls the tests
set -u

system=$(uname -s)
roots="/usr/include /usr/local/include /opt/homebrew/include"
for prefix in $(printf %s "${CMAKE_PREFIX_PATH:-}" | tr ':;' '  '); do roots="$roots $prefix/include"; done

have_header() {
  for root in $roots; do [ -e "$root/$1" ] && return 0; done
  command -v "${CXX:-c++}" >/dev/null && echo "#include <$1>" | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1
}

have_command() { command -v "$1" >/dev/null; }
have_catch2() { have_header catch2/catch.hpp || have_header catch2/catch_all.hpp; }
have_certificates() { [ "$system" = Darwin ] || [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -d /etc/pki/tls/certs ]; }

mode=${1:-}
missing=
need() { # need APT_PACKAGE BREW_PACKAGE TEST...: missing unless the test of its presence succeeds
  apt=$1
  brew=$2
  shift 2
  if [ "$mode" = --packages ]; then missing="$missing $apt"; return; fi
  if "$@"; then return; fi
  if [ "$system" = Darwin ]; then missing="$missing $brew"; else missing="$missing $apt"; fi
}
need g++ gcc have_command "${CXX:-c++}"
need make make have_command make
need cmake cmake have_command cmake
need curl curl have_command curl
need ca-certificates - have_certificates
need libfmt-dev fmt have_header fmt/core.h
need libcli11-dev cli11 have_header CLI/CLI.hpp
need catch2 catch2 have_catch2
need nlohmann-json3-dev nlohmann-json have_header nlohmann/json.hpp
need libyaml-cpp-dev yaml-cpp have_header yaml-cpp/yaml.h
need libpcre2-dev pcre2 have_header pcre2.h
need libutf8proc-dev utf8proc have_header utf8proc.h
need libgmp-dev gmp have_header gmpxx.h
missing=${missing# }

if [ "$mode" = --packages ]; then
  echo "$missing"
  exit 0
fi
if [ "$mode" = --missing ]; then
  [ -z "$missing" ] && exit 0
  echo "$missing"
  exit 1
fi
[ -z "$missing" ] && exit 0

type_this() { # type_this COMMAND: this script cannot do it
  echo "policygrad needs packages that only an administrator can install. Type this, then try again:" >&2
  echo "  $1" >&2
  exit 1
}
install_line="apt-get update && apt-get install -y --no-install-recommends $missing"

if [ "$system" = Darwin ]; then
  command -v brew >/dev/null || type_this "install Homebrew (https://brew.sh), then: brew install $missing"
  # shellcheck disable=SC2086  # a list of package names
  exec brew install $missing
fi
if ! command -v apt-get >/dev/null; then
  echo "policygrad knows apt and brew only. Install what your system calls these Debian packages: $missing" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
  as_root=sudo
else
  type_this "su -c '$install_line'"
fi

echo "Installing $missing (once, a minute or a few)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086  # as_root may be empty
if ! $as_root env DEBIAN_FRONTEND=noninteractive sh -c "$install_line" >"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  echo "The installation failed (apt's last words are above). The line was: $install_line" >&2
  exit 1
fi
still=$(sh "$0" --missing) && exit 0
echo "Installed, yet these are not found: $still" >&2
exit 1
