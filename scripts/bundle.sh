#!/bin/sh
# bundle.sh DIR: fills DIR, such as a folder on a USB stick, with what laptops without network need: DIR/packages has the
# packages of scripts/setup.sh with all they depend on, for machines with this one's release of Debian or Ubuntu;
# DIR/data the files of pg fetch that are on this machine; DIR/SHA256SUMS the checksums of all.
set -eu
fail() {
  echo "bundle: $1" >&2
  exit 1
}
case ${1:-} in '') fail 'type: make bundle DIR=FOLDER' ;; /*) to=$1 ;; *) to=$PWD/$1 ;; esac
cd "$(dirname "$0")/.."
command -v apt-cache >/dev/null || fail 'packages are collected with apt, on Debian or Ubuntu'
[ ! -e "$to" ] || [ -d "$to" ] || fail "$to is not a folder"
[ -z "$(ls -A "$to" 2>/dev/null)" ] || fail "$to is not empty"
mkdir -p "$to" || fail "$to cannot be made"
log=$(mktemp)
trap 'rm -f "$log"; rm -rf "$to/packages.tmp"' EXIT

# Names of virtual packages are in <>; packages that provide them are named too.
# shellcheck disable=SC2046  # a list of names
LC_ALL=C apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
  --no-enhances $(sh scripts/setup.sh --packages) >"$log" 2>&1 ||
  fail "apt knows no such packages; apt-get update fetches its lists: $(tail -n 1 "$log")"
packages=$(grep '^[a-z0-9]' "$log" | sort -u)
[ -n "$packages" ] || fail 'apt knows none of the packages; apt-get update fetches its lists'
mkdir "$to/packages.tmp"
# shellcheck disable=SC2086  # a list of names
if ! (cd "$to/packages.tmp" && apt-get download $packages) >"$log" 2>&1; then
  fail "the packages could not be downloaded; without a network there is no bundle. apt-get said: $(tail -n 1 "$log")"
fi
mv "$to/packages.tmp" "$to/packages"

# The names of the files are those of data_manifest().
mkdir "$to/data"
sed -n '/data_manifest() {/,/^}/s/^ *{"\([^"]*\)",.*/\1/p' tasks/fetch.cpp | while IFS= read -r name; do
  for folder in "${POLICYGRAD_DATA:-}" "${POLICYGRAD_CACHE:-data}"; do
    if [ -n "$folder" ] && [ -f "$folder/$name" ] && [ ! -e "$to/data/$name" ]; then
      mkdir -p "$to/data/$(dirname "$name")"
      cp "$folder/$name" "$to/data/$name"
    fi
  done
done

(cd "$to" && find packages data -type f -exec sha256sum {} + | sort -k 2 >SHA256SUMS)
echo "$to has $(find "$to/packages" -type f | wc -l) packages and $(find "$to/data" -type f | wc -l) data files."
echo "On a laptop: sha256sum -c SHA256SUMS && sudo apt-get install --no-download --no-install-recommends ./packages/*.deb"
