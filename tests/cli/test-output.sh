#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# What a command does when what it prints cannot be written: on a full disk, into a closed stream, to a reader that went away. TAP.
# Usage: test-output.sh LOCKBENCH
bin=$1 bench=$(cd "$(dirname "$0")/../.." && pwd)/bench
. "$(dirname "$0")/../helpers/tap.sh"
export LOCKBENCH_RESULTS="$dir/results" LC_ALL=C.UTF-8
cp "$(dirname "$0")/../data/plots/pause.jsonl" "$dir/history.jsonl"

# ends CODE LINES [TEXT]: the latest command; how many lines it said on stderr, and a text that the only one has.
ends() {
  echo "exit $code, expected $1; stderr:" && cat "$dir/err"
  sed -i '/^[^ ]*: [0-9]* timelines, of which /d' "$dir/err" # what `hunt --list` says beside its list
  [ "$code" -eq "$1" ] && [ "$(wc -l <"$dir/err")" -eq "$2" ] && { [ -z "${3-}" ] || grep -qF -- "$3" "$dir/err"; }
}
full() { "$@" >/dev/full 2>"$dir/err" </dev/null; code=$?; }
closed() { "$@" >&- 2>"$dir/err" </dev/null; code=$?; }
gone() { # nobody reads the pipe any more when the command starts
  { { sleep 0.05; "$@" 2>"$dir/err" </dev/null; echo $? >"$dir/code"; } | :; }
  code=$(cat "$dir/code")
}

"$bin" run control -b local -n 2 -o "$dir/run" >/dev/null 2>&1 || exit 1
"$bin" run contention -b local -n 3 -s hold_ms=0.5,0.6 -s clients=2 -s duration_s=0.1 -s warmup_s=0.1 -o "$dir/variants" >/dev/null 2>&1
cell=control.local@none
while IFS= read -r words; do
  # shellcheck disable=SC2086 # words
  set -- $words
  full "$bin" "$@"
  check "a full disk: $words" ends 1 1 'cannot write to standard output: No space left on device'
  closed "$bin" "$@"
  check "a closed stream: $words" ends 1 1 'cannot write to standard output: Bad file descriptor'
  gone "$bin" "$@"
  check "a reader that went away: $words" ends 141 0
done <<END
help
--help
help run
run --help
--version
list scenarios
list protocols
list topologies
list suites
list assumptions
show redis-token
check $dir/history.jsonl
check --json $dir/history.jsonl
check --export json $dir/history.jsonl
explain $dir/run $cell
explain --json $dir/run $cell
compare $dir/variants
compare --json $dir/variants
doctor
conform local
hunt redis-token@redis --list
END

# A run whose summary cannot be printed has its results all the same. Progress is on stderr, the complaint is its last line.
for json in '' --json; do
  for into in full closed gone; do
    rm -rf "$dir/kept"
    # shellcheck disable=SC2086 # a word or none
    $into "$bin" run control -b local -n 1 $json -o "$dir/kept"
    check "run $json keeps its results: $into" test -s "$dir/kept/run.json"
    wanted=1
    [ "$into" = gone ] && wanted=141
    check "and ends with $wanted: run $json, $into" test "$code" -eq $wanted
    check "and says so at most once: run $json, $into" test "$(grep -c 'cannot write' "$dir/err")" -eq $((wanted == 1))
  done
done
check 'a stream that was closed does not become a file of the run' not grep -rqF 'results in' "$dir/kept"

# The page and the figures do not need a reader.
for into in full closed gone; do
  rm -rf "$dir/run/report.html" "$dir/run/figures"
  $into "$bin" report "$dir/run"
  check "report writes its page: $into" test -s "$dir/run/report.html"
  check "and its figures: $into" test -s "$dir/run/figures/truth-table.svg"
  case $into in gone) check "and nobody hears of it: $into" ends 141 0 ;; *) check "and says so once: $into" ends 1 1 'cannot write to' ;; esac
done

full "$bench" help
check 'bench help on a full disk' ends 1 1 'cannot write to standard output: No space left on device'
closed "$bench" help
check 'bench help into a closed stream' ends 1 1 'cannot write to standard output: Bad file descriptor'
gone "$bench" help
check 'bench help, and nobody reads' ends 141 0
echo "1..$n"
