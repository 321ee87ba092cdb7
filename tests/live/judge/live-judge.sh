#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# `judge` says what breaks a lock, and whose fault that is: the reference adapter, three planted flaws, a liar, a mutex, a plugin, a library that is not installed, and what
# is no lock. Its folder says the same, and a baseline decides what is worse. Its suite is cut down to a few questions here. TAP. Usage: live-judge.sh LOCKBENCH TESTS
bin=$(realpath "$1") plugin=$(realpath "$2/plugin-example.so")
. "$(dirname "$0")/../../helpers/tap.sh"
here=$(cd "$(dirname "$0")/../.." && pwd) root=$(cd "$(dirname "$0")/../../.." && pwd)

# Everything of the tool but the suite: few questions, none of a mutex that has an answer only after long.
mkdir -p "$dir/root/scenarios/suites"
for each in "$root"/scenarios/*; do [ "${each##*/}" = suites ] || ln -s "$each" "$dir/root/scenarios/"; done
ln -s "$root/peers" "$root/plots" "$root/tests" "$dir/root/"
questions() { # NAME...
  { echo '[suite]'; grep -E '^(title|question|guards|trials) = ' "$root/scenarios/suites/judge.ini"; for name; do printf '\n[%s]\n' "$name"; done; } >"$dir/root/scenarios/suites/judge.ini"
  sed -i 's/^\[contention\]$/&\nclients = 4\nduration_s = 1/' "$dir/root/scenarios/suites/judge.ini"
}
export LOCKBENCH_ROOT="$dir/root"
cd "$root" || exit 1

runs=0
judge() { # LOCK [OPTION...]
  runs=$((runs + 1))
  "$bin" judge "$@" -o "$dir/run$runs" >"$dir/out" 2>"$dir/err"
  echo $? >"$dir/code"
}
ends_with() { [ "$(cat "$dir/code")" = "$1" ] || { cat "$dir/err"; return 1; }; }
# The verdict is one line, and the command of explain may be two; nothing else is longer than a screen is wide, and nothing is cut off.
fits() { ! grep -q '\.\.\.$' "$dir/out" && ! awk 'NR > 1 && length > 100 && !/ explain / { print; found = 1 } END { exit !found }' "$dir/out"; }
verdict() { head -n 1 "$dir/out" | grep -E "$1"; }
row() { grep -E "^  1 of 1  $1 " "$dir/out"; }
# The folder says what the command said, and the page is drawn and named.
folder_agrees() {
  grep -qx "report: $dir/run$runs/report.html" "$dir/out" && [ -s "$dir/run$runs/report.html" ] && ! grep -qi 'as expected:' "$dir/run$runs/report.html" &&
    python3 -c 'import json, sys; run = json.load(open(sys.argv[1])); sys.exit(run["exit_code"] != int(sys.argv[2]) or run["verdict"] != " ".join(sys.argv[3].split()))' \
      "$dir/run$runs/run.json" "$(cat "$dir/code")" "$(head -n 1 "$dir/out")"
}
part() { sed -n "/^$1/,/^[^ ]/p" "$dir/out" | sed '$d' | grep -E "$2"; } # a row of the part that begins so
explains() { # the printed command, as it is printed
  command=$(awk '/^  lockbench explain / { on = 1 } on { print } on && !/\\$/ { exit }' "$dir/out" | sed "1s|lockbench|$bin|")
  eval "$command" >"$dir/story" 2>&1 && grep -q 'violated' "$dir/story"
}

questions contention restart-node pause-holder pause-writer crash-holder failover
judge 'python3 peers/reference.py'
check 'reference: not safe, exit 3' ends_with 3
check 'reference: the verdict comes first, and nothing is its own fault' verdict '^not safe: two clients held at once in 3 of 5 questions; no fault of its own: exec:reference@redis$'
check 'reference: nothing is its own fault' grep -qx 'its own fault: nothing' "$dir/out"
check 'reference: its folder and its page say so, too' folder_agrees
check 'reference: what every lock of its kind has' part 'what every lock with a lease on redis has:' '^  1 of 1  restart-node'
check 'reference: a line for jobs that may not run twice' part 'what to do:' '^  for a job that may not run twice: '
check 'reference: a screen' fits
check 'reference: its adapter is checked first' grep -q '^conform: \([0-9]*\) of \1 statements hold$' "$dir/out"
for name in restart-node pause-holder pause-writer; do check "reference: $name broke it" row $name; done
check 'reference: what means nothing on one server has no line' not grep -q failover "$dir/out"
check 'reference: the explain command tells the story' explains
check 'reference: a guard that was seen to help' grep -qE 'guard recheck +helped in 1 of 3' "$dir/out"
check 'reference: what it rests on where none helped' grep -qE '^    restart-node: ' "$dir/out"
check 'reference: in how many no guard helped' grep -q '^  in 2 no guard helped; there the lock rests on:$' "$dir/out"
check 'reference: how long is said first' sh -c 'head -n 1 "$1" | grep -qE "judges exec:reference@redis, about .*: conform, then [0-9]+ trials"' - "$dir/err"

questions contention
judge 'python3 tests/adapters/rogue.py lies'
check 'a liar: not safe, exit 3' ends_with 3
check 'a liar: it is its own fault' part 'its own fault, which' '^  1 of 1  contention '
check 'a liar: without any fault' row contention
check 'a liar: its adapter fails' part 'its own fault, which' '^  fails   conform '
check 'a liar: a screen' fits
check 'a liar: no guard is advised' not grep -q 'helped in' "$dir/out"

# Flaws that a screen has to name as the lock's own, beside what every such lock has.
flaw() { # NAME STATEMENT
  judge "python3 tests/adapters/flawed.py $1"
  check "$1: its own fault, by name" part 'its own fault, which a sound lock with a lease on redis has not:' "^  fails   conform +$2"
  check "$1: nothing is advised before it is mended" part 'what to do:' '^  mend its own fault first'
  check "$1: its folder says the same" folder_agrees
}
flaw number-first 'of two grants the later has the larger number'
flaw one-token 'no two grants have one token'
flaw revives 'a lease that another one has had since cannot be extended'

judge 'python3 peers/reference.py' --seed 1
check 'the same questions, an honest lock: safe, exit 0' ends_with 0
check 'honest: the verdict comes first' verdict '^safe in all 1 question'
check 'honest: a screen' fits

questions contention crash-holder
judge local
check 'a mutex: stuck, exit 3' ends_with 3
check 'a mutex: the verdict comes first' verdict '^stuck: .* 1 of 2 questions .*; no fault of its own: local@none$'
check 'a mutex: who is dead keeps it, as with every lock without an end' part 'what every lock without an end on none has:' '^  1 of 1  crash-holder '
check 'a mutex: nothing of ours is checked' not grep -qE '^conform' "$dir/out"
judge "$plugin"
check 'a plugin: stuck, exit 3' ends_with 3
check 'a plugin: held against the contract first' grep -qE '^conform: ([0-9]+) of \1 statements hold$' "$dir/out"

questions contention crash-unheard
judge 'python3 tests/adapters/flawed.py two-steps'
check 'SETNX, then PEXPIRE: stuck, exit 3' ends_with 3
check 'SETNX, then PEXPIRE: the client dies between the two' row crash-unheard
check 'SETNX, then PEXPIRE: that is its own fault' part 'its own fault, which' '^  1 of 1  crash-unheard '

questions failover
judge local
check 'nothing can be asked: exit 5' ends_with 5
check 'nothing can be asked: it says why' sh -c 'sed -n 1p "$1" | grep "^nothing could be asked$" && sed -n 2p "$1" | grep -E "^  ."' - "$dir/out"
questions contention
LOCKBENCH_PEERS="$dir/none" judge warlock@redis
check 'a library that is missing: exit 5' ends_with 5
check 'a library that is missing: what installs it' grep -q '^  it is not installed: `./bench peers warlock` installs it$' "$dir/out"

stopped() {
  mkdir "$dir/tmp"
  TMPDIR="$dir/tmp" "$bin" judge "$plugin" -o "$dir/stopped" >"$dir/out" 2>"$dir/err" &
  wait_until 10 sh -c 'ls -d "$1"/.*-conform.partial' - "$dir/tmp" && kill -TERM $!
  wait $!
  [ $? -eq 130 ] && grep -q '^lockbench: interrupted while it tested the statements' "$dir/err" && [ ! -e "$dir/stopped" ]
}
check 'stopped while its statements are tested: exit 130, and a line' stopped

# ---- a baseline: exit 0 if nothing is worse ------------------------------------------------------

questions contention crash-holder
judge local --junit "$dir/then.xml"
then=$dir/run$runs
compared() { # EXIT FIRST_LINE OPTION...
  want=$1 line=$2
  shift 2
  judge local "$@"
  ends_with "$want" && verdict "$line" && folder_agrees
}
check 'as bad as in a folder: exit 0' compared 0 "^no worse than $then; stuck: " --baseline "$then"
sed 's|<testcase classname="crash-holder" name="local@none none" time="[0-9.]*">|<testcase classname="crash-holder" name="local@none none"/><testcase classname="x" name="y">|' "$dir/then.xml" >"$dir/better.xml"
known() { # FAILURES ERRORS FILE: how many it has, and whether the failure that is known stands there
  python3 - "$1" "$2" "$3" <<'EOF'
import sys, xml.etree.ElementTree as xml
suite = xml.parse(sys.argv[3]).getroot()[0]
notes = [(case.get("classname"), case.findtext("system-out").split(":")[:2]) for case in suite if case.find("system-out") is not None]
sys.exit((suite.get("failures"), suite.get("errors"), notes) != (sys.argv[1], sys.argv[2], [] if sys.argv[1] == "1" else [("crash-holder", ["known", " stuck"])]))
EOF
}
check 'as bad as in a JUnit file: exit 0' compared 0 "^no worse than $dir/then.xml; stuck: " --baseline "$dir/then.xml" --junit "$dir/now.xml"
check 'and its own JUnit file has no failure, but says what is known' known 0 0 "$dir/now.xml"
check 'and is a baseline in which that is known' compared 0 "^no worse than $dir/now.xml; stuck: " --baseline "$dir/now.xml"
check 'worse than a JUnit file: exit 3, and what' compared 3 "^worse than $dir/better.xml in 1: crash-holder is stuck, there safe; stuck: " --baseline "$dir/better.xml" --junit "$dir/worse.xml"
check 'and its own JUnit file fails, with an error for what is not asked any more' known 1 1 "$dir/worse.xml"

# A machine that cannot put a question any more has not shown that nothing is worse.
questions crash-holder partition
judge redis-token@redis
both=$dir/run$runs
chmod 755 "$dir" # servers run as another user there
LOCKBENCH_NO_NAMESPACES=1
export LOCKBENCH_NO_NAMESPACES
judge redis-token@redis --baseline "$both" --junit "$dir/away.xml"
unset LOCKBENCH_NO_NAMESPACES
check 'skipped, and answered there: exit 5' ends_with 5
check 'it is said before the verdict' verdict "^not asked in 1 that $both has an answer for: partition; safe in all 1 question"
check 'its folder says so, too' folder_agrees
check 'and its JUnit file has an error' grep -q '<error type="skipped" message="cutting links needs network namespaces' "$dir/away.xml"
questions crash-holder
judge redis-token@redis --baseline "$both" --junit "$dir/gone.xml"
check 'a question that is gone, and answered there: exit 5' ends_with 5
check 'it is said which' verdict "^not asked in 1 that $both has an answer for: partition on redis-token@redis; "
check 'and its JUnit file has an error' grep -q '<error type="gone" message="not asked here, but answered in ' "$dir/gone.xml"
questions contention crash-holder

refused() { # EXIT PATTERN ARGUMENT...
  want=$1 pattern=$2
  shift 2
  "$bin" judge "$@" >"$dir/out" 2>&1
  [ $? -eq "$want" ] && grep -qE "$pattern" "$dir/out" && [ "$(wc -l <"$dir/out")" -le 2 ]
}
check 'no lock' refused 2 'expected one lock'
check 'two locks' refused 2 'expected one lock' local local
check 'a protocol that is misspelt' refused 2 "did you mean 'local'\?" locla
check 'a library that is misspelt' refused 2 "did you mean 'peer:redis-py" redis-pi@redis
check 'a topology that is misspelt' refused 2 "did you mean 'redis'\?" redis-py@reddis
check 'a plugin that is not there' refused 2 'not a loadable library' ./none.so
check 'a command that is no adapter' refused 2 'expected an adapter' 'sh -c true'
check 'a first line that is none' refused 2 'its first line' 'echo hello'
check 'servers that an adapter misspells' refused 2 "did you mean 'redis'\?" "sh -c 'echo lockbench-adapter 1 name=x version=1 topologies=reddis ends=lease; cat >/dev/null'"
check 'an option of a protocol that is misspelt' refused 2 'ttl' local -s ttl=1
printf '<testsuite name="lockbench judge"' >"$dir/cut.xml"
printf 'hello\n' >"$dir/text"
sed 's/lockbench judge/lockbench/' "$dir/then.xml" >"$dir/run.xml"
mkdir "$dir/empty" "$dir/broken" && echo '{' >"$dir/broken/run.json"
check 'a baseline that is not there' refused 2 'baseline /no/such: No such file' local --baseline /no/such
check 'a baseline that is no JUnit' refused 2 'is no JUnit file, expected <testsuite>' local --baseline "$dir/text"
check 'a baseline that is cut off' refused 2 'lockbench: --baseline' local --baseline "$dir/cut.xml"
check 'a baseline of a run' refused 2 'is not of `judge`' local --baseline "$dir/run.xml"
check 'a baseline that has no end' refused 2 'is no file and no results folder' local --baseline /dev/zero
check 'a folder without a run' refused 2 'expected a results folder' local --baseline "$dir/empty"
check 'a folder with a broken run' refused 2 'run.json:' local --baseline "$dir/broken"
check 'a published run is a baseline, here of another lock' refused 2 'is of redis-token@sentinel, expected one of local@none' local --baseline "$root/results/reference-failover"
check 'a baseline of another lock' refused 2 'is of local@none, expected one of redis-token@redis' redis-token@redis --baseline "$then"
check 'a baseline without a value' refused 2 'baseline: expected a value' local --baseline
check 'own servers that are not there' refused 5 'redis' redis-token --redis 127.0.0.1:1
check 'own servers and a topology' refused 2 'names other servers' redis-token@redis --redis 127.0.0.1:1
check '-b with a login for nobody' refused 2 'auth' local --auth "$dir/text"
echo "1..$n"
