#!/bin/sh
# What pg does with a trained model: samples of every kind of run, evaluation, information, fine-tuning, JSON. Usage:
# features.sh BUILD_FOLDER
. tests/pg/setup.sh
goldens=$root/tests/goldens
# equal WHAT: out has exactly what standard input has.
equal() { cat >want; cmp -s want out || bad "$1"; }
train() { # train STATUS FILE TEXT OPTIONS…: the same of a short training run
  status=$1 file=$2 text=$3
  shift 3
  says "$status" "$file" "$text" "$pg" train --layers 1 --heads 2 --width 16 --context 16 --batch 2 --steps 6 --eval-every 3 --eval-batches 1 "$@"
}

train 0 out 'pg sample' --data stories --name gpt
says 0 err 'pg rl --task sort' "$pg" sft --task sort --length 3 --layers 1 --heads 2 --width 16 --steps 30 --batch 16 --name sft
says 0 err 'pg rl --task keyword' "$pg" sft --task keyword --layers 1 --heads 2 --width 16 --steps 5 --batch 16 --name words
sort() { # sort FILE TEXT COMMAND OPTIONS…: learns on from that imitation
  file=$1 text=$2 command=$3
  shift 3
  says 0 "$file" "$text" "$pg" "$command" --task sort --length 3 --init "$(run sft)" "$@"
}
sort err 'health checks' rl --steps 1 --prompts 4 --samples 4 --eval-problems 5 --name rl
sort err 'after 2 steps' dpo --pairs 20 --held-out 10 --steps 2 --batch 4 --name dpo
sort out 'now let it pay' reward-model --pairs 20 --held-out 10 --steps 2 --batch 4 --name judge
# A step as a file. The run has the bits of one that records nothing.
sort err 'step_2.json' rl --steps 2 --prompts 4 --samples 4 --eval-problems 5 --record-step 2 --name recorded
sort err 'after 2 steps' rl --steps 2 --prompts 4 --samples 4 --eval-problems 5 --name unrecorded
cmp "$(run recorded)/checkpoint.safetensors" "$(run unrecorded)/checkpoint.safetensors" >out 2>&1 || bad 'recording a step changes the run'
grep -q '"kind":"policygrad step"' "$(run recorded)/step_2.json" || bad 'step_2.json is no recorded step'
says 1 err 'has 2 steps' "$pg" rl --task sort --steps 2 --record-step 3
says 1 err 'already done 2 steps' "$pg" rl --resume "$(run recorded)" --record-step 1
sort err 'after 1 iter' expert-iteration --problems 8 --samples 2 --eval-problems 5 --iterations 1 --name expert
says 0 out greedy "$pg" env --total-steps 1024 --eval-episodes 1 --name env

# A run of every kind speaks, from a prompt and without one.
for kind in sft rl dpo expert; do
  says 0 out '31=' "$pg" sample "$(run $kind)" --prompt '31=' --tokens 5
  says 0 err 'tokens/s' "$pg" sample "$(run $kind)"
  grep -q '=' out || bad "the prompt of a $kind run is no problem of its task"
done
says 0 out 'the old cat ' "$pg" sample "$(run words)" --prompt 'the old cat' --tokens 5
says 1 err 'it writes none' "$pg" sample "$(run judge)"
says 1 err 'acts in an environment' "$pg" sample "$(run env)"

# Prompts: literal, standard input, a file, line by line; the same prompt gives the same text.
"$pg" sample "$(run gpt)" --prompt 'Once upon' --tokens 20 >literal 2>err
printf 'Once upon\n' | "$pg" sample "$(run gpt)" --prompt - --tokens 20 >out 2>err
equal 'a prompt from standard input gives another text' <literal
printf 'Once upon' >prompt.txt
"$pg" sample "$(run gpt)" --prompt-file prompt.txt --tokens 20 >out 2>err
equal 'a prompt from a file gives another text' <literal
printf 'Once upon\n\302\247\n' | "$pg" sample "$(run gpt)" --interactive --tokens 20 >out 2>err
{ printf 'Once upon'; cat out; } >answer && mv answer out
equal 'an interactive prompt gives another text' <literal
grep -q "'§'" err || bad 'an interactive prompt with an unknown character is not explained'
says 1 err 'none.txt: No such file' "$pg" sample "$(run gpt)" --prompt-file none.txt
# A prompt longer than the context slides: only its last 16 characters count.
"$pg" sample "$(run gpt)" --prompt 'the king was old' --tokens 20 --json >short 2>err
[ -s err ] && bad 'a prompt of 16 characters slides in a context of 16'
says 0 err 'it sees the last 16' "$pg" sample "$(run gpt)" --prompt 'Long ago the king was old' --tokens 20 --json
text() { sed 's/.*"text":\("[^"]*"\).*/\1/' "$1"; }
[ "$(text out)" = "$(text short)" ] || bad 'a long prompt is not read as its last 16 characters'
# Temperature 0 is greedy; many samples are the single ones one after the other.
"$pg" sample "$(run gpt)" --greedy --tokens 20 >greedy 2>err
"$pg" sample "$(run gpt)" --temperature 0 --tokens 20 >out 2>err
equal 'temperature 0 is not greedy' <greedy
"$pg" sample "$(run gpt)" --prompt A --tokens 20 >single 2>err
"$pg" sample "$(run gpt)" --prompt A --tokens 20 --count 2 >out 2>err
{ echo '---- 1'; cat single; } >begin && head -c "$(wc -c <begin)" out >first && mv first out
equal 'the first of two samples is not the single one' <begin
# A billion samples: the first come at once.
"$pg" sample "$(run gpt)" --count 1000000000 --tokens 5 2>err | head -n 40 >out
grep -q -- '---- 9' out || bad 'the first of many samples do not come at once'
# A stop text ends a sample and is not shown.
stop=$(text short | cut -c 6-7)
says 0 out '"finish":"stop"' "$pg" sample "$(run gpt)" --prompt 'the king was old' --tokens 20 --json --stop "$stop"
[ "$(text out)" = "$(text short | cut -c 1-5)\"" ] || bad "--stop $stop does not end the text before it"

# Evaluation.
printf 'a\302\247' >odd.txt
says 0 out 'nats per token' "$pg" eval "$(run gpt)" prompt.txt
says 0 out '"tokens":8,"bytes":8' "$pg" eval "$(run gpt)" prompt.txt --json
says 1 err "lacks 1 of the text's 2 characters" "$pg" eval "$(run gpt)" odd.txt
says 1 err 'none.txt: No such file' "$pg" eval "$(run gpt)" none.txt
says 1 err 'acts in an environment' "$pg" eval "$(run env)" prompt.txt

# Fine-tuning: with a rate of 0 the model stays the one it began from, whatever text it reads.
printf '\357\273\277the king was old\r\nand so was the fox.\r\nthe fox was red and the king was old' >windows.txt
printf 'the king was old\nand so was the fox.\nthe fox was red and the king was old' >unix.txt
loss() { "$pg" eval "$@" --json 2>err | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
tune() { # tune STATUS FILE TEXT OPTIONS…
  status=$1 file=$2 text=$3
  shift 3
  says "$status" "$file" "$text" "$pg" train --init "$(run gpt)" --data stories --batch 2 --eval-batches 1 --warmup 0 \
    --schedule constant "$@"
}
tune 0 err 'windows.txt: the byte order mark is left out, and 2 line ends' --steps 4 --eval-every 2 --lr 0 --val windows.txt --name same
[ "$(loss "$(run same)" unix.txt)" = "$(loss "$(run gpt)" unix.txt)" ] || bad 'a rate of 0 changes the model of --init'
[ "$(loss "$(run same)" windows.txt)" = "$(loss "$(run same)" unix.txt)" ] || bad 'CRLF is not read as LF'
grep -q '^context: 16$' "$(run same)/config.yaml" || bad 'the config of a run with --init lacks the sizes of its model'
says 0 out 'pg sample' "$pg" train --config "$(run same)/config.yaml" --name same_again
cmp -s "$(run same)/checkpoint.safetensors" "$(run same_again)/checkpoint.safetensors" || bad 'a saved config with --init does not repeat its run'
tune 1 err '--width 8 differs from the 16' --width 8
tune 1 err "(56 tokens) lacks 1 of the text's 2 characters: U+00A7" --val odd.txt
says 1 err 'leave one of them out' "$pg" train --init "$(run gpt)" --resume "$(run same)"
# --val is what is validated on: 65 characters are four windows of 16 and the successor of the last.
head -c 65 unix.txt >val.txt
tune 0 out '"complete":true' --steps 4 --eval-every 2 --lr 0.01 --val val.txt --name tuned --json
if ! grep -q '^{' out || [ "$(wc -l <out)" != 1 ]; then bad 'train --json writes more than an object to standard output'; fi
val=$(sed 's/.*"val_loss":\([0-9.]*\),"val_bits.*/\1/' out)
# pg eval adds up the same losses in batches of another size, in f32.
echo "$val $(loss "$(run tuned)" val.txt)" | awk '{ exit !(($1 - $2) ^ 2 <= (1e-6 * $2) ^ 2) }' ||
  bad "the last validation loss, $val, is not the loss of --val"
[ "$(grep -c '"val_loss":' "$(run tuned)/metrics.jsonl")" = 3 ] || bad 'metrics.jsonl has not a validation loss of steps 0, 2 and 4'
# A rate that destroys the model: the best one is that of step 0, and is kept.
tune 0 out 'best at step 0' --steps 4 --eval-every 2 --lr 3 --val val.txt --name ruined
[ "$(loss "$(run ruined)" val.txt --best)" = "$(loss "$(run gpt)" val.txt)" ] || bad 'best.safetensors is not the best model'
[ "$(loss "$(run ruined)" val.txt)" != "$(loss "$(run gpt)" val.txt)" ] || bad 'a rate of 3 leaves the model as it is'
says 0 out 'at step 0' "$pg" info "$(run ruined)"
says 0 err 'tokens/s' "$pg" sample --best "$(run ruined)" --tokens 5
says 1 err 'no best.safetensors' "$pg" sample --best "$(run sft)"
# A model that is not finite ends no training because it was to be shown.
tune 0 err "are not finite" --lr 1e30 --min-lr 1e30 --max-grad-norm 0 --steps 1 --sample-every 1 --name nan
says 1 err 'the loss of' "$pg" eval "$(run nan)" unix.txt
# A time limit stops, saves and succeeds; what follows ends with the bytes of a run without one.
tune 0 out 'minutes are over; continue with' --steps 400 --minutes 0.0002 --sample-every 100 --name limited
tune 0 out 'pg sample' --steps 400 --sample-every 0 --name unlimited
grep -q 'sample at' err && bad '--sample-every 0 is not quiet'
says 0 err 'sample at step 400' "$pg" train --resume "$(run limited)" --minutes 0
for file in checkpoint best; do
  cmp -s "$(run limited)/$file.safetensors" "$(run unlimited)/$file.safetensors" || bad "a time limit changes $file.safetensors"
done

# What a run of every kind is, and how to go on.
for kind in train:gpt sft:sft rl:rl dpo:dpo reward-model:judge expert-iteration:expert env:env; do
  says 0 out "\"kind\":\"${kind%:*}\"" "$pg" info --json "$(run "${kind#*:}")"
  grep -q "^# pg ${kind%:*}$" "$(run "${kind#*:}")/config.yaml" || bad "the config.yaml of $kind does not name its command"
  says 0 out "pg ${kind%:*}" "$pg" info "$(run "${kind#*:}")"
done
says 0 out "pg sample $(run gpt)" "$pg" info "$(run gpt)"
grep -qx "continue with  pg sample $(run gpt)" out || bad 'pg info does not set the command apart from its label'
grep -v '^.\{15\}[^ ]' out && bad 'the values of pg info do not begin in one column'
grep -v '^.\{14\} ' out && bad 'a label of pg info touches its value'
says 0 out '6 of 6' "$pg" info "$(run gpt)"
says 0 out "pg rl --task sort --init $(run sft) --reward-model $(run judge)" "$pg" info "$(run judge)"
# Embeddings 56 x 16 and 16 x 16, two norms of 32, four linear layers 16 -> 48, 16, 64 and 64 -> 16, a last norm of 32.
parameters=$((56 * 16 + 16 * 16 + 2 * 32 + (17 * 48 + 17 * 16 + 17 * 64 + 65 * 16) + 32))
says 0 out "\"step\":6,\"parameters\":$parameters" "$pg" info --json "$(run gpt)/checkpoint.safetensors"
cp -r "$(run gpt)" begun && sed -i.bak 's/^steps: 6$/steps: 9/' begun/config.yaml
says 0 out 'pg train --resume begun' "$pg" info begun
rm begun/checkpoint.safetensors
says 0 out 'no checkpoint yet' "$pg" info begun
says 1 err 'is no run' "$pg" info .
says 0 out 'pg 0.' "$pg" --version

# JSON, one object on one line and nothing else.
json() { # json STATUS TEXT COMMAND…
  status=$1 text=$2
  shift 2
  says "$status" out "$text" "$@" --json
  if ! grep -q '^{.*}$' out || [ "$(wc -l <out)" != 1 ]; then bad "'$*' writes more than an object"; fi
}
json 0 '"ready":true' "$pg" doctor
json 0 '"wrong":0' "$pg" gradcheck relu
json 0 '"failed":0' "$pg" golden "$goldens/relu.safetensors"
json 1 '"failed":1' "$pg" golden prompt.txt
json 0 '"finish":"length"' "$pg" sample "$(run gpt)" --tokens 5
json 0 '"step":6' "$pg" info "$(run gpt)"
# In a log the first line is the first that was written, though results and progress are different streams.
"$pg" sft --task sort --length 3 --layers 1 --heads 2 --width 16 --steps 3 --batch 4 --name log >out 2>&1
head -n 2 out | tail -n 1 | grep -q '^sort: ' || bad 'in a log of pg sft progress comes before what it says first'

exit $wrong
