# SPDX-License-Identifier: MIT
"""derived.py - what the paper says of expectations: rules, coverage and exceptions, out of what `plots/theory.py` printed."""

import json
import os
import sys

from written import integer, percent, tex

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plots"))
from ending import BadInput


def read(path):
    """The theory, as lockbench printed it; {} without a path. BadInput."""
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            theory = json.load(file)
        keys(theory)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError) as error:
        raise BadInput(f"{path}: expected what `plots/theory.py` prints: {error}") from error
    return theory


def keys(theory):
    if not theory:
        return {}
    coverage, attacks = theory["coverage"], [a for a in theory["attacks"] if a["attack"] != "guards"]
    measured = coverage.get("measured") or {"cells": 0, "share_by_rules": 0, "race": 0, "stated": 0, "rules": 0, "rules_of_one_protocol": []}
    return {"theory.measured": integer(measured["cells"]), "theory.race": integer(measured["race"]), "theory.stated": integer(measured["stated"]),
            "theory.tried": integer(measured["rules"]), "theory.narrow": integer(len(measured["rules_of_one_protocol"])), "theory.rules": integer(sum(len(a["rules"]) for a in theory["attacks"])), "theory.attacks": integer(len(attacks)), "theory.facts": integer(len(theory["facts"])),
            "theory.share": percent(measured["share_by_rules"]), "theory.by_exceptions": integer(coverage["by_exceptions"]),
            "theory.systems": integer(coverage["systems"]), "theory.scenarios": integer(coverage["scenarios"]), "theory.lines": integer(coverage["expect_lines"])}


def rule_text(text):
    """"FACT FACT -> VERDICT by EVIDENCE: REASON" without its reason."""
    facts, outcome = text.split("->", 1)
    outcome = outcome.split(":", 1)[0].strip()
    facts = facts.strip().replace("!", "not ").replace("|", " or ")
    return f"{tex(facts) or 'else'} $\\to$ \\emph{{{tex(outcome)}}}"


# The attacks whose rules the paper prints: on a server, on a holder, and what the guards see. scenarios/theory/rules.ini has all.
SHOWN = ("server-forgets", "holder-stopped", "guards")


def rules(theory):
    """A paragraph for each attack that is shown."""
    return [rf"\par\noindent\textbf{{{tex(a['attack'])}}} ({tex(a.get('what') or '')}): " + "; ".join(rule_text(r["text"]) for r in a["rules"]) + "."
            for a in theory["attacks"] if a["attack"] in SHOWN]


def exceptions(theory, cells):
    """A paragraph for each one that is about a scenario and a system of the run, {(scenario, system)}, and how many there are of others."""
    lines, others = [], 0
    for e in theory["exceptions"]:
        about = [system for system in e["systems"] if (e["scenario"], system) in cells]
        others += not about
        if about:
            under = "" if e["guards"] == ["none"] else f" under {tex(', '.join(e['guards']))}"
            lines.append(rf"\par\noindent\scen{{{e['scenario']}}}, {tex(', '.join(about))}{under}: {tex(', '.join(e['predicted']))} $\to$ \emph{{{tex(e['stated'])}}}: {tex(e['reason'])}.")
    return [*lines, rf"\par\noindent {integer(others)} more are about what this run did not ask, most of them about libraries."]
