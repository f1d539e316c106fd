#!/bin/sh
# configure.sh BUILD JOBS GOAL OPTION...: runs CMake in BUILD unless it was done with these options before. Before the
# first build it says how long making GOAL will take.
set -eu
build=$1
jobs=$2
goal=$3
shift 3
# A build folder knows its own absolute path and that of the sources: after a copy it would build the old tree.
made_in=$(sed -n 's/^CMAKE_CACHEFILE_DIR:INTERNAL=//p' "$build/CMakeCache.txt" 2>/dev/null || true)
if [ "$made_in" ] && [ "$(cd "$made_in" 2>/dev/null && pwd -P)" != "$(cd "$build" && pwd -P)" ]; then
  echo "$build was made in $made_in and is made anew here."
  rm -rf "$build"
fi
if [ -e "$build/CMakeCache.txt" ] && [ "$(cat "$build/options" 2>/dev/null)" = "$*" ]; then exit 0; fi

if [ ! -e "$build/libpg_rl.a" ]; then
  case $goal in
    lesson[0-9]*) programs="lessons/kit lessons/${goal#lesson}_*/*.cpp lessons/0${goal#lesson}_*/*.cpp" ;;
    test) programs='tools lessons tests' ;;
    *) programs='tools tests/op_samples/*.cpp lessons/kit lessons/*_*/*.cpp' ;;
  esac
  # shellcheck disable=SC2086  # lists of patterns
  files=$(find tensor autograd nn rl tasks $programs -name '*.cpp' 2>/dev/null | wc -l)
  echo "First build: $((files + 0)) files, about $((files * 2 / jobs + 10)) seconds with $jobs cores. Later builds compile only what changed."
fi
if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then set -- -G Ninja "$@"; fi
mkdir -p "$build"
if ! cmake -S . -B "$build" "$@" >"$build/configure.log" 2>&1; then
  cat "$build/configure.log" >&2
  exit 1
fi
[ "$1" != -G ] || shift 2
echo "$*" >"$build/options"
