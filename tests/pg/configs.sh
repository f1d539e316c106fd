#!/bin/sh
# Every file in configs/ is read, and its run begins: two steps of each, or a rollout. Usage: configs.sh BUILD_FOLDER
set -u
pg=$(cd "$1" && pwd)/pg
configs=$(pwd)/configs
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
wrong=0
for config in "$configs"/*.yaml; do
  if grep -q '^algorithm:' "$config"; then
    set -- rl --steps 2 --sft-steps 2 --prompts 4 --eval-every 0 --eval-problems 4
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
exit $wrong
