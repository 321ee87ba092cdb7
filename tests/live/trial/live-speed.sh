#!/bin/sh
# test: alone
# SPDX-License-Identifier: MIT
# Loads on real servers: windows that begin when the rate has settled, what the servers commit, how they are set, and waiters that are told of a
# release. TAP. Usage: live-speed.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"

# What the machine gave to others says nothing of the tool: such a load is played again, three times at most.
disturbed() { [ "$(column "$1" unsettled)" = 1 ] || grep -qE 'no speed: .*(hypervisor|of a processor)' "$dir/$1/trials.csv"; }
run() { # NAME SYSTEM, then settings: a load of one trial
  name=$1 system=$2
  shift 2
  for again in 1 2 3; do
    rm -rf "${dir:?}/$name"
    "$bin" run contention -b "$system" -n 1 -s clients=4 -s duration_s=1 "$@" -o "$dir/$name" >"$dir/$name.out" 2>&1
    disturbed "$name" || break
  done
  check "$name: it ends as expected" [ -e "$dir/$name/trials.csv" ]
}
column() { # NAME COLUMN
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR == 2 { print $at }' "$dir/$1/trials.csv"
}
within() { # NUMBER LEAST MOST
  echo "$1, expected $2 to $3"
  awk -v x="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(x != "" && x >= a && x <= b) }'
}
says() { check "$1: $2" grep -qE "$2" "$dir/$1/run.json"; }
silent() { check "$1: no $2" not grep -qE "$2" "$dir/$1/run.json"; }

# SET and DEL are a change each; both belong to one grant. With work under the lock others wait, and what polls is often passed over.
run polls redis-token@redis -s hold_ms=1 -s think_ms=1 -s settle_s=20
check 'polls: safe' [ "$(column polls verdict)" = safe ]
check 'polls: the rate has settled' [ "$(column polls unsettled)" = 0 ]
check 'polls: not before it could be seen' within "$(column polls warmup_ms)" 1500 21000
per_grant=$(awk -v c="$(column polls commits)" -v r="$(column polls grants_per_s)" -v s="$(column polls measured_s)" 'BEGIN { print c / (r * s) }')
check 'polls: its requests are counted' within "$(column polls requests)" 100 10000000
check 'polls: two writes for each grant' within "$per_grant" 1.9 2.1
says polls '"waits": "polls"'
says polls '"poll_last_ms": 16'
says polls '"measured": true'

run told redis-token@redis -s hold_ms=1 -s think_ms=1 -s redis-token.wake=yes
check 'told: safe' [ "$(column told verdict)" = safe ]
says told '"waits": "told"'
says told '"wake": true'

# The same clients in one process for each core: more of them than a process each would be allowed to.
run many redis-token@redis -s driver=coroutine -s clients=256 -s keys=own
check 'many: safe' [ "$(column many verdict)" = safe ]
check 'many: all of them are served' within "$(column many client_min)" 1 10000000
says many '"driver": "coroutine"'
check 'many: each takes some memory, and less than a process would' within "$(column many client_kb)" 1000 50000

# The server stands still for a while. Clients that ask by a schedule count the wait of all that was due meanwhile; one answer each was late.
cat >"$dir/stall.ini" <<'EOF'
[scenario]
title = t
question = q
refuted = r
min_handoffs = 0
[workload]
clients = 4
keys = own
arrivals = constant
rate_per_s = 400
duration_s = 4
warmup_s = 0.3
[campaign]
every_ms = 500
lasts_ms = 1000
fault = pause primary
[proof]
past_lease = yes
[expect]
* = safe
EOF
"$bin" run "$dir/stall.ini" -b redis-token@redis -n 1 --seed 5 -o "$dir/stall" >"$dir/stall.out" 2>&1
check 'stall: safe' [ "$(column stall verdict)" = safe ]
check 'stall: there was one' within "$(column stall faults)" 1 9
check 'stall: it is in the wait' within "$(column stall wait_p99_us)" 300000 5000000
check 'stall: and not in what is left if nobody asks how late it was' within "$(column stall service_p99_us)" 1 "$(awk -v us="$(column stall wait_p99_us)" 'BEGIN { print us / 2 }')"

# An ordinary run is not void, and a quantile of few samples is left out.
check 'polls: its speed counts' [ "$(column polls speed_void)" = 0 ]
check 'many: its speed counts' [ "$(column many speed_void)" = 0 ]
run few redis-token@redis -s keys=own -s arrivals=constant -s rate_per_s=100
check 'few: it has a median' within "$(column few wait_p50_us)" 1 1000000
check 'few: and no p99' [ -z "$(column few wait_p99_us)" ]
check 'few: it started what was asked for' within "$(column few starts_per_s)" 95 105
check 'few: nothing was saturated' [ "$(column few saturated)" = 0 ]

# What voids a speed: it is named, and the columns are empty. A lock in memory is asked for more than one client can ask; and a lock answers without its server.
is_void() { # NAME PATTERN
  check "$1: safe" [ "$(column "$1" verdict)" = safe ]
  check "$1: no speed" [ "$(column "$1" speed_void)" = 1 ]
  check "$1: so there is none in its columns" [ -z "$(column "$1" grants_per_s)$(column "$1" wait_p50_us)" ]
  check "$1: the row says why" grep -qE "no speed: .*$2" "$dir/$1/trials.csv"
  check "$1: the terminal says so" grep -qE "1 of 1 trials: no speed: .*$2" "$dir/$1.out"
  check "$1: its histogram counts nowhere" [ "$(wc -l <"$dir/$1/latency.csv")" -eq 1 ]
}
run too-fast local@none -s clients=1 -s keys=own -s arrivals=constant -s rate_per_s=1000000
is_void too-fast 'of 1000000 starts per s clients that were not busy had to make 1000000 and made [0-9]+'
run liar exec:rogue@redis --exec "python3 $(dirname "$0")/../../adapters/rogue.py lies" -s keys=own
is_void liar 'the servers counted [0-9]+ (requests|writes) for [0-9]+ grants'
# Clients that are busy when the next start is due are the lock's affair.
run over redis-token@redis -s keys=own -s hold_ms=10 -s arrivals=constant -s rate_per_s=1000
check 'over: it is saturated' [ "$(column over saturated)" = 1 ]
check 'over: and its speed counts' [ "$(column over speed_void)" = 0 ]
check 'over: the terminal says so' grep -q 'saturated' "$dir/over.out"

for system in pg-row@pg pg-lease@pg; do
  protocol=${system%@*}
  run "$protocol" "$system" -s hold_ms=1 -s "$protocol.wake=yes"
  check "$protocol: safe" [ "$(column "$protocol" verdict)" = safe ]
  # Some 0.6 of the grants are hand-offs; without the notification 0.06 at most, as who waits is not told.
  check "$protocol: what it waits for comes" within "$(awk -v h="$(column "$protocol" handoffs_per_s)" -v g="$(column "$protocol" grants_per_s)" 'BEGIN { print h / g }')" 0.2 1
  check "$protocol: two transactions at least" within "$(column "$protocol" commits_per_handoff)" 1.9 100
  silent "$protocol" 'fsync = off'
done

# A create and a deletion for each grant, and whatever a waiter writes.
run zk zk-sequential@zk
check 'zk: safe' [ "$(column zk verdict)" = safe ]
check 'zk: two writes at least for each hand-off' within "$(column zk commits_per_handoff)" 1.9 4
# The create and the list in one breath, the watch, the deletion.
check 'zk: some four requests for each hand-off' within "$(column zk requests_per_handoff)" 2.9 8
check 'zk: a release takes its time' within "$(column zk release_p50_us)" 50 1000000
silent zk 'TieredStopAtLevel'
silent zk 'forceSync'
says zk '"4lw.commands.whitelist=\* \(else srvr\)"'

# A refused create and a new watch of each who waits; those who think meanwhile do not wait.
run herd zk-ephemeral@zk -s clients=16 -s hold_ms=5 -s think_ms=5
check 'herd: safe' [ "$(column herd verdict)" = safe ]
check 'herd: all who wait are woken' within "$(column herd requests_per_handoff)" 20 60
check 'herd: and what they are refused is written' within "$(column herd commits_per_handoff)" 10 30
echo "1..$n"
