#!/bin/sh
# Runs every fuzz target of this folder under AddressSanitizer and UndefinedBehaviorSanitizer. A target is one file: its
# comment lines name the sources to compile with it, libraries besides fmt, options of libFuzzer, and its first inputs:
# `seed:` with printf's escapes, or a `seed-file:` of the tree. Needs clang++ with libFuzzer. It keeps its work, and an input that fails, in
# build-fuzz.
# Usage: tests/fuzz/run.sh SECONDS [TARGET...]
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:?usage: tests/fuzz/run.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- tests/fuzz/*.cpp
mkdir -p build-fuzz
passed=0 failed=$#
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

for target in "$@"; do
  name=$(basename "$target" .cpp)
  file=tests/fuzz/$name.cpp
  program=build-fuzz/$name corpus=build-fuzz/$name.corpus
  objects=
  for source in "$file" $(told sources "$file"); do objects="$objects $(object "$source")"; done
  libraries=$(told libraries "$file" | sed 's/[^ ][^ ]*/-l&/g')
  # shellcheck disable=SC2086
  clang++ $sanitizers -fsanitize=fuzzer $objects -lfmt $libraries -o "$program" || continue
  mkdir -p "$corpus"
  count=0
  told seed "$file" | while IFS= read -r seed; do
    # shellcheck disable=SC2059
    printf "$seed" >"$corpus/seed.$count"
    count=$((count + 1))
  done
  for seed in $(told seed-file "$file"); do cp "$seed" "$corpus/$(echo "$seed" | tr / .)"; done
  # shellcheck disable=SC2046
  if "$program" $(told options "$file") -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256 -verbosity=0 \
    -print_final_stats=1 -artifact_prefix="build-fuzz/$name." "$corpus" >"$program.log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$program.log") inputs"
    passed=$((passed + 1)) failed=$((failed - 1))
  else
    tail -n 40 "$program.log"
    echo "$name: failed"
  fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
