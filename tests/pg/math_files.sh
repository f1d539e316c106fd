#!/bin/sh
# math_files.sh BUILD_FOLDER: writes into the current folder what the tests of post-training on mathematics need:
# train.jsonl and val.jsonl like MATH's, prompt.txt, traces.jsonl of right and wrong answers, and qwen, a small model.
set -eu
build=$1
# Is a number even? The answer is its rest modulo 2, so that half of all guesses are right.
problems() { # problems FIRST LAST
  awk -v a="$1" -v b="$2" 'BEGIN { for (n = a; n <= b; ++n)
    printf "{\"problem\": \"What is %d mod 2?\", \"answer\": \"%d\", \"subject\": \"%s\", \"level\": \"Level %d\"}\n",
      n, n % 2, n % 3 ? "Algebra" : "Number Theory", 1 + n % 5 }'
}
problems 10 59 >train.jsonl
problems 60 79 >val.jsonl
printf 'Solve it.\nUser: {question}\nAssistant: <think>\n' >prompt.txt
# For each question: a right trace, a right one with a line end between the tags, a wrong one, and one without tags.
awk 'BEGIN { for (n = 10; n <= 59; ++n) {
  p = "{\"prompt\": \"Solve it.\\nUser: What is " n " mod 2?\\nAssistant: <think>\", "
  r = n % 2
  print p "\"response\": \" rest " r " </think> <answer> " r " </answer>\", \"ground_truth\": \"" r "\"}"
  print p "\"response\": \" rest " r " </think>\\n<answer>" r "</answer>\\n\", \"ground_truth\": \"" r "\"}"
  print p "\"completion\": \" rest " 1 - r " </think> <answer> " 1 - r " </answer>\", \"answer\": \"" r "\"}"
  print p "\"response\": \"the answer is " r "\", \"ground_truth\": \"" r "\"}" } }' >traces.jsonl
cat traces.jsonl >text
"$build"/pg tokenize train text --vocab-size 320 --special '<|endoftext|>' --special '<|im_start|>' \
  --special '<|im_end|>' --out tokenizer.json >log 2>&1 || { cat log >&2; exit 1; }
mkdir qwen
"$build"/write_qwen tokenizer.json qwen
