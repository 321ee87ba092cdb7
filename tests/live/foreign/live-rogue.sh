#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# A plugin that breaks one line of the contract after the other: each gets the right verdict and a reason that names the
# cause, and the trial beside it is not disturbed. TAP.
# Usage: live-rogue.sh LOCKBENCH PLUGIN_FOLDER
bin=$1 plugins=$2 n=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cat >"$dir/turns.ini" <<'END'
[scenario]
title = two clients in turn
question = Is the second one let in while the first one is inside?
refuted = It is.
[workload]
clients = 2
[timeline]
step = client 1 acquire within 300ms
step = client 1 read
step = client 2 acquire within 100ms
step = client 2 read
step = client 1 write
step = client 1 release within 300ms
step = client 2 acquire within 300ms
step = client 2 release within 300ms
step = client 1 acquire within 300ms
step = client 1 release within 300ms
[expect]
local@none = safe: it excludes
END

holds() { # NAME, then a command that must succeed
  n=$((n + 1))
  name=$1
  shift
  if "$@" >"$dir/said" 2>&1; then echo "ok $n - $name"; else echo "not ok $n - $name" && sed 's/^/# /' "$dir/said" "$dir/rows"; fi
}

# breaks FAULT WHAT VERDICT PATTERN [SCENARIO SETTINGS...]: the row of the plugin has this verdict and a reason that matches, that
# of `local` beside it is safe, and standard output is JSON and nothing else. All of them are run first, a few at a time, for
# most of what they do is to wait; then they are judged in their order.
at_once=4 run=0 loops=''
breaks() {
  fault=$1 what=$2 verdict=$3 pattern=$4
  shift 4
  run=$((run + 1))
  $phase "$@"
}
runs() {
  [ $# -gt 0 ] || set -- "$dir/turns.ini"
  "$bin" run "$@" -b local,rogue --plugin "$plugins/plugin-rogue.so" -s rogue.fault="$fault" -n 1 --json -o "$dir/run$run" \
    >"$dir/run$run.json" 2>"$dir/run$run.err" &
  if [ $((run % at_once)) -eq 0 ]; then wait; fi
}
is_judged() {
  cut -d, -f2,7- "$dir/run$run/trials.csv" >"$dir/rows"
  holds "$what: $verdict" grep -q "^rogue@none,$verdict," "$dir/rows"
  holds "$what: the reason names it" grep -qE "^rogue@none,$verdict,\"?($pattern)" "$dir/rows"
  holds "$what: nothing beside it is disturbed" grep -q '^local@none,safe,,' "$dir/rows"
  holds "$what: nothing but results on standard output" jq_free "$dir/run$run.json"
}
jq_free() { [ "$(head -c 1 "$1")" = '[' ] && [ "$(tail -n 1 "$1")" = ']' ] && [ "$(grep -c '"verdict"' "$1")" -eq 2 ]; }

told='breach of the contract \(backends/backend.h\): '
all_faults() {
  breaks none 'a lock without a fault' safe ''
  breaks hangs 'it hangs' undecided 'client 1 acquire within 300ms: no answer in time, inside try_acquire, [0-9]+ ms past its deadline'
  breaks hangs-in-release 'it hangs in release' undecided 'client 1 release within 300ms: no answer in time, inside release, [0-9]+ ms past'
  breaks dies 'it dies' undecided 'client 2 acquire within 100ms: client-2 died of SIGSEGV inside try_acquire'
  breaks dies-in-open 'it dies in open' undecided 'client-1 could not open a session: died of SIGABRT inside open'
  breaks exits 'it ends its process' undecided 'client 1 acquire within 300ms: client-1 exited with status 0 inside try_acquire'
  breaks lies 'it lies' violated ''
  breaks answers-nonsense 'it answers nonsense' undecided "client-1: ${told}try_acquire answered 42, which is no result of it"
  breaks asks-at-zero 'it grants what it never asked for' undecided "client-1: ${told}try_acquire granted with asked_at = 0"
  breaks over-already 'it grants what is over' undecided "client-1: ${told}try_acquire granted what was over before it began"
  breaks token-too-long 'it leaves a broken length' undecided "client-1: ${told}try_acquire left token_len = 5000, at most 160"
  breaks broken-text 'it leaves a broken text' undecided "client-1: ${told}try_acquire left a text in env->err that does not end"
  breaks closes-all 'it closes what is not its own' undecided "client-1: ${told}a file descriptor that it did not open was closed"
  breaks prints 'it prints where results belong' safe ''
  breaks cannot-connect 'it cannot connect' undecided 'nothing was ever granted, so nothing was tested; last error of client-1 .*cannot connect to 192.0.2.7:6379'
  breaks dies-in-setup 'it dies where only the observer goes' undecided 'observer could not set up: died of SIGFPE inside setup'
  breaks forks 'it forks and both come back' undecided "client-1: ${told}try_acquire came back twice: from a child that it forked, too"
  breaks slow 'it is late' undecided 'nothing was ever granted, so nothing was tested; last error of client-1 .*try_acquire: came back 2[0-9]+ ms past its deadline'
  breaks nonsense-in-teardown 'it answers nonsense where all is over' undecided "the observer: ${told}teardown answered 17, which is no result of it"
  breaks hangs-in-teardown 'it hangs where all is over' safe ''
  breaks fails-in-teardown 'it cannot clean up' safe ''

  # The same under a load, where clients work by themselves.
  load='-s clients=2 -s duration_s=0.2 -s warmup_s=0.1 -s wait_ms=300'
  # shellcheck disable=SC2086 # words
  breaks hangs 'it hangs under load' undecided 'client-1 was told to stop: no answer in time, inside try_acquire' contention $load
  # shellcheck disable=SC2086
  breaks dies 'it dies under load' undecided 'client-[12] died by itself: died of SIGSEGV inside try_acquire' contention $load
  # shellcheck disable=SC2086
  breaks asks-at-zero 'it breaks the contract under load' undecided "client-[12]: ${told}try_acquire granted with asked_at = 0" contention $load
}
phase=runs
all_faults
wait
phase=is_judged run=0
all_faults

# What it was told stands in the history, too, and its prints are kept where the verdict is not as expected.
"$bin" run "$dir/turns.ini" -b rogue --plugin "$plugins/plugin-rogue.so" -s rogue.fault=cannot-connect -n 1 -o "$dir/told" >"$dir/rows" 2>&1
holds 'the history says what clients were told' sh -c \
  '"$1" check --export json "$2"/histories/*.hist | grep -q "\"c\":\"client-2\",\"e\":\"error\",\"why\":\"try_acquire: cannot connect"' - "$bin" "$dir/told"
"$bin" run "$dir/turns.ini" -b rogue --plugin "$plugins/plugin-rogue.so" -s rogue.fault=prints --expect stuck -n 1 -o "$dir/prints" >"$dir/rows" 2>&1
holds 'what a plugin prints is kept beside the logs' grep -q verdict "$dir/prints/logs/turns.rogue@none.none.c2.t1/clients.log"

# Sessions are opened a few at a time, so none waits for all the others. One that is late is waited for where the machine has nothing left.
opens() { # FAULT CLIENTS NAME
  "$bin" run contention -b rogue --plugin "$plugins/plugin-rogue.so" -s rogue.fault="$1" -s clients="$2" -s duration_s=0.2 -s warmup_s=0.1 -n 1 -o "$dir/$3" >"$dir/$3.out" 2>&1
}
ends() { cat "$dir/$1.out" && grep -qE "^contention,rogue@none,none,[0-9]*,1,[0-9]*,$2" "$dir/$1/trials.csv"; }
opens opens-in-turn 64 turn
for _ in $(seq "$(nproc)"); do timeout 40 sh -c 'while :; do :; done' & loops="$loops $!"; done
opens opens-slowly 2 busy
# shellcheck disable=SC2086 # words
kill $loops
holds '64 sessions of a service that opens one after the other' ends turn safe,
holds 'a session that is late on a busy machine' ends busy safe,
echo "1..$n"
