#!/bin/sh
# run.sh BUILD [CMAKE]: takes the diffs out of docs/EXTENDING.md and applies them to a copy of the tree in
# BUILD/extending. With CMAKE it also builds what they touch without optimisation, and runs every example. Run from the
# repository's root. Exit status 77 means skipped.
set -eu
build=$1
cmake=${2:-}
skip() { echo "skipped: extending: $1"; exit 77; }
command -v patch >/dev/null || skip 'the program patch is not installed'
[ -f lessons/03_language_model/mutants.cpp ] || skip 'this tree is a handout, without the wrong answers of lessons'
work=$build/extending
tree=$work/tree pg=../build/pg
rm -rf "$tree" "$work/run"
mkdir -p "$tree" "$work/run"
cp -R CMakeLists.txt cmake docs tensor autograd nn rl tasks tools lessons tests "$tree"
work=$(cd "$work" && pwd) tree=$work/tree log=$work/log
fail() { echo "extending: $1"; [ ! -s "$log" ] || tail -n 40 "$log"; exit 1; }
: >"$log"

# One file per diff. A line may have moved since the diff was made (patch shifts hunks), but not have changed (-F 0).
awk -v out="$work/diff" '
  /^## / { title = substr($0, 4) }
  /^```$/ { if (inside) close(file); inside = 0 }
  inside { print >file }
  /^```diff$/ { inside = 1; file = sprintf("%s%d", out, ++n); print "in section: " title >file }' docs/EXTENDING.md
[ "$(grep -c '^```diff$' docs/EXTENDING.md)" = 9 ] || fail 'docs/EXTENDING.md does not have nine diffs'
for diff in "$work"/diff[1-9]; do
  (cd "$tree" && patch --verbose -p1 -F 0) <"$diff" >"$log" 2>&1 ||
    fail "docs/EXTENDING.md: a diff does not apply ($(sed -n 1p "$diff"))"
  # A line too many ends a file's diff for patch, which leaves out what follows.
  [ "$(grep -c '^Hunk #' "$log")" = "$(grep -c '^@@' "$diff")" ] ||
    fail "docs/EXTENDING.md: patch leaves out a part of a diff ($(sed -n 1p "$diff"))"
done

[ "$cmake" ] || { echo 'extending: nine diffs apply'; exit 0; }

cache() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
jobs=$(nproc 2>/dev/null || sysctl -n hw.ncpu)
"$cmake" -S "$tree" -B "$work/build" -G "$(cache CMAKE_GENERATOR)" -DCMAKE_CXX_COMPILER="$(cache CMAKE_CXX_COMPILER)" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DPOLICYGRAD_NATIVE=OFF >"$log" 2>&1 || fail 'cmake failed'
# The CUDA kernels are only compiled, for the simulator.
"$(cache CMAKE_CXX_COMPILER)" -std=c++20 -I"$tree" -I"$tree/tensor/sim/include" -Wno-unknown-pragmas -Wno-psabi -x c++ \
  -fsyntax-only "$tree/tensor/cuda/l2_norm.cu" 2>"$log" || fail 'tensor/cuda/l2_norm.cu does not compile'
"$cmake" --build "$work/build" --parallel "$jobs" --target pg lesson3_mutants >"$log" 2>&1 || fail 'the build failed'

cd "$work/run"
says() { # says TEXT COMMAND...: the command succeeds and prints this text
  text=$1
  shift
  "$@" >"$log" 2>&1 || fail "'$*' failed"
  grep -qF -- "$text" "$log" || fail "'$*' does not say '$text'"
}

says ' 0 wrong' "$pg" gradcheck softsign
says ' 0 wrong' "$pg" gradcheck l2_norm
says 'A = R - median over the group' "$pg" rl --explain grpo --baseline median
says '|A| (rho - 1)^2 / (2 0.2)' "$pg" rl --explain grpo --surrogate spo

train() { # train NAME OPTION...: two steps with everything that is new
  name=$1
  shift
  says 'after 2 steps' "$pg" rl --task parity --bits 4 --algorithm grpo --baseline median --surrogate spo --epochs 2 \
    --layers 1 --heads 2 --width 16 --prompts 4 --samples 4 --steps 2 --eval-problems 4 --threads 1 --name "$name" "$@"
}
train plain
train shorter --token-penalty 0.5
grep -q '^token-penalty: 0.5' runs/*_shorter/config.yaml || fail 'config.yaml does not have the new option'
losses() { grep -o '"[a-z/_]*loss": *[^,}]*' "$1"; }
[ "$(losses runs/*_plain/metrics.jsonl)" != "$(losses runs/*_shorter/metrics.jsonl)" ] ||
  fail 'the option has no effect'
says --token-penalty "$pg" rl --help
if "$pg" rl --task parity --token-penalty -1 >"$log" 2>&1; then fail 'an option out of its range is accepted'; fi
grep -q 'token-penalty.*at least 0' "$log" || fail 'the error does not state the range of --token-penalty'

says Corridor "$pg" env --help
says 'greedy episodes' "$pg" env --environment Corridor --total-steps 4096 --hidden 16 --eval-episodes 10 \
  --threads 1 --name corridor

biased() { # biased NAME OPTION...: a model of the family of Llama, and its folder of Hugging Face
  name=$1
  shift
  says 'validation loss' "$pg" train --data stories --tokenizer tokenizer.json --norm rms --positions rope \
    --mlp swiglu --bias false --layers 1 --heads 2 --width 16 --context 16 --batch 2 --steps 2 --eval-batches 1 \
    --threads 1 --name "$name" "$@"
  says "folder_$name" "$pg" export runs/*_"$name" "folder_$name"
}
says tokenizer.json "$pg" tokenize train "$tree/docs/PG.md" --vocab-size 300 --out tokenizer.json
biased without
biased with --attention-bias true
grep -q '"attention_bias": false' folder_without/config.json || fail 'config.json does not say that there are no biases'
grep -q '"attention_bias": true' folder_with/config.json || fail 'config.json does not say that there are biases'
says 'o_proj.bias' grep -a -o 'o_proj.bias' folder_with/model.safetensors
says folder_again "$pg" export folder_with folder_again
cmp -s folder_with/model.safetensors folder_again/model.safetensors ||
  fail 'the biases are not read as they are written'

rows=$(cd "$tree/lessons/03_language_model" && cat mutants.cpp mistakes.cpp | grep -o '{"[a-z0-9_]*", "03' | wc -l)
says "$rows mutants, 0 wrongly graded" ../build/lesson3_mutants
grep -q backward_of_scores "$tree/lessons/03_language_model/mistakes.cpp" || fail 'there is no new mistake'
echo 'extending: nine examples work'
