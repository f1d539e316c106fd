#!/bin/sh
# A training run that is killed at random moments and resumed must end with the same bytes as one left alone, whatever
# the number of threads. Usage: kill_resume.sh BUILD_FOLDER text|tokens, from the root: on a text, or on token files,
# whose windows are drawn in a shuffled order.
set -u
pg=$1/pg
work=$(mktemp -d) || exit 1
pid=
trap '[ -z "$pid" ] || { kill -9 "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; }; rm -rf "$work"' EXIT
fail() { echo "kill_resume: $1" >&2; cat "$work/log" >&2; exit 1; }
# A random number in [0, $1], at most 255.
random() { echo $(($(od -An -N1 -tu1 /dev/urandom) % ($1 + 1))); }
lines() { if [ -f "$killed/metrics.jsonl" ]; then wc -l <"$killed/metrics.jsonl"; else echo 0; fi; }
# Waits until process $pid has measured $1 lines more, or has ended.
live() {
  goal=$(($(lines) + $1))
  while [ "$(lines)" -lt $goal ] && kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
}
# Fine-tuning on another validation text, with samples, dropout and gradient accumulation, so that every kind of state
# matters. 1 checkpoint in 10 steps.
train() { # train OPTIONS…: in place of the subshell it is called in, so that $! is its process
  exec "$pg" train --data "$data" --val "$val" --init "$work"/first/* --out "$work/runs" --batch 8 --accumulate 2 \
    --dropout 0.1 --sample-every 70 --steps 300 --warmup 20 --eval-every 40 --eval-batches 2 --save-every 10 "$@" >"$work/log" 2>&1
}
# What a run measured, without the clock.
metrics() { sed 's/,"tokens_per_s":[^}]*//' "$1"/metrics.jsonl; }

first() { # first OPTIONS…: makes the run to begin from
  "$pg" train --out "$work/first" --layers 1 --heads 2 --width 32 --context 32 --steps 2 "$@" >"$work/log" 2>&1 ||
    fail "the run to begin from failed"
}
case $2 in
text)
  data=stories val=$work/val.txt
  printf 'the old king was in the garden. the fox was old and so was the king. the end was near.' >"$val"
  first --data stories
  ;;
tokens) # 4800 windows are drawn, of which the files have about 1500: more than three epochs
  data=$work/tokens val=$work/val.tokens
  mkdir "$data"
  tokenizer=$work/tokenizer.json
  make() { "$pg" tokenize "$@" >"$work/log" 2>&1 || fail "the token files could not be made"; }
  make train docs/*.md --vocab-size 400 --special '<|endoftext|>' --out "$tokenizer"
  make pack docs/PG.md docs/BUILD.md --tokenizer "$tokenizer" --out "$data/a.tokens"
  make pack docs/EXTENDING.md --tokenizer "$tokenizer" --out "$data/b.tokens"
  make pack docs/GLOSSARY.md --tokenizer "$tokenizer" --out "$val"
  first --data "$data" --tokenizer "$tokenizer"
  ;;
*) fail "expected text or tokens, got $2" ;;
esac
(train --name alone --threads 1) || fail "the run left alone failed"
alone=$(echo "$work"/runs/*_alone)

train --name killed --threads 2 &
pid=$!
until ls "$work"/runs/*_killed/config.yaml >"$work/found" 2>&1 || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
killed=$(echo "$work"/runs/*_killed)
live "$(random 5)"
kills=0 midway=0
while kill -9 $pid 2>/dev/null; do
  wait $pid 2>/dev/null
  kills=$((kills + 1))
  [ -f "$killed/checkpoint.safetensors" ] && midway=$((midway + 1))
  [ $kills -lt 8 ] || break
  "$pg" train --resume "$killed" --threads $((1 + kills % 2)) >"$work/log" 2>&1 &
  pid=$!
  live "$(random 60)"
done
# One polite stop: Ctrl-C saves at once and says how to go on.
"$pg" train --resume "$killed" >"$work/log" 2>&1 &
pid=$!
live "$(random 30)"
kill -INT $pid 2>/dev/null
wait $pid
status=$?
pid=
[ $status = 0 ] || [ $status = 130 ] || fail "an interrupt ended the run with status $status"
[ $status = 0 ] || grep -q -- "--resume $killed" "$work/log" || fail "an interrupted run does not say how to go on"
"$pg" train --resume "$killed" >"$work/log" 2>&1 || fail "the last resume failed"

cmp "$alone/checkpoint.safetensors" "$killed/checkpoint.safetensors" || fail "the checkpoints differ after $kills kills"
cmp "$alone/best.safetensors" "$killed/best.safetensors" || fail "the best checkpoints differ after $kills kills"
metrics "$alone" >"$work/a"
metrics "$killed" >"$work/b"
cmp "$work/a" "$work/b" || fail "the metrics differ after $kills kills"
echo "the same bytes after $kills kills, $midway of them with a checkpoint"
[ $midway -gt 0 ] || fail "no kill came between a checkpoint and the end: lengthen the run"
