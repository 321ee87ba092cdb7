#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-junit.py LOCKBENCH PLUGIN_FOLDER - the file of --junit is JUnit, and says of each cell what run.json says.

Only locks without servers are played. Speaks TAP.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

LOCKBENCH = os.path.abspath(sys.argv[1])
FRAME = """[scenario]
title = one lock, asked twice
question = What does CI read?
refuted = A cell is told otherwise.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 2000
[timeline]
step = client 1 acquire within 5s
step = client 2 acquire within 5s
step = client 1 release within 2s
step = client 2 release within 2s
"""
# Who has released does not hold, so the premise was not so.
OPEN = FRAME + "step = observe client 1\n[proof]\npremise = client 1 holds\n"


def call(*words):
    done = subprocess.run([LOCKBENCH, *words], cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def read(name):
    """Of each testcase (scenario, system, guard): the tag of what it has, or "passed"; and the counts that do not add up."""
    root = xml.parse(folder / name).getroot()
    suite = root.find("testsuite")
    cases = suite.findall("testcase")
    wrong = [f"root <{root.tag}>, expected <testsuites>"] * (root.tag != "testsuites")
    ends = {}
    for case in cases:
        said = [child for child in case if child.tag != "system-out"]
        float(case.get("time"))
        ends[(case.get("classname"), *case.get("name").split(" "))] = said[0].tag if said else "passed"
        wrong += [f"{case.attrib}: {len(said)} children"] * (len(said) > 1)
        wrong += [f"<{child.tag}> without a message" for child in said if not child.get("message")]
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        seen = list(ends.values()).count(tag)
        wrong += [f"{count}={suite.get(count)}, but {seen} are there"] * (suite.get(count) != str(seen))
    wrong += [f"tests={suite.get('tests')}, but {len(cases)} are there"] * (suite.get("tests") != str(len(cases)))
    return ends, wrong


def wanted(cell, judged):
    verdict = cell["verdict"]
    if cell["trials"] == 0: return "skipped"
    if verdict == "undecided": return "error"
    if judged: return "failure" if cell["violated"] or cell["stuck"] else "passed"
    return "passed" if cell["as_expected"] in (True, None) and (cell["expected"] or verdict == "safe") else "failure"


def compare(ends, cells, judged=False):
    cells = {(cell["scenario"], cell["system"], cell["guard"]): wanted(cell, judged) for cell in cells if not judged or cell["guard"] == "none"}
    return [f"{key}: {ends.get(key)}, expected {cells.get(key)}" for key in sorted(ends.keys() | cells.keys()) if ends.get(key) != cells.get(key)]


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    (folder / "asked-twice.ini").write_text(FRAME + "[expect]\nlocal@none = safe: one at a time\nnull@none = safe: which is <false> & \"wrong\"\n", encoding="utf-8")
    (folder / "open.ini").write_text(OPEN + "[expect]\n* = safe: nobody knows\n", encoding="utf-8")
    code, _, err = call("run", "asked-twice.ini", "open.ini", "failover", "-b", "local@none,null@none", "-g", "none", "-n", "1", "-o", "run", "--junit", "all.xml")
    if not (folder / "run" / "run.json").exists():
        raise SystemExit(f"Bail out! no run: {err}")
    ends, wrong = read("all.xml")
    cells = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))["cells"]
    tap.check("the file is JUnit, and its counts are those of its testcases", wrong)
    tap.check("each cell is a testcase, and ends as run.json says", compare(ends, cells))
    tap.check("passed, failure, error and skipped are all there", sorted({"passed", "failure", "error", "skipped"} - set(ends.values())))
    failure = xml.parse(folder / "all.xml").getroot().find(".//failure")
    tap.check("a failure says verdict, expectation and how to see it",
              [str(failure.attrib) + failure.text] * (not failure.get("message").startswith("violated, expected safe") or "explain run asked-twice.null@none.none" not in failure.text))
    tap.check("a cell against its expectation is exit 3", [f"exit {code}"] * (code != 3))
    (folder / "race.ini").write_text(FRAME + "[expect]\nlocal@none = mixed: a race\n", encoding="utf-8")
    code, out, err = call("run", "race.ini", "-b", "local@none", "-g", "none", "-n", "30", "-o", "race", "--junit", "race.xml")
    note = (xml.parse(folder / "race.xml").getroot().findtext(".//system-out") or "") if code != 2 else ""
    tap.check("better than expected in a race is a note on the screen and in the file, and no red job",
              [f"exit {code}, '{note}': {out}{err}"] * (code != 0 or "better than expected" not in note or "race local@none: safe, where a race decides" not in out
                                               or read("race.xml") != ({("race", "local@none", "none"): "passed"}, [])))
    code, out, err = call("run", "asked-twice.ini", "-b", "local@none", "--junit", "no/such/folder.xml", "-o", "none")
    tap.check("a file that cannot be written is refused before anything runs",
              [f"exit {code}, {err}"] * (code != 2 or err.count("\n") != 1 or "--junit no/such/folder.xml" not in err or (folder / "none").exists()))
    (folder / "kept.xml").write_text("of a run before", encoding="utf-8")
    code, _, err = call("run", "asked-twice.ini", "-b", "local@none", "--junit", "kept.xml", "-o", "run")
    tap.check("a run that is refused leaves the file as it was",
              [f"exit {code}, {err}"] * (code != 2 or (folder / "kept.xml").read_text(encoding="utf-8") != "of a run before"))
    call("run", "asked-twice.ini", "-b", "local@none", "-n", "2", "--seed", "1", "--shard", "1/2", "-o", "shards")
    code, _, err = call("merge", "shards/shard-1-of-2", "-o", "merged", "--junit", "no/such/folder.xml")
    tap.check("and leaves no folder of a merge", [f"exit {code}, {err}"] * (code != 2 or (folder / "merged").exists()))
    code, out, _ = call("judge", "local", "--json", "--junit", "judge.xml", "-o", "judged")
    cells = json.loads(out)
    ends, wrong = read("judge.xml")
    tap.check("judge --json prints the cells, and nothing else", [] if cells == json.loads((folder / "judged" / "run.json").read_text(encoding="utf-8"))["cells"] else ["other cells"])
    tap.check("of judge, what breaks the lock without a guard is a failure", wrong + compare(ends, cells, judged=True))
    failed = "failure" in ends.values()
    tap.check("its exit code is that of its screen", [f"exit {code}"] * (code != (3 if failed else 0)))
sys.exit(tap.end())
