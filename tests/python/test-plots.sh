#!/bin/sh
# test: compute, exit
# SPDX-License-Identifier: MIT
# The figures of a run: drawn from the sample run folder, held against its CSV files, and the ways plots/render can end.
# One line per statement. Exit 0, 1 (a statement does not hold), 77 (gnuplot, python3 or matplotlib is missing).
# Usage: test-plots.sh [LOCKBENCH]; $LB_SOURCE_DIR is the root of the sources (default: the folder above this one).
bin=${1:-}
root=${LB_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
python=${LOCKBENCH_PYTHON:-/usr/bin/python3}
command -v "$python" >/dev/null 2>&1 || python=python3
export PYTHONDONTWRITEBYTECODE=1 LOCKBENCH_BIN=$root/tests/data/plots/lockbench
for need in gnuplot "$python"; do
  command -v "$need" >/dev/null 2>&1 || { echo "skipped: $need is missing"; exit 77; }
done
"$python" -c 'import matplotlib' 2>/dev/null || { echo "skipped: matplotlib is missing"; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
bad=0 made=$work/run-sample
"$python" "$root/tests/data/make-run-sample.py" "$made" || exit 1

holds() { # holds STATEMENT COMMAND...
  statement=$1
  shift
  if "$@" >"$work/said" 2>&1; then
    echo "ok: $statement"
  else
    echo "NOT: $statement"
    sed 's/^/  /' "$work/said"
    bad=1
  fi
}

sample() { # sample NAME: a fresh copy of the sample run
  rm -rf "${work:?}/$1"
  cp -R "$made" "$work/$1"
}

render() { # render NAME: its exit status in $code, what it said in out and err
  "$root/plots/render" "$work/$1" >"$work/out" 2>"$work/err"
  code=$?
}

draw() { # draw NAME: as render, by the command that makes the page as well, if it is given
  [ -n "$bin" ] || { render "$1"; return; }
  "$bin" report "$work/$1" >"$work/out" 2>"$work/err"
  code=$?
}

ends_with() { # ends_with CODE: the latest render; shows what it said
  cat "$work/out" "$work/err"
  echo "exit $code, expected $1"
  [ "$code" -eq "$1" ]
}

one_line() { # one_line FILE TEXT: the file is one line that holds the text
  cat "$1"
  [ "$(wc -l <"$1")" -eq 1 ] && grep -qF -- "$2" "$1"
}

same() { cmp "$work/$1/figures/$3" "$work/$2/figures/$3"; }

all_figures() { # every file that the sample has to give
  for name in truth-table guard-table violation scaling latency safety-speed; do
    printf '%s\n' "$name.csv" "$name.pdf" "$name.png" "$name.svg"
  done
  echo scaling-gnuplot.svg
}

fills() { # fills COLOUR COUNT: so many cells and legend boxes of a colour
  found=$(grep -c "style=\"fill: $1\"" "$work/first/figures/truth-table.svg")
  echo "$found of $1, expected $2"
  [ "$found" -eq "$2" ]
}

# Drawing.
sample first
ls -A "$work/first" >"$work/before"
ASKED=$work/asked render first
holds 'the sample is drawn' ends_with 0
holds 'one line per figure, and one for the page' test "$(wc -l <"$work/out")" -eq 8
holds 'whose last is where the page is' sh -c 'tail -n 1 "$1" | grep -qx "report: $2/report.html"' - "$work/out" "$work/first"
all_figures | LC_ALL=C sort >"$work/wanted"
(cd "$work/first/figures" && find . -type f -size +0c | sed 's|^./||' | LC_ALL=C sort) >"$work/files"
holds 'each figure has its csv, svg, png and pdf, and nothing else is left' diff "$work/wanted" "$work/files"
ls -A "$work/first" | grep -vxE 'figures|report.html' >"$work/after"
holds 'nothing else is written to the folder' cmp "$work/before" "$work/after"
for figure in truth-table guard-table violation scaling latency safety-speed scaling-gnuplot; do
  holds "$figure.svg is well-formed" "$python" -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' \
    "$work/first/figures/$figure.svg"
done
holds 'no PDF says when it was made, and all bring their fonts along' sh -c \
  'cd "$1" && ! grep -l CreationDate *.pdf && test "$(grep -l FontFile2 *.pdf | wc -l)" -eq 6' - "$work/first/figures"

# Elsewhere, in another folder, language, time zone and second: the same bytes.
sample 'second run'
sleep 1
(cd / && TZ=Asia/Tokyo LC_ALL=C HOME=/nonexistent SOURCE_DATE_EPOCH=5 "$root/plots/render" "$work/second run" \
  >/dev/null 2>&1)
holds 'every figure is byte-identical when drawn again' diff -r "$work/first/figures" "$work/second run/figures"

# What is shown.
holds 'every number in the figures of speed is one of the CSV files, and none is missing' \
  "$python" "$root/tests/data/plots/drawn_points.py" "$work/first"
holds 'the violation is the history, in ms' diff "$root/tests/data/plots/violation.csv" "$work/first/figures/violation.csv"
holds 'a hold lasts until as many releases as grants' "$python" -c "
import json, sys
sys.path.insert(0, '$root/plots')
import timeline
with open('$root/tests/data/histories/bad/one-release-of-two.jsonl', encoding='utf-8') as f:
    story = timeline.Story([json.loads(line) for line in f][1:], [])
assert len(story.holds) == 2 and not story.overlaps, (story.holds, story.overlaps)"
holds 'the history asked for is of a violated cell without a guard, and not of the liar' \
  grep -qx 'failover\.redis-token@sentinel\.none' "$work/asked"
holds 'a guard that makes a violated lock safe is marked as a change' \
  grep -q '^zk-sequential@zk,pause,fence,safe,.*,true,' "$work/first/figures/guard-table.csv"
holds 'a guard that a lock cannot have is no change, and says why' \
  grep -q '^redis-token@redis,pause,fence,skipped,.*,false,redis-token grants no fence' "$work/first/figures/guard-table.csv"
holds 'intervals are those that are known' "$python" "$root/tests/data/plots/bootstrap_values.py"
holds 'a repeat without a hand-off counts as 0' "$python" "$root/tests/data/plots/counted_values.py"
holds 'no label covers another one' "$python" "$root/tests/data/plots/label_places.py"
count() { # count VERDICT: cells without a guard that have it, and the box in the legend
  "$python" - "$1" "$work/first/run.json" <<'END'
import json, sys
cells = json.load(open(sys.argv[2]))["cells"]
print(sum(c["verdict"] == sys.argv[1] and c["guard"] == "none" for c in cells) + 1)
END
}
holds 'every safe cell is drawn safe' fills '#b8e2d5' "$(count safe)"
holds 'every violated cell is drawn violated' fills '#d55e00' "$(count violated)"
holds 'every stuck cell is drawn stuck' fills '#bfe0f5' "$(count stuck)"
holds 'every undecided cell is drawn undecided' fills '#faf5b5' "$(count undecided)"
holds 'both programs draw in one style' sh -c '"$1" "$2/plots/style.py" | diff - "$2/plots/style.gp"' - "$python" "$root"

# Bad input: one line, exit 2, and the figures of before stay.
sample bad
printf '{"schema_version": 1,\n "id": }\n' >"$work/bad/run.json"
mkdir "$work/bad/figures"
echo old >"$work/bad/figures/scaling.svg"
render bad
holds 'malformed run.json ends with 2' ends_with 2
holds 'malformed run.json is one line with file and line' one_line "$work/err" 'run.json:2:'
holds 'a figure that cannot be drawn again stays' grep -qx old "$work/bad/figures/scaling.svg"
sample bad
sed 's/"verdict": "stuck"/"verdict": "sutck"/' "$made/run.json" >"$work/bad/run.json"
render bad
holds 'an unknown verdict ends with 2' ends_with 2
holds 'an unknown verdict is named' one_line "$work/err" "verdict 'sutck', expected one of safe"
sample bad
sed '3s/,none,/,none,many/' "$made/trials.csv" >"$work/bad/trials.csv"
render bad
holds 'a bad number in trials.csv ends with 2' ends_with 2
holds 'a bad number in trials.csv is one line with its place' one_line "$work/err" "trials.csv:3: clients is 'many"
rm -f "$work/bad/trials.csv"
render bad
holds 'a missing trials.csv ends with 2' ends_with 2
render 'not there'
holds 'a missing folder ends with 2' ends_with 2
holds 'a missing folder is one line' one_line "$work/err" 'not there/run.json: No such file'

# A lock beside its floor: each repeat of redis-token is half as fast as the floor of its round, and one repeat has none.
sample floored
"$python" - "$work/floored" <<'END'
import csv, json, sys
with open(sys.argv[1] + "/trials.csv", newline="") as f:
    rows = list(csv.DictReader(f))
bare = [r | {"system": "floor-redis@redis", "grants_per_s": str(2 * float(r["grants_per_s"]))} for r in rows
        if r["system"] == "redis-token@redis" and r["scenario"] == "contention" and r["grants_per_s"]]
with open(sys.argv[1] + "/trials.csv", "w", newline="") as f:
    out = csv.DictWriter(f, rows[0], lineterminator="\n")
    out.writeheader()
    out.writerows(rows + bare[1:])
with open(sys.argv[1] + "/run.json") as f:
    run = json.load(f)
run["cells"] += [c | {"system": "floor-redis@redis"} for c in run["cells"] if c["system"] == "redis-token@redis"]
with open(sys.argv[1] + "/run.json", "w") as f:
    json.dump(run, f)
END
render floored
holds 'a run with a floor is drawn' ends_with 0
holds 'each repeat stands beside the floor of its round, and one without a floor is left out' sh -c \
  'tail -n +2 "$1" | cut -d, -f2,9 | sort -u | grep -qx redis-token@redis,0.5 && test "$(tail -n +2 "$1" | cut -d, -f9 | sort -u)" = 0.5 &&
  test "$(tail -n +2 "$1" | grep -vc median)" = "$(grep -c "contention,floor" "$2")"' - "$work/floored/figures/floor.csv" "$work/floored/trials.csv"
holds 'what is no lock has no row in the table of verdicts' sh -c '! grep floor "$1"' - "$work/floored/figures/truth-table.csv"

# What a run does not have is left out with a line, and an old figure does not stay for a new run.
sample slow
sed -n '1p; /^failover/p' "$made/trials.csv" >"$work/slow/trials.csv"
mkdir "$work/slow/figures"
for figure in scaling.svg scaling.csv scaling-gnuplot.svg latency.pdf; do echo old >"$work/slow/figures/$figure"; done
render slow
holds 'a run without speed ends with 0' ends_with 0
holds 'what a run has nothing for is not called undrawn' test ! -e "$work/slow/figures/not-drawn.txt"
for figure in scaling latency safety-speed; do
  holds "a run without speed says so of $figure" grep -q "^$figure: not drawn: no measured trial" "$work/out"
done
holds 'no figure of speed of another run stays' sh -c '! ls "$1"/figures | grep -E "scaling|latency"' - "$work/slow"
PYTHONPATH="$root/plots" "$python" - "$(ls -d "$root"/results/reference* | head -n 1)" "$work/slow" <<'END'
import csv, json, run_folder, sys
run = run_folder.load_run(sys.argv[1])
run["cells"] = [cell for cell in run["cells"] if cell["guard"] == "none"]
with open(sys.argv[2] + "/run.json", "w") as f:
    json.dump(run, f)
with open(sys.argv[1] + "/trials.csv", newline="") as f, open(sys.argv[2] + "/trials.csv", "w", newline="") as out:
    rows = csv.DictReader(f)
    kept = csv.DictWriter(out, rows.fieldnames)
    kept.writeheader()
    kept.writerows(row for row in rows if row["guard"] == "none")
END
"$python" "$root/plots/guard_table.py" "$work/slow" >"$work/out" 2>"$work/err"
holds 'a run without guards has no table of them' one_line "$work/out" 'not drawn: no scenario ran under more than one guard'
(unset LOCKBENCH_BIN && "$python" "$root/plots/violation.py" "$work/slow" >"$work/out" 2>"$work/err")
holds 'without lockbench there is no timeline, and a line says so' one_line "$work/out" 'not drawn: LOCKBENCH_BIN'
LOCKBENCH_BIN=false "$python" "$root/plots/violation.py" "$work/slow" no.such.cell >"$work/out" 2>"$work/err"
holds 'a cell that is not there is no error' one_line "$work/out" 'not drawn: lockbench explain'

# A load is known by what it does, not by its name; each that measured speed is drawn.
sample renamed
sed -i 's/\bcontention\b/hot/g' "$work/renamed/run.json" "$work/renamed/trials.csv" "$work/renamed/latency.csv"
for script in scaling latency safety_speed; do
  figure=$(echo $script | tr _ -)
  holds "a load of another name is drawn in $figure" "$python" "$root/plots/$script.py" "$work/renamed"
  holds "and gives the same $figure" same first renamed "$figure.csv"
done
sample loads
"$python" - "$work/loads" <<'END'
import json, sys
folder = sys.argv[1]
with open(f"{folder}/run.json") as f:
    run = json.load(f)
hot = next(s for s in run["scenarios"] if s["name"] == "contention")
more = [hot | {"name": name, "workload": hot["workload"] | {"keys": keys}} for name, keys in (("own", 0), ("hot~hold_ms=0.5", 1))]
run["scenarios"] = more[:1] + run["scenarios"] + more[1:]
with open(f"{folder}/run.json", "w") as f:
    json.dump(run, f)
with open(f"{folder}/trials.csv") as f:
    rows = f.readlines()
with open(f"{folder}/trials.csv", "a") as f:
    f.writelines(row.replace("contention", s["name"], 1) for s in more for row in rows if row.startswith("contention,"))
END
draw loads
holds 'a run of several loads is drawn' ends_with 0
holds 'the first with one lock for all is the one of the figures' same first loads scaling.csv
for load in own hot-hold_ms-0.5; do
  holds "the load $load has a figure of its own" cmp "$work/first/figures/scaling.csv" "$work/loads/figures/scaling-$load.csv"
done
holds 'each says which load it is' sh -c 'grep -q "scenario own " "$1/scaling-own.svg" && grep -q "Every client has a lock of its own" "$1/scaling-own.svg"' \
  - "$work/loads/figures"
if [ -n "$bin" ]; then
  holds 'and stands on the page' grep -qF '{"name":"own","note":' "$work/loads/report.html"
fi

# Settings of one lock are curves of one figure, whose legend says who is woken; one number of clients is no curve.
sample settings
"$python" - "$work/settings" <<'END'
import json, sys
folder = sys.argv[1]
with open(f"{folder}/run.json") as f:
    run = json.load(f)
hot = next(s for s in run["scenarios"] if s["name"] == "contention")
run["scenarios"] = [hot | {"name": f"contention~wake={w}", "base": "contention", "varied": {"redis-token.wake": w}} for w in ("no", "yes")]
cells = [c for c in run["cells"] if c["scenario"] == "contention" and c["system"].startswith("redis-token@")]
run["cells"] = [c | {"scenario": f"contention~wake={w}", "waits": how} for w, how in (("no", "polls"), ("yes", "told")) for c in cells]
with open(f"{folder}/run.json", "w") as f:
    json.dump(run, f)
for name in ("trials.csv", "latency.csv"):
    with open(f"{folder}/{name}") as f:
        rows = f.readlines()
    with open(f"{folder}/{name}", "w") as f:
        f.writelines(rows[:1] + [row.replace("contention", f"contention~wake={w}", 1) for w in ("no", "yes") for row in rows if row.startswith("contention,redis-token@")])
END
draw settings
holds 'a run of several settings is drawn' ends_with 0
holds 'into one figure of each kind' sh -c '! ls "$1" | grep -E "~|=|scaling-contention"' - "$work/settings/figures"
holds 'with a curve for each setting' sh -c 'cut -d, -f1 "$1/scaling.csv" | grep -qx "redis-token@redis+wake=no" && cut -d, -f1 "$1/latency.csv" | grep -qx "redis-token@redis+wake=yes"' \
  - "$work/settings/figures"
holds 'whose legend says who is woken' sh -c 'grep -q "redis-token@redis wake=yes, woken" "$1/scaling.svg" && grep -q "redis-token@redis wake=no, polled" "$1/latency.svg"' \
  - "$work/settings/figures"
holds 'and whose caption says the level of its intervals' grep -q '95 % bootstrap' "$work/settings/figures/scaling.svg"
sed -i -E '/^contention[^,]*,[^,]*,[^,]*,1,/!{/^scenario,/!d}' "$work/settings/trials.csv"
"$python" "$root/plots/scaling.py" "$work/settings" >"$work/out" 2>"$work/err"
holds 'one number of clients is no figure' one_line "$work/out" 'not drawn: one number of clients makes no curve'

# Safety of one run, speed of another: the dots are of the systems that both have.
sample safety
sample speed
sed -i -e '/^contention,redlock@redis-x5,/d' -e '/^contention,/!{/^scenario,/!d}' "$work/speed/trials.csv"
sed -i '/^contention,/d' "$work/safety/trials.csv"
holds 'safety and speed are taken from two runs' "$python" "$root/plots/safety_speed.py" "$work/safety" "$work/speed"
cut -d, -f1 "$work/first/figures/safety-speed.csv" | grep -v 'redlock@redis-x5' | LC_ALL=C sort >"$work/wanted"
cut -d, -f1 "$work/safety/figures/safety-speed.csv" | LC_ALL=C sort >"$work/found"
holds 'of the systems that both have' diff "$work/wanted" "$work/found"
column() { sed -n "s/^$2,//p" "$work/$1/figures/safety-speed.csv" | cut -d, -f13-15; } # hand-offs, and the ends of their interval
holds 'with the speed of the second' test -n "$(column first redis-token@redis)" -a "$(column first redis-token@redis)" = "$(column safety redis-token@redis)"
"$python" "$root/plots/safety_speed.py" "$work/safety" >"$work/out" 2>"$work/err"
holds 'which the first alone does not have' one_line "$work/out" 'not drawn: no measured trial'

# A hunt: which faults break which lock, and what that costs.
hunts=$root/tests/data/hunt-sample
holds 'a hunt is drawn' "$python" "$root/plots/hunt.py" "$hunts" "$work/hunt.svg"
holds 'a set is a mechanism, and what was not run is not called kept' diff "$root/tests/data/plots/hunt.csv" "$work/hunt.csv"
(cd / && TZ=Asia/Tokyo LC_ALL=C HOME=/nonexistent "$python" "$root/plots/hunt.py" "$hunts" "$work/again.svg")
holds 'drawn again it is the same' cmp "$work/hunt.svg" "$work/again.svg"
# What a hunt found and what the rules say: each minimal set of the reference is one of a rule's violations, and a rule that changes its mind is found out.
reference=$root/results/reference-hunt
hunted=$("$python" -c 'import sys; sys.path.insert(0, sys.argv[1]); import hunt_folder; print(*{h.of_rules for h in hunt_folder.hunts_of(sys.argv[2]).values()}, sep=",")' "$root/plots" "$reference")
holds 'the rules say what they expect of the hunted locks' sh -c "'$bin' list expectations '$hunted' >'$work/expected'"
explained() { "$python" "$root/plots/hunt_theory.py" "$reference" "$work/$1" >"$work/out" && tail -1 "$work/out" && [ "$(grep -c 'NO RULE' "$work/out")" -eq "$2" ]; }
holds 'every minimal set is explained by a rule' explained expected 0
sed '/ server-clock-ahead /s/ violated / safe     /' "$work/expected" >"$work/otherwise"
holds 'and is not, where the rules say that the lock is safe' explained otherwise 9
"$python" "$root/plots/hunt.py" "$work/first" "$work/hunt.svg" >"$work/out" 2>"$work/err"
code=$?
holds 'a folder without hunts ends with 2' ends_with 2
holds 'and says so' one_line "$work/err" 'found no SYSTEM/hunt.csv'
cp -R "$hunts" "$work/hunts"
sed -i 's/^L1.restart-P@H,long,1/L1.restart-P@H,long,one/' "$work/hunts/redis-token@redis/hunt.csv"
"$python" "$root/plots/hunt.py" "$work/hunts" "$work/hunt.svg" >"$work/out" 2>"$work/err"
code=$?
holds 'a bad number in hunt.csv ends with 2' ends_with 2
holds 'and is named with its place' one_line "$work/err" "hunt.csv:4: faults is 'one'"

# A run with holes: what is drawn is inside the frames of both programs, what is not is named by both.
sample gaps
"$python" "$root/tests/data/plots/gaps.py" "$work/gaps" plant
render gaps
holds 'a run with holes is drawn' ends_with 0
holds 'each system is inside of both frames, or marked and named by both' "$python" "$root/tests/data/plots/gaps.py" "$work/gaps"

# A sweep of delays.
sample late
"$python" "$root/tests/data/plots/late_points.py" "$work/late" plant
draw late
holds 'a run with several delays is drawn' ends_with 0
holds 'each trial stands at its delay, as what it was, and the edges are those of the run' "$python" "$root/tests/data/plots/late_points.py" "$work/late"
if [ -n "$bin" ]; then
  holds 'and stands on the page' grep -q 'data:image/svg+xml;base64.*How late a follower may be' "$work/late/report.html"
fi

# Where they are read: the paper's figures are included as they are, README's picture is shown 830 pixels wide.
mkdir -p "$work/hunted/paper" && "$python" "$root/plots/hunt.py" "$hunts" "$work/hunted/paper/hunt.pdf" >"$work/out" 2>&1
holds 'no figure of the paper is scaled, and its text has eight points at least' "$python" "$root/tests/data/plots/legible.py" paper "$root" "$work/first/figures" \
  "$work/hunted/paper" "$work/late/figures" "$root"/results/reference*/figures
for run in first settings loads "../..$root/results/reference-speed"; do
  [ -f "$work/$run/run.json" ] || continue
  holds "no text of ${run##*/} is cut off, and no two at ticks touch" "$python" "$root/tests/data/plots/legible.py" drawn "$root" "$work/$run"
done
holds 'no two systems look alike without colour, and no two curves of a chart at all' "$python" "$root/tests/data/plots/legible.py" styles "$root"
for run in "$work/first" "$root"/results/reference "$root"/results/reference-truth; do
  [ -f "$run/run.json" ] || continue
  holds "the picture of README, from ${run##*/}, has 12 x 8 legible cells at most" "$python" "$root/tests/data/plots/legible.py" readme "$root" "$run"
done
holds 'it is drawn' "$python" "$root/plots/readme_figure.py" "$work/first" "$work/readme.png"
(cd / && TZ=Asia/Tokyo LC_ALL=C HOME=/nonexistent "$python" "$root/plots/readme_figure.py" "$work/first" "$work/again.png" >/dev/null)
holds 'and drawn again it is the same' cmp "$work/readme.png" "$work/again.png"
pictured=$root/$(sed -n 's,^!\[.*](\(results/[^)]*\)/figures/readme.png)$,\1,p' "$root/README.md" | head -n 1)
if [ -d "$root/results/reference" ]; then
  "$python" "$root/plots/readme_figure.py" "$pictured" "$work/now.png" >/dev/null
  holds "README's first picture is that of its run" cmp "$work/now.png" "$pictured/figures/readme.png"
  # shellcheck disable=SC2046 # words
  "$python" "$root/plots/readme_chart.py" "$root/results/reference-speed" "$work/chart.png" $(cut -d, -f2 "$root/results/reference-speed/figures/readme.csv" | tail -n +2 | uniq) >/dev/null
  holds 'and so is its chart' cmp "$work/chart.png" "$root/results/reference-speed/figures/readme.png"
  holds 'with its numbers' cmp "$work/chart.csv" "$root/results/reference-speed/figures/readme.csv"
  mkdir "$work/now" && cp "$root"/results/reference-speed/*.* "$work/now/" && "$python" "$root/plots/scaling.py" "$work/now" >/dev/null
  holds 'and so are the numbers of the figure scaling' cmp "$work/now/figures/scaling.csv" "$root/results/reference-speed/figures/scaling.csv"
  if [ -n "$bin" ]; then
    cp -R "$root/results/reference-failover" "$work/failover" && LOCKBENCH_BIN=$bin "$python" "$root/plots/violation.py" "$work/failover" >/dev/null
    holds "the lanes of README's failover are those of its history" cmp "$work/failover/figures/violation.csv" "$root/results/reference-failover/figures/violation.csv"
    holds 'and so is the picture' cmp "$work/failover/figures/violation.png" "$root/results/reference-failover/figures/violation.png"
  fi
fi

# Columns are found by name: newer ones, in between and at the end, change nothing.
sample newer
"$python" "$root/tests/data/plots/newer_columns.py" "$work/newer"
for script in scaling latency safety_speed; do
  figure=$(echo $script | tr _ -)
  holds "newer columns do not disturb $figure" "$python" "$root/plots/$script.py" "$work/newer"
  holds "newer columns do not change $figure" same first newer "$figure.svg"
done

# A missing program: said, and what can be drawn without it is drawn.
mkdir "$work/bin"
for program in sh sed grep cat mktemp rm mv dirname "$(command -v "$python")"; do
  ln -s "$(command -v "$program")" "$work/bin/$(basename "$program")"
done
sample less
(PATH=$work/bin && export PATH && "$root/plots/render" "$work/less" >"$work/out" 2>"$work/err")
code=$?
holds 'without gnuplot it ends with 5' ends_with 5
holds 'without gnuplot it says so, once' sh -c 'test "$(grep -c "gnuplot is missing" "$1")" -eq 1 && test ! -s "$2"' - "$work/out" "$work/err"
holds 'without gnuplot the others are drawn' same first less safety-speed.svg
not_drawn() { # not_drawn NAME LINE...: what the latest render of this run left undrawn
  list=$work/$1/figures/not-drawn.txt
  shift
  printf '%s\n' "$@" | diff - "$list"
}
holds 'without gnuplot the list has that figure only' \
  not_drawn less 'scaling-gnuplot: gnuplot is missing: install gnuplot-nox'
mkdir "$work/no-matplotlib"
echo 'raise ModuleNotFoundError("No module named matplotlib", name="matplotlib")' >"$work/no-matplotlib/matplotlib.py"
sample less
(PYTHONPATH=$work/no-matplotlib && export PYTHONPATH && "$root/plots/render" "$work/less" >"$work/out" 2>"$work/err")
code=$?
holds 'without matplotlib it ends with 5' ends_with 5
holds 'without matplotlib it says so once' sh -c 'test "$(grep -c "matplotlib is missing" "$1")" -eq 1 && test ! -s "$2"' - "$work/out" "$work/err"
holds 'and the page is written' test -s "$work/less/report.html"
why='matplotlib is missing: install python3-matplotlib'
case $python in /usr/bin/*) ;; *) why="matplotlib is missing, for $python" ;; esac
holds 'without matplotlib the list has six figures' not_drawn less "truth-table: $why" "guard-table: $why" \
  "violation: $why" "scaling: $why" "latency: $why" "safety-speed: $why"
holds 'without matplotlib the numbers are written' same first less scaling.csv
holds 'without matplotlib gnuplot draws the same picture' same first less scaling-gnuplot.svg
mkdir "$work/no-jinja2"
echo 'raise ModuleNotFoundError("No module named jinja2", name="jinja2")' >"$work/no-jinja2/jinja2.py"
sample less
echo old >"$work/less/report.html"
(PYTHONPATH=$work/no-jinja2 && export PYTHONPATH && "$root/plots/render" "$work/less" >"$work/out" 2>"$work/err")
code=$?
holds 'without Jinja2 it ends with 5' ends_with 5
holds 'without Jinja2 it is one line' one_line "$work/err" 'page not written: jinja2 is missing'
holds 'without Jinja2 the figures are drawn' same first less safety-speed.svg
holds 'without Jinja2 the page of before stays' grep -qx old "$work/less/report.html"
sample none
LOCKBENCH_PYTHON=$work/nowhere render none
holds 'without a Python it ends with 5' ends_with 5
holds 'without a Python it is one line' one_line "$work/err" 'nowhere is missing'

# What the command says last, and the page.
if [ -n "$bin" ]; then
  sample cli
  (PYTHONPATH=$work/no-matplotlib && export PYTHONPATH && "$bin" report "$work/cli" >"$work/out" 2>"$work/err")
  code=$?
  holds 'report without matplotlib ends with 5' ends_with 5
  every='truth-table, guard-table, violation, scaling, latency, safety-speed'
  holds 'its last line names the figures and the reason once' \
    sh -c 'test "$(tail -n 1 "$1")" = "$2"' - "$work/out" "not drawn: $every ($why)"
  holds 'so does the page' grep -qF "Not drawn: $every ($why)." "$work/cli/report.html"
  "$bin" report "$work/cli" >"$work/out" 2>"$work/err"
  code=$?
  holds 'report draws the sample' ends_with 0
  holds 'the run is not changed' sh -c 'cd "$1" && for file in *.json *.csv; do cmp "$file" "$2/$file" || exit 1; done' - "$made" "$work/cli"
  holds 'its last line is the page' sh -c 'tail -n 1 "$1" | grep -q "^report: .*/report.html$"' - "$work/out"
  holds 'when all is drawn nobody speaks of figures that are not' \
    sh -c '! grep -i "not drawn" "$1" "$2" && ! grep -q "Not drawn:" "$3"' - "$work/out" "$work/err" "$work/cli/report.html"
fi
exit $bad
