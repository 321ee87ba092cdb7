#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# Mechanisms of public bug reports, each in an adapter: the scenario that comes with the tool tells it from the lock without the flaw. TAP.
# Usage: live-reports.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)
flawed="python3 $here/adapters/flawed.py" quorum="python3 $here/adapters/quorum.py"
reference="python3 $here/../peers/reference.py"

# asks NAME SCENARIO ADAPTER... [-b SYSTEMS]: plays a trial of each.
asks() {
  name=$1 scenario=$2
  shift 2
  for adapter; do
    case $adapter in -b | *@*) set -- "$@" "$adapter" ;; *) set -- "$@" --exec "$adapter" ;; esac
    shift
  done
  played 'the machine stalled' "$dir/$name" "$bin" run "$scenario" "$@" -g none -n 1 -j 2 &
}
# finds NAME SYSTEM VERDICT WHY
finds() {
  cut -d, -f1,2,7- "$dir/$1/trials.csv" >"$dir/rows"
  cat "$dir/$1.out" "$dir/$1.err" >"$dir/out"
  check "$1: $2 is $3" grep -qE "^[^,]*,(exec:)?$2,($3),$4" "$dir/rows"
}
cat >"$dir/load.ini" <<'END'
[scenario]
title = a load in which one client is left out
question = Is a lock that leaves one client out called stuck?
refuted = It is called safe.
[workload]
clients = 3
wait_ms = 500
duration_s = 3
warmup_s = 0.1
patience_ms = 2000
[expect]
* = race
END
sed '/^patience_ms/d' "$dir/load.ini" >"$dir/patient.ini"
sed 's/^step = cut client 1 from node 3/step = cut client 1 from node 1, cut client 1 from node 2, cut client 1 from node 3/' "$here/../scenarios/protocol/minority-start.ini" >"$dir/unasked.ini"
# A reader dies; another one comes and goes, more often than a lease lasts, and a writer waits.
cat >"$dir/dead-reader.ini" <<'END'
[scenario]
title = a reader dies, and others come and go
question = Is a writer let in a lease after a reader died, though others read now and then?
refuted = The writer waits for as long as others read.
min_handoffs = 0
[workload]
clients = 3
ttl_ms = 3000
[timeline]
step = client 1 acquire shared within 5s, client 1 read, kill client 1
step = client 3 begin section within 30s
step = meanwhile client 2 repeats: acquire shared within 200ms hold 800ms rest 300ms
step = await client 3 has written within 8s
step = wait 3s
[expect]
* = race
END
asks passed-over passed-over "$flawed leaves-out" "$reference"
asks load "$dir/load.ini" "$flawed leaves-out" "$reference"
wait
asks patient "$dir/patient.ini" "$flawed leaves-out"
asks short-lease short-lease "$flawed own-ruler" "$reference"
wait
asks minority-start minority-start "$quorum present" "$quorum all"
asks dead-reader "$dir/dead-reader.ini" "$flawed counted" -b exec:counted@redis,redis-rw@redis,zk-rw@zk
wait
asks own-node control "$flawed own-node" "$flawed first-node"
played 'the machine stalled' "$dir/unasked" "$bin" run "$dir/unasked.ini" -b redlock@redis-x5 -g none -n 1
wait

finds passed-over leaves-out@redis stuck '"?client-2 asked for [0-9.]* s, while others were granted the lock; this timeline allows 4.0 s'
finds passed-over reference@redis safe ''
finds load leaves-out@redis stuck '"?client-2 asked for [0-9.]* s, while others were granted the lock; this load allows 2.0 s'
finds load reference@redis safe ''
finds patient leaves-out@redis safe '"?1 of 3 clients never got the lock'
check 'load: what the one that waited longest did is kept' grep -q '"c":"client-2".*"e":"busy"' "$dir/patient/waits/patient.exec:leaves-out@redis.none.c3.t1.jsonl"
check 'load: and who was granted the lock meanwhile' grep -q '"c":"client-1".*"e":"granted"' "$dir/patient/waits/patient.exec:leaves-out@redis.none.c3.t1.jsonl"
finds short-lease own-ruler@redis violated ''
finds short-lease reference@redis safe ''
finds minority-start quorum-present@redis-x5 violated ''
finds minority-start quorum-all@redis-x5 safe ''
finds dead-reader counted@redis 'delayed|stuck' ''
finds dead-reader redis-rw@redis safe ''
finds dead-reader zk-rw@zk safe ''
finds own-node own-node@redis-x3 violated ''
finds own-node first-node@redis-x3 safe ''
cut -d, -f1,2,7- "$dir/unasked/trials.csv" >"$dir/rows"
check 'who reaches nobody has not asked: undecided' grep -q '^unasked,redlock@redis-x5,undecided,"*a safe trial would have to show' "$dir/rows"
echo "1..$n"
