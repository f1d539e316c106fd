#!/bin/sh
# A model with a chat template of its own chats, learns, is asked for rewards and is exported by that template.
# Usage: chat_templates.sh BUILD_FOLDER
. tests/pg/setup.sh

printf 'What is 1 + 2? Answer with the number only. 0 3 4 5 6 7 8 9 user assistant [ ]\n%.0s' $(seq 200) >text
says 0 out 'tok.json' "$pg" tokenize train text --vocab-size 300 \
  --special '<|end|>' --special '<|turn|>' --special '<s>' --special '<|endoftext|>' --out tok.json
says 0 out 'pg sample' "$pg" train --data text --tokenizer tok.json --layers 2 --heads 2 --width 32 --context 160 \
  --batch 4 --steps 30 --eval-batches 1 --warmup 0 --name base
says 0 out base "$pg" export "$(run base)" base
# It has the marks of no known template: a token by name, thoughts that older turns lose, a variable of the caller.
program='{{ bos_token }}{% for m in messages %}<|turn|>{{ m.role | upper }} '\
'{% if m.role == "assistant" and loop.last %}[{{ "now " if hurry is defined }}{{ m.content }}]'\
'{% else %}{{ m.content[:9] }}{% endif %}<|end|>{% endfor %}'\
'{% if add_generation_prompt %}<|turn|>ASSISTANT [{{ "now " if hurry is defined }}{% endif %}'
cp -r base own
printf '%s' "$program" >own/chat_template.jinja
echo '{"bos_token": "<s>", "eos_token": {"content": "<|end|>"}}' >own/tokenizer_config.json

says 0 out "a program in Jinja of ${#program} bytes" "$pg" info own
talk() { # talk MODEL OPTIONS LINE…: a conversation of these lines
  model=$1 options=$2
  shift 2
  # shellcheck disable=SC2086
  printf '%s\n' "$@" | "$pg" chat "$model" --temperature 0 --tokens 6 $options >out 2>err ||
    bad "pg chat fails after: $*"
  [ ! -s err ] || grep -q reached err || bad "pg chat $model has a remark"
}
talk own '' 'What is 1 + 2?' 'What is 2 + 3?' 'What is 3 + 4?'
grep -q . out || bad 'the model says nothing'
mv out kept
# A changed option empties the cache: the answers are those of a conversation that is read again.
talk own '' 'What is 1 + 2?' '/tokens 6' 'What is 2 + 3?' '/tokens 6' 'What is 3 + 4?'
cmp kept out || bad 'the cache of older turns gives another answer than the whole conversation'
talk own "--chat-template own/chat_template.jinja" 'What is 1 + 2?' 'What is 2 + 3?' 'What is 3 + 4?'
cmp kept out || bad 'the template from a file gives another answer'
says 0 out '"finish"' "$pg" chat own --json --prompt 'What is 1 + 2?' --chat-template-kwargs '{"hurry": 1}'
says 1 err 'does not read the variable enable_thinking' \
  "$pg" chat own --prompt 1 --chat-template-kwargs '{"enable_thinking": false}'
says 1 err 'expected a JSON object' "$pg" chat own --prompt 1 --chat-template-kwargs hurry=1
says 1 err 'a file that ends in .jinja' "$pg" chat own --prompt 1 --chat-template own
says 1 err 'has no added token <|im_end|>' "$pg" chat own --prompt 1 --chat-template chatml

# Tuning writes the conversations by the template, and the checkpoint carries it, with its variables.
one='{"role": "user", "content": "1 + 1"}, {"role": "assistant", "content": "2"}'
yes "{\"messages\": [$one]}" | head -n 8 >data.jsonl
says 0 out 'tokens, ' "$pg" sft --data data.jsonl --init own --epochs 3 --batch 4 \
  --chat-template-kwargs '{"hurry": 1}' --name tuned
tuned=$(run tuned)
says 0 out 'a program in Jinja of' "$pg" info "$tuned"
says 0 err 'after 4 steps' "$pg" sft --resume "$tuned" --steps 4
says 0 out exported "$pg" export "$tuned" exported
grep -qF '"bos_token": "<s>"' exported/tokenizer_config.json || bad 'the exported folder has another bos_token'
escaped=$(printf '%s' "$program" | sed 's/"/\\"/g')
grep -qF "\"chat_template\": \"$escaped\"" exported/tokenizer_config.json || bad 'the exported template is another one'
tr -d ' \n' <exported/generation_config.json | grep -qF '"eos_token_id":[0,3]' || bad 'generate() would not end with the turn'
talk "$tuned" '' 'What is 1 + 2?' 'What is 2 + 3?'
mv out kept
talk exported "--chat-template-kwargs {\"hurry\":1}" 'What is 1 + 2?' 'What is 2 + 3?'
cmp kept out || bad 'the exported model answers in another way'
echo "{\"messages\": [$one, $one]}" >two.jsonl
says 0 err 'of 2 turns of the assistant 1 are not learned' \
  "$pg" sft --data two.jsonl --init own --steps 1 --batch 1 --val-share 0 --name two

# Rewards: the prompt is the template's, and an answer ends with its token.
task='--task arithmetic --digits 1 --threads 1 --prompts 4 --samples 4 --micro-batch 4 --response 6 --steps 1'
task="$task --eval-every 1 --eval-problems 4"
# shellcheck disable=SC2086
{
  says 0 err 'after 1 steps' "$pg" rl --init own $task --name rl
  says 0 out 'a program in Jinja' "$pg" info "$(run rl)"
  echo '{% if %}' >own/chat_template.jinja
  says 0 out 'cannot be run' "$pg" info own
  says 1 err 'chat template: line 1' "$pg" rl --init own $task
  says 1 err 'chat template: line 1' "$pg" chat own --prompt 1
  says 1 err 'chat template: line 1' "$pg" sft --data data.jsonl --init own
  says 0 out 'again' "$pg" export own again
  refusing='{% if messages[0].role == "system" %}{{ raise_exception("no system") }}{% endif %}'
  printf '%s' "$refusing<s>{{ messages[0].content }}<|turn|>" >own/chat_template.jinja
  says 1 err 'the template refuses the conversation: no system' "$pg" chat own --prompt 1 --system 'Be brief.'
  talk own '' 'What is 1 + 2?'
  says 1 err "writes no token after the assistant's words" "$pg" sft --data data.jsonl --init own
  says 0 err 'imitated answers stand behind the prompt as they are' "$pg" rl --init own $task --name started
}
exit $wrong
