#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench-floor.py LOCKBENCH [redis|pg|zk|zk-x3] [--pairs N] [--clients A,B] [--driver DRIVER] [--out FILE.csv] - a lock beside the bare commands, in turns of a second.

`lockbench serve` keeps one server with the settings of measured trials. redis-token takes turns on it with redis-benchmark, pg-row with pgbench, and
both sides send the same statements: of Redis SET NX PX and the release script, of PostgreSQL INSERT ... ON CONFLICT with its sequence and DELETE. Who
begins changes from pair to pair, and only the two turns of one pair are compared, so a slow minute of the machine is one of both.

redis-benchmark sends one command at a time, so its turn is half a second of each, and a pair takes 1/a + 1/b. It is one process, pgbench has two threads;
ours are a process per client, or one per core (--driver coroutine). ZooKeeper has no benchmark: zk-sequential takes turns with floor-zk, which is ours.

Prints each pair, then median and quartiles of ours / floor. It judges nothing. --out adds the pairs to a CSV file; before those of each call stands
what was measured where, in lines with a #. plots/bare.py makes the table of docs/speed.md from it.
Exit: 0; 5 a program is missing; 1 a turn failed.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

SECONDS = 1
COLUMNS = ("system", "beside", "driver", "clients", "pair", "ours_per_s", "floor_per_s", "ratio")
RELEASE = 'if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'
TABLE = "CREATE TABLE IF NOT EXISTS floor(name text PRIMARY KEY, owner text NOT NULL); CREATE SEQUENCE IF NOT EXISTS floor_fence"
PAIR = """INSERT INTO floor(name, owner) VALUES (:client_id::text, 'x') ON CONFLICT DO NOTHING RETURNING nextval('floor_fence');
DELETE FROM floor WHERE name = :client_id::text AND owner = 'x';
"""


def output(words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **({"stdin": subprocess.DEVNULL} if "input" not in more else {}), **more)
    if done.returncode:
        sys.exit(f"bench-floor: {words[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Redis:
    """A turn of redis-benchmark sends as many commands as the turn before could in half a second."""

    lock, beside, option, warm = "redis-token", "redis-benchmark", "--redis", 1

    def __init__(self, _):
        self.at = os.environ["LOCKBENCH_REDIS"]
        self.host, _, self.port = self.at.rpartition(":")
        sha = output(["redis-cli", "-h", self.host, "-p", self.port, "script", "load", RELEASE]).strip()
        self.commands = {"take": ["SET", "lock:__rand_int__", "tok", "NX", "PX", "60000"], "free": ["EVALSHA", sha, "1", "lock:__rand_int__", "tok"]}
        self.count = dict.fromkeys(self.commands, 20000)

    def rate(self, name, clients):
        said = output(["redis-benchmark", "-h", self.host, "-p", self.port, "-c", str(clients), "-n", str(self.count[name]), "-r", "1000000000", "--csv", *self.commands[name]])
        rate = float(said.splitlines()[-1].rpartition('","')[0].split('","')[1])
        self.count[name] = max(1000, int(rate * SECONDS / 2))
        return rate

    def floor(self, clients, _):
        pairs_per_s = 1 / sum(1 / self.rate(name, clients) for name in self.commands)
        output(["redis-cli", "-h", self.host, "-p", self.port, "flushall"])
        return pairs_per_s


class Postgres:
    lock, beside, option, warm = "pg-row", "pgbench", "--postgres", 1

    def __init__(self, _):
        self.at = f"host={os.environ['PGHOST']} port={os.environ['PGPORT']} user={os.environ['PGUSER']} dbname={os.environ['PGDATABASE']}"
        output(["psql", "-qc", TABLE])

    def floor(self, clients, _):
        said = output(["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", "2", "-T", str(SECONDS), "-f", "-"], input=PAIR)
        return next(float(line.split()[2]) for line in said.splitlines() if line.startswith("tps = "))


class ZooKeeper:
    """Its first pairs are those of a JVM that still compiles."""

    lock, beside, option, warm = "zk-sequential", "floor-zk", "--zookeeper", 10

    def __init__(self, words):
        self.at, self.words = os.environ["LOCKBENCH_ZOOKEEPER"], words

    def floor(self, clients, folder):
        return ours(self.words, self, self.beside, clients, folder)


def ours(words, server, lock, clients, folder):
    """Grants per second of a turn; None if the tool says that the machine gave no speed."""
    out = folder / f"ours-{len(list(folder.iterdir()))}"
    said = subprocess.run([words.lockbench, "run", "spread", "-b", lock, server.option, server.at, "-n", "1", "-s", f"clients={clients}", "-s", f"driver={words.driver}",
                           "-s", f"duration_s={SECONDS}", "-o", str(out)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    try:
        with open(out / "trials.csv", encoding="utf-8", newline="") as file:
            return float(next(csv.DictReader(file))["grants_per_s"] or 0) or None
    except (OSError, StopIteration):
        sys.exit(f"bench-floor: our turn failed: {said.stderr.strip()}")


def measure(words, server, clients, folder):
    """A row for each pair."""
    rows = []
    for number in range(3 * words.pairs + server.warm):
        sides = {"ours": lambda: ours(words, server, server.lock, clients, folder), "floor": lambda: server.floor(clients, folder)}
        rates = {side: sides[side]() for side in sorted(sides, reverse=number % 2 == 0)}
        if number >= server.warm and all(rates.values()):
            ratio = rates["ours"] / rates["floor"]
            rows.append(dict(zip(COLUMNS, (f"{server.lock}@{words.server}", server.beside, words.driver, clients, len(rows) + 1, f"{rates['ours']:.0f}", f"{rates['floor']:.0f}", f"{ratio:.4f}"))))
            print(f"{clients} clients, pair {len(rows)}: ours {rates['ours']:.0f}/s, floor {rates['floor']:.0f}/s, ours/floor {ratio:.2f}", flush=True)
        if len(rows) == words.pairs:
            break
    if len(rows) > 1:
        low, middle, high = statistics.quantiles([float(row["ratio"]) for row in rows], n=4)
        print(f"{server.lock}, {clients} clients by {words.driver}: ours/floor median {middle:.2f}, quartiles {low:.2f} to {high:.2f}, {len(rows)} pairs", flush=True)
    return rows


def head(server, folder, load_before):
    """What was measured where, as the run of our latest turn says it."""
    run = json.loads((max(folder.iterdir(), key=os.path.getmtime) / "run.json").read_text())
    versions = [text.partition(" at ")[0] for text in run["servers"].values()]
    if server.beside in ("redis-benchmark", "pgbench"):
        versions.append(f"{server.beside} {re.search('[0-9][0-9.]*', output([server.beside, '--version']))[0]}")
    machine = run["machine"]
    return {"lockbench": f"{run['tool']['version']} ({run['tool']['commit']})", "servers": ", ".join(dict.fromkeys(versions)), "started_utc": run["started_utc"],
            "machine": f"{machine['cores']} x {machine['cpu']}, {machine['kernel']}", "load": f"{load_before:.1f} to {os.getloadavg()[0]:.1f}"}


def write(path, said, rows):
    new = not path.exists()
    with open(path, "a", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        file.writelines(f"# {key}: {value}\n" for key, value in said.items())
        if new:
            table.writeheader()
        table.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(" - ")[2].partition("\n")[0])
    parser.add_argument("lockbench")
    parser.add_argument("server", nargs="?", choices=("redis", "pg", "zk", "zk-x3"), default="redis")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--clients", default="16")
    parser.add_argument("--driver", choices=("process", "coroutine"), default="process")
    parser.add_argument("--out", type=pathlib.Path)
    words = parser.parse_args()
    for program in {"redis": ("redis-benchmark", "redis-cli"), "pg": ("pgbench", "psql"), "zk": (), "zk-x3": ()}[words.server]:
        if not shutil.which(program):
            print(f"bench-floor: {program} is missing")
            sys.exit(5)
    words.lockbench = os.path.abspath(words.lockbench)
    if "LOCKBENCH_SERVES" not in os.environ:
        os.environ["LOCKBENCH_SERVES"] = "1"
        os.execv(words.lockbench, [words.lockbench, "serve", words.server, "--speed", "--", sys.executable, *sys.argv])
    server, load_before = {"redis": Redis, "pg": Postgres, "zk": ZooKeeper, "zk-x3": ZooKeeper}[words.server](words), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = [row for clients in map(int, words.clients.split(",")) for row in measure(words, server, clients, folder)]
        if words.out:
            write(words.out, head(server, folder, load_before), rows)


main()
