#!/bin/sh
# configure.sh BUILD OPTION...: runs CMake in BUILD unless it was done with these options before.
set -eu
build=$1
shift
# A build folder knows its own absolute path and that of the sources: after a copy it would build the old tree.
made_in=$(sed -n 's/^CMAKE_CACHEFILE_DIR:INTERNAL=//p' "$build/CMakeCache.txt" 2>/dev/null || true)
if [ "$made_in" ] && [ "$(cd "$made_in" 2>/dev/null && pwd -P)" != "$(cd "$build" && pwd -P)" ]; then
  echo "$build was made in $made_in and is made anew here."
  rm -rf "$build"
fi
if [ -e "$build/CMakeCache.txt" ] && [ "$(cat "$build/options" 2>/dev/null)" = "$*" ]; then exit 0; fi

if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then set -- -G Ninja "$@"; fi
mkdir -p "$build"
if ! cmake -S . -B "$build" "$@" >"$build/configure.log" 2>&1; then
  cat "$build/configure.log" >&2
  exit 1
fi
[ "$1" != -G ] || shift 2
echo "$*" >"$build/options"
