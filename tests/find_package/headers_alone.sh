#!/bin/sh
# headers_alone.sh BUILD CMAKE: every header that BUILD installs compiles alone, with no others than installed ones.
set -eu
build=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cxx=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cd "$work/include/policygrad"
find . -name '*.h' | sed 's|^\./||' | sort >"$work/headers"
[ "$(wc -l <"$work/headers")" -gt 50 ] || { echo 'fewer than 50 headers are installed'; exit 1; }
mkdir alone
while IFS= read -r header; do
  printf '#include <%s>\n' "$header" >"alone/$(echo "$header" | tr / _).cpp"
done <"$work/headers"
find alone -name '*.cpp' | xargs -P "$(nproc 2>/dev/null || sysctl -n hw.ncpu)" -I '{}' \
  "$cxx" -std=c++20 -fsyntax-only -I. '{}' ||
  { echo 'an installed header does not compile alone, or includes one that is not installed'; exit 1; }
echo "$(wc -l <"$work/headers") headers compile alone"
