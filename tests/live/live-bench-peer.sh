#!/bin/sh
# SPDX-License-Identifier: MIT
# bench-peer without the other side: it compares what two and three clients do, leaves nothing behind, neither folder nor process, and its script says
# in one line what is missing. TAP. Usage: live-bench-peer.sh LOCKBENCH TESTS
bin=$2/bench-peer here=$(dirname "$0")/../bench
. "$(dirname "$0")/../helpers/tap.sh"
mkdir "$dir/tmp" "$dir/jars"
export TMPDIR="$dir/tmp"

works() { [ -n "$(servers)" ]; }
none_runs() { [ -z "$(servers)" ]; }
nothing_left() {
  ls -A "$dir/tmp"
  servers
  [ -z "$(ls -A "$dir/tmp")" ] && wait_until 5 none_runs
}
ended_with() {
  echo "exit $code, expected $1"
  [ "$code" -eq "$1" ]
}
says() { grep -qE "$1" "$dir/out"; }

"$here/bench-peer.sh" "$bin" --jars "$dir/jars" >"$dir/out" 2>&1
code=$?
check 'without Curator it ends with 5' ended_with 5
check 'and one line' [ "$(wc -l <"$dir/out")" -eq 1 ]
check 'that names the package' says 'apt-get install libcurator-recipes-java'
"$bin" --clients 17 >"$dir/out" 2>&1
code=$?
check 'it has room for 16 clients' ended_with 2

"$bin" --windows 1 --seconds 0.3 --settle 0 --clients 2,3 >"$dir/out" 2>&1
code=$?
if [ $code -eq 77 ]; then
  echo "1..$n"
  exit 0
fi
check 'it ends well' ended_with 0
check 'it has measured a client alone, at each server' says '^alone, a deletion takes .* at zookeeper-1, .* at zookeeper-2, .* at zookeeper-3'
check 'two clients' says '^ 2 clients, medians: zk-sequential +[1-9][0-9]* hand-offs/s'
check 'three clients' says '^ 3 clients, medians: zk-sequential +[1-9][0-9]* hand-offs/s'
check 'the recipe beside it' says '^ 2 clients, medians: recipe=yes +[1-9][0-9]* hand-offs/s'
check 'turn for turn' says '^ 2 clients, hand-offs per second, zk-sequential / recipe=yes: .* the median of 1 pairs'
check 'how the servers are set' says '^servers differ from those that nobody has configured in:'
check 'two writes for each hand-off, and hardly any more' says '^ 2 clients, window 1: zk-sequential .* (1\.9|2\.[0-2])[0-9]* commits per hand-off'
check 'it leaves nothing' nothing_left

"$bin" --windows 50 >"$dir/out" 2>&1 &
pid=$!
wait_until 10 works
kill -TERM $pid
wait $pid
code=$?
check 'SIGTERM ends it' ended_with 143
check 'it leaves nothing after SIGTERM' nothing_left
echo "1..$n"
