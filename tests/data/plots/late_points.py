# SPDX-License-Identifier: MIT
"""late_points.py RUN_DIR [plant] - `plant` adds a sweep of delays to a run folder. Without it: whether the figure
lagging-follower has each trial of the sweep where it belongs, as what it was, and the two edges that run.json says: the limit, and from when to when the leader may end the session."""

import csv
import json
import re
import sys

SESSIONS, DELAYS, LIMIT = (800, 2400), (400, 1200, 2000), 1600
ENDS = {800: (433, 1000), 2400: (1500, 2600)}  # two thirds less half a tick of 200 ms; a tick more
SYSTEM = "zk-sequential@zk-x3"


def fate(session, delay, trial):
    """(verdict, servers_left, outcome)"""
    if delay > LIMIT:
        return "safe", "1", "left"
    if session == 2400 or delay < session:
        return "safe", "0", "safe"
    return ("violated", "0", "violated") if trial == 1 else ("undecided", "", "undecided")


def trials():
    return [(s, d, t) for s in SESSIONS for d in DELAYS for t in (1, 2)]


def plant(folder):
    with open(f"{folder}/run.json", encoding="utf-8") as file:
        run = json.load(file)
    for session in SESSIONS:
        for delay in DELAYS:
            run["scenarios"].append({"name": f"late~ttl_ms={session}~delay_ms={delay}", "base": "late",
                                     "varied": {"ttl_ms": str(session), "delay_ms": str(delay)}, "title": "", "question": "",
                                     "steps": ["slow A to B delay"], "workload": {"keys": 1, "ttl_ms": session, "delay_ms": delay}})
    run["settings"] = [{"topology": "zk-x3", "measured": True, "storage": "disk", "differs": ["syncLimit=5"]},
                       {"topology": "zk-x3", "measured": False, "storage": "memory",
                        "differs": ["tickTime=2000 (else 1)", "syncLimit=8 (else 5)", "tickTime=200"]}]
    with open(f"{folder}/run.json", "w", encoding="utf-8") as file:
        json.dump(run, file)
    with open(f"{folder}/trials.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    columns = rows[0] + ["servers_left"]
    rows = [row + [""] for row in rows[1:]]
    for session, delay, trial in trials():
        verdict, left, _ = fate(session, delay, trial)
        known = {"scenario": f"late~ttl_ms={session}~delay_ms={delay}", "system": SYSTEM, "guard": "none", "clients": "3",
                 "trial": str(trial), "verdict": verdict, "servers_left": left}
        rows.append([known.get(column, "") for column in columns])
    with open(f"{folder}/trials.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])


def check(folder):
    with open(f"{folder}/figures/lagging-follower.csv", encoding="utf-8", newline="") as file:
        table = [(int(r["session_ms"]), int(r["delay_ms"]), int(r["trial"]), r["outcome"], r["limit_ms"], (int(r["ends_from_ms"]), int(r["ends_to_ms"]))) for r in csv.DictReader(file)]
    wanted = [(*at, fate(*at)[2], str(LIMIT), ENDS[at[0]]) for at in trials()]
    if table != wanted:
        sys.exit(f"lagging-follower.csv: {table}, expected {wanted}")
    with open(f"{folder}/figures/lagging-follower.svg", encoding="utf-8") as file:
        svg = file.read()
    tick = r'<g id="xtick_\d+">.*?<use xlink:href="[^"]*" x="([\d.]+)".*?<!-- (.*?) -->'
    (from_x, low), *_, (to_x, high) = [(float(x), float(text)) for x, text in re.findall(tick, svg, re.S)]

    def place(x):
        return low + (x - from_x) * (high - low) / (to_x - from_x)

    for outcome in {row[3] for row in wanted}:
        body = re.search(rf'<g id="outcome {outcome}">(.*?)\n   </g>', svg, re.S).group(1)
        drawn = sorted(round(place(float(x))) for x in re.findall(r'<use xlink:href="#\w+" x="([\d.]+)"', body))
        if drawn != sorted(row[1] for row in wanted if row[3] == outcome):
            sys.exit(f"{outcome}: drawn at {drawn}")
    for name, at in [("limit", LIMIT), *((f"session {s}", s) for s in SESSIONS)]:
        body = re.search(rf'<g id="{name}">(.*?)</g>', svg, re.S).group(1)
        drawn = round(place(float(re.search(r"M ([\d.]+) ", body).group(1))))
        if drawn != at:
            sys.exit(f"{name}: drawn at {drawn}, expected {at}")
    for session, wanted_band in ENDS.items():
        body = re.search(rf'<g id="ends {session}">(.*?)</g>', svg, re.S).group(1)
        corners = [place(float(x)) for x in re.findall(r"[ML] ([\d.]+) ", body)]
        if (round(min(corners)), round(max(corners))) != wanted_band:
            sys.exit(f"band of {session}: drawn from {min(corners)} to {max(corners)}, expected {wanted_band}")


if __name__ == "__main__":
    (plant if sys.argv[2:] else check)(sys.argv[1])
