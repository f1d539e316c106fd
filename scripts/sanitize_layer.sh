#!/bin/bash
# sanitize_layer.sh BUILT FOLDER LAYER...: compiles the sources of these layers and of their tests with clang++,
# AddressSanitizer and UndefinedBehaviorSanitizer, warnings as errors, into build-asan, and links the program FOLDER_tests
# of tests/FOLDER with them, and the program pg if pg_parts is one of them. Layers that an earlier call compiled are
# brought up to date and linked, too. All other libraries are those of the build folder BUILT (g++, without sanitizers), so
# that nothing else is compiled. An error in another layer is found where the changed code calls an instrumented function,
# or the run time a checked one (memcpy, free).
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(cd "$1" && pwd)
folder=$2
shift 2
build='build-asan'
shopt -s nullglob
for library in "$build"/lib*.a; do
  name=$(basename "$library" .a)
  case " $* " in *" ${name#lib} "*) ;; *) set -- "$@" "${name#lib}" ;; esac
done
log=$build.log
jobs=$(nproc)

# Undefined behaviour traps (SIGILL) without a message: that takes half of the time to compile.
cmake -S . -B $build -G Ninja --preset asan -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_FLAGS=-fsanitize-trap=undefined \
  -DPOLICYGRAD_WERROR=ON >$log 2>&1 || { tail -n 40 $log; exit 1; }

programs=${folder}_tests
case " $* " in *' pg_parts '*) programs="$programs pg" ;; esac
targets=$(ninja -C $build -t targets all)
objects=
for target in "$@" $programs; do
  objects="$objects $(sed -n "s|^\(\(tests/\)\{0,1\}CMakeFiles/$target\(_core\)\{0,1\}\.dir/.*\.o\): .*|\1|p" <<<"$targets")"
done
# shellcheck disable=SC2086  # a list of files
ninja -C $build -j "$jobs" -k 0 $objects >$log 2>&1 || { grep -v '^\[' $log | head -n 100; exit 1; }

cd $build
for layer in "$@"; do
  rm -f "lib$layer.a"
  # shellcheck disable=SC2046  # a list of files
  ar qc "lib$layer.a" $(sed -n "s|^\(CMakeFiles/$layer\(_core\)\{0,1\}\.dir/.*\.o\): .*|\1|p" <<<"$targets")
done
for program in $programs; do
  link=$(ninja -t commands "$program" | grep -o "[^&]*clang++ [^&]* -o $program [^&]*" | tail -n 1)
  while read -r library; do
    layer=${library#lib}
    case " $* " in *" ${layer%.a} "*) ;; *) link=${link// $library/ $built/$library} ;; esac
  done < <(grep -oE '\blib[a-z_0-9]+\.a\b' <<<"$link" | sort -u)
  eval "$link"
done
