# shellcheck shell=sh disable=SC2034  # the tests use these variables
# What the tests of pg begin with: `. tests/pg/setup.sh` from the root, with the build folder as $1. It enters a new
# folder, which is removed at the end.
set -u
build=$(cd "$1" && pwd)
pg=$build/pg
root=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset POLICYGRAD_DATA POLICYGRAD_CACHE POLICYGRAD_MIRROR
export XDG_CACHE_HOME="$work/cache"
wrong=0 # a test ends with this status
bad() { # bad TEXT: a failure, with what the last command printed
  echo "$(basename "$0" .sh): $1" >&2
  for stream in out err; do [ ! -e $stream ] || head -c 2000 $stream >&2; done
  wrong=1
}
# says STATUS FILE TEXT COMMAND…: the command ends with this status and prints this text to FILE, out or err
says() {
  status=$1 file=$2 text=$3
  shift 3
  "$@" >out 2>err </dev/null
  got=$?
  [ $got = "$status" ] || bad "'$*' ended with status $got, expected $status"
  grep -qF -- "$text" "$file" || bad "'$*' does not say '$text' on std$file"
}
run() { echo "$work"/runs/*_"$1"; } # run NAME: the folder of a run
# The options of --help on standard input, each on one line.
whole_options() { sed -e ':a' -e '$!N' -e 's/\n \{20,\}/ /' -e 'ta' -e 'P' -e 'D'; }
