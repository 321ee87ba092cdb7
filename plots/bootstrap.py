# SPDX-License-Identifier: MIT
"""bootstrap.py - how far a median over repeats can be trusted: its 95 % percentile bootstrap interval.

A repeat is a whole trial with servers of its own, and repeats are what is drawn again, never operations: those of one
trial share its luck. RESAMPLES times as many repeats as there are are drawn with replacement, with a fixed seed; the
interval reaches from the 2.5 % to the 97.5 % point of their medians. Which repeats are drawn does not depend on their
values, so the draws for n repeats are made once, as places in the sorted list.

With few repeats the interval is honest but blunt: up to 5 it is just the least and the greatest repeat, which covers
the true median in 75 % (3), 87.5 % (4) and 93.75 % (5) of cases. Below 3 there is none.
"""

import collections
import functools
import random
import statistics

RESAMPLES, SEED, LEAST_REPEATS = 10000, 20260101, 3


@functools.lru_cache(maxsize=None)
def _middles(n):
    """How often the two middle values of a resample (the same one if n is odd) are those at places (a, b)."""
    rng, places = random.Random(SEED), range(n)
    low, high = (n - 1) // 2, n // 2
    counts = collections.Counter()
    for _ in range(RESAMPLES):
        drawn = sorted(rng.choices(places, k=n))
        counts[drawn[low], drawn[high]] += 1
    return counts


def _point(weighted, share):
    seen = 0
    for value, count in weighted:
        seen += count
        if seen >= share * RESAMPLES:
            return value
    return weighted[-1][0]


def median_interval(values):
    """(median, low, high); low and high are None with fewer than LEAST_REPEATS values."""
    ordered = sorted(values)
    median = statistics.median(ordered)
    if len(ordered) < LEAST_REPEATS:
        return median, None, None
    weighted = sorted(((ordered[a] + ordered[b]) / 2, count) for (a, b), count in _middles(len(ordered)).items())
    return median, _point(weighted, 0.025), _point(weighted, 0.975)
