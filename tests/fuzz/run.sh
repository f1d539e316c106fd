#!/bin/sh
# Runs every fuzz target of this folder under AddressSanitizer and UndefinedBehaviorSanitizer, as many at a time as there
# are processors. A target is one file: its comment lines name the sources to compile with it, libraries besides fmt,
# options of libFuzzer, and its first inputs: `seed:` with printf's escapes, or a `seed-file:` of the tree. `archives:`
# are layers of the engine that it links as the folder FUZZ_BUILD (build) has them, without the fuzzer's eyes; if they
# are not built, the target is skipped. Needs clang++ with libFuzzer. It keeps its work, and an input that fails, in
# build-fuzz.
# Usage: tests/fuzz/run.sh SECONDS [TARGET...]
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:?usage: tests/fuzz/run.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- tests/fuzz/*.cpp
if grep -nE '^// .+ (sources|archives|libraries|options|seed|seed-file): ' tests/fuzz/*.cpp; then
  echo 'FAILED: a line of a head holds two: clang-format joins what is longer than a line'
  exit 1
fi
mkdir -p build-fuzz
build=${FUZZ_BUILD:-build}
sanitizers="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
told() { sed -n "s|^// $1: ||p" "$2"; } # told WORD FILE: what the comment lines of FILE say after WORD
object() { echo "build-fuzz/$(echo "$1" | tr / .).o"; }

# Compiles every source once, as many at a time as there are processors.
for file in "$@"; do
  file=tests/fuzz/$(basename "$file" .cpp).cpp
  for source in "$file" $(told sources "$file"); do
    rm -f "$(object "$source")" # else a source that does not compile would be linked as it was before
    echo "$source" "$(object "$source")"
  done
done | sort -u | xargs -P "$(nproc)" -n 2 sh -c "
  $(command -v ccache) clang++ -std=c++20 -O1 -g1 -I. -ffp-contract=off $sanitizers -c \"\$0\" -o \"\$1\""

run_target() { # run_target TARGET SECONDS: links it and runs it; the last line says how it ended
  name=$(basename "$1" .cpp)
  file=tests/fuzz/$name.cpp
  program=build-fuzz/$name corpus=build-fuzz/$name.corpus
  objects=
  for source in "$file" $(told sources "$file"); do objects="$objects $(object "$source")"; done
  libraries=$(told libraries "$file" | sed 's/[^ ][^ ]*/-l&/g')
  archives=$(told archives "$file" | sed "s|[^ ][^ ]*|$build/lib&.a|g")
  for archive in $archives; do
    if [ ! -f "$archive" ]; then
      echo "$name: skipped, $archive is not built"
      return 77
    fi
  done
  # shellcheck disable=SC2086
  clang++ $sanitizers -fsanitize=fuzzer $objects -Wl,--start-group $archives -Wl,--end-group -lfmt $libraries \
    -o "$program" || return
  mkdir -p "$corpus"
  count=0
  told seed "$file" | while IFS= read -r seed; do
    # shellcheck disable=SC2059
    printf -- "$seed" >"$corpus/seed.$count"
    count=$((count + 1))
  done
  for seed in $(told seed-file "$file"); do cp "$seed" "$corpus/$(echo "$seed" | tr / .)"; done
  # shellcheck disable=SC2046
  if "$program" $(told options "$file") -max_total_time="$2" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256 -verbosity=0 \
    -print_final_stats=1 -artifact_prefix="build-fuzz/$name." "$corpus" >"$program.log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$program.log") inputs"
  else
    tail -n 40 "$program.log"
    echo "$name: failed"
    return 1
  fi
}
passed=0 failed=0 skipped=0
while [ $# -gt 0 ]; do # as many at a time as there are processors
  pids=
  for _ in $(seq "$(nproc)"); do
    [ $# -gt 0 ] || break
    run_target "$1" "$seconds" &
    pids="$pids $!"
    shift
  done
  for pid in $pids; do
    wait "$pid"
    case $? in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
  done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
