#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# The scenarios of this tree with their premises broken on purpose: whatever else comes out, every trial is undecided and names the premise. A
# scenario whose question was not put must not say "safe". TAP. Usage: live-broken-premises.sh LOCKBENCH
bin=$1 scenarios=$(dirname "$0")/../../../scenarios
. "$(dirname "$0")/../../helpers/tap.sh"

cells() { # FILE...: scenario, system, verdict and reason of each cell of these runs, one a line
  awk '{ name = $1; sub(/^ *"[a-z0-9_]*": /, ""); sub(/,$/, ""); gsub(/^"|"$/, "") }
    name == "\"scenario\":" { at = $0 }
    name == "\"system\":" { at = at " " $0 }
    name == "\"verdict\":" { verdict = $0 }
    name == "\"why\":" && at { print at, verdict, $0; at = "" }' "$@"
}
break_it() { # NAME SCENARIO FACT STEP N: the copy NAME, in which client N lets go before STEP
  check "$2 states: $3" grep -qx "premise = $3" "$dir/$2.of"
  check "$2 observes it: $4" grep -qx "step = $4" "$dir/$2.of"
  sed "s/^step = $4\$/step = client $5 release within 1s\\n&/" "$dir/$2.of" >"$dir/$1.ini"
  names="$names $dir/$1.ini"
}

names=
for file in "$scenarios"/*/*.ini; do
  case $file in */museum/* | */peers/* | */suites/* | */theory/*) continue ;; esac # those of others, and what is no scenario
  case $file in *-stock.ini | *-c-recipe.ini | */rolling-upgrade*.ini) continue ;; esac # the steps of another one, on slower servers or with what may not be there
  scenario=$(basename "$file" .ini)
  awk '/^step = / && !/ times: / { gsub(/, /, "\nstep = ") } { print }' "$file" >"$dir/$scenario.of" # one step a line
  for client in 1 2 3; do
    grep -qx "premise = client $client holds" "$file" && break_it "$scenario-let-go-$client" "$scenario" "client $client holds" "observe client $client" $client
  done
done
break_it failover-key-gone failover 'key present on primary' 'observe key on primary' 1
# Not broken but sharp: a server that comes back at once finds the holder at work. Where client 2 does without that server, its return decides nothing. And
# clocks that drift the other way end the lease before its holder does, also if they are only a little faster than the allowance covers.
sed 's/^step = wait 2200ms$/step = restart primary\n&/' "$dir/restart-delayed.of" >"$dir/restart-soon.ini"
check 'restart-soon: the server is back before the holder writes' test "$(grep -c '^step = restart primary$' "$dir/restart-soon.ini")" -eq 2
sed '/^step = cut client 2 from partners$/d' "$dir/restart-delayed.of" >"$dir/restart-unneeded.ini"
check 'restart-unneeded: client 2 reaches a majority without the server' sh -c '! cmp -s "$0" "$1"' "$dir/restart-delayed.of" "$dir/restart-unneeded.ini"
sed 's/^step = clock majority rate 0.9$/step = clock majority rate 1.03/' "$dir/clock-drift-harmless.of" >"$dir/servers-fast.ini"
sed 's/^step = clock client 3 rate 1.1$/step = clock client 3 rate 0.9/' "$dir/clock-drift-harmless.of" >"$dir/holder-slow.ini"
for name in servers-fast holder-slow; do
  check "$name: a clock drifts the other way" sh -c '! cmp -s "$0" "$1"' "$dir/clock-drift-harmless.of" "$dir/$name.ini"
done

# What refutes an expectation is no premise of it: a server that forgets makes a trial violated, not undecided.
sed 's/^step = fill disk of primary$/step = power off primary/; /^step = free disk of primary$/d; s/^step = client 2 release within 5s$/&\nstep = let primary sync within 2s/' "$dir/disk-full.of" >"$dir/disk-forgets.ini"
sed 's/policy noeviction$/policy allkeys-lru/' "$dir/eviction-none.of" >"$dir/memory-forgets.ini"
for pair in disk-forgets:disk-full memory-forgets:eviction-none; do
  check "${pair%:*}: the server forgets" sh -c '! cmp -s "$0" "$1"' "$dir/${pair#*:}.of" "$dir/${pair%:*}.ini"
done

# Who is not stopped keeps its session up, so it does not end.
sed '/^step = pause client 2$/d; s/^step = resume client 2$/step = wait 1ms/; s/ ended within 10s$/ ended within 1s/' "$dir/dead-lease.of" >"$dir/session-lives.ini"
check 'session-lives: nobody is stopped' sh -c '! grep -q "^step = pause" "$0" && grep -q "ended within 1s" "$0"' "$dir/session-lives.ini"

# Where each scenario means something: one system, for a premise is of the scenario. What happens to a primary, and who takes over, needs replicas.
systems_of() { # NAME
  case $1 in
    lagging-follower*) echo zk-sequential@zk-x3 ;;
    vanished-ahead* | clock-jump-monotonic*) echo zk-sequential@zk ;;
    clock-client-let-go* | summer-time*) echo pg-lease-client@pg ;;
    cluster-failover* | slot-*) echo redis-token@cluster ;;
    restart-delayed* | redlock-* | majority-down* | hung-holder-limited* | hung-holder-unlimited*) echo redlock@redis-x3 ;;
    amnesia*) echo etcd-lease@etcd-x3 ;;
    bridge* | minority-down* | rolling-restart*) echo zk-sequential@zk-x3 ;;
    member-removed*) echo etcd-lease@etcd-x3 ;;
    proxy-restart* | pooled-shared*) echo pg-lease@pg-pooled ;;
    pool-exhausted*) echo pg-lease@pg-pooled-tight ;;
    permits-clock*) echo redis-permits-client@redis ;;
    permits*) echo redis-permits@redis ;;
    readers*) echo redis-rw@redis ;;
    key-deleted* | server-dead*) echo redis-token@redis ;;
    moved-stamp*) echo redis-stamp@redis ;;
    hung-holder-capped*) echo redis-watchdog@redis ;;
    power-loss* | disk-full* | ttl-while-down*) echo redis-token@redis-aof ;;
    cancelled-wait*) echo pg-row@pg-sync ;;
    replica-given-up*) echo maria-row@maria-semisync ;;
    dead-lease*) echo etcd-lease@etcd-x3 ;;
    waiter-ended* | waiter-cut-off* | two-nodes*) echo etcd-lease@etcd-x3 ;;
    both-upgrade*) echo redis-rw@redis ;;
    work-* | transaction-timeout*) echo pg-for-update@pg ;;
    leaders-change*) echo etcd-lease@etcd-x3 ;;
    idle-session*) echo pg-advisory@pg ;;
    *) grep -qE '^step = .*(failover|primary|replica)' "$dir/$1" && echo redis-token@sentinel || echo redis-token@redis ;;
  esac
}
for path in $names; do echo "$path" >>"$dir/on.$(systems_of "${path##*/}")"; done
plays() { # NAME SYSTEMS GUARD SIDE_BY_SIDE FILE...: leaves NAME.json
  name=$1 systems=$2 guard=$3 side_by_side=$4
  shift 4
  played 'the machine stalled' "$dir/$name" "$bin" run "$@" -b "$systems" -g "$guard" -n 1 -j "$side_by_side" --seed 1 --json
  mv "$dir/$name.out" "$dir/$name.json"
}
# They mostly wait, so a few at a time.
few=4 started=0
beside() { # as plays
  plays "$@" &
  started=$((started + 1))
  if [ $((started % few)) -eq 0 ]; then wait $!; fi
}
for on in "$dir"/on.*; do
  # shellcheck disable=SC2046
  beside "on-${on##*.}" "${on##*/on.}" none 6 $(cat "$on")
done
beside sharp-soon redis-token@redis,redlock@redis-x3,redlock@redis-x5 none 4 "$dir/restart-soon.ini"
beside sharp-unneeded redlock@redis-x3,redlock@redis-x5 signal 4 "$dir/restart-unneeded.ini"
beside sharp-drift redis-token@redis,redlock@redis-x3 none 4 "$dir/servers-fast.ini" "$dir/holder-slow.ini"
beside sharp-disk redis-token@redis-aof-everysec none 4 "$dir/disk-forgets.ini"
beside sharp-memory redis-token@redis none 4 "$dir/memory-forgets.ini"
beside sharp-session etcd-lease@etcd-x3,zk-sequential@zk none 4 "$dir/session-lives.ini"
wait
cells "$dir"/on-*.json >"$dir/cells"
cells "$dir"/sharp-*.json >"$dir/sharp-cells"
for path in $names; do
  copy=$(basename "$path" .ini)
  # Who does not hold does not come to the point at which a holder is to hang.
  check "$copy ran" grep -qE "^$copy [^ ]* undecided (the premise .* does not hold|hang .*: it never passed that point|delete key on .*|move slot .*: redis-1: has no key there|client 2 reopen .*: it holds the lock.*|end renewals of client 1: nothing of it is renewed)" "$dir/cells"
  check "$copy: nowhere safe, violated, stuck or delayed" sh -c '! grep -E "^$0 [^ ]* (safe|violated|stuck|delayed|mixed)" "$1"' "$copy" "$dir/cells"
done
for system in redis-token@redis redlock@redis-x3 redlock@redis-x5; do
  check "restart-soon $system: violated" grep -q "^restart-soon $system violated" "$dir/sharp-cells"
done
for system in redlock@redis-x3 redlock@redis-x5; do
  check "restart-unneeded $system: undecided" grep -q "^restart-unneeded $system undecided a safe trial would have to show .*client 2 does not hold.*, and no step observed it" "$dir/sharp-cells"
done
for system in redis-token@redis redlock@redis-x3; do
  check "servers-fast $system: violated" grep -q "^servers-fast $system violated" "$dir/sharp-cells"
  check "holder-slow $system: not safe" grep -qE "^holder-slow $system (violated|undecided)" "$dir/sharp-cells"
done
for cell in 'disk-forgets redis-token@redis-aof-everysec' 'memory-forgets redis-token@redis'; do
  check "$cell: violated" grep -q "^$cell violated" "$dir/sharp-cells"
done
for system in etcd-lease@etcd-x3 zk-sequential@zk; do
  check "session-lives $system: undecided" grep -q "^session-lives $system undecided await session of client 2 ended within 1s: .* still has it" "$dir/sharp-cells"
done
echo "1..$n"
