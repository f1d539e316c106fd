#!/bin/sh
# Adapters (LoRA) of a tuned model: exported as a folder of PEFT, used on the base model, merged, trained further.
# Usage: adapters.sh BUILD_FOLDER
. tests/pg/setup.sh

# A base model without a chat template, and one of GPT-2.
printf 'the cat sat on the mat. a dog ran to the cat and sat too.\n%.0s' $(seq 60) >text
yes '{"prompt": "the cat", "response": " ran ran ran to the dog"}' | head -n 8 >data.jsonl
says 0 out 'tok.json' "$pg" tokenize train text --vocab-size 280 --special '<|im_start|>' --special '<|im_end|>' --out tok.json
train() { # train NAME OPTIONS…
  name=$1
  shift
  says 0 out 'pg sample' "$pg" train --data text --layers 2 --heads 4 --width 32 --context 32 --batch 4 --steps 30 \
    --eval-batches 1 --warmup 0 --name "$name" "$@"
}
train base --tokenizer tok.json --norm rms --positions rope --mlp swiglu --n-kv-head 2 --bias false
train gpt --tokenizer tok.json
train latent --tokenizer tok.json --kv-latent-size 8
train chars
for name in base gpt; do says 0 out "$name" "$pg" export "$(run $name)" $name; done
# A run's model is named by its type, or as a transformer if it has none of them.
says 0 out 'model          llama, 2 layers' "$pg" info "$(run base)"
says 0 out 'model          gpt2, 2 layers' "$pg" info "$(run gpt)"
says 0 out 'model          transformer, 2 layers' "$pg" info "$(run latent)"
says 0 out '"architecture":"llama"' "$pg" info "$(run base)" --json
tune() { # tune STATUS FILE TEXT OPTIONS…
  status=$1 file=$2 text=$3
  shift 3
  says "$status" "$file" "$text" "$pg" sft --data data.jsonl --lr 0.02 --epochs 10 --batch 4 "$@"
}

for base in base gpt; do
  tune 0 out 'in adapters are trained' --init $base --chat-template chatml --lora-rank 2 --name tuned_$base
  tuned=$(run tuned_$base)
  says 0 out adapter_$base "$pg" export "$tuned" adapter_$base --adapter-only
  says 0 out merged_$base "$pg" export "$tuned" merged_$base
  # Text, loss and conversation are the same by all three ways, and not those of the base model.
  for way in "$tuned" "$base --adapter adapter_$base" merged_$base $base; do
    name=$(echo "$way" | tr -c 'a-z_\n' -)
    {
      # shellcheck disable=SC2086
      "$pg" sample $way --greedy --prompt the --tokens 12 2>err || bad "pg sample $way fails"
      # shellcheck disable=SC2086
      "$pg" eval $way text 2>err | grep 'nats per token' || bad "pg eval $way fails"
      # shellcheck disable=SC2086
      [ "$way" = $base ] || echo 'the cat' | "$pg" chat $way --temperature 0 --tokens 8 2>err || bad "pg chat $way fails"
    } >"said_$name"
    cp "said_$name" out
    if [ "$way" = $base ]; then
      cmp -s "said_$name" said_first && bad "the adapters of $base change nothing"
    elif [ "$way" = "$tuned" ]; then
      cp "said_$name" said_first
    else
      cmp -s "said_$name" said_first || bad "$way is not the model of its run"
    fi
  done
done
says 0 out 'model          llama, 2 layers' "$pg" info "$(run tuned_base)"
grep -q '"base_model_name_or_path": "base"' adapter_base/adapter_config.json || bad 'the folder does not name its base model'
# In bf16 too, and from a folder merged into another one.
for dtype in f32 bf16; do
  echo 'the cat' | "$pg" chat base --adapter adapter_base --dtype $dtype --int8 --tokens 4 >out 2>err ||
    bad "pg chat --int8 with adapters fails in $dtype"
  grep -q '8-bit weights: .* nats' err || bad "pg chat --int8 in $dtype does not say what changes"
done
if ! echo 'the cat' | "$pg" chat base --adapter adapter_base --dtype bf16 --tokens 4 >out 2>err || ! grep -q . out; then
  bad 'pg chat says nothing in bf16'
fi
# A run has the type of --dtype too, and its own without it.
typed() { # typed TYPE OPTIONS…: the weights of an export of the run have this type
  type=$1
  shift
  rm -rf typed
  says 0 out typed "$pg" export "$(run tuned_base)" typed "$@"
  says 0 out "$type" "$pg" info typed
}
typed F32
typed BF16 --dtype bf16
says 0 out 'bits per byte' "$pg" eval "$(run tuned_base)" text
mv out exact
says 0 out 'bits per byte' "$pg" eval "$(run tuned_base)" text --dtype bf16
cmp -s out exact && bad 'pg eval --dtype bf16 computes in f32'
"$pg" sample "$(run tuned_base)" --prompt 'the cat' --tokens 5 --temperature 0 --json --log-probs --dtype bf16 >out 2>err ||
  bad 'pg sample --dtype bf16 fails'
grep -qE '"token_ids":\[[0-9]+(,[0-9]+){4}\],"log_probs":\[-[^],]+(,-[^],]+){4}\]' out || bad 'there are no log-probabilities'
says 1 err '--log-probs is for --json' "$pg" sample "$(run tuned_base)" --log-probs
says 0 out merged_again "$pg" export base merged_again --adapter adapter_base
cmp -s merged_base/model.safetensors merged_again/model.safetensors || bad 'merging from a folder gives other weights'
says 0 out adapter_again "$pg" export base adapter_again --adapter adapter_base --adapter-only
cmp -s adapter_base/adapter_model.safetensors adapter_again/adapter_model.safetensors || bad 'adapters change on their way'
# Weights that are not finite are refused, of a run, of a folder, of adapters alone and merged.
says 0 out 'in adapters are trained' "$pg" sft --data data.jsonl --init base --chat-template chatml --lora-rank 2 --lr 1e300 \
  --min-lr 1e300 --max-grad-norm 0 --steps 1 --batch 4 --val-share 0 --name ruined
says 0 out 'pg sample' "$pg" train --data text --tokenizer tok.json --layers 1 --heads 2 --width 16 --context 16 --batch 2 \
  --eval-batches 1 --warmup 0 --lr 1e300 --min-lr 1e300 --max-grad-norm 0 --steps 1 --name infinite
for way in "$(run infinite) none" "$(run ruined) none" "$(run ruined) none --adapter-only"; do
  # shellcheck disable=SC2086
  says 1 err "has numbers that are not finite; nothing was written" "$pg" export $way
  [ "$(wc -l <err)" = 1 ] || bad 'an error is more than a sentence'
  [ ! -e none ] || bad 'a refused export makes a folder'
done
echo 'the cat' | "$pg" chat "$(run ruined)" >out 2>err || bad 'a model that is not finite ends a conversation'
if ! grep -q 'are not finite' err || [ -s out ]; then bad 'pg chat answers with weights that are not finite'; fi
says 1 err 'are not finite' "$pg" chat "$(run ruined)" --prompt 'the cat'
says 1 err "has numbers that are not finite; nothing was written" "$pg" export "$(run ruined)" none --adapter-only
grep -q 'lora_' err || bad 'the error does not name the adapter'
# A folder that is there is not changed.
for folder in adapter_base merged_base; do
  says 1 err 'choose another folder' "$pg" export "$(run tuned_base)" $folder --adapter-only
  says 1 err 'choose another folder' "$pg" export "$(run tuned_base)" $folder
done
says 1 err "cannot make the folder 'text/x': Not a directory" "$pg" export "$(run tuned_base)" text/x --adapter-only
says 1 err 'base has no adapters' "$pg" export base none --adapter-only
[ ! -e none ] || bad 'a refused export makes a folder'

# Training goes on with the adapters of a folder, and a resumed run does not add them again.
tune 0 out 'in adapters are trained' --init base --adapter adapter_base --save-every 2 --name further --threads 1
cp -r "$(run further)" stopped && sed -i.bak 's/^epochs: .*/epochs: 20/' stopped/config.yaml
tune 0 out 'in adapters are trained' --resume stopped --threads 1
says 0 out 'LoRA of rank 2' "$pg" info stopped
says 0 out 'continue with  pg chat stopped' "$pg" info stopped
tune 1 err 'adapters of rank 2 already' --init base --adapter adapter_base --lora-rank 3
tune 1 err 'adapters of rank 2 already' --init "$(run tuned_base)" --adapter adapter_base
# On a task: the run of a small model, its adapters, and reinforcement learning with them.
task() { # task STATUS FILE TEXT COMMAND OPTIONS…
  status=$1 file=$2 text=$3 command=$4
  shift 4
  says "$status" "$file" "$text" "$pg" "$command" --task sort --length 3 "$@"
}
task 0 err 'pg rl' sft --layers 1 --heads 2 --width 16 --steps 3 --batch 4 --name task
task 0 out 'in adapters are trained' sft --init "$(run task)" --lora-rank 2 --steps 3 --batch 4 --name task_tuned
says 0 err 'the folder has no tokenizer' "$pg" export "$(run task_tuned)" adapter_task --adapter-only
task 0 out 'in adapters are trained' rl --init "$(run task)" --adapter adapter_task --steps 1 --prompts 4 --samples 4 --eval-problems 5
task 1 err '--adapter needs --init' rl --adapter adapter_task --steps 1
says 0 out '31=' "$pg" sample "$(run task)" --adapter adapter_task --prompt '31=' --tokens 3
# The adapters of q_proj in GPT-2 have no name in PEFT.
task 0 out 'in adapters are trained' sft --init "$(run task)" --lora-rank 2 --lora-targets q_proj --steps 1 --batch 4 --name task_q
says 1 err 'q_proj has no name in PEFT' "$pg" export "$(run task_q)" none --adapter-only

# Adapters of another model, twice, and folders that are none.
use() { says 1 err "$1" "$pg" sample "$2" --adapter "$3"; [ "$(wc -l <err)" = 1 ] || bad 'an error is more than a sentence'; }
use "--adapter adapter_base for the model of gpt: adapter_base/adapter_config.json: 'target_modules' of this model: expected c_attn" gpt adapter_base
use "'target_modules' of this model: expected c_attn" "$(run chars)" adapter_base
use 'latent attention' "$(run latent)" adapter_base
use "expected [2, 16] for r = 2 and this model; the adapters are for gpt" "$(run task)" adapter_gpt
use 'has adapters of rank 2 already; name the model without them' "$(run tuned_base)" adapter_base
use 'nowhere has no adapter_config.json' base nowhere
use 'base has no adapter_config.json' base base
use 'has no adapter_config.json' base "$(run tuned_base)"
broken() { rm -rf broken; cp -r adapter_base broken; }
broken && rm broken/adapter_model.safetensors
use 'broken has no adapter_model.safetensors' base broken
broken && head -c 700 adapter_base/adapter_model.safetensors >broken/adapter_model.safetensors
use 'is it truncated?' base broken
broken && sed -i.bak 's/"r": 2/"r": 3/' broken/adapter_config.json
use 'expected [3, 32] for r = 3 and this model; the adapters are for base' base broken
broken && sed -i.bak 's/"use_dora": false/"use_dora": true/' broken/adapter_config.json
use "'use_dora' is true" base broken
for command in "chat base" "eval base text" "export base none"; do
  # shellcheck disable=SC2086
  says 1 err 'nowhere has no adapter_config.json' "$pg" $command --adapter nowhere
done
[ ! -e none ] || bad 'a refused export makes a folder'

# The tokens that end a text are in the exported folder, or generate() of transformers would go on after the end: the
# token <|im_end|> has the id 1 here. What the source states about them is kept.
flat() { tr -d ' \n' <"$1"; } # flat FILE: its JSON without white space
for folder in base merged_base; do
  for file in config.json generation_config.json; do
    case $(flat $folder/$file) in
      *'"eos_token_id":1,"pad_token_id":1'*) ;;
      *) bad "$folder/$file does not say which token ends a text" ;;
    esac
  done
  grep -q '"eos_token": "<|im_end|>"' $folder/tokenizer_config.json || bad "$folder/tokenizer_config.json has no eos_token"
done
cp -r base stated
echo '{"temperature": 0.6, "eos_token_id": [1, 7], "bos_token_id": 0}' >stated/generation_config.json
sed -i 's/"pad_token_id": 1/"pad_token_id": 5/' stated/config.json
says 0 out again "$pg" export stated again
[ "$(flat again/generation_config.json)" = '{"temperature":0.6,"eos_token_id":[1,7],"bos_token_id":0,"pad_token_id":5}' ] ||
  bad 'an exported folder has another generation_config.json than its source'
case $(flat again/config.json) in
  *'"eos_token_id":[1,7],"bos_token_id":0,"pad_token_id":5}') ;;
  *) bad 'an exported config.json has other tokens than its source' ;;
esac
echo '{"eos_token_id": 100000}' >stated/generation_config.json
says 1 err '"eos_token_id" must be a token of the model, below 280, got 100000' "$pg" export stated third
[ ! -e third ] || bad 'a refused export makes a folder'
exit $wrong
