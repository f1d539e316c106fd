#!/bin/sh
# The pg command in bad surroundings: full disks, closed streams, signals, two processes on one run, damaged folders and
# files, wrong options. Usage: hostile.sh BUILD_FOLDER
. tests/pg/setup.sh
unset POLICYGRAD_THREADS
# says STATUS TEXT COMMAND…: the command ends with this status and prints this text, on either stream
says() {
  status=$1 text=$2
  shift 2
  timeout 20 "$@" >out 2>&1
  got=$?
  [ $got = "$status" ] || bad "'$*' ended with status $got, expected $status"
  grep -qF -- "$text" out || bad "'$*' does not say '$text'"
}
# refuses TEXT OPTIONS…: pg prints one sentence with this text on standard error, nothing else, ends with status 1, and
# makes no run folder
refuses() {
  text=$1
  shift
  timeout 20 "$pg" "$@" --out refused >out 2>err </dev/null
  got=$?
  [ $got = 1 ] || bad "'pg $*' ended with status $got, expected 1"
  grep -qF -- "$text" err || bad "'pg $*' does not say '$text'"
  [ "$(wc -l <err)" = 1 ] || bad "'pg $*' does not say one sentence"
  if [ -e refused ]; then bad "'pg $*' makes a run folder"; rm -r refused; fi
  rm err
}
printf 'hello world, this is a text.\n%.0s' $(seq 40) >text
small="--layers 1 --heads 1 --width 8 --context 8 --batch 2 --eval-batches 1 --threads 1"
train() { # train NAME OPTIONS…: a short run into runs/NAME
  name=$1
  shift
  # shellcheck disable=SC2086
  timeout 20 "$pg" train --data text $small --steps 20 --out "runs/$name" "$@"
}
# logs NAME: waits until process $pid has logged a step of the run runs/NAME, or has ended
logs() { until cat runs/"$1"/*/metrics.jsonl 2>/dev/null | grep -q loss || ! kill -0 $pid; do sleep 0.02; done; }
the() { echo "runs/$1"/*; } # the NAME: the folder of the run

# A full or closed standard stream costs a training only the text.
train plain >out 2>&1 || bad 'a plain run fails'
for how in full closed pipe; do
  case $how in
    full) train $how >/dev/full 2>/dev/full ;;
    closed) train $how <&- >&- 2>&- ;;
    pipe) { train $how --eval-every 1; echo $? >pipe_status; } 2>&1 | true ;;
  esac
  status=$?
  [ $how != pipe ] || status=$(cat pipe_status)
  [ "$status" = 0 ] || bad "a training whose output is $how ends with status $status"
  cmp -s "$(the plain)/checkpoint.safetensors" "$(the $how)/checkpoint.safetensors" || bad "output that is $how changes a run"
  if grep -qv '^{"step":' "$(the $how)/metrics.jsonl"; then bad "output that is $how: its text is in metrics.jsonl"; fi
done
# A result that cannot be written is an error, except to a reader that has enough.
"$pg" sample "$(the plain)" --tokens 20 >/dev/full 2>out && bad 'pg sample > /dev/full succeeds'
grep -q 'pg: .*standard output' out || bad 'pg sample does not say that its output cannot be written'
"$pg" sample "$(the plain)" --tokens 20 >&- 2>out && bad 'pg sample >&- succeeds'
"$pg" rl --explain grpo >/dev/full 2>out && bad 'pg rl --explain > /dev/full succeeds'
"$pg" --help >/dev/full 2>out && bad 'pg --help > /dev/full succeeds'

# kill (SIGTERM) and a closed terminal (SIGHUP) save like Ctrl-C (SIGINT).
signals='INT:130 TERM:143 HUP:129'
# shellcheck disable=SC2016  # of the inner shell
[ -z "$({ sh -c 'kill -s HUP $$; echo ignored'; } 2>/dev/null)" ] || signals='INT:130 TERM:143' # under nohup pg ignores it, too
for signal in $signals; do
  name=${signal%:*}
  # shellcheck disable=SC2086
  "$pg" train --data text $small --steps 100000000 --save-every 0 --eval-every 0 --out "runs/$name" >out 2>&1 &
  pid=$!
  logs "$name"
  kill -s "$name" $pid
  wait $pid
  got=$?
  [ $got = "${signal#*:}" ] || bad "SIG$name ends a training with status $got"
  [ -f "$(the "$name")/checkpoint.safetensors" ] || bad "SIG$name does not save"
  grep -qF -- "--resume $(the "$name")" out || bad "SIG$name: the run does not say how to go on"
done

# One process at a time in a run's folder.
# shellcheck disable=SC2086
"$pg" train --data text $small --steps 100000000 --save-every 0 --eval-every 0 --out runs/busy >busy 2>&1 &
pid=$!
logs busy
says 1 'another process is training in it' "$pg" train --resume "$(the busy)"
kill -s TERM $pid
wait $pid
# A lost checkpoint is told; only a run that never saved starts again.
cp -r "$(the plain)" lost && rm lost/checkpoint.safetensors && cp lost/metrics.jsonl kept
says 1 'checkpoint.safetensors is missing' "$pg" train --resume lost
cmp -s lost/metrics.jsonl kept || bad 'the metrics of a run without a checkpoint are cut'
# shellcheck disable=SC2086
"$pg" train --data text $small --steps 100000000 --save-every 0 --eval-every 0 --out runs/never >out 2>&1 &
pid=$!
logs never
kill -s KILL $pid
wait $pid 2>out
says 0 'starts at step 0' "$pg" train --resume "$(the never)" --steps 20 --warmup 2
# Temporary files of a killed process are removed.
touch "$(the plain)/checkpoint.safetensors.1-0.tmp"
says 0 '' "$pg" train --resume "$(the plain)"
[ ! -e "$(the plain)/checkpoint.safetensors.1-0.tmp" ] || bad 'a temporary file of a killed process stays'

# Paths that cannot be used. Root may enter every folder; symbolic links that form a loop stop it too.
ln -s loop loop
long=$(printf 'a%.0s' $(seq 5000))
refuses 'oo long' train --data "$long"
refuses 'symbolic links' train --data loop
refuses 'a folder, expected a file' train --config "$work"
refuses 'a device, expected a file' train --data /dev/zero
says 1 'symbolic links' "$pg" sample loop
says 1 'oo long' "$pg" sample "$long"
says 1 'symbolic links' "$pg" train --resume loop
says 1 'symbolic links' "$pg" sft --task copy --init loop
says 1 'Not a directory' "$pg" train --data text --context 8 --out text/runs
if [ "$(id -u)" != 0 ]; then
  mkdir closed && chmod 555 closed
  says 1 'Permission denied' "$pg" train --data text --out closed/runs
  chmod 755 closed
fi

# Memory and threads that the system refuses.
says 1 'File too large' sh -c "ulimit -f 1; exec '$pg' train --data text $small --steps 2 --out limited"
if ! grep -q __asan_init "$pg"; then # AddressSanitizer reserves terabytes of addresses
  says 1 'out of memory' sh -c "ulimit -v 400000; exec '$pg' train --data text --layers 1 --heads 1 --width 4096 --context 8 --threads 1"
  says 1 'threads: the system could start only' sh -c "ulimit -v 1000000; exec '$pg' train --data text --threads 1024"
fi
# Wrong options: one sentence, before any work, with the nearest known name.
refuses 'has no option --stepz (did you mean steps?)' train --stepz 5
refuses 'has no option --eval_every (did you mean eval-every?)' train --eval_every=5
refuses "expects nothing like 'texts'" train texts
says 1 '--steps: expected one value, given once' "$pg" train --steps
refuses '--steps: expected one value, given once' train --steps 5 --steps 6
refuses 'there is no command trian (did you mean train?)' trian
refuses '--algorithm: expected one of reinforce, ' rl --algorithm gpro
refuses '(did you mean grpo?)' rl --algorithm gpro
refuses '(did you mean reverse?)' sft --task revers
refuses '(did you mean CartPole-v1?)' env --environment CartPole-v0
refuses '(did you mean f32?)' train --dtype f31
"$pg" rl --help-all | whole_options >out
grep -e '--dtype' out | grep -q '(f32, bf16)' || bad 'the help of --dtype lists an empty name'
refuses '--dtype: expected one of f32, bf16, got f31' rl --dtype f31
# The stages of ZeRO are those of the command.
"$pg" rl --help-all | whole_options >out
grep -e '--zero' out | grep -q 'from 0 to 2' || bad 'pg rl --help-all offers a stage of ZeRO that pg rl refuses'
refuses '--zero: expected a whole number from 0 to 2, got 3' rl --zero 3
refuses '--zero: expected a whole number from 0 to 2, got 3' rl --zero 3 --help # it named no option
"$pg" train --help-all | whole_options >out
grep -e '--zero' out | grep -q 'from 0 to 3' || bad 'pg train --help-all does not offer all stages of ZeRO'
# A task has its own options, with its own ranges.
refuses 'the task digits has no option --length; its options are: none' sft --task digits --length 3
refuses 'the task copy has no option --context; its options are: length' sft --task copy --context 3
refuses '--length: expected a whole number from 2 to 64, got 65' sft --task sort --length 65
printf 'task: imitate\ncontext: many\n' >wrong.yaml
refuses 'line 2: --context: expected a whole number, got many' sft --config wrong.yaml
says 1 'give one of them' "$pg" sample "$(the plain)" --prompt a --interactive
says 1 '(did you mean relu?)' "$pg" gradcheck reluu
for yaml in 'eval_every: 5|(did you mean eval-every?)' 'steps: 5\nlr: 1\nsteps: 6|line 3: '"'steps' is given a second time" \
  'steps: 5\n---\nsteps: 6|second document' 'steps: [5|line' 'steps: 0x10|got 0x10' 'dropout: .nan|got .nan'; do
  # shellcheck disable=SC2059
  printf "${yaml%%|*}\n" >wrong.yaml
  refuses "${yaml#*|}" train --config wrong.yaml
done
# Options that no chosen row uses. The sentence names the rows that do, and the options of the chosen ones.
refuses '--clip-low has no effect: it is an option of surrogate clip, dual_clip, two_sided_clip, gmpo, cispo; here is' \
  rl --algorithm reinforce --clip-low 0.1
refuses "here is surrogate log_prob. The options of reinforce's rows are gamma, weight-cap" \
  rl --algorithm reinforce --clip-low 0.1
refuses "kl is none. The options of dr_grpo's rows are clip-low, clip-high, weight-cap" \
  rl --algorithm dr_grpo --beta 0.1
refuses '--reference has no effect: it is for a KL to a reference (kl reward or loss), and kl is none' \
  rl --reference ema --kl none
refuses '--reference-model has no effect: ' rl --algorithm dr_grpo --reference-model runs/x
refuses '--lowest-temperature has no effect: ' rl --lowest-temperature 0.7
refuses '--beta has no effect: ' rl --explain dapo --beta 0.1
for option in gamma=.9 lambda=.9 baseline-decay=.5 best-of=3 dual-clip=2 delta=5 tau-positive=2 tau-negative=2 \
  weight-floor=.4 token-share=.1 covariance-low=0 covariance-high=9 covariance-coef=2 kl-warmup-tokens=9 \
  kl-target=3 kl-horizon=5000 reference-interval=5 reference-decay=.9 value-coef=.5 value-clip=0 critic-lr=1e-3 shared-critic=true; do
  refuses "--${option%%=*} has no effect: it is " rl --algorithm grpo "--$option"
done
printf 'algorithm: rloo\nclip-high: 0.3\n' >wrong.yaml
refuses '--clip-high has no effect: ' rl --config wrong.yaml
# An option under its former name: an error in what the user writes, read from a run of an earlier version.
refuses 'pg train: the option --clip is --max-grad-norm now' train --clip 1
refuses 'pg rl: the option --clip is --max-grad-norm now' rl --clip=1
refuses 'pg env: the option --clip is --clip-low and --clip-high now' env --clip 0.1
printf 'clip: 0.3\n' >wrong.yaml
refuses "config wrong.yaml: line 1: the option 'clip' is --clip-low and --clip-high now" env --config wrong.yaml
says 0 'step 1/1' "$pg" train --data text --steps 1 --layers 1 --heads 1 --width 8 --context 8 --batch 2 --threads 1 \
  --max-grad-norm 0.7 --name former --out former
sed -i 's/^max-grad-norm: /clip: /' former/*/config.yaml
says 0 'step 2/2' "$pg" train --resume former/*_former --steps 2
grep -q '^max-grad-norm: 0.7$' former/*/config.yaml || bad 'a run of an earlier version lost an option'
says 0 'steps' "$pg" env --environment CartPole-v1 --total-steps 512 --eval-episodes 1 --clip-low 0.1 --clip-high 0.1 \
  --name formerly --out former
sed -i 's/^clip-high: .*/clip: 0.1/; /^clip-low: /d' former/*_formerly/config.yaml
says 0 'steps' "$pg" env --resume former/*_formerly
rm -r former
# Numbers: no octal, no wrap, nothing behind them, no NaN, the range in the sentence.
refuses '--steps: expected a whole number of at least 1, got 99999999999999999999999' train --steps 99999999999999999999999
refuses '--steps: expected a whole number of at least 1, got 5x' train --steps 5x
refuses '--steps: expected a whole number of at least 1, got 1e3' train --steps 1e3
refuses '--seed: expected a whole number from 0 to 2^64 - 1, got -1' train --seed -1
refuses '--lr: expected a number of at least 0, got nan' train --lr nan
refuses '--lr: expected a number of at least 0, got inf' train --lr inf
refuses '--dropout: expected a number from 0 to less than 1, got 1' train --dropout 1
refuses '--seed: expected a whole number from 0 to 2^64 - 1, got -1' env --seed -1
refuses '--epochs: expected a whole number of at least 1, got 0x10' env --epochs 0x10
for option in lr=-1 lr=nan lr=inf max-grad-norm=-1 max-grad-norm=nan target-std=-1 sft-steps=-5 warmup=-1 steps=-1 seed=-1 eval-every=-5 \
  threads=-1 eval-problems=0 prompts=100000000000 samples=0 gamma=7 lambda=-3 eps=-1 eps=nan clip-low=1.5 \
  clip-low=-0.1 clip-high=nan beta=nan ddof=2 dual-clip=.5 weight-cap=.5; do
  refuses "got" rl --sft-steps 3 "--$option"
done
refuses 'take 2 samples' rl --sft-steps 3 --samples 1
refuses 'cannot make 1000 mini-batches' rl --sft-steps 3 --mini-batches 1000
says 0 'step 10/10' "$pg" train --data text --steps 010 --layers 1 --heads 1 --width 8 --context 8 --batch 2 --threads 1
grep -q '^steps: 10$' runs/*/config.yaml || bad 'config.yaml has not the number that was read'
# Learning rates that would rise, or never leave the warm-up.
refuses 'min-lr 0.001 is above lr 3e-05' train --lr 3e-5 --min-lr 1e-3
refuses 'a warmup of 100 steps never ends in a run of 50' train --steps 50 --warmup 100
refuses 'is above lr' sft --task copy --lr 1e-4 --min-lr 1e-3
refuses 'is above lr' rl --schedule cosine --lr 1e-4 --min-lr 1e-3
train low --lr 3e-5 >out 2>&1 || bad 'a small --lr without --min-lr is refused'
tail -n 2 "$(the low)/metrics.jsonl" | grep -q '"lr":3.[0-9]*e-06' || bad 'the last learning rate is not a tenth of --lr'
# Options without an effect.
refuses '--dtype bf16' train --stochastic-rounding
train exact --exact >out 2>&1
grep -q 'no effect on the CPU' out || bad '--exact on the CPU is not said to have no effect'
# What no machine can hold is refused at once.
refuses 'fewer --layers' train --data text --context 8 --layers 100000 --width 100000 --heads 1
refuses 'from 1 to' train --layers 1000000000
refuses 'from 1 to' train --batch 4611686018427387904
refuses 'a smaller --batch' train --data text --context 100 --batch 1000000 --width 4096 --layers 1 --heads 1
refuses 'fewer --layers' sft --task copy --layers 100000 --width 100000 --heads 1
refuses 'of memory' env --layers 1000 --hidden 1000000
# Files whose JSON nests deep, and a checkpoint of a model larger than its file.
python=$(command -v python3) || { echo 'hostile: no python3, deep JSON is left out'; exit $wrong; }
"$python" - "$(the plain)/checkpoint.safetensors" <<'END'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, rest = json.loads(data[8 : 8 + size]), data[8 + size :]
def write(name, header_text, tail=rest):
    text = header_text.encode()
    open(name, "wb").write(struct.pack("<Q", len(text)) + text + tail)
def with_model(name, change):
    state = json.loads(header["__metadata__"]["policygrad"])
    model = json.loads(state["texts"]["model"])
    state["texts"]["model"] = change(model)
    state.pop("version")  # as a file that never had a checksum
    copy = dict(header, __metadata__={"policygrad": json.dumps(state)})
    write(name, json.dumps(copy))
deep = "[" * 200000 + "]" * 200000
with_model("deep_model.safetensors", lambda m: '{"n_head": ' + deep + "}")
with_model("deep_open.safetensors", lambda m: '{"n_head": ' + "[" * 200000)
with_model("layers.safetensors", lambda m: json.dumps(dict(m, n_layer=1000000000)))
with_model("width.safetensors", lambda m: json.dumps(dict(m, n_embd=2000000000)))
write("deep_state.safetensors", json.dumps(dict(header, __metadata__={"policygrad": deep})))
write("deep_header.safetensors", '{"a": ' + deep + "}")
write("deep_golden.safetensors", json.dumps({"__metadata__": {"op": "add", "attributes": '{"layout": ' + deep + "}"}}), b"")
END
for name in model open state; do says 1 'nests more than 64 deep' timeout 5 "$pg" sample deep_$name.safetensors; done
says 1 'an array' timeout 5 "$pg" sample deep_header.safetensors
says 1 'nests more than 64 deep' timeout 5 "$pg" golden deep_golden.safetensors
for name in layers width; do says 1 'but it holds' timeout 5 "$pg" sample $name.safetensors; done
exit $wrong
