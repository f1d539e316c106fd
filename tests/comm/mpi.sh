#!/bin/sh
# Ranks over MPI. Usage: mpi.sh BUILD_FOLDER; exit 77 without an mpirun.
set -u
program=$(cd "$1" && pwd)/rank_program
command -v mpirun >/dev/null || { echo 'skipped: mpi: no mpirun on this machine'; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
wrong=0
options=
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
  options='--oversubscribe'
  [ "$(id -u)" != 0 ] || options="$options --allow-run-as-root"
fi
export ASAN_OPTIONS=detect_leaks=0  # MPI itself
# ranks NUMBER STATUS COUNT TEXT WORD: so many ranks, the status (1: any but 0), and how many lines have the text
ranks() {
  # shellcheck disable=SC2086  # several options
  timeout 60 mpirun $options -n "$1" "$program" "$5" >"$work/out" 2>&1 </dev/null
  status=$?
  [ "$2" = 0 ] && [ $status != 0 ] && { echo "mpi: $5 with $1 ranks ended with $status" >&2; wrong=1; }
  [ "$2" != 0 ] && { [ $status = 0 ] || [ $status = 124 ]; } && { echo "mpi: $5 ended with $status" >&2; wrong=1; }
  [ "$(grep -cE "$4" "$work/out")" -ge "$3" ] || { echo "mpi: $5 does not say '$4'" >&2; cat "$work/out" >&2; wrong=1; }
}
for n in 2 3; do ranks $n 0 $n "of $n by MPI: done" sums; done
ranks 1 0 1 'of 1 by one rank: done' sums
# Rank 1 fails before its third call. The others may still be in the second one.
call='all_reduce of 1000 f32, call [23]: rank 1'
ranks 3 1 2 "$call has ended and does not take part" returns
ranks 3 1 2 "$call has failed: the moon is full" throws
ranks 3 1 2 "$call has not come and has done nothing for 2 s" hangs
ranks 3 1 3 'rank 0: all_reduce of 1000 f32, call 3; rank 1: all_reduce of 999 f32, call 3' differs
ranks 3 1 1 'signal 9|Killed' killed  # mpirun itself ends the others
exit $wrong
