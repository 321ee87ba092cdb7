#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# A lock of the user's own: what it states of itself is checked, flawed ones (tests/adapters/flawed.py) are singled out by scenarios that come with the tool, and
# each is held against what its facts predict. TAP. Usage: live-flawed.sh LOCKBENCH PLUGINS
bin=$1 plugins=$2
. "$(dirname "$0")/../../helpers/tap.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)
TMPDIR=$dir
export TMPDIR
flawed="python3 $here/adapters/flawed.py"
reference="python3 $here/../peers/reference.py"

# ---- facts --------------------------------------------------------------------------------------

# refuses PATTERN COMMAND...: exit 2, and one line that says it.
refuses() {
  pattern=$1
  shift
  "$bin" "$@" >"$dir/out" 2>&1
  [ $? -eq 2 ] && [ "$(wc -l <"$dir/out")" -eq 1 ] && grep -q "$pattern" "$dir/out"
}
check 'a fact that nobody knows is refused' refuses "facts: no fact 'releases', did you mean 'release'" run control --exec "$flawed sound releases=blind"
check 'a value that nobody knows is refused' refuses 'facts: release=blond: expected release=compared|' run control --exec "$flawed sound release=blond"
check 'a fact of servers is refused' refuses 'facts: members=3: that is not stated here' run control --exec "$flawed sound members=3"
check 'judge refuses it, too' refuses "facts: 'blind' is no fact" judge "$flawed sound blind"
check 'conform refuses it, too' refuses "facts: 'blind' is no fact" conform "$flawed sound blind"
check 'a wrong fact in the table of a plugin is refused' refuses "plugin-facts.so: .facts: no fact 'releases', did you mean 'release'" run control --plugin "$plugins/plugin-facts.so"

# ---- each flaw ----------------------------------------------------------------------------------

run=0 at_once=2
# singles SCENARIO FLAW VERDICT [SETTINGS...]: all are run first, a few at a time; then they are judged in their order.
singles() {
  scenario=$1 flaw=$2 verdict=$3
  shift 3
  run=$((run + 1))
  $phase "$@"
}
runs() {
  played '' "$dir/run$run" "$bin" run "$scenario" --exec "$reference" --exec "$flawed $flaw" -g none -n 1 -j 2 "$@" &
  if [ $((run % at_once)) -eq 0 ]; then wait; fi
}
is_judged() {
  cut -d, -f1,2,7- "$dir/run$run/trials.csv" >"$dir/rows"
  cat "$dir/run$run.out" "$dir/run$run.err" "$dir/rows" >"$dir/out"
  check "$scenario: $flaw is $verdict" grep -q "^$scenario,exec:$flaw@redis,$verdict," "$dir/rows"
  check "$scenario: the reference is safe" grep -q "^$scenario,exec:reference@redis,safe," "$dir/rows"
  case $flaw in
    for-ever) check "$scenario: $flaw is not as predicted, by its rule" grep -q "^not as predicted: $scenario exec:$flaw@redis: predicted safe, found violated; rule holder-slow-renewed: " "$dir/out" ;;
    *) check "$scenario: $flaw is as predicted" not grep -q '^not as predicted' "$dir/out" ;;
  esac
}
all() {
  singles late-release plain-del violated
  singles late-release no-owner violated
  singles slow-holder-renewed for-ever violated
  singles crash-unheard two-steps stuck
  singles contention-10ms look-then-set violated -s clients=8 -s duration_s=1
  singles lost-reply forgets delayed
  singles crash-holder no-end stuck
}
phase=runs
all
wait
phase=is_judged run=0
all

# A number that is drawn before the lock is had: under a load without a fault the resource refuses the very holder.
"$bin" run contention-10ms -g fence -n 1 -s clients=8 -s duration_s=1 --exec "$flawed number-first" --exec "$flawed counter" -o "$dir/numbers" >"$dir/out" 2>&1
cut -d, -f1,2,7- "$dir/numbers/trials.csv" >"$dir/rows"
check 'contention under fence: number-first is violated, and why' grep -q '^contention-10ms,exec:number-first@redis,violated,"\{0,1\}without a fault the resource refused the holder' "$dir/rows"
check 'contention under fence: a number that is drawn with the lock is safe' grep -q '^contention-10ms,exec:counter@redis,safe,' "$dir/rows"

# ---- the prediction -----------------------------------------------------------------------------

# held CODE FACTS OPTION...: late-release of a lock that compares.
held() {
  code=$1 facts=$2
  shift 2
  rm -rf "$dir/held"
  "$bin" run late-release --exec "$flawed sound $facts" -g none -n 1 "$@" -o "$dir/held" >"$dir/out" 2>&1
  [ $? -eq "$code" ]
}
said='^not as predicted: late-release exec:sound@redis: predicted violated, found safe; rule release-late: it removes the record of the next holder$'
check 'what is better than predicted does not fail the run' held 0 release=blind
check 'it is said, with the rule' grep -q "$said" "$dir/out"
check 'the results have the prediction' grep -q '"predicted": "violated"' "$dir/held/run.json"
check 'the results have the rule' grep -q '"rule": "release-late"' "$dir/held/run.json"
check 'with --strict it fails the run' held 3 release=blind --strict
check 'a lock that is as predicted does not fail it' held 0 '' --strict
check 'nothing is said of it' not grep -q '^not as predicted' "$dir/out"
check 'what its user expects goes before the prediction' held 0 release=blind --strict --expect safe
echo "1..$n"
