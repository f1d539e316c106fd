#!/bin/bash
# What must hold before a change lands, on a machine that may have nothing but git: the command of the README that runs
# the tests (g++), the whole tree and its tests under clang++ -Werror with sanitizers, CUDA, the fuzz targets, formatting,
# shell scripts. It ends with the sum of all counts.
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0 skipped=0
if [ -d ../shared/data ] && [ -z "${POLICYGRAD_DATA:-}" ]; then
  POLICYGRAD_DATA=$(cd ../shared/data && pwd)
  export POLICYGRAD_DATA
fi
jobs=$(nproc)

step() { # step NAME COMMAND...: runs it; adds the tally it ends with, or counts it as one
  local name=$1 log tally status start=$SECONDS
  shift
  log=$(mktemp)
  echo "== $name"
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  tally=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
  if [ -n "$tally" ]; then
    read -r p _ f _ s _ <<<"$tally"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    if [ "$status" != 0 ] && [ "$f" = 0 ]; then failed=$((failed + 1)); fi
  elif [ "$status" = 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  [ "$status" = 0 ] || echo "FAILED: $name"
  echo "== $name: $((SECONDS - start)) s"
  rm -f "$log"
}

as_root=$([ "$(id -u)" = 0 ] || echo sudo)
ci_tools() { # what only CI needs; setup.sh installs the rest
  command -v clang++ && command -v clang-format && command -v shellcheck && command -v ninja && command -v valgrind && command -v mpirun && command -v mpicxx &&
    command -v chromium && command -v patch &&
    echo 'int main() {}' | clang++ -fsanitize=address -x c++ - -o /dev/null && return
  $as_root apt-get update &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends clang libclang-rt-dev clang-format shellcheck ninja-build valgrind \
      libopenmpi-dev openmpi-bin chromium patch
}
readme_test() { # the very command that the README promises
  local command
  command=$(grep -E '^sh scripts/setup\.sh && make test$' README.md) || { echo 'README.md has lost its test command'; return 1; }
  eval "$command"
}
build() { # build FOLDER TARGETS... -- CMAKE_OPTIONS...: quiet unless it fails
  local folder=$1 targets=()
  shift
  while [ "$1" != -- ]; do targets+=("$1"); shift; done
  shift
  { cmake -S . -B "$folder" -G Ninja "$@" && cmake --build "$folder" --parallel "$jobs" --target "${targets[@]}"; } \
    >"$folder.log" 2>&1 || { tail -n 60 "$folder.log"; return 1; }
}
build_on() { # build_on TARGETS CMAKE_OPTIONS...: in the folder of the README's build
  local names=$1
  shift
  # shellcheck disable=SC2086  # a list of targets
  { cmake -S . -B build "$@" && cmake --build build --parallel "$jobs" --target $names; } >build/ci.log 2>&1 ||
    { tail -n 60 build/ci.log; return 1; }
}
asan_build() { # undefined behaviour traps (SIGILL) without a message, at half the compile time; without the flag it says where
  build build-asan pg_tests sim_tests cuda_tests -- --preset asan -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_CXX_FLAGS=-fsanitize-trap=undefined -DPOLICYGRAD_WERROR=ON -DPOLICYGRAD_CUDA=sim
}
clang_warnings() { # checks, without making code, the lessons and tools that the sanitizers' build did not compile
  cmake -S . -B build-clang -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DPOLICYGRAD_WERROR=ON -DPOLICYGRAD_PRECOMPILE=OFF \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >build-clang.log 2>&1 || { cat build-clang.log; return 1; }
  sed -n 's/^  "command": "\(.* -o \([^ ]*\(lessons\|tools\)[^ ]*\) -c .*\)",$/\2 \1 -fsyntax-only/p' build-clang/compile_commands.json |
    while read -r object command; do [ -e "build-asan/$object" ] || printf '%s\n' "$command"; done |
    sed 's/\\"/"/g; s/\\\\/\\/g' | tr '\n' '\0' | (cd build-clang && xargs -0 -n 1 -P "$jobs" sh -c)
}
side_by_side() { # side_by_side PROGRAM FILTER...: its tests, a dozen per process, as many processes as hardware threads
  local program=$1 list=--list-test-names-only log status
  "$@" -h | grep -q -e "$list" || list='--list-tests --verbosity quiet' # Catch2 3
  log=$(mktemp)
  # shellcheck disable=SC2016,SC2086
  "$@" $list | sed 's/^ *//; /^$/d; s/[][,]/\\&/g' | xargs -d '\n' -n 12 -P "$jobs" bash -c '
    output=$("$0" "$(IFS=,; echo "$*")" 2>&1)
    status=$?
    printf "%s\n" "$output"
    exit "$status"' "$program" >"$log"
  status=$?
  grep -vE '^[0-9]+ passed, |^Filters: |^All tests passed|^=+$|^$' "$log"
  awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5 }
       END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit !p }' "$log" || status=1
  rm -f "$log"
  return "$status"
}
asan_tests() { side_by_side "build-asan/$1" '~[slow]'; }  # asan_tests TESTS
tsan_tests() { build build-tsan pool_tests -- --preset tsan && build-tsan/pool_tests; }
# The README's build folder goes on as a build for the simulator, then for nvcc: what CUDA does not concern is there.
simulated() { build_on "$1" -DPOLICYGRAD_CUDA=sim && side_by_side "build/$1"; }  # simulated TESTS
simulated_ranks() { build_on pg -DPOLICYGRAD_CUDA=sim && sh tests/cuda/sim/ranks.sh build; }
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
nvcc_tests() { # compiles for GPUs; without one every test that needs it says so and counts as skipped
  if [ -z "$nvcc" ]; then printf 'skipped: no nvcc on this machine\n0 passed, 0 failed, 1 skipped\n'; return; fi
  build_on 'sim_kernels cuda_tests pg' -DPOLICYGRAD_CUDA=nvcc -DCMAKE_CUDA_ARCHITECTURES=90-real \
    -DPOLICYGRAD_WERROR=ON && build/cuda_tests
}
instructions() { sh tests/instructions/run.sh || [ $? = 77 ]; }  # 77: it said why it was skipped
sass() { sh tests/sass/run.sh || [ $? = 77 ]; }
formatting() { git ls-files '*.h' '*.cpp' '*.cu' | xargs clang-format --dry-run -Werror; }
scripts() { git ls-files "*.sh" .ci/run | xargs shellcheck; }

if ! ci_tools >/dev/null; then echo 'apt-get failed; what is missing will show below'; fi
step 'the README: set-up and make test' readme_test
step 'the examples of docs/EXTENDING.md' sh tests/extending/run.sh build cmake
step 'the CUDA simulator' simulated sim_tests
step 'CUDA kernels, simulated' simulated cuda_tests
step 'commands on several GPUs, simulated' simulated_ranks
step 'CUDA kernels by nvcc' nvcc_tests
step 'instructions per element of CUDA kernels' sass
step 'clang++ -Werror with AddressSanitizer and UndefinedBehaviorSanitizer' asan_build
step 'clang++ -Werror on the other programs' clang_warnings
step 'the sanitizers: tests' asan_tests pg_tests
step 'the sanitizers: the CUDA simulator' asan_tests sim_tests
step 'the sanitizers: CUDA kernels, simulated' asan_tests cuda_tests
step 'ThreadSanitizer on the pool' tsan_tests
step 'instructions per kernel, under valgrind' instructions
step 'fuzz targets, five seconds each' sh tests/fuzz/run.sh 5
step 'clang-format' formatting
step 'shellcheck' scripts

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
