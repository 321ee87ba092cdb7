#!/bin/sh
# test: compute, exit
# SPDX-License-Identifier: MIT
# The paper: no number in it is typed by hand, every number asked for is in the run, what is written is what the run says; and, where
# LaTeX is installed, it sets without a complaint. Works on copies and on a run folder that make-paper-run.py invents.
# One line per statement. Exit 0, 1 (a statement does not hold), 77 (python3 is missing).
# Usage: test-paper.sh LOCKBENCH; $LB_SOURCE_DIR is the root of the sources (default: the folder above this one).
bin=$(realpath "$1") root=${LB_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
python=${LOCKBENCH_PYTHON:-/usr/bin/python3}
command -v "$python" >/dev/null 2>&1 || python=python3
command -v "$python" >/dev/null 2>&1 || { echo "skipped: python3 is missing"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1 LOCKBENCH_PYTHON="$python"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
bad=0

holds() { # holds STATEMENT COMMAND...
  statement=$1
  shift
  if "$@" >"$work/said" 2>&1; then
    printf 'ok: %s\n' "$statement"
  else
    printf 'NOT: %s\n' "$statement"
    sed 's/^/  /' "$work/said"
    bad=1
  fi
}

call() { # call COMMAND...: its exit status in $code, both its streams in the file out
  "$@" >"$work/out" 2>&1
  code=$?
}

ended() { # ended CODE [TEXT]: the latest call, and a text it has to say
  cat "$work/out"
  echo "exit $code, expected $1 ${2:+and: $2}"
  [ "$code" -eq "$1" ] && { [ -z "${2-}" ] || grep -qF -- "$2" "$work/out"; }
}

ln -s "$root/plots" "$work/plots" # the copies look for it beside them
text() { # text: a fresh copy of the paper's sources
  rm -rf "$work/paper"
  cp -R "$root/paper" "$work/paper"
}

plant() { # plant TEXT: as a line before the conclusion of a fresh copy; its number in $line
  text
  line=$(grep -nF '\section{Conclusion}' "$work/paper/lockbench.tex" | cut -d: -f1)
  printf '%s\n' "$1" >"$work/planted"
  sed -i "$((line - 1))r $work/planted" "$work/paper/lockbench.tex"
}

# ---- no number typed by hand

call "$python" "$root/paper/check-numbers"
holds 'the sources have no number typed by hand' ended 0
while IFS= read -r planted; do
  plant "$planted"
  call "$python" "$work/paper/check-numbers"
  holds "a planted number is found: $planted" ended 1 "lockbench.tex:$line:"
done <<'END_OF_PLANTS'
In all of 20 trials the lock was lost.
The rate was $p=.5$ at most.
\newcommand{\myrate}{5889}
\section{More than 3 faults}
It took \LB{run.seconds} 12\,ms.
It failed 5 in each row, \hspace{2pt} though.
\caption{With 16 clients}
Of eighty-nine trials, one was lost.
A third (⅓) of all.
It was 3pt off.
Under \sys{7} it failed.
\Outcome{contention}{broken@none} and 7.
END_OF_PLANTS
plant '% In 20 trials'
call "$python" "$work/paper/check-numbers"
holds 'a comment may say what it likes' ended 0
plant 'See \cite{gray2} and \scen{storm}; \hspace{2.5mm}\sys{redlock@redis-x5}.'
call "$python" "$work/paper/check-numbers"
holds 'names and lengths have digits' ended 0

# ---- the numbers

"$python" "$root/tests/data/make-paper-run.py" "$bin" "$root/scenarios" "$work/run" || exit 1
call "$python" "$root/paper/numbers" "$work/run" "$work/first"
holds 'every number that the text asks for is in a run of all scenarios' ended 0
(cd / && LC_ALL=C TZ=Asia/Tokyo PYTHONHASHSEED=5 "$python" "$root/paper/numbers" "$work/run" "$work/second" >/dev/null)
holds 'the same run gives the same bytes' diff -r "$work/first" "$work/second"
{ read -r committed && read -r committed_speed && read -r committed_hunt; } <"$root/paper/RUN"
# What `lockbench list assumptions` says of the systems of the sample.
assumes() { for word in $2; do echo "$1  $word  text"; done; }
{ assumes redis-token 'memory successor wall-clock rate stops' && assumes redlock 'memory wall-clock rate stops' && assumes zk-sequential stops; } >"$work/assumptions"
beside=
if [ -e "$root/$committed_speed/run.json" ]; then beside="--speed $root/$committed_speed"; fi
if [ -e "$root/$committed_hunt" ]; then beside="$beside --hunt $root/$committed_hunt --assumptions $work/assumptions"; fi
# shellcheck disable=SC2086 # words, or none
call "$python" "$root/paper/numbers" "$root/$committed" "$work/committed" $beside
holds 'every number that the text asks for is in the runs that paper/RUN names' ended 0
holds 'paper/runs finds all that paper/RUN names' test "$("$root/paper/runs" 2>&1)" = "$(sed "s,^,$root/," "$root/paper/RUN")"
holds 'prose about locks stands where the run shows just those' grep -qx '\\LBhas{says.failover.violated}' "$work/committed/numbers.tex"
plant '\Says{failover}{violated}{redis-token@redis}{One Redis} lost it.'
# shellcheck disable=SC2086 # words, or none
call "$python" "$work/paper/numbers" "$root/$committed" "$work/said" $beside
holds 'prose that the run does not show is an error' ended 1 'the prose says that redis-token@redis are violated in failover, and the run found'
holds 'the main table is set as it is, in columns that fit' sh -c '! grep -q "resizebox.*table-truth" "$1" && grep -c "begin{tabular}" "$2" | grep -qx "[3-9]"' - "$root/paper/lockbench.tex" "$work/committed/table-truth.tex"

says() { # says KEY TEXT
  grep -F "\\LBset{$1}{" "$work/first/numbers.tex"
  echo "expected: $2"
  grep -qxF "\\LBset{$1}{$2}" "$work/first/numbers.tex"
}
holds 'text from the machine is LaTeX afterwards' says machine.cpu 'Imaginary\textsuperscript{\textregistered} 100\% CPU\_1 @ 3 GHz'
holds 'a date' says run.date 2000-01-02
holds 'a duration' says run.minutes 73
cat >"$work/compare.py" <<'END_OF_PYTHON'
# The tables and keys, held against run.json and the CSV files by other means than those that made them.
import csv, importlib.machinery, importlib.util, json, os, re, sys
run, out, script = sys.argv[1:]
sys.path.insert(0, os.path.dirname(script))
loader = importlib.machinery.SourceFileLoader("paper_numbers", script)
paper = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(paper)
keys = dict(re.match(r"\\LBset\{([^}]*)\}\{(.*)\}$", line).groups() for line in open(f"{out}/numbers.tex") if line.startswith("\\LBset"))
cells = json.load(open(f"{run}/run.json"))["cells"]
for c in cells:
    key = f"{c['scenario']}.{c['system']}.{c['guard']}.kn"
    assert keys[key] == f"{c['violated']}/{c['trials'] - c['undecided']}", (key, keys[key])
assert keys["count.violated"] == str(sum(c["verdict"] == "violated" for c in cells))
assert keys["count.undecided_trials"] == "0"
assert keys["count.again_trials"] == "0"
late = [t for t in csv.DictReader(open(f"{run}/trials.csv")) if t["scenario"].startswith("lagging-follower-sweep")]
assert keys["late.trials"] == str(len(late)) == "90" and keys["late.between"] == keys["late.between_violated"] == "12"
assert keys["late.outside"] == str(3 * (3 + 6 + 10)) and keys["late.edge"] == str(3 * (3 + 4))  # 433 and 1100 ms are the least that may end a session
assert keys["late.edge_violated"] == "3" and keys["late.long_session_ms"] == r"2\,550"
assert keys["late.limit_ms"] == r"1\,600" and keys["late.beyond_left"] == keys["late.beyond"] == str(sum(t["servers_left"] == "1" for t in late))
assert "lagging-follower" in open(f"{out}/figures.txt").read().split()
violated = [c for c in cells if c["verdict"] == "violated" and c["guard"] == "none"]
truth = open(f"{out}/table-truth.tex").read()
assert truth.count(r"\cellcolor") == len(violated) > 20
guarded = [c for c in cells if c["guard"] != "none" and c["verdict"] == "violated"]
assert guarded and open(f"{out}/table-guard.tex").read().count(r"\cellcolor") >= len(guarded)
rates = sorted(float(t["grants_per_s"]) for t in csv.DictReader(open(f"{run}/trials.csv"))
               if (t["scenario"], t["system"], t["clients"]) == ("contention", "redlock@redis-x5", "16"))
assert len(rates) == 5 and keys["contention.redlock@redis-x5.c16.rate"] == keys["speed.contention.redlock@redis-x5.c16.rate"] == paper.number(rates[2]), rates
handoffs = sorted(float(t["grants_per_s"]) * int(t["handoffs"]) / int(t["grants"]) for t in csv.DictReader(open(f"{run}/trials.csv"))
                  if (t["scenario"], t["system"], t["clients"]) == ("contention", "redlock@redis-x5", "16"))
assert keys["contention.redlock@redis-x5.c16.handoffs"] == paper.number(handoffs[2]), handoffs
assert keys["runs.count"] == "one run" and keys["runs.named"] == "run invented, 2000-01-02"

near = lambda a, b: all(abs(x - y) < 1e-4 for x, y in zip(a, b))
assert near(paper.wilson(10, 20), (0.2993, 0.7007)) and near(paper.wilson(20, 20), (0.8389, 1)), "Wilson"
assert near(paper.wilson(0, 0), (0, 1)) and near([paper.upper_of_none(20)], [0.1391]), "none seen"
assert paper.quantile({(1, 1): 50, (5, 7): 49, (100, 100): 1}, 0.5) == 1 and paper.quantile({(1, 1): 50, (5, 7): 49, (100, 100): 1}, 0.99) == 6
for x, text in ((0.0012345, "0.00123"), (12345, r"12\,300"), (999.9, r"1\,000"), (0, "0"), (2.0, "2.00")):
    assert paper.number(x) == text, (x, paper.number(x))
assert paper.tex("a_b & 5% <x>") == r"a\_b \& 5\% \textless{}x\textgreater{}"
cell = {"verdict": "violated", "violated": 3, "trials": 5, "undecided": 1, "stuck": 0}
assert paper.outcome(cell) == "violated in 3 of 4 trials", paper.outcome(cell)
cell["alone"] = 1  # a single client cannot lose exclusion: no trial that a rate or a bound could refer to
assert paper.outcome(cell) == "violated in 3 of 3 trials", paper.outcome(cell)
alone = sum((t["scenario"], t["system"], t["clients"]) == ("contention", "local@none", "1") for t in csv.DictReader(open(f"{run}/trials.csv")))
bound = 1 - 0.05 ** (1 / (next(c["trials"] for c in cells if (c["scenario"], c["system"]) == ("contention", "local@none")) - alone))
assert alone == 5 and keys["contention.local@none.none.range"] == "safe, below " + paper.percent(bound), alone
campaign = open(f"{out}/table-campaign.tex").read()
rows = [c for c in cells if c["faults"] is not None and c["guard"] in ("none", "fence")]
assert rows and campaign.count("25 [11--45]") == 3 * sum(c["violations"] > 0 for c in rows), campaign
notes = open(f"{out}/table-campaign-notes.tex").read()
assert "never: kill holder." in notes and "does not separate from" in notes, notes
named = {f"{name} ({guard})" for name, guard in re.findall(r"\\sys\{([^}]*)\}(?: \(([a-z]+)\))?", notes)}
assert named <= {f"{c['system']} ({'' if c['guard'] == 'none' else c['guard']})" for c in rows}, named
stuck = {"verdict": "mixed", "violated": 0, "stuck": 1, "trials": 20, "undecided": 0, "as_expected": True}
assert paper.truth_cell(stuck) == r"\textit{m\,1/20}", paper.truth_cell(stuck)
assert paper.truth_cell(stuck | {"violated": 2}) == r"\cellcolor{violated}\textit{m\,3/20}"
few = {"violations": 4, "trials": 5, "undecided": 0, "decided_handoffs": 100, "decided_hours": 0.5, "x": 3, "x_low": 1, "x_high": 9}
text = lambda exposure, **more: paper.rate_text(few | more, "x", exposure)
assert text("decided_handoffs") == text("decided_hours") == "4 ($<$9.0)", text("decided_hours")
assert text("decided_handoffs", violations=5) == "3.0 [1.0--9.0]" and text("decided_handoffs", violations=5, trials=1) == "5 in 100"
assert text("decided_handoffs", violations=12, decided_handoffs=99) == "12 in 99" and text("decided_hours", violations=5, trials=1) == r"5 in 1\,800\,s"
assert paper.seconds_text(few) == r"1\,800" and paper.seconds_text({"decided_hours": 0.00118}) == "4.2" and paper.seconds_text({}) == "--"
assert text("decided_hours", x=None) == paper.share_text({}, "y") == "--"
words = open(sys.argv[3].replace("paper/numbers", "harness/show/campaign_text.h")).read()
heads = re.findall(r'X\("([^"]*)", "([^"]*)"\)', words)
assert heads == paper.CAMPAIGN_COLUMNS, heads
caption = "".join(re.findall(r'"([^"]*)"', words.split("LB_CAMPAIGN_CAPTION")[1]))
assert caption == paper.CAMPAIGN_CAPTION, caption
made_by = lambda cell: type("Run", (), {"json": {"cells": [cell]}})
assert paper.campaign_caption(made_by({"faults_unused": 0})) == caption and "never talk" in paper.replaced_faults(made_by({}))
older = paper.campaign_caption(made_by({}))
assert "that nobody used is one, too" in older and "whenever it was overtaken" in older and "then or later" not in older, older
constants = words + open(sys.argv[3].replace("paper/numbers", "harness/base/interval.h")).read()
least = [re.search(rf"LB_LEAST_{name} = (\d+)", constants)[1] for name in ("EVENTS", "TRIALS", "HANDOFFS")]
assert list(map(int, least)) == [paper.LEAST_EVENTS, paper.LEAST_TRIALS, paper.LEAST_HANDOFFS], least
assert "needs {} violations in {} trials, and {} hand-offs".format(*least) in caption
assert keys["figure.violation"].startswith(r"\scen{pause-holder} on \command{"), keys["figure.violation"]
assert paper.shown_counts([1, 2, 4, 8, 16, 32, 64]) == [1, 16, 64] and paper.shown_counts([1, 2, 4, 8]) == [1, 4, 8] and paper.shown_counts([1, 16]) == [1, 16]
END_OF_PYTHON
holds 'keys and tables say what the run says' "$python" "$work/compare.py" "$work/run" "$work/first" "$root/paper/numbers"

plant 'It was \LB{failover.redis-token@sentinell.violated}.'
call "$python" "$work/paper/numbers" "$work/run" "$work/none"
holds 'a key that the run does not have is named, with its place' ended 1 "lockbench.tex:$line: the run invented has no value 'failover.redis-token@sentinell.violated'"
holds 'and with the nearest that it has' ended 1 'did you mean failover.redis-token@sentinel.violated'
holds 'nothing is written then' test ! -e "$work/none"
plant '\claim{Some \emph{statement}}{failover}{redis-token@nowhere}{none}'
call "$python" "$work/paper/numbers" "$work/run" "$work/none"
holds 'a claim on a cell that the run does not have is named' ended 1 "'failover.redis-token@nowhere.none.range'"
plant '\WhenRun{no-such-scenario}{It \emph{was} \Violated{no-such-scenario}.} And \LB{no.such}.'
call "$python" "$work/paper/numbers" "$work/run" "$work/none"
holds 'what is said of a scenario that was not run asks for nothing, what stands after it does' \
  sh -c 'test "$1" -eq 1 && test "$(grep -c "has no value" "$2")" -eq 1 && grep -q "no\.such" "$2"' sh "$code" "$work/out"
cat >"$work/change.py" <<'END_OF_PYTHON'
# change.py RUN OUT WHAT: a copy of an invented run in which something that the text claims is not so.
import csv, json, shutil, sys
run, out, what = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
shutil.copytree(run, out)
j = json.load(open(f"{run}/run.json"))
cell = next(c for c in j["cells"] if (c["scenario"], c["system"], c["guard"]) == ("majority-lost", "redlock@redis-x5", "none"))
if what in ("lacks", "other"):
    j["scenarios"] = [s for s in j["scenarios"] if s["name"] != "clock-back"]
    j["cells"] = [c for c in j["cells"] if c["scenario"] != "clock-back"]
if what == "other":
    j["argv"] = ["suite", "quick"]
if what == "unexpected":
    cell |= {"verdict": "safe", "violated": 0, "as_expected": False}
if what == "undecided":
    cell |= {"verdict": "undecided", "violated": 0, "undecided": cell["trials"], "as_expected": None, "why": "no premise"}
if what == "blank":
    next(c for c in j["cells"] if c["verdict"] == "n/a")["why"] = None
if what == "hole":
    j["cells"].remove(next(c for c in j["cells"] if c["verdict"] == "n/a"))
if what == "unseen":
    cell["premises_observed"] -= 1
if what == "rate":
    next(c for c in j["cells"] if (c["scenario"], c["system"], c["guard"]) == ("storm", "redlock@redis-x5", "none"))["verdict"] = "undecided"
if what in ("fast", "late"):
    with open(f"{run}/trials.csv") as file:
        rows = csv.DictReader(file)
        fields, trials = rows.fieldnames, list(rows)
    for t in trials:
        if what == "late" and t["scenario"] == "lagging-follower-sweep~ttl_ms=2600~delay_ms=1300" and t["trial"] == "2":
            t["verdict"] = "violated"
        if what == "fast" and (t["scenario"], t["system"]) == ("contention", "redlock@redis-x5"):
            t["grants_per_s"] = 100 * float(t["grants_per_s"])
    with open(f"{out}/trials.csv", "w") as file:
        rows = csv.DictWriter(file, fields)
        rows.writeheader()
        rows.writerows(trials)
if what == "loud":
    j["control"]["violations"] = 1
if what == "open":
    j["control"]["undecided"] = 1
json.dump(j, open(f"{out}/run.json", "w"))
END_OF_PYTHON
while IFS='|' read -r what said; do
  "$python" "$work/change.py" "$work/run" "$work/changed" "$what" || exit 1
  call "$python" "$root/paper/numbers" "$work/changed" "$work/none"
  holds "a run of the suite paper has to show what is claimed ($what)" ended 1 "$said"
done <<'END_OF_CHANGES'
lacks|the run invented has no scenario 'clock-back'
unexpected|the claim on majority-lost redlock@redis-x5 none expects violated, and the run found safe
undecided|the claim on majority-lost redlock@redis-x5 none expects violated, and the run found undecided
blank|the claim 'blank' does not hold: 1 of
hole|the claim 'blank' does not hold: 1 of
unseen|the claim 'premises' does not hold: 1 of
rate|the rate of storm redlock@redis-x5 none is of no decided trial
late|the claim 'late' does not hold: 1 of 57 trials
fast|the claim that redlock@redis-x5 is slower does not hold: by a factor of 0.0
loud|the claim 'silent' does not hold: 1 in
open|the claim 'silent' does not hold: 0 in
END_OF_CHANGES
"$python" "$work/change.py" "$work/run" "$work/changed" other || exit 1
call "$python" "$root/paper/numbers" "$work/changed" "$work/other"
holds 'any other run may lack a scenario, and that is said aloud' ended 0 "has no scenario 'clock-back'"
holds 'in the text, too' grep -qF 'This run lacks \scen{clock-back}' "$work/other/numbers.tex"
call "$python" "$root/paper/numbers" "$work/no-run" "$work/none"
holds 'a folder that is no run is refused' ended 2 'is not a run folder'

# ---- two runs: what was lost, and what a lock costs

"$python" "$root/tests/data/make-paper-run.py" "$bin" "$root/scenarios" "$work/fast" speed || exit 1
call "$python" "$root/paper/numbers" "$work/run" "$work/both" --speed "$work/fast"
holds 'every number that the text asks for is in a run of each suite' ended 0
holds 'the text can tell which of the two it is' sh -c '! grep -q "LBhas{speed}" "$1/first/numbers.tex" && grep -q "LBhas{speed}" "$1/both/numbers.tex"' sh "$work"
plant '\UnlessRun{speed}{Alone it was \LB{no.such}.}\WhenRun{speed}{Beside it was \LB{speed.no.such}.}'
call "$python" "$work/paper/numbers" "$work/run" "$work/none"
holds 'what is said of one run alone is asked of one run alone' sh -c 'grep -q "the run invented has no value .no\.such" "$1" && ! grep -q "speed\.no" "$1"' sh "$work/out"
call "$python" "$work/paper/numbers" "$work/run" "$work/none" --speed "$work/fast"
holds 'and what is said of two of the second' sh -c 'grep -q "the run fast has no value .speed\.no\.such" "$1" && test "$(grep -c "has no value" "$1")" -eq 1' sh "$work/out"
cat >"$work/compare-both.py" <<'END_OF_PYTHON'
# What is said of speed is of the second run, all else of the first.
import csv, re, statistics, sys
run, fast, out = sys.argv[1:]
keys = dict(re.match(r"\\LBset\{([^}]*)\}\{(.*)\}$", line).groups() for line in open(f"{out}/numbers.tex") if line.startswith("\\LBset"))
wanted = ("contention", "zk-sequential@zk-x3", "16")
def of(folder, column):
    return statistics.median(float(t[column]) for t in csv.DictReader(open(f"{folder}/trials.csv")) if (t["scenario"], t["system"], t["clients"]) == wanted)
place, near = "contention.zk-sequential@zk-x3.c16.", lambda text, x: abs(float(text.replace(r"\,", "")) - x) <= 0.006 * x
assert near(keys["speed." + place + "rate"], of(fast, "grants_per_s")) and near(keys[place + "rate"], of(run, "grants_per_s"))
assert not near(keys["speed." + place + "rate"], of(run, "grants_per_s"))
assert near(keys["speed." + place + "handoffs"], of(fast, "handoffs_per_s")) and keys["speed." + place + "again"] == r"40.0\,\%"
assert near(keys["speed." + place + "warmup_s"], of(fast, "warmup_ms") / 1000) and near(keys["speed." + place + "heated_s"], of(fast, "heated_ms") / 1000) and keys["speed." + place + "unsettled"] == "1"
windows = [t for t in csv.DictReader(open(f"{fast}/trials.csv")) if t["scenario"] == "contention" and not t["system"].endswith("@none")]
assert keys["speed.contention.windows"] == str(len(windows)) and keys["speed.contention.unsettled"] == str(sum(t["unsettled"] == "1" for t in windows)) != "0"
assert keys["speed." + place + "commits"] == "2.25" and keys["speed.run.id"] == "fast" and keys["run.id"] == "invented"
assert keys["runs.count"] == "two runs" and keys["runs.named"] == "runs invented, 2000-01-02 and fast, 2000-01-02"
speed, truth, wake = (open(f"{out}/table-{name}.tex").read() for name in ("speed", "truth", "wake"))
assert r"\sys{zk-sequential@zk-x3-nosync}" in speed and "pg-lease-client" not in speed and "zk-nosync" not in truth and "pg-lease-client" in truth
assert speed.index("nothing is kept") < speed.index("zk-sequential@zk-nosync") < speed.index("everything is synced") < speed.index("{zk-sequential@zk}")
assert open(f"{out}/table-settings.tex").read().count(r"\textquotedbl{}\textquotedbl{}") == 1
assert r"\sys{pg-lease@pg}&1--20&" in wake and "zk-sequential" not in wake and "contention-wake" not in truth, wake
assert open(f"{out}/table-environment.tex").read().count("begun&") == 2
assert r"\sys{redis-aof}" in open(f"{out}/table-settings.tex").read()
END_OF_PYTHON
holds 'speed is that of the second run, and all else that of the first' "$python" "$work/compare-both.py" "$work/run" "$work/fast" "$work/both"
cat >"$work/change-speed.py" <<'END_OF_PYTHON'
# change-speed.py RUN OUT WHAT: a copy of an invented run of speed that does not fit, or does not show something.
import csv, json, shutil, sys
run, out, what = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
shutil.copytree(run, out)
j = json.load(open(f"{run}/run.json"))
if what == "cpu":
    j["machine"]["cpu"] = "Another CPU"
if what == "memory":
    j["machine"]["memory_mib"] *= 2
if what == "server":
    j["servers"]["pg"] = "postgresql 16.1"
if what == "setting":
    next(s for s in j["settings"] if s["topology"] == "zk-x3")["differs"].append("tickTime=7 (else 2000)")
if what == "protocols":
    j["tool"]["protocols"] = "000000000000"
if what == "commit":
    del j["tool"]["protocols"]
    j["tool"]["commit"] = "aaaaaaaaaaaa"
if what == "option":
    next(c for c in j["cells"] if (c["scenario"], c["system"]) == ("contention", "redis-token@redis"))["options"]["wake"] = True
if what in ("lacks", "mine"):
    j["scenarios"] = [s for s in j["scenarios"] if s["name"] != "contention-wake"]
if what == "mine":
    j["argv"] = ["suite", "mine"]
if what == "same":
    j["machine"]["load_before"], j["machine"]["memory_mib"], j["tool"]["commit"], j["seed"] = 1.5, j["machine"]["memory_mib"] + 1, "bbbbbbbbbbbb", 8
json.dump(j, open(f"{out}/run.json", "w"))
if what == "fast":
    with open(f"{run}/trials.csv") as file:
        rows = csv.DictReader(file)
        fields, trials = rows.fieldnames, list(rows)
    for t in trials:
        if (t["scenario"], t["system"]) == ("contention", "zk-sequential@zk-x3"):
            t["handoffs_per_s"] = 100 * float(t["handoffs_per_s"])
    with open(f"{out}/trials.csv", "w") as file:
        rows = csv.DictWriter(file, fields)
        rows.writeheader()
        rows.writerows(trials)
END_OF_PYTHON
while IFS='|' read -r what exit_code said; do
  "$python" "$work/change-speed.py" "$work/fast" "$work/changed" "$what" || exit 1
  call "$python" "$root/paper/numbers" "$work/run" "$work/none" --speed "$work/changed"
  holds "two runs that do not fit, or a run of speed that does not show what is claimed ($what)" ended "$exit_code" "$said"
done <<'END_OF_CHANGES'
cpu|2|may not stand in one text: the machine's cpu is Imaginary(R) 100% CPU_1 @ 3 GHz in the one and Another CPU in the other
memory|2|the machine's memory is 8192 MiB in the one and 16384 MiB in the other
server|2|the servers' version of pg is postgresql 15.20 in the one and postgresql 16.1 in the other
setting|2|the setting of measured servers of zk-x3 on disk is
protocols|2|the protocols are of the digest ba9876543210 in the one and 000000000000 in the other
commit|2|the protocols are of the commit 0123456789ab in the one and aaaaaaaaaaaa in the other
option|2|the options of contention redis-token@redis none is
lacks|1|the run fast has no scenario 'contention-wake'
fast|1|the claim that zk-sequential@zk-x3 is slower does not hold: by a factor of 0.
mine|0|the run fast has no scenario 'contention-wake' (left out or not shown: not the paper's own run)
same|0|
END_OF_CHANGES
call "$python" "$root/paper/numbers" "$work/run" "$work/none" --speed "$work/no-run"
holds 'a second folder that is no run is refused' ended 2 'is not a run folder'

# ---- a hunt

hunted=$root/tests/data/hunt-sample
call "$python" "$root/paper/numbers" "$work/run" "$work/hunted" --hunt "$hunted" --assumptions "$work/assumptions"
holds 'every number that the text asks for is in a hunt, too' ended 0
holds 'a difference that the text does not explain is named' ended 0 'Not explained yet: \sys{redlock@redis-x5} (wall clock), \sys{redlock@redis-x5} (nothing) and \sys{zk-sequential@zk-x3} (successor).'
holds 'in the text, too' grep -q 'LBset{hunt.unexplained}{Not explained yet' "$work/hunted/numbers.tex"
holds 'where it was run, as far as the folder says it' grep -q 'LBset{hunt.where}{They were run on 2 cores of A .* B, Linux 6.1, with protocols of the digest 0123456789ab, against redis 7[.]}' "$work/hunted/numbers.tex"
holds 'the text can tell whether it has one' sh -c '! grep -q "LBhas{hunt}" "$1/first/numbers.tex" && grep -q "LBhas{hunt}" "$1/hunted/numbers.tex"' sh "$work"
holds 'and what became of what need not be run' grep -q 'LBset{hunt.checks}{Of those that hold a minimal set, 1 were run, and 0 .* 1 were run as a check .*: 1 came out' "$work/hunted/numbers.tex"
row() { # row TABLE SYSTEM CELLS: the row of a system
  grep -F "\\sys{$2}&" "$work/hunted/table-$1.tex"
  printf "expected: %s\n" "$3"
  grep -qxF "\\sys{$2}&$3\\\\" "$work/hunted/table-$1.tex"
}
yes='\cellcolor{violated}'
holds 'a row: what was run of the space, what holds a set left out; smallest number; minimal sets; with unreal clocks; core; sometimes; after the lease; numbers; blocked; undecided' \
  row hunt redis-token@redis '9/9&1/2&1&2&0&1&3/7&0&1&0&1&0'
holds 'a row with more than a twentieth undecided is marked' row hunt zk-sequential@zk-x3 '5/6&&--&0&&0&0/3&1&1&0&0&1!'
holds 'of servers that are apart, too' row hunt redlock@redis-x5 '6/6&2/2&1&1&1&1&0/2&1&0&0&0&0'
holds 'a lock that lies needs no fault' row hunt broken@none '1/1&&0&0&&0&--&0&0&0&0&0'
holds 'what a lock rests on: the least number of faults; two of them where one is not enough' row rests redis-token@redis "${yes}1&${yes}&${yes}1&${yes}2&&${yes}1"
holds 'declared and kept is no number, and what is not declared is not shaded' row rests redlock@redis-x5 "${yes}1&&${yes}--&${yes}1&&${yes}"
holds 'not decided is not kept; what breaks sometimes is in brackets' row rests zk-sequential@zk-x3 "?&(1)&--&&&${yes}1"
holds 'who lies rests on nothing' sh -c '! grep -F broken "$1"' sh "$work/hunted/table-rests.tex"
plant '\WhenRun{differs.redlock@redis-x5.nothing}{It \emph{was} \LB{hunt.redlock@redis-x5.least}.}\WhenRun{differs.local@none.memory}{\LB{no.such}}'
call "$python" "$work/paper/numbers" "$work/run" "$work/planted-hunt" --hunt "$hunted" --assumptions "$work/assumptions"
holds 'a difference that the text explains is not, and one that is not there asks for nothing' \
  sh -c '[ "$1" -eq 0 ] && grep -F "Not explained yet: \\sys{redlock@redis-x5} (wall clock) and \\sys{zk-sequential@zk-x3} (successor)." "$2" && ! grep -F "(nothing)" "$2"' sh "$code" "$work/out"
call "$python" "$root/paper/numbers" "$work/run" "$work/none" --hunt "$work/run" --assumptions "$work/assumptions"
holds 'a folder without a hunt is refused' ended 2 'found no SYSTEM/hunt.csv'
echo 'redlock luck text' >"$work/luck"
call "$python" "$root/paper/numbers" "$work/run" "$work/none" --hunt "$hunted" --assumptions "$work/luck"
holds 'an assumption that nobody here knows is refused' ended 2 'with one of memory, successor'
awk '/lb_assumptions\[\] = \{/ { on = 1 } /^};/ { on = 0 } on && match($0, /^    \{"[a-z-]+"/) { print substr($0, 7, RLENGTH - 7) }' "$root/backends/backend.c" >"$work/declared"
"$python" -c 'import sys; sys.path.insert(0, sys.argv[1]); import hunted; print("\n".join(hunted.HEADS))' "$root/paper" >"$work/known"
holds 'those of the protocols are those of the paper' diff "$work/declared" "$work/known"

# Whatever the python3 in PATH is: Debian's is taken. (A number in the text stops the build before LaTeX is needed.)
mkdir "$work/stub" && printf '#!/bin/sh\nexit 1\n' >"$work/stub/python3" && chmod +x "$work/stub/python3"
plant 'In 17 trials nothing was lost.'
call env -u LOCKBENCH_PYTHON "PATH=$work/stub:$PATH" "$work/paper/build" "$work/run" "$work/none" false
holds 'a broken python3 in PATH is passed over' ended 1 "lockbench.tex:$line:"

call bash "$root/bench" paper "$work/no-run"
holds 'by ./bench paper, too, before it installs or builds anything' ended 2 'is no run folder'
call bash "$root/bench" paper "$work/run" "$work/no-run"
holds 'the second one as well' ended 2 "$work/no-run is no run folder"
call bash "$root/bench" paper "$work/run" "$work/fast" "$work/run"
holds 'a third one is one too many' ended 2 'paper takes a run folder, or one and that of a run of speed, and the folder of a hunt'

# A tool that says what it rests on and what it predicts, and can do nothing else.
cat >"$work/theory.json" <<'END'
{"coverage": {"scenarios": 3, "systems": 2, "decided": 40, "by_rules": 39, "by_exceptions": 1, "share_by_rules": 0.975, "expect_lines": 1}, "facts": [{"fact": "ends"}],
 "attacks": [{"attack": "holder-stopped", "what": "the holder stops", "rules": [{"text": "!ends=never|connection -> violated by clock: it goes on"}, {"text": "-> stuck: nothing ends it"}]}],
 "exceptions": [{"scenario": "control", "systems": ["redlock@redis-x5"], "guards": ["none", "fence"], "predicted": ["safe"], "stated": "race", "reason": "a race"},
  {"scenario": "control", "systems": ["nowhere@none"], "guards": ["none"], "predicted": ["safe"], "stated": "race", "reason": "elsewhere"}]}
END
cat >"$work/expectations.json" <<'END'
{"facts": [{"fact": "ends"}], "systems": {"redlock@redis-x5": {}},
 "rules": [{"line": 9, "attack": "holder-stopped", "what": "the holder stops", "text": "-> stuck: nothing ends it", "verdict": "stuck", "reason": "nothing ends it"}],
 "scenarios": [{"scenario": "control", "attack": "holder-stopped", "stated": [{"system": "redlock@redis-x5", "guard": "none", "verdict": "race", "reason": "a race"}],
  "cells": [{"system": "redlock@redis-x5", "guard": "none", "verdict": "race", "source": "exception", "rule": null, "reason": "a race", "predicted": "stuck", "stated": 0}]}]}
END
printf '#!/bin/sh\ncase "$1 $2" in "list assumptions") cat "%s" ;; "list expectations") cat "%s" ;; *) exit 1 ;; esac\n' "$work/assumptions" "$work/expectations.json" >"$work/lockbench" && chmod +x "$work/lockbench"
call "$python" "$root/paper/numbers" "$work/run" "$work/derived" --theory "$work/theory.json"
holds 'rules and exceptions are written' sh -c '[ "$1" -eq 0 ] && grep -F "not ends=never or connection" "$2/table-rules.tex" && grep -F "under none, fence" "$2/table-exceptions.tex" && grep -F "theory.share" "$2/numbers.tex" &&
  ! grep -F elsewhere "$2/table-exceptions.tex" && grep -F "1 more" "$2/table-exceptions.tex"' sh "$code" "$work/derived"
echo '{"coverage": {}}' >"$work/no-theory.json"
call "$python" "$root/paper/numbers" "$work/run" "$work/none" --theory "$work/no-theory.json"
holds 'what is no theory is refused' ended 2 'expected what `plots/theory.py` prints'

# ---- the PDF

if command -v pdflatex >/dev/null 2>&1 && command -v bibtex >/dev/null 2>&1 && kpsewhich lmodern.sty booktabs.sty >/dev/null 2>&1; then
  call "$root/paper/build" "$work/run" "$work/pdf" "$work/lockbench"
  holds 'the paper sets: no undefined reference, nothing sticks out by more than ten points' ended 0
  holds 'and says that it has no hunt' ended 0 'no hunt is part of this build'
  pages=$(sed -n 's/.*: \([0-9]*\) pages from.*/\1/p' "$work/out")
  holds "it has six to eighteen pages (${pages:-none})" test "${pages:-0}" -ge 6 -a "${pages:-0}" -le 18
  cp "$work/pdf/lockbench.pdf" "$work/first.pdf"
  "$root/paper/build" "$work/run" "$work/pdf" "$work/lockbench" >/dev/null 2>&1
  holds 'set again, it is the same PDF' cmp "$work/first.pdf" "$work/pdf/lockbench.pdf"
  if "$python" -c 'import matplotlib' 2>/dev/null; then
    call "$root/paper/build" "$work/run" "$work/pdf" "$work/lockbench" "$work/fast"
    holds 'of two runs it sets, too' ended 0 'pages from the run run and the run fast'
    holds 'with the figures of speed of the second' sh -c 'cmp "$1/fast/figures/scaling.pdf" "$1/pdf/figures/scaling.pdf" && cmp "$1/run/figures/violation.pdf" "$1/pdf/figures/violation.pdf"' sh "$work"
    holds 'and that of safety and speed drawn from both' sh -c '! cmp -s "$1/run/figures/safety-speed.pdf" "$1/pdf/figures/safety-speed.pdf"' sh "$work"
  fi
  if "$python" -c 'import matplotlib' 2>/dev/null; then
    call "$root/paper/build" "$work/run" "$work/pdf" "$work/lockbench" '' "$hunted"
    holds 'with a hunt it sets, too, with its figure' sh -c '[ "$1" -eq 0 ] && grep "and the hunt hunt-sample" "$2/out" && [ -s "$2/pdf/figures/hunt.pdf" ]' sh "$code" "$work"
  fi
  plant 'See Section~\ref{sec:nowhere}, and~\cite{nobody}.

\noindent\mbox{This is a line that sticks out of its column for it may not be broken at all, wherever that is.}

'
  call "$work/paper/build" "$work/run" "$work/pdf" "$work/lockbench"
  holds 'an undefined reference stops the build' ended 1 'undefined: sec:nowhere'
  holds 'so does an undefined citation' ended 1 'undefined: nobody'
  holds 'so does a line that sticks out' ended 1 'Overfull'
  rm "$work/run/figures/scaling.pdf"
  call "$root/paper/build" "$work/run" "$work/pdf" "$work/lockbench"
  holds 'a figure that nobody draws is an error' ended 1 'lockbench report failed'
else
  echo "skipped: the PDF (LaTeX is not installed)"
fi
exit "$bad"
