#!/bin/sh
# translations.sh SOURCE: each translation of a lesson's text, lessons/NN_name/README.de.md for example, agrees with
# README.md: it has as many sections, and each section has the same commands, checks, links, names and numbers. Numbers have the
# English form in every language. A number that is written as a word is not compared.
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C # awk sees bytes
fail() {
  echo "FAILED: $1"
  exit 1
}

# Prints a line "SECTION kind value", with tabs, for each fact of a text: a section's number from 000, before the first
# heading. A line of a block that begins with the name of a program is a command; commands keep their order.
facts() { # facts FILE NUMBER_OF_LESSON
  awk -v lesson="$2" '
    function fact(kind, value) { printf "%03d\t%s\t%s\n", section, kind, value }
    function numbers(text,   i, n, words) { # mawk finds too few numbers with one regular expression
      gsub(/\302\274/, "1/4", text)
      gsub(/\302\275/, "1/2", text)
      gsub(/\302\276/, "3/4", text)
      gsub(/[^0-9.,-]/, " ", text)
      n = split(text, words, " ")
      for (i = 1; i <= n; ++i) {
        sub(/[.,-]+$/, "", words[i])
        sub(/^,+/, "", words[i])
        if (words[i] != "") fact(index(words[i], lesson ".") == 1 ? "check" : "number", words[i])
      }
    }
    function end_of_section() { # links and names in backquotes may go on in the next line
      gsub(/ +/, " ", prose)
      text = prose
      while (match(text, /\]\([^)]*\)/)) {
        target = substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
        if (target !~ /^README(\.[a-z][a-z])?\.md$/) fact("link", target)
      }
      while (match(prose, /`[^`]*`/)) {
        fact("name", substr(prose, RSTART, RLENGTH))
        prose = substr(prose, RSTART + RLENGTH)
      }
      prose = ""
      commands = 0
    }
    /^```/ {
      fenced = !fenced
      if (fenced) fact("block", $0)
      shell = fenced && /^```sh/
      next
    }
    /^## / && !fenced { end_of_section(); ++section }
    fenced && (shell || /^(\.\/|make |gdb )/) { fact("command", ++commands ": " $0) }
    !fenced { prose = prose " " $0 }
    { numbers($0) }
    END { end_of_section() }' "$1" | sort
}
heading() { # heading FILE SECTION
  awk -v wanted="$2" '/^```/ { fenced = !fenced } /^## / && !fenced && ++n == wanted { print substr($0, 4) }' "$1"
}
# The columns of a text: a combining mark has none, a Chinese character two.
wide_lines() {
  awk '
    { line = $0 }
    { gsub(/\314[\200-\277]|\315[\200-\257]/, ""); gsub(/[\343-\355\357][\200-\277][\200-\277]/, "xx") }
    { gsub(/[\302-\337][\200-\277]|[\340-\342\356][\200-\277][\200-\277]/, "x"); gsub(/[\360-\364][\200-\277]+/, "xx") }
    length($0) > 80 { print NR ": " line }' "$1"
}
sections() { awk '/^```/ { fenced = !fenced } /^## / && !fenced { ++n } END { print n + 0 }' "$1"; }

compared=0
for text in "$source"/lessons/[0-9]*/README.??.md; do
  [ -e "$text" ] || fail 'no translation was found'
  folder=${text%/*}
  name=${text#"$source"/}
  original=$folder/README.md
  lesson=$(basename "$folder" | sed 's/^\([0-9]*\).*/\1/')

  want=$(sections "$original")
  got=$(sections "$text")
  [ "$got" = "$want" ] || fail "$name has $got sections (lines that begin with ##), and README.md has $want."
  sed -n '2,4p' "$text" | grep -qF '](README.md)' || fail "$name does not name README.md under its title."
  grep -qF "](${text##*/})" "$original" || fail "${name%/*}/README.md has no link to ${text##*/}."
  wide=$(wide_lines "$text" | head -n 1)
  [ -z "$wide" ] || fail "$name has a line of more than 80 columns, $wide"

  facts "$original" "$lesson" >"$work/want"
  facts "$text" "$lesson" >"$work/got"
  comm -23 "$work/want" "$work/got" >"$work/missing"
  comm -13 "$work/want" "$work/got" >"$work/added"
  first=$(cat "$work/missing" "$work/added" | sort | head -n 1)
  if [ -n "$first" ]; then
    section=$(echo "$first" | cut -f 1)
    title=$(heading "$text" "$((1$section - 1000))")
    for kind in command check link name block number; do
      values() { awk -F '\t' -v s="$section" -v k="$kind" '$1 == s && $2 == k { print $3 }' "$1" | tr '\n' ' '; }
      missing=$(values "$work/missing")
      added=$(values "$work/added")
      [ -z "$missing$added" ] ||
        fail "$name, section \"${title:-before the first heading}\": the ${kind}s differ. \
Only in README.md: ${missing:-none }Only in the translation: ${added:-none}"
    done
  fi
  compared=$((compared + 1))
done
echo "$compared translations agree with their README.md"
