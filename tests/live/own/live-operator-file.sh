#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# What an operator's file allows is done to servers that somebody else has started, proved, and undone by a guardian. They are the servers of `serve`, and its `fault` is the command
# of each verb. TAP. Usage: live-operator-file.sh LOCKBENCH; MOMENTS='0.1 0.2 ...': when the tool is killed after it has begun.
bin=$1
. "${0%/*}/../../helpers/tap.sh"
chmod 711 "$dir"
TMPDIR=$dir LOCKBENCH_TESTED=$bin XDG_STATE_HOME=$dir/state MOMENTS=${MOMENTS:-0.0 0.7}
export MOMENTS TMPDIR LOCKBENCH_TESTED XDG_STATE_HOME dir
case $("$bin" doctor 2>&1) in *'MISS  namespaces'*) echo '1..0 # SKIP no network namespaces here'; exit 0 ;; esac
command -v redis-cli >/dev/null || { echo '1..0 # SKIP no redis-cli here'; exit 0; }
. "${0%/*}/../../helpers/operator.sh"

serve redis <<'END'
file 'kill, restart, pause, resume'
redis SET of-somebody-else 1
identity >"$dir/before"
lockbench run restart-node --list -b redis-token@own-redis
lockbench run restart-node -b redis-token@own-redis </dev/null; echo "code $? without consent"
identity | cmp - "$dir/before" && echo 'nothing was done so far'
run done restart-node
identity | cmp -s - "$dir/before" || echo 'it was started again'
[ -z "$(journal)" ] && echo 'nothing is written down'
timeout 60 "$LOCKBENCH_TESTED" run control --redis "$LOCKBENCH_REDIS" --operator "$dir/ops.ini" -b redis-token@own-redis -g none -n 1 --again -o "$dir/calm"
echo "code $? of calm"

redis SUBSCRIBE news >"$dir/news" &
until redis PUBSUB CHANNELS | grep -q news; do sleep 0.1; done
run busy restart-node
file 'kill, restart' 'others = yes\n'
run shared restart-node

file clock '' 'clock = set {name} {offset-s}\n'
lockbench run clock-jump ntp-step --list -b redis-token@own-redis | sed 's/^/to allow: /'

file 'kill, restart' '' 'kill = true {name}\n'
identity >"$dir/before"
again= run nothing restart-node
identity | cmp - "$dir/before" && [ -z "$(journal)" ] && echo 'a command that does nothing has done nothing'

file 'kill, restart' '' 'kill = sleep 300 # {name}\n'
again= run hangs restart-node

file 'kill, restart' 'undo-after = 10s\n'
again= run early server-lost
redis PING && [ -z "$(journal)" ] && echo 'it was undone early'
END
why() { cut -d, -f7- "$dir/$1/trials.csv" | sed 1d; }
gives() { why "$1" | grep -q "undecided.*$2" || { echo "expected '$2'"; why "$1"; false; }; }
check '--list shows the commands' says '^  .* fault kill node 1$'
check 'clocks by what the steps set them, forward and back' is "$(sed -n 's/^to allow:   set 1 //p' "$dir/out" | tr '\n' ' ')" '+3600 -3600 +3 -3 '
check 'without consent nothing is done' says '^code 2 without consent$'
check 'nor by --list' says '^nothing was done so far$'
check 'a server is killed and started again, and the lock is lost with it' is "$(verdicts done)" 'restart-node,redis-token@own-redis,violated '
check 'its identity is another one' says '^it was started again$'
check 'and nothing is left' says '^nothing is written down$'
check 'a run without a fault of a server needs no guardian, and no consent' says '^code 0 of calm$'
check 'servers that others use are left alone' says 'found clients of others: 1 of 1; expected none, or others = yes'
check 'with 1' says '^code 1 of busy$'
check 'unless the operator allows that, too' is "$(verdicts shared)" 'restart-node,redis-token@own-redis,violated '
check 'a command that exits 0 and does nothing proves nothing' gives nothing 'kill 1: its command ended, but it still takes connections'
check 'and does nothing' says '^a command that does nothing has done nothing$'
check 'a command that hangs is ended' gives hangs 'its command did not end within'
check 'what lasts longer than undo-after is undone' says '^it was undone early$'
check 'and its trial is undecided' gives early 'undo-after = 10 s was over before the trial was'

# What cannot be undone is named, and stays written down.
serve redis <<'END'
file 'kill, restart' '' 'restart = false {name}\n'
again= run stays restart-node
file 'kill, restart'
run refused restart-node
lockbench clean; echo "code $? of clean"
redis PING
[ -z "$(journal)" ] && echo 'clean has undone it'

run first server-lost &
until_journal full 300 || echo 'the first has done nothing'
run second server-lost
[ -n "$(journal)" ] && echo 'the first goes on'
kill -INT $(pgrep -f "^$LOCKBENCH_TESTED run server-lost")
wait
until_journal empty 300 && echo 'the first has undone its own'
END
check 'what could not be undone is named' says 'could not be undone: kill 1'
check 'with 1' says '^code 1 of stays$'
check 'another run is refused then' says 'could not be undone: kill 1: an earlier run has left it so'
check 'clean undoes it' says '^undone: 1 fault of an earlier run$'
check 'and says so' says '^code 0 of clean$'
check 'and nothing is written down' says '^clean has undone it$'
check 'a run beside another one is refused' says 'another run uses it'
check 'and the other one goes on' says '^the first goes on$'
check 'and undoes its own' says '^the first has undone its own$'

# The tool is killed in the middle, at some moments; and once its guardian as well.
serve redis <<'END'
file 'kill, restart'
start() { # FOLDER; the tool itself is in the background, no shell around it
  "$LOCKBENCH_TESTED" run server-lost --redis "$LOCKBENCH_REDIS" --operator "$dir/ops.ini" -b redis-token@own-redis -g none -n 1 --yes -o "$dir/$1" 2>/dev/null &
  tool=$!
  until_journal full 300
}
for moment in $MOMENTS; do
  start "killed-$moment"
  sleep "$moment"
  kill -KILL "$tool"; wait "$tool"
  until_journal empty 600 && [ "$(redis PING)" = PONG ] && echo "undone after the end at $moment"
done
start both
sleep 0.5
kill -KILL $(ps -eo pid=,args= | awk '$2 == "lb-operator" { print $1 }') "$tool"; wait "$tool"
redis PING >/dev/null 2>&1 || echo 'it is dead'
lockbench clean; echo "code $? of clean"
[ "$(redis PING)" = PONG ] && [ -z "$(journal)" ] && echo 'undone by clean'
END
check 'a tool that is killed leaves nothing undone' is "$(grep -c '^undone after the end' "$dir/out")" "$(echo $MOMENTS | wc -w)"
check 'with its guardian killed as well it does' says '^it is dead$'
check 'and clean undoes that' says '^undone by clean$'

serve sentinel <<'END'
own="--sentinel $LOCKBENCH_SENTINELS=$LOCKBENCH_SENTINEL_MASTER"
lockbench() { "$LOCKBENCH_TESTED" "$@" $own --operator "$dir/ops.ini"; }
file 'kill, restart, pause, resume, cut, heal'
lockbench run failover split-brain -b redis-token@own-sentinel -g none -n 1 --again --yes -o "$dir/sentinel"
lockbench explain "$dir/sentinel" failover 2>&1 || "$LOCKBENCH_TESTED" explain "$dir/sentinel" failover
file 'kill, restart'
lockbench run failover -b redis-token@own-sentinel --yes -o "$dir/not"; echo "code $?"
[ -z "$(journal)" ] && echo 'nothing is written down'
END
check 'failovers lose the lock on somebody else s Sentinels as on ours' is "$(verdicts sentinel)" 'failover,redis-token@own-sentinel,violated split-brain,redis-token@own-sentinel,violated '
check 'a cut between their servers was proved' says 'FAULT  *cut primary from replicas: redis-. from redis-., redis-.  (proved'
check 'what the operator may not do is refused, by its verb' says "the operator may not cut and heal"
check 'with 2' says '^code 2$'
check 'and nothing is left there' says '^nothing is written down$'

cat >"$dir/untold.ini" <<'END'
[scenario]
title = a Sentinel is cut off from two servers
guards = none
question = Does a cut of which no server tells count?
refuted = It does.
min_handoffs = 0
[workload]
clients = 1
ttl_ms = 3000
[timeline]
step = client 1 acquire within 2s
step = cut witness 1 from all
step = client 1 release within 2s
[expect]
redis-token@own-sentinel = safe: nobody else asks
END
# The file that `serve` writes names Sentinels, too, and has all verbs.
serve sentinel --clocks <<'END'
lockbench() { "$LOCKBENCH_TESTED" "$@" --sentinel "$LOCKBENCH_SENTINELS=$LOCKBENCH_SENTINEL_MASTER" --operator "$LOCKBENCH_OPERATOR"; }
lockbench list scenarios --for own-sentinel
lockbench run depose key-deleted primary-alone primary-cut -b redis-token@own-sentinel -g none -n 1 --again --yes -o "$dir/all" 2>&1
echo "code $?"
"$LOCKBENCH_TESTED" explain "$dir/all" primary-cut
[ -z "$(journal)" ] && echo 'nothing is written down'
lockbench run "$dir/untold.ini" -b redis-token@own-sentinel -n 1 --yes -o "$dir/untold" 2>&1

export XDG_STATE_HOME="$dir/clocks"
lockbench clean
echo '+ 1 clock redis-1 - 60000 of-redis-1' | tee -a "$dir"/clocks/lockbench/operator-* >/dev/null
lockbench clean | grep '^undone' | sed 's/^/of Sentinel: /'
server=$(sed -n '/^\[redis-1\]/{n;s/^address = //p}' "$LOCKBENCH_OPERATOR")
behind=$(($(date +%s) - $(redis-cli -h "${server%:*}" -p "${server#*:}" TIME | head -n 1)))
[ "$behind" -lt 30 ] && echo 'a clock that is right stays right' || echo "redis-1 is $behind s behind"
END
check 'most scenarios can be asked of Sentinels of one s own' test "$(sed -n 's/^\([0-9]*\) of [0-9]* .*/\1/p' "$dir/out" | head -n 1)" -ge 126
check 'by order, and by cuts from all servers' is "$(verdicts all)" \
  'depose,redis-token@own-sentinel,safe key-deleted,redis-token@own-sentinel,violated primary-alone,redis-token@own-sentinel,violated primary-cut,redis-token@own-sentinel,safe '
check 'the cut reaches Sentinels' says 'FAULT  *cut primary from all: redis-. from redis-., redis-., sentinel-1, sentinel-2, sentinel-3  (proved'
check 'and all is undone' says '^nothing is written down$'
check 'clean asks Sentinels again once its commands have been given' says '^of Sentinel: undone: 1 fault of an earlier run$'
check 'a cut of which no server tells is not made' gives untold 'cut sentinel-1: nothing would prove it'
check 'a clock that was set back before is not set back again' says '^a clock that is right stays right$'

if command -v etcd >/dev/null; then
  serve etcd-x3 <<'END'
"$LOCKBENCH_TESTED" run depose -b etcd-lease@own-etcd -g none -n 1 --again --yes -o "$dir/etcd" --etcd "$LOCKBENCH_ETCD" --operator "$LOCKBENCH_OPERATOR" 2>&1
END
  check 'a leader of etcd steps down' is "$(verdicts etcd)" 'depose,etcd-lease@own-etcd,safe '
  check 'whether others use etcd is not told, and that is said' says 'These do not tell whether others use them: etcd-1, etcd-2, etcd-3'
fi

if "$bin" doctor 2>&1 | grep -q '^ok *topology pg:'; then
  serve pg <<'END'
mine=$LOCKBENCH_POSTGRES
plain=$(echo "$mine" | sed 's/user=[^ ]*/user=plain/')
psql -qc 'CREATE ROLE plain LOGIN' -c 'GRANT CREATE ON DATABASE postgres TO plain'
psql -qc 'SELECT pg_sleep(300)' &
until [ "$(psql -Atc "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(300)'")" = 1 ]; do sleep 0.1; done
for who in "$mine" "$plain"; do
  "$LOCKBENCH_TESTED" run restart-node -b pg-lease@own-postgres -g none -n 1 --yes -o "$dir/pg" --postgres "$who" --operator "$LOCKBENCH_OPERATOR" 2>&1
done
psql -qAtc "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(300)'"
END
  check 'PostgreSQL tells of its other clients, also to a user without rights' is "$(grep -c 'found clients of others: 1 of postgres-1;' "$dir/out")" 2
fi
echo "1..$n"
