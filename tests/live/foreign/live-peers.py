#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""live-peers.py LOCKBENCH - each shipped adapter whose library is here keeps the line protocol.

What one does not keep is `fails = STATEMENT; STATEMENT: WHY` of its section in peers.ini: just that fails, and a statement that holds again is a finding, too. Those of the
museum have a bug on purpose and are left out. Speaks TAP.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "helpers"))
import tap  # noqa: E402

sys.path.insert(0, str(tap.ROOT / "peers"))
os.environ.setdefault("LOCKBENCH_PEERS", str(tap.ROOT / "build" / "peers"))
import known  # noqa: E402

LOCKBENCH = os.path.abspath(sys.argv[1])
AT_ONCE = 4  # they mostly wait
ATTEMPTS = 2  # a statement has deadlines, and the machine has other work


def once(peer):
    """The lines that failed, by their statement, and what cannot be tried here."""
    says = dict(word.partition("=")[::2] for word in peer["says"].split())
    words = [LOCKBENCH, "conform", "--tap", "-b", says["topologies"].split(",")[0], peer["run"]]
    told = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tap.ROOT, timeout=300)
    failed, statement, missing, points = {}, None, "", 0
    for line in told.stdout.splitlines():
        if line.startswith(("ok ", "not ok ")):
            points += 1
            statement = line.partition(" - ")[2] if line.startswith("not ") else None
            missing = missing or line.partition("# SKIP ")[2]
            failed.update({statement: ""} if statement else {})
        elif statement and line.startswith("# ") and not failed[statement]:
            failed[statement] = line[2:]  # what was expected; what its own stderr says comes behind it
    if not points and not missing:
        failed["it can be tried"] = (told.stderr.strip() or "it said nothing").splitlines()[-1]
    return failed, missing


def found(peer):
    """What is against peers.ini, or why it is not here."""
    if not known.is_there(peer):
        return [], f"{peer['there']} is not there"
    declared = set(filter(None, peer.get("fails", "").partition(": ")[0].split("; ")))
    for _ in range(ATTEMPTS):
        failed, missing = once(peer)
        wrong = [f"{statement}: {why}" for statement, why in failed.items() if statement not in declared]
        wrong += [f"{statement}: it holds, and `fails` says that it does not" for statement in declared - set(failed)]
        if missing or not wrong:
            break
    return [] if missing else wrong, missing


peers = {name: peer for name, peer in known.read().items() if "museum" not in peer}
with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
    results = dict(zip(peers, pool.map(found, peers.values())))
for name, (wrong, missing) in results.items():
    tap.check(f"{name}: fails what peers.ini says, and nothing else" + (f" # SKIP {missing}" if missing else ""), wrong)
sys.exit(tap.end())
