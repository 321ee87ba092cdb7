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
check 'without consent nothing is done' says '^code 2 without consent$'
check 'nor by --list' says '^nothing was done so far$'
check 'a server is killed and started again, and the lock is lost with it' is "$(verdicts done)" 'restart-node,redis-token@own-redis,violated '
check 'its identity is another one' says '^it was started again$'
check 'and nothing is left' says '^nothing is written down$'
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
echo "1..$n"
