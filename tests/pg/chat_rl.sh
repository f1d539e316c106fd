#!/bin/sh
# A chat model learns a task whose answers are verified: supervised, from rewards, with adapters, on ranks, resumed.
# Usage: chat_rl.sh BUILD_FOLDER
. tests/pg/setup.sh

printf 'What is 1 + 2? Answer with the number only. 0 3 4 5 6 7 8 9\n%.0s' $(seq 200) >text
yes '{"prompt": "1 + 1", "response": "2"}' | head -n 8 >data.jsonl
says 0 out 'tok.json' "$pg" tokenize train text --vocab-size 300 --special '<|im_start|>' --special '<|im_end|>' --out tok.json
says 0 out 'pg sample' "$pg" train --data text --tokenizer tok.json --layers 2 --heads 2 --width 32 --context 128 --batch 4 \
  --steps 20 --eval-batches 1 --warmup 0 --name base
says 0 out base "$pg" export "$(run base)" base
task='--task arithmetic --digits 1 --system Go. --threads 1'
# shellcheck disable=SC2086  # options
{
  says 1 err 'has no chat template' "$pg" rl --init base $task
  # The template is chosen for every command that asks the model, not for pg sft --data and pg chat only.
  says 0 err 'after 1 steps' "$pg" rl --init base $task --chat-template chatml --steps 1 --prompts 2 --samples 2 \
    --eval-problems 4 --response 8 --name chosen
  says 0 out chatml "$pg" info "$(run chosen)"
  says 0 out 'problems' "$pg" eval base $task --chat-template chatml --problems 4 --response 8 --dtype bf16
  says 1 err 'and --prompt-style question has none' "$pg" eval base $task --prompt-style question --chat-template chatml
  says 1 err 'a new model reads characters' "$pg" rl --task digits --chat-template chatml
  says 0 err 'pg chat' "$pg" sft --data data.jsonl --init base --chat-template chatml --epochs 2 --batch 4 --name chat
  chat=$(run chat)
  says 1 err 'is a pretrained model, which has the tasks ' "$pg" rl --init "$chat" --task sort
  says 1 err 'answer-format: expected one of bare, tags, boxed' "$pg" rl --init "$chat" $task --answer-format xml
  says 0 err 'after 400 steps' "$pg" sft --init "$chat" $task --steps 400 --batch 16 --lr 0.004 --eval-every 0 \
    --eval-problems 9 --name imitated
  says 0 out 'arithmetic' "$pg" info "$(run imitated)"

  # Every /command of a conversation. MALLOC_PERTURB_ fills freed memory, so that a command which reads it fails.
  question='What is 1 + 1?'
  talk() { # talk LINE…: a conversation of these lines
    printf '%s\n' "$@" | MALLOC_PERTURB_=165 "$pg" chat "$(run imitated)" --temperature 0 --tokens 4 >out 2>err ||
      bad "pg chat fails after: $*"
  }
  for command in 'temperature 0.5' 'top-k 3' 'top-p 0.5' 'min-p 0.25' 'tokens 2' 'system Be brief.'; do
    name=${command%% *}
    talk "/$command" "/$name" /help
    [ "$(cat err)" = "pg: chat: /$name is ${command#* }; /$name VALUE changes it" ] || bad "/$command is not told by /$name"
    grep -q "^/$command  " out || bad "/help does not tell what /$command has set"
    [ "$(grep -c '^/' out)" = 8 ] || bad '/help has other commands than /reset, /quit and those that are tested here'
  done
  # A value that is refused ends no conversation, and a blank behind a value is no part of it.
  for value in -1 abc nan 1e400 ''; do
    talk "/temperature $value" '/temperature 0.5 ' /temperature
    [ "$(wc -l <err)" = 2 ] || bad "/temperature $value has another number of remarks"
    [ "$(tail -n 1 err)" = 'pg: chat: /temperature is 0.5; /temperature VALUE changes it' ] || bad "'/temperature 0.5 ' fails"
  done
  talk '/temperature -1' '/top-p 0'
  grep -q '^pg: temperature: expected a number of at least 0, got -1$' err || bad '/temperature -1 is not refused'
  grep -q '^pg: top-p: expected a number above 0 and at most 1, got 0$' err || bad '/top-p 0 is not refused'
  talk '/system Be brief.' '/system ' /system
  [ "$(cat err)" = 'pg: chat: /system is ; /system VALUE changes it' ] || bad '/system without a value does not clear it'
  # Other words after a slash are messages; a misspelt command is named.
  talk /no_think '//temperature 0'
  [ "$(wc -l <out)" = 2 ] || bad 'a message cannot begin with a slash'
  [ ! -s err ] || bad 'a message that begins with a slash has a remark'
  talk '/temprature 1'
  grep -q 'temprature is no command (did you mean temperature?)' err || bad '/temprature is not named'
  talk "$question"
  mv out greedy
  [ "$(wc -l <greedy)" = 1 ] || bad 'one message has another number of answers'
  # The only message, from the options; and a message of several lines.
  "$pg" chat "$(run imitated)" --temperature 0 --tokens 4 --prompt "$question" >out 2>err || bad 'pg chat --prompt fails'
  cmp greedy out || bad '--prompt has another answer'
  # An answer ends before a stop text.
  says 0 out '"text":"","tokens":1,"finish":"stop"' "$pg" chat "$(run imitated)" --temperature 0 --tokens 4 --json \
    --prompt "$question" --stop x --stop "$(head -c 1 greedy)"
  says 1 err 'a stop text must not be empty' "$pg" chat "$(run imitated)" --prompt "$question" --stop ''
  echo "$question" >question
  for how in '--prompt -' '--prompt-file question'; do
    # shellcheck disable=SC2086
    "$pg" chat "$(run imitated)" --temperature 0 --tokens 4 $how --json <question >out 2>err || bad "pg chat $how fails"
    grep -q "^{\"prompt\":\"$question\",\"text\":\"$(cat greedy)\",\"tokens\":[0-9],\"finish\":\"stop\",\"seconds\":[0-9.e-]*}$" out ||
      bad "pg chat $how --json writes something else"
  done
  says 1 err 'give one' "$pg" chat "$(run imitated)" --prompt 1 --prompt-file question
  talk '"""What is' '1 + 1?"""' "What is\\" '1 + 1?'
  [ "$(wc -l <out)" = 2 ] || bad 'a message of several lines has several answers'
  for command in 'top-k 1' 'top-p 0.000001' 'min-p 1'; do # each leaves the likeliest token only
    talk '/temperature 9' "/$command" "$question"
    cmp greedy out || bad "/$command does not leave the likeliest token only"
  done
  talk "$question" /reset "$question" /quit "$question"
  cat greedy greedy | cmp - out || bad 'after /reset the same message has another answer'
  talk '/tokens 1' 'What is 2 + 3?'
  grep -q -e '--tokens is reached' err || bad '/tokens 1 does not end the answer after a token'
  talk '/system Go.' "$question"
  mv out with_system
  echo "$question" | "$pg" chat "$(run imitated)" --system Go. --temperature 0 --tokens 4 >out 2>err || bad 'pg chat fails'
  cmp with_system out || bad '/system differs from --system'

  learn='--prompts 4 --samples 4 --micro-batch 4 --response 6 --eval-every 1 --eval-problems 4'
  says 0 err 'after 2 steps' "$pg" rl --init "$(run imitated)" $task $learn --steps 2 --name one
  says 0 err 'after 2 steps' "$pg" rl --init "$(run imitated)" $task $learn --steps 2 --ranks 2 --name two
  cmp "$(run one)/checkpoint.safetensors" "$(run two)/checkpoint.safetensors" || bad 'two ranks differ from one'
  grep -q '"reward/mean":0.[0-9]*[1-9]' "$(run one)/metrics.jsonl" || bad 'no reward, so nothing was learned'
  says 0 out 'in adapters are trained' "$pg" rl --init "$(run imitated)" $task $learn --lora-rank 2 --steps 2 --in-words 0.3 \
    --format-reward 0.1 --answer-format tags --name lora
  says 0 err 'after 2 steps' "$pg" rl --resume "$(run one)"
  says 0 err 'after 3 steps' "$pg" rl --resume "$(run two)" --steps 3
  says 0 err 'after 3 steps' "$pg" rl --init "$(run imitated)" $task $learn --steps 3 --name three
  cmp "$(run two)/checkpoint.safetensors" "$(run three)/checkpoint.safetensors" || bad 'a resumed run differs'
  says 0 out '' "$pg" expert-iteration --init "$(run imitated)" $task --iterations 1 --problems 4 --samples 2 \
    --eval-problems 4 --name expert
  says 1 err 'rollout: arithmetic needs a block_size of' "$pg" rl --init "$chat" $task --response 120
}

# Rows of the embedding that are no token are never sampled.
writer=$build/write_qwen
[ -x "$writer" ] || writer=$root/build/write_qwen # a build with sanitizers has none
"$writer" tok.json padded
says 0 err 'tokens/s' "$pg" sample padded --prompt 'the cat' --temperature 90 --tokens 900
says 0 out '' "$pg" chat padded --chat-template chatml --prompt 'the cat' --temperature 90 --tokens 900
[ $wrong = 0 ]
