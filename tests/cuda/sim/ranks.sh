#!/bin/sh
# Commands on several simulated GPUs, each the device of a process: near one GPU, the same bits again, errors, and ranks
# that are killed. Usage: ranks.sh BUILD_FOLDER of CUDA=sim, from the root.
set -u
pg=$1/pg
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "ranks on GPUs: $1" >&2; cat "$work"/log* >&2; exit 1; }
# The last step evaluates the whole validation text, a tenth of this one.
head -c 3000 README.md | tr -d '\200-\377' >"$work/text"
# The processes share a file of cuBLASLt's algorithms, which begins empty.
export POLICYGRAD_CACHE="$work/cache"
small='--layers 1 --heads 1 --width 16 --threads 1'
log=log
train() { # train NAME OPTIONS…
  name=$1
  shift
  # shellcheck disable=SC2086  # options
  "$pg" train --data "$work/text" --out "$work/runs" --name "$name" $small --context 8 --batch 1 \
    --accumulate "${batches:-3}" --steps "${steps:-4}" --warmup 2 --eval-every 2 --eval-batches 2 --save-every 1 --sample-every 0 \
    --device "${device:-cuda}" "$@" >"$work/$log" 2>&1
}
reward() { # reward NAME OPTIONS…
  name=$1
  shift
  # shellcheck disable=SC2086  # options
  "$pg" rl --task digits --algorithm ppo --steps 1 --prompts 2 --samples 4 --micro-batch 4 --eval-every 1 \
    --eval-problems 1 --out "$work/runs" --name "$name" $small --device cuda "$@" >"$work/log" 2>&1
}
folder() { echo "$work"/runs/*_"$1"; }
values() { # values NAME KEY: what a run logged
  sed -n "s|.*\"$2\":\([-+.e0-9]*\).*|\1|p" "$(folder "$1")/metrics.jsonl"
}
near() { # near A B KEY: NCCL promises no order of its sums
  values "$1" "$3" >"$work/a"
  values "$2" "$3" >"$work/b"
  [ -s "$work/a" ] || fail "the run '$1' logged no $3"
  paste "$work/a" "$work/b" | awk -v limit=1e-4 '
    function size(x) { return x < 0 ? -x : x }
    NF != 2 || size($1 - $2) > limit * (size($1) + 1e-3) { print; wrong = 1 } END { exit wrong }' >"$work/log_differences" ||
    fail "$3 of '$1' and '$2' differ"
}
same() { # same A B FILE
  cmp "$(folder "$1")/$3" "$(folder "$2")/$3" || fail "$3 of '$1' and '$2' differ"
}

train one || fail 'one GPU failed'
for ranks in 2 3; do
  train "ranks$ranks" --ranks $ranks || fail "$ranks ranks failed"
  near one "ranks$ranks" loss
  near one "ranks$ranks" grad_norm
  near one "ranks$ranks" val_loss
done
train again --ranks 2 || fail 'two ranks failed'
same ranks2 again checkpoint.safetensors

# The same, where something else has started the processes.
for rank in 0 1; do
  log=log$rank
  RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((10000 + $$ % 10000)) train env   >"$work/log$rank" 2>&1 &
done
log=log
wait
same ranks2 env checkpoint.safetensors

# A rank that is killed: the others end, and all start again from the run's folder.
steps=40
train killed --ranks 2 --restarts 2 &
pid=$!
until [ -f "$(folder killed)/checkpoint.safetensors" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
read -r command _ <"/proc/$pid/task/$pid/children" # of the subshell
read -r _ last _ <"/proc/$command/task/$command/children"
[ -n "$last" ] || fail 'no second rank is there to be killed'
kill -9 "$last"
wait $pid || fail 'the killed ranks did not start again'
grep -q 'was ended by signal 9' "$work/log" || fail 'no word of the rank that was killed'
train whole --ranks 2 || fail 'two ranks failed'
same whole killed checkpoint.safetensors

reward one_rl || fail 'pg rl failed on one GPU'
reward two_rl --ranks 2 || fail 'pg rl failed on two ranks'
near one_rl two_rl reward/mean
near one_rl two_rl grad_norm

says() { # says TEXT COMMAND…
  text=$1
  shift
  "$@" && fail "no error where expected: $text"
  grep -qF "$text" "$work/log" || fail "not said: $text"
}
device=cuda:1
says 'each of several ranks has a GPU of its own; take cuda' train bad --ranks 2
device=cuda batches=9
says 'rank 8 is to use cuda:8, but this machine has 8 CUDA devices' train bad --ranks 9
says 'ZeRO needs parameters on the CPU' train bad --ranks 3 --zero 1
# Each entry without the algorithm and the checksum: there is one algorithm per kind of product.
cat "$work"/cache/cublaslt-*.txt >"$work/log_plans" || fail 'no algorithms were kept'
[ "$(grep -vc '^#' "$work/log_plans")" -gt 10 ] || fail 'too few algorithms were kept'
grep -v '^#' "$work/log_plans" | awk '{ NF -= 9; if (seen[$0]++) { print; twice = 1 } } END { exit twice }' ||
  fail 'an algorithm was kept twice'
if ls "${TMPDIR:-/tmp}"/policygrad-nccl-* >/dev/null 2>&1; then fail 'the simulated NCCL left a file behind'; fi
