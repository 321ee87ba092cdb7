#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# Servers that somebody else has started: with passwords, TLS, and things of others in them. Runs leave these as they were, no password
# can be found anywhere, and what is wrong is said in one line. TAP. Usage: live-own.sh LOCKBENCH TESTS (the folder that zk-tree is built in)
bin=$1
zk_tree=$2/zk-tree
etcd_ask=$(dirname "$0")/../../helpers/etcd_ask.py
. "$(dirname "$0")/../../helpers/tap.sh"
case $(id -u) in 0) as_nobody='runuser -u nobody --' ;; *) as_nobody= ;; esac
pg_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
java=$(command -v java || ls /usr/lib/jvm/*/bin/java 2>/dev/null | head -n 1)
jars=$(printf '%s:' /usr/share/java/zookeeper.jar /usr/share/java/zookeeper-jute.jar /usr/share/java/slf4j-api.jar /usr/share/java/slf4j-simple.jar \
  /usr/share/java/netty-all.jar /usr/share/java/snappy-java.jar /usr/share/java/metrics-core.jar)
for need in openssl redis-cli redis-check-rdb etcd psql python3; do
  command -v "$need" >/dev/null || { echo "1..0 # SKIP $need is not installed"; exit 0; }
done
[ -n "$pg_bin" ] && [ -n "$java" ] && [ -f /usr/share/java/zookeeper.jar ] || { echo '1..0 # SKIP no PostgreSQL or no ZooKeeper here'; exit 0; }

# ---- servers ----------------------------------------------------------------------------------------------------

chmod 755 "$dir"
mkdir "$dir/etcd" "$dir/etcd-old" "$dir/pg" "$dir/zk" "$dir/results"
free_ports() {
  python3 -c 'import socket
s = [socket.socket() for _ in range(9)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])'
}
# shellcheck disable=SC2046
set -- $(free_ports)
redis_port=$1 pg_port=$2 zk_port=$3 etcd_port=$4 etcd_peer=$5 old_port=$6 old_peer=$7 closed_port=$8 pooler_port=$9
processes=
stop_all() {
  for process in $processes; do kill -9 "$process" 2>/dev/null; done
  [ ! -s "$dir/pg/pooler.pid" ] || kill -9 "$(cat "$dir/pg/pooler.pid")" 2>/dev/null
  $as_nobody "$pg_bin/pg_ctl" -D "$dir/pg/data" -m immediate stop >/dev/null 2>&1
  rm -rf "$dir"
}
trap stop_all EXIT

certificate() { # NAME DAYS
  openssl req -newkey rsa:2048 -nodes -keyout "$dir/$1.key" -out "$dir/$1.csr" -subj /CN=localhost
  openssl x509 -req -in "$dir/$1.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial -out "$dir/$1.pem" -extfile "$dir/names" -days "$2"
}
make_certificates() {
  echo 'subjectAltName=DNS:localhost,IP:127.0.0.1' >"$dir/names"
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/ca.key" -out "$dir/ca.pem" -days 2 -subj /CN=ca
  certificate good 2
  certificate old 0 # over in a second; newer OpenSSL makes none that ends before it begins
}
make_certificates >"$dir/openssl.log" 2>&1

ln -s "$(command -v redis-check-rdb)" "$dir/redis-server"
printf 'port %s\nbind 127.0.0.1 -::1\nsave ""\nrequirepass pass-redis-4711\n' "$redis_port" >"$dir/redis.conf"
"$dir/redis-server" "$dir/redis.conf" >"$dir/redis.log" 2>&1 &
processes="$processes $!"
printf 'tickTime=300\ndataDir=%s\nclientPort=%s\nclientPortAddress=localhost\nadmin.enableServer=false\n' "$dir/zk" "$zk_port" >"$dir/zoo.cfg"
"$java" -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp "$jars" org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/zoo.cfg" >"$dir/zk.log" 2>&1 &
processes="$processes $!"
start_etcd() { # FOLDER CERTIFICATE PORT PEER_PORT
  etcd --name a --data-dir "$dir/$1" --listen-client-urls "https://localhost:$3" --advertise-client-urls "https://localhost:$3" \
    --listen-peer-urls "http://localhost:$4" --initial-advertise-peer-urls "http://localhost:$4" --initial-cluster "a=http://localhost:$4" \
    --cert-file "$dir/$2.pem" --key-file "$dir/$2.key" --logger=zap --log-outputs=stderr >"$dir/$1.log" 2>&1 &
  processes="$processes $!"
}
start_etcd etcd good "$etcd_port" "$etcd_peer"
start_etcd etcd-old old "$old_port" "$old_peer"

start_postgres() {
  [ -z "$as_nobody" ] || chown -R nobody "$dir/pg"
  echo pass-super-4711 >"$dir/pwfile"
  chmod 644 "$dir/pwfile"
  $as_nobody "$pg_bin/initdb" -D "$dir/pg/data" -A scram-sha-256 -U super --pwfile="$dir/pwfile" --no-sync
  wear_certificate good
  $as_nobody sh -c "cat >>'$dir/pg/data/postgresql.conf'" <<END
port = $pg_port
listen_addresses = 'localhost'
unix_socket_directories = ''
ssl = on
fsync = off
shared_buffers = 32MB
END
  echo 'hostssl all all all scram-sha-256' | $as_nobody sh -c "cat >'$dir/pg/data/pg_hba.conf'"
  $as_nobody "$pg_bin/pg_ctl" -D "$dir/pg/data" -l "$dir/pg/log" -w start
}
wear_certificate() {
  chmod 644 "$dir/$1.key"
  $as_nobody cp "$dir/$1.pem" "$dir/pg/data/server.crt"
  $as_nobody cp "$dir/$1.key" "$dir/pg/data/server.key"
  $as_nobody chmod 600 "$dir/pg/data/server.key"
}
start_postgres >"$dir/pg.log" 2>&1

redis() { REDISCLI_AUTH=pass-redis-4711 redis-cli -p "$redis_port" "$@"; }
sql() { PGPASSWORD=pass-super-4711 psql -qAt "host=localhost port=$pg_port user=super dbname=${db:-postgres}" "$@"; }
etcdc() { python3 "$etcd_ask" "https://localhost:$etcd_port" "$dir/ca.pem" "$@"; }
check 'Redis is up' wait_until 10 redis ping
check 'PostgreSQL is up' wait_until 10 sql -c 'SELECT 1'
check 'etcd is up' wait_until 10 etcdc get --prefix ''
check 'ZooKeeper is up' wait_until 20 "$zk_tree" localhost "$zk_port"

# ---- things of others, some with names like ours -----------------------------------------------------------------

for key in users:1-0 lockbench:mine lockbench:mine-0 lockbench:0123456-0 my-lockbench:01234567-0 '{lockbench:mine-0}.fence' lock; do redis set "$key" "v-$key"; done >"$dir/said" 2>&1
redis hset lockbench:cafebabe a b >"$dir/said"
sql -c "CREATE ROLE locker LOGIN PASSWORD 'pass-pg-4711'" -c 'CREATE DATABASE mine OWNER locker' >"$dir/said" 2>&1
db=mine
sql -c 'CREATE SCHEMA "lockbench:mine"' -c 'CREATE TABLE "lockbench:mine".t AS SELECT 1 AS a' >"$dir/said" 2>&1
for node in /users /lockbench:mine /lockbench:mine/child; do "$zk_tree" localhost "$zk_port" $node v; done
{
  etcdc put users/1 v
  for key in lockbench lockbench:mine lockbench:0123456-0; do etcdc put $key v; done
  etcdc user add root:pass-root-4711
  etcdc user grant-role root root
  etcdc user add locker:pass-etcd-4711
  etcdc role add locks
  etcdc role grant-permission locks --prefix=true readwrite lockbench:
  etcdc user grant-role locker locks
  etcdc auth enable
} >"$dir/said" 2>&1

dump() {
  redis --scan | sort | while read -r key; do printf '%s ' "$key"; redis --no-raw dump "$key"; done
  { # its lines `restrict` hold a random word
    PGPASSWORD=pass-super-4711 pg_dump "host=localhost port=$pg_port user=super dbname=mine"
    PGPASSWORD=pass-super-4711 pg_dumpall --globals-only -d "host=localhost port=$pg_port user=super dbname=mine"
  } | grep -v '^.\(un\)*restrict '
  "$zk_tree" localhost "$zk_port" | sort
  etcdc --user root:pass-root-4711 get --prefix ''
}
dump >"$dir/before" 2>&1
check 'all of it is in the dump' sh -c "grep -q users:1-0 '$dir/before' && grep -q 'SCHEMA \"lockbench:mine\"' '$dir/before' && grep -q /lockbench:mine/child '$dir/before' && grep -q users/1 '$dir/before'"
as_before() { dump >"$dir/after" 2>&1; diff "$dir/before" "$dir/after"; }

# ---- runs ---------------------------------------------------------------------------------------------------------

cat >"$dir/logins.ini" <<END
# of the test
[redis]
password = pass-redis-4711
[postgres]
password=pass-pg-4711
[etcd]
user = locker
ca = $dir/ca.pem
[zookeeper]
user = locker
password = pass-zk-4711
END
chmod 600 "$dir/logins.ini"
conninfo="host=localhost port=$pg_port user=locker dbname=mine sslmode=verify-full sslrootcert=$dir/ca.pem"
# To be called in a subshell of its own, which becomes the tool: so what is killed is that.
ours() {
  export LOCKBENCH_ETCD_PASSWORD=pass-etcd-4711
  exec "$bin" "$@" --redis "[::1]:$redis_port" --postgres "$conninfo" --etcd "localhost:$etcd_port" --zookeeper "localhost:$zk_port" --auth "$dir/logins.ini"
}

# What everybody can see of processes, as long as the run goes on: pass-...-4711 is in every password.
look() {
  while [ -e "$dir/looking" ]; do
    for process in /proc/[0-9]*; do
      grep -qs 'lockbench' "$process/comm" || continue
      grep -ls 'pass-[a-z]*-4711' "$process/cmdline" "$process/environ"
    done
    ls /proc/[0-9]*/comm 2>/dev/null | wc -l >"$dir/looked"
  done
}
touch "$dir/looking"
look >"$dir/seen" 2>/dev/null &
looker=$!
(ours run control pause-holder -g none -b redis-token,redis-setnx,pg-lease,pg-row,pg-advisory,zk-sequential,zk-persistent,etcd-v3lock -n 1 --keep-logs -o "$dir/results/run") >"$dir/out" 2>&1
code=$?
rm "$dir/looking"
wait $looker
check 'a run on all four is as expected' test $code -eq 0
check 'with no undecided trial' not grep -q ',undecided,' "$dir/results/run/trials.csv"
check 'pause-holder loses on a lease' grep -q '^pause-holder,redis-token@own-redis,none,.*,violated,' "$dir/results/run/trials.csv"
check 'and is stuck on a row' grep -q '^pause-holder,pg-row@own-postgres,none,.*,stuck,' "$dir/results/run/trials.csv"
check 'control is safe on each kind' test "$(grep -c '^control,.*,safe,' "$dir/results/run/trials.csv")" -eq 8
check 'whatever was there is as it was' as_before
check 'the results say which servers' sh -c "grep -q '\"own-redis\": \"redis [0-9.]* at \[::1\]:$redis_port\"' '$dir/results/run/run.json' && grep -q '\"own-etcd\": \"etcd [0-9.]* at localhost:$etcd_port\"' '$dir/results/run/run.json'"
check 'somebody looked at the processes' test -s "$dir/looked"
check 'no process showed a password' test ! -s "$dir/seen"
check 'no password in the results, nor in what was said' not grep -r 'pass-[a-z]*-4711' "$dir/results" "$dir/out"

LOCKBENCH_POSTGRES_PASSWORD=pass-pg-4711 "$bin" run control -b pg-row -n 1 --postgres "host=localhost port=$pg_port user=locker dbname=mine sslmode=require" -o "$dir/results/require" >"$dir/out" 2>&1
code=$?
check 'encrypted, whoever has signed the certificate' test $code -eq 0
check 'the lock on servers of the user is what the first line is about' grep -q '^pg-row: safe in control\. As expected: ' "$dir/out"
(ours run control -n 1 -g none -o "$dir/results/usual") >"$dir/out" 2>&1
code=$?
check 'without -b the lock to use on each kind runs' test "$code $(cut -d, -f2 "$dir/results/usual/trials.csv" | sed 1d | sort | tr '\n' ' ')" = '0 etcd-lease@own-etcd pg-lease@own-postgres redis-token@own-redis zk-sequential@own-zookeeper '
check 'which is said, and what runs the others' sh -c "[ \$(grep -c -- '-b all' '$dir/out') -eq 1 ] && grep -q 'redis-token@own-redis.*-b all' '$dir/out'"
"$bin" run control -n 1 -g none -b all -o "$dir/results/all" --redis "localhost:$redis_port" --auth "$dir/logins.ini" >"$dir/out" 2>&1
check 'with -b all there are others' sh -c "[ \$(cut -d, -f2 '$dir/results/all/trials.csv' | grep -c '@own-redis') -gt 8 ] && ! grep -q -- '-b all' '$dir/out'"
check 'a lock that the servers do not have is refused' sh -c "! '$bin' run control -b redlock --redis localhost:$redis_port --auth '$dir/logins.ini' >'$dir/out' 2>&1 && grep -q 'redlock does not run on' '$dir/out'"
check 'servers that nobody has named' sh -c "! '$bin' run control -b redis-token@own-redis >'$dir/out' 2>&1 && grep -q 'expected --redis HOST:PORT' '$dir/out'"

# ---- an operator of servers that want a login --------------------------------------------------------------------------

# shellcheck disable=SC2086
set -- $processes
echo "$1" >"$dir/redis.pid"
echo "$2" >"$dir/zookeeper.pid"
echo "$3" >"$dir/etcd.pid"
head -n 1 "$dir/pg/data/postmaster.pid" >"$dir/postgres.pid"
cat >"$dir/operator.ini" <<END
[operator]
may = pause, resume
[redis]
address = [::1]:$redis_port
[postgres]
address = localhost:$pg_port
[etcd]
address = localhost:$etcd_port
[zookeeper]
address = localhost:$zk_port
[verbs]
pause = kill -STOP \$(cat $dir/{name}.pid); tr '\\0' ' ' </proc/self/environ >>$dir/command-{name}
resume = kill -CONT \$(cat $dir/{name}.pid)
END
chmod 600 "$dir/operator.ini"
cat >"$dir/asleep.ini" <<'END'
[scenario]
title = a server is paused
guards = none
question = Does a pause of the server lose a lock?
refuted = It does.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 20000
[timeline]
step = client 1 acquire within 5s
step = pause primary
step = resume primary
step = client 2 acquire within 500ms
step = client 1 release within 5s
step = client 2 acquire within 10s
[expect]
* = safe: a lease of 20 s outlasts it
END
touch "$dir/looking"
look >"$dir/seen" 2>/dev/null &
looker=$!
(XDG_STATE_HOME=$dir/state ours run "$dir/asleep.ini" -b redis-token,pg-lease,zk-sequential,etcd-lease --operator "$dir/operator.ini" --yes -n 1 --keep-logs -o "$dir/results/operator") >"$dir/out" 2>&1
code=$?
rm "$dir/looking"
wait $looker
check 'servers that want a login are paused and resumed by an operator' test $code -eq 0
check 'with each lock as it should be' test "$(grep -c '^asleep,.*,safe,' "$dir/results/operator/trials.csv")" -eq 4
check 'each by a command' test "$(ls "$dir"/command-* | wc -l)" -eq 4
check 'no process showed a password then' test ! -s "$dir/seen"
check 'nor did the results, the commands, the journal and what was said' not grep -r 'pass-[a-z]*-4711' "$dir/results" "$dir/out" "$dir/state" "$dir"/command-*
check 'nothing is written down, and all is as before' sh -c "[ -z \"\$(cat '$dir'/state/lockbench/operator-*)\" ]"
check 'whatever was there is as it was then' as_before

# ---- killed ---------------------------------------------------------------------------------------------------------

cat >"$dir/sits.ini" <<'END'
[scenario]
title = a holder that sits
question = What is left when the tool is killed now?
refuted = Something that clean does not remove.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 60000
[timeline]
step = client 1 acquire within 5s
step = client 2 begin acquire within 60s
step = wait 60s
[expect]
* = race: it is killed
END
ours run "$dir/sits.ini" -b redis-token,redis-stamp,pg-row,zk-persistent,etcd-v3lock -g none -n 1 -s redis-token.fence=yes -o "$dir/results/killed" >"$dir/out" 2>&1 &
tool=$!
all_there() { dump >"$dir/after" 2>&1; [ "$(diff "$dir/before" "$dir/after" | grep -c '^>.*lockbench:[0-9a-f]\{8\}')" -gt 8 ] && ! grep -q 'Error' "$dir/after"; }
check 'locks are held on all servers' wait_until 20 all_there
kill -9 $tool
wait $tool 2>/dev/null
check 'after SIGKILL something is left' not as_before
(ours clean) >"$dir/out" 2>&1
check 'clean says that nothing is' test "$(grep -c 'nothing of lockbench is left$' "$dir/out")" -eq 4
check 'and nothing is' as_before

timeout -s INT 2 "$bin" run "$dir/sits.ini" -b redis-token -g none -n 1 --redis "localhost:$redis_port" --auth "$dir/logins.ini" -o "$dir/results/interrupted" >"$dir/out" 2>&1
check 'an interrupted run says what removes the rest' grep -q 'goes with .clean' "$dir/out"
(ours clean) >"$dir/out" 2>&1
check 'and that does' as_before

# Of the tool the kernel tells its parent whether there was a core; of its children and theirs there may be files.
dumped_core() { # SECONDS COMMAND...: 0 = of what was aborted after so long some core was dumped
  LOCKBENCH_ETCD_PASSWORD=pass-etcd-4711 python3 - "$@" <<'END'
import os, resource, signal, subprocess, sys, time
limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
os.chdir(os.environ["CORE_DIR"])
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
time.sleep(float(sys.argv[1]))
def abort(pid):
    for below in open(f"/proc/{pid}/task/{pid}/children").read().split():
        abort(below)
    os.kill(int(pid), signal.SIGABRT)
abort(child.pid)
_, status = os.waitpid(child.pid, 0)
child.returncode = 0
sys.exit(0 if os.WIFSIGNALED(status) and os.WCOREDUMP(status) or os.listdir() else 1)
END
}
mkdir "$dir/core"
export CORE_DIR="$dir/core"
if dumped_core 0.2 sleep 5; then
  rm -f "$dir"/core/*
  check 'an aborted run leaves no core' not dumped_core 2 "$bin" run "$dir/sits.ini" -b redis-token -g none -n 1 --redis "localhost:$redis_port" --auth "$dir/logins.ini" -o "$dir/results/core"
  (ours clean) >"$dir/out" 2>&1
  check 'and can be cleaned up' as_before
else
  echo '# not judged here: this machine dumps no cores'
fi
rm -rf "$dir/core"

# ---- one line each ----------------------------------------------------------------------------------------------------

says() { # CODE TEXT ARGUMENT...: control with these ends with this code and one line that has the text
  want=$1 text=$2
  shift 2
  "$bin" run control -n 1 -o "$dir/results/refused" "$@" >"$dir/out" 2>&1
  got=$?
  grep -Fq -- "$text" "$dir/out" && [ "$(wc -l <"$dir/out")" -eq 1 ] && [ $got -eq "$want" ] && ! grep -q 'pass-[a-z]*-4711' "$dir/out" || { echo "code $got"; return 1; }
}
check 'no password: one line' says 5 'NOAUTH' --redis "localhost:$redis_port"
check 'and it says where a login goes' grep -q -- '--auth FILE$' "$dir/out"
LOCKBENCH_REDIS_PASSWORD=wrong LOCKBENCH_POSTGRES_PASSWORD=wrong LOCKBENCH_ETCD_USER=locker LOCKBENCH_ETCD_PASSWORD=wrong LOCKBENCH_ETCD_CA=$dir/ca.pem
export LOCKBENCH_REDIS_PASSWORD LOCKBENCH_POSTGRES_PASSWORD LOCKBENCH_ETCD_USER LOCKBENCH_ETCD_PASSWORD LOCKBENCH_ETCD_CA
check 'a wrong password for Redis' says 5 'WRONGPASS' --redis "localhost:$redis_port"
check 'a wrong password for PostgreSQL' says 5 'password authentication failed' --postgres "$conninfo"
check 'a wrong password for etcd' says 5 'invalid user ID or password' --etcd "localhost:$etcd_port"
check 'no such host' says 5 'no address of nowhere.invalid' --redis nowhere.invalid:6379
check 'no such host of ZooKeeper' says 5 'no address of nowhere.invalid' --zookeeper nowhere.invalid
for option in --redis --zookeeper --etcd "--sentinel"; do
  check "a closed port: $option" says 5 'efused' $option "127.0.0.1:$closed_port$([ $option != --sentinel ] || echo =mymaster)"
done
check 'a closed port: --postgres' says 5 'efused' --postgres "host=127.0.0.1 port=$closed_port user=locker"
check 'an expired certificate of etcd' says 5 'certificate has expired' --etcd "localhost:$old_port"
wear_certificate old >"$dir/said" 2>&1
$as_nobody "$pg_bin/pg_ctl" -D "$dir/pg/data" reload >"$dir/said" 2>&1
check 'an expired certificate of PostgreSQL' wait_until 5 says 5 'it has expired' --postgres "$conninfo"
unset LOCKBENCH_REDIS_PASSWORD LOCKBENCH_POSTGRES_PASSWORD LOCKBENCH_ETCD_USER LOCKBENCH_ETCD_PASSWORD LOCKBENCH_ETCD_CA

check 'a password in an address' says 2 '--auth FILE' --redis "redis://:pass-redis-4711@localhost:$redis_port"
check 'a password in CONNINFO' says 2 'LOCKBENCH_POSTGRES_PASSWORD' --postgres "$conninfo password=pass-pg-4711"
check 'a password in a URI' says 2 'LOCKBENCH_POSTGRES_PASSWORD' --postgres "postgresql://locker:pass-pg-4711@localhost:$pg_port/mine"
check 'a CONNINFO that is none' says 2 'expected a CONNINFO' --postgres "password='pass-pg-4711"
for option in --redis --redis-cluster --zookeeper --etcd; do
  check "an address of IPv6 and a port without brackets: $option" says 2 "expected [::1]:6379" $option ::1:6379
done
check 'a port that is none' says 2 'expected HOST:PORT' --redis localhost:70000
check 'Sentinels without a name' says 2 '=NAME' --sentinel localhost:26379
check 'logins without servers' says 2 'expected servers' --auth "$dir/logins.ini"
chmod 644 "$dir/logins.ini"
check 'logins that others may read' says 2 'chmod 600' --redis "localhost:$redis_port" --auth "$dir/logins.ini"
chmod 600 "$dir/logins.ini"
printf '[redis]\npasword = x\n' >"$dir/odd.ini"
chmod 600 "$dir/odd.ini"
check 'a key that is none' says 2 "odd.ini:2: unknown key 'pasword', did you mean 'password'?" --redis "localhost:$redis_port" --auth "$dir/odd.ini"
printf '[redis]\ntls = yes\n' >"$dir/odd.ini"
check 'TLS for Redis' says 2 'tunnel' --redis "localhost:$redis_port" --auth "$dir/odd.ini"

# ---- a pooler between -------------------------------------------------------------------------------------------------

pooler=$(command -v pgbouncer || ls /usr/sbin/pgbouncer 2>/dev/null)
start_pooler() { # MODE IGNORED: stops the one before
  [ ! -s "$dir/pg/pooler.pid" ] || { kill "$(cat "$dir/pg/pooler.pid")"; sleep 0.3; }
  printf '"locker" "pass-pg-4711"\n' | $as_nobody sh -c "cat >'$dir/pg/users'"
  $as_nobody sh -c "cat >'$dir/pg/pooler.ini'" <<END
[databases]
mine = host=127.0.0.1 port=$pg_port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pooler_port
unix_socket_dir =
auth_type = plain
auth_file = $dir/pg/users
pool_mode = $1
server_tls_sslmode = require
logfile = $dir/pg/pooler.log
pidfile = $dir/pg/pooler.pid
$2
END
  $as_nobody "$pooler" -d "$dir/pg/pooler.ini"
}
if [ -n "$pooler" ]; then
  pooled="host=127.0.0.1 port=$pooler_port user=locker dbname=mine"
  through() { # MODE: what the locks become there
    start_pooler "$1" '' >"$dir/said" 2>&1
    PGPASSWORD=pass-pg-4711 wait_until 5 psql -qc "SELECT 1" "$pooled" >"$dir/said" 2>&1
    "$bin" run control -b pg-advisory,pg-advisory-xact,pg-lease,pg-row -g none -n 1 --postgres "$pooled" --auth "$dir/logins.ini" -o "$dir/results/$1" >"$dir/out" 2>&1
    cut -d, -f2,7 "$dir/results/$1/trials.csv" | sed -n 's/@own-postgres,/ /p' | sort | tr '\n' ' '
  }
  # Which process a client is lent there decides what becomes of a lock of sessions.
  check 'a pooler in transaction mode' test "$(through transaction | sed 's/^pg-advisory [a-z]*/pg-advisory race/')" = 'pg-advisory race pg-advisory-xact safe pg-lease safe pg-row safe '
  check 'and it is named' grep -q 'behind a pooler in transaction mode' "$dir/results/transaction/run.json"
  check 'a pooler in session mode' test "$(through session)" = 'pg-advisory safe pg-advisory-xact safe pg-lease safe pg-row safe '
  check 'nothing is left behind it' test -z "$(db=mine sql -c "SELECT relname FROM pg_class WHERE relname ~ 'lockbench'")"
  kill "$(cat "$dir/pg/pooler.pid")" && rm -f "$dir/pg/pooler.pid"
else
  echo '# no pgbouncer here: nothing is asked through a pooler'
fi

"$bin" run failover --redis "localhost:$redis_port" --auth "$dir/logins.ini" -o "$dir/results/failover" >"$dir/out" 2>&1
code=$?
check 'a scenario that would hurt a server is refused' sh -c "[ $code -eq 2 ] && grep -q 'failover: .* would touch the servers' '$dir/out' && [ \$(wc -l <'$dir/out') -eq 1 ]"
case $("$bin" doctor 2>&1) in
  *'MISS  namespaces'*) echo '# no network namespaces here: no link could be cut' ;;
  *)
    "$bin" run partition -v --redis "localhost:$redis_port" --auth "$dir/logins.ini" -g none -n 1 -o "$dir/results/loopback" >"$dir/out" 2>&1
    check 'no host stands in for this machine itself' grep -q 'no host can stand in for localhost: expected servers at an address that others reach' "$dir/out"
    ;;
esac
printf '[suite]\ntitle = two\nquestion = Which of them runs?\nguards = none\ntrials = 1\n[control]\n[restart-node]\n' >"$dir/two.ini"
"$bin" suite "$dir/two.ini" -v -b redis-token --redis "localhost:$redis_port" --auth "$dir/logins.ini" -o "$dir/results/suite" >"$dir/out" 2>&1
check 'in a suite it is n/a' sh -c "grep -q 'would touch the servers' '$dir/out' && grep -q '^control,redis-token@own-redis,.*,safe,' '$dir/results/suite/trials.csv'"
check 'and in the end everything is as it was' as_before

# A service that the tool does not know: only the adapter knows where it is, and it keeps this machine's network.
"$dir/redis-server" --port "$closed_port" --bind 127.0.0.1 --save '' >"$dir/unknown.log" 2>&1 &
processes="$processes $!"
sed 's/topologies=redis/topologies=none/; s/urlsplit(servers\[0\])/urlsplit(os.environ["SERVICE"])/; s/^import secrets/import os, secrets/' "$(dirname "$0")/../../../peers/reference.py" >"$dir/elsewhere.py"
SERVICE=redis://127.0.0.1:$closed_port
export SERVICE
wait_until 5 redis-cli -p "$closed_port" ping >/dev/null
played 'the machine stalled' "$dir/results/elsewhere" "$bin" run control pause-holder crash-holder clock-client partition --exec "python3 $dir/elsewhere.py" -g none -n 1
cat "$dir/results/elsewhere.out" "$dir/results/elsewhere.err" >"$dir/out"
check 'clients of a service that nobody knows are paused, killed and lied to' test "$(cut -d, -f1,7 "$dir/results/elsewhere/trials.csv" | tr '\n' ' ')" = 'scenario,verdict control,safe pause-holder,violated crash-holder,safe clock-client,safe '
check 'and its links are not cut' grep -q 'there are no servers' "$dir/out"
"$bin" conform "python3 $dir/elsewhere.py" 'a free lock' >"$dir/out" 2>&1
check 'conform reaches it, too' grep -q '1 of 1 statements hold' "$dir/out"
echo "1..$n"
