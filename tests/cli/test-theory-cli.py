#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-theory-cli.py LOCKBENCH PLUGIN_FOLDER - `predict`, `which` and plots/theory.py say the same as the lines of `list expectations`, as the rules and as the reference runs.

What they say is counted again here, from the files and from the table. Speaks TAP.
"""
import csv
import functools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

sys.path.insert(0, str(tap.ROOT / "plots"))
import run_folder  # noqa: E402

LOCKBENCH, PLUGINS = sys.argv[1:3]
os.environ["LOCKBENCH_VERSIONS"] = "etcd 3.4.23"  # whatever is installed here
ROOT = tap.ROOT
GUARDS = ("none", "deadline", "signal", "recheck", "claim", "fence")
# A rule of such a fact says n/a for want of servers.
LACKS = re.compile(r"(?<!!)\b(takeover=nobody|members=[012|]+|killed=nothing|power=nothing)(?=\s|$)")


@functools.cache
def tool(*words, code=0):
    """(stdout, stderr) of a call that has to end with this code."""
    done = subprocess.run([LOCKBENCH, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != code:
        raise SystemExit(f"Bail out! {' '.join(words)}: exit {done.returncode}, expected {code}: {done.stderr}")
    return done.stdout, done.stderr


def asked(*words):
    return json.loads(tool(*words, "--json")[0])


@functools.cache
def table(systems):
    """{(scenario, system, guard): (verdict, source, reason)}"""
    rows = (line.split(None, 5) for line in tool("list", "expectations", systems)[0].splitlines())
    return {tuple(row[:3]): (row[3], row[4], row[5] if len(row) > 5 else "") for row in rows}


def rules():
    """{attack: [text of a rule]} as the file has them."""
    found, attack = {}, None
    for line in (ROOT / "scenarios/theory/rules.ini").read_text().splitlines():
        if line.startswith("["):
            attack = line.strip("[]")
            found[attack] = []
        elif line.startswith("rule ="):
            found[attack].append(line.partition("=")[2].strip())
    return found


def differences(what, *pairs):
    return [f"{what}: {name}: {got}, expected {wanted}" for name, got, wanted in pairs if got != wanted]


def wide(text):
    return [f"{len(line)} columns: {line}" for line in text.splitlines() if len(line) > 100]


# ---- theory --------------------------------------------------------------------------------------


@functools.cache
def whole():
    return tool("list", "expectations", "--json")[0]


@functools.cache
def theory_of(*runs):
    """What the paper says of these runs."""
    done = subprocess.run([sys.executable, str(ROOT / "plots/theory.py"), *runs], input=whole(), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def wrong_coverage():
    theory, cells = theory_of(), table("all,libraries,museum")
    coverage = theory["coverage"]
    decided = [source for verdict, source, _ in cells.values() if verdict != "n/a"]
    files = [path.read_text().splitlines() for path in ROOT.glob("scenarios/*/*.ini") if path.parent.name not in ("suites", "theory")]
    stated = 0
    for lines in files:
        expects = False
        for line in lines:
            expects = line.startswith("[expect") if line.startswith("[") else expects
            stated += expects and "=" in line and line[0] not in "[#; "
    return differences("coverage", ("by exceptions", coverage["by_exceptions"], decided.count("exception")),
                       ("[expect] lines", coverage["expect_lines"], stated), ("lines", coverage["scenario_lines"], sum(len(lines) for lines in files)),
                       ("systems", coverage["systems"], len({key[1] for key in cells})),
                       ("cells of exceptions", sum(e["cells"] for e in theory["exceptions"]), sum(source == "exception" for _, source, _ in cells.values())))


def wrong_exceptions():
    """What a file states is what the table has, and no line of a file is for nothing."""
    cells, wrong = table("all,libraries,museum"), []
    for e in theory_of()["exceptions"]:
        stated = [key for key, (verdict, source, _) in cells.items() if key[0] == e["scenario"] and key[2] in e["guards"] and (verdict, source) == (e["stated"], "exception")]
        missing = [s for s in e["systems"] if "*" not in s and s not in {key[1] for key in stated}]
        wrong += [f"{e['scenario']}: {s}: the table does not have it" for s in missing] + ([] if e["cells"] else [f"{e['scenario']}: {e['systems']}: no cell"])
    return wrong


RUNS = tuple(str(path.parent) for path in sorted(ROOT.glob("results/reference*/run.json")) if path.parent.name != "reference-speed")


def wrong_measured():
    """Cells that nobody has measured prove no rule, and a rule that one protocol alone was held against may be about that one."""
    measured, cells = theory_of(*RUNS)["coverage"]["measured"], table("all,libraries,museum")
    decided = {(c["scenario"], c["system"], c["guard"]) for run in RUNS for c in run_folder.load_run(run)["cells"]
               if c["verdict"] in ("safe", "violated", "stuck", "delayed", "mixed")}
    told = {key: cells[key] for key in decided if key in cells}
    ruled = {key: row for key, row in told.items() if row[1] not in ("exception", "fit", "-")}
    of_rule = {}
    for (_, system, _), (_, attack, reason) in ruled.items():
        of_rule.setdefault((attack, reason), []).append(system.split("@")[0])
    narrow = [names for names in of_rule.values() if len(set(names)) == 1]
    race = sum(verdict == "race" for verdict, _, _ in ruled.values())
    return differences("measured", ("cells", measured["cells"], len(told)), ("by rules", measured["by_rules"], len(ruled) - race), ("race", measured["race"], race),
                       ("stated", measured["stated"], len(told) - len(ruled)), ("share", round(measured["share_by_rules"], 6), round(measured["by_rules"] / len(told), 6)),
                       ("of one protocol", all(len(rule["protocols"]) == 1 for rule in measured["rules_of_one_protocol"]), True),
                       ("at most as many rules as reasons", len(narrow) <= len(measured["rules_of_one_protocol"]), True))


def wrong_share():
    coverage, scenarios = theory_of(*RUNS)["coverage"], len(tool("list", "scenarios")[0].splitlines())
    share = coverage["measured"]["share_by_rules"]
    return [f"{name}: {found}" for name, found, good in (("share_by_rules of the measured cells", share, share >= 0.94), ("expect_lines", coverage["expect_lines"], coverage["expect_lines"] <= 250),
                                                         ("scenario_lines", coverage["scenario_lines"], coverage["scenario_lines"] < 40 * scenarios)) if not good]


def wrong_rules():
    said, file = {a["attack"]: [r["text"] for r in a["rules"]] for a in theory_of()["attacks"]}, rules()
    alone = asked("list", "expectations", "redis-token@sentinel", "failover-confirmed", "failover")["scenarios"]
    return differences("rules", ("all", said, file), ("named scenarios", [s["scenario"] for s in alone], ["failover-confirmed", "failover"]), ("attack", alone[0]["attack"], "grant-heard"))


def wrong_json():
    """JSON and lines say the same of each cell that both have, and every guard is in JSON."""
    system = "redis-token@sentinel"
    said = {(s["scenario"], c["system"], c["guard"]): (c["verdict"], c["source"], c["reason"]) for s in asked("list", "expectations", system)["scenarios"] for c in s["cells"]}
    lines = {key: row for key, row in table(system).items() if row[1] != "fit"}
    return [f"{key}: {said.get(key)}, the line has {row}" for key, row in lines.items() if said.get(key) != row][:5] + differences(
        "guards", ("all", {key[2] for key in said}, set(GUARDS)), ("how many", len(said) % len(GUARDS), 0))


def wrong_facts():
    terms = [line.split(None, 3) for line in tool("list", "facts")[0].splitlines()]
    facts = asked("predict", "redis-token@sentinel")["facts"]
    values = {name: text.split("|") for name, _, text, _ in terms}
    wrong = [f"{name}={value} is not in the vocabulary" for name, value in facts.items() if value not in values.get(name, [])]
    wrong += [f"{name} of {of} has no value" for name, of, _, _ in terms if of in ("lock", "servers") and not facts.get(name)]
    return wrong + differences("facts", ("copies", facts["copies"], "later"), ("takeover", facts["takeover"], "replicas"), ("names", [t["fact"] for t in theory_of()["facts"]], list(values)))


# ---- predict -------------------------------------------------------------------------------------


def wrong_row(system):
    """What the table asks is predicted as the table has it."""
    predicted = {(c["scenario"], system, c["guard"]): c["verdict"] for c in asked("predict", system)["cells"]}
    cells = {key: verdict for key, (verdict, source, _) in table(system).items() if source != "fit"}
    return [f"{key}: {predicted.get(key)}, expected {verdict}" for key, verdict in cells.items() if predicted.get(key) != verdict] or ([] if cells else ["the table has no such row"])


def wrong_beside(folder):
    """A run of five cells: one is as predicted, one differs, one is a race, one is undecided, one differs under a guard only."""
    system = "redis-token@sentinel"
    cells = table(system)
    run = [("failover", "none", "violated"), ("split-brain", "none", "safe"), ("failover-confirmed", "none", "safe"), ("restart-node", "none", "undecided"),
           ("pause-holder", "fence", "violated")]
    if [cells[(s, system, g)][0] for s, g, _ in run] != ["violated", "violated", "race", "violated", "safe"]:
        return ["the rules predict something else by now: choose other cells"]
    (folder / "run").mkdir()
    (folder / "run/run.json").write_text(json.dumps({"cells": [{"scenario": s, "system": system, "guard": g, "verdict": v, "trials": 2, "violated": 2} for s, g, v in run]}))
    said = {(c["scenario"], c["guard"]): (c["measured"], c["as_predicted"]) for c in asked("predict", system, str(folder / "run"))["cells"]}
    text = tool("predict", system, str(folder / "run"))[0]
    marked = [line.split(":")[0].split()[1] for line in text.splitlines() if line.startswith("!")]
    return differences("beside", ("cells", [said[(s, g)] for s, g, _ in run], [("violated", True), ("safe", False), ("safe", True), ("undecided", None), ("violated", False)]),
                       ("others", {v for k, v in said.items() if k not in [(s, g) for s, g, _ in run]}, {(None, None)}), ("marked", sorted(marked), ["pause-holder", "split-brain"]))


def wrong_own():
    plugin = asked("predict", "--plugin", f"{PLUGINS}/plugin-example.so")
    adapter = asked("predict", "--exec", f"{sys.executable} {ROOT}/peers/reference.py")
    verdicts = {(c["scenario"], c["guard"]): c["verdict"] for c in adapter["cells"]}
    return differences("own", ("plugin", plugin["system"], "lock-file@none"), ("adapter", adapter["system"], "exec:reference@redis"),
                       ("slow-holder", verdicts[("slow-holder", "none")], "violated"), ("its claim", verdicts[("slow-holder", "claim")], "safe"))


# ---- which ---------------------------------------------------------------------------------------


def survivors(scenarios, guard, attacks):
    """By the table: safe, or n/a by a rule that does not only lack servers. None where n/a is of the guard, which the table cannot tell."""
    cells, found = table("all"), []
    unsafe = {key[1] for key, (_, _, reason) in cells.items() if reason.startswith("known to be unsafe")}
    for system in dict.fromkeys(key[1] for key in cells):
        good = system not in unsafe
        for scenario in scenarios:
            verdict, source, reason = cells[(scenario, system, guard)]
            by = [text.partition("->")[0] for text in attacks.get(source, []) if text.partition(": ")[2] == reason]
            good &= verdict == "safe" or (verdict == "n/a" and bool(by) and not any(LACKS.search(text) for text in by))
        if good:
            found.append(system)
    return found


def wrong_left():
    attacks, wrong = rules(), []
    for words, scenarios, guard in (("pause-writer,restart-node", ["pause-writer", "restart-node"], "claim"), ("failover,clock-jump", ["failover", "clock-jump"], "none"),
                                    ("grant-unheard", ["failover", "cluster-failover"], "none"),
                                    ("storm", ["storm"], "none"), ("majority-lost", ["majority-lost"], "none"),
                                    ("crash", [path.stem for path in ROOT.glob("scenarios/crash/*.ini")], "none"), ("clock-drift", ["clock-drift-2", "clock-drift-10", "clock-drift-client-2", "clock-drift-client-10", "clock-drift-harmless", "clock-drift-allowed"], "none"),
                                    ("pause-writer", ["pause-writer"], "fence")):
        answer = asked("which", "--survive", words, "--guard", guard)
        wrong += differences(words, ("scenarios", sorted(answer["scenarios"]), sorted(scenarios)))
        if words not in ("crash", "clock-drift"):  # some steps cannot be done to some locks there, and what is predicted of them all the same is not in the table
            flawed = {s["system"] for s in answer["systems"] if s["flawed"]}
            wrong += differences(words, ("left", answer["left"], sorted(survivors(scenarios, guard, attacks), key=lambda system: system in flawed)),
                                 ("how many", answer["left_under"][guard], len(answer["left"])))
    return wrong + ([] if "redis-pubsub@redis" in asked("which", "--survive", "crash-between,crash-holder")["left"] else ["what has no such step is lost by it"]) + (
        ["one server survives a failover"] if {"etcd-lease@etcd", "redis-token@redis"} & set(asked("which", "--survive", "failover", "--guard", "fence")["left"]) else [])


def wrong_on():
    on = {s["system"].partition("@")[2] for s in asked("which", "--on", "redis,zk-x3", "--survive", "control")["systems"]}
    return [f"on {topology}" for topology in on if not re.fullmatch(r"redis(-.*)?|zk-x3", topology)] + ([] if {"redis", "redis-x5", "zk-x3"} <= on else [f"only on {on}"])


def wrong_none():
    """Nothing on Sentinel survives: what stands against the nearest one, and what would help."""
    answer, cells = asked("which", "--on", "sentinel", "--survive", "failover,pause-holder"), table("all")
    lost = {s["system"]: s["lost"] for s in answer["systems"]}
    nearest = next(s for s in answer["systems"] if s["system"] == answer["fewest"][0])
    wrong = differences("none", ("left", answer["left"], []), ("fewest", nearest["lost"], min(lost.values())))
    for cell in nearest["cells"]:
        safe = [g for g in GUARDS if cells[(cell["scenario"], nearest["system"], g)][0] == "safe"]
        wrong += differences(cell["scenario"], ("against", cell["stands_against"], "safe" not in cell["verdict"]), ("guards", cell["survives_under"], safe)) if cell["verdict"] != "n/a" else []
    changes = {(c["fact"], c["value"]) for s in answer["systems"] if s["system"] == "redis-token@sentinel" for c in s["cells"][0]["survives_if"]}
    wrong += [f"failover is survived with {fact}={value}, and it is not said" for fact, value in (("copies", "majority"), ("copies", "before"), ("confirms", "replicas")) if (fact, value) not in changes]
    return wrong + (["fewer servers are no remedy"] if ("takeover", "nobody") in changes or ("members", "1") in changes else [])


def wrong_flawed():
    """Locks with a known flaw are marked and stand last, sound ones are not."""
    systems = asked("which", "--on", "redis,zk,etcd,pg", "--survive", "pause-writer", "--guard", "claim")["systems"]
    marks = [s["flawed"] for s in systems]
    names = {s["system"].partition("@")[0] for s in systems if s["flawed"]}
    known = {"redis-del", "redis-getdel", "redis-lua", "redis-setnx", "redis-stamp", "zk-careless", "etcd-v3lock"}
    return ([f"not marked: {known - names}"] if known - names else []) + ([] if marks == sorted(marks) else ["they do not stand last"]) + (
        ["a sound lock is marked"] if names & {"redis-token", "redlock", "zk-sequential", "etcd-lease", "pg-lease", "pg-row"} else [])


def wrong_joined():
    """A fact has one line for all values that make the same of it, and a lease that nobody renews is no remedy."""
    words = ("which", "--on", "sentinel", "--survive", "failover,slow-holder")
    cells = [c for s in asked(*words)["systems"] for c in s["cells"] if c["scenario"] == "slow-holder"]
    lines = [line.split("=")[0] for line in tool(*words)[0].split("slow-holder: ")[1].splitlines() if "survives if" in line]
    return (["a lease that nobody renews"] if ("renews", "nobody") in {(f["fact"], f["value"]) for c in cells for f in c["survives_if"]} else []) + (
        [] if lines and len(set(lines)) == len(lines) else [f"lines of one fact: {lines}"])


def wrong_cost():
    answer = {s["system"]: s["cost"] for s in asked("which", "--survive", "control")["systems"]}
    wrong = []
    for system, run in (("redis-token@redis", "results/reference-speed"), ("pg-lease@pg-async", "results/reference")):
        with (ROOT / run / "trials.csv").open(newline="") as file:
            trials = [t for t in csv.DictReader(file) if (t["scenario"], t["system"], t["guard"]) == ("contention", system, "none")]
        for key, clients, column in (("grants_per_s_1", "1", "grants_per_s"), ("grants_per_s_16", "16", "grants_per_s"), ("handoff_us_16", "16", "handoff_p50_us")):
            values = [float(t[column]) for t in trials if t["clients"] == clients and t[column]]
            wrong += differences(system, (key, round(answer[system][key], 3), round(statistics.median(values), 3)))
        wrong += differences(system, ("run", answer[system]["run"], run))
    return wrong + differences("cost", ("of what was not measured", answer["redis-stamp@redis"], None))


def wrong_schema():
    """The members of each object, in the order of results/SCHEMA.md."""
    predict, which = asked("predict", "redis-token@redis"), asked("which", "--on", "sentinel", "--survive", "failover")
    listed = json.loads(whole())
    stated = next(c for s in listed["scenarios"] for c in s["cells"] if "stated" in c)
    if_other = next(c for c in asked("list", "expectations", "redis-token@sentinel", "failover")["scenarios"][0]["cells"] if "survives_if" in c)
    cell = dict.fromkeys([*if_other, *stated])
    printed = {"list expectations --json": listed, "list expectations --json: cells": cell, "predict --json": predict,
               "predict --json: cells": predict["cells"][0], "which --json": which, "which --json: systems": which["systems"][0], "which --json: cells": which["systems"][0]["cells"][0]}
    page = {name: re.findall(r"^\| `(\w+)` \|", text, re.M) for name, text in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", (ROOT / "results/SCHEMA.md").read_text(), re.M)}
    return [f"{name}: {list(value)}, the page has {page.get(name)}" for name, value in printed.items() if list(value) != page.get(name)]


def wrong_examples():
    """What docs/ prints of these commands is what they print."""
    wrong, found = [], 0
    for page in sorted(ROOT.glob("docs/*.md")):
        for words, printed in re.findall(r"^```\n\$ \./bench ((?:which|predict)\b[^\n]*)\n(.*?)^```$", page.read_text(), re.S | re.M):
            found += 1
            wrong += [] if tool(*words.split())[0] == printed else [f"{page.name}: {words}"]
    return wrong if found else ["no example was found"]


def wrong_refusals():
    cases = ((["list", "fcts"], "'facts'"), (["list", "expectations", "redis-token@redis", "failovr"], "'failover'"), (["list", "keys", "--json"], "expectations"), (["theory"], "list facts"),
             (["predict", "redis-tokn"], "'redis-token'"), (["predict"], "PROTOCOL"), (["predict", "redis-token@redis", "/nowhere"], "results folder"),
             (["which"], "--survive"), (["which", "--survive", "failovr"], "'failover'"), (["which", "--on", "sentinal", "--survive", "failover"], "'sentinel'"),
             (["which", "--on", "zk-nosync", "--survive", "failover"], "zk-nosync"), (["which", "--survive", "failover", "-g", "fense"], "'fence'"), (["which", "x"], "'x'"),
             (["which", "--on", "redis-x", "--survive", "failover"], "'redis-x3'"))
    wrong = []
    for words, hint in cases:
        out, err = tool(*words, code=2)
        if out or err.count("\n") != 1 or hint not in err:
            wrong.append(f"{' '.join(words)}: {err.strip()}")
    return wrong


def main():
    tap.check("the paper counts the exceptions of the table, and the lines of its files", wrong_coverage())
    tap.check("an exception is what its file states", wrong_exceptions())
    tap.check("it counts the cells that the published runs have decided", wrong_measured())
    tap.check("rules say nearly all of what was measured", wrong_share())
    tap.check("JSON has the rules of the file", wrong_rules())
    tap.check("JSON says what the lines say", wrong_json())
    tap.check("facts are words of the vocabulary", wrong_facts())
    for system in ("redis-token@sentinel", "zk-sequential@zk-x3", "pg-advisory@pg-sync", "peer:redis-py@redis"):
        tap.check(f"predict {system} is the row of the table", wrong_row(system))
    with tempfile.TemporaryDirectory() as folder:
        tap.check("predict marks what a run has measured otherwise", wrong_beside(pathlib.Path(folder)))
    tap.check("predict takes a plugin and an adapter", wrong_own())
    tap.check("which names those that survive by the table", wrong_left())
    tap.check("which --on takes a topology or the beginning of its name", wrong_on())
    tap.check("where nothing is left, which says what would have to change", wrong_none())
    tap.check("which puts locks with a known flaw last", wrong_flawed())
    tap.check("which joins the values of a fact that help alike", wrong_joined())
    tap.check("which has the cost of the reference runs", wrong_cost())
    tap.check("what they print fits into 100 columns", [line for words in (["predict", "redis-token@sentinel"], ["predict", "redis-token@sentinel", str(ROOT / "results/reference-truth")],
                                                                            ["which", "--survive", "control"], ["which", "--survive", "failover,pause,clock"])
                                                        for line in wide(tool(*words)[0])])
    tap.check("JSON is as results/SCHEMA.md says", wrong_schema())
    tap.check("the examples of docs/ are what is printed", wrong_examples())
    tap.check("a bad word is one line", wrong_refusals())
    return tap.end()


sys.exit(main())
