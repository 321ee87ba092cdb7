#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""live-facts.py LOCKBENCH PLUGIN_FOLDER - every fact of a lock can be refuted: a lock that states it and does otherwise is not as predicted.

Each row is a lock, and a cell whose prediction rests on one fact. The lock states the fact falsely, and a run has to say so, with the rule. When it
states what it does, what was found is what is predicted. All else that it states is the same. Speaks TAP.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "helpers"))
import tap  # noqa: E402

LOCKBENCH, PLUGINS = sys.argv[1:3]
FLAWED = tap.ROOT / "tests" / "adapters" / "flawed.py"
AT_ONCE = 4  # they mostly wait
ATTEMPTS = 3


class Row(NamedTuple):
    fact: str
    false: str  # what the lock states
    true: str  # what it does
    lock: str  # a flaw of flawed.py; with '@', a lock of ours on its servers, which plugin-states lets state it
    scenario: str
    predicted: str  # from the false statement
    found: str
    rule: str
    also: str = ""  # what it states besides, which is true
    guard: str = "none"
    settings: tuple = ()
    servers: str = "redis"


ROWS = (
    Row("ends", "lease", "never", "no-end", "crash-holder", "safe", "stuck", "holder-dies"),
    Row("counts", "server-wall", "client-wall", "own-clock", "clock-client", "safe", "violated", "client-clock-ahead"),
    Row("record", "data", "memory", "not-kept", "restart-node", "safe", "violated", "server-forgets", servers="redis-aof"),
    Row("release", "compared", "blind", "plain-del", "late-release", "safe", "violated", "release-late"),
    Row("asks", "owner", "anybody", "no-owner", "pause-holder", "safe", "violated", "guards", also="release=blind", guard="recheck"),
    Row("number", "log", "counter", "counter", "restart-delayed", "safe", "violated", "server-stays-away", guard="fence"),
    Row("confirms", "replicas", "nobody", "redis-token@sentinel", "failover-slow-link", "safe", "violated", "grant-late", also="number=counter"),
    Row("syncs", "client", "server", "redis-token@redis-aof-everysec", "power-loss", "safe", "violated", "power-lost", also="number=counter"),
    Row("renews", "loop", "caller", "sound", "slow-holder", "safe", "violated", "holder-slow"),
    Row("tells", "connection", "nobody", "silent", "restart-node", "safe", "violated", "guards", guard="signal"),
    Row("names-end", "yes", "no", "half", "pause-holder", "safe", "violated", "guards", guard="deadline"),
    Row("heeds", "yes", "no", "by-name", "careless-session", "safe", "violated", "client-returns"),
    Row("believes", "write", "read", "zk-careless@zk-x3", "lagging-follower", "safe", "violated", "follower-late", also="number=epoch lost=elsewhere heeds=no names-end=no reentrant=uncounted"),
    Row("queue", "ending", "lasting", "in-line", "dead-waiter", "safe", "stuck", "waiter-dies"),
    Row("comes-first", "asked", "readers", "redis-rw@redis", "writer-starves", "safe", "stuck", "readers-keep-coming", also="waits=by-lease"),
    Row("waits", "by-lease", "asking", "sound", "clock-drift-10", "safe", "violated", "server-clock-fast"),
    Row("waits", "inside", "asking", "pg-advisory@pg", "work-waits", "stuck", "safe", "work-waits", also="number=sequence"),
    Row("end", "set-together", "set-later", "two-steps", "crash-unheard", "safe", "stuck", "holder-dies-unheard"),
    Row("lost", "owned", "forgotten", "forgets", "lost-reply", "safe", "delayed", "grant-answer-lost"),
    Row("lost-release", "repeated", "forgotten", "no-end", "lost-release", "safe", "stuck", "release-lost", also="ends=never"),
    Row("looks", "yes", "no", "etcd-v3lock@etcd", "dead-lease", "safe", "violated", "lease-ends-waiting", also="lost=other"),
    Row("deposed", "obeys", "ends", "etcd-lease@etcd-x3", "etcd-15247-reported", "safe", "violated", "deposed-stalled"),
    Row("limits", "yes", "no", "pg-for-update@pg", "transaction-timeout", "violated", "safe", "transaction-lasts", also="ends=transaction number=open lost=other"),
    Row("copied-end", "length", "instant", "redis-token@sentinel", "redis-8474", "safe", "violated", "replica-ahead", also="number=counter"),
    Row("reentrant", "yes", "no", "redis-token@redis", "taken-twice", "safe", "delayed", "taken-twice"),
    Row("answers", "all", "majority", "redlock@redis-x3", "silent-minority", "stuck", "safe", "one-silent"),
    Row("refused", "lets-go", "keeps", "redis-multi-waiting@redis", "keys-left", "safe", "delayed", "keys-left"),
    Row("ddl", "apart", "commits", "maria-for-update@maria", "work-ddl", "safe", "violated", "work-ddl", also="ends=transaction number=open lost=other"),
    Row("frees", "token", "session", "zk-sequential@zk", "handed-over", "safe", "stuck", "handed-over"),
    Row("unlocks", "grant", "session", "by-session", "late-unlock", "safe", "violated", "unlocked-late"),
    Row("excludes", "yes", "no", "look-then-set", "contention-10ms", "safe", "violated", "nothing", also="lost=other", settings=("clients=8", "duration_s=1")),
)


def words_of(row, value):
    """(words that bring the lock with the fact stated so, its environment)"""
    stated = [f"{row.fact}={value}", *row.also.split()]
    lock, _, servers = row.lock.partition("@")
    env = dict(os.environ, STATES_OF=lock, STATES_FACTS=" ".join(stated))
    if servers:
        return ["--plugin", f"{PLUGINS}/plugin-states.so"], f"states@{servers}", env
    return ["--exec", f"python3 {FLAWED} {lock} {','.join(stated)}"], f"exec:{lock}@{row.servers}", env


def play(out, row):
    """(the cell in run.json, the lines that say it is not as predicted) of a run with the false statement."""
    words, system, env = words_of(row, row.false)
    settings = [word for setting in row.settings for word in ("-s", setting)]
    command = [LOCKBENCH, "run", row.scenario, *words, "-b", system, "-g", row.guard, "-n", "1", *settings, "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=env)
    results = out / "run.json"
    if not results.exists():
        return {}, done.stderr.splitlines()
    cells = json.loads(results.read_text())["cells"]
    if len(cells) != 1:
        return {}, [f"{len(cells)} cells, expected one"]
    return cells[0], [line for line in done.stdout.splitlines() if line.startswith("not as predicted: ")]


def run(folder, row):
    """A trial stays undecided where the machine stalled in it. That is no answer, so it is asked again."""
    for attempt in range(ATTEMPTS):
        cell, said = play(pathlib.Path(folder, f"{row.fact}-{row.scenario}-{attempt}"), row)
        if cell.get("verdict") != "undecided":
            break
    return cell, said


def predicted(row):
    """What the true statement predicts for the cell."""
    words, system, env = words_of(row, row.true)
    done = subprocess.run([LOCKBENCH, "predict", *words, system, "--json"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=env)
    if done.returncode != 0:
        return done.stderr
    return next((c["verdict"] for c in json.loads(done.stdout)["cells"] if (c["scenario"], c["guard"]) == (row.scenario, row.guard)), "no such cell")


def judge(row, cell, said):
    wanted = {"predicted": row.predicted, "verdict": row.found, "rule": row.rule}
    wrong = [f"{name}: {cell.get(name)}, expected {value}" for name, value in wanted.items() if cell.get(name) != value]
    wrong += [str(cell.get("why"))] * bool(wrong and cell.get("why")) + said * bool(wrong)
    if len(said) != 1:
        wrong.append(f"{len(said)} lines say that it is not as predicted")
    tap.check(f"{row.scenario} {row.lock} states {row.fact}={row.false}: not as predicted, by {row.rule}", wrong)
    right = predicted(row)
    tap.check(f"{row.scenario} {row.lock} states {row.fact}={row.true}: predicted as found", [] if right == row.found else [f"{right}, expected {row.found}"])


# What etcd no longer does: the fact, and the versions that do it.
OLD_ETCD = {"looks": lambda v: v < (3, 5, 0), "deposed": lambda v: v < (3, 4, 31) or (3, 5, 0) <= v < (3, 5, 13)}


def here(row):
    """Whether the etcd of this machine does what the row states falsely otherwise."""
    said = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=False).stdout if row.fact in OLD_ETCD else ""
    found = re.search(r"etcd Version: (\d+)\.(\d+)\.(\d+)", said)
    return not found or OLD_ETCD[row.fact](tuple(map(int, found.groups())))


def missing():
    """Facts of a lock that no row refutes."""
    terms = [line.split()[:2] for line in subprocess.run([LOCKBENCH, "list", "facts"], capture_output=True, text=True, check=True).stdout.splitlines()]
    return [f"{fact}: no row" for fact, of in terms if of == "lock" and fact not in {row.fact for row in ROWS}]


def main():
    tap.check("every fact of a lock has a row", missing())
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for row, played in [(row, pool.submit(run, folder, row)) for row in ROWS if here(row)]:
            judge(row, *played.result())
    return tap.end()


sys.exit(main())
