#!/bin/sh
# install_bundle.sh, copied as install.sh to what make bundle fills: installs the packages of the bundle beside it with
# apt and without network. Packages that are installed already, in these versions or newer ones, stay as they are.
set -eu
cd "$(dirname "$0")"
fail() {
  echo "install: $1" >&2
  exit 1
}
[ "$(id -u)" = 0 ] || fail 'type: sudo sh install.sh'
command -v apt-get >/dev/null || fail 'the packages are for Debian and Ubuntu'
sha256sum -c --quiet SHA256SUMS || fail 'the bundle is damaged: copy it again'
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/lists/partial"
echo "deb [trusted=yes] file:$(pwd | sed 's/%/%25/g; s/ /%20/g') ./" >"$apt/sources.list"
from_here() { # from_here COMMAND...: apt-get knows the packages of this folder only
  env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$apt/lists" -o APT::Sandbox::User=root "$@"
}
from_here update >"$apt/log" 2>&1 || fail "apt does not read this folder: $(tail -n 1 "$apt/log")"
# shellcheck disable=SC2046  # a list of names
if ! from_here install -y --no-install-recommends $(cat packages.txt); then
  fail "apt could not install them (see above). If this machine's packages are newer than the bundle's, make the bundle
on a machine that is up to date; the release of Debian or Ubuntu must be the same."
fi
echo 'The packages are installed.'
