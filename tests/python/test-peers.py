# test: beside
# SPDX-License-Identifier: MIT
#
# The libraries of others: every section of peers.ini is complete, every adapter is short and says in its first lines what it is about, and each that is installed
# writes the first line that peers.ini expects. Those that are not installed are skipped. Speaks TAP.
import csv
import glob
import io
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(ROOT, "tests", "helpers"))
sys.path.insert(0, os.path.join(ROOT, "peers"))
import known  # noqa: E402
import tap  # noqa: E402

os.environ.setdefault("LOCKBENCH_PEERS", os.path.join(ROOT, "build", "peers"))
NAME = re.compile(r"[a-z0-9-]+")
MAY_SAY = ("name", "topologies", "ends", "can", "record", "clock")
MAY_CAN = ("extend", "holds", "fence", "validity", "signal", "reentrant", "shared", "permits", "token", "stop", "work", "record")
SHARED = ("adapter.py", "known.py", "adapter.js", "Adapter.java", "Spring.java", "Postgres.java", "peer.go", "record.go")  # no adapters


def protocols():
    """By the tables of backends/: a file may hold several."""
    files = glob.glob(os.path.join(ROOT, "backends", "*", "*.c"))
    return {name for file in files for name in re.findall(r'^ *\.name = "([a-z0-9-]+)",$', open(file, encoding="utf-8").read(), re.M)}


def of_section(name, peer):
    """What is wrong with it."""
    wrong = ["it has no line '%s'" % line for line in known.LINES if line not in peer]
    wrong += ["nobody knows its line '%s'" % line for line in peer if line not in known.LINES and line not in ("facts", "fails", "maker", "museum", "page", *known.REGISTRIES)]
    wrong += ["'museum' is '%s', expected the address of a report" % peer["museum"]] if not peer.get("museum", "https://").startswith("https://") else []
    if wrong:
        return wrong
    says = dict(word.partition("=")[::2] for word in peer["says"].split())
    wrong += ["'says' has no %s" % word for word in MAY_SAY[:5] if word not in says]
    wrong += ["'says' has %s, which nobody knows" % word for word in says if word not in MAY_SAY]
    if says.get("name") != name or not NAME.fullmatch(name):
        wrong.append("its name is '%s', expected that of the section, of a-z, 0-9 and -" % says.get("name"))
    if says.get("ends") not in ("lease", "session", "never"):
        wrong.append("'ends' is '%s', expected lease, session or never" % says.get("ends"))
    wrong += ["'can' names '%s'" % word for word in says.get("can", "").split(",") if word and word not in MAY_CAN]
    wrong += ["'%s' is empty" % line for line in ("run", "version", "like", "there", "summary") if not peer[line]]
    if peer["like"] not in protocols():
        wrong.append("'like' is '%s', which is no protocol" % peer["like"])
    can_tell = "signal" in says.get("can", "").split(",")
    if not re.fullmatch("%s: .+" % ("signal" if can_tell else "none"), peer["guard"]):
        wrong.append("'guard' is '%s', expected '%s: WHERE ITS MANUAL SAYS SO'" % (peer["guard"], "signal" if can_tell else "none"))
    files = [word for word in peer["run"].split() if word.startswith("peers/")]
    files += ["peers/" + word for word in peer.get("maker", "").split()]
    files += ["paper/findings/%s.md" % word for word in peer.get("page", "").split()]
    wrong += ["%s is not there" % file for file in files if not os.path.exists(os.path.join(ROOT, file))]
    return wrong


def of_adapter(path):
    """What is wrong with the file."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    most = 99 if os.path.basename(path) == "reference.py" else 149
    wrong = [] if len(lines) <= most else ["it has %d lines, expected at most %d" % (len(lines), most)]
    if not any("SPDX-License-Identifier: MIT" in line for line in lines[:2]):
        wrong.append("its first two lines do not name the licence")
    head = []
    for line in lines:
        if line.strip() and not re.match(r"#|//|/\*| \*", line):
            break
        head.append(line)
    if not re.search(r"https?://", "\n".join(head)):
        wrong.append("its opening comment does not say where the promise stands (a URL)")
    for word in ("promises", "breaks"):
        if not re.search(word, "\n".join(head), re.I):
            wrong.append("its opening comment does not say what its library %s" % ("promises" if word == "promises" else "is broken by ('breaks')"))
    return wrong


TRIALS = """scenario,system,guard,clients,trial,verdict,history
partition,peer:kazoo@zk-x3,none,2,1,violated,
partition,peer:kazoo@zk-x3,none,2,2,violated,
partition,peer:kazoo@zk-x3,signal,2,1,safe,
partition,peer:kazoo@zk-x3,signal,2,2,undecided,
pause-holder,peer:kazoo@zk-x3,none,2,1,violated,
pause-holder,peer:kazoo@zk-x3,signal,2,1,safe,
pause-holder,peer:kazoo@zk-x3,signal,2,2,violated,
slow-holder,peer:kazoo@zk-x3,none,2,1,safe,
partition,peer:tooz-zookeeper@zk-x3,none,2,1,violated,
partition,peer:tooz-zookeeper@zk-x3,recheck,2,1,safe,
partition,redis-token@redis,none,2,1,safe,
"""


def cells_of(trials):
    cells = {}
    for t in trials:
        key = {name: t[name] for name in ("scenario", "system", "guard")}
        cell = cells.setdefault(tuple(key.values()), key | dict.fromkeys(("trials", "decided", "violated", "undecided", "stuck", "delayed"), 0))
        cell["trials"] += 1
        cell["decided"] += 1
        cell["violated"] += t["verdict"] == "violated"
        cell |= {"double_holds": 1, "within_lease": 0} if "tooz" in t["system"] else {}
    return [cell | {"verdict": ("safe", "violated")[cell["violated"] > 0], "upper95": 1, "note": None, "why": None} for cell in cells.values()]


def of_table():
    """What is wrong with the verdicts: by a program that listens where the manual says so first, by one that does not behind it."""
    expected = {"kazoo": {"partition": "safe (**violated** ¹)", "pause-holder": "safe 1 or **violated** 1 (**violated** ¹)", "slow-holder": "safe", "failover": "–"},
                "tooz-zookeeper": {"partition": "**violated** ²", "slow-holder": "–"}}
    with tempfile.TemporaryDirectory() as run:
        with open(os.path.join(run, "run.json"), "w", encoding="utf-8") as f:
            json.dump({"schema_version": 1, "id": "run", "tool": {}, "machine": {}, "scenarios": [], "cells": cells_of(csv.DictReader(io.StringIO(TRIALS)))}, f)
        said = subprocess.run([sys.executable, os.path.join(ROOT, "plots", "verdict_table.py"), run, "--verdicts"], capture_output=True, text=True, check=False)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in said.stdout.partition("\n\n")[0].splitlines()]
    found = {row[0].strip("`"): dict(zip((cell.strip("`") for cell in rows[0]), row)) for row in rows[2:]}
    wrong = [said.stderr] if said.returncode else []
    wrong += [] if "² only after the lease" in said.stdout else ["nothing says what ² is"]
    wrong += ["it has %s, expected %s" % (sorted(found), sorted(expected))] if set(found) != set(expected) else []
    return wrong + ["%s, %s: '%s', expected '%s'" % (name, scenario, found[name].get(scenario), cell)
                    for name in expected if name in found for scenario, cell in expected[name].items() if found[name].get(scenario) != cell]


def main():
    peers = known.read()
    folder = os.path.join(ROOT, "peers")
    files = (f for pattern in ("*.*", "*/*.*") for f in glob.glob(pattern, root_dir=folder))
    adapters = sorted(f for f in files if re.search(r"\.(py|js|mjs|java|c|go|rs)$", f) and os.path.basename(f) not in SHARED)
    for name, peer in peers.items():
        tap.check("peers.ini: [%s] is complete" % name, of_section(name, peer))
    for file in adapters:
        tap.check("%s is short and says what it is about" % file, of_adapter(os.path.join(folder, file)))
    tap.check("packages are those of the names", [] if known.missing_packages(known.chosen(peers, ["peer:reference"])) == [] else ["reference needs none"])
    tap.check("names choose their sections", [] if list(known.chosen(peers, ["kazoo", "redis-py"])) == ["redis-py", "kazoo"] else ["not these two"])
    tap.check("a library is judged as its manual says, and as by a program that does not listen beside it", of_table())
    tap.check("no name chooses all", [] if known.chosen(peers, []) == peers else ["not all"])
    for name, peer in peers.items():
        title = "%s says at once what peers.ini expects" % name
        if name != "reference" and not known.is_there(peer):
            tap.check(title + " # SKIP not installed", [])
            continue
        line, why = known.first_line(peer)
        tap.check(title, [] if known.without_version(line) == known.expected_line(peer) and " version=" in line else [why or "it says   %s" % line, "expected  " + known.expected_line(peer)])
    sys.exit(tap.end())


main()
