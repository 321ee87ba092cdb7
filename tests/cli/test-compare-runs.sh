#!/bin/sh
# test: alone
# SPDX-License-Identifier: MIT
# `lockbench compare` as a user meets it, on runs of a lock without servers whose rates are written by hand: a planted difference is found, two looks at the same run
# find none, other machines and settings are refused by name; variants of one run; --keep-logs. TAP.
# Usage: test-compare-runs.sh LOCKBENCH PLUGIN_FOLDER
bin=$1 plugins=$2
. "$(dirname "$0")/../helpers/tap.sh"

# ends NAME CODE STDOUT STDERR COMMAND...: a line of each matches; '' = it is empty.
ends() {
  name=$1 code=$2 out=$3 err=$4
  shift 4
  "$@" >"$dir/out" 2>"$dir/err" </dev/null
  got=$?
  n=$((n + 1))
  if expr "$got" : "$code\$" >/dev/null && has "$dir/out" "$out" && has "$dir/err" "$err"; then
    echo "ok $n - $name"
  else
    echo "not ok $n - $name"
    echo "# exit $got, expected $code; expected on stdout: $out; on stderr: $err"
    head -n 40 "$dir/out" | cat "$dir/err" - | sed 's/^/# /'
  fi
}
has() { if [ -n "$2" ]; then grep -qE -- "$2" "$1"; else [ ! -s "$1" ]; fi; }
# load FOLDER TRIALS WORD...: a run of the hot lock. What this machine measured meanwhile is put aside: the rates of its trials are
# 1000/s in the first variant, 10 % less in the second and half in the third, a thousandth apart from each other; times $scale.
scale=1
load() {
  folder=$1 trials=$2
  shift 2
  "$bin" run contention -b local -n "$trials" -s clients=2 -s duration_s=0.1 -s warmup_s=0 "$@" -o "$dir/$folder" >"$dir/log" 2>&1
  python3 - "$dir/$folder/trials.csv" "$scale" <<'END'
import csv, sys
with open(sys.argv[1], newline="") as file:
    table = csv.DictReader(file)
    rows, names = list(table), table.fieldnames
variants = list(dict.fromkeys(row["scenario"] for row in rows))
for row in rows:
    rate = float(sys.argv[2]) * (1000, 900, 500)[variants.index(row["scenario"])] * (1 + 0.001 * int(row["trial"]))
    row.update({name: "" for name in names if name.endswith("_us")})
    row.update(verdict="safe", why="", grants="4000", handoffs="2000", measured_s="2", grants_per_s=f"{rate:.3f}", handoffs_per_s=f"{rate / 2:.3f}",
               wait_p50_us=f"{1e6 / rate:.3f}")
with open(sys.argv[1], "w", newline="") as file:
    table = csv.DictWriter(file, names, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
END
}

load a 5 -s hold_ms=1
scale=0.9
load think 5 -s hold_ms=1 -s think_ms=20
scale=1
load few 2 -s hold_ms=1,2
load variants 5 -s hold_ms=1,1.1,2
"$bin" run control -b local -n 1 -o "$dir/steps" >"$dir/log" 2>&1

# Two runs.
ends 'the same run twice' 0 '^0 of [1-9][0-9]* metrics slower, 0 faster, ' '' "$bin" compare "$dir/a" "$dir/a"
ends 'hand-offs are one' 0 '^  handoffs_per_s  ' '' "$bin" compare "$dir/a" "$dir/a"
ends 'a metric of it' 0 '^  grants_per_s  .* 1\.000  \[.*\]  cannot be told apart$' '' "$bin" compare "$dir/a" "$dir/a"
ends 'another setting is refused' 2 '' '^lockbench: differs: contention\.think_ms: 0\.0 in A, 20\.0 in B$' "$bin" compare "$dir/a" "$dir/think"
ends 'and what to do about it is said' 2 '' '^lockbench: not compared: .* --anyway' "$bin" compare "$dir/a" "$dir/think"
ends 'unless one wants it' 3 '^differs: contention\.think_ms: ' '' "$bin" compare --anyway "$dir/a" "$dir/think"
ends 'then it is told apart' 3 '^  grants_per_s  .*  slower$' '' "$bin" compare --anyway "$dir/a" "$dir/think"
ends 'the other way round it is faster' 0 '^  grants_per_s  .*  faster$' '' "$bin" compare --anyway "$dir/think" "$dir/a"
cp -R "$dir/a" "$dir/elsewhere"
sed -i 's/"cpu": ".*"/"cpu": "another one"/; s/"cores": [0-9]*/"cores": 9999/' "$dir/elsewhere/run.json"
ends 'another machine is refused' 2 '' '^lockbench: differs: machine\.cpu: .* in A, "another one" in B$' "$bin" compare "$dir/a" "$dir/elsewhere"
ends 'with all that differs' 2 '' '^lockbench: differs: machine\.cores: [0-9]* in A, 9999 in B$' "$bin" compare "$dir/a" "$dir/elsewhere"
ends 'the load of the machine is of a run' 0 '^0 of ' '' sh -c \
  'cp -R "$2/a" "$2/loaded" && sed -i "s/\"load_before\": .*,/\"load_before\": 99.5,/" "$2/loaded/run.json" && "$1" compare "$2/a" "$2/loaded"' - "$bin" "$dir"

mkdir "$dir/no-numpy" && echo 'raise ModuleNotFoundError("hidden", name="numpy")' >"$dir/no-numpy/numpy.py"
ends 'without numpy one line says what to install' 5 '' '^lockbench: compare: numpy is missing: install python3-numpy$' env PYTHONPATH="$dir/no-numpy" "$bin" compare "$dir/a" "$dir/a"

# Variants of one run.
ends 'a planted difference is found' 3 '^contention~hold_ms=2, local@none, guard none, 2 clients; A is contention~hold_ms=1$' '' "$bin" compare "$dir/variants"
ends 'of a tenth, too' 3 '^  grants_per_s  .*  slower$' '' sh -c '"$1" compare "$2/variants" >"$2/table"; code=$?
  sed -n "/^contention~hold_ms=1.1,/,/^$/p" "$2/table"; exit $code' - "$bin" "$dir"
ends 'too few repeats are too few' 4 ' of too few repeats$' '' "$bin" compare "$dir/few"
ends 'and it is said how many it takes' 4 '  unknown: too few repeats \(2 and 2 of 5\)$' '' "$bin" compare "$dir/few"
ends 'and with which option' 4 '^too few repeats to tell: .* measure again with -n 5$' '' "$bin" compare "$dir/few"
ends 'a variant has a story of its own' 0 '^safe: no trial of this cell' '' "$bin" explain "$dir/variants" contention~hold_ms=1.1.local
"$bin" run contention -b broken -n 1 -s hold_ms=0,1 -s clients=4 -s duration_s=0.2 -s warmup_s=0.1 -o "$dir/liar" >"$dir/log" 2>&1
rm "$dir"/liar/histories/*hold_ms=1*
ends 'and is made again with the others of its base' 2 '' 'not in the folder; to make one like it: lockbench run contention -b broken@none .* -s hold_ms=0,1 --seed [0-9]+$' \
  "$bin" explain "$dir/liar" contention~hold_ms=1.broken
check 'it has a line of its own on the page' sh -c '"$1" report "$2/variants" >/dev/null 2>&1; grep -q "contention~hold_ms=1.1" "$2/variants/report.html"' - "$bin" "$dir"
ends 'as JSON' 3 '"difference": "slower"' '' "$bin" compare --json "$dir/variants"

# Two builds in turns.
turns() { "$bin" run contention -b local -g none -s clients=2 -s duration_s=0.1 -s warmup_s=0 "$@"; }
ends 'another build takes turns with this one' '[034]' '^A: .*/turns/a, lockbench ' '^round 2 of 2, the other one$' turns -v -n 2 --against "$bin" -o "$dir/turns"
check 'in every other round the other one begins' sh -c 'test "$(grep "^round" "$1" | cut -d, -f2 | tr -d "\n")" = " this build the other one the other one this build"' - "$dir/err"
ends 'the folder can be compared again' '[034]' '^contention, local@none, guard none, 2 clients$' '' "$bin" compare "$dir/turns/a" "$dir/turns/b"
ends 'two rounds are too few' 4 'of too few repeats$' '' "$bin" compare "$dir/turns/a" "$dir/turns/b"
ends 'what is no program' 2 '' '^lockbench: --against /etc/passwd: expected the program of another build$' turns --against /etc/passwd
ends 'a plugin is of one build' 2 '' '^lockbench: --against: a plugin belongs to one build' \
  "$bin" run contention --plugin "$plugins/plugin-rogue.so" --against "$bin"
ends 'what the run refuses ends it' 2 '' "^lockbench: unknown scenario 'contntion', did you mean 'contention'" "$bin" run contntion --against "$bin" -o "$dir/refused"
check 'and leaves nothing' test ! -e "$dir/refused"

# Mistakes.
ends 'no folder' 2 '' '^lockbench: compare: expected two results folders, or one$' "$bin" compare
ends 'three folders' 2 '' '^lockbench: compare: expected two results folders, or one$' "$bin" compare a b c
ends 'no such folder' 2 '' '^lockbench: /nonexistent/run.json: No such file or directory$' "$bin" compare "$dir/a" /nonexistent
ends 'a run without variants alone' 2 '' 'has no variants of a scenario and no servers of two versions: expected two results folders' "$bin" compare "$dir/a"
ends 'runs with nothing in common' 2 '' '^lockbench: compare: the runs have no measured cell in common, as [0-9]+ are left out, the first: .*: B did not measure it$' "$bin" compare "$dir/a" "$dir/steps"
ends 'runs that measured nothing have verdicts' 0 '^0 of [0-9]+ cells have another verdict in B$' '' "$bin" compare "$dir/steps" "$dir/steps"
published=$(dirname "$0")/../../results/reference-version-bugs
ends 'verdicts that were published without trials' 3 '^[0-9]* of [0-9]* cells have another verdict on servers of another version$' '' "$bin" compare "$published"
ends 'the story of one of them' 2 '' 'no trial of it; `argv` in its run.json makes the run again$' "$bin" explain "$published" redis-8474.redis-token@sentinel
ends 'a list that no scenario takes' 2 '' '^lockbench: -s hold_ms: no scenario of this run has such a key$' "$bin" run control -b local -s hold_ms=1,2
ends 'a misspelt option' 2 '' "unknown option '--anyways', did you mean '--anyway'" "$bin" compare --anyways a b

# Logs.
cat >"$dir/turns.ini" <<'END'
[scenario]
title = two clients in turn
question = Is the second one let in while the first one is inside?
refuted = It is.
[workload]
clients = 2
[timeline]
step = client 1 acquire within 300ms
step = client 2 acquire within 100ms
step = client 1 release within 300ms
step = client 2 acquire within 300ms
step = client 2 release within 300ms
[expect]
local@none = safe: it excludes
END
prints() { "$bin" run "$dir/turns.ini" -b rogue --plugin "$plugins/plugin-rogue.so" -s rogue.fault=prints --expect safe -n 2 "$@" >"$dir/log" 2>&1; }
prints -o "$dir/unkept"
check 'the logs of a trial that ends as expected are not kept' test ! -e "$dir/unkept/logs"
prints --keep-logs -o "$dir/kept"
check 'unless one wants it' grep -q verdict "$dir/kept/logs/turns.rogue@none.none.c2.t2/clients.log"
echo "1..$n"
