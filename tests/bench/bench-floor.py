#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench-floor.py LOCKBENCH [redis|pg] [--pairs N] [--clients A,B] [--driver DRIVER] - a lock beside the server's own benchmark, in turns of a second.

`lockbench serve` keeps one server with the settings of measured trials. redis-token takes turns on it with redis-benchmark, pg-row with pgbench, and
both sides send the same statements: of Redis SET NX PX and the release script, of PostgreSQL INSERT ... ON CONFLICT with its sequence and DELETE. Who
begins changes from pair to pair, and only the two turns of one pair are compared, so a slow minute of the machine is one of both.

redis-benchmark sends one command at a time, so its turn is half a second of each, and a pair takes 1/a + 1/b. It is one process, pgbench has two threads;
ours are a process per client, or one per core (--driver coroutine). Prints each pair, then median and quartiles of ours / floor. It judges nothing.
Exit: 0; 5 a program is missing; 1 a turn failed.
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

SECONDS = 1
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

    lock, option = "redis-token", "--redis"

    def __init__(self):
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

    def floor(self, clients):
        pairs_per_s = 1 / sum(1 / self.rate(name, clients) for name in self.commands)
        output(["redis-cli", "-h", self.host, "-p", self.port, "flushall"])
        return pairs_per_s


class Postgres:
    lock, option = "pg-row", "--postgres"

    def __init__(self):
        self.at = f"host={os.environ['PGHOST']} port={os.environ['PGPORT']} user={os.environ['PGUSER']} dbname={os.environ['PGDATABASE']}"
        output(["psql", "-qc", TABLE])

    def floor(self, clients):
        said = output(["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", "2", "-T", str(SECONDS), "-f", "-"], input=PAIR)
        return next(float(line.split()[2]) for line in said.splitlines() if line.startswith("tps = "))


def ours(words, server, clients, folder):
    """Grants per second of a turn; None if the tool says that the machine gave no speed."""
    out = folder / f"ours-{len(list(folder.iterdir()))}"
    said = subprocess.run([words.lockbench, "run", "spread", "-b", server.lock, server.option, server.at, "-n", "1", "-s", f"clients={clients}", "-s", f"driver={words.driver}",
                           "-s", f"duration_s={SECONDS}", "-o", str(out)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    try:
        with open(out / "trials.csv", encoding="utf-8", newline="") as file:
            return float(next(csv.DictReader(file))["grants_per_s"] or 0) or None
    except (OSError, StopIteration):
        sys.exit(f"bench-floor: our turn failed: {said.stderr.strip()}")


def measure(words, server, clients, folder):
    ratios = []
    for number in range(3 * words.pairs):
        sides = {"ours": lambda: ours(words, server, clients, folder), "floor": lambda: server.floor(clients)}
        rates = {side: sides[side]() for side in sorted(sides, reverse=number % 2 == 0)}
        if number and rates["ours"]:  # the first pair warms up
            ratios.append(rates["ours"] / rates["floor"])
            print(f"{clients} clients, pair {len(ratios)}: ours {rates['ours']:.0f}/s, floor {rates['floor']:.0f}/s, ours/floor {ratios[-1]:.2f}", flush=True)
        if len(ratios) == words.pairs:
            break
    if len(ratios) > 1:
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"{server.lock}, {clients} clients by {words.driver}: ours/floor median {middle:.2f}, quartiles {low:.2f} to {high:.2f}, {len(ratios)} pairs", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(" - ")[2].partition("\n")[0])
    parser.add_argument("lockbench")
    parser.add_argument("server", nargs="?", choices=("redis", "pg"), default="redis")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--clients", default="16")
    parser.add_argument("--driver", choices=("process", "coroutine"), default="process")
    words = parser.parse_args()
    for program in {"redis": ("redis-benchmark", "redis-cli"), "pg": ("pgbench", "psql")}[words.server]:
        if not shutil.which(program):
            print(f"bench-floor: {program} is missing")
            sys.exit(5)
    words.lockbench = os.path.abspath(words.lockbench)
    if "LOCKBENCH_SERVES" not in os.environ:
        os.environ["LOCKBENCH_SERVES"] = "1"
        os.execv(words.lockbench, [words.lockbench, "serve", words.server, "--speed", "--", sys.executable, *sys.argv])
    server = {"redis": Redis, "pg": Postgres}[words.server]()
    with tempfile.TemporaryDirectory() as folder:
        for clients in map(int, words.clients.split(",")):
            measure(words, server, clients, pathlib.Path(folder))


main()
