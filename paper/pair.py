# SPDX-License-Identifier: MIT
"""pair.py - whether two runs may stand in one text: one that says what was lost, and one that says what a lock costs.

What has to be the same, because the text compares across the runs and names it once:
- the machine: its name, processor, cores, memory, kernel and file system;
- the versions of the servers, of each topology that both have;
- how they were set where speed is measured, of each topology that both have on the same storage;
- the protocols: the digest of the folder `backends/` that run.json has; where one of the two does not have it (older
  runs), the commit; and their options, in a cell that both have.
What may differ: the scenarios, the loads, the seed, the day, and what of the harness is not a protocol.
"""

MACHINE = ("hostname", "cpu", "cores", "kernel", "filesystem")
MEMORY_PER_CENT = 2  # a kernel keeps more or less of it for itself


def _differing(what, a, b):
    """Members that both have, and not alike."""
    return [f"{what} {key} is {a[key]} in the one and {b[key]} in the other" for key in a if key in b and a[key] != b[key]]


def _machine(a, b):
    lines = _differing("the machine's", {k: a[k] for k in MACHINE if k in a}, b)
    if abs(a["memory_mib"] - b["memory_mib"]) * 100 > MEMORY_PER_CENT * a["memory_mib"]:
        lines.append(f"the machine's memory is {a['memory_mib']} MiB in the one and {b['memory_mib']} MiB in the other")
    return lines


def _protocols(a, b):
    name = "protocols" if "protocols" in a and "protocols" in b else "commit"
    return [] if a[name] == b[name] else [f"the protocols are of the {'digest' if name == 'protocols' else name} {a[name]} in the one and {b[name]} in the other"]


def _settings(run):
    return {f"{s['topology']} on {s['storage']}": "; ".join(s["differs"]) for s in run.get("settings") or [] if s["measured"]}


def _options(run):
    return {" ".join((c["scenario"], c["system"], c["guard"])): c["options"] for c in run["cells"] if c.get("options") is not None}


def differences(a, b):
    """Of two run.json: a line for each thing that has to be the same and is not."""
    return (_machine(a["machine"], b["machine"]) + _differing("the servers' version of", a["servers"], b["servers"]) +
            _differing("the setting of measured servers of", _settings(a), _settings(b)) + _protocols(a["tool"], b["tool"]) +
            _differing("the options of", _options(a), _options(b)))
