#!/bin/sh
# run.sh [--record]: counts the instructions of a few kernels under valgrind, a measure that no neighbour on the machine
# disturbs, and compares them with recorded.txt, or writes that file anew. Ends with "N passed, N failed, N skipped";
# exit status 77 means skipped: the counts hold for one compiler and for processors with AVX2.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=build-instructions recorded=tests/instructions/recorded.txt band=3

skip() {
  echo "skipped: instructions: $1"
  echo '0 passed, 0 failed, 1 skipped'
  exit 77
}
[ "$(uname -m)" = x86_64 ] || skip 'the counts were recorded on x86-64'
grep -qw avx2 /proc/cpuinfo || skip 'this processor has no AVX2'
command -v valgrind >/dev/null || skip 'valgrind is not installed'
compiler=$(echo __clang_major__ __GNUC__ | "${CXX:-c++}" -E -P -x c++ -) || skip "there is no compiler ${CXX:-c++}"
case $compiler in
  __clang_major__*) compiler="g++ ${compiler#* }" ;;
  *) compiler="clang++ ${compiler% *}" ;;
esac
if [ "${1:-}" != --record ]; then
  known=$(sed -n 's/^compiler //p' "$recorded")
  [ "$compiler" = "$known" ] || skip "recorded with $known, this is $compiler"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ cmake --preset instructions ${CXX:+-DCMAKE_CXX_COMPILER="$CXX"} &&
  cmake --build --preset instructions --parallel "$(nproc)"; } >"$log" 2>&1 || {
  tail -n 60 "$log"
  exit 1
}

count() { # count KERNEL: the instructions of its calls, start-up and inputs left out
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=measured "$build/instructions" "$1" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\)$/\1/p'
}

if [ "${1:-}" = --record ]; then
  {
    echo '# Instructions per kernel of kernels.cpp, and by how many percent a count may differ. Written by run.sh --record.'
    echo "compiler $compiler"
    for kernel in $("$build/instructions"); do echo "$kernel $(count "$kernel") $band"; done
  } | tee "$log" && cp "$log" "$recorded"
  exit
fi

for kernel in $("$build/instructions"); do
  echo "$kernel $(count "$kernel") $(sed -n "s/^$kernel //p" "$recorded")"
done | awk '
NF < 4 { printf "FAILED %-14s was not counted or not recorded\n", $1; ++failed; next }
{
  change = 100 * ($2 - $3) / $3
  ok = change <= $4
  ok ? ++passed : ++failed
  note = !ok ? ", more than the band of " $4 " %" : change < -$4 ? ", better: record it (run.sh --record)" : ""
  printf "%s %-14s %11d, recorded %11d: %+.1f %%%s\n", ok ? "ok    " : "FAILED", $1, $2, $3, change, note
}
END {
  printf "%d passed, %d failed, 0 skipped\n", passed, failed
  exit failed > 0 || !passed
}'
