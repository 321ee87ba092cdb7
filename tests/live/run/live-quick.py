#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""live-quick.py LOCKBENCH - README's first command: each cell of the suite `quick` is decided and as expected. Speaks TAP.

A trial that is undecided is played once more, as the machine may have stalled beside other tests. One that a rule of evidence refuses is so again.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "helpers"))
import tap  # noqa: E402


def named(cells):
    return [f"{c['scenario']}.{c['system']}.{c['guard']}: {c['verdict']}, expected {c['expected']}: {c['why'] or c['note'] or ''}" for c in cells]


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        done = subprocess.run([os.path.abspath(sys.argv[1]), "suite", "quick", "--again", "-o", out], cwd=tap.ROOT, capture_output=True, text=True, check=False)
        cells = json.loads((out / "run.json").read_text())["cells"] if out.is_dir() else []
    absent = [c["reason"] for c in cells if c["verdict"] == "skipped"]
    if absent:
        print(f"1..0 # SKIP {absent[0]}")
        return 0
    asked = [c for c in cells if c["verdict"] != "n/a"]
    tap.check("it has cells of several locks, and ends with 0", [] if done.returncode == 0 and len({c["system"] for c in asked}) > 5 else [f"exit {done.returncode}, {len(asked)} cells", done.stderr])
    tap.check("each cell is decided", named(c for c in asked if c["verdict"] == "undecided" or c["undecided"]))
    tap.check("each cell is as expected", named(c for c in asked if c["as_expected"] is not True))
    return tap.end()


sys.exit(main())
