#!/bin/sh
# Ranks whose numbers come from the environment, which meet by sockets. Usage: environment.sh BUILD_FOLDER
set -u
program=$(cd "$1" && pwd)/rank_program
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
wrong=0
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT POLICYGRAD_TOKEN TORCHELASTIC_RUN_ID
names=$(env | sed -n 's/^\(OMPI_[A-Z_]*\|PMI_[A-Z_]*\|PMIX_[A-Z_]*\|SLURM_[A-Z_]*\)=.*/\1/p')
for name in $names; do unset "$name"; done
port=$((10000 + $$ % 10000))
bad() { echo "environment: $1" >&2; cat "$work"/out* >&2; wrong=1; }
says() { # says COUNT TEXT, a regular expression
  [ "$(cat "$work"/out* | grep -cE -- "$2")" = "$1" ] || bad "not $1 times '$2'"
}
torch() { # torch RANK SIZE WORD
  RANK=$1 WORLD_SIZE=$2 MASTER_ADDR=${address:-127.0.0.1} MASTER_PORT=$port "$program" "$3" >>"$work/out$4" 2>&1
}
all() { # all SIZE WORD: ranks 0 to SIZE-1, the last started first
  rm -f "$work"/out*
  port=$((port + 2)) r=$1
  while [ "$r" -gt 0 ]; do
    r=$((r - 1))
    torch $r "$1" "$2" $r &
  done
  wait
}
all 3 sums
says 3 'of 3 by shared memory: done'
address=localhost all 2 sums
says 2 'of 2 by shared memory: done'
if [ -e /proc/net/if_inet6 ] && grep -q '^00000000000000000000000000000001' /proc/net/if_inet6; then
  address=::1 all 2 sums
  says 2 'of 2 by shared memory: done'
fi
# Rank 1 fails before its third call. The others may still be in the second one.
call='all_reduce of 1000 f32, call [23]: rank 1'
all 3 returns; says 2 "$call has ended and does not take part"
all 3 throws; says 2 "$call has failed: the moon is full"
all 3 killed; says 2 "$call has ended and does not take part"
all 3 hangs; says 2 "$call has not come and has done nothing for 2 s"
all 3 differs; says 3 'rank 0: all_reduce of 1000 f32, call 3; rank 1: all_reduce of 999 f32, call 3'

# Ranks that take each other for ranks of several machines.
all 3 elements; says 3 'rank 1 is not on the machine of rank 0, .* the elements go over MPI\. Start the ranks with mpirun'
all 3 few; says 3 'of 3 by sockets: done'
all 3 many; says 3 '262144 bytes, but over sockets a collective has at most 65536'

rm -f "$work"/out*; port=$((port + 2))
torch 0 3 sums 0 & torch 1 3 sums 1 & wait
says 2 'of 3 ranks these did not come to rank 0 within 5 s: 2'
rm -f "$work"/out*; port=$((port + 2))
torch 0 3 sums 0 & torch 1 4 sums 1 & wait
says 2 'rank 1 was started with 4 ranks, and rank 0 with 3'
rm -f "$work"/out*; port=$((port + 2))
torch 0 3 sums 0 & torch 1 3 sums 1 & torch 1 3 sums 2 & wait
says 3 'two processes were started as rank 1'
rm -f "$work"/out*; port=$((port + 2))
torch 1 2 sums 1
says 1 "cannot reach rank 0 at 127.0.0.1 port $port"

if command -v curl >/dev/null; then  # a stranger does not disturb the ranks
  rm -f "$work"/out*; port=$((port + 2))
  torch 0 2 sums 0 &
  sleep 0.5
  curl -s -m 1 "http://127.0.0.1:$port/" >/dev/null
  POLICYGRAD_TOKEN=other torch 1 2 sums 2
  TORCHELASTIC_RUN_ID=other torch 1 2 sums 2
  torch 1 2 sums 1
  wait
  says 2 'it belongs to another run'
  says 2 'of 2 by shared memory: done'
fi

slurm() { # slurm RANK
  SLURM_STEP_ID=0 SLURM_JOB_ID=$port SLURM_PROCID=$1 SLURM_NTASKS=2 SLURM_LOCALID=$1 SLURM_JOB_NODELIST=localhost \
    "$program" sums >"$work/out$1" 2>&1
}
rm -f "$work"/out*
slurm 0 & slurm 1 & wait
says 2 'of 2 by shared memory: done'

one() { # one TEXT VARIABLE...: a single process with these variables
  text=$1
  shift
  rm -f "$work"/out*
  env "$@" "$program" sums >"$work/out" 2>&1
  says 1 "$text"
}
one 'this process was started alone' NONE=
one 'this process was started alone' SLURM_PROCID=0 SLURM_NTASKS=4
one '0 of 1 by one rank: done' RANK=0 WORLD_SIZE=1
one 'WORLD_SIZE is not set' RANK=0
one 'RANK is not set' WORLD_SIZE=2
one 'RANK is "two", expected a number from 0' RANK=two WORLD_SIZE=2
one 'RANK is 2, but WORLD_SIZE is 2' RANK=2 WORLD_SIZE=2
one 'MASTER_ADDR is not set' RANK=0 WORLD_SIZE=2
one 'MASTER_PORT is "0", expected a number from 1 to 65535' RANK=0 WORLD_SIZE=2 MASTER_ADDR=::1 MASTER_PORT=0
beyond=198.51.100.7 # an address of no machine (RFC 5737)
for rank in 0 1; do
  one 'POLICYGRAD_TOKEN of at least 16 characters \(it is not set\)' RANK=$rank WORLD_SIZE=2 MASTER_ADDR=0.0.0.0 \
    MASTER_PORT=$port TORCHELASTIC_RUN_ID=the-identity-of-a-run
  one 'POLICYGRAD_TOKEN of at least 16 characters \(it has 5\)' RANK=$rank WORLD_SIZE=2 MASTER_ADDR=0.0.0.0 \
    MASTER_PORT=$port POLICYGRAD_TOKEN=short
done
one 'openssl rand -hex 32' RANK=1 WORLD_SIZE=2 MASTER_ADDR=$beyond MASTER_PORT=$port
one "rank 0 cannot listen at $beyond: it is no address of this machine" RANK=0 WORLD_SIZE=2 MASTER_ADDR=$beyond \
  MASTER_PORT=$port POLICYGRAD_TOKEN=a-secret-of-this-test
exit $wrong
