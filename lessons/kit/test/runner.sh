#!/bin/sh
# runner.sh SOURCE BUILD CMAKE ROOM: what ./lessonN check grades, in a tree of its own with one small lesson (test/mini):
# only answers that the program was built from, whatever was edited, reset, broken, put back, copied or moved; and what it
# sends to ROOM, the program of make room.
set -eu
source=$1
build=$2
cmake=$3
room=$4
work=$(mktemp -d)
room_process=
trap '[ -z "$room_process" ] || kill "$room_process"; rm -rf "$work"' EXIT
unset POLICYGRAD_CHECK_SECONDS POLICYGRAD_ROOM POLICYGRAD_NAME
tree="$work/a tree" # paths may hold spaces; the moved tree below has a quote, too
exercise=lessons/01_mini/exercise.cpp
out=$work/out

fail() {
  echo "FAILED: $1"
  cat "$out"
  exit 1
}
expect() { # expect STATUS COMMAND...: runs it in the tree
  want=$1
  shift
  got=0
  (cd "$tree" && "$@") >"$out" 2>&1 </dev/null || got=$?
  [ "$got" = "$want" ] || fail "$* ends with status $got, expected $want"
}
says() { grep -q -e "$1" "$out" || fail "these words are missing: $1"; }
silent() { if grep -q -e "$1" "$out"; then fail "these words should not be there: $1"; fi; }
answer() { # answer TWICE THRICE: writes the exercise with these bodies
  sed -e "/01.1 twice/s|.*|$1|" -e "/01.2 thrice/s|.*|$2|" "$work/stub.cpp" >"$tree/$exercise"
}
record() { cat "$tree/.progress.json"; }
recorded() { # recorded STATES: such as "ok ok"
  states=$(sed -n 's/.*"01\.[12]": "\(.*\)".*/\1/p' "$tree/.progress.json" | tr '\n' ' ')
  [ "$states" = "$1 " ] || fail "recorded: $states, expected $1"
}

cp -r "$source/lessons/kit/test/mini" "$tree"
cp -r "$source/scripts" "$tree/scripts"
sh "$source/scripts/make_exercise.sh" --print "$tree/lessons/01_mini" >"$work/stub.cpp"
cp "$work/stub.cpp" "$tree/$exercise"
cache() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
configure() { # in a folder that is the tree
  sh scripts/configure.sh build -DKIT_SOURCE="$source" -DKIT_BUILD="$build" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_COMPILER="$(cache CMAKE_CXX_COMPILER)" -DPOLICYGRAD_SANITIZE="$(cache POLICYGRAD_SANITIZE)"
}
PATH=$(dirname "$cmake"):$PATH
expect 0 configure
expect 0 sh scripts/build.sh build 2 lesson1
check="build/lesson1 check"
# shellcheck disable=SC2086  # $check is two words
{
  expect 2 $check
  recorded 'TODO TODO'

  # An edit that was not built is built first; nothing has to be typed.
  answer 'return 2 * x;' 'return 3 * x;'
  expect 0 $check
  says "exercise.cpp has changed since this program was built: building lesson1"
  recorded 'ok ok'
  expect 0 $check
  silent 'building'
  expect 0 build/lesson1 check 1.1
  says 'ok     01.1'
  expect 0 build/lesson1 explain 1.2
  expect 64 build/lesson1 check 2.1
  says 'no check of this lesson is called 2.1; there are: 01.1 (twice) 01.2 (thrice)'

  # A reset file holds no answers, so none is ok; its backup does not concern CMake.
  expect 0 build/lesson1 reset
  recorded 'TODO TODO'
  expect 0 build/lesson1 progress
  says '0 of 2 ok'
  silent 'edited'
  expect 2 $check
  says 'has changed since'
  silent 'GLOB'
  recorded 'TODO TODO'

  # A broken edit is refused with one sentence; the record stays.
  answer 'return 2 * x;' 'return 3 * x;'
  expect 0 $check
  before=$(record)
  answer 'return 2 * y;' 'return 3 * x;'
  for command in "$check" 'build/lesson1 mine' 'build/lesson1 explain 1.1'; do
    expect 3 $command
    says "error: .y. was not declared"
    says 'lesson1 was not built, so nothing is graded: fix what the compiler names first.'
    silent ' ok '
  done
  [ "$(record)" = "$before" ] || fail 'a broken edit was recorded'
  if awk 'length > 200 { exit 1 }' "$out"; then :; else fail 'a line of the failed build is longer than 200 characters'; fi
  silent 'Re-checking'

  # An old file put back has an old time: its text decides.
  cp "$work/stub.cpp" "$tree/$exercise"
  touch -t 200001010000 "$tree/$exercise"
  expect 2 $check
  says '0 ok, 0 wrong, 2 to do'

  # What the learner's file may be: every C++ course teaches such loops.
  answer 'int n = 0; for (int i = 0; i < std::vector<int>(2).size(); i++) n++; return n * x;' 'return 3 * x;'
  expect 0 $check
  says 'warning: comparison of integer'

  # A result that was copied passes the check, and no challenge; a challenge records nothing.
  answer 'return 2 * x;' 'return 0;'
  expect 1 $check
  copied=$(sed -n 's/^ *want  *\([0-9]*\)$/\1/p' "$out")
  answer 'return 2 * x;' "return $copied;"
  expect 0 $check
  expect 1 $check --challenge 5
  says 'Challenge 5: other random inputs. Nothing is recorded.'
  says 'WRONG  01.2'
  says 'its inputs are fixed: the same as without --challenge'
  recorded 'ok ok'
  expect 1 $check 1.2 --challenge 6
  expect 0 $check --challenge 5 --reference
  expect 64 $check --challenge 0

  # A right answer that is much slower than the engine's is ok, with a remark.
  answer 'static const int slept = std::system("sleep 2"); return slept + 2 * x;' 'return 3 * x;'
  expect 0 $check
  says 'remark  slow: this check took 2.* s with your answer and 0.0 s with'
  recorded 'ok ok'
  grep -q '"remark": *"slow: this check' "$tree/.progress.json" || fail 'the remark is not recorded'

  # With --events the output is JSON objects only, also where the program is built first, and nothing is recorded.
  answer 'return 2 * x + 0;' 'return 4 * x;'
  before=$(record)
  expect 1 sh -c "$check --events 2>/dev/null"
  says '"id":"01.2".*"state":"WRONG"'
  says '{"type":"checked","ok":1,"wrong":1,"todo":0}'
  if grep -v '^{".*}$' "$out"; then fail 'check --events prints more than JSON objects'; fi
  [ "$(record)" = "$before" ] || fail 'check --events recorded something'

  # A header of the learner's own is a part of the answers.
  echo 'inline double factor() { return 2; }' >"$tree/lessons/01_mini/own.h"
  answer 'return factor() * x;' 'return 3 * x;'
  sed -i.old '1i #include "own.h"' "$tree/$exercise"
  rm "$tree/$exercise.old"
  expect 0 $check
  sleep 0.1
  echo 'inline double factor() { return 5; }' >"$tree/lessons/01_mini/own.h"
  expect 1 $check
  recorded 'WRONG ok'

  # A source that is no part of the program is asked about once.
  echo '// notes' >"$tree/lessons/01_mini/notes.h"
  expect 1 $check
  says 'building lesson1'
  expect 1 $check
  silent 'building'

  # An answer that ends the program does not end the grading.
  answer 'std::exit(0);' 'throw 42;'
  expect 1 $check
  says 'the answer ended the program'
  says 'threw a value that is no std::exception'
  recorded 'WRONG WRONG'

  # --first: what an answer prints stands above its case, and the first WRONG is the last check. --no-fork: the answer is
  # called by this process, which it can end.
  answer 'std::puts("x = 2 came"); return 5 * x;' 'return 3 * x;'
  expect 1 $check --first
  tr '\n' '|' <"$out" | grep -q '01.1 twice|x = 2 came|  case 1   WRONG x = 2|  WRONG  01.1' || fail 'the order of --first'
  silent '01.2'
  recorded 'WRONG TODO'
  answer 'return 2 * x;' 'return 3 * x;'
  expect 0 $check --first --no-fork
  says 'case 1   ok    x = 2'
  recorded 'ok ok'
  answer 'std::exit(7);' 'return 3 * x;'
  expect 1 $check 1.1
  expect 7 $check 1.1 --no-fork

  # mine: the piece that throws is named, and so is the one after which the engine threw; the engine's take their place.
  answer 'return x == 6 ? 13 : 2 * x;' 'if (x == 5) throw 42; return 3 * x;'
  expect 1 build/lesson1 mine --json
  says 'Your thrice threw an exception of type int'
  says 'stopped with an exception: mul: dtypes differ. Your twice was'
  says "starts again with the engine's thrice"
  says '"threw":\["thrice","twice"\]'
  says '"pass":false'

  # mine leaves a WRONG piece out; with --wrong it is named, and used.
  answer 'return 7 * x;' 'return 3 * x;'
  expect 0 build/lesson1 mine
  says 'the reference.s  twice'
  silent 'WRONG'
  expect 1 build/lesson1 mine --wrong
  says 'yours            thrice'
  says 'yours, WRONG     twice: what you see'

  # A crash or an exit() in the demonstration does not end it either.
  answer 'if (x == 5) __builtin_trap(); return 2 * x;' 'if (x == 5) std::exit(0); return 3 * x;'
  expect 1 build/lesson1 mine --json
  says 'ended with a crash (Illegal instruction). Your twice'
  says 'ended with a call of exit(). Your thrice'
  says "starts again with the engine's twice"
  says '"threw":\["thrice","twice"\]'
  says '"mine":\[\]'

  # --step takes a line before each claim, each block and the first line after text: four, and leaves the rest. At the
  # end of the input it waits no more. --part shows and claims only what follows a heading.
  answer 'return 2 * x;' 'return 3 * x;'
  expect 0 $check
  expect 0 sh -c 'seq 5 | { build/lesson1 --step && sed "s/^/left over: /"; }'
  says 'twice 5: ?  .Enter.'
  says 'left over: 5'
  silent 'left over: 4'
  awk '/twice 5: [?]/ { asked = 1 } /claim holds  twice 5/ { exit !asked }' "$out" || fail 'the prompt is not first'
  expect 0 build/lesson1 --step
  [ "$(grep -c Enter "$out")" = 1 ] || fail 'it asks again after the end of the input'
  says 'claim holds  thrice 5'
  expect 0 build/lesson1 --part 2 --json
  silent 'Two'
  silent 'twice 5'
  says 'Three'
  says '"name":"thrice 5"'
  expect 0 sh -c 'seq 5 | { build/lesson1 mine --step --part 2 && sed "s/^/left over: /"; }'
  says 'left over: 3'
  silent 'left over: 2'
  expect 64 build/lesson1 --part 3
  says 'the demonstration has 2 headings'
  expect 64 build/lesson1 --part 0

  # A piece that throws in a part that is not shown is named all the same.
  answer 'return x == 5 ? throw 42 : 2 * x;' 'return 3 * x;'
  expect 1 build/lesson1 mine --part 2
  says 'Your twice threw'

  # The record has the learner, the times of the checks and what is wrong since when; an ok ends that.
  answer 'return 3 * x;' 'return 3 * x;'
  expect 1 env POLICYGRAD_NAME='Ada <b>' POLICYGRAD_ROOM=http://127.0.0.1:1/code $check
  says 'Room: the room at 127.0.0.1:1 was not reached'
  grep -q '"learner": "Ada <b>"' "$tree/.progress.json" || fail 'the record has no learner'
  since=$(sed -n 's/.*"wrong_since": \([1-9][0-9]*\).*/\1/p' "$tree/.progress.json")
  [ "$since" -ge "$(($(date +%s) - 600))" ] || fail 'the record does not say since when 01.1 is WRONG'
  sleep 1
  answer 'return 4 * x;' 'return 3 * x;'
  expect 1 $check
  grep -q '"learner": "Ada <b>"' "$tree/.progress.json" || fail 'the record has lost the learner'
  grep -q "\"wrong_since\": $since\$" "$tree/.progress.json" || fail 'a second WRONG begins anew'
  answer 'return 2 * x;' 'return 3 * x;'
  expect 0 $check
  if grep -q '"wrong_since": [1-9]' "$tree/.progress.json"; then fail 'an ok is WRONG since'; fi

  # The room's program takes the record, and ends with a sentence where it cannot begin.
  expect 64 "$room" ''
  says 'type: make room DIR='
  expect 64 "$room" "$work/room" --code X
  says 'a code word has 4 to 32'
  "$room" "$work/room" --code kobamide --port 0 >"$work/room.out" &
  room_process=$!
  tries=0
  until grep -q 'POLICYGRAD_ROOM=http://.*/kobamide$' "$work/room.out"; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || fail "the room's program says nothing: $(cat "$work/room.out")"
    sleep 0.1
  done
  port=$(sed -n 's|.*POLICYGRAD_ROOM=http://.*:\([0-9]*\)/kobamide$|\1|p' "$work/room.out" | head -n 1)
  expect 0 env POLICYGRAD_NAME='Ada/2' "POLICYGRAD_ROOM=http://127.0.0.1:$port/kobamide" $check
  says 'Room: the table has your record as Ada_2'
  cmp -s "$tree/.progress.json" "$work/room/Ada_2/progress.json" || fail 'the room keeps another record'
  expect 0 env "POLICYGRAD_ROOM=http://127.0.0.1:$port/kobamida" $check
  says 'Room: The code word is wrong'
  expect 64 "$room" "$work/room" --port "$port"
  says "room: port $port is in use; take another one: PORT="
  kill "$room_process"
  room_process=

  # A copied or moved tree knows the old one's paths.
  answer 'return 2 * x;' 'return 3 * x;'
  expect 0 $check
  before=$(record)
  original=$tree
  cp -R "$tree" "$work/copy"
  tree=$work/copy
  cp "$work/stub.cpp" "$tree/$exercise"
  for command in "$check" 'build/lesson1 reset' 'build/lesson1 hint 1.1' 'build/lesson1'; do
    expect 3 $command
    says 'and was copied or moved from there: type make lesson1 in this tree.'
  done
  [ "$(cat "$original/.progress.json")" = "$before" ] || fail "a copy's check was recorded in the original"
  grep -q 'return 2' "$original/$exercise" || fail "a copy's reset wrote the original's exercise"
  tree="$work/a learner's tree"
  mv "$original" "$tree"
  expect 3 $check
  expect 0 configure
  says 'made anew here'
  expect 0 sh scripts/build.sh build 2 lesson1
  expect 0 $check
  recorded 'ok ok'
}
echo 'the lesson runner grades what it was built from'
