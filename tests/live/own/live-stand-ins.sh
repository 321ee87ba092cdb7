#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# Links between clients and servers that somebody else has started: hosts of the trial stand in for these, so a scenario comes out there as on servers of ours, and nothing of theirs
# is touched. The servers are those of `serve`, in a network that this tool's runs take for the machine's own. TAP. Usage: live-stand-ins.sh LOCKBENCH
bin=$1
. "${0%/*}/../../helpers/tap.sh"
chmod 711 "$dir"
TMPDIR=$dir LOCKBENCH_TESTED=$bin
export TMPDIR LOCKBENCH_TESTED dir
case $("$bin" doctor 2>&1) in *'MISS  namespaces'*) echo '1..0 # SKIP no network namespaces here'; exit 0 ;; esac
command -v redis-cli >/dev/null && command -v etcd >/dev/null || { echo '1..0 # SKIP no redis-cli or no etcd here'; exit 0; }
serve() { # TOPOLOGY, a script for sh on standard input
  cat >"$dir/script"
  "$bin" serve "$@" -- sh "$dir/script" >"$dir/out" 2>&1
}
says() { grep -q -- "$1" "$dir/out" || { echo "expected '$1'"; sed -n 1,20p "$dir/out"; false; }; }
verdicts() { cut -d, -f1,2,7 "$dir/$1/trials.csv" | sed 1d | sort | tr '\n' ' '; }
is() { [ "$1" = "$2" ] || { echo "found '$1', expected '$2'"; false; }; }

serve redis <<'END'
redis() { redis-cli -h "${LOCKBENCH_REDIS%:*}" -p "${LOCKBENCH_REDIS#*:}" "$@"; }
redis SET of-somebody-else 1
redis INFO server | grep ^run_id >"$dir/before"
"$LOCKBENCH_TESTED" run partition wait-bound -b redis-token@own-redis,redis-token@redis --redis "$LOCKBENCH_REDIS" -n 1 -g none --again -o "$dir/redis"
"$LOCKBENCH_TESTED" run contention-apart -b redis-token@own-redis --redis "$LOCKBENCH_REDIS" -n 1 -g none --again -s round_trip_ms=20 -s duration_s=2 -o "$dir/apart"
echo "keys: $(redis KEYS '*' | tr '\n' ' ')"
redis INFO server | grep ^run_id | cmp - "$dir/before" && echo 'it was never restarted'
"$LOCKBENCH_TESTED" explain "$dir/redis" partition redis-token@own-redis
"$LOCKBENCH_TESTED" run failover -b redis-token@own-redis --redis "$LOCKBENCH_REDIS" -n 1 -o "$dir/refused"
echo "code $?"
printf '127.0.0.1 localhost\n%s my-redis\n' "${LOCKBENCH_REDIS%:*}" >"$dir/hosts"
unshare -m sh -c 'mount --bind "$dir/hosts" /etc/hosts && "$LOCKBENCH_TESTED" run partition -b redis-token@own-redis --redis "my-redis:${LOCKBENCH_REDIS#*:}" -n 1 -g none --again -o "$dir/named"'
END
check 'a scenario comes out on somebody else s Redis as on ours' is "$(verdicts redis)" \
  'partition,redis-token@own-redis,violated partition,redis-token@redis,violated wait-bound,redis-token@own-redis,safe wait-bound,redis-token@redis,safe '
check 'its cut was proved' says 'FAULT  *cut client 1 from all: client-1 from redis-1  (proved'
release_us() { python3 -c 'import csv, sys; print([int(float(row["release_p50_us"])) for row in csv.DictReader(open(sys.argv[1]))][-1])' "$dir/apart/trials.csv"; }
check 'it can be far away' test "$(release_us)" -ge 20000
check 'what was there is there, and nothing else' says '^keys: of-somebody-else $'
check 'it was never restarted' says 'it was never restarted'
check 'a scenario that would hurt a server is refused' says "would touch the servers or their network, which are your own"
check 'with 2' says '^code 2$'
check 'a server that is known by its name is found by it' is "$(verdicts named)" 'partition,redis-token@own-redis,violated '

serve etcd-x3 <<'END'
"$LOCKBENCH_TESTED" run partition -b etcd-lease@own-etcd,etcd-lease@etcd-x3 --etcd "$LOCKBENCH_ETCD" -n 1 -g none --again -o "$dir/etcd"
END
same() { # so many answers to so many scenarios, if all are decided
  case $(verdicts "$1") in *undecided*) verdicts "$1" ;; *) verdicts "$1" | tr ' ' '\n' | sed 's/,[^,]*,/ /' | sort -u | grep -c . ;; esac
}
check 'a scenario comes out on somebody else s etcd as on ours' is "$(same etcd)" 1

# Who decides is asked with the login, of whichever kind. The lost reply is that of the primary.
cat >"$dir/by-hand.ini" <<'END'
[scenario]
title = the primary is killed by hand
attack = grant-unheard
question = Does a failover lose the lock?
refuted = It keeps it.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 10000
[timeline]
step = client 1 acquire within 5s
step = client 1 read
step = observe key on primary
step = operator "kill the primary"
step = await failover within 30s
step = observe key on current primary
step = client 2 acquire within 500ms
step = client 2 read
step = client 2 write
step = client 1 write
[proof]
premise = key present on primary
END
serve sentinel <<'END'
say() { for at in $(echo "$1" | tr , ' '); do redis-cli -h "${at%:*}" -p "${at#*:}" ACL SETUSER "$2" on ">$3" '~lockbench:*' '&*' +@all; done; }
say "$LOCKBENCH_REDIS" locker pass-redis-4711
say "$LOCKBENCH_SENTINELS" watcher pass-sentinel-4711
printf '[redis]\nuser = locker\npassword = pass-redis-4711\n[sentinel]\nuser = watcher\npassword = pass-sentinel-4711\n' >"$dir/logins.ini"
chmod 600 "$dir/logins.ini"
"$LOCKBENCH_TESTED" run lost-reply partition -b redis-token@own-sentinel,redis-token@sentinel --sentinel "$LOCKBENCH_SENTINELS=lockbench" --auth "$dir/logins.ini" \
  -n 1 -g none --again -o "$dir/sentinel"
"$LOCKBENCH_TESTED" explain "$dir/sentinel" lost-reply redis-token@own-sentinel
"$LOCKBENCH_TESTED" run "$dir/by-hand.ini" -b redis-token@own-sentinel --sentinel "$LOCKBENCH_SENTINELS=lockbench" --auth "$dir/logins.ini" \
  -n 1 -g none -o "$dir/by-hand" --hook '"$LOCKBENCH_TOOL" fault kill current primary'
"$LOCKBENCH_TESTED" explain "$dir/by-hand" by-hand
END
check 'Sentinels and their servers are asked who is primary' is "$(same sentinel)" 2
check 'with their logins' says 'seen  *primary is redis-1'
check 'a failover that somebody else brings about is seen' says 'seen  *failover: redis-[23] decides'
check 'and which server decides then' says 'seen  *key .* on current primary'
check 'the logins stand nowhere' sh -c '! grep -r -- 4711 "$dir/sentinel" "$dir/by-hand" "$dir/out"'
serve etcd-x3 <<'END'
"$LOCKBENCH_TESTED" run dead-lease etcd-11456 -b etcd-lease@own-etcd --etcd "$LOCKBENCH_ETCD" -n 1 -g none --again -o "$dir/etcd-leader"
END
check 'and so are members of etcd' is "$(verdicts etcd-leader)" 'dead-lease,etcd-lease@own-etcd,safe etcd-11456,etcd-lease@own-etcd,safe '
if ls /usr/share/java/zookeeper.jar >/dev/null 2>&1; then
  serve zk-x3 <<'END'
"$LOCKBENCH_TESTED" run dead-lease etcd-11456 -b zk-sequential@own-zookeeper --zookeeper "$LOCKBENCH_ZOOKEEPER" -n 1 -g none --again -o "$dir/zk"
END
  check 'and members of an ensemble' is "$(verdicts zk)" 'dead-lease,zk-sequential@own-zookeeper,safe etcd-11456,zk-sequential@own-zookeeper,safe '
fi

if command -v mariadb >/dev/null && command -v mariadb-install-db >/dev/null; then
  serve maria-async <<'END'
first=${LOCKBENCH_MARIADB%%,*}
mariadb -h "${first%:*}" -P "${first#*:}" -u root -e "ALTER USER lockbench@'%' IDENTIFIED BY 'pass-maria-4711'"
printf '[mariadb]\nuser = lockbench\npassword = pass-maria-4711\n' >"$dir/logins.ini"
"$LOCKBENCH_TESTED" run lost-reply partition -b maria-row@own-mariadb --mariadb "$LOCKBENCH_MARIADB" --auth "$dir/logins.ini" \
  -n 1 -g none --again -o "$dir/maria"
END
  check 'and a primary of MariaDB with a replica' is "$(verdicts maria)" 'lost-reply,maria-row@own-mariadb,safe partition,maria-row@own-mariadb,stuck '
fi

# Kinds of servers that live-own.sh does not start.
if command -v memcached >/dev/null; then
  serve memcached <<'END'
"$LOCKBENCH_TESTED" run control partition -b memcached-cas@own-memcached,memcached-cas@memcached --memcached "$LOCKBENCH_MEMCACHED" -n 1 -g none --again -o "$dir/memcached"
say() { python3 -c 'import socket, sys
at = socket.create_connection(sys.argv[1].split(":"))
at.sendall(sys.argv[2].encode().decode("unicode_escape").encode())
print(at.recv(1000).decode().split()[0])' "$LOCKBENCH_MEMCACHED" "$1"; }
say 'set lockbench:deadbeef:a 0 0 1\r\n1\r\n'
say 'set mine 0 0 1\r\n1\r\n'
"$LOCKBENCH_TESTED" clean --memcached "$LOCKBENCH_MEMCACHED"
echo "a $(say 'get lockbench:deadbeef:a\r\n'), mine $(say 'get mine\r\n')"
"$LOCKBENCH_TESTED" run control --memcached "$LOCKBENCH_MEMCACHED,10.77.0.99:1" -n 1
END
  check 'the same with memcached' is "$(same memcached)" 2
  check 'what a run has left there is removed, and nothing else' says '^a END, mine VALUE$'
  check 'one memcached is expected' says 'expected one memcached'
fi
if command -v nats-server >/dev/null; then
  serve nats <<'END'
"$LOCKBENCH_TESTED" run control partition -b nats-kv@own-nats,nats-kv@nats --nats "$LOCKBENCH_NATS" -n 1 -g none --again -o "$dir/nats"
ask() { python3 -c 'import json, socket, sys
at = socket.create_connection(sys.argv[1].split(":"))
subject, body = sys.argv[2:]
at.sendall(("CONNECT {\"verbose\":false}\r\nSUB in 1\r\nPUB %s in %d\r\n%s\r\n" % (subject, len(body), body)).encode())
lines = iter(at.makefile("rb").readline, b"")
next(line for line in lines if line.startswith(b"MSG"))
print(json.loads(next(lines)).get("streams"))' "$LOCKBENCH_NATS" "$1" "$2"; }
for stream in KV_lockbench_deadbeef KV_lockbench_mine KV_mine; do
  ask "\$JS.API.STREAM.CREATE.$stream" "{\"name\":\"$stream\",\"subjects\":[\"\$KV.$stream.>\"]}"
done
"$LOCKBENCH_TESTED" clean --nats "$LOCKBENCH_NATS"
echo "left: $(ask '$JS.API.STREAM.NAMES' '')"
END
  check 'the same with NATS' is "$(same nats)" 2
  check 'what a run has left there is removed, and nothing else' says "^left: .'KV_lockbench_mine', 'KV_mine'.$"
fi
echo "1..$n"
