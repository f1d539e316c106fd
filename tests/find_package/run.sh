#!/bin/sh
# Installs the build BUILD into a fresh folder and builds another project against it with find_package(policygrad).
set -eu
build=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log"
cxx=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
sanitize=$(sed -n 's/^POLICYGRAD_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt")
"$cmake" -S tests/find_package -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="${sanitize:+-fsanitize=$sanitize}"
"$cmake" --build "$work/build"
"$work/build/uses_policygrad"
