# SPDX-License-Identifier: MIT
"""tap.py - how the tests in Python say what they found, in TAP, and the root of the sources. sh has tap.sh."""

import os
import pathlib

ROOT = pathlib.Path(os.environ.get("LB_SOURCE_DIR") or pathlib.Path(__file__).parents[2]).resolve()  # of the sources that are looked at
_said = []


def check(title, wrong, unless=None):
    """`wrong`: what is, line by line. With `unless`, why it cannot be looked at here, nothing is."""
    _said.append(not wrong)
    print(f"{'not ' if wrong else ''}ok {len(_said)} - {title}{f' # SKIP {unless}' if unless else ''}")
    for line in wrong:
        print("# " + line)


def end():
    """The plan; 1 if something was wrong, for sys.exit()."""
    print(f"1..{len(_said)}")
    return 0 if all(_said) else 1
