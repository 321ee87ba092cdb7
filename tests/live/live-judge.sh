#!/bin/sh
# SPDX-License-Identifier: MIT
# `judge` says in one screen what breaks a lock: the reference adapter, a liar, a mutex, a plugin, a library that is not installed, and what is no lock. Its suite is
# cut down to a few questions here. TAP. Usage: live-judge.sh LOCKBENCH TESTS
bin=$(realpath "$1") plugin=$(realpath "$2/plugin-example.so")
. "$(dirname "$0")/../helpers/tap.sh"
here=$(cd "$(dirname "$0")/.." && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)

# Everything of the tool but the suite: few questions, none of a mutex that has an answer only after long.
mkdir -p "$dir/root/scenarios/suites"
for each in "$root"/scenarios/*; do [ "${each##*/}" = suites ] || ln -s "$each" "$dir/root/scenarios/"; done
ln -s "$root/peers" "$root/plots" "$root/tests" "$dir/root/"
questions() { # NAME...
  { echo '[suite]'; grep -E '^(title|question|guards|trials) = ' "$root/scenarios/suites/judge.ini"; for name; do printf '\n[%s]\n' "$name"; done; } >"$dir/root/scenarios/suites/judge.ini"
  sed -i 's/^\[contention\]$/&\nclients = 4\nduration_s = 1/' "$dir/root/scenarios/suites/judge.ini"
}
export LOCKBENCH_ROOT="$dir/root"
cd "$root" || exit 1

runs=0
judge() { # LOCK [OPTION...]
  runs=$((runs + 1))
  "$bin" judge "$@" -o "$dir/run$runs" >"$dir/out" 2>"$dir/err"
  echo $? >"$dir/code"
}
ends_with() { [ "$(cat "$dir/code")" = "$1" ] || { cat "$dir/err"; return 1; }; }
# The command of --explain may be two lines; nothing else is longer than a screen is wide.
fits() { [ "$(wc -l <"$dir/out")" -le 24 ] && ! awk 'length > 100 && !/ explain / { print; found = 1 } END { exit !found }' "$dir/out"; }
verdict() { head -n 1 "$dir/out" | grep -E "$1"; }
row() { grep -E "^  1 of 1  $1 " "$dir/out"; }
explains() { # the printed command, as it is printed
  command=$(awk '/^  lockbench explain / { on = 1 } on { print } on && !/\\$/ { exit }' "$dir/out" | sed "1s|lockbench|$bin|")
  eval "$command" >"$dir/story" 2>&1 && grep -q 'violated' "$dir/story"
}

questions contention restart-node pause-holder pause-writer crash-holder failover
judge 'python3 peers/reference.py'
check 'reference: not safe, exit 3' ends_with 3
check 'reference: the verdict comes first' verdict '^not safe: two clients held at once in 3 of 5 questions: exec:reference@redis$'
check 'reference: a screen' fits
check 'reference: its adapter is checked first' grep -q '^adapter-check: \([0-9]*\) of \1 statements hold$' "$dir/out"
for name in restart-node pause-holder pause-writer; do check "reference: $name broke it" row $name; done
check 'reference: what means nothing on one server has no line' not grep -q failover "$dir/out"
check 'reference: the explain command tells the story' explains
check 'reference: a guard that was seen to help' grep -qE 'guard recheck +helped in 1 of 3' "$dir/out"
check 'reference: what it rests on where none helped' grep -qE '^  restart-node: ' "$dir/out"
check 'reference: in how many no guard helped' grep -q '^in the other 2 no guard helped; there the lock rests on:$' "$dir/out"
check 'reference: how long is said first' sh -c 'head -n 1 "$1" | grep -qE "judges exec:reference@redis, about .*: adapter-check, then [0-9]+ trials"' - "$dir/err"

questions contention
judge 'python3 tests/adapters/rogue.py lies'
check 'a liar: not safe, exit 3' ends_with 3
check 'a liar: without any fault' row contention
check 'a liar: its adapter fails' grep -qE '^adapter-check: [0-9]+ of [0-9]+ statements hold; (it fails|the first that fails): ' "$dir/out"
check 'a liar: a screen' fits
check 'a liar: no guard is advised' not grep -q 'helped in' "$dir/out"

judge 'python3 peers/reference.py' --seed 1
check 'the same questions, an honest lock: safe, exit 0' ends_with 0
check 'honest: the verdict comes first' verdict '^safe in all 1 question'
check 'honest: a screen' fits

questions contention crash-holder
judge local
check 'a mutex: stuck, exit 3' ends_with 3
check 'a mutex: the verdict comes first' verdict '^stuck: .* 1 of 2 questions .*local@none$'
check 'a mutex: who is dead keeps it' row crash-holder
check 'a mutex: nothing of ours is checked' not grep -qE '^(conform|adapter-check)' "$dir/out"
judge "$plugin"
check 'a plugin: stuck, exit 3' ends_with 3
check 'a plugin: held against the contract first' grep -qE '^conform: ([0-9]+) of \1 statements hold$' "$dir/out"

questions contention crash-unheard
judge 'python3 tests/adapters/flawed.py two-steps'
check 'SETNX, then PEXPIRE: stuck, exit 3' ends_with 3
check 'SETNX, then PEXPIRE: the client dies between the two' row crash-unheard
check 'SETNX, then PEXPIRE: what it rests on' grep -q '^  crash-unheard: ' "$dir/out"

questions failover
judge local
check 'nothing can be asked: exit 5' ends_with 5
check 'nothing can be asked: it says why' sh -c 'sed -n 1p "$1" | grep "^nothing could be asked of local@none:$" && sed -n 2p "$1" | grep -E "^  ."' - "$dir/out"
questions contention
LOCKBENCH_PEERS="$dir/none" judge warlock@redis
check 'a library that is missing: exit 5' ends_with 5
check 'a library that is missing: what installs it' grep -q '^  it is not installed: `./bench peers warlock` installs it$' "$dir/out"

refused() { # EXIT PATTERN ARGUMENT...
  want=$1 pattern=$2
  shift 2
  "$bin" judge "$@" >"$dir/out" 2>&1
  [ $? -eq "$want" ] && grep -qE "$pattern" "$dir/out" && [ "$(wc -l <"$dir/out")" -le 2 ]
}
check 'no lock' refused 2 'expected one lock'
check 'two locks' refused 2 'expected one lock' local local
check 'a protocol that is misspelt' refused 2 "did you mean 'local'\?" locla
check 'a library that is misspelt' refused 2 "did you mean 'peer:redis-py" redis-pi@redis
check 'a topology that is misspelt' refused 2 "did you mean 'redis'\?" redis-py@reddis
check 'a plugin that is not there' refused 2 'not a loadable library' ./none.so
check 'a command that is no adapter' refused 2 'expected an adapter' 'sh -c true'
check 'a first line that is none' refused 5 'its first line' 'echo hello'
check 'an option of a protocol that is misspelt' refused 2 'ttl' local -s ttl=1
echo "1..$n"
