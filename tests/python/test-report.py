#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-report.py - the page of a run (plots/report.py): that no text of a run becomes markup, that every link leads
to a file, and that each part is there or left out as the run has it. Runs are written here, except the sample in
tests/data. Speaks TAP; skipped without Jinja2.
"""
import base64
import contextlib
import csv
import hashlib
import html.parser
import io
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

ROOT = tap.ROOT
sys.path.insert(0, str(ROOT / "plots"))
sys.dont_write_bytecode = True
import report  # noqa: E402

EVIL = "</td><script>x('1')</script>&\\\"\x01{{ 7 * 7 }}"
COLUMNS = [*report.TEXTS, *report.NUMBERS]
VOID = {"meta", "img", "input"}


class Page(html.parser.HTMLParser):
    """Elements with their texts; what is left open, or closed and never opened, is in `broken`."""

    def __init__(self, text):
        super().__init__()
        self.text, self.found, self.open, self.broken = text, [], [], []
        self.feed(text)
        self.broken += [f"<{tag}> stays open" for tag, _ in self.open]

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.found.append(element)
        if tag not in VOID:
            self.open.append((tag, element))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.broken.append(f"</{tag}> at {self.getpos()}, open: {[name for name, _ in self.open[-3:]]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        for _, element in self.open:
            element["text"] += data

    def all(self, tag, **attributes):
        return [e for e in self.found if e["tag"] == tag and all(e.get(key.rstrip("_")) == value for key,
                                                                 value in attributes.items())]

    def texts(self, tag, **attributes):
        return [" ".join(e["text"].split()) for e in self.all(tag, **attributes)]

    def data(self):
        """What the script of the page gets."""
        return json.loads(self.all("script", id="data")[0]["text"])

    def links(self):
        return [e[key] for e in self.found for key in ("href", "src") if e.get(key)]


def cell(scenario="s", system="a@t", guard="none", verdict="safe", **more):
    return {"scenario": scenario, "system": system, "guard": guard, "verdict": verdict, "trials": 20, "violated": 0,
            "undecided": 0,
            "upper95": 0.1391, **more}


def run_of(cells=(), scenarios=(), **more):
    return {"schema_version": 1, "id": "r1", "tool": {}, "machine": {}, "scenarios": list(scenarios),
            "cells": list(cells), **more}


def trial(number=1, **more):
    return {"scenario": "s", "system": "a@t", "guard": "none", "trial": number, "seed": 7, "verdict": "safe",
            "double_holds": 0,
            "double_hold_ms": 0, "history": "", "clients": 2, "grants_per_s": "", **more}


@contextlib.contextmanager
def folder(run, trials=(), files=()):
    with tempfile.TemporaryDirectory() as path:
        put(path, "run.json", run if isinstance(run, str) else json.dumps(run))
        out = io.StringIO()
        writer = csv.DictWriter(out, [*COLUMNS, *dict.fromkeys(key for row in trials for key in row
                                                               if key not in COLUMNS)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(trials)
        put(path, "trials.csv", out.getvalue())
        for name, text in dict(files).items():
            put(path, name, text)
        yield path


def put(path, name, text):
    os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
    pathlib.Path(path, name).write_text(text, encoding="utf-8")


def written(path):
    report.write(path, *report.load(path))
    return Page(pathlib.Path(path, "report.html").read_text(encoding="utf-8"))


def page_of(run, trials=(), files=()):
    with folder(run, trials, files) as path:
        return written(path)


def refusal(run, trials=()):
    """The line with which it is refused; no page may be there."""
    with folder(run, trials) as path:
        try:
            written(path)
        except report.run_folder.BadInput as why:
            return str(why) if "\n" not in str(why) and not os.path.exists(f"{path}/report.html") else f"more than a line, or a page: {why}"
    return "not refused"


def wrong(**statements):
    """The names of those that do not hold, with what was found."""
    return [f"{name.replace('_', ' ')}: {found!r:.300}" for name, (found, expected) in statements.items()
            if found != expected]


def headings(page):
    return page.texts("h2")


def hostile():
    names = {name: EVIL for name in ("title", "question", "refuted", "upstream", "file")}
    scenario = {"name": EVIL, **names, "workload": {EVIL: EVIL}, "steps": [EVIL], "proof": [EVIL],
                "campaign": {"faults": [EVIL]}}
    cells = [cell(EVIL, EVIL, guard, verdict, expected=EVIL, as_expected=False, reason=EVIL, why=EVIL, seed=EVIL,
                  note=1, lost_updates=2, double_holds=EVIL,
                  faults=3, faults_of={EVIL: 2}, violations=1, above_control=False)
             for guard, verdict in (("none", "safe"), (EVIL, "undecided"), ("fence", "n/a"))]
    run = run_of(cells, [scenario], tool={EVIL: EVIL}, machine={EVIL: EVIL}, servers={EVIL: EVIL}, argv=[EVIL],
                 seed=EVIL, started_utc=EVIL, seconds=EVIL,
                 verdict=EVIL, exit_code=3, exit_meaning=EVIL, control={"handoffs": EVIL, "trials": EVIL},
                 partial=True) | {"id": EVIL}
    row = {key: EVIL for key in ("scenario", "system", "guard", "trial", "seed", "double_holds", "double_hold_ms")}
    name = "histories/<b>\"' \x7f:%.hist"
    page = page_of(run, [trial(**row | {"verdict": "violated", "history": name}), trial(**row | {"verdict": "violated",
                                                                                                 "history": "histories/" + EVIL.replace("/", "")}),
                         trial(**row | {"grants_per_s": 5})], {name: "", "figures/not-drawn.txt": f"latency: {EVIL}\n"})
    shown = EVIL.replace("\x01", "\ufffd")
    return page, shown


def check_escaping():
    page, shown = hostile()
    attributes = {key for element in page.found for key in element} - {"tag", "text"}
    known = {"lang", "charset", "name", "content", "class", "tabindex", "href", "src", "alt", "id", "type", "hidden", "http-equiv", "role",
             "placeholder", "autocomplete", "spellcheck", "aria-label", "open"}
    texts = json.dumps(page.data())
    script = page.all("script")[1]["text"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    tap.check("no text of a run becomes markup, or ends an attribute", page.broken + wrong(
        scripts=([e.get("id") for e in page.all("script")], ["data", None]), bold=(page.all("b"), []), attributes=(attributes - known, set()),
        a_text_stands_as_it_is=(page.texts("h1"), [" ".join(shown.split()) + " was safe"]), a_reason_too=(json.dumps(shown)[1:-1] in texts, True),
        control_characters=([c for c in page.text if ord(c) < 32 and c not in "\n\t" or ord(c) == 127],
                            []), templates=("49" in page.text.split("<body>")[1].split("<script")[0], False)))
    tap.check("the data ends no element, and the page may run its own script alone and ask nobody", wrong(
        data=("<" in page.all("script", id="data")[0]["text"], False), nobody=("default-src 'none'" in policy, True), own=(f"'sha256-{digest}'" in policy, True)))
    tap.check("a path is never a scheme", wrong(scheme=(report.href("javascript:alert(1)"),
                                                        "./javascript%3Aalert%281%29"),
                                                 quotes=(report.href('histories/a.b@c-1"<.hist'),
                                                         "./histories/a.b@c-1%22%3C.hist")))


def check_links():
    with folder(run_of()) as path:
        shutil.rmtree(path)
        subprocess.run([sys.executable, ROOT / "tests/data/make-run-sample.py", path], check=True)
        for name in ("truth-table", "scaling", "violation"):
            put(path, f"figures/{name}.svg", "<svg/>")
        page = written(path)
        links = [link for link in page.links() if not link.startswith("#")]
        dead = [link for link in links if not os.path.exists(os.path.join(path, urllib.parse.unquote(link)))]
        tap.check("every link of the sample's page is a file of its folder", page.broken + wrong(
            dead=(dead, []), relative=([link for link in links if not link.startswith("./") or ".." in link], []),
            figures=(links.count("./figures"), 1), histories=(links.count("./histories"), 1)))
        first = pathlib.Path(path, "report.html").read_bytes()
        written(path)
        tap.check("the same folder gives the same page, and nothing else is left", wrong(
            same=(pathlib.Path(path, "report.html").read_bytes() == first, True), left=([n for n in os.listdir(path)
                                                                                         if n.startswith(".")], [])))


def check_banner():
    rows = [({"lock_verdict": "violated", "exit_code": 0}, "banner bad"), ({"lock_verdict": "safe", "exit_code": 0},
                                                                           "banner good"),
            ({"lock_verdict": "safe", "exit_code": 3}, "banner good"), ({"lock_verdict": "stuck", "exit_code": 0},
                                                                        "banner"),
            ({"lock_verdict": "n/a", "exit_code": 5}, "banner"), ({"lock_verdict": "safe", "exit_code": 1},
                                                                  "banner bad"),
            ({"lock_verdict": None, "exit_code": 3}, "banner bad"), ({"exit_code": 0}, "banner good"),
            ({"exit_code": 4}, "banner"),
            ({"exit_code": 130}, "banner"), ({"exit_code": 5}, "banner"), ({}, "banner")]
    found = [(more, page_of(run_of([cell()], **more)).all("header")[0]["class"], expected) for more, expected in rows]
    for verdict, code, expected in (("violated", 0, "banner warn"), ("stuck", 0, "banner warn"), ("mixed", 0, "banner warn"),
                                    ("violated", 3, "banner bad"), ("skipped", 0, "banner good")):
        page = page_of(run_of([cell(), cell(system="b@t", verdict=verdict)], exit_code=code))
        found.append((verdict, page.all("header")[0]["class"], expected))
    tap.check("the banner has the tone of the exit code, or of the user's own lock", [str(row) for row in found
                                                                                      if row[1] != row[2]])
    cells = [cell(), cell("s2", verdict="mixed", violated=1), cell("s2", guard="fence", verdict="stuck"), cell("s3", verdict="n/a")]
    many = [cell(system=f"{name}@t", verdict=verdict) for name, verdict in (("a", "safe"), ("b", "stuck"), ("c", "safe"), ("d", "n/a"), ("e", "delayed"))]
    tap.check("the first line is the verdict of the locks, without a guard", wrong(
        one=(report.headline(run_of(cells)), "a@t was violated in 1 of 2 scenarios"), many=(report.headline(run_of(many)), "Of 4 locks 1 was stuck, 1 was late, 2 were safe"), two=(report.headline(run_of(many[:2])), "a@t was safe, b@t was stuck"),
        guarded=(report.headline(run_of(cells[2:3])), "a@t was stuck"), none=(report.headline(run_of(cells[3:])), ""),
        own=(report.headline(run_of(cells, lock_verdict="violated", verdict="a@t: violated, and much more")), "a@t was violated in 1 of 2 scenarios")))
    cut = [{"t": 0, "s": 1, "e": "fault", "what": "cut client 1 from all", "step": 1, "verb": "cut", "role": "client 1", "from": "all"},
           {"t": 1000, "s": 2, "e": "touched", "step": 1, "verb": "cut", "host": "client-1", "from": "redis-1, redis-2, redis-3"},
           {"t": 2000, "s": 3, "c": "client-1", "k": "lock-1", "e": "acquire"}]
    lanes = report.told.drawn(cut, {"episodes": [], "episode": -1, "begin_ns": 0, "total": 3})
    tap.check("a server that is cut off from a client is cut off from that one, not from everybody", wrong(
        lanes=(lanes["lanes"], ["redis-1", "redis-2", "redis-3", "client-1"]),
        said=(dict(zip(lanes["faults"][0][3], lanes["faults"][0][5])), {3: "cut off from redis-1 and 2 more", 0: "cut off from client-1", 1: "cut off from client-1", 2: "cut off from client-1"})))
    unstated = [cell(verdict="violated", expected=None, as_expected=False), cell(expected="violated", as_expected=False)]
    tap.check("cells that mean nothing, and violations without an expectation, are counted apart", wrong(
        asked=(report.summary(run_of(verdict="as expected: 72 cells: 19 safe, 1 violated, 52 n/a")), "as expected: 20 cells asked (52 n/a): 19 safe, 1 violated"),
        apart=(report.summary(run_of(unstated, verdict="NOT as expected: 2 cells: 1 safe, 1 violated, 2 against expectation")),
               "NOT as expected: 2 cells: 1 safe, 1 violated, 1 against expectation, 1 with no expectation stated")))
    page = page_of(run_of([cell()], verdict="all is well", exit_code=0, exit_meaning="every verdict is as expected"))
    older = page_of(run_of([cell()], exit_code=0))
    tap.check("the verdict and what the code means come first", wrong(
        verdict=(page.texts("h1") + page.texts("p")[:1], ["a@t was safe", "all is well"]), meaning=("Exit code 0: every verdict is as expected. Run r1" in page.texts("header")[0], True),
        older=("Exit code 0. Run r1" in older.texts("header")[0], True)))


def check_parts():
    before = ["Which lock can be trusted, under which fault", "What each guard changes"]
    after = ["What it costs", "What was asked", "Machine and versions", "Run it again", "Files"]
    bare, storm = cell(), cell("storm", faults=17, faults_of={"kill": 0})
    for title, cells, more in (("nothing", [], []), ("no campaign", [bare], []), ("a campaign", [storm], ["Random faults under load"])):
        tap.check(f"the parts of a run, in order: {title}", wrong(headings=(headings(page_of(run_of(cells))), before + more + after)))
    page = page_of(run_of([bare]))
    tap.check("a run that has no more leaves the rest out", wrong(
        images=(page.all("img"), []), lists=(page.texts("h3"), []), banners=(page.all("p", class_="banner"), []), resume=("--resume" in page.text, False),
        control=("No-fault control" in page.text, False), speed=("No speed was measured in this run." in page.texts("p"), True),
        curves=(page.data()["speed"], []), files=(page.texts("li"), page.texts("li")[:2])))
    page = page_of(run_of([cell()], control={"trials": 3, "undecided": 1, "handoffs": 99, "violations": 0,
                                             "max_stall_ms": 12.34}))
    tap.check("the control is one line",
              wrong(line=("No-fault control: 99 hand-offs, 0 violations, in 3 trials (1 undecided); longest stall of the "
                                                     "harness 12.3 ms." in page.texts("p"), True)))
    page = page_of(run_of([cell(premises_observed=19), cell(system="b@t", premises_observed=20),
                           cell(system="c@t", premises_observed=None)],
                          [{"name": "s", "proof": ["premise = client 1 holds"]}, {"name": "old"}]))
    tap.check("a scenario says what a trial has to show, and how many did", wrong(
        terms=(page.texts("dt"), ["A trial has to show", "Premises observed"]), count=(page.texts("dd")[-1],
                                                                                       "in 39 of 40 trials; any other is undecided")))
    page = page_of(run_of([], [{"name": "s", "workload": {"hold_ms": 0.3, "clients": [0.1]}}], machine={"load": [1.7]},
                          seconds=0.3))
    body = page.text[page.text.index("</style>"):page.text.index("<script")]
    tap.check("a number has the digits that were typed", wrong(texts=(page.texts("code")[:2],
                                                                      ["hold_ms = 0.3", "clients = [0.1]"]),
                                                             long=(re.findall(r"\d\.\d{11,}", body), [])))


def check_cells():
    cells = [cell(), cell(system="b@t", verdict="violated", violated=17, undecided=3),
             cell(system="c@t", verdict="stuck", trials=5, stuck=4),
             cell(system="d@t", verdict="undecided", trials=5, undecided=2, why="no fault"),
             cell(system="e@t", verdict="skipped", trials=0, why="no server"), cell(system="f@t", verdict="n/a", trials=0, note=1, why="no clock"),
             cell("second", "f@t", of_tomorrow=5, double_holds=2, grants=None, double_hold_ms=0.25, faults=None),
             cell("second", "g@t", verdict="n/a", trials=0), cell("void", "a@t", verdict="n/a", trials=0)]
    data = page_of(run_of(cells, [{"name": "s", "title": "T", "file": "scenarios/crash/s.ini"}, {"name": "unused"}, {"name": "second"}])).data()
    found = [(c["s"], c["y"], c["v"], c.get("n"), data["texts"][c["r"]]) for c in data["cells"]]
    tap.check("a cell says verdict, count, bound and reason; rows and columns that are n/a are left out", wrong(cells=(found, [
        ("s", "a@t", "safe", "0/20 (\u2264\xa013.9\xa0%)", "no expectation stated"), ("s", "b@t", "violated", "17/17 (+3 ?)", "no expectation stated"),
        ("s", "c@t", "stuck", "4/5", "no expectation stated"), ("s", "d@t", "undecided", "2 of 5", "no fault"), ("s", "e@t", "skipped", "", "no server"),
        ("s", "f@t", "n/a", None, "no clock"), ("second", "f@t", "safe", "0/20 (\u2264\xa013.9\xa0%)", "no expectation stated")]),
        unasked=(report.unasked(cells), [("g@t", "n/a"), ("void", "n/a")]), themes=([s["theme"] for s in data["scenarios"]], ["crash", "others", "others"]),
        counted=(data["cells"][6]["c"], [["double_holds", "2"], ["double_hold_ms", "0.25"]])))
    page = page_of(run_of([cell(expected="violated", as_expected=False, reason="loses it"),
                           cell(system="b@t", expected="safe", as_expected=True),
                           cell(system="c@t", verdict="violated", violated=20, expected=None, as_expected=None)]))
    after = page_of(run_of([cell(name, verdict="violated", violated=20, double_holds=2, within_lease=n) for name, n in (("never", 0), ("once", 1), ("unsaid", None))])).data()
    tap.check("a cell in which two held the lock only after the lease says so", wrong(marked=({c["s"]: c.get("a") for c in after["cells"]}, {"never": 1, "once": None, "unsaid": None})))
    tap.check("a difference is marked in its cell and listed with the reason and its address", wrong(
        lists=(page.texts("h3"), ["Not as expected", "Not safe, no expectation stated"]),
        marked=([c.get("x") for c in page.data()["cells"]], ["violated", None, None]), unstated=([c.get("u") for c in page.data()["cells"]], [None, None, 1]),
        listed=(page.texts("li")[:2], ["s, a@t: safe 0/20 (\u2264 13.9 %) (expected violated: loses it)", "s, c@t: violated 20/20 (no expectation stated)"]),
        address=([link for link in page.links() if "#" in link and link != "#truth"], ["#cell=s.a%40t.none", "#cell=s.c%40t.none"])))
    data = page_of(run_of([cell("plain"), cell("guarded", guard="fence", fenced_off=3, refused=2, stopped_told_no=1),
                           cell("guarded", verdict="violated", violated=1, lost_updates=1, stale_writes=4, refused=0),
                           cell("plain", guard="recheck"), cell("guarded", guard="claim", verdict="n/a"), cell("only", verdict="n/a"), cell("only", guard="deadline")])).data()
    tap.check("guards that change a verdict, or have the only one, are named, with the damage", wrong(
        telling=(data["telling"], ["deadline", "fence"]), damage=([c.get("d") for c in data["cells"] if c["g"] == "fence"], ["2 refused, 1 told no"])))


def check_campaigns():
    storm = {"faults": 17, "decided_faults": 16, "violations": 12, "decided_hours": 0.0012, "decided_handoffs": 8000,
             "above_control": False,
             "faults_of": {"pause holder": 16, "kill holder": 0}}
    for name, value, low, high in (("overlapped_per_fault", 0.25, 0.11, 0.45), ("within_lease_per_fault", 0, 0,
                                                                                0.0094), ("violations_per_1000", 1.5,
                                                                                          0.309, 4.38)):
        storm |= {name: value, f"{name}_low": low, f"{name}_high": high}
    older = {"faults": 9, "decided_handoffs": 5000, "violations": 1, "violations_per_1000": 0.2,
             "violations_per_1000_high": 1}
    page = page_of(run_of([cell("storm", verdict="violated", **storm), cell("storm", "b@t", faults=0, decided_faults=0,
                                                                            violations_per_1000=None),
                           cell("old", "d@t", **older), cell("old", "e@t", verdict="stuck", **older),
                           cell("calm", "c@t", faults=None)]))
    tables = re.findall("<table.*?</table>", page.text, re.S)
    rows = [[" ".join(t.split()) for t in Page(row).texts("td")] for row in re.findall("<tr>.*?</tr>", tables[2],
                                                                                       re.S)[1:]]
    tap.check("a campaign is a rate with its interval, or a count", wrong(rows=(rows, [
        ["storm", "a@t", "none", "violated 0/20", "16", "4.3", "25 [11,45]", "0 (<0.94)", "", "", "1.5 [0.31,4.4]"],
        ["storm", "b@t", "none", "safe 20/20", "0", "", "", "", "", "", ""],
        ["old", "d@t", "none", "safe 20/20", "9", "", "", "", "", "", "1 (<1)"],
        ["old", "e@t", "none", "stuck 0/20", "9", "", "", "", "", "-", "-"]]),
        notes=(any(t.startswith("storm: proved over all rows: 16 pause holder; never: kill holder. The control")
                   and "from a@t: " in t for t in page.texts("p")), True)))
    c = report.campaign
    texts = [c.two_digits(x) for x in (0.00004, 0.0094, 0.4, 1, 4.938, 53, 99.9, 1500, 9996, 149600)]
    numbers = {"x": 4.938, "x_low": 0.0094, "x_high": 11.04, "trials": 5, "undecided": 0, "verdict": "violated"}
    rates = [c.rate_text(numbers | dict(more), "x", of) for of, more in (
        ("decided_hours", {"violations": 5, "decided_hours": 1}), ("decided_hours", {"violations": 2, "decided_hours": 1}),
        ("decided_hours", {"violations": 12, "decided_hours": 0.0014,
                           "undecided": 4}), ("decided_handoffs", {"violations": 12, "decided_handoffs": 2}),
        ("decided_handoffs", {"violations": 12, "decided_handoffs": 0}))]
    tap.check("a number of the table has two digits, and too little is no rate", wrong(
        digits=(texts, ["0.00004", "0.0094", "0.4", "1", "4.9", "53", "100", "1500", "10k", "150k"]),
        rates=(rates, ["4.9 [0.0094,11]", "2 (<11)", "12 in 5 s", "12 in 2", "-"])))


def check_commands():
    files = {f"histories/{name}": "" for name in ("x.hist", "evil'.hist")}
    trials = [trial(1, verdict="violated", history="histories/x.hist"), trial(2, verdict="violated",
                                                                              history="histories/gone.hist"),
              trial(3, verdict="violated"), trial(4)]
    page = page_of(run_of([cell()], seed=42, argv=["run", "a b", "it's", ""]), trials, files)
    tap.check("a cell has its trials, each with its seed and whether it has a history", wrong(
        trials=([t[:4] + t[5:6] for t in page.data()["cells"][0]["t"]],
                [[2, "1", "7", "violated", 1], [2, "2", "7", "violated", 0], [2, "3", "7", "violated", 0], [2, "4", "7", "safe", 0]]),
        told=(page.data()["untold"], "this page was written without lockbench itself")))
    with_seed = page_of(run_of(seed=42, argv=["--seed", "42"]))
    tap.check("the command line is quoted for a shell and carries the seed", wrong(
        quoted=(page.texts("pre"), ["lockbench run 'a b' 'it'\"'\"'s' '' --seed 42"]), typed=(with_seed.texts("pre"), ["lockbench --seed 42"])))
    found = []
    with tempfile.TemporaryDirectory() as checkout, folder(run_of([cell(verdict="none", trials=0)], argv=["run"], partial=True), trials, files) as made:
        shutil.copytree(made, f"{checkout}/results/r1")
        for called, place in (("./bench", f"{checkout}/results/r1"), ("../lb/bench", f"{checkout}/results/r1"),
                              ("./bench", made)):
            os.environ["LOCKBENCH_CALLED_AS"] = called
            page = written(place)
            found.append([text for text in page.texts("code") if re.match(r"\.", text)] + [page.data()["place"]])
        del os.environ["LOCKBENCH_CALLED_AS"]
        real = os.path.realpath(made)
    lines = ["report {}", "run --resume {}"]
    tap.check("commands are as the user called the tool; those of a partial run play the rest", wrong(commands=(found, [
        [f"{called} {line.format(place)}" for line in lines] + [place]
        for called, place in (("./bench", "results/r1"), ("../lb/bench", "../lb/results/r1"), ("./bench", real))])))


def check_speed():
    rows = [trial(i, clients=4, grants_per_s=rate, handoffs_per_s=handoffs, unsettled=unsettled, verdict=verdict)
            for i, rate, handoffs, unsettled, verdict in (
        (1, 300, 7, 1, "safe"), (2, 100, 9, 0, "safe"), (3, "", "", 0, "safe"),
                                                          (4, 220, 200, 0, "violated"))] + [trial(1, clients=16, grants_per_s=12.34)]
    load = {"steps": [], "workload": {"duration_s": 1.5, "warmup_s": 0.4}}
    scenarios = [load | {"name": "a"}, {"name": "b", "workload": load["workload"] | {"settle_s": 3}},
                 {"name": "c", "steps": ["wait"], "workload": load["workload"]},
                 {"name": "d", "campaign": {}, "workload": load["workload"]}]
    page = page_of(run_of([], scenarios), rows)
    banners = [t for e in ("banner", "banner bad") for t in page.texts("p", class_=e)]
    tap.check("what had not settled is said before the rates", wrong(
        loads=([re.findall(r"or not: (.*?)\. Such", t) for t in banners[:1]], [["a (0.4 s)"]]),
        trials=(banners[2:], ["In 1 trial the rate was still changing when the measured window began."])))
    rows[2].update(speed_void=1, why="no speed: the clients were measured")
    said = [t for t in page_of(run_of([], scenarios), rows).texts("p", class_="banner bad") if "no speed" in t]
    tap.check("who has no speed is counted, with the reason of the first", wrong(
        said=([(t.split()[0], t.split(": ")[-1]) for t in said], [("1", "the clients were measured")])))


def check_curves(sample):
    data = page_of_sample(sample).data()
    load = data["speed"][0]
    rate = load["rates"]["redis-token@redis"]["16"]
    with open(f"{sample}/trials.csv", encoding="utf-8", newline="") as file:
        repeats = [float(r["grants_per_s"]) for r in csv.DictReader(file)
                   if (r["scenario"], r["system"], r["clients"]) == (load["name"], "redis-token@redis", "16")]
    waits = load["waits"]["16"]["redis-token@redis"]
    tap.check("the curves are medians of the repeats, and grow over percentiles", wrong(
        clients=(load["clients"], [1, 4, 16]), grants=(rate[1][0], float(f"{statistics.median(repeats):.4g}")), repeats=(rate[5], len(repeats)),
        ordered=(waits == sorted(waits), True), left_out=("broken@none" in load["systems"], False)))


def page_of_sample(path):
    subprocess.run([sys.executable, ROOT / "tests/data/make-run-sample.py", path], check=True)
    return written(path)


def check_figures():
    missing = "scaling: no <b>: python\nviolation: it failed\nno colon here\nlatency: no <b>: python"
    page = page_of(run_of(), files={"figures/scaling.svg": "<svg/>", "figures/distance.svg": "<svg/>", "figures/not-drawn.txt": missing})
    tap.check("a figure that was not drawn is named with the reason; what the page cannot draw is in it", wrong(
        lines=(page.texts("p", class_="banner bad"), ["Not drawn: scaling, latency (no <b>: python).", "Not drawn: violation (it failed).",
                                                      "The table and the trials need JavaScript. They ask nothing of any network."]),
        images=([e["src"] for e in page.all("img")], ["data:image/svg+xml;base64,PHN2Zy8+"])))


def check_told(lockbench):
    """The trial of the committed run that kept its history."""
    os.environ["LOCKBENCH_BIN"] = lockbench
    run_dir = ROOT / "results/reference"
    data = report.data_of(str(run_dir), *report.load(str(run_dir)))
    with open(run_dir / "trials.csv", encoding="utf-8", newline="") as file:
        row = next(r for r in csv.DictReader(file) if r["history"] and (run_dir / r["history"]).exists())
    key = f"{row['scenario']}.{row['system']}.{row['guard']}"
    story = data["told"].get(key, {})
    said = subprocess.run([lockbench, "explain", run_dir, key], capture_output=True, text=True, check=True).stdout
    low, high, who = story["over"][0]
    tap.check("a trial has the words of explain, and the double hold of trials.csv", wrong(
        keys=(list(data["told"]), [key]), sentences=(story["end"], said.rstrip("\n").rpartition("\n\n")[2]),
        lines=(len(story["story"]), len([line for line in said.splitlines() if line.startswith("  +")])),
        length=(f"{high - low:.3f}", row["double_hold_ms"]), who=([story["lanes"][i] for i in who], ["client-1", "client-2"]),
        again=(story["again"].startswith(f"lockbench run {row['scenario']} -b {row['system']} "), True)))
    del os.environ["LOCKBENCH_BIN"]
    def at(ms, e, c, **more):
        return {"t": ms * 1_000_000, "e": e, "c": c, "k": "l", **more}

    asked = [at(0, "acquire", "c1"), at(1, "granted", "c1"), at(2, "acquire", "c2"), at(3, "acquire", "c3"), at(5, "crash", "c3"), at(9000, "read", "c1")]
    drawn = report.told.drawn(asked, {"episodes": [], "episode": -1, "begin_ns": 0, "total": len(asked)})
    tap.check("an ask without an answer lasts to the end, or to the client's death", wrong(
        lanes=(drawn["lanes"], ["c1", "c2", "c3"]), asks=(sorted(drawn["asks"]), [[0, 0, 1, 0], [1, 2, 9000, 4], [2, 3, 5, 5]])))
    cells = {("s", "a", "none"): {"verdict": "safe", "as_expected": True}, ("s", "b", "none"): {"verdict": "violated", "as_expected": True},
             ("s", "c", "none"): {"verdict": "safe", "as_expected": False}}
    trials = {key: {"story": "x" * 100} for key in cells}
    tap.check("where the page would grow too large, safe trials are left out first", wrong(
        two=([list(kept) for kept in (report.told.fitting(cells, trials, 230)[0],)], [[("s", "c", "none"), ("s", "b", "none")]]),
        left=(report.told.fitting(cells, trials, 230)[1], 1), all=(report.told.fitting(cells, trials, 1000)[1], 0)))
    with folder(run_of([cell()]), [trial(history="histories/x.hist", why="")], {"histories/x.hist": "no history"}) as path:
        os.environ["LOCKBENCH_BIN"] = lockbench
        broken = written(path).data()
        os.environ["LOCKBENCH_BIN"] = "/nonexistent/lockbench"
        gone = written(path).data()
        del os.environ["LOCKBENCH_BIN"]
    tap.check("a history that cannot be read, or no program to read it, is said in the page", wrong(
        broken=("x.hist" in broken["untold"], True), gone=(gone["untold"], "/nonexistent/lockbench: No such file or directory")))


def check_refusals():
    good = run_of()
    bad = [(refusal('{"schema_version": 1,\n"id": }'), "run.json:2: "), (refusal("[]"), "run.json: no JSON object"),
           (refusal(good | {"schema_version": 2}), "schema_version 2, expected 1"),
           (refusal(run_of(scenarios=[{}])), "scenario 1: 'name'"), (refusal(run_of([cell(), 7])),
                                                                     "cell 2: is no object"),
           (refusal(run_of([cell(verdict="fine")])), "cell 1: verdict 'fine'"),
           (refusal(run_of([cell() | {"upper95": None}])), "'upper95' is null"), (refusal(run_of([cell(trials=0.3)])),
                                                                                  "'trials' is 0.3"),
           (refusal(good, [trial(grants_per_s="fast")]), "trials.csv:2: grants_per_s is 'fast'"),
           (refusal(good, [trial(grants_per_s="nan")]), "grants_per_s is 'nan'"),
           (refusal(good, [trial(handoffs_per_s="-1")]), "trials.csv:2: handoffs_per_s is '-1'"),
           *((refusal(good, [trial(history=name)]), f"history is '{name}', expected histories/NAME")
             for name in ("../x", "histories/../x", "histories/", "/etc/passwd"))]
    tap.check("half a run is refused in one line, and gets no page", [f"{line} (expected: {expected})" for line,
                                                                      expected in bad if expected not in line])
    with folder(good) as path:
        os.mkdir(f"{path}/.report.html.partial")  # in the way, also of root
        said = ""
        try:
            written(path)
        except OSError as error:
            said = f"{error.strerror}, {os.path.exists(path + '/report.html')}"
        tap.check("a folder that cannot be written is an error", wrong(said=(said, "Is a directory, False")))


def main():
    try:
        import jinja2  # noqa: F401
    except ModuleNotFoundError:
        print("1..0 # SKIP jinja2 is missing")
        return 0
    os.environ.pop("LOCKBENCH_CALLED_AS", None)
    os.environ.pop("LOCKBENCH_BIN", None)
    for check in (check_escaping, check_links, check_banner, check_parts, check_cells, check_campaigns, check_commands,
                  check_speed, check_figures, check_refusals):
        check()
    with tempfile.TemporaryDirectory() as work:
        check_curves(f"{work}/sample")
    check_told(os.path.abspath(sys.argv[1]))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
