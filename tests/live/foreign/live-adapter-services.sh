#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# An adapter on each service, in a run folder whose name has what servers split, comment out or unquote; a refusal that comes late; what a server has of a row; who is left out; a deadlock. TAP. Usage: live-adapter-services.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)
TMPDIR=$dir
export TMPDIR
mkdir "$dir/locks" && chmod 777 "$dir" "$dir/locks"
services='redis sentinel cluster zk pg pg-pooled pg-patroni maria maria-semisync memcached etcd nats'
words=$(echo "$services" | tr ' ' ',')
odd="$dir/a b:c;d #ü's \"f\""

"$bin" run control --exec "python3 $here/adapters/file.py $dir/locks $words" -b "$(echo "$services" | sed 's/[^ ]*/exec:file@&/g; s/ /,/g')" -g none -n 1 --expect safe -o "$odd/run" >"$dir/out" 2>&1
cut -d, -f2,7- "$odd/run/trials.csv" >"$dir/rows"
cat "$dir/rows" >>"$dir/out"
for service in $services; do
  check "an adapter on $service" grep -q "^exec:file@$service,safe," "$dir/rows"
done

cat >"$dir/late.ini" <<'END_OF_SCENARIO'
[scenario]
title = a refusal that comes late
question = Is a busy that comes after wait_ms a refusal?
refuted = It is not.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 20000
[timeline]
step = client 1 acquire within 2s
step = client 1 read
step = client 2 acquire within 300ms
step = client 1 write
step = client 1 release within 2s
step = client 2 acquire within 2s
step = client 2 release within 2s
[expect]
* = safe: so
END_OF_SCENARIO
is_late() { # LATE_MS EVENT: what client 2 was told at first
  LATE_MS=$1 "$bin" run "$dir/late.ini" --exec "python3 $here/adapters/file.py $dir/locks redis" -g none -n 1 -o "$dir/late$1" >"$dir/out" 2>&1
  "$bin" check --export json "$dir/late$1"/histories/* >>"$dir/out" 2>&1
  grep '"c":"client-2"' "$dir/out" | grep -m1 -E '"e":"(busy|timeout|unknown|granted)"' | grep -q "\"e\":\"$2\""
}
check 'busy 50 ms after wait_ms is a refusal' is_late 50 busy
check 'busy 700 ms after wait_ms is a refusal' is_late 700 busy
check 'busy 1500 ms after wait_ms is an unknown outcome' is_late 1500 unknown
cat >"$dir/row.ini" <<'END_OF_SCENARIO'
[scenario]
title = what a server has of a row
question = Is the row of a held lock seen?
refuted = It is called absent.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 4000
[timeline]
step = client 1 acquire within 5s
step = observe key on primary
step = client 2 acquire within 300ms
step = client 1 release within 2s
[proof]
premise = key present on primary
[expect]
* = safe: so
END_OF_SCENARIO
row() { # RECORD VERDICT REASON
  "$bin" run "$dir/row.ini" --exec "python3 $here/adapters/pg-row.py $1" -g none -n 1 -o "$dir/row-$1" >"$dir/out" 2>&1
  grep -q "^row,exec:pg-row@pg,.*,$2,.*$3" "$dir/row-$1/trials.csv"
}
check 'the row of a held lock is seen' row task safe ''
check 'also where a column says that somebody holds it' row task:picked safe ''
check 'a table that does not exist is said' row nosuchtable undecided 'relation ""nosuchtable"" does not exist'
check 'what can be no table is said' row task-x undecided 'expected advisory, transaction, TABLE or TABLE:COLUMN'
record_holds() { "$bin" conform "python3 $here/adapters/pg-row.py $1" 'the record that it names' >"$dir/out" 2>&1; }
check 'conform: the row is a record while its column says so' record_holds task:picked
check 'conform: a row that stays is none' not record_holds task
cat >"$dir/left-out.ini" <<'END_OF_SCENARIO'
[scenario]
title = one client is never let in
question = Is a lock that never lets one client in called stuck?
refuted = It is called safe.
[workload]
clients = 3
ttl_ms = 1000
hold_ms = 5
think_ms = 5
wait_ms = 500
duration_s = 6
[campaign]
fault = pause client 3
every_ms = 2000
lasts_ms = 100
progress_ms = 2000
[expect]
* = stuck: client 2 never gets it
END_OF_SCENARIO
LEFT_OUT=client-2 "$bin" run "$dir/left-out.ini" --exec "python3 $here/adapters/file.py $dir/locks redis" -g none -n 1 -o "$dir/left" >"$dir/out" 2>&1
LEFT_OUT=client-2 "$bin" run contention --exec "python3 $here/adapters/file.py $dir/locks redis" -s clients=3 -s duration_s=2 -s wait_ms=500 -g none -n 1 -o "$dir/load" >>"$dir/out" 2>&1
cat "$dir/left/trials.csv" >>"$dir/out"
check 'a campaign that never lets one client in is stuck' grep -q '^left-out,.*,stuck,"\?client-2 ' "$dir/left/trials.csv"
check 'a load says so' grep -q 'contention exec:file@redis: .*1 of 3 clients never got the lock' "$dir/out"

cat >"$dir/circle.ini" <<'END_OF_SCENARIO'
[scenario]
title = two locks in opposite order
question = Is a deadlock named?
refuted = It is not.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 2000
[timeline]
step = client 1 acquire lock 1 within 5s
step = client 2 acquire lock 2 within 5s
step = client 1 begin acquire lock 2 within 4s
step = client 2 begin acquire lock 1 within 4s
step = await client 2 is granted within 5s
[expect]
* = stuck: each waits for the other
END_OF_SCENARIO
"$bin" run "$dir/circle.ini" released-between --exec "python3 $here/adapters/file.py $dir/locks redis" -g none -n 1 -o "$dir/circle" >"$dir/out" 2>&1
cat "$dir/circle/trials.csv" >>"$dir/out"
check 'two locks in opposite order are a deadlock, by name' grep -q 'stuck,"a deadlock: client-1 holds lock-1 and waits for lock-2, client-2 holds lock-2 and waits for lock-1' "$dir/circle/trials.csv"
check 'a lock that nobody can stop inside its wait is not asked there' grep -q 'before-wait: a foreign lock waits inside its call' "$dir/out"

# ---- a record that only the adapter sees --------------------------------------------------------

cat >"$dir/record.ini" <<'END_OF_SCENARIO'
[scenario]
title = what a service of the adapter's own has of a lock
question = Is its record seen while the lock is held, and then no more?
refuted = It is not.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 4000
[timeline]
step = client 1 acquire within 5s
step = observe key on primary
step = client 2 acquire within 300ms
step = client 1 release within 2s
step = await key absent on primary within 1s
step = client 2 acquire within 2s
[proof]
premise = key present on primary
[expect]
* = safe: so
END_OF_SCENARIO
mkdir "$dir/bucket" && chmod 777 "$dir/bucket"
bucket() { # HOW VERDICT REASON [CAN]
  rm -f "$dir"/bucket/*
  "$bin" run "$dir/record.ini" --exec "python3 $here/adapters/bucket.py $dir/bucket $1 $4" -g none -n 1 -o "$dir/bucket-$1$4" >"$dir/out" 2>&1
  cat "$dir/bucket-$1$4"/*.csv >>"$dir/out" 2>/dev/null
  grep -qE "$3" "$dir/out" && grep -qE "^record,exec:bucket-$1@none,.*,$2," "$dir/out"
}
check 'the record of a service that only the adapter knows is seen, and its end' bucket atomic safe ''
check 'a store that overwrites is violated' bucket ignores violated ''
check 'a record that stays is stuck' bucket stays stuck 'await key absent on primary within 1s: it is there to the end'
check 'a record that is not seen leaves its premise open' bucket lies undecided 'premise'
check 'an answer that record has not is said' bucket shrugs undecided "the adapter answered 'gone' to record, expected present, absent, unknown or error"
not_asked() { # SCENARIO REASON CAN
  "$bin" run "$dir/$1.ini" --exec "python3 $here/adapters/bucket.py $dir/bucket atomic $3" -g none -n 1 -o "$dir/not-asked-$1" >"$dir/out" 2>&1
  grep -qF "$2" "$dir/out"
}
check 'an adapter that answers no record is not asked' not_asked record 'observe key on primary: there are no servers, and the adapter answers no `record` (can=record)' holds
sed 's/on primary/on node 1/' "$dir/record.ini" >"$dir/node.ini"
check 'the service is the primary, and no node' not_asked node 'observe key on node 1: there are no servers' record
breaks() { # ADAPTER STATEMENT PATTERN
  "$bin" conform "python3 $here/adapters/$1" "$2" >"$dir/out" 2>&1
  [ $? -eq 3 ] && grep -q "^FAIL $2.*: .*$3" "$dir/out"
}
holds() { "$bin" conform "python3 $here/adapters/$1" "$2" >"$dir/out" 2>&1; }
check 'conform: the record of the adapter is there while it holds' holds "bucket.py $dir/bucket atomic" 'the record that it names'
check 'conform: one that stays' breaks "bucket.py $dir/bucket stays" 'the record that it names' 'expected no record within 2000 ms after the release, found one'
check 'conform: one that is never there' breaks "bucket.py $dir/bucket lies" 'the record that it names' 'while it holds, found none'
check 'conform: one that stays when a client gave up' breaks "bucket.py $dir/bucket stays" 'who gave up leaves no record' 'after the second client gave up'

# ---- some of its servers are gone ---------------------------------------------------------------

kept='an acquire that failed keeps no client out' late='who opens while servers are gone'
for how in all copied; do
  check "conform: $how: $kept" holds "several.py $how" "$kept"
  check "conform: $how: $late" holds "several.py $how" "$late"
done
check 'conform: a minority that was left has its say' breaks 'several.py keeps' "$kept" "read '[0-9]* busy' (second client), as what the first client had asked for"
check 'conform: so has a primary whose replicas were away' breaks 'several.py hangs-on' "$kept" "read '[0-9]* busy' (second client), as what the first client had asked for"
check 'conform: a majority of those that were there' breaks 'several.py present' "$late" "read '[0-9]* granted .* (second client), while the first client holds"
echo "1..$n"
