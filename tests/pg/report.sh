#!/bin/sh
# pg report: pages of runs of every kind and of damaged files.
# Usage: report.sh BUILD_FOLDER [browser]. With `browser` the pages are opened in Chromium too.
. tests/pg/setup.sh
lesson=$build/lesson2
quietly() { "$@" >out 2>err || bad "'$*' failed"; }
refuses() { # refuses TEXT FOLDERS…: pg report says one sentence with this text and writes nothing
  text=$1
  shift
  if "$pg" report "$@" >out 2>err; then bad "'pg report $*' succeeds"; fi
  grep -qF -- "$text" err || bad "'pg report $*' does not say '$text'"
  [ "$(wc -l <err)" = 1 ] || bad "'pg report $*' does not say one sentence"
}
has() { grep -qF -- "$2" "$1" || bad "$1 does not have '$2'"; }

small="--layers 1 --heads 2 --width 16"
# shellcheck disable=SC2086
{
  quietly "$pg" train --steps 20 --eval-every 10 --sample-every 10 --context 16 --batch 2 $small --name train
  quietly "$pg" sft --task adventure --steps 40 --batch 16 $small --name sft
  for seed in 1 2; do
    quietly "$pg" rl --task hanoi --disks 3 --steps 4 --eval-every 2 --prompts 2 --samples 4 --seed $seed \
      --name "rl$seed" --reference frozen --kl loss --sft-steps 20 $small
  done
  quietly "$pg" rl --task adventure --init runs/*_sft --steps 3 --eval-every 2 --prompts 2 --samples 4 \
    --name adventure
  quietly "$pg" sft --task countdown --steps 20 --batch 16 $small --name countdown
  quietly "$pg" sft --task connections --steps 5 --batch 4 $small --name connections
  quietly "$pg" sft --task keyword --steps 20 --batch 16 $small --name keyword
  quietly "$pg" reward-model --task keyword --init runs/*_keyword --steps 3 --name reward_model
  quietly "$pg" dpo --task keyword --init runs/*_keyword --steps 3 --name dpo
  quietly "$pg" expert-iteration --task sort --iterations 2 --problems 4 $small --name expert
  for name in CartPole-v1 ArmReach-torque Pendulum-v1 Acrobot-v1 MountainCar-v0; do
    quietly "$pg" env --environment $name --environments 2 --rollout-steps 64 --total-steps 256 --eval-episodes 1 \
      --name "env_$name"
  done
  quietly "$pg" eval runs/*_rl1 --against runs/*_rl2 --task hanoi --disks 3 --problems 6 --samples 2 --out evaluation
}

# A page of each, beside it or where --out says; the path is printed.
for run in runs/* evaluation; do
  quietly "$pg" report "$run"
  has out "$run/report.html: "
  [ -s "$run/report.html" ] || bad "there is no $run/report.html"
done
quietly "$pg" report runs/*_rl1 runs/*_rl2 runs/*_adventure evaluation --out all.html
has all.html 'rl1 (2 runs, seeds 1, 2)'
quietly "$pg" report runs/*_rl1 --samples 3 --out few.html
has err ' are in this report, evenly spaced'
# The same folder twice counts once, and a page is replaced.
quietly "$pg" report evaluation evaluation
has out '2 runs or models'
if ls evaluation/*.tmp >/dev/null 2>&1; then bad 'a temporary file is left'; fi

# A finished run that is resumed has the same lines; so has one that was stopped and goes on.
run=$(echo runs/*_rl1)
cat "$run/samples.jsonl" "$run/health.jsonl" >before
quietly "$pg" rl --resume "$run"
cat "$run/samples.jsonl" "$run/health.jsonl" | cmp - before || bad 'a resumed run repeats its samples'
cp "$run/checkpoint.safetensors" kept
sed '$d' "$run/samples.jsonl" >lines && cp lines "$run/samples.jsonl"
printf '{"step": 4, "cut' >>"$run/samples.jsonl"
quietly "$pg" report "$run"
has err 'the last one, is cut off'

refuses 'there is no such folder' gone
refuses 'it is a file' before
mkdir empty && refuses 'it has no config.yaml, metrics.jsonl or results.jsonl' empty
refuses 'cannot' runs/*_rl2 --out empty/none/report.html
if "$pg" report >out 2>err; then bad 'no folder is enough'; fi
# A run of another machine may have anything in its files.
mkdir hostile
{
  cat <<'END'
{"step": 1, "prompt": "</script><img src=x onerror=hacked=1>", "response": "<b>x</b> {{script}}", "reward": 1}
{"step": 1, "prompt": ["a"], "response": {"b": 1}, "tokens": 7, "parts": 3, "solved": "x", "level": {}}
{"step": "x", "response": "y", "tokens": [1, null, "z", "\u0000"], "log_prob": ["a", null, -1e308, 5], "policy": "01"}
END
  printf '{"step": 1, "response": "\377\376", "reward": 1e400, "kl": {}}\nbroken </script>\n\n[]\n7\n'
  cat <<'END'
{"__proto__": {"x": 1}, "step": 3, "response": "constructor", "subject": "__proto__", "problem": "1:4", "split": "<i>"}
END
  printf '{"step": 2, "response": "%s"}\n' "$(head -c 10000000 /dev/zero | tr '\0' x)"
} >hostile/samples.jsonl
cat >hostile/metrics.jsonl <<'END'
{"step": 1, "a</script>": 1, "__proto__": 2, "constructor": 3, "": 4}
{"step": 2, "loss": null}
{"step":-9223372036854775808,"loss":1e308}
{"step":9223372036854775807,"loss":-1e308}
END
cat >hostile/episodes.jsonl <<'END'
{"step": 1, "environment": "__proto__", "states": [[1], [2, 3], "x"], "actions": 5}
{"step": 2, "environment": "CartPole-v1", "states": [[null, 1, 2, 3], [1]]}
{"states": []}
END
cat >hostile/health.jsonl <<'END'
{"step": 1, "ok": ["</script>"], "failed": [{"name": "__proto__", "why": "<b>"}]}
{"step": 1, "ok": 5}
END
printf '# pg <i>rl</i>\ntask: hanoi\nseed: </script>\n' >hostile/config.yaml
quietly "$pg" report hostile
has err 'hostile/samples.jsonl: line 5 is broken'
has err 'line 4 '
# An evaluation whose files are not what they should be.
mkdir strange
cat >strange/summary.json <<'END'
{"task": 5, "results": [{"solved": 3, "at_k": [null, {"k": 2}], "subjects": [{"name": {}}]}, null], "comparisons": [1]}
END
printf '{"models": [1, {"run": 5}]}' >strange/evaluation.json
cat >strange/results.jsonl <<'END'
{"model": -7, "response": "a", "problem": 0}
{"model": 1e30, "response": "b", "problem": "x"}
END
quietly "$pg" report strange
# Values near each other.
mkdir near
printf '{"step": %d, "loss": %s}\n' 1 5.6766 2 5.6769 3 5.6772 >near/metrics.jsonl
quietly "$pg" report near
# 10,000 responses.
mkdir large
yes "$(sed -n 10p "$run/samples.jsonl")" | head -n 10000 |
  awk '{ sub(/"step":[0-9]*/, "\"step\":" NR); print }' >large/samples.jsonl
quietly "$pg" report large
has out '10000 samples'
if [ -x "$lesson" ]; then
  # A demonstration as JSON objects, one per line, and nothing else.
  for words in '' mine '--report=events.html'; do
    # shellcheck disable=SC2086
    quietly "$lesson" --events $words
    has out '{"type":"end",'
    if grep -v '^{"type":"[a-z]*",.*}$' out; then bad "'lesson2 --events $words' prints more than JSON objects"; fi
  done
  # Demonstrations with drawings; that of lesson 12 runs in no browser.
  for number in 2 12; do
    quietly "$build/lesson$number" "--report=lesson$number.html"
    has out "lesson$number.html"
    has "lesson$number.html" '"type":"drawing"'
  done
fi

if [ "${2:-}" != browser ]; then
  [ $wrong = 0 ]
  exit
fi
browser=
for name in chromium chromium-browser google-chrome; do
  if command -v $name >/dev/null; then browser=$name && break; fi
done
if [ -z "$browser" ]; then
  echo 'skipped: no Chromium here; the pages are written, but were not opened'
  [ $wrong = 0 ] || exit 1
  exit 77
fi
# opens PAGE OPTIONS…: the DOM of the page is in the file dom
opens() {
  page=$1
  shift
  timeout 300 $browser --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --enable-logging=stderr \
    --dump-dom "$@" "file://$work/$page" >dom 2>log || bad "$page: the browser failed"
  : >err
  if grep CONSOLE log | grep -v 'DevTools' >out; then bad "$page: something is on the console"; fi
}
tried=0
# A copy of the page with a reader. Its policy would refuse the reader's script.
# shellcheck disable=SC2044
for name in all.html few.html lesson2.html lesson12.html \
  $(find runs evaluation hostile strange near large -name report.html | sort); do
  [ -s "$name" ] || continue
  opens "$name"
  has dom 'data-ready="1"'
  ms=$(sed -n 's/.*data-open-ms="\([0-9]*\)".*/\1/p' dom | head -n 1)
  [ "$name" != large/report.html ] || echo "10,000 responses: open after $ms ms"
  {
    sed '/http-equiv="Content-Security-Policy"/d' "$name"
    echo '<script>'
    cat "$root/tests/web/figures.js" "$root/tests/pg/report_test.js"
    echo '</script>'
  } >used.html
  [ "$name" != large/report.html ] || continue
  for width in 390 1920; do
    opens used.html --virtual-time-budget=20000 --window-size=$width,900
    sed -n 's/.*\(data-failed="[^"]*"\).*/\1/p' dom | head -n 1 >out
    grep -q 'data-tested="[0-9]' dom || bad "$name at $width: the reader was stopped"
    n=$(sed -n 's/.*data-tested="\([0-9]*\)".*/\1/p' dom | head -n 1)
    tried=$((tried + ${n:-0}))
  done
done
echo "$tried things tried in the browser"
[ $wrong = 0 ]
