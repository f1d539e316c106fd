#!/bin/sh
# same_runs.sh BEFORE AFTER [RUN…]: seeded runs by two builds of pg, the programs BEFORE and AFTER. It compares the bytes
# of their checkpoints and measurements, for changes that must change neither: moved code, renamed code, code taken
# apart, or a build for other instructions. The runs that are named are left out. Run from the repository's root. It ends
# with "N runs are the same, N differ"; half a minute on two cores.
set -u
[ $# -ge 2 ] || { sed -n '2,5p' "$0"; exit 2; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for pg in "$1" "$2"; do [ -x "$pg" ] || { echo "same_runs: $pg is no program" >&2; exit 2; }; done
before=$(realpath "$1") after=$(realpath "$2")
shift 2
without=" $* "
same=0 differ=0

both() { # both NAME COMMAND OPTIONS…: the run NAME by both programs, in work/before and work/after
  name=$1
  shift
  case $without in *" $name "*) return ;; esac
  for side in before after; do
    if [ $side = before ]; then pg=$before; else pg=$after; fi
    mkdir -p "$work/$side"
    # An option that names a run of this script is relative to that folder.
    if ! (cd "$work/$side" && "$pg" "$@" --out . --name "$name" --threads 2 >"$name.log" 2>&1); then
      echo "$name: the program $side failed: $(tail -n 1 "$work/$side/$name.log")"
      differ=$((differ + 1))
      return
    fi
    # The folder's name begins with the time.
    mv "$work/$side"/*_"$name" "$work/$side/$name"
  done
  compare "$name"
}
measured() { # measured RUN: without the clock
  sed -E 's/,"(time\/)?[a-z_]*(_s|per_second)":[^,}]*//g' "$1/metrics.jsonl"
}
compare() { # compare NAME
  measured "$work/before/$1" >"$work/a"
  measured "$work/after/$1" >"$work/b"
  if ! cmp -s "$work/before/$1/checkpoint.safetensors" "$work/after/$1/checkpoint.safetensors"; then
    echo "$1: other checkpoints"
    differ=$((differ + 1))
  elif ! cmp -s "$work/a" "$work/b"; then
    echo "$1: other measurements: $(diff "$work/a" "$work/b" | head -n 2 | cut -c 1-300)"
    differ=$((differ + 1))
  else
    same=$((same + 1))
  fi
}

tiny='--layers 2 --heads 2 --width 32'
# shellcheck disable=SC2086  # $tiny and lists of options
{
  text='train --data stories --context 32 --batch 4 --steps 12 --eval-every 6 --eval-batches 2'
  both f32 $text $tiny
  both bf16 $text $tiny --dtype bf16
  both dropout $text $tiny --dropout 0.2 --accumulate 2
  both family $text $tiny --norm rms --positions rope --mlp swiglu --n-kv-head 1
  for ranks in 2 3; do
    for zero in 0 1 2 3; do both "ranks$ranks-zero$zero" $text $tiny --accumulate 6 --ranks $ranks --zero $zero; done
  done
  both sft sft --task sort --length 3 $tiny --steps 30 --batch 16 --eval-problems 8
  both lora sft --task sort --length 3 --init sft --lora-rank 2 --steps 6 --batch 8 --eval-problems 8
  for algorithm in reinforce ppo rloo grpo dr_grpo dapo; do
    both "$algorithm" rl --task sort --length 3 --init sft --algorithm $algorithm --prompts 4 --samples 4 --steps 4 \
      --eval-problems 8
  done
  pairs='--task sort --length 3 --init sft --pairs 20 --held-out 10 --steps 4 --batch 4'
  both dpo dpo $pairs --eval-problems 8
  both reward-model reward-model $pairs
  both expert expert-iteration --task sort --length 3 --init sft --iterations 2 --problems 8 --samples 2 \
    --eval-problems 8
  both env env --environment CartPole-v1 --total-steps 2048 --eval-episodes 2
}
echo "$same runs are the same, $differ differ"
[ "$differ" = 0 ]
