# SPDX-License-Identifier: MIT
"""report.py RUN_DIR - report.html of a run folder: one file that shows the run to whoever opens it, without network.

templates/report.html has the order and the words, report.js draws what moves, theme.js has the colours. Both get the run as JSON inside the
page, and no text of a run becomes markup: Jinja2 escapes it, the script sets text only. Its trials come from
`lockbench explain --all` (told.py), its speed charts from curves.py. What a run does not have is left out.

Exit: 0 written, 1 failed, 2 bad input, 5 Jinja2 is missing.
"""

import base64
import glob
import hashlib
import json
import os
import re
import shlex
import sys
import urllib.parse
from typing import NamedTuple

import campaign
import curves
import ending
import run_folder
import style
import table
import told

TEXTS = ("scenario", "system", "guard", "trial", "seed", "verdict", "double_holds", "double_hold_ms", "history")
NUMBERS = ("clients", "grants_per_s")
EMBEDDED = {"lagging-follower": "How late a follower may be: what became of each trial, by delay and length of a session.",
            "load": "Wait and service time of an acquire over the rate at which acquires are asked for, with the knee.",
            "distance": "Hand-offs and grants per second over the round trip between the hosts.",
            "safety-speed": "Safety under faults against speed."}
MOST_TRIALS, MOST_PICTURE = 40, 300_000  # lines of trials for each cell; bytes of a picture
MOST_PAGE = 2_900_000  # bytes; the trials get what the rest leaves
DAMAGE = {"lost_updates": "lost update", "stale_writes": "stale write", "token_regressions": "token regression"}
NBSP = "\xa0"  # cells are narrow: a line ends elsewhere
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # HTML cannot carry them
FILES = {"run.json": "the whole run: what was asked, where, every cell", "trials.csv": "a line per trial",
         "latency.csv": "latency histograms, a line per bucket", "series.csv": "a line per measured second",
         "histories": "events of single trials, for the command check",
         "schedules": "the faults of single campaigns, as drawn from their seed", "faults": "what became of them",
         "logs": "logs of servers and clients, of trials that were not as expected (--keep-logs: of all)",
         "resume.bin": "the outcomes so far, for --resume",
         "figures": "every figure as svg, png and pdf, with the drawn numbers as csv"}


DATA_HERE = "<!-- data -->"
HERE = os.path.dirname(os.path.abspath(__file__))


class Home(NamedTuple):
    """Where the site is, seen from the page, if it is part of one (setup/docs)."""
    index: str
    runs: str
    name: str


class NoJinja(Exception):
    """One line: what is missing."""


def load(run_dir):
    """(run.json, the rows of trials.csv), checked: a page made of half a run would look like a result."""
    run = run_folder.load_run(run_dir)
    trials = run_folder.load_csv(run_dir, "trials.csv", TEXTS, NUMBERS, ("unsettled", "speed_void", "why"), ("handoffs_per_s",))
    for trial in trials:
        if trial["history"] and not re.fullmatch("histories/[^/]+", trial["history"]):  # it is linked
            raise run_folder.BadInput(f"{run_dir}/trials.csv: history is '{trial['history']}', expected "
                                      "histories/NAME, or nothing")
    return run, trials


# ---- values as text ----


def _rounded(value):
    """JSON's 17 digits would show 0.3 as 0.29999999999999999."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return {key: _rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


def text_of(value):
    """Of any value of run.json."""
    if isinstance(value, str):
        return CONTROL_CHARACTERS.sub("\ufffd", value)
    return f"{value:.10g}" if isinstance(value, float) else json.dumps(_rounded(value), ensure_ascii=False)


def part(record, key, kind):
    """A list or object of the run; an empty one where it has another form, or none."""
    value = record.get(key)
    return value if isinstance(value, kind) else kind()


def href(path):
    """Never read as a scheme such as "javascript:"."""
    return "./" + urllib.parse.quote(path, safe="-._~/@", errors="replace")


# ---- cells ----


def is_unforeseen(cell):
    """It fails a run as one against an expectation does, but nobody has stated any: safe was taken for granted."""
    return "expected" in cell and cell["expected"] is None and cell["verdict"] in ("violated", "mixed", "stuck", "delayed")


def differs(cell):
    """Only a definite `false` of a stated expectation: null means that none is stated, or that nothing was decided."""
    return cell.get("as_expected") is False and not is_unforeseen(cell)


def is_open(cell):
    """A skip that the scenario has foreseen needs no look."""
    return cell["verdict"] == "undecided" or cell["verdict"] == "skipped" and cell.get("as_expected") is not True


def count_of(cell):
    """"0 of 3" and "0 of 300" do not say the same, so a safe cell has its upper bound."""
    return " ".join(table.counts_of(cell, True)).replace("≤ ", "≤" + NBSP).replace(" %", NBSP + "%")


def reasons_of(cell):
    """"why it was not decided; expected safe: a majority is left", as far as there is something to say."""
    expected, reason = cell.get("expected"), cell.get("reason")
    parts = [cell.get("why"), expected and f"expected {expected}{f': {reason}' if reason else ''}"]
    return "; ".join(filter(None, parts)) or "no expectation stated"


def damage_of(cell):
    """What happened at the resource, and what stopped a client before it."""
    counts = [(cell.get(key) or 0, word) for key, word in DAMAGE.items()]
    return ", ".join([f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count > 0]
                     + table.stopped_of(cell))


# ---- what the script gets ----


class Texts:
    """Each text once: the reasons of many cells are the same."""

    def __init__(self):
        self.all = []
        self._at = {}

    def at(self, text):
        if not text:
            return None
        if text not in self._at:
            self._at[text] = len(self.all)
            self.all.append(text_of(text))
        return self._at[text]


def theme_of(scenario):
    """The folder of its file. Runs of before have none: then that of the scenario of this name today."""
    parts = str(scenario.get("file") or "").split("/")
    if len(parts) == 3 and parts[0] == "scenarios":
        return parts[1]
    name = scenario.get("base") or scenario["name"]
    found = re.fullmatch(r"[\w.-]+", name) and glob.glob(os.path.join(HERE, "..", "scenarios", "*", f"{name}.ini"))
    return os.path.basename(os.path.dirname(found[0])) if found else "others"


def _id(row):
    return ".".join((row["scenario"], row["system"], row["guard"]))


def _trials_of(run_dir, trials, texts):
    """{cell: rows}: number of clients, trial, seed, verdict, ms of double hold, its history, why."""
    rows = {}
    for trial in trials:
        rows.setdefault(_id(trial), []).append(
            [int(trial["clients"] or 0), trial["trial"], trial["seed"], trial["verdict"], trial["double_hold_ms"],
             int(bool(trial["history"]) and os.path.exists(os.path.join(run_dir, trial["history"]))), texts.at(trial["why"])])
    return rows


def _counted(cell):
    """Counters that are not 0, in the order of the run."""
    keys = list(cell)
    first = keys.index("double_holds") if "double_holds" in keys else len(keys)
    last = keys.index("faults") if "faults" in keys else len(keys)
    return [[key, f"{cell[key]:.3f}".rstrip("0").rstrip(".") if key.endswith("_ms") else text_of(cell[key])] for key in keys[first:last] if isinstance(cell[key], (int, float)) and cell[key]]


def cell_data(cell, rows, texts):
    data = {"s": cell["scenario"], "y": cell["system"], "g": cell["guard"], "v": cell["verdict"], "r": texts.at(reasons_of(cell))}
    if cell["verdict"] == "n/a":
        return data
    mine = rows.get(_id(cell), [])
    data |= {"n": count_of(cell), "k": table.counts_of(cell, False)[:1], "c": _counted(cell), "t": mine[:MOST_TRIALS]}
    extra = {"more": max(0, len(mine) - MOST_TRIALS), "d": damage_of(cell) if cell["guard"] != "none" else "",
             "a": int(cell["verdict"] in ("violated", "mixed") and run_folder.only_after(cell)), "x": (cell.get("expected") or "safe") if differs(cell) else "", "u": int(is_unforeseen(cell))}
    return data | {key: value for key, value in extra.items() if value}


def asked(cells):
    """Without the rows and columns of a guard in which every cell is n/a."""
    def lines(key):
        return {(c[key], c["guard"]) for c in cells if c["verdict"] != "n/a"}

    rows, columns = lines("scenario"), lines("system")
    return [c for c in cells if (c["scenario"], c["guard"]) in rows and (c["system"], c["guard"]) in columns]


def unasked(cells):
    """[(system or scenario, why)] of those in which every cell is n/a."""
    found = []
    for key in ("system", "scenario"):
        seen = {c[key] for c in cells if c["verdict"] != "n/a"}
        for name in dict.fromkeys(c[key] for c in cells if c[key] not in seen):
            found.append((name, "; ".join(dict.fromkeys(c.get("why") or "n/a" for c in cells if c[key] == name))))
    return found


def telling(cells):
    """The guards under which some cell has another verdict than without one, or the only one."""
    bare = {(c["scenario"], c["system"]): c["verdict"] for c in cells if c["guard"] == "none"}
    found = {c["guard"] for c in cells if c["guard"] != "none" and c["verdict"] not in ("n/a", "skipped", "undecided")
             and bare.get((c["scenario"], c["system"])) not in (c["verdict"], "skipped", "undecided")}
    return run_folder.guards_in_order(found)


def libraries_of(run, systems):
    """{library of others: its version or ""}, of those that the run has."""
    said = part(run, "libraries", dict)
    names = dict.fromkeys(system.partition("@")[0] for system in systems if system.startswith("peer:"))
    return {name.removeprefix("peer:"): str(part(said, name, dict).get("version") or "") for name in names}


def data_of(run_dir, run, trials, taken=0):
    """`taken`: bytes of the page without this."""
    texts, cells = Texts(), asked(run_folder.lock_cells(run))
    rows = _trials_of(run_dir, trials, texts)
    guards = run_folder.guards_in_order({c["guard"] for c in cells})
    data = {
        "id": run["id"], "called": called(), "place": place_of(run_dir), "glyphs": {v: look[2] for v, look in style.VERDICTS.items()},
        "scenarios": [{"name": s["name"], "plain": int(not s.get("varied")), "title": s.get("title"), "theme": theme_of(s), "question": s.get("question"),
                       "steps": part(s, "steps", list)} for s in run["scenarios"]],
        "systems": (systems := list(dict.fromkeys(c["system"] for c in cells))), "servers": part(run, "servers", dict), "libraries": libraries_of(run, systems), "guards": guards, "telling": telling(cells),
        "cells": [cell_data(c, rows, texts) for c in cells],
        "speed": curves.of(run_dir, run), "texts": texts.all,
    }
    stories, left, why = told.told(run_dir, run["cells"], MOST_PAGE - taken - len(script_json(data).encode()))
    return data | {"told": {".".join(key): story for key, story in stories.items()}, "left": left, "untold": why}


def _clean(value):
    if isinstance(value, str):
        return CONTROL_CHARACTERS.sub("\ufffd", value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return {_clean(key): _clean(item) for key, item in value.items()} if isinstance(value, dict) else value


def script_json(data):
    """JSON that ends no element, whatever it says."""
    text = json.dumps(_clean(data), ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def pictures(run_dir):
    """(caption, data address) of the figures that the page cannot draw itself."""
    found = []
    for name, caption in EMBEDDED.items():
        try:
            with open(os.path.join(run_dir, "figures", f"{name}.svg"), "rb") as file:
                drawn = file.read(MOST_PICTURE + 1)
        except OSError:
            continue
        if len(drawn) <= MOST_PICTURE:
            found.append((caption, "data:image/svg+xml;base64," + base64.b64encode(drawn).decode()))
    return found


# ---- the run ----


def unsettled_loads(run):
    """"NAME (0.4 s)" of each load that did not ask for a rate that has settled. Steps have no window; what a
    campaign measures is no speed."""
    loads = []
    for scenario in run["scenarios"]:
        work = part(scenario, "workload", dict)
        timed = not scenario.get("steps") and not isinstance(scenario.get("campaign"), dict) and work.get("duration_s")
        if not timed or work.get("settle_s"):
            continue
        loads.append(f"{scenario['name']} ({work.get('warmup_s') or 0:g} s)")
    return loads


def tone_of(run):
    """Red is for what contradicts an expectation and for a harness that failed; a run that is merely incomplete
    stays neutral. Of the user's own lock the colour is that of the lock, whatever was expected of it. Green only where
    no cell is violated or stuck, as expected or not."""
    code, lock = run.get("exit_code"), run.get("lock_verdict")
    if not isinstance(code, int):
        return ""
    if lock and code != 1:
        tone = {"violated": " bad", "safe": " good"}.get(lock, "")
    else:
        tone = {0: " good", 1: " bad", 3: " bad"}.get(code, "")
    failed = any(cell["verdict"] in ("violated", "mixed", "stuck") for cell in run["cells"])
    return " warn" if tone == " good" and failed else tone


WORST = ("violated", "mixed", "stuck", "delayed", "undecided", "skipped", "safe")


PAST = {"violated": "was violated", "mixed": "was violated in some trials", "stuck": "was stuck", "delayed": "was late", "undecided": "stayed undecided",
        "skipped": "was skipped", "safe": "was safe"}


def headline(run):
    """What came of the locks, in one short sentence: "redis-token@redis was violated in 2 of 3 scenarios". Nothing where no cell was asked. A lock is
    judged without a guard, if it ran without."""
    locks = {}  # {system: {scenario: worst verdict}}
    bare = {c["system"] for c in run_folder.lock_cells(run) if c["guard"] == "none" and c["verdict"] in WORST}
    for cell in run_folder.lock_cells(run):
        system, verdict = cell["system"], cell["verdict"]
        if verdict not in WORST or system in bare and cell["guard"] != "none":
            continue
        verdict = "violated" if cell.get("violated") and verdict == "mixed" else verdict
        of = locks.setdefault(system, {})
        of[cell["scenario"]] = min(of.get(cell["scenario"], verdict), verdict, key=WORST.index)
    worst = {system: min(of.values(), key=WORST.index) for system, of in locks.items()}
    if len(locks) == 1:
        (system, of), = locks.items()
        count = list(of.values()).count(worst[system])
        return f"{system} {PAST[worst[system]]} in {count} of {len(of)} scenarios" if len(of) > 1 else f"{system} {PAST[worst[system]]}"
    if len(locks) == 2:
        return ", ".join(f"{system} {PAST[worst[system]]}" for system in locks)
    counts = [(word, list(worst.values()).count(word)) for word in WORST]
    return f"Of {len(locks)} locks " + ", ".join(f"{n} {PAST[word].replace('was', 'were') if n > 1 else PAST[word]}" for word, n in counts if n) if locks else ""


def summary(run):
    """The first line of the run's summary. It counts cells that mean nothing, and those without a stated expectation
    as against one: the page says both apart."""
    text, cells = run.get("verdict"), run["cells"]
    if not isinstance(text, str):
        return text
    text = re.sub(r"\b(\d+) cells?: (.*), (\d+) n/a(?=,|$)",
                  lambda m: f"{int(m[1]) - int(m[3])} cells asked ({m[3]} n/a): {m[2]}", text)
    unforeseen, against = sum(map(is_unforeseen, cells)), sum(map(differs, cells))
    if unforeseen:
        said = [f"{against} against expectation"] * (against > 0) + [f"{unforeseen} with no expectation stated"]
        text = re.sub(r"\b\d+ against expectation", ", ".join(said), text)
    return text


def premises_observed(run, scenario):
    """(trials that observed the premises, all of them) of a scenario that states some."""
    cells = [c for c in run["cells"] if c["scenario"] == scenario and isinstance(c.get("premises_observed"), int)]
    return sum(c["premises_observed"] for c in cells), sum(c["trials"] for c in cells)


def called():
    """As the user called the tool: who has only ./bench cannot type `lockbench`."""
    return os.environ.get("LOCKBENCH_CALLED_AS") or "lockbench"


def place_of(run_dir, file=""):
    """The path of a file of the folder in commands. Who calls the tool by a path, as in ./bench, stands in its
    checkout: results/NAME/FILE, or an absolute path where the folder lies elsewhere. Who calls it by its name is
    meant to stand in the folder."""
    if "/" not in called():
        return file or "."
    checkout = "" if re.fullmatch(r"\./[^/]*", called()) else called()[:called().rindex("/") + 1]
    real = os.path.realpath(run_dir)
    if os.path.basename(os.path.dirname(real)) == "results":
        real = f"{checkout}results/{os.path.basename(real)}"
    return f"{real}/{file}" if file else real


def not_drawn(run_dir):
    """{figure: reason} of figures/not-drawn.txt. It is a help and no result: a line of another form is passed over."""
    try:
        with open(os.path.join(run_dir, "figures", "not-drawn.txt"), encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip("\n").partition(": ") for line in file]
    except OSError:
        return {}
    return {name: why for name, colon, why in lines if name and colon}


def by_reason(undrawn):
    """"scaling, latency (reason)": usually one missing program is the reason of all, which has to be said once."""
    names = {}
    for name, why in undrawn.items():
        names.setdefault(why, []).append(name)
    return [f"{', '.join(of)} ({why})" for why, of in names.items()]


# ---- the page ----


def _environment():
    try:
        import jinja2
    except ModuleNotFoundError as error:
        remedy = ": install python3-jinja2" if sys.executable.startswith("/usr/bin/") else f", for {sys.executable}"
        raise NoJinja(f"page not written: {error.name} is missing{remedy}") from error

    def shown(value):
        if hasattr(value, "__html__"):  # markup of ours
            return value
        return "" if value is None or isinstance(value, jinja2.Undefined) else text_of(value)

    templates = os.path.join(HERE, "templates")
    return jinja2.Environment(loader=jinja2.FileSystemLoader(templates), autoescape=True, finalize=shown,
                              trim_blocks=True, lstrip_blocks=True)


def page_of(run_dir, run, trials, home=None):
    words = {function.__name__: function for function in (
        part, href, run_folder.lock_cells, differs, is_unforeseen, is_open, unasked, count_of, reasons_of, premises_observed)}
    campaigns = [cell for cell in run["cells"] if cell.get("faults") is not None]
    environment = _environment()
    script = "".join(environment.loader.get_source(environment, name)[0] for name in ("theme.js", "report.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    import markupsafe  # of Jinja2
    page = environment.get_template("report.html").render(
        **words, dict=dict, list=list, has=lambda name: os.access(os.path.join(run_dir, name), os.R_OK), cell_id=_id,
        run=run, tone=tone_of(run), headline=headline(run), summary=summary(run), campaign=campaign, campaigns=campaigns, trials=trials,
        script=markupsafe.Markup(script), digest=digest, data=markupsafe.Markup(DATA_HERE),
        loads=unsettled_loads(run), pictures=pictures(run_dir), not_drawn=by_reason(not_drawn(run_dir)), called=called(), home=home,
        command=shlex.join([called(), *run_folder.typed(run)]), place=lambda file="": place_of(run_dir, file), files=FILES)
    before, _, after = page.rpartition(DATA_HERE)
    return before + script_json(data_of(run_dir, run, trials, len(page.encode()))) + after


def write(run_dir, run, trials, home=None):
    page = page_of(run_dir, run, trials, home)
    path, partial = (os.path.join(run_dir, name) for name in ("report.html", ".report.html.partial"))
    with ending.naming(path):
        try:
            with open(partial, "w", encoding="utf-8") as file:
                file.write(page)
            os.replace(partial, path)
        finally:
            if os.path.isfile(partial):
                os.remove(partial)


def main():
    if len(sys.argv) != 2:
        raise ending.BadInput("usage: report.py RUN_DIR")
    try:
        write(sys.argv[1], *load(sys.argv[1]))
    except NoJinja as missing:
        print(missing, file=sys.stderr)
        return 5
    print(f"report: {sys.argv[1]}/report.html")
    return 0


if __name__ == "__main__":
    sys.exit(ending.of(main))
