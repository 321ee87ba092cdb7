#!/bin/sh
# test: alone
# SPDX-License-Identifier: MIT
# Nothing survives: the tool is killed with SIGKILL in the middle of a run, early and late; two runs side by side do not disturb
# each other; and what ends with a trial is no part of it. TAP. Usage: live-leftovers.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"
mkdir "$dir/results"

# Servers work in folders below the run's (some hide their arguments); the tool, its trials and clients name it in theirs. (The
# guardian goes by another name: it is seen by what it has removed.)
ours() {
  servers
  for process in /proc/[0-9]*; do
    [ "$process" != /proc/$$ ] && tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep -qF -- "$dir/" && echo "$process"
  done
}
none_left() { [ -z "$(ours)" ]; }
nothing_written() { [ -z "$(ls -A "$dir/results")" ]; }
# ... but what is decided, which can be resumed.
nothing_half_written() { [ -z "$(ls -A "$dir/results" | grep -vx run)" ] && { [ ! -e "$dir/results/run" ] || [ -s "$dir/results/run/run.json" ]; }; }
servers_run() { servers >/dev/null; }
ipc_segments() { ipcs -m 2>/dev/null | grep -c "^0x"; }
no_mounts() { ! grep -qF "$dir" /proc/mounts; }

segments=$(ipc_segments)
for system in redis-token@sentinel zk-sequential@zk-x3 pg-row@pg-async; do
  "$bin" run failover-confirmed -g none -b "$system" -n 4 -j 2 -o "$dir/results/run" >/dev/null 2>&1 &
  tool=$!
  check "$system: servers come up" wait_until 30 servers_run
  kill -9 $tool
  wait $tool 2>/dev/null
  check "$system: after SIGKILL no process is left" wait_until 5 none_left
  check "$system: nor a file that is not whole" wait_until 5 nothing_half_written
  rm -rf "$dir/results/run"
  check "$system: nor a mount" no_mounts
done
TMPDIR="$dir/results" "$bin" conform redis-token@sentinel zk-sequential@zk-x3 >/dev/null 2>&1 &
tool=$!
check 'conform: servers come up' wait_until 30 servers_run
kill -9 $tool
wait $tool 2>/dev/null
check 'conform: after SIGKILL no process is left' wait_until 5 none_left
check 'conform: nor a file' wait_until 5 nothing_written
check 'conform: nor a mount' no_mounts
check 'nor a System V memory segment' test "$(ipc_segments)" -le "$segments"

"$bin" run control contention -b redis-token@redis,local -n 2 -s duration_s=0.3 -s warmup_s=0.1 -o "$dir/a" >"$dir/a.out" 2>&1 &
first=$!
"$bin" run control contention -b redis-token@redis,local -n 2 -s duration_s=0.3 -s warmup_s=0.1 -o "$dir/b" >"$dir/b.out" 2>&1
check 'of two runs side by side, one is as expected' test $? -eq 0
wait $first
check 'and so is the other' test $? -eq 0
check 'both wrote whole results' test -s "$dir/a/run.json" -a -s "$dir/b/run.json"
check 'and nothing of them is left' wait_until 5 none_left

# A client that ends lets go of what its connection held. Who still asks is not to be granted that.
cat >"$dir/ends.ini" <<'END'
[scenario]
title = a trial that ends while somebody asks
question = Is the one who asks granted the lock because the trial ends?
refuted = It is.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 5000
[timeline]
step = client 1 acquire within 5s
step = client 2 begin acquire within 20s
step = await client 2 waits within 3s
[expect]
pg-advisory@pg = race: only its history counts
END
"$bin" run "$dir/ends.ini" -b pg-advisory@pg -g none -n 12 -o "$dir/ends" >"$dir/out" 2>&1
check 'twelve trials end while somebody asks' test "$(grep -c '^ends,' "$dir/ends/trials.csv")" -eq 12
check 'and nobody is granted a lock by that' not grep -q ',violated,' "$dir/ends/trials.csv"
echo "1..$n"
