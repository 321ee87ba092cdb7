#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-list.py - list.py refuses a first line that says nothing, too little or a word that it does not know. Speaks TAP."""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parents[1]


def listed(what, path, text):
    """(exit code, standard output, standard error) where this file is the only one."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "list.py").write_bytes((HERE / "list.py").read_bytes())
        file = pathlib.Path(folder) / path
        file.parent.mkdir(parents=True)
        file.write_text(text)
        done = subprocess.run([sys.executable, f"{folder}/list.py", what], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr


def refused(what, path, text, *wanted):
    code, out, err = listed(what, path, text)
    return [] if code == 1 and not out and err.count("\n") == 1 and all(word in err for word in (path, *wanted)) else [f"{code}: {out}{err}"]


def gives(what, path, text, wanted):
    code, out, err = listed(what, path, text)
    return [] if (code, out) == (0, wanted) else [f"{code}: {out}{err}, expected {wanted}"]


C, SH = "unit/redis/test-x.c", "live/redis/live-x.sh"
CASES = (
    ("a unit test", gives("tests", C, "/* test: compute, memory, wraps f g */\n", f"{C}\tx\tunit,compute,memory\tcompute\ttap\tf,g\n")),
    ("a script", gives("tests", SH, "#!/bin/sh\n# test: alone, exit\n", f"{SH}\tlive-x\tlive\talone\texitcode\t-\n")),
    ("a plugin and a variant", gives("plugins", "plugins/plugin-x.c", '/* plugin: y -DA="b c" -DD */\n', 'plugins/plugin-x.c\tx\nplugins/plugin-x.c\ty\t-DA="b c"\t-DD\n')),
    ("a system", gives("conform", "conform/systems.txt", "# no\na@b a.c=d : all\n", "a@b a.c=d\tconform,all\n")),
    ("no such line", refused("tests", C, "int x;\n", "compute, beside, alone")),
    ("a line too low", refused("tests", C, "\n\n/* test: compute */\n", "found none")),
    ("no lane", refused("tests", C, "/* test: memory */\n", "found none")),
    ("two lanes", refused("tests", SH, "# test: beside, alone\n", "beside and alone")),
    ("an unknown word", refused("tests", SH, "# test: besides\n", ":1", "'besides'")),
    ("a word with an argument", refused("tests", C, "/* test: compute 3 */\n", "'compute 3'")),
    ("no function", refused("tests", C, "/* test: compute, wraps */\n", "'wraps'")),
    ("an unknown word of a system", refused("conform", "conform/systems.txt", "a@b : alone\n", ":1", "'alone'")),
)
for title, wrong in CASES:
    tap.check(title, wrong)
sys.exit(tap.end())
