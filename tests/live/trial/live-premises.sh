#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# Premises on real servers, each broken on purpose: such a trial is undecided and says which premise, whatever else came out. Whom a
# fault touched, which server a client talks to, and cuts that nobody used. TAP. Usage: live-premises.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"

own() { # NAME SYSTEM..., with steps (and sections) on standard input: a scenario of this test
  name=$1
  shift
  printf '[scenario]\ntitle = t\nquestion = q\nrefuted = r\nsystems = %s\nmin_handoffs = 0\n[workload]\nclients = 2\nttl_ms = 2000\n' "$*" >"$dir/$name.ini"
  cat >>"$dir/$name.ini"
  echo '[expect]' >>"$dir/$name.ini"
  for system; do echo "$system = race: it is a test" >>"$dir/$name.ini"; done
}
run() { # SCENARIO...
  for scenario; do set -- "$@" "$dir/$scenario.ini"; shift; done
  "$bin" run "$@" -n 1 -j 3 --seed 1 --json -o "$dir/run" >"$dir/run.json" 2>"$dir/run.err"
}
value() { # KEY SCENARIO SYSTEM
  awk -v key="$1" -v cell="\"$2\" \"$3\"" '
    { name = $1; sub(/^ *"[a-z0-9_]*": /, ""); sub(/,$/, "") }
    name == "\"scenario\":" { at = $0 }
    name == "\"system\":" { at = at " " $0 }
    at == cell && name == "\"" key "\":" { gsub(/^"|"$/, ""); print }' "$dir/run.json"
}
comes_to() { # VERDICT SCENARIO [SYSTEM [WHY]]
  system=${3:-redis-token@redis}
  check "$2 $system: $1" [ "$(value verdict "$2" "$system")" = "$1" ]
  [ -z "$4" ] || check "  because: $4" expr "$(value why "$2" "$system")" : ".*$4"
}
events() { # SCENARIO [SYSTEM]: its history
  "$bin" check --export json "$dir/run/histories/$1.${2:-redis-token@redis}.none".* >"$dir/events"
}
has() { check "  $1" grep -qE "$1" "$dir/events"; }
lacks() { check "  no $1" not grep -qE "$1" "$dir/events"; }

# ---- scenarios of this test -----------------------------------------------------------------------------------------
# Client 1 works on after its lease, which is a violation; the premise says that it still holds.
over() { # NAME, then a premise
  own "$1" redis-token@redis <<E2
[timeline]
step = client 1 acquire within 3s
step = client 1 read
step = client 2 acquire within 5s
step = observe client 1
step = observe key on primary
step = observe server of client 2
step = client 2 read
step = client 1 write
step = client 2 write
[proof]
past_lease = yes
premise = $2
E2
}
over still-holds 'client 1 holds'
over holds-no-more 'client 1 does not hold'
over key-absent 'key absent on primary'
over key-present 'key present on primary'
over server-not 'server of client 2 is not primary'
over server-is 'server of client 2 is primary'
# The steps that would have looked are never reached.
own too-early redis-token@redis <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 begin acquire within 3s
step = await client 2 holds within 200ms
step = observe client 2
[proof]
premise = client 2 holds
E
own pause-late redis-token@redis <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 100ms
step = wait 2s
step = pause holder
step = resume holder
E
own pause-in-time redis-token@redis <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 100ms
step = pause holder
step = resume holder
E
own cuts redis-token@redis <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 100ms
step = client 1 release within 1s
step = cut primary from replicas
step = cut client 1 from server of client 1
step = client 1 acquire within 500ms
step = heal
step = client 1 acquire within 4s
step = client 1 release within 1s
step = cut primary to client 2
step = wait 2s
E
# A server that is slow to hear of the question whether it can be reached must not be taken for one that talks to its client.
own cuts-late redis-token@redis <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 500ms
step = pause primary
step = cut primary to client 2
step = resume primary
step = wait 1s
E
# Whoever answers a client is the one that dies.
own server-dies redis-token@sentinel pg-lease@pg-async zk-sequential@zk-x3 redlock@redis-x3 <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 100ms
step = observe server of client 1
step = kill server of client 1
step = client 1 release within 5s
[proof]
premise = server of client 1 is server of client 1
E
# A disk stalls for whoever syncs meanwhile. Where nobody asks nobody does, and that is no question put.
stalled() { # NAME, and the step between
  own "$1" pg-row@pg redis-token@redis <<E2
[servers]
storage = disk
[timeline]
step = client 1 acquire within 3s
step = client 1 release within 1s
step = stall disk of primary
step = $2
step = wait 1s
step = unstall disk of primary
step = wait 300ms
step = client 1 acquire within 300ms
E2
}
stalled stall-met 'client 2 begin acquire within 4s'
stalled stall-unmet 'wait 10ms'
sed '/^step = unstall/d' "$dir/stall-met.ini" >"$dir/stall-left.ini"

# ---- what they come to ----------------------------------------------------------------------------------------------
run still-holds holds-no-more key-absent key-present server-not server-is too-early pause-late pause-in-time cuts cuts-late server-dies stall-met stall-unmet stall-left
comes_to undecided still-holds redis-token@redis 'the premise .*client 1 holds.* does not hold: the opposite was observed'
comes_to violated holds-no-more
comes_to undecided key-absent redis-token@redis 'the premise .*key absent on primary.* does not hold: the opposite was observed'
comes_to violated key-present
comes_to undecided server-not redis-token@redis 'the premise .*server of client 2 is not primary.* does not hold: the opposite was observed'
comes_to violated server-is
comes_to undecided too-early redis-token@redis 'the premise .*client 2 holds.* was not observed'
comes_to undecided pause-late redis-token@redis 'pause holder: client-1 stands still, but it does not hold any more'
comes_to safe pause-in-time
events pause-in-time
has '"c":"client-1","e":"holds","step":3,"present":true,"ms":1[0-9]{3}\}'
has '"e":"proved","what":"pause holder"'
comes_to safe cuts
events cuts
has '"e":"touched","step":4,"verb":"cut"\}'
lacks '"e":"proved","what":"cut primary from replicas"'
has '"e":"touched","step":5,"verb":"cut","from":"redis-1","host":"client-1"\}'
has '"e":"proved","what":"cut client 1 from server of client 1"'
lacks '"e":"unused","what":"cut client 1 from server of client 1"'
has '"e":"unused","what":"cut primary to client 2","step":10\}'
events cuts-late
has '"e":"unused","what":"cut primary to client 2","step":4\}'
check "explain says that there was nobody to cut" sh -c '"$0" explain "$1"/run/histories/cuts.* | grep -q "nobody to cut"' "$bin" "$dir"
for system in redis-token@sentinel pg-lease@pg-async zk-sequential@zk-x3; do
  check "server-dies $system: recorded" events server-dies $system
  has '"c":"client-1","k":"lock-1","e":"server","host":"(redis|postgres|zookeeper)-[123]"\}'
  killed=$(sed -n 's/.*"e":"touched","step":4,"verb":"kill","host":"\([a-z0-9-]*\)".*/\1/p' "$dir/events")
  has "\"e\":\"server\",\"host\":\"${killed:-none}\"\}"
done
check 'explain names the epoch of a ZooKeeper fence' \
  sh -c '"$0" explain "$1"/run/histories/server-dies.zk* | grep -q "czxid 0x[0-9a-f]*, epoch [0-9]"' "$bin" "$dir"
comes_to n/a server-dies redlock@redis-x3
comes_to safe stall-met pg-row@pg
check 'stall-met: recorded' events stall-met pg-row@pg
has '"e":"proved","what":"stall disk of primary"'
has 'postgres-1: syncs had waited \([0-9]+\), the first for (9[0-9]{2}|1[0-9]{3}) ms'
comes_to undecided stall-unmet pg-row@pg 'unstall disk of primary: postgres-1 has synced nothing meanwhile'
comes_to undecided stall-left pg-row@pg 'the disk of postgres-1 is still stalled'
comes_to n/a stall-met redis-token@redis 'syncs nothing to a disk that could stall'
echo "1..$n"
