#!/bin/bash
# ci.sh: what must hold before a change lands, on a machine that may have nothing but git. The fast gate: formatting, the
# command of the README that runs the tests (g++), then what the change touches under sanitizers (clang++), in the CUDA
# simulator, by nvcc, under ThreadSanitizer and as fuzz targets. About 17 minutes on two cores; no rule begins after 19.
# ci.sh --full: the full gate, which also tests everything that the change does not touch. When it passes it writes the
# commit and the date to .ci/full; the fast gate becomes the full one when that record is 14 days old.
# ci.sh --rules: prints the rules of the fast gate that the change selects, and runs nothing.
# The change is everything since the commit CI_BASE; else since origin/main; where that is this commit, since the commit of
# .ci/full or six hours ago. Both gates print each step's time and end with "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/ci_steps.sh
export POLICYGRAD_NUMBERS=1 # the numbers of the lessons' texts are those of the demonstrations (lessons/kit/README.md)
if [ -d ../shared/data ] && [ -z "${POLICYGRAD_DATA:-}" ]; then
  POLICYGRAD_DATA=$(cd ../shared/data && pwd)
  export POLICYGRAD_DATA
fi

record=.ci/full max_age=14
recorded() { grep -xE '[0-9a-f]{40} [0-9]{4}-[0-9]{2}-[0-9]{2}' $record 2>/dev/null; } # the commit and the date, if there
base_commit() { # the commit that the change starts from; nothing if there is none
  local old full
  if [ -n "${CI_BASE:-}" ] && git cat-file -e "$CI_BASE^{commit}" 2>/dev/null; then git rev-parse "$CI_BASE"; return; fi
  if [ "$(git rev-parse -q --verify origin/main)" != "$(git rev-parse HEAD)" ]; then
    git merge-base origin/main HEAD 2>/dev/null && return
  fi
  old=$(git rev-list -1 --before='6 hours ago' HEAD)
  if read -r full _ < <(recorded); then
    # The newer one of the two.
    if git merge-base --is-ancestor "$full" HEAD 2>/dev/null &&
      { [ -z "$old" ] || git merge-base --is-ancestor "$old" "$full"; }; then old=$full; fi
  fi
  echo "$old"
}
changed_files() { # the files that differ from base_commit, or all
  local base
  base=$(base_commit)
  if [ -z "$base" ]; then git ls-files; else git diff --name-only "$base"; fi
  git ls-files --others --exclude-standard
}
age_of_full() { # days since the full gate passed; nothing if it is not recorded
  local date
  if read -r _ date < <(recorded) && date -d "$date" >/dev/null 2>&1; then
    echo $((($(date +%s) - $(date -d "$date" +%s)) / 86400))
  fi
}

# The rules, in the order in which they run: a name, the paths that select it, what it does. All of them are in this list.
layer_rule() { # layer_rule FOLDER PATHS LAYER...
  local folder=$1 paths=$2
  shift 2
  rule "sanitizers: ${folder}_tests with $*" "$paths" sanitized_layer "$folder" "$@"
}
rules() {
  rule 'ThreadSanitizer on the pool' '^tensor/base/|^tests/tensor/test_(parallel|shared_ranges)' tsan_tests
  layer_rule tensor '^tensor/(base|cpu|plain|comm|measure)/|^tensor/[^/]*$|^tests/(tensor|kernels)/' \
    pg_base pg_base_files pg_tensor pg_comm
  layer_rule autograd '^tensor/(cpu|plain)/|^tensor/[^/]*$|^autograd/|^tests/(autograd|op_samples)/' \
    pg_autograd pg_check op_samples
  layer_rule nn '^nn/|^tests/nn/' pg_nn pg_files pg_models
  layer_rule rl '^rl/|^tests/rl/' pg_rl pg_rl_text pg_rl_control
  layer_rule tasks '^tasks/|^tests/tasks/' pg_act pg_text pg_text_tasks pg_bpe pg_tasks
  layer_rule pg '^tools/(pg|report)/|^tests/pg/' pg_parts
  rule 'the sanitizers: tests/pg/cli.sh, hostile.sh and chat_rl.sh' '^tools/pg/' sanitized_commands
  rule 'fuzz targets, five seconds each' "$(fuzz_paths)" fuzz_changed
  rule 'clang++ -Werror on lessons' '^lessons/.*\.(cpp|h)$' clang_changed '^lessons/.*\.cpp$'
  rule 'the demonstrations of changed lessons' '^lessons/[0-9]' changed_demos
  # These turn the README's build into one for CUDA.
  rule 'the CUDA simulator' "$cuda_paths|^tests/sim/" simulated sim_tests
  rule 'CUDA kernels, simulated' "$cuda_paths|^tests/(cuda|kernels)/" simulated cuda_tests '~[slow]'
  rule 'CUDA kernels by nvcc' '^tensor/cuda/.*\.cu$' nvcc_changed
  rule 'the examples of docs/EXTENDING.md' '^docs/EXTENDING.md$' sh tests/extending/run.sh build cmake
}
cuda_paths='^tensor/(cuda|sim)/|^tensor/(kernels\.def|elementwise\.def|functors\.h)$'

select_only=
rule() { # rule NAME PATHS COMMAND...: runs it if a changed file matches, and time is left
  local name=$1 paths=$2
  shift 2
  grep -qE -e "$paths" <<<"$changed" || return 0
  if [ "$select_only" ]; then echo "$name"; return; fi
  if [ $SECONDS -ge $((19 * 60)) ]; then left_out+=("$name"); return; fi
  step "$name" "$@"
}

fast() {
  step 'the README: set-up and make test' readme_test
  rules
  if grep -qE '^(CMakeLists.txt|CMakePresets.json|cmake/)' <<<"$changed"; then
    left_out+=('a changed build description: bash scripts/ci.sh --full')
  fi
}
# The sources that asan_build does not compile, as a pattern.
not_in_asan_build='/(lessons|tests/(fuzz|comm|instructions|pg/models))/|/no_[a-z]*\.cpp'
full() {
  export LONG=1
  step 'the README: set-up and make test' readme_test
  step 'the cost of the build' sh scripts/build_budget.sh build
  step 'the examples of docs/EXTENDING.md' sh tests/extending/run.sh build cmake
  step 'fuzz targets, thirty seconds each' sh tests/fuzz/run.sh 30 # before its build is one for GPUs
  step 'CUDA kernels by nvcc' nvcc_tests
  step 'instructions per element of CUDA kernels' sass
  step 'clang++ -Werror with AddressSanitizer and UndefinedBehaviorSanitizer' asan_build
  step 'no warnings under clang++: the rest' \
    env ONLY="$not_in_asan_build" PRECOMPILE=ON bash scripts/warnings.sh clang++
  for compiler in $other_compilers; do # g++ works without precompiled headers, so it finds a missing #include
    case $compiler in clang*) headers=ON ;; *) headers=OFF ;; esac
    step "no warnings under $compiler" env PRECOMPILE=$headers bash scripts/warnings.sh "$compiler"
  done
  for program in $layer_tests; do
    step "the sanitizers: $program" side_by_side "build-asan/$program" '~[slow]'
  done
  step 'the CUDA simulator' side_by_side build-asan/sim_tests
  step 'CUDA kernels, simulated' side_by_side build-asan/cuda_tests '~[slow]'
  step 'the sanitizers: tests/pg/cli.sh, hostile.sh and chat_rl.sh, and commands on several simulated GPUs' all_commands build-asan
  step 'ThreadSanitizer on the pool' tsan_tests
  step 'the same bits with AVX2 and AVX-512' avx2_bits
  step 'the course in a browser' web_pages
  step 'exercises in JavaScript' node tests/web/exercises.js build-web
  step 'instructions per kernel, under valgrind' instructions
}

gate=fast
case ${1:-} in
  --full) gate=full ;;
  --rules) select_only=1 changed=$(changed_files); rules; exit ;;
  '') ;;
  *) sed -n '2,9p' "$0"; exit 2 ;;
esac
changed=$(changed_files)
age=$(age_of_full)
if [ $gate = fast ] && [ "${age:-0}" -ge $max_age ]; then
  echo "The full gate passed $age days ago, so this is the full gate."
  gate=full
fi
step 'packages' ci_packages $gate
step 'clang-format' formatting
step 'shellcheck' scripts
step 'the include rule' sh tests/include_rule.sh
step 'the budget of lines' sh scripts/lines.sh
if [ "$failed" = 0 ]; then $gate; else left_out+=('all else, because a step above failed'); fi
summary
if [ $gate = full ] && [ "$failed" = 0 ]; then
  echo "$(git rev-parse HEAD) $(date -u +%Y-%m-%d)" >$record
  echo "$record has this commit and date now; commit it."
elif [ $gate = fast ]; then
  if [ "$age" ]; then said="passed $age days ago"; else said='is not recorded as passed'; fi
  echo "The full gate (bash scripts/ci.sh --full) $said."
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
