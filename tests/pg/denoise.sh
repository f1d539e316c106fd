#!/bin/sh
# A masked denoiser as pg trains, samples, evaluates and refuses it. Usage: denoise.sh BUILD_FOLDER
. tests/pg/setup.sh
# same FILE WHAT: out has exactly what FILE has.
same() { cmp -s "$1" out || bad "$2"; }
train() { # train STATUS FILE TEXT OPTIONS…: the same of a short training run
  status=$1 file=$2 text=$3
  shift 3
  says "$status" "$file" "$text" "$pg" train --layers 1 --heads 2 --width 16 --context 16 --batch 2 --eval-batches 1 "$@"
}

# Training says that the loss is a bound; a saved config and a resumed run repeat it, with any number of threads.
train 0 out 'validation loss at most' --data stories --objective denoise --steps 6 --eval-every 3 --sample-every 3 --name whole --threads 1
grep -q 'nats per character, at most .* bits per byte, over the whole validation text, with one draw of masks' out ||
  bad 'training does not say what the bound is'
grep -A1 'sample at step 6' err | grep -q '^  | .' || bad 'training shows no sample'
grep -q '^objective: denoise$' "$(run whole)/config.yaml" || bad 'config.yaml lacks the objective'
says 0 out 'at most' "$pg" train --config "$(run whole)/config.yaml" --name again --threads 2
says 0 out 'minutes are over' "$pg" train --config "$(run whole)/config.yaml" --name stopped --minutes 0.000001
says 0 out 'at most' "$pg" train --resume "$(run stopped)" --minutes 0
for name in again stopped; do
  for file in checkpoint best; do
    cmp -s "$(run whole)/$file.safetensors" "$(run $name)/$file.safetensors" || bad "$name: $file.safetensors differs"
  done
done
says 1 err 'of another model' "$pg" train --resume "$(run whole)" --objective next-token
train 0 out 'validation loss' --data stories --steps 2 --name gpt
grep -q 'at most' out && bad 'the loss of a language model is called a bound'
grep -q '^objective: next-token$' "$(run gpt)/config.yaml" || bad 'the objective of a language model is not next-token'
train 0 out 'at most' --data stories --objective denoise --steps 2 --dtype bf16 --checkpoint-blocks --dropout 0.1 --name bf16
printf 'low low lower newest newest\n' >words.txt
says 0 out 'tokens' "$pg" tokenize train words.txt --vocab-size 260 --out words.json
train 0 out 'nats per token' --data stories --tokenizer words.json --objective denoise --steps 2 --name tokens
says 1 err 'is a masked denoiser' "$pg" sample "$(run tokens)" --int8
says 0 err '16 tokens' "$pg" sample "$(run tokens)"
# Token files go together with it, also when a run is resumed.
yes 'low lower newest' | head -n 200 >corpus.txt
says 0 out 'corpus.tokens' "$pg" tokenize pack corpus.txt --tokenizer words.json --out corpus.tokens
train 0 out 'at most' --data corpus.tokens --tokenizer words.json --objective denoise --steps 4 --name packed
train 0 out 'minutes are over' --data corpus.tokens --tokenizer words.json --objective denoise --steps 4 --name cut --minutes 0.000001
says 0 out 'at most' "$pg" train --resume "$(run cut)" --minutes 0
cmp -s "$(run packed)/checkpoint.safetensors" "$(run cut)/checkpoint.safetensors" ||
  bad 'a resumed denoiser of a token file differs from an uninterrupted one'

# Fine-tuning has the objective of the model that it begins from.
says 0 out 'at most' "$pg" train --init "$(run whole)" --data stories --batch 2 --steps 2 --warmup 0 --eval-batches 1 --name tuned
says 1 err '--objective next-token differs from the denoise' "$pg" train --init "$(run whole)" --objective next-token
says 1 err '--objective denoise differs from the next-token' "$pg" train --init "$(run gpt)" --objective denoise
train 1 err 'expected one of next-token, denoise, got mask' --objective mask

# What it is.
says 0 out 'objective      denoise' "$pg" info "$(run whole)"
says 0 out '"objective":"denoise"' "$pg" info --json "$(run whole)"
says 0 out 'objective      next-token' "$pg" info "$(run gpt)"

# Samples: every number of steps and both orders end without masks; a prompt is the beginning; a seed repeats.
for order in confidence random; do
  for steps in 0 1 7 16; do
    says 0 out '"tokens":16,"finish":"length"' "$pg" sample "$(run whole)" --steps $steps --order $order --json
  done
done
says 0 out 'Once upon' "$pg" sample "$(run whole)" --prompt 'Once upon' --steps 3
cp out one
says 0 err '7 tokens' "$pg" sample "$(run whole)" --prompt 'Once upon' --steps 3 --threads 2
same one 'two threads give another sample'
"$pg" sample "$(run whole)" --prompt 'Once upon' --steps 3 --seed 2 >out 2>err
cmp -s one out && bad 'another seed gives the same sample'
"$pg" sample "$(run whole)" --steps 4 >single 2>err
says 0 out '---- 2' "$pg" sample "$(run whole)" --steps 4 --count 2
{ echo '---- 1'; cat single; } >begin && head -c "$(wc -c <begin)" out >first && mv first out
same begin 'the first of two samples is not the single one'
"$pg" sample "$(run whole)" --greedy >greedy 2>err
says 0 err '16 tokens' "$pg" sample "$(run whole)" --temperature 0 --seed 3
same greedy 'temperature 0 is not greedy'
says 0 out '"tokens":5,"finish":"length"' "$pg" sample "$(run whole)" --tokens 5 --steps 5 --json
text=$("$pg" sample "$(run whole)" --prompt 'the ' --json 2>err | sed 's/.*"text":"\(.\).*/\1/')
says 0 out '"text":"","tokens":1,"finish":"stop"' "$pg" sample "$(run whole)" --prompt 'the ' --json --stop "$text"
printf 'the\n\n' | "$pg" sample "$(run whole)" --interactive >out 2>err
[ "$(grep -c 'tokens/s' err)" = 2 ] || bad 'an interactive prompt and an empty one do not give two samples'
says 1 err '--steps 17 for 16 tokens' "$pg" sample "$(run whole)" --steps 17
says 1 err '--steps 8 for 7 tokens' "$pg" sample "$(run whole)" --steps 8 --prompt 'Once upon'
says 1 err 'at least 0, got -1' "$pg" sample "$(run whole)" --steps -1
says 1 err 'expected one of confidence, random, got left' "$pg" sample "$(run whole)" --order left
says 1 err '--tokens 17 after a prompt of 0 tokens; the model has a context of 16' "$pg" sample "$(run whole)" --tokens 17
says 1 err 'the prompt has 16 tokens; the model fills a context of 16' "$pg" sample "$(run whole)" --prompt 'the king was old'
[ -s out ] && bad 'a prompt that is too long is shown'
says 1 err "'§'" "$pg" sample "$(run whole)" --prompt '§'
says 1 err '--steps and --order are for a masked denoiser' "$pg" sample "$(run gpt)" --steps 4
says 1 err '--steps and --order are for a masked denoiser' "$pg" sample "$(run gpt)" --order random

# Evaluation: the bound, with its draws; the same masks in each call.
printf 'the king was old and so was the fox, and the sea' >text.txt
says 0 out 'loss           at most' "$pg" eval "$(run whole)" text.txt
for text in 'perplexity     at most' 'bits per byte  at most' 'mean of 4 draws of masks; the standard error of the loss is 0.'; do
  grep -qF "$text" out || bad "pg eval does not say '$text'"
done
cp out one
says 0 out '48 tokens, 48 bytes' "$pg" eval "$(run whole)" text.txt --threads 2
same one 'a second evaluation has another bound'
says 0 out '"upper_bound":true,"draws":3,"standard_error":0.' "$pg" eval "$(run whole)" text.txt --draws 3 --json
says 0 out '"draws":1,"standard_error":null' "$pg" eval "$(run whole)" text.txt --draws 1 --json
says 0 out 'at most' "$pg" eval --best "$(run whole)" text.txt
printf 'a' >text.txt
says 0 out '1 tokens, 1 bytes' "$pg" eval "$(run whole)" text.txt
says 1 err '--draws is for a masked denoiser' "$pg" eval "$(run gpt)" text.txt --draws 2
printf 'the king' >text.txt
says 0 out '"loss":' "$pg" eval "$(run gpt)" text.txt --json
grep -q 'upper_bound' out && bad 'the loss of a language model is called a bound'

# Whatever writes from left to right refuses it.
for command in 'chat' 'rl --task sort --init' 'sft --task sort --init' 'dpo --task sort --init' 'reward-model --task sort --init' \
  'expert-iteration --task sort --init' 'sft --data words.txt --init' 'rl --task sort --sft-steps 1 --steps 1 --reference-model'; do
  # shellcheck disable=SC2086
  says 1 err 'predicts masked tokens, not the next one' "$pg" $command "$(run whole)"
done
says 1 err 'predicts masked tokens, not the next one' "$pg" export "$(run whole)" exported
[ -e exported ] && bad 'a refused export leaves a folder'

exit $wrong
