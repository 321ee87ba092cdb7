#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""soak.py LOCKBENCH DIR [TIME] [ARG...] - does the tool stay as small as it was? Plays `LOCKBENCH suite full --budget TIME -o DIR/run ARG...` (TIME: 3h), in a random
order with a random seed, and looks at it every five seconds. Leaves DIR/soak.csv, and DIR/soak.svg if matplotlib is there.

Of the tool: memory, descriptors, threads. Of the machine, on which nothing else should run: processes, mounts, network namespaces, entries of the temporary folder.
Each is flat if its median in the last quarter is at most 5 % and 3 above the most before: trials of a load run alone, others side by side, and a leak only grows.
What is there when the tool has ended was there before, or is named.
Exit: 0 flat, nothing left, every verdict as expected; 1 not flat, or something is left; else what the tool ended with. Histories of what is not as expected are in DIR/run.
"""

import csv
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

EVERY_S = 5
OF_TOOL = ("memory_kib", "descriptors", "threads")
OF_MACHINE = ("processes", "mounts", "namespaces", "temporary")


def proc(*parts):
    return os.path.join("/proc", *map(str, parts))


def of_tool(pid):
    """None when it has ended."""
    try:
        with open(proc(pid, "status"), encoding="utf-8") as file:
            status = dict(line.split(":", 1) for line in file)
        return {"memory_kib": int(status["VmRSS"].split()[0]), "descriptors": len(os.listdir(proc(pid, "fd"))), "threads": int(status["Threads"])}
    except (OSError, KeyError):
        return None


def of_machine():
    namespaces, pids = set(), [name for name in os.listdir("/proc") if name.isdigit()]
    for pid in pids:
        try:
            os.readlink(proc(pid, "exe"))  # of the kernel's own there is none
            namespaces.add(os.readlink(proc(pid, "ns", "net")))
        except OSError:
            pids = [p for p in pids if p != pid]
    with open(proc("self", "mountinfo"), encoding="utf-8") as file:
        mounts = sum(1 for _ in file)
    return {"processes": len(pids), "mounts": mounts, "namespaces": len(namespaces), "temporary": len(os.listdir(tempfile.gettempdir()))}


def sample(tool, into):
    begun, rows = time.monotonic(), []
    with open(into, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ("t_s", *OF_TOOL, *OF_MACHINE), lineterminator="\n")
        table.writeheader()
        while tool.poll() is None:
            now = of_tool(tool.pid)
            if now:
                rows.append({"t_s": round(time.monotonic() - begun)} | now | of_machine())
                table.writerow(rows[-1])
                file.flush()
            time.sleep(EVERY_S)
    return rows


def grown(rows, names):
    """A line for each that is not flat."""
    late = 3 * len(rows) // 4
    for name in names if late else ():
        before, after = max(row[name] for row in rows[:late]), statistics.median(row[name] for row in rows[late:])
        if after > 1.05 * before + 3:
            yield f"{name}: at most {before} before, {after:.0f} in the last quarter"


def draw(rows, path):
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("svg")
    from matplotlib import pyplot
    names = OF_TOOL + OF_MACHINE
    figure, axes = pyplot.subplots(len(names), 1, sharex=True, figsize=(7, 8), layout="constrained")
    for axis, name in zip(axes, names):
        axis.plot([row["t_s"] / 60 for row in rows], [row[name] for row in rows], linewidth=0.8)
        axis.set_ylim(0, 1.2 * max(row[name] for row in rows) + 1)
        axis.set_ylabel(name, rotation=0, ha="right", va="center")
    axes[-1].set_xlabel("minutes")
    figure.savefig(path)


def main():
    if len(sys.argv) < 3:
        print("usage: soak.py LOCKBENCH DIR [TIME] [ARG...]", file=sys.stderr)
        return 2
    program, folder, budget, words = sys.argv[1], sys.argv[2], (sys.argv[3:4] or ["3h"])[0], sys.argv[4:]
    os.makedirs(folder)
    before = of_machine()
    tool = subprocess.Popen([program, "suite", "full", "--budget", budget, "--seed", str(random.randrange(2 ** 31)), "-o", os.path.join(folder, "run"), *words])
    rows = sample(tool, os.path.join(folder, "soak.csv"))
    wrong = list(grown(rows, OF_TOOL + OF_MACHINE))
    after = of_machine()
    wrong += [f"{name}: {before[name]} before, {after[name]} afterwards" for name in OF_MACHINE if after[name] > before[name]]
    if rows:
        draw(rows, os.path.join(folder, "soak.svg"))
    for line in wrong:
        print(f"not flat: {line}")
    print(f"{len(rows)} samples, the tool ended with {tool.returncode}; {folder}/soak.csv")
    return 1 if wrong else tool.returncode


sys.exit(main())
