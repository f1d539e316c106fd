#!/bin/bash
# Checks that the whole tree compiles under one compiler without a warning: engine, tools, lessons, tests, fuzz targets,
# and the CUDA kernels as the simulator compiles them. It makes no code, so g++ does not show the warnings that it knows
# only while it optimises, such as -Wmaybe-uninitialized: a build shows those. It uses no precompiled headers, so a
# source that does not include what it uses is found, too. It ends with "N passed, N failed, N skipped", which counts
# sources; a compiler that is not installed counts as one skipped.
# Usage: scripts/warnings.sh COMPILER [BUILD, else build-warnings-COMPILER]
#   JOBS=N      checks N sources at once, instead of one for each processor
#   ONLY=PATHS  checks only the sources whose path matches this pattern (grep -E)
#   PRECOMPILE=ON  uses clang++'s precompiled headers: less time, but a missing #include is not found
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
compiler=${1:?usage: scripts/warnings.sh COMPILER [BUILD]}
build=${2:-build-warnings-$(basename "$compiler")}
if ! command -v "$compiler" >/dev/null; then
  printf 'skipped: no %s on this machine\n0 passed, 0 failed, 1 skipped\n' "$compiler"
  exit
fi
mkdir -p "$build" && cd "$build" || exit 1
build=$PWD
if ! cmake -S "$root" -B . -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DPOLICYGRAD_CUDA=sim -DPOLICYGRAD_WERROR=ON \
  -DPOLICYGRAD_PRECOMPILE="${PRECOMPILE:-OFF}" >configure.log 2>&1; then
  cat configure.log
  echo '0 passed, 1 failed, 0 skipped'
  exit 1
fi
commands() { sed -n 's/^  "command": "\(.*\)",$/\1/p' compile_commands.json | sed 's/\\"/"/g; s/\\\\/\\/g'; }
others() { # others: a command for each source that CMake does not compile for this build
  sed -n 's/^  "file": "\(.*\)".*/\1/p' compile_commands.json >known
  for file in "$root"/tests/fuzz/*.cpp "$root"/tests/fuzz/*/*.cpp "$root"/tensor/cuda/*/no_*.cpp; do
    grep -qxF "$file" known || echo "$compiler -std=c++20 -I$root -Wall -Wextra -Wno-psabi -Werror -c $file"
  done
}
each() { # each: runs the commands of the input, a line each, side by side; writes a line "STATUS COMMAND" for each
  # shellcheck disable=SC2016  # for the inner shell
  tr '\n' '\0' | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" sh -c '
    output=$(eval "$0" 2>&1)
    status=$?
    [ -z "$output" ] || printf "%s\n" "$output" >&2
    echo "$status $0"'
}
{
  # What the build writes, such as the page of pg report as an array, is not there.
  { commands | grep -vF -e " -c $build/"; others; } | grep -E -e "${ONLY:-.}"
} >chosen
headers=$(grep -oE '[^ ]*/cmake_pch\.hxx\.pch' chosen | sort -u | sed "s|^$build/||")
# shellcheck disable=SC2086  # a list of files
[ -z "$headers" ] || ninja $headers >headers.log 2>&1 || { cat headers.log; echo '0 passed, 1 failed, 0 skipped'; exit 1; }
sed 's/$/ -fsyntax-only/' chosen | each >results
awk '$1 == 0 { ++passed } $1 != 0 { ++failed }
     END { printf "%d passed, %d failed, 0 skipped\n", passed, failed; exit !passed || failed > 0 }' results
