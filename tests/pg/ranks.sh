#!/bin/sh
# Training on several ranks must end with the bytes of one rank: with 2 and 3 ranks, started by pg, by mpirun and by
# torchrun's variables, resumed with other numbers of ranks, and after ranks were killed or stopped at random moments.
# First a policy in an environment, then a GPT.
# Usage: ranks.sh BUILD_FOLDER, from the root.
set -u
pg=$1/pg
work=$(mktemp -d) || exit 1
pid=
trap '[ -z "$pid" ] || { kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; }; rm -rf "$work"' EXIT
fail() { echo "ranks: $1" >&2; cat "$work/log" >&2; exit 1; }
# A random number in [1, $1], at most 255.
random() { echo $(($(od -An -N1 -tu1 /dev/urandom) % $1 + 1)); }
launcher=
train() { # train NAME OPTIONS…: in place of the subshell it is called in, so that $! is its process
  name=$1
  shift
  # shellcheck disable=SC2086  # a command and its options
  exec $launcher "$pg" train --data stories --out "$work/runs" --name "$name" --layers 2 --heads 2 --width 32 --context 32 \
    --batch 4 --accumulate 3 --dropout 0.1 --steps 1500 --warmup 20 --sample-every 400 --eval-every 150 --eval-batches 5 \
    --save-every 11 --threads 1 "$@" >"$work/log" 2>&1
}
act() { # act NAME OPTIONS…: the same with pg env
  name=$1
  shift
  exec "$pg" env --environment Pendulum-v1 --environments 3 --rollout-steps 16 --minibatches 2 --epochs 2 --hidden 16 \
    --total-steps 12000 --eval-episodes 0 --save-every 3 --out "$work/runs" --name "$name" --threads 1 "$@" \
    >"$work/log" 2>&1
}
reward() { # reward NAME OPTIONS…: the same with pg rl
  name=$1
  shift
  exec "$pg" rl --task sort --algorithm ppo --steps 1500 --prompts 4 --samples 4 --micro-batch 4 --layers 2 --heads 2 \
    --width 32 --eval-every 100 --eval-problems 20 --save-every 5 --out "$work/runs" --name "$name" --threads 1 "$@" \
    >"$work/log" 2>&1
}
# The last one of a name: a rank that is killed while it makes the folder leaves it empty, and the next one has another.
folder() {
  last=
  for each in "$work"/runs/*_"$1" "$work"/runs/*_"$1"_[0-9]; do [ ! -d "$each" ] || last=$each; done
  echo "$last"
}
# What a run measured, without the clock.
metrics() { sed 's/,"[a-z]*_per_s[econd]*":[^}]*//; s/,"time[^}]*//' "$1"/metrics.jsonl; }
same() { # same NAME ONE FILES…: the run ended as ONE, that of one rank
  name=$1
  one=$2
  shift 2
  for file in "$@"; do
    cmp "$(folder "$one")/$file" "$(folder "$name")/$file" || fail "$file of the run '$name' differs from that of one rank"
  done
  metrics "$(folder "$one")" >"$work/a"
  metrics "$(folder "$name")" >"$work/b"
  cmp "$work/a" "$work/b" || fail "the metrics of the run '$name' differ from those of one rank"
}
same_model() { same "$1" one checkpoint.safetensors best.safetensors; }
same_policy() { same "$1" actor checkpoint.safetensors; }
same_rewarded() { same "$1" rewarded checkpoint.safetensors; }
# Waits for the first checkpoint of a run whose process is $pid.
wait_for_checkpoint() {
  until [ -f "$(folder "$1")/checkpoint.safetensors" ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
}
processes() { # the processes of the ranks that $pid has started
  cat "/proc/$pid/task/$pid/children" 2>/dev/null
}

# Mini-batches of 24 steps.
(act actor --micro-batch 9) || fail "one rank failed with pg env"
for ranks in 2 3; do
  (act "actor$ranks" --micro-batch 9 --ranks $ranks) || fail "$ranks ranks failed with pg env"
  same_policy "actor$ranks"
done
act actorpolite --micro-batch 9 --ranks 3 &
pid=$!
wait_for_checkpoint actorpolite
kill -INT "$pid"
wait "$pid"
status=$?
pid=
[ $status = 130 ] || fail "Ctrl-C ended 3 ranks of pg env with status $status, expected 130"
"$pg" env --resume "$(folder actorpolite)" --ranks 2 --threads 1 >"$work/log" 2>&1 || fail "pg env did not go on from 3"
same_policy actorpolite
act actorkilled --micro-batch 9 --ranks 3 --restarts 1 &
pid=$!
wait_for_checkpoint actorkilled
# shellcheck disable=SC2046
set -- $(processes)
[ $# = 3 ] || fail "pg env has $# ranks, expected 3"
kill -KILL "$2"
wait "$pid" || fail "ranks of pg env were not started again"
pid=
same_policy actorkilled
grep -q 'ranks start again from' "$work/log" || fail 'the kill came after the end of pg env: lengthen it'
"$pg" env --ranks 2 --total-steps 512 --eval-episodes 1 --out "$work/runs" --name halves >"$work/log" 2>&1 ||
  fail 'pg env failed with 2 ranks'
grep -q '^micro-batch: 64$' "$(folder halves)/config.yaml" || fail "2 ranks do not take half of a mini-batch of 128 each"
grep -q ' over 1 greedy ones$' "$work/log" || fail 'the policy of 2 ranks was not evaluated'

(train one) || fail "one rank failed"
for ranks in 2 3; do
  (train "of$ranks" --ranks $ranks) || fail "$ranks ranks failed"
  same_model "of$ranks"
done

# ZeRO: the weights and metrics of one rank; the optimizer's state is in a file of each rank, from which one rank goes on.
for stage in 1 2 3; do
  (train "zero$stage" --ranks 3 --zero $stage) || fail "3 ranks in stage $stage failed"
  cmp "$(folder one)/best.safetensors" "$(folder zero$stage)/best.safetensors" || fail "stage $stage has other weights"
  shards=$(cd "$(folder zero$stage)" && ls)
  [ "$(echo "$shards" | grep -c '^checkpoint-step1500-0000[123]-of-00003.safetensors$')" = 3 ] ||
    fail "stage $stage: expected three shards of step 1500: $shards"
  "$pg" train --resume "$(folder zero$stage)" --threads 1 >"$work/log" 2>&1 || fail "one rank did not go on from shards"
  same_model "zero$stage"
done

by=
if "$pg" doctor 2>/dev/null | grep -q '^mpi .*[0-9]' && command -v mpirun >/dev/null; then
  options=
  if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
    options=--oversubscribe
    [ "$(id -u)" != 0 ] || options="$options --allow-run-as-root"
  fi
  for ranks in 2 3; do
    (launcher="mpirun $options -n $ranks" && train "mpi$ranks" </dev/null) || fail "mpirun with $ranks ranks failed"
    same_model "mpi$ranks"
  done
  by=', by mpirun'
else
  echo 'skipped: ranks: training over MPI: this build has none'
fi
export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000))
RANK=1 "$pg" train --data stories --accumulate 2 --steps 1 >"$work/other" 2>&1 &
pid=$!
(launcher='env RANK=0' && train differs) && fail 'ranks with different options trained'
wait "$pid" && fail 'a rank with different options trained'
grep -q 'the ranks have different options: rank 1 differs' "$work/log" || fail 'no word about different options'
RANK=1 "$pg" train --resume "$(folder of2)" >"$work/other" 2>&1 &
pid=$!
(launcher='env RANK=0' && train mixed) && fail 'a new run and a resumed one trained together'
wait "$pid"
(launcher='env RANK=1' && train tcp) &
pid=$!
(launcher='env RANK=0' && train tcp) || fail "ranks of torchrun's variables failed"
wait "$pid" || fail "rank 1 of torchrun's variables failed"
pid=
unset WORLD_SIZE MASTER_ADDR MASTER_PORT
same_model tcp

# Commands that learn from answers and choices: the weights and metrics of one rank with the same parts of a batch.
learn() { # learn COMMAND RANKS OPTIONS…: the run COMMAND-RANKS
  command=$1 of=$2
  shift 2
  "$pg" "$command" --out "$work/runs" --name "$command-$of" --ranks "$of" --threads 1 --eval-problems 5 --eval-every 4 \
    "$@" >"$work/log" 2>&1 || fail "pg $command with $of ranks failed"
}
for ranks in 1 2 3; do
  learn sft $ranks --task keyword --layers 1 --heads 2 --width 32 --steps 40 --batch 8 --accumulate 3 --lr 5e-3
  learn dpo $ranks --task keyword --init "$(folder sft-1)" --pairs 20 --held-out 7 --steps 6 --batch 8 --micro-batch 3
done
for ranks in 2 3; do
  for command in sft dpo; do
    cmp "$(folder $command-1)/checkpoint.safetensors" "$(folder $command-$ranks)/checkpoint.safetensors" ||
      fail "the weights of pg $command differ on $ranks ranks"
    cmp "$(folder $command-1)/metrics.jsonl" "$(folder $command-$ranks)/metrics.jsonl" ||
      fail "the metrics of pg $command differ on $ranks ranks"
  done
done

# A polite stop, and on with another number of ranks.
train polite --ranks 3 &
pid=$!
wait_for_checkpoint polite
kill -INT "$pid"
wait "$pid"
status=$?
pid=
[ $status = 130 ] || fail "Ctrl-C ended 3 ranks with status $status, expected 130"
grep -q -- "--resume $(folder polite)" "$work/log" || fail "stopped ranks do not say how to go on"
"$pg" train --resume "$(folder polite)" --ranks 2 --threads 1 >"$work/log" 2>&1 || fail "2 ranks did not go on from 3"
same_model polite

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
disturb 20
same_model killed
train shards --ranks 3 --zero 3 --restarts 1000 --rank-timeout 0.5 &
pid=$!
disturb 15
"$pg" train --resume "$(folder shards)" --threads 1 >"$work/log" 2>&1 || fail "one rank did not go on from shards"
same_model shards
(reward rewarded) || fail 'one rank failed with pg rl'
reward rewardkilled --ranks 3 --restarts 1000 --rank-timeout 0.5 &
pid=$!
disturb 15
same_rewarded rewardkilled
echo "the same bytes with 2 and 3 ranks$by and by sockets, with ZeRO, in pg train, env, sft, dpo and rl,"
echo "and after $kills kills and $stops stops of ranks ($restarts restarts)"
if [ $kills -lt 5 ] || [ "$restarts" -lt 5 ]; then fail "fewer than 5 kills met the runs: lengthen them"; fi
