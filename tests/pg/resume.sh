#!/bin/sh
# What other trainers lose when a run stops and goes on: batches at the end of an epoch, the order of later epochs, the
# learning rate, a step that takes minutes. Usage: resume.sh BUILD_FOLDER
. tests/pg/setup.sh
unset POLICYGRAD_THREADS
printf 'low low lower newest newest\n' >words.txt
says 0 out 'tokens' "$pg" tokenize train words.txt --vocab-size 260 --out words.json
yes 'low lower newest' | head -n 6 >corpus.txt
says 0 out '66 tokens' "$pg" tokenize pack corpus.txt --tokenizer words.json --out corpus.tokens # 8 windows of 8 tokens
small="--layers 1 --heads 1 --width 8 --context 8 --eval-batches 1 --threads 1 --save-every 0"
train() { # train NAME OPTIONS…: a run on the token file
  name=$1
  shift
  # shellcheck disable=SC2086
  "$pg" train $small --data corpus.tokens --val corpus.tokens --tokenizer words.json --batch 1 --name "$name" "$@" \
    >out 2>err || bad "the run $name fails"
}
steps() { # steps NAME STEPS RANKS: the run goes on to so many steps
  "$pg" train --resume "$(run "$1")" --steps "$2" --ranks "$3" >out 2>err || bad "the run $1 does not go on"
}
same() { cmp -s "$(run "$1")/checkpoint.safetensors" "$(run "$2")/checkpoint.safetensors" || bad "$3"; }
flat="--schedule constant --warmup 0 --eval-every 0"

# A run that stops exactly at the end of an epoch trains the next one.
# shellcheck disable=SC2086
train whole $flat --steps 15
# shellcheck disable=SC2086
train epoch $flat --steps 8
steps epoch 15 1
same whole epoch 'a run that stopped at the end of an epoch has other bytes'
[ "$(grep -c '"loss"' "$(run epoch)/metrics.jsonl")" = 15 ] || bad 'steps are missing after the end of an epoch'

# In the middle of the third epoch the order is not that of the first, and more ranks do not begin it again.
# shellcheck disable=SC2086
train one $flat --steps 8 --accumulate 6
# shellcheck disable=SC2086
train two $flat --steps 4 --accumulate 6 --ranks 2
"$pg" train --resume "$(run two)" --steps 8 --ranks 3 >out 2>err || bad '3 ranks do not go on from 2'
same one two 'ranks that go on in the third epoch have other bytes'

# One learning rate for an optimizer step, however many micro-batches it has and where it was stopped.
rates() { grep -o '"lr":[^,]*' "$(run "$1")/metrics.jsonl" >"rates_$1"; }
train once --steps 12 --warmup 4 --eval-every 0
train often --steps 12 --warmup 4 --eval-every 0 --accumulate 4
rates once
rates often
[ "$(wc -l <rates_once)" = 12 ] || bad 'a step has no learning rate'
cmp -s rates_once rates_often || bad 'the schedule counts micro-batches'

# A signal is obeyed between the micro-batches of a step, of which this one has so many that it takes minutes.
yes 'low lower newest' | head -n 200 >long.txt
"$pg" train --data long.txt --layers 1 --heads 4 --width 64 --context 64 --batch 8 --accumulate 20000 --steps 2 \
  --warmup 0 --eval-every 1 --eval-batches 1 --threads 1 --name long >out 2>err &
pid=$!
until grep -q val_loss "$work"/runs/*_long/metrics.jsonl 2>/dev/null || ! kill -0 $pid; do sleep 0.02; done
kill -s TERM $pid
wait $pid
got=$?
[ $got = 143 ] || bad "a training that was told to stop ended with status $got"
grep -q 'stopped after step 0' out || bad 'a signal waits for the end of a step'
[ -f "$(run long)/checkpoint.safetensors" ] || bad 'a training that was stopped in its first step saves nothing'

# What was read for the step that was left out is read again.
# shellcheck disable=SC2086
train many $flat --steps 3 --accumulate 3000
# shellcheck disable=SC2086
"$pg" train $small $flat --data corpus.tokens --val corpus.tokens --tokenizer words.json --batch 1 --steps 3 \
  --accumulate 3000 --name cut >out 2>err &
pid=$!
until grep -q '"loss"' "$work"/runs/*_cut/metrics.jsonl 2>/dev/null || ! kill -0 $pid; do sleep 0.02; done
kill -s INT $pid 2>/dev/null
wait $pid
steps cut 3 1
same many cut 'a step that was stopped and repeated has other bytes'
exit $wrong
