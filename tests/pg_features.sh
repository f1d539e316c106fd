#!/bin/sh
# What pg does with a trained model: samples of every kind of run, evaluation, information, fine-tuning, JSON. Usage:
# pg_features.sh BUILD_FOLDER
set -u
pg=$(cd "$1" && pwd)/pg
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset POLICYGRAD_DATA POLICYGRAD_CACHE POLICYGRAD_MIRROR
wrong=0
bad() { echo "pg_features: $1" >&2; cat out err >&2; wrong=1; }
# says STATUS FILE TEXT COMMAND…: the command ends with this status and prints this text to FILE, out or err
says() {
  status=$1 file=$2 text=$3
  shift 3
  "$@" >out 2>err
  got=$?
  [ $got = "$status" ] || bad "'$*' ended with status $got, expected $status"
  grep -qF -- "$text" "$file" || bad "'$*' does not say '$text' on std$file"
}
# equal WHAT: out has exactly what standard input has.
equal() { cat >want; cmp -s want out || bad "$1"; }
train() { # train STATUS FILE TEXT OPTIONS…: the same of a short training run
  status=$1 file=$2 text=$3
  shift 3
  says "$status" "$file" "$text" "$pg" train --layers 1 --heads 2 --width 16 --context 16 --batch 2 --steps 6 --eval-every 3 --eval-batches 1 "$@"
}
run() { echo "$work"/runs/*_"$1"; }

train 0 out 'pg sample' --data stories --name gpt
says 0 err 'pg rl --task sort' "$pg" sft --task sort --length 3 --layers 1 --heads 2 --width 16 --steps 30 --batch 16 --name sft
says 0 err 'pg rl --task keyword' "$pg" sft --task keyword --layers 1 --heads 2 --width 16 --steps 5 --batch 16 --name words
sort() { # sort FILE TEXT COMMAND OPTIONS…: learns on from that imitation
  file=$1 text=$2 command=$3
  shift 3
  says 0 "$file" "$text" "$pg" "$command" --task sort --length 3 --init "$(run sft)" "$@"
}
sort err lamps rl --steps 1 --prompts 4 --samples 4 --eval-problems 5 --name rl
sort err 'after 2 steps' dpo --pairs 20 --held-out 10 --steps 2 --batch 4 --name dpo
sort out 'now let it pay' reward-model --pairs 20 --held-out 10 --steps 2 --batch 4 --name judge
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

# What a run of every kind is, and how to go on.
for kind in train:gpt sft:sft rl:rl dpo:dpo reward-model:judge expert-iteration:expert env:env; do
  says 0 out "\"kind\":\"${kind%:*}\"" "$pg" info --json "$(run "${kind#*:}")"
  grep -q "^# pg ${kind%:*}$" "$(run "${kind#*:}")/config.yaml" || bad "the config.yaml of $kind does not name its command"
  says 0 out "pg ${kind%:*}" "$pg" info "$(run "${kind#*:}")"
done
says 0 out "pg sample $(run gpt)" "$pg" info "$(run gpt)"
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

exit $wrong
