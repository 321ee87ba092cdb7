# SPDX-License-Identifier: MIT
"""counted_values.py - plots/speed.py: a repeat in which nothing changed hands counts as 0, unless nothing did in any."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "plots"))
import speed  # noqa: E402

KNOWN = [([None, 0.0, 4.0, 6.0], [0.0, 4.0, 6.0]), ([0.0, 0.0], []), ([None], []), ([2.0], [2.0])]
wrong = [(values, speed.counted(values), expected) for values, expected in KNOWN if speed.counted(values) != expected]
row = {"handoffs_per_s": "0", "handoffs": 0, "grants": 5, "grants_per_s": 2.0}
wrong += [("hand-offs", speed._handoffs_per_s(row))] if speed._handoffs_per_s(row) != 0.0 else []
several = speed.Speed.__new__(speed.Speed)
several.repeats = {("x@y", 4): [{"handoffs_per_s": value} for value in (0.0, 4.0, 6.0)]}
wrong += [("repeats", several.values("x@y", 4, "handoffs_per_s"))] if several.values("x@y", 4, "handoffs_per_s") != [0.0, 4.0, 6.0] else []
print(wrong)
sys.exit(bool(wrong))
