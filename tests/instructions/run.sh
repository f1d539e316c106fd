#!/bin/sh
# run.sh [--record]: counts the instructions and the cache misses of a few kernels under valgrind, measures that no
# neighbour on the machine disturbs, and compares them with recorded.txt, or writes that file anew. Ends with "N passed,
# N failed, N skipped"; exit status 77 means skipped: the counts hold for one compiler and for processors with AVX2.
#
# The misses are those of a simulated cache, the same on every machine: two levels for data of 32 KB and 512 KB, the
# sizes that the blocks of the engine are made for, each of 8 ways and lines of 64 bytes. A prefetch counts as an
# instruction and not as an access: it hides no miss and causes none.
#
# Nothing in a run is random: a rerun has the same counts. But a change elsewhere in the engine moves tensors in memory,
# and their addresses decide which of them evict one another. In six runs that put every tensor at a random address no
# count differed by more than 0.9 % from that of another run, so a band of 3 % is wide enough. Only where misses are few
# did they differ by more. Such misses do not fail: those that are less than the share `few` of the instructions.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=build-instructions recorded=tests/instructions/recorded.txt band=3 # percent

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

counts=$(mktemp -d)
trap 'rm -rf "$log" "$counts"' EXIT
export POLICYGRAD_CACHE="$counts/none" # no settings that `pg tune` found on this machine
"$build/instructions" | xargs -P "$(nproc)" -I KERNEL valgrind --tool=callgrind --callgrind-out-file=/dev/null \
  --toggle-collect=measured --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=524288,8,64 \
  --log-file="$counts/KERNEL" "$build/instructions" KERNEL >"$log" 2>&1
count() { # count KERNEL: instructions and misses of both levels in its calls, start-up and inputs left out
  awk '/ Events +: / { for (i = 4; i <= NF; ++i) column[$i] = i }
    / Collected : / { print $4, $column["D1mr"] + $column["D1mw"], $column["DLmr"] + $column["DLmw"] }' "$counts/$1"
}

if [ "${1:-}" = --record ]; then
  {
    echo '# Instructions, misses of the first and of the second level per kernel of kernels.cpp. Written by run.sh --record.'
    echo "compiler $compiler"
    for kernel in $("$build/instructions"); do echo "$kernel $(count "$kernel")"; done
  } | tee "$log" && cp "$log" "$recorded"
  exit
fi

for kernel in $("$build/instructions"); do
  echo "$kernel $(count "$kernel") $(sed -n "s/^$kernel //p" "$recorded")"
done | awk -v band="$band" '
BEGIN { split(", instructions|, misses of 32 KB|, misses of 512 KB", measure, "|"); split("0 0.01 0.001", few, " ") }
NF != 7 { printf "FAILED %-14s was not counted or not recorded\n", $1; ++failed; next }
{
  more = less = line = ""
  for (i = 1; i <= 3; ++i) {
    now = $(i + 1)
    before = $(i + 4)
    change = 100 * (now - before) / (before ? before : 1)
    line = line sprintf("  %9d (%+.1f %%)", now, change)
    if (now > few[i] * $5 && change > band) more = more measure[i]
    if (before > few[i] * $5 && change < -band) less = less measure[i]
  }
  if (more) line = line "  more than " band " % more" more
  else if (less) line = line "  better, record it (run.sh --record)" less
  more ? ++failed : ++passed
  printf "%s %-14s%s\n", more ? "FAILED" : "ok    ", $1, line
}
END {
  printf "%d passed, %d failed, 0 skipped\n", passed, failed
  exit failed > 0 || !passed
}'
