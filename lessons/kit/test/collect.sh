#!/bin/sh
# collect.sh PROGRAM: the table that make collect prints and writes, of folders in a directory of its own.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
room="$work/the room"
out=$work/out
fail() {
  echo "FAILED: $1"
  cat "$out"
  exit 1
}
expect() { # expect STATUS COMMAND...
  want=$1
  shift
  got=0
  "$@" >"$out" 2>&1 </dev/null || got=$?
  [ "$got" = "$want" ] || fail "$* ends with status $got, expected $want"
}
says() { grep -qF -e "$1" "$out" || fail "these words are missing: $1"; }

: >"$out"
mkdir -p "$room/left" "$room/right"
since=$(($(date +%s) - 1500)) # 25 minutes
cat >"$room/left/.progress.json" <<END
{"learner": "Ada", "lessons": {"1": {"hash": "a", "when": "b", "hints": {"01.1": 2}, "solution_asked": [],
 "checks": {"01.1": "WRONG", "01.2": "ok"},
 "history": {"01.1": {"checked": $since, "wrong_since": $since, "diagnosis": "the strides are not exchanged"}}}}}
END
echo '{"lessons": {"1": {"checks": {"01.1": "TODO"}, "hints": {}, "solution_asked": []}}}' >"$room/right/ada.progress.json"
ln -s /etc/passwd "$room/right/progress.json"

expect 0 "$program" "$room"
says 'left (Ada)  W 25   ok'
says 'right       .'
says '01.1  0 ok  1 WRONG  1 TODO  stuck for up to 25 minutes'
says 'often  the strides are not exchanged'
says 'right/progress.json was skipped: it is a symbolic link.'
grep -q '^left (Ada),01.1,WRONG,25,.*Z,2,the strides are not exchanged,,0,$' "$room/collect.csv" || fail 'the CSV file is wrong'
[ "$(wc -l <"$room/collect.csv")" = 4 ] || fail 'the CSV file does not have four lines'
grep -q '>WRONG</td><td class="ok">ok</td>' "$room/collect.html" || fail 'the page has no table'
grep -q '<h2>Lesson 1: tensors</h2>' "$room/collect.html" || fail 'the page does not name the lesson'
if grep -q -e 'http' -e '<script' -e 'src=' "$room/collect.html"; then fail 'the page needs a network or runs a script'; fi

# Its own files do not disturb the next table.
cp "$room/collect.csv" "$work/before"
expect 0 "$program" "$room"
cmp -s "$room/collect.csv" "$work/before" || fail 'a second table differs'

expect 0 "$program" "$room" --lesson 2
grep -q '<h2>' "$room/collect.html" && fail 'the page has another lesson'
[ "$(wc -l <"$room/collect.csv")" = 4 ] || fail 'the CSV file does not have all lessons'
expect 64 "$program" "$room" --lesson 99
says 'there is no lesson 99; there are: 1 2 '

expect 64 "$program"
says 'make collect DIR='
expect 64 "$program" "$work/none"
says 'is not a folder'
expect 64 "$program" "$room/collect.csv"
says 'is not a folder'
echo 'the table of a workshop is printed and written'
