#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# results/SCHEMA.md against the runs that are kept and against fresh ones; and that planted errors are found. TAP.
# Usage: test-schema.sh LOCKBENCH TESTS
bin=$1 judge=$2/schema-check root=$(cd "$(dirname "$0")/../.." && pwd)
page=$root/results/SCHEMA.md
. "$(dirname "$0")/../helpers/tap.sh"

found() { # NAME PATTERN FILE SED: with this edit in a copy of the run, the judge says PATTERN
  n=$((n + 1))
  rm -rf "$dir/bad"
  cp -R "$dir/guards" "$dir/bad"
  sed -i "$4" "$dir/bad/$3"
  if cmp -s "$dir/bad/$3" "$dir/guards/$3"; then
    echo "not ok $n - $1"
    echo "# nothing was planted"
  elif "$judge" --fresh "$page" "$dir/bad" >"$dir/out" 2>&1; then
    echo "not ok $n - $1"
    echo "# not found"
  elif grep -qE -- "$2" "$dir/out"; then
    echo "ok $n - $1"
  else
    echo "not ok $n - $1"
    echo "# expected: $2"
    sed 's/^/# /' "$dir/out"
  fi
}

for run in "$root"/results/reference*/; do
  [ -e "$run/run.json" ] && check "kept run $(basename "$run")" "$judge" "$page" "${run%/}"
done

# Verdicts do not matter here; 3, 4 and 5 are runs, too. Nor do speeds, so they run side by side.
"$bin" run pause-holder -b local,broken -g none,deadline,recheck,fence -n 1 -o "$dir/guards" >/dev/null 2>&1 &
"$bin" run contention -b local,broken -n 2 -s clients=2 -s duration_s=0.2 -s warmup_s=0.1 -o "$dir/load" >/dev/null 2>&1 &
"$bin" run contention -b local -n 5 -s hold_ms=0,0.5 -s clients=2 -s duration_s=0.2 -s warmup_s=0.1 -o "$dir/variants" >/dev/null 2>&1 &
"$bin" run storm -b local -g none -n 1 -s duration_s=2 -o "$dir/storm" >/dev/null 2>&1 &
wait
check 'a fresh run with guards' "$judge" --fresh "$page" "$dir/guards"
check 'a fresh load' "$judge" --fresh "$page" "$dir/load"
check 'a fresh load in variants' "$judge" --fresh "$page" "$dir/variants"
"$bin" compare --json "$dir/variants" >"$dir/compare.json" 2>&1
check 'compare --json' "$judge" --compare "$page" "$dir/compare.json"
check 'a fresh campaign' "$judge" --fresh "$page" "$dir/storm"

said() { # NAME PATTERN SED: with this edit in a copy of the page, the judge says PATTERN
  n=$((n + 1))
  sed "$3" "$page" >"$dir/page.md"
  if ! cmp -s "$page" "$dir/page.md" && ! "$judge" "$dir/page.md" "$root/results/reference" >"$dir/out" && grep -qE -- "$2" "$dir/out"; then echo "ok $n - $1"
  else echo "not ok $n - $1"; echo "# expected: $2"; sed 's/^/# /' "$dir/out"; fi
}
said 'a counter without a row' 'trials.csv: no row for jain' '/^| `jain` /d'
said 'a counter of another type' 'check --json: depth is number, the table of counters says whole' 's/^| `depth` | whole | *|$/| `depth` | number | |/'
said 'a counter that may be missing, and does not' 'cells: grants is whole, the table of counters says whole, or nothing' 's/^| `grants` | whole or null/| `grants` | whole/'
said 'a counter in another unit' "the unit of stall_ms is 's', expected 'ms'" 's/^| `stall_ms` | number | ms/| `stall_ms` | number | s/'
said 'a counter explained twice' 'trials.csv: busy repeats what the table of counters says' 's/^\(| `busy` | whole |.*|\)[^|]*|$/\1 acquires in the measured window that were given up because somebody else held the lock |/'

before=$(head -1 "$dir/guards/trials.csv" | sed 's/,stale_writes,.*//' | tr ',' '\n' | wc -l)
found 'a missing column' "column $((before + 1)) is 'fenced_off', expected 'stale_writes'" trials.csv "s/^\\(\\([^,]*,\\)\\{$before\\}\\)[^,]*,/\\1/"
found 'a column that is not on the page' "column 'more' is not on the page" trials.csv '1s/$/,more/;2,$s/$/,1/'
found 'columns in another order' "expected 'wait_p50_us'" trials.csv '1s/wait_p50_us,wait_p99_us/wait_p99_us,wait_p50_us/'
found 'an unknown verdict' "verdict is 'fine'" trials.csv '2s/,\(safe\|violated\|stuck\|undecided\),/,fine,/'
found 'a verdict of a trial that was not run' "verdict is 'none', which only a cell has" trials.csv '2s/,\(safe\|violated\|stuck\|undecided\),/,none,/'
found 'a missing key' "expected 'stale_writes'" run.json '/"stale_writes"/d'
found 'an unknown key' "'more' is not on the page|'more', expected" run.json 's/"depth":/"more": 1, "depth":/'
found 'a key of another type' 'trials is "1", expected whole' run.json 's/"trials": 1,/"trials": "1",/'
found 'an unknown guard' 'guard is "fense", expected guard' run.json 's/"guard": "fence"/"guard": "fense"/'
found 'a cell that is not the sum of its trials' 'grants is [0-9]*, its trials say' run.json 's/"grants": /"grants": 1/'
found 'a history that is not there' 'histories/x.* is not in the folder' trials.csv 's|,histories/|,histories/x|'
found 'another header' 'latency.csv:1: .* expected scenario,system' latency.csv '1s/low_ns/low/'
for history in paused-holder three-at-once never-released; do # what `check --json` prints, against its tables
  "$bin" check --json "$root/tests/data/histories/bad/$history.jsonl" >"$dir/$history.json" 2>&1
  check "check --json: $history" "$judge" --check "$page" "$dir/$history.json"
done
sed 's/"depth": 2,$/"more": 1,/' "$dir/paused-holder.json" >"$dir/more.json"
check 'a member of an episode that is not on the page' \
  sh -c '! "$1" --check "$2" "$3" && "$1" --check "$2" "$3" | grep -q "episodes 1: .more., expected .depth."' - "$judge" "$page" "$dir/more.json"
if [ -e "$dir/storm/schedules" ]; then # no namespaces: no cuts, no campaign
  rm -r "$dir/storm/schedules"
  check 'a schedule that is not there' sh -c '! "$1" --fresh "$2" "$3" && "$1" --fresh "$2" "$3" | grep -q "schedules/storm.* is not in"' \
    - "$judge" "$page" "$dir/storm"
fi
echo "1..$n"
