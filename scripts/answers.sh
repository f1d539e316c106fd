#!/bin/sh
# answers.sh FILE: writes a page (Markdown) for whoever teaches: every lesson's answers, from its answers.h, and the known
# mistakes per check with the words of their diagnosis, from its tables of mistakes and mutants.
set -eu
file=${1:-}
[ -n "$file" ] || { echo 'answers: type: make answers FILE=answers.md' >&2; exit 1; }
case $file in /*) ;; *) file=$PWD/$file ;; esac
cd "$(dirname "$0")/.."
ls lessons/[0-9][0-9]*_*/answers.h >/dev/null 2>&1 || { echo 'answers: a handout has no answers' >&2; exit 1; }
[ ! -d "$file" ] || { echo "answers: $file is a folder" >&2; exit 1; }
mkdir -p "$(dirname "$file")"

# An answer, between the lines of its function that stand before it and those to its end.
answers_of() {
  awk '
    !closing && (/^$/ || /^}/) { head = "" }
    match($0, /\/\/ \[answer [^]]*\]/) {
      printf "### %s\n\n```cpp\n%s", substr($0, RSTART + 11, RLENGTH - 12), head
      inside = 1
      next
    }
    /\/\/ \[end\]/ { inside = 0; closing = 1; next }
    inside { print; next }
    closing { print; if (/^}/) { print "```\n"; closing = 0; head = "" }; next }
    /^./ && !/^}/ && !/^\/\// && !/^#/ { head = head $0 "\n" }' "$1"
}
# Rows "name", "01.2", "words" of some tables: | check | name | words |.
mistakes_of() {
  cat "$@" | tr '\n' ' ' | tr -s ' ' | awk '
    {
      while (match($0, /"[A-Za-z0-9_]+", *"[0-9][0-9]\.[0-9]+", *"([^"\\]|\\.)*"/)) {
        row = substr($0, RSTART + 1, RLENGTH - 2)
        $0 = substr($0, RSTART + RLENGTH)
        while (match($0, /^ *"([^"\\]|\\.)*"/)) { # a text of several parts
          part = substr($0, RSTART, RLENGTH)
          sub(/^ *"/, "", part)
          row = row substr(part, 1, length(part) - 1)
          $0 = substr($0, RSTART + RLENGTH)
        }
        name = row; sub(/".*/, "", name)
        check = row; sub(/^[^"]*", *"/, "", check); sub(/".*/, "", check)
        says = row; sub(/^[^"]*", *"[^"]*", *"/, "", says)
        gsub(/\\"/, "\"", says); gsub(/\|/, "\\|", says); gsub(/</, "\\&lt;", says)
        print "| " check " | `" name "` | " says " |"
      }
    }' | sort
}

{
  echo '# The answers'
  echo
  # shellcheck disable=SC2016  # Markdown
  echo 'Made by `make answers` from the sources. Not for learners: a handout (`make handout`) has none of this.'
  for lesson in lessons/[0-9][0-9]*_*; do
    printf '\n## %s\n\n' "$(sed -n '1s/^# //p' "$lesson/README.md")"
    answers_of "$lesson/answers.h"
    # shellcheck disable=SC2016
    printf 'Known mistakes, and words of the diagnosis that `check` gives for each:\n\n| check | mistake | diagnosis |\n|---|---|---|\n'
    # shellcheck disable=SC2046  # names without blanks
    mistakes_of $(find "$lesson" -name 'mistakes*.c*' -o -name 'mutants*.c*')
  done
} >"$file.tmp"
mv "$file.tmp" "$file"
echo "$file"
