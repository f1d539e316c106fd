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
  says 0 err 'pg chat' "$pg" sft --data data.jsonl --init base --chat-template chatml --epochs 2 --batch 4 --name chat
  chat=$(run chat)
  says 1 err 'is a pretrained model, which has the tasks ' "$pg" rl --init "$chat" --task sort
  says 1 err 'answer-format: expected one of bare, tags, boxed' "$pg" rl --init "$chat" $task --answer-format xml
  says 0 err 'after 400 steps' "$pg" sft --init "$chat" $task --steps 400 --batch 16 --lr 0.004 --eval-every 0 \
    --eval-problems 9 --name imitated
  says 0 out 'arithmetic' "$pg" info "$(run imitated)"
  echo 'What is 1 + 1?' | "$pg" chat "$(run imitated)" --temperature 0 --tokens 4 >out 2>err || bad 'pg chat fails'

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
[ $wrong = 0 ]
