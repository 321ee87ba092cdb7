# SPDX-License-Identifier: MIT
"""counted_values.py - plots/speed.py: a repeat in which nothing changed hands counts as 0, unless nothing did in any."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "plots"))
import speed  # noqa: E402

KNOWN = [([None, 0.0, 4.0, 6.0], [0.0, 4.0, 6.0]), ([0.0, 0.0], []), ([None], []), ([2.0], [2.0])]
wrong = [(values, speed.counted(values), expected) for values, expected in KNOWN if speed.counted(values) != expected]
print(wrong)
sys.exit(bool(wrong))
