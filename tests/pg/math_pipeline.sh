#!/bin/sh
# Post-training on mathematics from end to end, on a small model of Qwen2.5-Math's kind: traces, filter, supervised
# fine-tuning, expert iteration, GRPO and its ablations, evaluation; each can be resumed. Usage: math_pipeline.sh BUILD
. tests/pg/setup.sh
sh "$root"/tests/pg/math_files.sh "$build" || exit 1
# last RUN NAME: the last value of a metric
last() { grep -o "\"$2\":[-0-9.e]*" "$(run "$1")/metrics.jsonl" | tail -n 1 | cut -d: -f2; }
above() { awk -v x="$1" -v y="$2" 'BEGIN { exit !(x > y) }'; }
same() { cmp "$1/checkpoint.safetensors" "$2/checkpoint.safetensors" || bad "$1 and $2 differ"; }

says 0 out 'qwen2' "$pg" info qwen
grep -q 'qwen2.5-math' out || bad 'pg info does not know the chat template'

# The filter: of four traces of each of 50 questions two are right, one of them with a line end between the tags.
says 0 out 'kept 100 of 200 lines; 200 have a response and a gold answer, 150 of these an answer in the form of r1-zero' \
  "$pg" grade --filter traces.jsonl --out right.jsonl
says 0 out '"kept":50,"formatted":100,"evaluable":200,"scanned":200' "$pg" grade --filter traces.jsonl --out strict.jsonl \
  --prompt-style r1-zero-strict --json
[ "$(wc -l <right.jsonl)" = 100 ] || bad 'the filter keeps another number of lines than it says'
grep -vxFf traces.jsonl right.jsonl && bad 'the filter changes lines'
{ head -n 2 traces.jsonl; echo '{"prompt": 1'; } >broken.jsonl
cp right.jsonl before.jsonl
says 1 err 'broken.jsonl:3: expected a JSON object' "$pg" grade --filter broken.jsonl --out right.jsonl
cmp right.jsonl before.jsonl || bad 'a filter that failed has changed its output'
says 1 err '--filter needs --out' "$pg" grade --filter traces.jsonl
: >empty.jsonl
says 1 err 'the file is empty' "$pg" grade --filter empty.jsonl --out right.jsonl

ask='--prompt-style r1-zero --prompt-file prompt.txt --threads 1'
asked="--task math --file train.jsonl --held-out-file val.jsonl --response 24 $ask"
task="$asked --eval-problems 8"
tune="--init qwen --data right.jsonl --batch 8 --accumulate 2 --lr 5e-3 --val-share 0.1 --normalizer 10 --eval-every 10"
# shellcheck disable=SC2086  # options
{
  # The prompts of the traces are not those of the style without the file.
  says 1 err 'right.jsonl:1: its prompt is not one of --prompt-style r1-zero' "$pg" sft --init qwen --data right.jsonl \
    --prompt-style r1-zero
  says 1 err 'must have {question} once' "$pg" sft --init qwen --data right.jsonl --prompt-style r1-zero --prompt-file text
  says 1 err 'is for --prompt-style chat' "$pg" rl --init qwen $task --answer-format boxed
  says 1 err '--prompt-style r1-zero is for a pretrained model' "$pg" rl --task math --prompt-style r1-zero
  # Problems at other keys; the learning rate of a pretrained model, and the file that it is read from.
  sed 's/"problem"/"ask"/; s/"answer": "\([01]\)"/"right": \1/' train.jsonl >own.jsonl
  printf '{"ask": "%s mod 2?", "right": 0}\n' "$(seq -s ' ' 5000)" >>own.jsonl
  own="--task math --file own.jsonl $ask --response 8 --prompts 2 --samples 2 --eval-problems 2 --steps 1"
  says 1 err 'own.jsonl:1: expected the question at one of the keys problem, question,' "$pg" rl --init qwen $own
  own="$own --question-column ask --answer-column right"
  says 0 out 'parameters of qwen; 2 x 2 responses' "$pg" rl --init qwen $own --name own
  grep -q 'math: problems left out because their prompts have more than [0-9]* tokens (--max-prompt): 1' err ||
    bad 'one long prompt is not counted'
  says 0 out 'in adapters are trained' "$pg" rl --init qwen $own --lora-rank 2 --name own_adapters
  [ "$(grep -h '^lr: ' "$(run own)/config.yaml" "$(run own_adapters)/config.yaml" | tr -d '\n')" = 'lr: 2e-05lr: 0.0002' ] ||
    bad 'the learning rate is not that of a pretrained model'
  grep -q '"expected":"[01]","answer"' "$(run own)/samples.jsonl" || bad 'samples do not say what was expected'
  says 0 err 'distinct prompts, fewer than --unique 60' "$pg" sft --init qwen --data right.jsonl $ask --unique 60 --steps 1
  # One pass over 20 lines of ten questions in batches of 8 is 3 steps: the last batch is not full.
  says 0 out '3 steps of 8 texts' "$pg" sft --init qwen --data right.jsonl $ask --unique 10 --batch 8 --val-share 0
  grep -q '20 texts\|10 distinct prompts' out || bad '--unique counts other things than questions'

  # Supervised fine-tuning, with answers to held-out problems while it trains.
  says 0 out '50 distinct prompts' "$pg" sft $tune $task --steps 250 --name tuned
  above "$(last tuned eval/format)" 0.9 || bad 'supervised fine-tuning does not teach the form'
  for metric in eval/solved eval/format eval/length eval/entropy eval/reward val_loss; do
    [ -n "$(last tuned $metric)" ] || bad "supervised fine-tuning does not measure $metric"
  done
  says 0 out '' "$pg" sft $tune $task --steps 40 --name stopped --schedule constant
  says 0 out '' "$pg" sft $tune $task --steps 15 --name first --schedule constant
  says 0 out '' "$pg" sft --resume "$(run first)" --steps 40
  same "$(run first)" "$(run stopped)"

  says 0 out '' "$pg" sft $tune $task --steps 15 --name ranks --schedule constant --ranks 2
  says 0 out '' "$pg" sft $tune $task --steps 15 --name alone --schedule constant
  same "$(run ranks)" "$(run alone)"
  [ "$(last ranks eval/entropy)" = "$(last alone eval/entropy)" ] || bad 'the entropy differs on two ranks'
  # Imitation of the answers of the task, and the other styles.
  says 0 err 'after 2 steps' "$pg" sft --init qwen $task --steps 2 --batch 4 --name answers
  says 0 err 'after 2 steps' "$pg" sft --init qwen --task math --prompt-style qwen --response 60 --eval-problems 2 \
    --steps 2 --batch 4 --threads 1 --name boxed
  says 1 err 'leave' "$pg" sft --init qwen --data right.jsonl $ask --chat-template qwen2

  # Expert iteration.
  iterate="--problems 8 --samples 4 --batch 16 --lr 1e-3 --eval-every 1"
  says 0 err 'after 2 iterations' "$pg" expert-iteration --init "$(run tuned)" $task $iterate --iterations 2 --name two
  says 0 err 'after 1 iterations' "$pg" expert-iteration --init "$(run tuned)" $task $iterate --iterations 1 --name one
  says 0 err 'after 2 iterations' "$pg" expert-iteration --resume "$(run one)" --iterations 2
  same "$(run one)" "$(run two)"
  above "$(last two kept)" 0 || bad 'expert iteration keeps nothing'
  [ -n "$(last two eval/entropy)" ] || bad 'expert iteration does not measure entropy'

  # GRPO and its ablations.
  learn="--init $(run tuned) $task --prompts 4 --samples 4 --micro-batch 8 --lr 1e-3 --eval-every 0"
  row() { # row NAME OPTION…: three steps, and two with a third after a stop
    name=$1
    shift
    says 0 err 'after 3 steps' "$pg" rl $learn "$@" --steps 3 --name "$name"
    says 0 err 'after 2 steps' "$pg" rl $learn "$@" --steps 2 --name "${name}_stopped"
    says 0 err 'after 3 steps' "$pg" rl --resume "$(run "${name}_stopped")" --steps 3
    same "$(run "$name")" "$(run "${name}_stopped")"
    for metric in format reward/mean entropy eval/format eval/entropy eval/solved; do
      [ -n "$(last "$name" $metric)" ] || bad "$name does not measure $metric"
    done
  }
  none='--algorithm grpo --kl none --reference none'
  row no_baseline $none --baseline none --ratio none --surrogate log_prob
  row std $none --baseline group_std --ratio none --surrogate log_prob
  row clipped $none --baseline group_mean --aggregation constant --epochs 2 --mini-batches 2
  [ -n "$(last clipped clip/high)" ] || bad 'a clip does not measure what it stops'
  row unclipped $none --baseline group_mean --surrogate ratio --epochs 2 --mini-batches 2
  [ -z "$(last unclipped clip/high)" ] || bad 'a loss without a clip measures what it stops'
  says 0 err 'after 3 steps' "$pg" rl $learn $none --baseline group_mean --aggregation constant --epochs 2 --mini-batches 2 \
    --steps 3 --ranks 2 --name clip_ranks
  same "$(run clipped)" "$(run clip_ranks)"
  above "$(last no_baseline reward/mean)" 0 || bad 'no response of a rollout is right, so nothing was learned'

  # Evaluation by what the run knows: its task, its files, its prompt.
  says 0 out 'solved (pass@1)' "$pg" eval "$(run std)" --problems 8 --threads 1
  says 0 out '"task":"math"' "$pg" eval "$(run std)" --problems 8 --greedy --json --threads 1
  grep -q '"prompt_style":"r1-zero"' out || bad 'pg eval does not ask in the style of the run'
  cp out alone
  says 0 out '"task":"math"' "$pg" eval "$(run std)" $asked --problems 8 --greedy --json
  cmp out alone || bad 'pg eval RUN differs from pg eval RUN with the options of the run'
  says 0 out '"response":12' "$pg" eval "$(run std)" --response 12 --problems 4 --greedy --json
  says 0 out 'subject Algebra' "$pg" eval "$(run tuned)" --against "$(run std)" --problems 20
  says 0 err 'verdicts to look at, of 32 responses' "$pg" eval "$(run tuned)" --against "$(run std)" --problems 8 --samples 2 \
    --out audited --audit
  grep -v '^{"model":[01],"problem":[0-7],"sample":[01],"why":"[a-z]*","given":.*"gold":"[01]",' audited/audit.jsonl &&
    bad 'the audit has a line of another form'
  says 1 err 'unless the run was trained on a task' "$pg" eval qwen
  # The other styles, also of a model that was not trained.
  says 0 out 'boxed' "$pg" eval qwen --task math --prompt-style qwen --response 8 --problems 4
  says 0 out 'boxed' "$pg" eval qwen --task math --prompt-style question --response 8 --problems 4
  says 0 out 'think-strict' "$pg" eval qwen --task math --prompt-style r1-zero-strict --response 8 --problems 4
}
[ $wrong = 0 ]
