# SPDX-License-Identifier: MIT
"""report.py RUN_DIR - report.html of a run folder, from run.json, trials.csv and the files that are there at this
moment.

The page can be moved with its folder: style inside, figures and histories by relative links, no script. The same
folder gives the same page, and it gets its name only when it is complete. templates/report.html has the order and
the words. Here is what stands in a cell or line, as text; it becomes markup in the template only, where Jinja2
escapes it. What a run does not have is left out.

Exit: 0 written, 1 failed, 2 bad input, 5 Jinja2 is missing.
"""

import itertools
import json
import os
import re
import shlex
import statistics
import sys
import urllib.parse

import campaign
import ending
import run_folder
import style
import table

TEXTS = ("scenario", "system", "guard", "trial", "seed", "verdict", "double_holds", "double_hold_ms", "history")
NUMBERS = ("clients", "grants_per_s")
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


class NoJinja(Exception):
    """One line: what is missing."""


def load(run_dir):
    """(run.json, the rows of trials.csv), checked: a page made of half a run would look like a result."""
    run = run_folder.load_run(run_dir)
    trials = run_folder.load_csv(run_dir, "trials.csv", TEXTS, NUMBERS, ("unsettled",), ("handoffs_per_s",))
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
    """A violation of which nobody said what was expected fails a run as much as one that was expected not to be."""
    return "expected" in cell and cell["expected"] is None and cell["verdict"] == "violated"


def differs(cell):
    """Only a definite `false`: null means that nothing was expected, or that nothing was decided."""
    return cell.get("as_expected") is False or is_unforeseen(cell)


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
    return "; ".join(filter(None, parts)) or "nothing expected"


def damage_of(cell):
    """What happened at the resource, and what stopped a client before it."""
    counts = [(cell.get(key) or 0, word) for key, word in DAMAGE.items()]
    return ", ".join([f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count > 0]
                     + table.stopped_of(cell))


class Cells:
    """Rows and columns are those of the cells: a run may have scenarios or systems of which this version has never
    heard."""

    def __init__(self, run):
        self.all, self.scenarios = run["cells"], table.scenarios_of(run)
        self.systems = list(dict.fromkeys(cell["system"] for cell in self.all))
        self.guards = run_folder.guards_in_order(cell["guard"] for cell in self.all)
        self.titles = {s["name"]: s.get("title") for s in run["scenarios"]}
        self._at = {(c["scenario"], c["system"], c["guard"]): c for c in reversed(self.all)}

    def at(self, scenario, system, guard):
        return self._at.get((scenario, system, guard))

    def bare(self, **wanted):
        """Whether anything like this ran without a guard."""
        return any(c["guard"] == "none" and all(c[key] == value for key, value in wanted.items()) for c in self.all)

    def guarded(self):
        """(scenario, system) that ran with a guard. Where no system was asked under one, all n/a, it would say one
        thing many times."""
        with_guard = [c for c in self.all if c["guard"] != "none"]
        asked = {c["scenario"] for c in with_guard if c["verdict"] != "n/a"}
        ran = {(c["scenario"], c["system"]) for c in with_guard}
        return [(name, system) for name in self.scenarios if name in asked for system in self.systems
                if (name, system) in ran]

    def notes(self):
        """Why cells mean nothing, in the order of their numbers."""
        reasons = {cell["note"]: cell.get("why") for cell in reversed(self.all) if cell.get("note")}
        return [reasons[number] for number in sorted(reasons)]

    def counters(self):
        """A new counter appears by itself: they stand together in a cell. Those of campaigns have a table of their
        own."""
        keys = list(dict.fromkeys(key for cell in self.all for key in cell))
        first, last = (keys.index(key) if key in keys else len(keys) for key in ("double_holds", "faults"))
        return ["trials", "violated", "undecided", *keys[first:last], "seed"]


# ---- trials ----


def groups(trials, *keys):
    """Lists of rows that agree in these columns. Those of a cell are neighbours, as trials.csv is in the order of
    the plan."""
    return [list(rows) for _, rows in itertools.groupby(trials, lambda trial: [trial[key] for key in keys])]


def _rate(values):
    """[median, least to most]: with three repeats an interval would pretend to know more."""
    def number(x):
        return f"{x:.{1 if x < 100 else 0}f}"

    return [number(statistics.median(values)),
            f"{number(min(values))} to {number(max(values))}"] if values else ["", ""]


def violated(rows):
    return [trial for trial in rows if trial["verdict"] == "violated"]


def speeds(trials):
    """The rows of the table of rates. A lock that does not exclude is fast, so violated repeats stand beside the
    speed."""
    lines = []
    for rows in groups(trials, "scenario", "system", "guard", "clients"):
        grants, handoffs = ([trial[key] for trial in rows if trial[key] is not None]
                            for key in ("grants_per_s", "handoffs_per_s"))
        unsettled = sum(trial["unsettled"] == "1" for trial in rows) if rows[0]["unsettled"] else ""
        if grants:
            lines.append([*(rows[0][key] for key in ("scenario", "system", "guard", "clients")), *_rate(handoffs),
                          *_rate(grants), len(grants), len(violated(rows)), unsettled])
    return lines


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


# ---- the run ----


def tone_of(run):
    """Red is for what contradicts an expectation and for a harness that failed; a run that is merely incomplete
    stays neutral. Of the user's own lock the colour is that of the lock, whatever was expected of it: never green
    where it was violated."""
    code, lock = run.get("exit_code"), run.get("lock_verdict")
    if not isinstance(code, int):
        return ""
    if lock and code != 1:
        return {"violated": " bad", "safe": " good"}.get(lock, "")
    return {0: " good", 1: " bad", 3: " bad"}.get(code, "")


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

    templates = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
    return jinja2.Environment(loader=jinja2.FileSystemLoader(templates), autoescape=True, finalize=shown,
                              trim_blocks=True, lstrip_blocks=True)


def page_of(run_dir, run, trials):
    words = {function.__name__: function for function in (
        part, href, differs, is_unforeseen, is_open, count_of, reasons_of, damage_of, violated, groups,
        premises_observed)}
    campaigns = [cell for cell in run["cells"] if cell.get("faults") is not None]
    undrawn = not_drawn(run_dir)
    return _environment().get_template("report.html").render(
        **words, dict=dict, list=list, has=lambda name: os.access(os.path.join(run_dir, name), os.R_OK),
        run=run, tone=tone_of(run), cells=Cells(run), campaign=campaign, campaigns=campaigns, trials=trials,
        glyphs={verdict: look[2] for verdict, look in style.VERDICTS.items()}, speeds=speeds(trials),
        loads=unsettled_loads(run), undrawn=undrawn, not_drawn=by_reason(undrawn), called=called(),
        command=shlex.join([called(), *run_folder.typed(run)]), place=lambda file="": place_of(run_dir, file), files=FILES)


def write(run_dir, run, trials):
    page = page_of(run_dir, run, trials)
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
