# SPDX-License-Identifier: MIT
"""written.py - how numbers, names and texts are written in the paper: as LaTeX, with no more digits than are known."""

import math

SPECIAL = str.maketrans({"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
                         ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"} | {c: "\\" + c for c in "#$%&_{}"})


def tex(text):
    """Plain text as LaTeX."""
    escaped = str(text).translate(SPECIAL)
    return escaped.replace("(R)", r"\textsuperscript{\textregistered}")


def integer(n):
    return f"{int(n):,}".replace(",", r"\,")


def number(x, digits=3):
    """A measured value with so many significant digits, never more than it has."""
    if x == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(x)))
    x = round(x, places)
    return f"{x:,.{max(places, 0)}f}".replace(",", r"\,")


def value(x):
    if isinstance(x, bool):
        return "yes" if x else "no"
    if isinstance(x, int) or (isinstance(x, float) and x.is_integer()):
        return integer(x)
    return number(x) if isinstance(x, float) else tex(x)


def percent(x):
    return (number(100 * x, 3 if x >= 0.01 else 2) if x else "0") + r"\,\%"


def system_name(system):
    return rf"\sys{{{system}}}"


def listing(items):
    items = list(items)
    if len(items) < 2:
        return items[0] if items else "no system"
    return ", ".join(items[:-1]) + " and " + items[-1]


def dashed(low, high):
    return f"{low}--{high}" if low != high else low
