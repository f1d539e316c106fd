#!/bin/sh
# Installs the build BUILD into a fresh folder, compiles every installed header alone, and builds another project against
# the installed library with find_package(policygrad).
set -eu
build=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log"
cache() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
cxx=$(cache CMAKE_CXX_COMPILER)
sanitize=$(cache POLICYGRAD_SANITIZE)

# The paths are relative and the cache, where there is one, then knows the headers of the last time.
ccache=$(cache CCACHE)
[ -x "$ccache" ] || ccache=
jobs=$(nproc 2>/dev/null || sysctl -n hw.ncpu)
alone() {
  cd "$work/prefix/include/policygrad"
  find . -name '*.h' | sed 's|^\./||' | sort >"$work/headers"
  [ "$(wc -l <"$work/headers")" -gt 50 ] || { echo 'fewer than 50 headers are installed'; return 1; }
  mkdir alone
  while IFS= read -r header; do
    printf '#include <%s>\n' "$header" >"alone/$(echo "$header" | tr / _).cpp"
  done <"$work/headers"
  # shellcheck disable=SC2086  # no ccache is no word
  find alone -name '*.cpp' | CCACHE_DEPEND=1 xargs -P "$jobs" -I '{}' \
    $ccache "$cxx" -std=c++20 -I. -MD -c '{}' -o '{}.o'
}
if ! (alone); then
  echo 'an installed header does not compile alone, or includes one that is not installed'
  exit 1
fi

"$cmake" -S tests/find_package -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="${sanitize:+-fsanitize=$sanitize}"
"$cmake" --build "$work/build"
"$work/build/uses_policygrad"
