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

jobs=$(nproc 2>/dev/null || sysctl -n hw.ncpu)
alone() {
  cd "$work/prefix/include/policygrad"
  find . -name '*.h' | sed 's|^\./||' | sort >"$work/headers"
  [ "$(wc -l <"$work/headers")" -gt 50 ] || { echo 'fewer than 50 headers are installed'; return 1; }
  mkdir alone
  while IFS= read -r header; do
    printf '#include <%s>\n' "$header" >"alone/$(echo "$header" | tr / _).cpp"
  done <"$work/headers"
  find alone -name '*.cpp' | xargs -P "$jobs" -I '{}' "$cxx" -std=c++20 -I. -fsyntax-only '{}'
}
if ! (alone); then
  echo 'an installed header does not compile alone, or includes one that is not installed'
  exit 1
fi

"$cmake" -S tests/find_package -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="${sanitize:+-fsanitize=$sanitize}"
"$cmake" --build "$work/build"
"$work/build/uses_policygrad"
