# SPDX-License-Identifier: MIT
"""predict.py - tells what the rules expect of locks, out of what `lockbench list expectations --json` prints (results/SCHEMA.md).

    predict.py predict --text|--json SYSTEM [DIR] <EXPECTATIONS     what each fault should do to a lock; DIR: what a run has measured otherwise
    predict.py which --text|--json GUARD FAULT,... [SERVERS,...]     which locks get over these faults, or what would have to change

`lockbench predict` and `lockbench which` call it. It starts no server.
"""

import csv
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import textwrap

import ending
import run_folder

COLUMNS = 100
GUARDS = ("none", "deadline", "signal", "recheck", "claim", "fence")
ORDER = ("violated", "stuck", "delayed", "race", "safe")  # what is lost comes first
DECIDED = ("safe", "violated", "stuck", "delayed", "mixed")
ROOT = os.environ.get("LOCKBENCH_ROOT") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COST_RUNS = ("results/reference-speed", "results/reference")  # the first one that has a lock says what it costs


def wrapped(text, first, rest):
    """Text in lines of at most COLUMNS, behind `first`, then behind `rest` blanks."""
    return textwrap.fill(text, COLUMNS, initial_indent=first, subsequent_indent=" " * rest, break_long_words=False, break_on_hyphens=False)


def table_of(file):
    """The expectations. BadInput."""
    try:
        table = json.load(file)
        for key in ("facts", "rules", "scenarios", "systems"):
            table[key]
    except (ValueError, LookupError, TypeError) as error:
        raise ending.BadInput(f"expected what `lockbench list expectations --json` prints: {error}") from error
    return table


# ---- predict ------------------------------------------------------------------------------------------------------------


def measured_in(folder):
    """{(scenario, system, guard): a cell of the run}; {} without a folder. BadInput."""
    if folder is None:
        return {}
    return {(c.get("scenario"), c.get("system"), c.get("guard")): c for c in run_folder.load_any(folder)["cells"]}


def differs(verdict, measured):
    """Any outcome of a race is as predicted. A cell without a prediction, or one that means nothing, cannot differ."""
    return verdict in ("safe", "violated", "stuck", "delayed") and measured["verdict"] in DECIDED and measured["verdict"] != verdict


def said_of(measured):
    """"violated 3/3": of the trials so many came out so."""
    verdict = measured["verdict"]
    count = measured.get("violated" if verdict in ("safe", "mixed") else verdict)
    return f"{verdict} {count}/{measured.get('trials')}" if isinstance(count, int) else verdict


def under_guards(verdicts):
    """"safe under signal, claim; race under fence": the guards under which it comes out otherwise."""
    groups = []
    for verdict in ("safe", "violated", "stuck", "delayed", "race"):
        guards = [guard for guard in GUARDS[1:] if verdicts.get(guard) == verdict != verdicts.get("none")]
        groups += [f"{verdict} under {', '.join(guards)}"] if guards else []
    return "; ".join(groups)


def row_of(scenario, measured):
    """What is told of a scenario; None if it means nothing here, and nothing differs."""
    cells = {cell["guard"]: cell for cell in scenario["cells"]}
    lines = []
    for guard, cell in cells.items():
        m = measured.get((scenario["scenario"], cell["system"], guard))
        if m and differs(cell["verdict"], m):
            lines.append(f"{'without a guard' if guard == 'none' else 'under ' + guard}: predicted {cell['verdict']}, measured {said_of(m)}: {cell['reason']}")
    plain = cells.get("none", {"verdict": "none", "reason": "", "system": ""})
    if plain["verdict"] in ("n/a", "none") and not lines:
        return None
    m = measured.get((scenario["scenario"], plain["system"], "none"))
    return {"scenario": scenario["scenario"], "verdict": plain["verdict"], "reason": plain["reason"], "measured": said_of(m) if m else "",
            "guards": under_guards({guard: cell["verdict"] for guard, cell in cells.items()}), "differs": lines}


def tell_rows(rows, verdict):
    """Scenarios that say the same stand together."""
    rows = [row for row in rows if row["verdict"] == verdict]
    if rows:
        print(f"\n{verdict} in {len(rows)}:")
    while rows:
        row = rows[0]
        alike = [other for other in rows if other is row or not (row["differs"] or other["differs"]) and all(other[key] == row[key] for key in ("reason", "guards", "measured"))]
        rows = [other for other in rows if other not in alike]
        beside = f" (measured: {row['measured']})" if row["measured"] else ""
        print(wrapped(f"{', '.join(r['scenario'] for r in alike)}{beside}: {row['reason']}", "! " if row["differs"] else "  ", 4))
        if row["guards"]:
            print(wrapped(row["guards"], " " * 6, 6))
        for line in row["differs"]:
            print(wrapped(line, "    ! ", 6))


def predict(as_json, name, folder=None):
    table, measured, cells = table_of(sys.stdin), measured_in(folder), []
    for scenario in table["scenarios"]:
        for cell in scenario["cells"]:
            m = measured.get((scenario["scenario"], cell["system"], cell["guard"]))
            known = m and m["verdict"] in DECIDED and cell["verdict"] not in ("n/a", "none")
            cells.append({"scenario": scenario["scenario"], **{key: cell[key] for key in ("guard", "verdict", "reason", "source", "rule")},
                          "measured": m["verdict"] if m else None, "as_predicted": not differs(cell["verdict"], m) if known else None})
    count, wrong = sum(c["as_predicted"] is not None for c in cells), sum(c["as_predicted"] is False for c in cells)
    if as_json:
        print(json.dumps({"system": name, "run": folder, "facts": next(iter(table["systems"].values()))["facts"], "cells": cells, "measured": count,
                          "not_as_predicted": wrong}, indent=1, ensure_ascii=False))
        return 0
    rows = [row_of(scenario, measured) for scenario in table["scenarios"]]
    print(f"{name}: predicted from its facts (--json has them)")
    for verdict in (*ORDER, "n/a", "none"):
        tell_rows([row for row in rows if row], verdict)
    print(f"\nn/a in {rows.count(None)} more scenarios: --json has the reasons")
    if folder is not None:
        print(f"measured in {folder}: {count} cells, {count - wrong} as predicted, {wrong} not")
    return 0


# ---- which: the question ------------------------------------------------------------------------------------------------


def begins(name, word):
    return name == word or name.startswith(word + "-")


def all_scenarios():
    """[(name, attack, folder)], in the order of the files."""
    found = []
    for path in sorted(glob.glob(os.path.join(glob.escape(ROOT), "scenarios", "*", "*.ini"))):
        folder = os.path.basename(os.path.dirname(path))
        if folder not in ("suites", "theory"):
            with open(path, encoding="utf-8") as file:
                attack = re.search(r"^attack *= *(\S+)", file.read(), re.M)
            found.append((os.path.basename(path)[:-len(".ini")], attack and attack.group(1), folder))
    return found


def meant(words):
    """The scenarios that these words mean: of its name, attack, folder and beginning, the strongest that a word has counts alone. BadInput."""
    scenarios, chosen = all_scenarios(), set()
    for word in words:
        ways = ([s[0] for s in scenarios if s[0] == word], [s[0] for s in scenarios if s[1] == word], [s[0] for s in scenarios if s[2] == word],
                [s[0] for s in scenarios if begins(s[0], word)])
        found = next((way for way in ways if way), None)
        if not found:
            near = ending.near(word, [name for s in scenarios for name in s[:2] if name])
            raise ending.BadInput(f"which --survive {word}: no scenario and no attack" +
                                  (f", did you mean '{near}'?" if near else ", see `list scenarios` and scenarios/theory/rules.ini"))
        chosen |= set(found)
    return [s[0] for s in scenarios if s[0] in chosen]


def asked(*words):
    """What the program prints. BadInput with its own line."""
    done = subprocess.run([os.environ.get("LOCKBENCH_BIN", "lockbench"), *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise ending.BadInput((done.stderr or f"lockbench {words[0]} failed").strip().removeprefix("lockbench: "))
    return done.stdout


def systems_on(servers, systems):
    """Those on these servers, a topology or the beginning of its name. BadInput."""
    if not servers:
        return list(systems)
    chosen = []
    for word in servers:
        there = [name for name in systems if begins(name.partition("@")[2], word)]
        if not there:
            known = [line.split()[0] for line in asked("list", "topologies").splitlines() if line.strip()]
            if word in known:
                raise ending.BadInput(f"which --on {word}: no lock of the group all is there")
            near = ending.near(word, known)
            raise ending.BadInput(f"which --on {word}: unknown servers" + (f", did you mean '{near}'?" if near else ", see `list topologies`"))
        chosen += [name for name in there if name not in chosen]
    return chosen


# ---- which: the answer --------------------------------------------------------------------------------------------------


def cost_of():
    """A function that says what a system cost in a reference run: medians of `contention` without a guard, or None."""
    runs = []
    for folder in COST_RUNS:
        try:
            with open(os.path.join(ROOT, folder, "trials.csv"), encoding="utf-8", newline="") as file:
                runs.append((folder, [t for t in csv.DictReader(file) if t["scenario"] == "contention" and t["guard"] == "none"]))
        except (OSError, KeyError):
            continue

    def median(trials, system, clients, column):
        values = [float(t[column]) for t in trials if t["system"] == system and t["clients"] == clients and t[column]]
        return statistics.median(values) if values else None

    def cost(system):
        for folder, trials in runs:
            found = {"run": folder, "grants_per_s_1": median(trials, system, "1", "grants_per_s"), "grants_per_s_16": median(trials, system, "16", "grants_per_s"),
                     "handoff_us_16": median(trials, system, "16", "handoff_p50_us")}
            if found["grants_per_s_1"] is not None or found["grants_per_s_16"] is not None:
                return found
        return None

    return cost


def system_of(name, flawed, table, guard, cost):
    cells, beyond = [], 0
    for scenario in table:
        of = {cell["guard"]: cell for cell in scenario["cells"] if cell["system"] == name}
        against, under = not of[guard]["survives"], [g for g in GUARDS if g in of and of[g]["survives"]]
        beyond += not under
        cells.append({"scenario": scenario["scenario"], **{key: of[guard][key] for key in ("verdict", "reason", "source")}, "stands_against": against,
                      "survives_under": under if against else [], "survives_if": of[guard].get("survives_if", [])})
    lost = sum(cell["stands_against"] for cell in cells)
    return {"system": name, "flawed": flawed, "lost": lost, "beyond_guards": beyond, "cells": cells, "cost": None if lost else cost(name)}


def answer_of(guard, words, servers):
    scenarios = meant(words)
    table = json.loads(asked("list", "expectations", "all", *scenarios, "--json"))
    names = sorted(systems_on(servers, table["systems"]), key=lambda name: table["systems"][name]["flawed"])  # those with a known flaw last
    cost = cost_of()
    systems = [system_of(name, table["systems"][name]["flawed"], table["scenarios"], guard, cost) for name in names]
    left = {g: sum(all(cell["survives"] for s in table["scenarios"] for cell in s["cells"] if (cell["system"], cell["guard"]) == (name, g)) for name in names) for g in GUARDS}
    fewest = min(((s["lost"], s["beyond_guards"]) for s in systems), default=None)
    return {"on": servers, "scenarios": scenarios, "guard": guard, "left": [s["system"] for s in systems if not s["lost"]],
            "fewest": [s["system"] for s in systems if (s["lost"], s["beyond_guards"]) == fewest], "left_under": left, "systems": systems}


# ---- which: telling it --------------------------------------------------------------------------------------------------


def joined(words, most, last):
    """"a, b and c", at most `most` of them."""
    words, more = list(words), f" and {len(words) - most} more" if len(words) > most else ""
    if more or len(words) < 2:
        return ", ".join(words[:most]) + more
    return ", ".join(words[:-1]) + last + words[-1]


def reason_of(cell):
    """Why a step cannot be done names the lock, so locks that it cannot be done to would all differ."""
    return "it cannot be put to this lock" if cell["source"] == "fit" else cell["reason"]


def flaw_of(names):
    if len(names) > 1:
        return " (each has a known flaw: show NAME)"
    return f" (has a known flaw: show {names[0].partition('@')[0]})"


def tell_costs(systems):
    rows = [s for s in systems if s["cost"]]
    if not rows:
        print("\nno reference run has measured what these cost")
        return
    print(f"\n{'cost without a guard':<28} {'1 client/s':>12} {'16 clients/s':>12} {'hand-off ms':>12}  measured in")
    for s in rows:
        numbers = ((s["cost"]["grants_per_s_1"], 1, 0), (s["cost"]["grants_per_s_16"], 1, 0), (s["cost"]["handoff_us_16"], 1000, 2))
        print(f"{s['system']:<28}" + "".join(f" {x / unit:12.{digits}f}" if x is not None else f" {'-':>12}" for x, unit, digits in numbers) + f"  {s['cost']['run']}")


def tell_left(systems):
    """Locks with the same cells stand together: their names, then the cells."""
    groups = {}
    for s in systems:
        groups.setdefault((s["flawed"], *((cell["verdict"], reason_of(cell)) for cell in s["cells"])), []).append(s)
    for same in groups.values():
        names = [s["system"] for s in same]
        print("\n" + wrapped(", ".join(names) + (flaw_of(names) if same[0]["flawed"] else ""), "", 0))
        for cell in same[0]["cells"]:
            print(wrapped(f"{cell['scenario']}: {cell['verdict']}: {reason_of(cell)}", "  ", 4))
    if any(cell["verdict"] == "n/a" for s in systems for cell in s["cells"]):
        print("\nn/a: by its facts, the fault takes nothing from the lock, or the question cannot be put to it")
    tell_costs(systems)


def tell_remedies(cell):
    """What would make this cell safe. Several values of a fact that make the same of it stand in one line."""
    guards, lines = cell["survives_under"], {}
    print(f"      survives under the guard {joined(guards, sys.maxsize, ' or ')}" if guards else "      no guard helps")
    for change in cell["survives_if"]:
        lines.setdefault((change["fact"], change["verdict"], change["reason"]), []).append(change)
    for (fact, verdict, reason), changes in lines.items():
        values = joined([change["value"] for change in changes], sys.maxsize, " or ")
        print(wrapped(f"survives if {fact}={values} instead of {changes[0]['now']}: {verdict}: {reason}", " " * 6, 8))
    if not lines:
        print("      no single fact helps")


def tell_nearest(answer):
    first, *others = answer["fewest"]
    system = next(s for s in answer["systems"] if s["system"] == first)
    also = f"; as few: {joined(others, 3, ' and ')}" if others else ""
    print("\n" + wrapped(f"{first} is lost in {system['lost']} of {len(system['cells'])}, the fewest{also}{flaw_of([first]) if system['flawed'] else ''}", "", 4))
    for cell in system["cells"]:
        if cell["stands_against"]:
            print(wrapped(f"{cell['scenario']}: {cell['verdict']}: {cell['reason']}", "  ", 4))
            tell_remedies(cell)
    left = [f"{count} under {guard}" for guard, count in answer["left_under"].items() if count]
    print(f"\nleft: {', '.join(left)} (--guard)" if left else "\nno guard leaves one")


def which(as_json, guard, words, servers=""):
    answer = answer_of(guard, words.split(","), servers.split(",") if servers else [])
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
        return 0
    systems, left = answer["systems"], [s for s in answer["systems"] if not s["lost"]]
    on = f" on {joined(answer['on'], 6, ' or ')}" if answer["on"] else ""
    print(wrapped(f"{len(left) or 'each'} of {len(systems)} locks{on} should {'not be lost to' if left else 'be lost to some of'} {joined(answer['scenarios'], 6, ' and ')} "
                  f"{'without a guard' if guard == 'none' else 'under the guard ' + guard}", "", 0))
    if left:
        tell_left(left)
    else:
        tell_nearest(answer)
    return 0


def main():
    commands = {"predict": (predict, 2, 3), "which": (which, 3, 4)}
    words = sys.argv[3:]
    command, least, most = commands.get(sys.argv[1] if len(sys.argv) > 2 else "", (None, 1, 0))
    if not command or sys.argv[2] not in ("--text", "--json") or not least - 1 <= len(words) <= most - 1:
        print(__doc__, file=sys.stderr)
        return ending.BAD_INPUT
    return command(sys.argv[2] == "--json", *words)


if __name__ == "__main__":
    sys.exit(ending.of(main))
