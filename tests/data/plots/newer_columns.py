# SPDX-License-Identifier: MIT
"""newer_columns.py RUN_DIR - puts columns that readers do not know between and behind those of trials.csv and
latency.csv."""

import csv
import sys


def widen(path, between, column):
    with open(path, encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    at = table[0].index(between) + 1
    wide = [[*row[:at], column if i == 0 else "7", *row[at:], "later" if i == 0 else "x"]
            for i, row in enumerate(table)]
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(wide)


widen(f"{sys.argv[1]}/trials.csv", "lost_updates", "stale_writes")
widen(f"{sys.argv[1]}/latency.csv", "guard", "weather")
