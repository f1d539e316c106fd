#!/bin/sh
# run.sh BUILD CMAKE: the three ways to use the engine from another project.
#   1. find_package(policygrad): installs BUILD into a fresh folder, compiles every installed header, and builds and runs
#      a program against the installed library, and docs/grpo.cpp.
#   2. A build that is made to be installed is not for this machine only.
#   3. add_subdirectory(policygrad): the other project keeps its own compiler flags.
set -eu
build=$1
cmake=$2
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cache() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
cxx=$(cache CMAKE_CXX_COMPILER)
sanitize=$(cache POLICYGRAD_SANITIZE)
fail() { echo "find_package: $1"; exit 1; }

# One source that includes every header, the last one first. headers_alone.sh, a long test, compiles each alone.
(
  cd "$work/prefix/include/policygrad"
  find . -name '*.h' | sed 's|^\./||' | LC_ALL=C sort -r >"$work/headers"
  [ "$(wc -l <"$work/headers")" -gt 50 ] || { echo 'fewer than 50 headers are installed'; exit 1; }
  sed 's/.*/#include <&>/' "$work/headers" >all.cpp
  "$cxx" -std=c++20 -fsyntax-only -I. all.cpp
) || fail 'the installed headers do not compile'

"$cmake" -S tests/find_package -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="${sanitize:+-fsanitize=$sanitize}"
"$cmake" --build "$work/build"
"$work/build/uses_policygrad"
"$work/build/grpo" >"$work/log" || fail 'docs/grpo.cpp fails'
tail -n 1 "$work/log" | awk '{ exit !($NF >= 0.9) }' || { cat "$work/log"; fail 'docs/grpo.cpp does not learn to copy'; }

configure() { # configure SOURCE FOLDER OPTION...: only that; compile_commands.json has the command of every file
  source=$1 folder=$work/$2
  shift 2
  "$cmake" -S "$source" -B "$folder" -DCMAKE_CXX_COMPILER="$cxx" "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
command_of() { # command_of FOLDER FILE: the command that compiles it
  found=$(sed -n 's/^ *"command": "\(.*\)",$/\1/p' "$work/$1/compile_commands.json" | sed 's/\\"/"/g' | grep "$2\$") ||
    fail "$1/compile_commands.json has no command for $2"
  printf '%s\n' "$found"
}
for_any_machine() { # for_any_machine FOLDER
  case $(command_of "$1" tensor/shape.cpp) in
    *=native*) fail "$1: the engine is compiled for this machine only" ;;
    *-ffp-contract=off*) ;;
    *) fail "$1: the engine is compiled without its flags" ;;
  esac
}

configure . installed -DCMAKE_INSTALL_PREFIX="$work/prefix"
for_any_machine installed

configure tests/find_package/subdirectory contains -DPOLICYGRAD="$root"
for_any_machine contains
own=$(command_of contains warns.cpp)
for flag in $own; do
  case $flag in
    # The engine asks for the language and the folders of headers. FMT_SHARED is fmt's, -arch and -isysroot are Apple's.
    -std=* | -I* | -isystem | -Wall | -o | -c | -DFMT_SHARED | -arch | -isysroot) ;;
    -*) fail "add_subdirectory adds $flag to the flags of the other project" ;;
  esac
done
if ! (cd "$work/contains" && eval "$own") 2>"$work/log"; then
  cat "$work/log"
  fail 'a warning of the other project became an error'
fi
grep -q unused "$work/log" || fail 'the other project has lost its warnings'
