#!/bin/sh
# build_budget.sh BUILD [--record]: compares the processor time that the last call of scripts/build.sh in BUILD took, a
# cold build of `make test`, with tests/build_budget.txt, and fails if it is more than 15 % above. Machines differ: the
# budget counts in compilations of one file that never changes, measured here and now. With --record it writes the file.
set -eu
build=$1
file=tests/build_budget.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cpu_of() { sh scripts/cpu_seconds.sh "$@" | sed -n 's/^cpu \([0-9.]*\) s$/\1/p' | tail -n 1; }
for header in algorithm functional iostream map memory regex string unordered_map vector; do
  echo "#include <$header>"
done >"$work/unit.cpp"
echo 'bool f(const std::string& s) { return std::regex_match(s, std::regex("a+b*")); }' >>"$work/unit.cpp"
unit=$(for _ in 1 2 3; do cpu_of "${CXX:-g++}" -std=c++20 -O2 -c "$work/unit.cpp" -o "$work/unit.o"; done | sort -n | head -n 1)
built=$(sed -n 's/^cpu \([0-9.]*\) s$/\1/p' "$build/build.times")
awk -v built="$built" -v unit="$unit" -v budget="$(sed -n 's/^budget //p' "$file")" -v record="${2:-}" -v file="$file" 'BEGIN {
  units = built / unit
  printf "the build took %d s of processor time, %.0f units of %.2f s; the budget is %.0f units\n", built, units, unit, budget
  if (record) {
    print "# What a cold build of `make test` by g++ may cost, in units of scripts/build_budget.sh. Written by it with --record." >file
    printf "budget %.0f\n", units >file
  } else if (units > 1.15 * budget) {
    print "FAILED: that is more than 15 % above. Make it cheaper, or raise the budget and say why in the commit."
    exit 1
  }
}'
