#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench-peer.py LOCKBENCH [--jars FOLDER] [--rounds N] [--clients A,B] - zk-sequential beside Curator's InterProcessMutex on one hot lock, as a benchmark.

`lockbench serve` keeps an ensemble of three with the settings of measured trials. The two take turns on it, and who begins changes from round to
round, so that a slow minute is one of both. What is compared are the turns of one round: the median of these ratios. Each client has a session of
its own, asks all the time and releases at once. Ours are processes, Curator's are threads of one JVM, and all share the cores with the servers.

Needs libcurator-recipes-java and a Java compiler, which nothing else here does; without them it says so. About a minute a round. It judges nothing.
Exit: 0; 5 a program or a jar is missing; 1 a turn failed.
"""
import argparse
import csv
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

JARS = ("curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute", "guava", "slf4j-api", "slf4j-nop", "netty-all", "netty-common",
        "netty-buffer", "netty-codec", "netty-handler", "netty-resolver", "netty-transport", "netty-transport-native-epoll", "netty-transport-native-unix-common")
NEEDED = JARS[:8]
WARM_UP_S, SECONDS = 3, 5
HERE = pathlib.Path(__file__).resolve().parent


def missing(what, package):
    print(f"bench-peer: {what} is missing: apt-get install {package}")
    sys.exit(5)


def ours(lockbench, clients, folder, servers):
    """(grants per second, median of a hand-off in us) of a turn."""
    out = folder / f"ours-{len(list(folder.iterdir()))}"
    done = subprocess.run([lockbench, "run", "contention", "-b", "zk-sequential", "--zookeeper", servers, "-n", "1", "-s", f"clients={clients}", "-s", f"duration_s={SECONDS}",
                           "-s", f"warmup_s={WARM_UP_S}", "-o", str(out)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    try:
        with open(out / "trials.csv", encoding="utf-8", newline="") as file:
            trial = next(csv.DictReader(file))
        return float(trial["grants_per_s"]), float(trial["handoff_p50_us"])
    except (OSError, StopIteration, ValueError):
        sys.exit(f"bench-peer: our turn failed: {done.stderr.strip() or 'no speed was measured'}")


def curator(java, path, clients, servers):
    done = subprocess.run([java, "-XX:-UsePerfData", "-cp", path, "BenchPeer", servers, str(clients), str(WARM_UP_S), str(SECONDS)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench-peer: Curator's turn failed: {done.stderr.strip()}")
    return tuple(map(float, done.stdout.split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(" - ")[2].partition("\n")[0])
    parser.add_argument("lockbench")
    parser.add_argument("--jars", type=pathlib.Path, default=pathlib.Path("/usr/share/java"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", default="8,16")
    words = parser.parse_args()
    for jar in NEEDED:
        if not (words.jars / f"{jar}.jar").exists():
            missing(words.jars / f"{jar}.jar", "libcurator-recipes-java libslf4j-java")
    javac = shutil.which("javac") or missing("javac", "default-jdk-headless")
    servers = os.environ.get("LOCKBENCH_ZOOKEEPER")
    if not servers:
        tool = os.path.abspath(words.lockbench)
        os.execv(tool, [tool, "serve", "zk-x3", "--speed", "--", sys.executable, *sys.argv])
    with tempfile.TemporaryDirectory() as name:
        path = ":".join([name, *(str(words.jars / f"{jar}.jar") for jar in JARS if (words.jars / f"{jar}.jar").exists())])
        subprocess.run([javac, "-d", name, "-cp", path, HERE / "BenchPeer.java"], check=True)
        runs = pathlib.Path(name, "runs")
        runs.mkdir()
        java = str(pathlib.Path(os.path.realpath(javac)).with_name("java"))
        for clients in map(int, words.clients.split(",")):
            ratios = []
            for number in range(words.rounds):
                sides = {"ours": lambda: ours(words.lockbench, clients, runs, servers), "curator": lambda: curator(java, path, clients, servers)}
                said = {side: sides[side]() for side in sorted(sides, reverse=number % 2 == 0)}
                ratios.append([a / b for a, b in zip(said["ours"], said["curator"])])
                print(f"{clients} clients, round {number + 1}: grants/s {said['ours'][0]:.0f}, Curator {said['curator'][0]:.0f}; "
                      f"hand-off {said['ours'][1] / 1000:.2f} ms, Curator {said['curator'][1] / 1000:.2f} ms", flush=True)
            rate, handoff = (statistics.median(r[i] for r in ratios) for i in (0, 1))
            print(f"{clients} clients, ours / Curator, median of {words.rounds} rounds: grants {rate:.2f}, hand-off {handoff:.2f}", flush=True)


main()
