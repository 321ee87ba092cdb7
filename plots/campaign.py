# SPDX-License-Identifier: MIT
"""campaign.py - what the table of campaigns is called, what it means and what stands in its cells, for the page and
the paper.

The terminal has the same words and numbers from harness/show/campaign_text.h and display_figures.c;
tests/python/test-paper.sh compares the words. Faults drawn at random violate most locks sooner or later, so a verdict says
little. What tells locks apart is after how many of the faults exclusion was lost, with an interval that says how far
to believe it.
"""

import math

LEAST_EVENTS, LEAST_TRIALS, LEAST_HANDOFFS = 5, 2, 100
CAMPAIGN_COLUMNS = [("scenario", ""), ("system", ""), ("guard", ""), ("verdict", ""), ("faults", ""),
                    ("measured,", "s"),
                    ("two held,", "% of faults"), ("within a lease,", "% of faults"), ("damage,", "% of faults"),
                    ("violations", "per hour"), ("violations per", "1000 hand-offs")]
CAMPAIGN_CAPTION = (
    "Faults are drawn at random from the seed, one after the other. What happens between a fault and the next one"
    " is charged to the first: by time, not by cause. Faults: those that were proved, in decided trials, and "
    "followed by a grant before the next one; a cut that nobody used is none. Measured: the load of all decided "
    "trials, by which a rate per hour divides; as a fault waits until the one before has been undone, it is "
    "longer where servers start slowly. Two held: a client was granted the lock while the holder before it still "
    "held it; within a lease: and the leases of both ran at that moment. Damage: a write of a holder that was "
    "overtaken then was accepted, then or later. Violations: accepted stale writes, one for each critical section"
    " that was overrun, and at least one for each violated trial; of a lock that stands still there is no rate. "
    "Hand-offs: those after which the new holder's write was accepted. Per fault, one server meets as many faults"
    " as five together; if each server has as many, multiply what is within a lease by their number. In brackets:"
    " 95 % intervals, which allow for trials that differ; the bound of a 0 or of all takes faults as independent. A rate per hour or per 1000 needs 5 violations in 2 "
    "trials, and 100 hand-offs where it is of these: fewer come in too few clusters to divide by. Without that "
    "the count stands alone: 2 (<30) is a count of 2 and a rate below 30, and 12 in 5 s, or 12 in 2 hand-offs, is"
    " no rate at all.")


def decided(cell):
    return cell["trials"] - cell["undecided"]


def verdict_text(cell):
    bad = cell["violated"] + (cell.get("stuck") or 0) + (cell.get("delayed") or 0)
    count = f" {decided(cell) if cell['verdict'] == 'safe' else bad}/{decided(cell)}" if decided(cell) else ""
    return cell["verdict"] + count + (f" (+{cell['undecided']} ?)" if cell["undecided"] else "")


def two_digits(x):
    """Two significant digits, never in powers of ten; "150k" from ten thousand on."""
    places = 1 - math.floor(math.log10(x)) if x > 0 else 0
    if places > 0:
        text = f"{x:.{places}f}"
        return text.rstrip("0").rstrip(".")
    rounded = round(x / 10 ** -places) * 10 ** -places
    return f"{rounded / 1000:.0f}k" if rounded >= 10000 else f"{rounded:.0f}"


def _interval(cell, name, scale):
    return "{} [{},{}]".format(*(two_digits(scale * (cell.get(name + end) or 0)) for end in ("", "_low", "_high")))


def seconds_text(cell):
    """How long load was measured in decided trials; empty in a run that did not keep it."""
    if cell.get("decided_hours") is None:
        return ""
    seconds = 3600 * cell["decided_hours"]
    return f"{seconds:.{1 if seconds < 10 else 0}f}"


def share_text(cell, name):
    """In per cent; of 0 the bound. Empty where nothing was decided: a rate of 0 would be a result."""
    if cell.get(name) is None:
        return ""
    return _interval(cell, name, 100) if cell[name] > 0 else f"0 (<{two_digits(100 * (cell.get(name + '_high') or 0))})"


def rate_text(cell, name, exposure):
    """A rate with its interval; below some number of events, trials or hand-offs the count: the quotient would say
    more than was seen."""
    if cell["verdict"] in ("stuck", "delayed"):
        return "-"  # of a lock that stands still what was measured is the standstill
    if cell.get(name) is None:
        return ""
    exposed, events, handoffs = cell.get(exposure) or 0, int(cell.get("violations")
                                                             or 0), exposure == "decided_handoffs"
    if exposed <= 0:
        return "-"
    within = f"{exposed:.0f}" if handoffs else two_digits(3600 * exposed) + " s"
    if handoffs and exposed < LEAST_HANDOFFS:
        return f"{events} in {within}"
    if events < LEAST_EVENTS:
        return f"{events} (<{two_digits(cell.get(name + '_high') or 0)})"
    return _interval(cell, name, 1) if decided(cell) >= LEAST_TRIALS else f"{events} in {within}"


def row_of(cell):
    """The cells of the table, in the order of CAMPAIGN_COLUMNS."""
    faults = cell.get("decided_faults")
    return [cell["scenario"], cell["system"], cell["guard"], verdict_text(cell), cell["faults"] if faults is None
            else faults, seconds_text(cell),
            *(share_text(cell, f"{what}_per_fault") for what in ("overlapped", "within_lease", "damaged")),
            rate_text(cell, "violations_per_hour", "decided_hours"), rate_text(cell, "violations_per_1000",
                                                                               "decided_handoffs")]


def _control_text(cells):
    """Which rows of a scenario the control, the same load without faults, does not separate from."""
    violated = [cell for cell in cells if (cell.get("violations") or 0) > 0]
    above = [cell.get("above_control") for cell in violated]
    below = [cell["system"] + (f" ({cell['guard']})" if cell["guard"] != "none" else "") for cell in violated
             if cell.get("above_control") is False]
    if below:
        return (f" The control, the same load without faults, does not separate from {', '.join(below)}: by violations "
                "per hour their intervals meet.")
    if None in above:
        some = "some" if True in above else "the violations"
        return (f" Nothing tells what {some} of these rows would be without faults: that takes "
                f"{LEAST_TRIALS} decided trials of a row, and {LEAST_TRIALS} of a control of the same load.")
    return (" By violations per hour, every row that has any lies above the control, the same load without faults."
            if above else "")


def notes_of(cells):
    """A line for each scenario: which kinds of fault were proved, which never, and what the control says. A control
    has no faults."""
    lines = []
    for scenario in dict.fromkeys(cell["scenario"] for cell in cells):
        of = [cell for cell in cells if cell["scenario"] == scenario and isinstance(cell.get("faults_of"), dict)
              and any(cell["faults_of"].values())]
        kinds = {}
        for cell in of:
            for kind, proved in cell["faults_of"].items():
                kinds[kind] = kinds.get(kind, 0) + proved
        told = "proved over all rows: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items() if n)
        never = [kind for kind, n in kinds.items() if not n]
        if of:
            lines.append(f"{scenario}: {told}{'; never: ' + ', '.join(never) if never else ''}.{_control_text(of)}")
    return lines
