#!/bin/sh
# bundle.sh DIR: fills DIR, such as a folder on a USB stick, with what laptops without network need: DIR/packages has the
# packages of scripts/setup.sh with all they depend on, for machines with this one's release of Debian or Ubuntu, and
# DIR/Packages is apt's index of them; DIR/install.sh (scripts/install_bundle.sh) installs them; DIR/data has the files of
# pg fetch that are on this machine; DIR/SHA256SUMS the checksums of all.
set -eu
fail() {
  echo "bundle: $1" >&2
  exit 1
}
case ${1:-} in '') fail 'type: make bundle DIR=FOLDER' ;; /*) to=$1 ;; *) to=$PWD/$1 ;; esac
cd "$(dirname "$0")/.."
command -v apt-get >/dev/null || fail 'packages are collected with apt, on Debian or Ubuntu'
[ ! -e "$to" ] || [ -d "$to" ] || fail "$to is not a folder"
[ -z "$(ls -A "$to" 2>/dev/null)" ] || fail "$to is not empty"
mkdir -p "$to" || fail "$to cannot be made"
log=$(mktemp)
trap 'rm -f "$log"; rm -rf "$to/packages.tmp"' EXIT

# apt chooses as for a machine on which nothing is installed. The index is made of the packages themselves.
packages=$(sh scripts/setup.sh --packages)
mkdir -p "$to/packages.tmp/partial"
: >"$to/packages.tmp/status"
# shellcheck disable=SC2086  # a list of names
if ! LC_ALL=C apt-get install -y --download-only --no-install-recommends -o Dir::State::status="$to/packages.tmp/status" \
  -o Dir::Cache::archives="$to/packages.tmp" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Debug::NoLocking=1 \
  -o APT::Sandbox::User= $packages >"$log" 2>&1; then
  fail "the packages could not be downloaded; without a network there is no bundle. apt-get said: $(tail -n 1 "$log")"
fi
mkdir "$to/packages"
for package in "$to/packages.tmp"/*.deb; do
  name=$(basename "$package" | sed 's/_[0-9]*%3a/_/') # without the epoch, whose colon some sticks cannot have
  mv "$package" "$to/packages/$name"
  (
    cd "$to"
    dpkg-deb --field "packages/$name"
    echo "Filename: packages/$name"
    echo "Size: $(($(wc -c <"packages/$name")))"
    echo "SHA256: $(sha256sum "packages/$name" | cut -d ' ' -f 1)"
    echo
  ) >>"$to/Packages"
done
echo "$packages" >"$to/packages.txt"
cp scripts/install_bundle.sh "$to/install.sh"

# The names of the files are those of data_manifest().
mkdir "$to/data"
sed -n '/data_manifest() {/,/^}/s/^ *{"\([^"]*\)",.*/\1/p' tasks/data/fetch.cpp | while IFS= read -r name; do
  for folder in "${POLICYGRAD_DATA:-}" "${POLICYGRAD_CACHE:-data}"; do
    if [ -n "$folder" ] && [ -f "$folder/$name" ] && [ ! -e "$to/data/$name" ]; then
      mkdir -p "$to/data/$(dirname "$name")"
      cp "$folder/$name" "$to/data/$name"
    fi
  done
done

(cd "$to" && find Packages packages.txt install.sh packages data -type f -exec sha256sum {} + | sort -k 2 >SHA256SUMS)
echo "$to has $(find "$to/packages" -type f | wc -l) packages and $(find "$to/data" -type f | wc -l) data files."
echo "On a laptop: sudo sh install.sh, in that folder."
