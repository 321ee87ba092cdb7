#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# `lockbench serve`: a command beside real servers, faults that it asks for, and nothing left however it ends. TAP.
# Usage: live-serve.sh LOCKBENCH
bin=$1
. "${0%/*}/../../helpers/tap.sh"
chmod 711 "$dir" # without namespaces the servers of root run as nobody
export TMPDIR=$dir
is() { [ "$1" = "$2" ] || { echo "found '$1', expected '$2'"; false; }; }
none_left() { [ -z "$(servers)" ] && [ -z "$(find "$dir" -name '*.partial')" ]; }
says() { grep -qF -- "$1" "$dir/out" || { echo "expected '$1'"; false; }; }
serve() { # ARGUMENTS..., a script for sh on standard input
  cat >"$dir/script"
  code=0
  "$bin" serve "$@" -- sh "$dir/script" >"$dir/out" 2>&1 || code=$?
}

serve redis <<'END'
ask() { redis-cli -h "${LOCKBENCH_REDIS%:*}" -p "${LOCKBENCH_REDIS#*:}" "$@" 2>&1; }
fault() { "$LOCKBENCH_TOOL" fault "$@" 2>&1; echo "code $?"; }
echo "$LOCKBENCH_TOPOLOGY $LOCKBENCH_SERVERS"
ask SET of-the-command 1
fault 'kill primary'
ask GET of-the-command
fault kill primary
fault 'kil primary'
fault 'client 1 acquire within 1s'
fault kill node 2
stat -c 'mode %a' "${LOCKBENCH_SERVE%/*}"
mkdir "$TMPDIR/behind" && cd "$TMPDIR/behind" || exit 1
sleep 1000 &
exit 7
END
if grep -q 'on loopback' "$dir/out"; then loopback=true; else loopback=false; fi
check 'redis: the status is that of the command' is "$code" 7
check 'redis: it knows where the server is' grep -qE '^redis redis://[0-9.]+:[0-9]+$' "$dir/out"
check 'redis: it reaches the server' says OK
check 'redis: a fault tells what it proved' says 'proved: kill primary'
check 'redis: a fault that is proved has the code 0' is "$(sed -n '/^proved: kill primary/{n;p;}' "$dir/out")" 'code 0'
check 'redis: the server is really dead' says 'Connection refused'
check 'redis: what was not done is not proved' says 'redis-1 was already dead'
check 'redis: ... with the code 4' is "$(sed -n '/already dead/{n;p;}' "$dir/out")" 'code 4'
check 'redis: a misspelt step is refused with a suggestion' says "did you mean 'kill'?"
check 'redis: ... with the code 2' is "$(sed -n '/did you mean/{n;p;}' "$dir/out")" 'code 2'
check 'redis: so is a step of a client' says 'here nobody takes a lock but your command'
check 'redis: so is a server that there is not' says 'node 2: expected a number from 1 to 1'
check 'redis: nobody else reaches the socket' says 'mode 700'
check "redis: what the command left behind ends with it" none_left

serve nosuch </dev/null
check 'an unknown topology: 2' is "$code" 2
"$bin" serve redis -- "$dir/no-such-command" >"$dir/out" 2>&1
check 'an unknown command: 127' is $? 127
check 'an unknown command: nothing is left' none_left
env -u LOCKBENCH_SERVE "$bin" fault heal >"$dir/out" 2>&1
check 'a fault without a serve: 2' is $? 2

printf 'hosts\n# a note\n\nclock node 1 +3s\npause node 1\nkil\nquit\nkill node 1\n' | "$bin" serve redis --clocks >"$dir/out" 2>"$dir/err"
check 'a prompt: the status of the first line that failed' is $? 2
check 'a prompt: who is where' grep -qE '^redis-1 +[0-9.]+:[0-9]+  node 1, current primary$' "$dir/out"
check 'a prompt: a clock is set, and asked' says 'proved: clock node 1 +3s'
check 'a prompt: a fault is proved' says 'proved: pause node 1'
check 'a prompt: nothing after quit' not says 'kill node 1'

# Killed in the middle: with what the command started, the servers, and their folder.
mkfifo "$dir/told"
mkdir "$dir/inside" # what works there is seen by servers()
if $loopback; then sleeps=true; else sleeps='sleep 1000'; fi # without namespaces nobody ends the children of a command with the tool
"$bin" serve redis -- sh -c "cd '$dir/inside'; $sleeps & echo ready >'$dir/told'; wait" >"$dir/out" 2>&1 &
tool=$!
read -r line <"$dir/told"
check 'a command that runs' is "$line" ready
kill -9 $tool
wait $tool 2>/dev/null
check 'after kill -9 nothing is left' wait_until 10 none_left

LOCKBENCH_NO_NAMESPACES=1 serve redis <<'END'
"$LOCKBENCH_TOOL" fault 'cut client 1 from all'
echo "code $?"
"$LOCKBENCH_TOOL" fault 'kill primary'
END
check 'without namespaces: a cut is refused with the reason' says 'not here: switched off by LOCKBENCH_NO_NAMESPACES=1'
check 'without namespaces: ... with the code 2' says 'code 2'
check 'without namespaces: other faults are done' says 'proved: kill primary'
check 'without namespaces: nothing is left' wait_until 10 none_left

if $loopback; then # nothing can be cut
  echo "1..$n"
  exit 0
fi
serve sentinel <<'END'
fault() { "$LOCKBENCH_TOOL" fault "$@" 2>&1; echo "code $?"; }
fault cut primary from replicas
fault hosts
fault await failover within 300ms
fault kill primary
fault await failover within 20s
fault cut client 1 from current primary
fault heal
echo "$LOCKBENCH_SENTINEL_MASTER: $LOCKBENCH_SENTINELS"
fault hosts
fault kill client 1
END
check 'sentinel: a cut is proved' says 'proved: cut primary from replicas'
check 'sentinel: whom it touched is told' says 'cut redis-1 from redis-2, redis-3'
check 'sentinel: a cut that holds is told' says 'holds: cut primary from replicas'
check 'sentinel: a failover is awaited' grep -qE '^failover: redis-[23] decides$' "$dir/out"
check 'sentinel: one that does not come in time is not proved' says 'no other server became primary'
check 'sentinel: a cut of the command is proved' says 'proved: cut client 1 from current primary'
check 'sentinel: a heal is told' says 'done: heal'
check 'sentinel: its address is known' grep -qE '^[a-z]+: [0-9.]+:[0-9]+,[0-9.]+:[0-9]+,[0-9.]+:[0-9]+$' "$dir/out"
check 'sentinel: the primary stays the one that was bound' grep -qE '^redis-1 .* node 1, primary, dead$' "$dir/out"
check 'sentinel: the command can be killed as client 1' is "$code" 137
check 'sentinel: nothing is left' none_left

# What `serve` writes for --operator: a command for each verb, which finds the server by the name that the file has for it.
serve sentinel --clocks <<'END'
ls -l "$LOCKBENCH_OPERATOR" | cut -c1-10
for verb in $(sed -n 's/^may = //p' "$LOCKBENCH_OPERATOR" | tr -d ,); do
  until primary=$("$LOCKBENCH_TOOL" fault hosts | sed -n 's/ .*current primary.*//p') && [ "$primary" ]; do sleep 0.1; done
  [ "$verb" = depose ] && one=$primary || one=redis-1
  command=$(sed -n "s/^$verb = //p" "$LOCKBENCH_OPERATOR" | sed "s/{name}/$one/; s/{other}/redis-3/; s/{offset-ms}/-5000/")
  sh -c "$command" 2>&1
  echo "$verb: code $?"
done
grep -A1 -F '[redis-2]' "$LOCKBENCH_OPERATOR"
echo "$LOCKBENCH_SERVERS"
END
check 'operator: the file is for its user alone' says '-rw-------'
for verb in kill restart pause resume cut heal clock depose stop; do check "operator: $verb is done" grep -qx "$verb: code 0" "$dir/out"; done
check 'operator: one that cuts names both ends' says 'proved: cut node 1 from node 3'
address=$(sed -n 's/^address = //p' "$dir/out")
check 'operator: an address is what the servers are known by' grep -q "^redis://[^ ]* redis://$address " "$dir/out"
echo "1..$n"
