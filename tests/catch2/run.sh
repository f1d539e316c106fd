#!/bin/sh
# run.sh BUILD CMAKE: CMake stops at a header of Catch2 that is not of the library's version (cmake/catch2.cmake).
set -u
build=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cxx=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cat >"$work/CMakeLists.txt" <<LISTS
cmake_minimum_required(VERSION 3.21)
project(catch2_header LANGUAGES CXX)
include($PWD/cmake/catch2.cmake)
LISTS
configure() { # configure FLAGS: with these compiler flags; the log has one line
  "$cmake" -S "$work" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$1" >"$work/log" 2>&1
  status=$?
  tr -s ' \n' ' ' <"$work/log" >"$work/line"
}
fail() { # fail TEXT
  echo "catch2_header: $1"
  cat "$work/log"
  exit 1
}

configure ''
[ $status = 0 ] || fail 'the header and the library of this machine are refused'
mkdir -p "$work/other/catch2"
: >"$work/other/catch2/catch_all.hpp"
printf '#define CATCH_VERSION_MAJOR 9\n#define CATCH_VERSION_MINOR 8\n#define CATCH_VERSION_PATCH 7\n' \
  >"$work/other/catch2/catch_version_macros.hpp"
configure "-I$work/other"
[ $status != 0 ] || fail 'a header of another version is taken'
grep -q "the header $work/other/catch2/catch_version_macros.hpp is of version 9.8.7, beside the library of /.*Catch2Config.cmake, which is of version [23]" \
  "$work/line" || fail 'the error does not say which header is beside which library'
