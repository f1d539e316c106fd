# What ranks.sh and ranks_killed.sh have in common: runs of $steps steps in a folder of their own, and comparisons.
# Usage, from the root: steps=N, then . tests/pg/ranks_setup.sh; the first argument of the script is the build folder.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154  # the scripts set and use variables of this file
set -u
pg=$1/pg
work=$(mktemp -d) || exit 1
pid=
trap '[ -z "$pid" ] || { kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; }; rm -rf "$work"' EXIT
fail() { echo "ranks: $1" >&2; cat "$work/log" >&2; exit 1; }
launcher=
train() { # train NAME OPTIONS…: in place of the subshell it is called in, so that $! is its process
  name=$1
  shift
  # shellcheck disable=SC2086  # a command and its options
  exec $launcher "$pg" train --data stories --out "$work/runs" --name "$name" --layers 2 --heads 2 --width 32 --context 32 \
    --batch 4 --accumulate 3 --dropout 0.1 --steps "$steps" --warmup 20 --sample-every 140 --eval-every 150 --eval-batches 5 \
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
  exec "$pg" rl --task sort --algorithm ppo --steps "$steps" --prompts 4 --samples 4 --micro-batch 4 --layers 2 --heads 2 \
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

