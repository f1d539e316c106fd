#!/bin/sh
# build.sh [JOBS]: makes the course's pages for a browser in build-web/site, static files that work from any folder. The
# compiler is the distribution's emscripten; the texts are rendered by cmark-gfm. Run from the repository's root.
set -eu
build="build-web"
sh scripts/setup.sh
missing=
for package in emscripten:em++ cmark-gfm:cmark-gfm; do
  command -v "${package#*:}" >/dev/null || missing="$missing ${package%:*}"
done
if [ -n "$missing" ]; then
  line="apt-get install -y --no-install-recommends$missing"
  as_root=
  [ "$(id -u)" = 0 ] || as_root=sudo
  command -v apt-get >/dev/null || { echo "make web needs$missing; install what your system calls these Debian packages" >&2; exit 1; }
  command -v ${as_root:-true} >/dev/null || { echo "make web needs packages: type  su -c 'apt-get update && $line'" >&2; exit 1; }
  $as_root apt-get -qq update
  # shellcheck disable=SC2086  # a list of packages
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
fi
# Debian's emscripten needs Debian's acorn, which another node does not find.
export NODE_PATH="${NODE_PATH:+$NODE_PATH:}/usr/share/nodejs"
[ -e $build/CMakeCache.txt ] || emcmake cmake -S . -B $build -DCMAKE_BUILD_TYPE=Release -DPOLICYGRAD_NATIVE=OFF >$build.log 2>&1 ||
  { rm -f $build/CMakeCache.txt; cat $build.log; exit 1; }
cmake --build $build --parallel "${1:-2}" --target web
node tools/web/site.js $build $build/site
