#!/bin/sh
# The pg command as a user meets it. Usage: cli.sh BUILD_FOLDER
. tests/pg/setup.sh
gguf=$root/tests/goldens/gguf/blocks.gguf
# says STATUS TEXT COMMAND…: the command ends with this status and prints this text, on either stream
says() {
  status=$1 text=$2
  shift 2
  "$@" >out 2>&1
  got=$?
  [ $got = "$status" ] || bad "'$*' ended with status $got, expected $status"
  grep -qF -- "$text" out || bad "'$*' does not say '$text'"
}
tiny() { # tiny STATUS TEXT OPTIONS…: the same of a short training run
  status=$1 text=$2
  shift 2
  says "$status" "$text" "$pg" train --layers 1 --heads 2 --width 16 --context 16 --batch 2 --steps 6 --eval-every 3 \
    --eval-batches 1 "$@"
}

tiny 0 'pg sample' --data stories --name first --threads 1
first=$(echo runs/*_first)
for command in 'train --resume' 'sample' 'info' 'rl --task copy --init'; do # --out instead of the run in it
  # shellcheck disable=SC2086
  says 1 "runs: this is no run's folder, because it has no config.yaml; the runs in it are $first" "$pg" $command runs
done
grep -q '^layers: 1$' "$first/config.yaml" || bad 'config.yaml lacks an option of the command line'
grep -q '^beta2: 0.99' "$first/config.yaml" || bad 'config.yaml lacks a default'
says 0 'pg sample' "$pg" train --config "$first/config.yaml" --name second --threads 2
second=$(echo runs/*_second)
cmp -s "$first/checkpoint.safetensors" "$second/checkpoint.safetensors" || bad 'a saved config does not repeat its run'
tiny 0 'pg sample' --data stories --name bf16 --dtype bf16 --checkpoint-blocks
says 0 'pg sample' "$pg" train --config "$(echo runs/*_bf16)/config.yaml" --name again
cmp -s runs/*_bf16/checkpoint.safetensors runs/*_again/checkpoint.safetensors || bad 'a saved bf16 config does not repeat its run'
says 0 '' "$pg" sample runs/*_bf16 --tokens 5
tiny 0 'memory of a step' --data stories --profile --name profiled
grep -q matmul out || bad '--profile shows no matmul'
cmp -s "$first/checkpoint.safetensors" runs/*_profiled/checkpoint.safetensors || bad 'measuring changes the numbers'

# Latent attention: trained, repeated from its config.yaml, trained on, sampled, described, not exported.
tiny 0 'pg sample' --data stories --name latent --kv-latent-size 6 --q-latent-size 5 --positions rope --rope-size 4 \
  --latent-norm l2 --bias false
latent=$(echo runs/*_latent)
says 0 'pg sample' "$pg" train --config "$latent/config.yaml" --name same
cmp -s "$latent/checkpoint.safetensors" runs/*_same/checkpoint.safetensors || bad 'a saved config with latents does not repeat its run'
says 0 'cache          40 bytes per token' "$pg" info "$latent"
says 0 'cache          128 bytes per token' "$pg" info "$first"
says 0 '' "$pg" sample "$latent" --tokens 5
says 0 'pg sample' "$pg" train --data stories --init "$latent" --steps 2 --eval-batches 1 --name on
says 1 '--latent-norm rms differs from the l2' "$pg" train --data stories --init "$latent" --latent-norm rms
says 1 'latent attention, which none of the model types' "$pg" export "$latent" exported
tiny 1 'rope_size is 4, but positions are learned' --data stories --kv-latent-size 6 --rope-size 4

# Command line over file over default; what is no option is an error.
printf 'steps: 3\nlr: 0.5 # a comment\n' >some.yaml
tiny 0 'pg sample' --data stories --config some.yaml --name third
grep -q '^steps: 6$' runs/*_third/config.yaml || bad 'the command line does not win over the file'
grep -q '^lr: 0.5$' runs/*_third/config.yaml || bad 'the file does not win over the default'
grep -q '^weight-decay: 0.1$' runs/*_third/config.yaml || bad 'the default is not used'
printf 'steps: 3\nstepz: 3\n' >some.yaml
tiny 1 "some.yaml: line 2: unknown option 'stepz'" --data stories --config some.yaml
printf 'resume: x\n' >some.yaml
tiny 1 "unknown option 'resume'" --data stories --config some.yaml
printf 'layers: many\n' >some.yaml
says 1 'line 1: --layers: expected a whole number from 1 to 100000, got many' "$pg" train --config some.yaml
printf 'layers: [1\n' >some.yaml
says 1 'some.yaml: line' "$pg" train --config some.yaml
printf 'steps: 3\nlayers: -1\n' >some.yaml
says 1 'line 2: --layers: expected a whole number from 1 to 100000, got -1' "$pg" train --config some.yaml
says 1 'none.yaml: No such file' "$pg" train --config none.yaml
says 1 "none: expected a run's folder: No such file" "$pg" train --resume none
says 1 'none.txt: No such file' "$pg" train --data none.txt
tiny 0 '' --data stories --device plain
tiny 1 'computes on one rank' --data stories --device plain --ranks 2
"$pg" doctor | grep -q '(simulated)' || tiny 1 'cuda' --data stories --device cuda
says 1 'a command is missing' "$pg"
says 1 '--bogus' "$pg" train --bogus

# The same seed gives the same text, for any number of threads; a stream and a batch agree.
"$pg" sample "$first" --tokens 60 --threads 1 >one
"$pg" sample "$first/checkpoint.safetensors" --tokens 60 --threads 2 >two
cmp -s one two || bad 'two threads give another sample'
says 0 '---- 3' "$pg" sample "$first" --tokens 40 --count 3
says 0 'Once' "$pg" sample "$first" --prompt Once --tokens 1 --greedy
says 0 'Once' "$pg" sample --model "$first" --prompt Once --tokens 1 --greedy
says 1 'name one model' "$pg" sample "$first" --model "$first"
says 1 'name one model' "$pg" sample
says 1 "'§'" "$pg" sample "$first" --prompt 'a§'
says 1 'some.yaml' "$pg" sample some.yaml

# 8-bit weights: one line on standard error says what they change; the text does not depend on the threads.
says 0 '8-bit weights: ' "$pg" sample "$first" --int8 --tokens 5
grep -qE '8-bit weights: [0-9.]+ MB become [0-9.]+ MB; on 16 tokens a log-probability changes by [0-9.e-]+ on average and [0-9.e-]+ at most, KL -?[0-9.e-]+ nats, [0-9.]+ % of the likeliest tokens stay$' out ||
  bad 'pg sample --int8 does not say what changes'
"$pg" sample "$first" --int8 --tokens 30 --threads 1 >one 2>/dev/null
"$pg" sample "$first" --int8 --tokens 30 --threads 2 >two 2>/dev/null
cmp -s one two || bad 'two threads give another sample with --int8'
[ "$(wc -c <one)" -gt 20 ] || bad 'pg sample --int8 writes nothing'
"$pg" sample "$first" --int8 --json --tokens 3 >out 2>err || bad 'pg sample --int8 --json fails'
[ "$(wc -l <out) $(wc -l <err)" = '1 1' ] || bad 'pg sample --int8 --json writes more than one line to each stream'
says 0 '8-bit weights: ' "$pg" sample "$latent" --int8 --tokens 5
says 0 '8-bit weights: ' "$pg" sample runs/*_bf16 --int8 --tokens 5
"$pg" sample "$first" --prompt "$(printf 'Once upon a time, %.0s' 1 2 3 4 5 6 7 8 9)" --int8 --tokens 3 >out 2>&1 ||
  bad 'pg sample --int8 fails on a prompt longer than the context'
says 1 "'§'" "$pg" sample "$first" --int8 --prompt 'a§'
head -c 1000 "$first/checkpoint.safetensors" >cut.safetensors
says 1 'cut.safetensors' "$pg" sample cut.safetensors

# Any text; a text too short; without a connection the stories.
printf 'ab%.0s' 1 2 3 4 5 6 7 8 >short.txt
tiny 1 'too few for a context of 16' --data short.txt
export POLICYGRAD_MIRROR=http://127.0.0.1:1
tiny 0 'using the built-in stories instead' --data tinyshakespeare
says 1 'tinyshakespeare.txt could not be downloaded' "$pg" fetch tinyshakespeare.txt
says 1 'takes a copy that is here' "$pg" fetch tinyshakespeare.txt
says 1 'known are: tinyshakespeare.txt' "$pg" fetch nothing
says 0 'public domain' "$pg" fetch --list
# Help says once what an option allows.
says 0 'Usage: pg' "$pg" help
says 0 '--lr' "$pg" help train
says 0 'pg 0.' "$pg" version
# A GGUF file is known by its content, and a text is named as one.
ln -s "$gguf" blob
says 1 "gguf blob: there is no key 'tokenizer.ggml.model'" "$pg" chat blob
says 0 'GGUF' "$pg" info blob
echo '{"question": "q", "answer": "1"}' >own.jsonl
says 1 'this is a text, no safetensors file' "$pg" eval own.jsonl own.jsonl
# A name of a run that would lie in another folder, before any work.
says 1 "the name of a run, '../../evil', must have" "$pg" train --data nowhere --name ../../evil
options_in() { grep -oE '^ .*' "$1" | grep -oE -- ' --[a-z0-9-]+|,--help' | sort -u; }
for command in $("$pg" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'); do
  says 0 -h,--help "$pg" "$command" --help
  options_in out >named
  says 0 -h,--help "$pg" "$command" --help-all
  options_in out | cmp - named || bad "pg $command --help does not name every option"
  whole_options <out | grep -E '(\([^()]*\)).*\1$' && bad "pg $command --help-all says twice what an option allows"
  grep -E '^ {20,}.{81,}' out && bad "pg $command --help-all has lines of more than 110 characters"
done
"$pg" rl --help-all | whole_options >out
grep -qF 'hanoi: any position, or all disks on one peg (random, standard), default random' out ||
  bad 'pg rl --help-all does not say what a task allows'
[ "$("$pg" rl --help | wc -l)" -lt 110 ] || bad 'pg rl --help does not fit on two screens'
says 1 'no command generate; pg sample continues' "$pg" generate
says 1 'pg has no server' "$pg" serve
says 1 'no command scale; tools/compare/scale.py computes' "$pg" scale
says 0 'pg 0.' "$pg" -v
says 0 'Train a model:' "$pg" --help
# An answer equals another or not; a broken line of pairs is named.
says 0 'yes' "$pg" grade '\frac12' 0.5
says 2 'the normal forms differ' "$pg" grade 3.14159 '\pi' --explain
says 3 'an operand is missing' "$pg" grade '\frac' 5 --json
says 1 'two answers are needed' "$pg" grade 5
says 0 yes "$pg" grade 2/4 1/2
# The verdicts of another grader (docs/GRADER.md); only this needs Python.
! command -v python3 >/dev/null || says 0 ' 0 failed' python3 "$root/tools/compare/grade_as_mathd.py" --pg "$pg" --check
says 0 yes "$pg" grade '-\frac12' '-0.5' # defect: a negative answer is an option that does not exist
says 0 yes "$pg" grade --explain '-x+1' '-(x-1)'
says 0 yes "$pg" grade -- -x '-1x'
says 1 'lists them; a text that begins with - stands behind --' "$pg" grade -x 5
says 1 'audit needs --pairs' "$pg" grade 2/4 1/2 --audit audit.jsonl
printf '{"given":"1/2","gold":"0.5"}\n{"given":"1"}\n' >pairs.jsonl
says 1 'pairs.jsonl, line 2' "$pg" grade --pairs pairs.jsonl
says 1 'none.jsonl cannot be read' "$pg" grade --pairs none.jsonl
says 1 'pairs.jsonl, line 2' "$pg" grade --pairs pairs.jsonl --audit audit.jsonl
[ ! -e audit.jsonl ] || bad 'pg grade --audit leaves a file behind pairs that it cannot read'
printf '{"given":"1/2","gold":"0.5"}\n{"given":"(","gold":"5"}\n' >pairs.jsonl
says 0 '"verdict":"yes"' "$pg" grade --pairs pairs.jsonl --audit audit.jsonl
grep -q '"gold":"0.5","verdict":"yes".*"rule":"normal form","steps":[1-9]' audit.jsonl || bad 'pg grade --audit does not write the rule'
grep -q '"given":"(".*"verdict":"unknown".*"rule":"unreadable"' audit.jsonl || bad 'pg grade --audit does not write what is unreadable'
# A tokenizer is trained, encodes and decodes; what cannot be read is named.
printf 'low low lower newest newest <|end|> w\303\251\n' >words.txt
says 0 '260 tokens' "$pg" tokenize train words.txt --vocab-size 260 --special '<|end|>' --out words.json
"$pg" tokenize encode --tokenizer words.json --file words.txt >ids
"$pg" tokenize decode --tokenizer words.json --file ids >decoded
cmp -s words.txt decoded || bad 'pg tokenize decode does not repeat what was encoded'
# Without --out it replaces nothing.
says 0 'tokenizer.json: 258 tokens' "$pg" tokenize train words.txt --vocab-size 258
cp tokenizer.json first.json
says 1 'tokenizer.json is here already; --out tokenizer.json replaces it' "$pg" tokenize train words.txt --vocab-size 259
cmp -s tokenizer.json first.json || bad 'pg tokenize train writes over a file that was not named'
says 0 'tokenizer.json: 259 tokens' "$pg" tokenize train words.txt --vocab-size 259 --out tokenizer.json
rm tokenizer.json
# A link is the user's, too, and a device stays one.
ln -s nowhere tokenizer.json
says 1 'tokenizer.json is here already' "$pg" tokenize train words.txt --vocab-size 259
rm tokenizer.json
mkfifo pipe
says 1 'it is a device or a pipe' "$pg" tokenize train words.txt --vocab-size 259 --out pipe
[ -p pipe ] || bad 'pg tokenize train replaces a pipe'
rm pipe
says 0 '0 ' "$pg" tokenize encode --tokenizer words.json '<|end|>low'
says 0 '"bytes":40' "$pg" tokenize count --tokenizer words.json --file words.txt --json
says 1 'vocab.json with merges.txt' "$pg" tokenize encode --tokenizer nothing a
says 1 '--tokenizer is missing' "$pg" tokenize count a
says 1 'train, encode, decode, count' "$pg" tokenize chop
says 1 'got 260' "$pg" tokenize decode --tokenizer words.json 260

# Token files: a text is encoded once, and a model is trained on it. What does not go together is named.
cp "$root/docs/PG.md" corpus.txt
says 0 'corpus.tokens: ' "$pg" tokenize pack corpus.txt --tokenizer words.json --out corpus.tokens
grep -q '%' out && bad 'pg tokenize pack shows its progress where there is no terminal'
says 1 'ends with .tokens' "$pg" tokenize pack corpus.txt --tokenizer words.json --out corpus.txt
: >empty.txt
says 1 'the files are empty' "$pg" tokenize pack empty.txt --tokenizer words.json --out none.tokens
says 0 '"vocabulary":260' "$pg" info corpus.tokens --json
says 0 'format         token file' "$pg" info corpus.tokens
tokens() { tiny "$@" --tokenizer words.json; }
tokens 0 'bits per byte' --data corpus.tokens --name packed
packed=$(echo runs/*_packed)
says 0 'bits per byte' "$pg" train --config "$packed/config.yaml" --name packed_again --threads 1
cmp -s "$packed/checkpoint.safetensors" runs/*_packed_again/checkpoint.safetensors || bad 'a saved config does not repeat a run on tokens'
# What a Hugging Face folder holds, also one of a type that is not known.
says 0 'exported' "$pg" export "$packed" exported
says 0 'format         Hugging Face folder' "$pg" info exported
grep -q '^model          gpt2, layers 1, heads 2, ' out || bad 'pg info does not show the model of a folder'
grep -q '^type           F32, tensors ' out || bad 'pg info does not show the element types of a folder'
grep -q '^tokenizer      tokens 260$' out || bad 'pg info does not show the tokenizer of a folder'
# A pretrained model is trained on. Its sizes, weights and vocabulary are those of the run that it comes from.
further() { # further STATUS TEXT OPTIONS…: the same of two steps from --init
  status=$1 text=$2
  shift 2
  says "$status" "$text" "$pg" train --data corpus.txt --batch 2 --steps 2 --warmup 0 --eval-batches 1 "$@"
}
further 0 'bits per byte' --init "$packed" --name of_run
grep -o 'validation loss [0-9.]*' out >loss_of_run
further 0 'bits per byte' --init exported --name of_folder
grep -o 'validation loss [0-9.]*' out | cmp -s - loss_of_run || bad '--init of a folder differs from --init of its run'
says 0 'bits per byte' "$pg" train --resume runs/*_of_folder --steps 3
further 1 '--layers 2 differs from the 1 of the model' --init exported --layers 2
further 1 '--context 8 differs' --init exported --context 8
tokens 0 'pg sample' --data corpus.txt --norm rms --positions rope --mlp swiglu --bias false --name llama
says 0 'llama_folder' "$pg" export runs/*_llama llama_folder
further 0 'bits per byte' --init llama_folder --context 8 --dtype bf16 --name shorter
further 1 '--context 32 differs from the 16' --init llama_folder --context 32
rm llama_folder/tokenizer.json
further 1 'tokenizer' --init llama_folder
sed -i.bak 's/"gpt2"/"rwkv"/' exported/config.json
says 0 '"not_supported":' "$pg" info exported --json
says 0 'not read       exported' "$pg" info exported
mkdir folder && cp corpus.tokens folder/b.tokens
tiny 1 'name it with --tokenizer' --data folder
tokens 1 'corpus.txt is a text' --data folder --val corpus.txt
tokens 1 'corpus.tokens holds tokens' --data corpus.txt --val corpus.tokens
says 1 'are too few for a context of 100000' "$pg" train --data folder --tokenizer words.json --context 100000
cp corpus.tokens folder/val_1.tokens
tokens 0 'bits per byte' --data folder --name separate
says 1 'is not the one that' "$pg" train --resume "$packed" --data folder --steps 9
tiny 1 'b.tokens: the file was made with another tokenizer' --data folder --init "$first"
head -c 5000 corpus.tokens >folder/b.tokens
tokens 1 'b.tokens: the file is cut' --data folder
rm folder/*
tokens 1 'the folder has no token file' --data folder
says 0 ready "$pg" doctor

# What a GGUF file holds.
says 0 'Q6_K, tensors 1, elements 1536, bytes 1260' "$pg" info "$gguf"
grep -q '^metadata       general.architecture = blocks$' out || bad 'pg info does not show the metadata'
says 0 '"Q6_K":{"tensors":1,"elements":1536,"bytes":1260}' "$pg" info --json "$gguf" "$first"
[ "$(grep -c '^{.*}$' out)" = 2 ] || bad 'pg info --json does not print a line for each run and file'
head -c 1000 "$gguf" >cut.gguf
says 1 'cut.gguf: ' "$pg" info cut.gguf
mkfifo pipe.gguf
says 1 'pipe.gguf' timeout 5 "$pg" info pipe.gguf

# Files have checksums: a flipped bit is found when a file is read, and by --verify, which reads it whole.
flip() { # flip FILE: one bit of the byte 40 bytes before its end
  at=$(($(wc -c <"$1") - 40))
  byte=$(od -An -tu1 -j$at -N1 "$1")
  # shellcheck disable=SC2059,SC2094
  printf "\\$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek=$at conv=notrunc 2>/dev/null
}
cp -r "$packed" damaged
mv exported/config.json.bak exported/config.json
says 0 'right          damaged/checkpoint.safetensors, CRC-32C ' "$pg" info damaged exported corpus.tokens --verify
grep -q '^right          damaged/best.safetensors, CRC-32C ' out || bad 'pg info --verify passes over best.safetensors'
grep -q '^right          exported/model.safetensors, CRC-32C ' out || bad 'pg info --verify passes over a model'
grep -q '^right          corpus.tokens, hash ' out || bad 'pg info --verify passes over token files'
says 0 "no checksum    $gguf" "$pg" info "$gguf" --verify
says 0 '"checksum":null' "$pg" info "$gguf" --verify --json
mkdir nothing
says 1 'has no file with a checksum' "$pg" info nothing --verify
for file in damaged/checkpoint.safetensors damaged/best.safetensors exported/model.safetensors corpus.tokens; do
  cp $file kept
  flip $file
  says 1 "$file: the file is damaged: " "$pg" info $file --verify
  says 1 '"error":"' "$pg" info $file --verify --json
  cp kept $file
done
cp corpus.txt elsewhere.txt && flip damaged/checkpoint.safetensors && flip exported/model.safetensors
says 1 'damaged/checkpoint.safetensors: the file is damaged' "$pg" sample damaged
says 1 'damaged/checkpoint.safetensors: the file is damaged' "$pg" eval damaged elsewhere.txt
says 1 'damaged/checkpoint.safetensors: the file is damaged' "$pg" train --resume damaged
says 1 'damaged/checkpoint.safetensors: the file is damaged' "$pg" train --init damaged --data corpus.txt
says 1 'exported/model.safetensors: the file is damaged' "$pg" chat exported
says 0 'right ' "$pg" info damaged/best.safetensors --verify
rm -r damaged exported

if "$pg" bench --device cuda --filter nothing >out 2>&1; then bad 'pg bench finds a benchmark named nothing'; fi
grep -qE 'was requested, but|says nothing about time|nothing matches' out || bad 'pg bench --device cuda does not say why not'
says 0 ' 0 wrong' "$pg" gradcheck relu
says 1 'known are: add' "$pg" gradcheck nothing
says 0 '"tape"' "$pg" bench --filter '16-element' --json --repeat 1
says 0 'cross_entropy' "$pg" bench --filter 'x 1024 cross_entropy' --repeat 1
says 1 'nothing matches' "$pg" bench --filter xyzzy --repeat 1
says 1 'pg: open no-model' "$pg" bench --model no-model
# Reinforcement learning: a saved config repeats its run, a resumed run ends with the bytes of one that went on.
says 0 'l = -min(rho A, clip(rho, 1 - 0.2, 1 + 0.28) A)' "$pg" rl --explain dapo
says 0 'A = R - mean over the group' "$pg" rl --explain grpo --baseline group_mean
says 1 '--explain: expected one of reinforce, ' "$pg" rl --explain sarsa
says 1 '--beta: expected a number of at least 0, got small' "$pg" rl --explain grpo --beta small
says 1 '--task: expected one of copy, reverse' "$pg" rl --task chess
rl() { # rl STATUS TEXT OPTIONS...
  status=$1 text=$2
  shift 2
  says "$status" "$text" "$pg" rl --task sort --length 3 --layers 1 --heads 2 --width 16 --prompts 4 --samples 4 \
    --sft-steps 3 --eval-problems 5 --eval-every 2 "$@"
}
rl 0 'health checks:' --steps 4 --name rl_whole --save-every 2
whole=$(echo runs/*_rl_whole)
grep -q '"reward/mean":' "$whole/metrics.jsonl" || bad 'metrics.jsonl has no reward'
[ "$(grep -c '"split":"training"' "$whole/samples.jsonl")" = 32 ] || bad 'samples.jsonl has not eight samples of each step'
says 0 'health checks:' "$pg" rl --config "$whole/config.yaml" --name rl_again --threads 1
cmp -s "$whole/checkpoint.safetensors" runs/*_rl_again/checkpoint.safetensors || bad 'a saved config of pg rl does not repeat its run'
# As after a crash: the checkpoint is of step 2, two steps more were written down.
cp -r "$whole" runs/crashed && rm runs/crashed/checkpoint.safetensors
rl 0 'health checks:' --steps 2 --name rl_two
cp runs/*_rl_two/checkpoint.safetensors runs/crashed/
says 0 'health checks:' "$pg" rl --resume runs/crashed
cmp -s "$whole/checkpoint.safetensors" runs/crashed/checkpoint.safetensors || bad 'a resumed pg rl does not end with the bytes of one that went on'
cmp -s "$whole/samples.jsonl" runs/crashed/samples.jsonl || bad 'a resumed pg rl has other samples'
says 1 '--task is copy, but the run runs/crashed has sort; leave --task out' "$pg" rl --resume runs/crashed --task copy
says 1 '--width is 32, but the run runs/crashed has 16' "$pg" rl --resume runs/crashed --width 32
says 0 'now let it learn' "$pg" sft --task sort --length 3 --layers 1 --heads 2 --width 16 --steps 3 --batch 4 --name sft
# --profile changes no numbers.
says 0 'memory of a step in MB: weights ' "$pg" sft --task sort --length 3 --layers 1 --heads 2 --width 16 --steps 3 --batch 4 \
  --name sft_profiled --profile
grep -q matmul out || bad '--profile of pg sft shows no matmul'
cmp -s runs/*_sft/checkpoint.safetensors runs/*_sft_profiled/checkpoint.safetensors || bad 'measuring changes the numbers of pg sft'
rl 0 'health checks:' --steps 1 --init runs/*_sft --name rl_plain
rl 0 ', reference 0.0, rollout 0.' --steps 1 --init runs/*_sft --name rl_profiled --profile
cmp -s runs/*_rl_plain/checkpoint.safetensors runs/*_rl_profiled/checkpoint.safetensors || bad 'measuring changes the numbers of pg rl'
# With --exhaustive a group has a response for each token, and the ranks share out those.
rl 0 'health checks:' --steps 1 --init runs/*_sft --exhaustive true --ranks 2 --name every_token
tokens=$("$pg" info runs/*_every_token | sed -n 's/.*vocabulary \([0-9]*\).*/\1/p')
grep -qx "micro-batch: $((2 * tokens))" runs/*_every_token/config.yaml || bad "two ranks share 4 x $tokens responses otherwise"
rl 0 'health checks:' --steps 1 --init runs/*_sft --exhaustive true --micro-batch $((2 * tokens)) --name every_alone
cmp -s runs/*_every_token/checkpoint.safetensors runs/*_every_alone/checkpoint.safetensors ||
  bad 'two ranks that try every token differ from one'
# Adapters: only they are trained, a resumed run ends with the same bytes, and --init trains them further.
says 0 'in adapters are trained' "$pg" sft --task sort --length 3 --init runs/*_sft --lora-rank 2 --lora-dropout 0.1 --steps 3 --batch 4 \
  --name adapted
rl 0 'in adapters are trained' --steps 4 --name lora_whole --save-every 2 --init runs/*_sft --lora-rank 2 --lora-targets q_proj,c_fc
cp -r runs/*_lora_whole runs/lora_crashed && rm runs/lora_crashed/checkpoint.safetensors
rl 0 'health checks:' --steps 2 --name lora_two --init runs/*_sft --lora-rank 2 --lora-targets q_proj,c_fc
cp runs/*_lora_two/checkpoint.safetensors runs/lora_crashed/
says 0 'health checks:' "$pg" rl --resume runs/lora_crashed
cmp -s runs/*_lora_whole/checkpoint.safetensors runs/lora_crashed/checkpoint.safetensors || bad 'a resumed run with adapters does not end with the bytes of one that went on'
rl 0 'in adapters are trained' --steps 1 --init runs/*_lora_whole --name lora_further
says 0 '' "$pg" sample runs/*_lora_further --tokens 3
says 0 'LoRA of rank 2, alpha 16, q_proj,c_fc' "$pg" info runs/*_lora_further
rl 1 'has adapters of rank 2 already' --steps 1 --init runs/*_lora_whole --lora-rank 2
rl 1 '--lora-rank needs --init' --steps 1 --lora-rank 2
rl 1 'need --lora-rank' --steps 1 --init runs/*_sft --lora-alpha 2
rl 1 'q_proj, k_proj, v_proj' --steps 1 --init runs/*_sft --lora-rank 2 --lora-targets query
rl 1 'has dropout 0.5' --steps 1 --init runs/*_sft --lora-rank 2 --lora-dropout 0.5
# Imitation that may end earlier ends after 20 steps, if these earn anything at all.
warm() { says 0 'health checks:' "$pg" rl --task sort --length 3 --layers 1 --heads 2 --width 16 --steps 1 --eval-problems 20 "$@"; }
warm --sft-steps 60 --sft-until 0.001 --name early
warm --sft-steps 20 --name exact
cmp -s runs/*_early/checkpoint.safetensors runs/*_exact/checkpoint.safetensors || bad '--sft-until does not end the imitation'
# Learning from choices, and from its own right answers.
says 1 'make_sense: No such file' "$pg" dpo --task sort --init make_sense
says 1 '--init RUN is missing' "$pg" reward-model --task sort
choose() { # choose STATUS TEXT COMMAND OPTIONS...
  status=$1 text=$2 command=$3
  shift 3
  says "$status" "$text" "$pg" "$command" --task sort --length 3 --init "$(echo runs/*_sft)" --pairs 20 --held-out 10 \
    --steps "$steps" --batch 4 "$@"
}
steps=2
choose 0 'now let it pay' reward-model --name paying --threads 1
choose 0 'now let it pay' reward-model --name paying_again
cmp -s runs/*_paying/checkpoint.safetensors runs/*_paying_again/checkpoint.safetensors || bad 'pg reward-model does not repeat its run'
rl 0 'health checks:' --steps 1 --init runs/*_sft --reward-model "$(echo runs/*_paying)" --name paid
grep -q '"reward/true":' runs/*_paid/metrics.jsonl || bad 'with a reward model the true reward is not logged'
rl 1 'no reward model' --steps 1 --init runs/*_sft --reward-model "$(echo runs/*_sft)"
says 1 'a reward model of the task sort, not copy' "$pg" rl --task copy --length 3 --steps 1 --init runs/*_sft \
  --reward-model "$(echo runs/*_paying)"
choose 0 'after 2 steps: held-out reward' dpo --name chosen --kind ipo
steps=4
choose 0 'after 4 steps: held-out reward' dpo --name chosen_longer --kind ipo --eval-every 2
says 0 'after 4 steps: held-out reward' "$pg" dpo --resume runs/*_chosen --steps 4
same_run() { # same_run RUN OTHER WHAT: the same weights and measurements
  cmp -s "runs/$1/checkpoint.safetensors" "runs/$2/checkpoint.safetensors" || bad "$3: other weights"
  cmp -s "runs/$1/metrics.jsonl" "runs/$2/metrics.jsonl" || bad "$3: other measurements"
}
same_run "$(basename runs/*_chosen)" "$(basename runs/*_chosen_longer)" 'pg dpo --resume'
choose 0 'now let it pay' reward-model --name paying_longer --eval-every 2
says 0 'now let it pay' "$pg" reward-model --resume runs/*_paying_again --steps 4
same_run "$(basename runs/*_paying_again)" "$(basename runs/*_paying_longer)" 'pg reward-model --resume'
says 0 'after 4 steps' "$pg" dpo --resume runs/*_chosen
says 1 'learned from other pairs' "$pg" dpo --resume runs/*_chosen --pairs 21
rl 0 'health checks:' --steps 1 --init runs/*_chosen
expert() { says 0 'iterations: held-out' "$pg" expert-iteration --problems 8 --samples 2 --eval-problems 5 "$@"; }
expert --task sort --length 3 --init runs/*_sft --iterations 2 --name expert
expert --task sort --length 3 --init runs/*_sft --iterations 1 --name begun
sed 's/^iterations: 1$/iterations: 2/' "$(echo runs/*_begun)/config.yaml" >more.yaml && mv more.yaml "$(echo runs/*_begun)/config.yaml"
expert --resume runs/*_begun
cmp -s runs/*_expert/checkpoint.safetensors runs/*_begun/checkpoint.safetensors || bad 'a resumed pg expert-iteration does not end with the bytes of one that went on'
expert --task sort --length 3 --init runs/*_sft --iterations 2 --max-rows 3 --name few
cmp -s runs/*_expert/checkpoint.safetensors runs/*_few/checkpoint.safetensors || bad '--max-rows changes what pg expert-iteration learns'
says 1 'smaller --max-rows' "$pg" expert-iteration --task sort --problems 16777216 --samples 16777216 --name huge
says 0 'greedy' "$pg" env --total-steps 2048 --eval-episodes 2 --name cart
says 0 'greedy' "$pg" env --config "$(echo runs/*_cart)/config.yaml" --name cart_again --threads 1
# Only whole rollouts are run, and the progress ends with the last of them.
says 0 'step 20/20' "$pg" env --total-steps 25 --environments 1 --rollout-steps 10 --minibatches 1 --eval-episodes 0 \
  --name short
cmp -s runs/*_cart/checkpoint.safetensors runs/*_cart_again/checkpoint.safetensors || bad 'a saved config of pg env does not repeat its run'
says 1 '--epochs: expected a whole number of at least 1, got 2.5' "$pg" env --epochs 2.5
says 1 'CartPole-v1' "$pg" env --environment Chess

exit $wrong
