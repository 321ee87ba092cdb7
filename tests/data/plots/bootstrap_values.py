# SPDX-License-Identifier: MIT
"""bootstrap_values.py - plots/bootstrap.py against intervals that are known without drawing lots: all n^n resamples for
small n, and for larger odd n the binomial law of the middle of a resample.
"""

import collections
import itertools
import math
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "plots"))
import bootstrap  # noqa: E402


def point(weighted, share):
    total, seen = sum(weighted.values()), 0
    for value, count in sorted(weighted.items()):
        seen += count
        if seen >= share * total:
            return value
    return None


def all_resamples(values):
    medians = collections.Counter(statistics.median(drawn) for drawn in itertools.product(values, repeat=len(values)))
    return point(medians, 0.025), point(medians, 0.975)


def binomial(values):
    """Of odd n: the median of a resample is at most the k-th value if more than half of the draws are."""
    ordered, n = sorted(values), len(values)

    def at_most(k):
        return sum(math.comb(n, j) * (k / n) ** j * (1 - k / n) ** (n - j) for j in range(n // 2 + 1, n + 1))

    return tuple(next(v for k, v in enumerate(ordered, 1) if at_most(k) >= share) for share in (0.025, 0.975))


def expect(what, wanted, found):
    if wanted != found:
        sys.exit(f"bootstrap_values: {what}: {found}, wanted {wanted}")


def main():
    values = [31.0, 5.5, 17.0, 8.0, 90.0, 12.5, 44.0]
    expect("of nobody", (5.5, None, None), bootstrap.median_interval(values[1:2]))
    expect("of two", (18.25, None, None), bootstrap.median_interval(values[:2]))
    expect("of three", (17.0, 5.5, 31.0), bootstrap.median_interval(values[:3]))
    expect("of equal ones", (2.0, 2.0, 2.0), bootstrap.median_interval([2.0] * 8))
    for n in range(3, 8):
        expect(f"of {n}", all_resamples(values[:n]), bootstrap.median_interval(values[:n])[1:])
    for n in (9, 15, 25, 51):
        spread = [float((i * 37) % 101) for i in range(n)]
        expect(f"of {n}", binomial(spread), bootstrap.median_interval(spread)[1:])
    expect("of the same in another order", bootstrap.median_interval(values), bootstrap.median_interval(values[::-1]))
    print("intervals of 3 to 51 repeats are those that are known")


if __name__ == "__main__":
    main()
