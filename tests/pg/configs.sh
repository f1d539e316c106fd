#!/bin/sh
# Every file in configs/ and configs/math is read, and its run begins: a step or two of each, or a rollout. Then the
# configs of lesson 8 and the three stages of docs/PG.md run after each other, a few steps long. Usage: configs.sh
# BUILD_FOLDER
set -u
build=$(cd "$1" && pwd)
pg=$build/pg
here=$(pwd)
configs=$here/configs
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
wrong=0
for config in "$configs"/*.yaml; do
  if grep -q '^init: smollm2' "$config"; then  # read; a short run with a real model takes too long
    command=$(sed -n "s,^#   pg \([a-z-]*\) --config configs/$(basename "$config")\$,\1,p" "$config")
    "$pg" "${command:-none}" --config "$config" --init nowhere >out 2>&1
    grep -q 'nowhere' out || { echo "$config:" >&2; cat out >&2; wrong=1; }
    continue
  fi
  if grep -q '^algorithm:' "$config"; then
    set -- rl --steps 2 --sft-steps 2 --prompts 4 --eval-every 0 --eval-problems 4
  elif grep -q '^iterations:' "$config"; then
    set -- expert-iteration --iterations 1 --problems 4 --samples 2 --eval-every 0 --eval-problems 4
  elif grep -q '^environment:' "$config"; then
    set -- env --total-steps 2048 --eval-episodes 1
  elif grep -q '^task:' "$config"; then
    set -- sft --steps 2 --warmup 0 --eval-problems 4
  else
    set -- train --steps 2 --warmup 0 --data stories --eval-every 0 --eval-batches 1
  fi
  "$pg" "$@" --config "$config" --threads 1 >out 2>&1 || { echo "$config:" >&2; cat out >&2; wrong=1; }
done
[ -d runs ] || { echo 'configs: nothing ran' >&2; wrong=1; }

# Those of configs/math, with a small model of Qwen2.5-Math's kind and few problems. Each says its command.
mkdir math
cd math || exit 1
sh "$here"/tests/pg/math_files.sh "$build" || exit 1
"$pg" grade --filter traces.jsonl --out right.jsonl >out || wrong=1
for config in "$configs"/math/*.yaml; do
  command=$(sed -n "s,^#   pg \([a-z-]*\) --config configs/math/$(basename "$config")\$,\1,p" "$config")
  case $command in
    sft) set -- --data right.jsonl --steps 1 --batch 2 --accumulate 1 ;;
    expert-iteration) set -- --iterations 1 --problems 2 --samples 2 --batch 2 ;;
    rl) set -- --steps 1 --prompts 2 --samples 2 --eval-every 0 ;;
    *) echo "$config: no line says its command" >&2; wrong=1; continue ;;
  esac
  "$pg" "$command" --config "$config" "$@" --init qwen --file train.jsonl --held-out-file val.jsonl --prompt-file prompt.txt \
    --response 8 --eval-problems 2 --threads 1 >out 2>&1 || { echo "$config:" >&2; cat out >&2; wrong=1; }
done
cd ..

rm -rf runs
bad() { echo "configs: $1" >&2; cat out >&2; wrong=1; }
says() { # says TEXT COMMAND…: the command succeeds and prints this text
  text=$1
  shift
  "$@" >out 2>&1 || bad "'$*' failed"
  grep -qF -- "$text" out || bad "'$*' does not say '$text'"
}

says 'after 4 steps' "$pg" sft --config "$configs/keyword_sft.yaml" --name read --steps 4 --warmup 0 --eval-problems 8
says 'after 2 steps' "$pg" rl --config "$configs/keyword_ppo.yaml" --init runs/*_read --name with --steps 2 --eval-problems 8
says 'after 2 steps' "$pg" rl --config "$configs/keyword_ppo_no_kl.yaml" --init runs/*_read --name without --steps 2 \
  --eval-problems 8
grep -q '^beta: 0.3' runs/*_with/config.yaml || bad 'keyword_ppo.yaml: beta is not 0.3'
grep -q '^beta: 0$' runs/*_without/config.yaml || bad 'keyword_ppo_no_kl.yaml: beta is not 0'
# At the first step the policy is its own reference.
head -n 2 runs/*_with/metrics.jsonl | grep -q '"ref_kl/k1": *0[,.e}0]' || { cp runs/*_with/metrics.jsonl out; bad 'the first KL is not 0'; }
rm -rf runs
for task in countdown hanoi; do
  says 'after 4 steps' "$pg" sft --config "$configs/${task}_sft.yaml" --steps 4 --eval-problems 8
  says 'after 1 iterations' "$pg" expert-iteration --config "$configs/${task}_expert.yaml" --init runs/*_${task}_sft \
    --iterations 1 --problems 4 --samples 2 --eval-problems 8
  says 'after 2 steps' "$pg" rl --config "$configs/${task}_grpo.yaml" --init runs/*_${task}_expert --steps 2 \
    --prompts 4 --samples 2 --eval-problems 8
done
exit $wrong
