# The steps of scripts/ci.sh, which reads this file.
# shellcheck shell=bash disable=SC2154  # ci.sh sets `changed`
passed=0 failed=0 skipped=0
jobs=$(nproc)
layer_tests='tensor_tests autograd_tests nn_tests tasks_tests rl_tests pg_tests'
rows=() left_out=()

step() { # step NAME COMMAND...: runs it; adds the tally it ends with, or counts it as one; notes its time
  local name=$1 log times stamp tally status start=$SECONDS compiled p f s cpu
  shift
  log=$(mktemp) times=$(mktemp) stamp=$(mktemp)
  echo "== $name"
  TIMEFORMAT='%U %S'
  { time { "$@" 2>&1 | tee "$log"; status=${PIPESTATUS[0]}; }; } 2>"$times"
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
  compiled=$(find . -path ./.git -prune -o \( -name '*.o' -o -name '*.gch' -o -name '*.pch' \) -newer "$stamp" -print | wc -l)
  cpu=$(awk 'END { printf "%.0f", $1 + $2 }' "$times")
  rows+=("$(printf '%6d %9d %9d  %s' $((SECONDS - start)) "$cpu" "$compiled" "$name")")
  echo "== $name: $((SECONDS - start)) s, $cpu s of processor time, $compiled files compiled"
  rm -f "$log" "$times" "$stamp"
}
summary() { # what each step took, and what was left out
  printf '\n%6s %9s %9s\n' seconds cpu compiled
  printf '%s\n' "${rows[@]}"
  printf '%6d seconds in all\n' $SECONDS
  [ ${#left_out[@]} = 0 ] || printf 'left out: %s\n' "${left_out[@]}"
}

as_root=$([ "$(id -u)" = 0 ] || echo sudo)
other_compilers='clang++-19 g++-13 g++-14' # those of Debian and Ubuntu that no build of a gate uses
ci_packages() { # ci_packages GATE: all packages in one call; the fast gate calls only if a program is missing
  local packages='ninja-build clang libclang-rt-dev lld clang-format shellcheck patch' program
  if [ "$1" = fast ]; then
    for program in ninja clang++ ld.lld clang-format shellcheck patch; do command -v "$program" >/dev/null || break; done
    if command -v "$program" >/dev/null && sh scripts/setup.sh --missing &&
      echo 'int main() {}' | clang++ -fsanitize=address -x c++ - -o /dev/null; then return; fi
  fi
  $as_root apt-get -qq update
  if [ "$1" = full ]; then
    packages+=' valgrind libopenmpi-dev openmpi-bin chromium'
    for program in $other_compilers; do
      program=${program/clang++/clang}
      if apt-cache pkgnames | grep -qxF "$program"; then packages+=" $program"; fi
    done
  fi
  # shellcheck disable=SC2086,SC2046  # lists of packages
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
    $(sh scripts/setup.sh --packages) $packages >/dev/null
}
formatting() { # by the version that decides the layout; another one would lay out some lines differently
  local version
  version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
  if [ "$version" != 14 ]; then
    printf 'skipped: clang-format 14 decides the layout, and this is version %s\n0 passed, 0 failed, 1 skipped\n' "$version"
    return
  fi
  git ls-files '*.h' '*.cpp' '*.cu' | xargs -P "$jobs" -n 60 clang-format --dry-run -Werror
}
scripts() { git ls-files '*.sh' .ci/run | xargs -P "$jobs" -n 8 shellcheck -x; }

readme_test() { # the very command that the README promises
  local command
  command=$(grep -E '^sh scripts/setup\.sh && make test$' README.md) || { echo 'README.md has lost its test command'; return 1; }
  BUDGET=1 bash -c "$command"
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
batches() { # batches: groups the tests of the input, a group per line: costly ones first and alone, the others by six
  awk '
    FILENAME != "-" {
      if ($1 == "cost" && $2 >= 2) { sub(/^cost +[0-9.]+ +/, ""); costly[++n] = $0; is_costly[$0] = 1 }
      next
    }
    $0 in is_costly { here[$0] = 1; next }
    { others[++count] = $0 }
    END {
      for (i = 1; i <= n; ++i) if (costly[i] in here) print costly[i]
      for (i = 1; i <= count; ++i) printf "%s%s", others[i], i % 6 && i < count ? "," : "\n"
    }' tests/costs.txt -
}
side_by_side() { # side_by_side PROGRAM FILTER...: its tests, some per process, as many processes as hardware threads
  local program=$1 list=--list-test-names-only log status
  "$@" -h | grep -q -e "$list" || list='--list-tests --verbosity quiet' # Catch2 3
  log=$(mktemp)
  # shellcheck disable=SC2016,SC2086
  "$@" $list | sed 's/^ *//; /^$/d; s/[][,]/\\&/g' | batches | xargs -d '\n' -n 1 -P "$jobs" bash -c '
    output=$("$0" "$1" 2>&1)
    status=$?
    printf "%s\n" "$output"
    exit "$status"' "$program" >"$log"
  status=$?
  grep -vE '^[0-9]+ passed, |^Filters: |^All tests passed|^cpu |^=+$|^$' "$log"
  awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5 }
       END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit !p }' "$log" || status=1
  rm -f "$log"
  return "$status"
}

# Objects with AddressSanitizer and libraries without: a container that both change has marks of only one.
mixed=detect_container_overflow=0
sanitized_layer() { # sanitized_layer FOLDER LAYER...: their sources and tests/FOLDER; the rest is from the README's build
  local folder=$1
  bash scripts/sanitize_layer.sh build "$@" && ASAN_OPTIONS=$mixed side_by_side "build-asan/${folder}_tests" '~[slow]'
}
commands_of() { # commands_of BUILD: the tests of pg's commands that try the most, on the pg of that build
  local test status=0
  for test in cli hostile chat_rl; do sh tests/pg/$test.sh "$1" || status=1; done
  return $status
}
all_commands() { # all_commands BUILD: those, while commands run on several simulated GPUs; each mostly uses a core
  local log status=0
  log=$(mktemp)
  sh tests/cuda/sim/ranks.sh "$1" >"$log" 2>&1 &
  commands_of "$1" || status=1
  wait $! || status=1
  cat "$log"
  rm -f "$log"
  return $status
}
sanitized_commands() { ASAN_OPTIONS=$mixed commands_of build-asan; }
tsan_tests() { build build-tsan pool_tests -- --preset tsan && build-tsan/pool_tests; }

# The README's build folder goes on as a build for the simulator, then for nvcc: what CUDA does not concern is there.
simulated() { build_on "$1" -DPOLICYGRAD_CUDA=sim && side_by_side "build/$1" ${2:+"$2"}; }  # simulated TESTS [FILTER]
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
no_nvcc() { printf 'skipped: no nvcc on this machine\n0 passed, 0 failed, 1 skipped\n'; }
on_nvcc() { build_on "$1" -DPOLICYGRAD_CUDA=nvcc -DCMAKE_CUDA_ARCHITECTURES=90-real -DPOLICYGRAD_WERROR=ON; }
nvcc_tests() { # compiles for GPUs; without one every test that needs it says so and counts as skipped
  if [ -z "$nvcc" ]; then no_nvcc; return; fi
  on_nvcc 'sim_kernels cuda_tests pg' && build/cuda_tests
}
nvcc_changed() { # compiles the changed kernels for GPUs
  if [ -z "$nvcc" ]; then no_nvcc; return; fi
  on_nvcc "$(grep -E '^tensor/cuda/.*\.cu$' <<<"$changed" | while read -r file; do
    [ ! -e "$file" ] || echo "CMakeFiles/pg_tensor.dir/$file.o"
  done | tr '\n' ' ')"
}

clang_changed() { # clang_changed PATHS: clang++ -Werror on the changed sources that match, without making code
  local files
  files=$(grep -E "$1" <<<"$changed" | while read -r file; do [ ! -e "$file" ] || echo "/$file\$"; done | paste -sd '|')
  [ -z "$files" ] || ONLY=$files bash scripts/warnings.sh clang++ build-clang
}
asan_build() { # host code under both sanitizers; .cu files under the second and the simulator's checks
  # shellcheck disable=SC2086  # a list of targets
  build build-asan $layer_tests sim_tests cuda_tests pg -- --preset asan -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_CXX_FLAGS=-fsanitize-trap=undefined -DPOLICYGRAD_WERROR=ON -DPOLICYGRAD_CUDA=sim
}
# Checkpoints and demonstrations of a build for AVX2 have the bytes of this one's. bf16 differs where one instruction multiplies its pairs.
avx2_bits() {
  if ! grep -qw avx512f /proc/cpuinfo; then
    printf 'skipped: no AVX-512 on this machine\n0 passed, 0 failed, 1 skipped\n'
    return
  fi
  local lesson lessons=(lesson3 lesson6 lesson7 lesson7b lesson9)
  build build-avx2 pg "${lessons[@]}" -- -DCMAKE_BUILD_TYPE=Release -DPOLICYGRAD_NATIVE=OFF \
    -DCMAKE_CXX_FLAGS=-march=x86-64-v3 && sh tools/same_runs.sh build/pg build-avx2/pg bf16 || return 1
  for lesson in "${lessons[@]}"; do
    for folder in build build-avx2; do
      "$folder/$lesson" --plain | sed '/^[0-9.]* s\. Now read/,$d' >"$folder/$lesson.txt"
    done
    cmp "build/$lesson.txt" "build-avx2/$lesson.txt" || return 1
  done
}
web_pages() {
  sh tools/web/build.sh "$jobs" && node tests/web/pages.js build-web/site && node tests/web/editing.js build-web/site &&
    node tests/web/settings.js build-web/site && node tests/web/hunt.js build-web/site &&
    node tests/web/access.js build-web/site &&
    cmake --build build --parallel "$jobs" --target microscope &&
    node tests/web/microscope.js build-web/site build/microscope
}
instructions() { sh tests/instructions/run.sh || [ $? = 77 ]; }  # 77: it said why it was skipped
sass() { sh tests/sass/run.sh || [ $? = 77 ]; }

fuzz_sources() { sed -n 's|^// sources: ||p' "$1" | tr ' ' '\n'; }
fuzz_paths() { # the sources and headers of all fuzz targets, as a pattern
  { echo tests/fuzz/; for target in tests/fuzz/*.cpp; do fuzz_sources "$target"; done; } |
    sed 's/\.cpp$/./; s/\./\\./g; s/^/^/' | sort -u | paste -sd '|'
}
fuzz_changed() { # the targets with a changed source or header
  local target targets=()
  for target in tests/fuzz/*.cpp; do
    if grep -qFf <({ echo "$target"; fuzz_sources "$target"; } | sed 's/\.cpp$/./') <<<"$changed"; then
      targets+=("$target")
    fi
  done
  [ ${#targets[@]} = 0 ] || sh tests/fuzz/run.sh 5 "${targets[@]}"
}
changed_demos() { # the long demonstrations of the lessons that changed
  local numbers
  numbers=$(sed -n 's|^lessons/0*\([0-9]*[a-z]*\)_.*|\1|p' <<<"$changed" | sort -u | paste -sd '|')
  LONG=1 sh scripts/run_tests.sh build "$jobs" -R "^lesson($numbers)_demo$" -L long
}
