#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# Adapters that lie, hang, die, flood and talk nonsense (tests/adapters/rogue.py): each trial ends with one line that says it, nothing is left of it, and the reference adapter beside it in
# the same run is not disturbed. TAP. Usage: live-exec.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)
mark="98765$$" # what the adapters start carries it
TMPDIR=$dir
export TMPDIR
cat >"$dir/turns.ini" <<'END_OF_SCENARIO'
[scenario]
title = two clients in turn
question = Is the second one let in while the first one is inside?
refuted = It is.
[workload]
clients = 2
[timeline]
step = client 1 acquire within 1500ms
step = client 1 read
step = client 2 acquire within 500ms
step = client 2 read
step = client 1 write
step = client 1 release within 1500ms
step = client 2 acquire within 1500ms
step = client 2 release within 1500ms
step = client 1 acquire within 1500ms
step = client 1 release within 1500ms
[expect]
local@none = safe: it excludes
END_OF_SCENARIO

reference="python3 $here/../peers/reference.py"
at_once=3 run=0

# becomes FAULT VERDICT PATTERN [SCENARIO SETTINGS...]: all are run first, a few at a time, for most of what they do is to wait; then they are judged in their order.
becomes() {
  fault=$1 verdict=$2 pattern=$3
  shift 3
  run=$((run + 1))
  $phase "$@"
}
runs() {
  [ $# -gt 0 ] || set -- "$dir/turns.ini"
  # An adapter that has no processor for half a second gives no answer either.
  played 'the machine stalled\|nobody answered' "$dir/run$run" "$bin" run "$@" --exec "$reference" --exec "python3 $here/adapters/rogue.py $fault $mark" -b exec:reference@redis,exec:rogue@redis -g none -n 1 -j 2 &
  if [ $((run % at_once)) -eq 0 ]; then wait; fi
}
is_judged() {
  cut -d, -f2,7- "$dir/run$run/trials.csv" >"$dir/rows"
  cat "$dir/run$run.out" "$dir/run$run.err" "$dir/rows" >"$dir/out"
  check "$fault: $verdict" grep -q "^exec:rogue@redis,$verdict," "$dir/rows"
  check "$fault: the reason says it" grep -qE "^exec:rogue@redis,$verdict,\"?($pattern)" "$dir/rows"
  check "$fault: the reference beside it is not disturbed" grep -q '^exec:reference@redis,safe,,' "$dir/rows"
}
broke='client-[12]: breach of the line protocol \(peers/README.md\): '
all() {
  becomes lies violated ''
  becomes hangs-in-open undecided 'client-1 could not open a session: the adapter has not answered open in time'
  becomes hangs-in-acquire undecided 'nothing was ever granted, .*: the adapter has not answered acquire in time'
  becomes hangs-in-release undecided '.*: the adapter has not answered release in time'
  becomes deaf undecided 'nothing was ever granted, .*: the adapter has not answered acquire in time'
  becomes dies-in-open undecided "${broke}open: the adapter exited with status 3, and nobody had asked it to end"
  becomes dies-in-acquire undecided "${broke}try_acquire: the adapter died of SIGSEGV, and nobody had asked it to end"
  becomes dies-while-it-holds undecided "${broke}release: the adapter exited with status 0, and nobody had asked it to end"
  becomes closes-stdout undecided "${broke}try_acquire: the adapter closed its stdout, and nobody had asked it to end"
  becomes floods undecided "${broke}try_acquire: the adapter wrote more than 1000 lines that nobody had asked for"
  becomes floods-without-end undecided "${broke}try_acquire: the adapter wrote 4096 bytes and no end of a line"
  becomes nonsense undecided "${broke}try_acquire: the adapter wrote 'what do you mean\?', expected '[0-9]+ ...'"
  becomes nonsense-word undecided "${broke}try_acquire: the adapter answered 'perhaps' to acquire, expected granted, busy, timeout, unknown or error"
  becomes answers-no-question undecided "${broke}try_acquire: the adapter wrote '99 ok', which answers no open question"
  becomes answers-unasked undecided "${broke}[a-z_]*: the adapter wrote '77 ok', which answers no open question"
  becomes tells-nonsense undecided "${broke}try_acquire: the adapter wrote '! perhaps lost', expected '! lost TEXT' or '! doubt TEXT'"
  becomes crashes-loudly undecided "${broke}try_acquire: the adapter exited with status 1, and nobody had asked it to end"
  becomes starts-daemons safe ''
  # The same under a load, where clients work by themselves.
  load='-s clients=2 -s duration_s=0.5 -s warmup_s=0.2 -s wait_ms=1000'
  # shellcheck disable=SC2086 # words
  becomes lies violated '' contention $load -s hold_ms=5
  # shellcheck disable=SC2086
  becomes dies-in-acquire undecided "${broke}try_acquire: the adapter died of SIGSEGV, and nobody had asked it to end" contention $load
}
phase=runs
all
wait
left() { pgrep -f "$mark|$dir" | grep -vx $$; }
none_left() { [ -z "$(left)" ]; }
nothing_beside() { [ -z "$(ls -A "$dir" | grep -vE '^(run[0-9]+(\.(out|err))?|turns.ini|out|said|rows)$')" ]; }
phase=is_judged run=0
all
check 'no process is left, also of those in sessions of their own' wait_until 5 none_left
check 'nor a file beside the results' nothing_beside
check 'the locks that were brought are what the first line is about' grep -q '^exec:reference: safe in turns\. exec:rogue: ' "$dir/run2.out"
check 'what a client wrote to stderr is kept' sh -c 'grep -q ZeroDivisionError "$1"/run17/logs/*rogue*/clients.log' - "$dir"

# What is no adapter is refused before anything runs.
refused() { # PATTERN CMD
  "$bin" run contention --exec "$2" -n 1 -o "$dir/refused" >"$dir/out" 2>&1
  [ $? -eq 2 ] && [ "$(grep -c '^lockbench: ' "$dir/out")" -eq 1 ] && grep -qE "^lockbench: --exec '.*': $1" "$dir/out" && [ ! -e "$dir/refused" ]
}
broken="python3 $here/adapters/broken.py"
check 'no such command' refused 'it exited with status 127 \(no such command\?\) before it said what it is' /no/such/adapter
check 'a command that ends at once' refused 'it exited with status 0 before it said what it is' true
check 'one that prints nothing, and ends' refused 'it exited with status 3 before it said what it is' 'sh -c "sleep 0.2; exit 3"'
check 'one that prints something else' refused "its first line is 'hello', expected 'lockbench-adapter 1 name=" 'echo hello'
check 'another version of the line protocol' refused 'it speaks another version of the line protocol' "$broken next-version"
check 'an unknown way to end' refused 'ends=sometimes: expected lease, session or never' "$broken wrong-ends"
check 'a topology that nobody knows' sh -c '"$1" run contention --exec "$2" -n 1 >"$3/out" 2>&1; [ $? -eq 2 ] && [ "$(wc -l <"$3/out")" -eq 1 ] && grep -q rediss "$3/out"' - \
  "$bin" "$broken unknown-topology" "$dir"

# The first process says what it is, the second one dies: so the first try is undecided, and the second is not.
cat >"$dir/dies-once" <<END
mkdir "$dir/1st" 2>/dev/null || { mkdir "$dir/2nd" 2>/dev/null && sleep 1.5 && exit 1; }
exec $reference
END
again() { # FOLDER OPTION...
  rm -rf "$dir/1st" "$dir/2nd"
  "$bin" run "$dir/turns.ini" --exec "sh $dir/dies-once" -b exec:reference@redis -g none -n 2 -j 1 -o "$@" >"$dir/out" 2>&1
  code=$?
  sed 's/"[^"]*"//g' "$1/trials.csv" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 { print $at["verdict"], $at["again"] }' | sort >"$dir/rows"
}
again "$dir/once"
check 'an undecided trial stays so' sh -c 'printf "safe 0\nundecided 0\n" | diff - "$1"' - "$dir/rows"
again "$dir/twice" --again
check 'with --again it is played once more, and that says so' sh -c 'printf "safe 0\nsafe 1\n" | diff - "$1"' - "$dir/rows"
again "$dir/late" --again --budget 1s
check 'what a budget leaves no time for counts as it is' sh -c 'printf "undecided 0\\n" | diff - "$1"' - "$dir/rows"
check 'and is kept, with exit code 4' sh -c '[ "$1" -eq 4 ] && [ "$(ls "$2/histories" | wc -l)" -eq 1 ]' - "$code" "$dir/late"
check 'only the second try has left a history' sh -c '[ "$(ls "$1/histories" | wc -l)" -eq 2 ]' - "$dir/twice"

# A library that renews unseen renews no more while its process stands still, wherever it was stopped.
"$bin" run pause-holder pause-writer --exec "python3 $here/adapters/flawed.py for-ever" -g none -n 1 -o "$dir/still" >"$dir/out" 2>&1
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 { print $1, $at["verdict"], $at["within_lease"] }' "$dir/still/trials.csv" | sort >"$dir/rows"
check 'its lease is over before the next one holds' sh -c 'printf "pause-holder violated 0\npause-writer violated 0\n" | diff - "$1"' - "$dir/rows"
echo "1..$n"
