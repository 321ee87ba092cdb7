# SPDX-License-Identifier: MIT
"""told.py - what report.html shows of single trials: one for each cell, as `lockbench explain --all` tells them.

The words are those of that command. The lanes are drawn from the events, as in the figure `violation` (timeline.py).
Without $LOCKBENCH_BIN, or without histories, there is nothing to show, and the page says so.
"""

import json
import os
import re
import subprocess

from timeline import Story

MOST = 1500  # marks of a kind in a lane
LINE = re.compile(r"  \+ *([\d.]+) ms (?:[ |:]*)  (\S+) *(.*)")


def _run(program, run_dir):
    """(lines, what went wrong or None)"""
    try:
        done = subprocess.run([program, "explain", "--all", run_dir], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        return [], f"{program}: {error.strerror}"
    if done.returncode:
        return done.stdout.splitlines(), (done.stderr.splitlines() or [f"it ended with {done.returncode}"])[0]
    return done.stdout.splitlines(), None


def _joined(words):
    """"granted by redis-1, lease until +5 ms": the gaps of a column become words of a sentence."""
    what, *more = re.split(" {2,}", words.strip())
    return ": ".join([what, ", ".join(more)]) if what == "lost" and more else " ".join([what, ", ".join(more)]).strip()


def _lines(story):
    """[[ms or None, who, words, what is wrong]] of the story, and the sentences below it."""
    above, _, below = story.rstrip("\n").rpartition("\n\n")
    lines = []
    for text in above.splitlines():
        found = LINE.fullmatch(text)
        if found:
            words, _, wrong = found[3].partition("<-- ")
            lines.append([float(found[1]), found[2], _joined(words), wrong])
        elif "..." in text:
            lines.append([None, "", text.strip(), ""])
    return lines, below


def _servers(events):
    names = set()
    for e in events:
        if e["e"] in ("server", "voted", "role", "failover", "left", "unsynced", "touched"):
            names |= {n for side in ("host", "from") for n in (e.get(side) or "").split(", ")}
    clients = {e["c"] for e in events if "c" in e}
    return sorted(names - clients - {""}, key=lambda n: (n.rstrip("0123456789"), len(n), n))


def _grants(events, story, place):
    """[server, ms, client] of grants: whose yes each was."""
    grants = []
    for e in events:
        at = (e["t"] - story.zero) / 1e6
        if e["e"] in ("server", "voted") and "step" not in e and story.begin <= at <= story.end and e.get("c") in place:
            grants += [[place[host], at, place[e["c"]], e["e"] == "voted"] for host in (e.get("host") or "").split(", ") if host in place]
    return grants


def _cut_off(fault):
    """Of a cut what each of its hosts is cut off from, as others may still reach it: "cut off from redis-1, redis-2 and 3 more". Else nothing."""
    if fault["verb"] != "cut" or not all(fault["sides"]):
        return []
    said = []
    for side in fault["sides"]:
        said.append("cut off from " + ", ".join(side if len(side) < 3 else side[:1]) + (f" and {len(side) - 1} more" if len(side) > 2 else ""))
    return [said[1]] * len(fault["sides"][0]) + [said[0]] * len(fault["sides"][1])


def drawn(events, head):
    """What the lanes of a trial need, as short lists; lanes are numbers in `lanes`, servers first. Times in ms."""
    episodes, number = head["episodes"], head["episode"]
    story = Story(events, episodes, head["begin_ns"], episodes[number] if 0 <= number < len(episodes) else None)
    clients = story.clients
    servers = _servers(events)
    lanes = servers + clients
    place = {name: i for i, name in enumerate(lanes)}
    digits = 6 if story.end - story.begin < 5 else 3
    outcome = {"granted": 0, "busy": 1, "timeout": 2, "unknown": 3, "open": 4, "crash": 5}

    def ms(value):
        return None if value is None else round(value, digits)

    data = {
        "lanes": lanes, "servers": len(servers), "span": [ms(story.begin), ms(story.end)], "events": head["total"],
        "holds": [[place[h["who"]], ms(h["from"]), ms(h["to"]), ms(h["until"]), h["ended"]] for h in story.holds if h["who"] in place],
        "asks": [[place[a["who"]], ms(a["from"]), ms(a["to"]), outcome[a["outcome"]]] for a in story.asks if a["who"] in place],
        "uses": [[place[a["who"]], ms(a["at"]), int(a["kind"] == "write"), a["value"], int(a["refused"])]
                 for a in story.accesses if a["who"] in place],
        "died": [[place[who], ms(at)] for who, at in story.crashes if who in place],
        "faults": [[f["text"], ms(f["from"]), ms(f["to"]), [place[h] for h in f["hosts"] if h in place], f["verb"],
                    [word for host, word in zip(f["hosts"], _cut_off(f)) if host in place]] for f in story.faults],
        "facts": [[ms(at), text] for at, text in story.facts],
        "grants": [[lane, ms(at), who, int(voted)] for lane, at, who, voted in _grants(events, story, place)],
        "over": [[round(low, 6), round(high, 6), [place[w] for w in who if w in place]] for low, high, who in story.overlaps
                 if low <= story.end and high >= story.begin],
    }
    if len(events) < head["total"]:
        data["part"] = len(events)
    for key in ("holds", "asks", "uses", "faults", "facts", "grants", "over"):
        if len(data[key]) > MOST:
            data["cut"] = data.get("cut", 0) + len(data[key]) - MOST
            data[key] = data[key][:MOST]
    return {key: value for key, value in data.items() if value or key == "servers"}


def _trials(lines):
    """{(scenario, system, guard): what is shown}"""
    trials, at = {}, 0
    while at < len(lines):
        head = json.loads(lines[at])
        events = [json.loads(line) for line in lines[at + 2:at + 2 + head["events"]]]
        at += 2 + head["events"]
        events.sort(key=lambda e: (e["t"], e.get("s", 0)))
        story, below = _lines(head["story"])
        trials[head["scenario"], head["system"], head["guard"]] = {
            "clients": head["clients"], "trial": head["trial"], "again": head["again"], "story": story, "end": below,
            **(drawn(events, head) if events else {})}
    return trials


def fitting(cells, trials, budget):
    """(those that fit the budget, how many do not): what was safe and as expected goes first."""
    def rank(key):
        cell = cells.get(key, {})
        return (cell.get("as_expected") is not False, ("violated", "mixed", "stuck", "delayed").index(cell["verdict"])
                if cell.get("verdict") in ("violated", "mixed", "stuck", "delayed") else 4)

    kept, left = {}, budget
    for key in sorted(trials, key=rank):
        left -= len(json.dumps(trials[key], separators=(",", ":"), ensure_ascii=False).encode())
        if left < 0:
            break
        kept[key] = trials[key]
    return kept, len(trials) - len(kept)


def told(run_dir, cells, budget):
    """(trials, how many were left out, why there are none or None)"""
    program = os.environ.get("LOCKBENCH_BIN")
    if not os.path.isdir(os.path.join(run_dir, "histories")):
        return {}, 0, "the folder has no histories"
    if not program:
        return {}, 0, "this page was written without lockbench itself"
    lines, wrong = _run(program, run_dir)
    try:
        trials = _trials(lines)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        return {}, 0, f"lockbench explain --all: {error}"
    return (*fitting({(c["scenario"], c["system"], c["guard"]): c for c in cells}, trials, budget), wrong)
