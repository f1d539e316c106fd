#!/bin/sh
# Training on several ranks must end with the bytes of one rank: with 2 and 3 ranks, started by pg, by mpirun and by
# torchrun's variables, and resumed with other numbers of ranks. First a policy in an environment, then a GPT.
# Usage: ranks.sh BUILD_FOLDER, from the root.
steps=300
. tests/pg/ranks_setup.sh

(train one) || fail "one rank failed"
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
grep -q ' over 1 greedy episodes$' "$work/log" || fail 'the policy of 2 ranks was not evaluated'

for ranks in 2 3; do
  (train "of$ranks" --ranks $ranks) || fail "$ranks ranks failed"
  same_model "of$ranks"
done

# ZeRO: the weights and metrics of one rank; the optimizer's state is in a file of each rank, from which one rank goes on.
for stage in 1 2 3; do
  (train "zero$stage" --ranks 3 --zero $stage) || fail "3 ranks in stage $stage failed"
  cmp "$(folder one)/best.safetensors" "$(folder zero$stage)/best.safetensors" || fail "stage $stage has other weights"
  shards=$(cd "$(folder zero$stage)" && ls)
  [ "$(echo "$shards" | grep -c "^checkpoint-step$steps-0000[123]-of-00003.safetensors$")" = 3 ] ||
    fail "stage $stage: expected three shards of step $steps: $shards"
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
echo "the same bytes with 2 and 3 ranks$by and as torchrun starts them, with ZeRO, in pg train, env, sft, dpo and rl"
