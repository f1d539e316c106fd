#!/bin/sh
# Training on three ranks that are killed or stopped at random moments must end with the bytes of one rank that nobody
# disturbed: pg train, also with ZeRO, and pg rl.
# Usage: ranks_killed.sh BUILD_FOLDER KILLS STEPS, from the root. The runs have so many steps.
wanted=$2
steps=$3
. tests/pg/ranks_setup.sh
# A random number in [1, $1], at most 255.
random() { echo $(($(od -An -N1 -tu1 /dev/urandom) % $1 + 1)); }

(train one) || fail 'one rank failed'
# Ranks that die or hang at random moments; all start again from the last checkpoint.
kills=0 stops=0 restarts=0
disturb() { # disturb KILLS: kills and stops ranks of $pid, whose status becomes $status
  most=$((kills + $1))
  while [ $kills -lt $most ] && kill -0 "$pid" 2>/dev/null; do
    sleep "0.$(random 2)$(random 9)"
    # shellcheck disable=SC2046
    set -- $(processes)
    [ $# -ge 1 ] || continue
    shift $(($(random $#) - 1))
    if [ "$(random 8)" = 8 ]; then
      kill -STOP "$1" 2>/dev/null && stops=$((stops + 1))
    else
      kill -KILL "$1" 2>/dev/null && kills=$((kills + 1))
    fi
  done
  wait "$pid"
  status=$?
  left=$(processes)
  pid=
  [ $status = 0 ] || fail "ranks that were started again ended with status $status"
  [ -z "$left" ] || fail "these ranks are left behind: $left"
  restarts=$((restarts + $(grep -c 'start again' "$work/log")))
}
train killed --ranks 3 --restarts 1000 --rank-timeout 0.5 &
pid=$!
disturb $((wanted * 2 / 5))
same_model killed
train shards --ranks 3 --zero 3 --restarts 1000 --rank-timeout 0.5 &
pid=$!
disturb $((wanted * 3 / 10))
"$pg" train --resume "$(folder shards)" --threads 1 >"$work/log" 2>&1 || fail "one rank did not go on from shards"
same_model shards
(reward rewarded) || fail 'one rank failed with pg rl'
reward rewardkilled --ranks 3 --restarts 1000 --rank-timeout 0.5 &
pid=$!
disturb $((wanted * 3 / 10))
same_rewarded rewardkilled
echo "the same bytes after $kills kills and $stops stops of ranks ($restarts restarts)"
if [ $kills -lt $((wanted / 2)) ] || [ "$restarts" -lt $((wanted / 2)) ]; then
  fail "fewer than $((wanted / 2)) kills met the runs: lengthen them"
fi
