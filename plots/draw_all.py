# SPDX-License-Identifier: MIT
"""draw_all.py RUN_DIR - the figures of a run and then its page (report.py), for plots/render and `lockbench report`.

One process loads matplotlib, and each figure is drawn by a child of it, as many at a time as there are cores:
loading takes longer than most figures do. What a child says and how it ends is what its script would say and end
with alone. It is shown in the order of the names, whoever was ready first. Bad input ends it all: the next figure
would only say it again. The figure NAME is drawn by the script of that name, scaling-gnuplot by gnuplot from the CSV
of scaling. A run with several loads gets a figure of scaling for each other one.

A figure that should have been drawn and was not is a line "NAME: reason" of figures/not-drawn.txt. The page is
written all the same, names it, and so do the last lines printed. With --quiet only these and the place of the page
are. Exit: 0; 1 something failed; 2 bad input; 5 a program is missing. The worst counts, and a missing program is
less than a failure.
"""

import importlib
import os
import runpy
import subprocess
import sys
import tempfile

import ending
import figure
import report
import run_folder
import style

HERE = os.path.dirname(os.path.abspath(__file__))
GNUPLOT = "scaling-gnuplot"
FIGURES = ("truth-table", "guard-table", "violation", "scaling", GNUPLOT, "latency", "safety-speed")
VARIED = {"delay_ms": "lagging-follower", "round_trip_ms": "distance", "rate_per_s": "load"}  # only few runs have variants of these
FAILED, BAD_INPUT, MISSING = 1, 2, 5


class Child:
    """A figure that is being drawn: a process, and the two files that it speaks to."""

    def __init__(self, script, words):
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(self.out.fileno(), 1)
            os.dup2(self.err.fileno(), 2)
            os._exit(_play(script, words))

    def end(self):
        """(exit code, stdout, stderr), when it has ended."""
        _, status = os.waitpid(self.pid, 0)
        said = []
        for file in (self.out, self.err):
            file.seek(0)
            said.append(file.read())
            file.close()
        return os.waitstatus_to_exitcode(status), *said


def _play(script, words):
    """The exit code of a script that runs here, in a process that does nothing else."""
    sys.argv = [f"{HERE}/{script}", *words]
    code = FAILED
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else FAILED
    except BaseException:  # as the interpreter would say it
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _with_gnuplot(run):
    """scaling.csv once more, as a Child would answer. gnuplot also warns of a system without a number, which is no error."""
    table, picture, part = (f"{run}/figures/{name}" for name in ("scaling.csv", "scaling-gnuplot.svg", ".scaling-gnuplot.svg"))
    if not os.path.exists(table):
        if os.path.exists(picture):
            os.remove(picture)
        return 0, "", ""
    try:
        end = subprocess.run(["gnuplot", "-d", "-c", f"{HERE}/scaling.gp", table, part], capture_output=True, text=True,
                             env=os.environ | {"LC_ALL": "C.UTF-8"}, check=False)
        said = "".join(f"{line}\n" for line in (end.stdout + end.stderr).splitlines()
                       if line.strip() and "warning: Skipping data file with no valid points" not in line)
        if end.returncode or said:
            return FAILED, "", said or f"gnuplot ended with {end.returncode}\n"
        os.replace(part, picture)
        return 0, "from scaling.csv\n", ""
    except (FileNotFoundError, PermissionError):  # the latter: only a folder of PATH that this user may not look into was left
        return MISSING, "", "not drawn: gnuplot is missing: install gnuplot-nox\n"
    except OSError as error:
        return FAILED, "", f"{error.filename}: {error.strerror}\n"
    finally:
        if os.path.exists(part):
            os.remove(part)


def _reason(program, code, err):
    """The last line that a program has said, without what it says of the figure's name."""
    lines = [line for line in err.splitlines() if line]
    return lines[-1].rpartition("not drawn: ")[2] if lines else f"{program} ended with {code}"


class Drawing:
    def __init__(self, run, figures, quiet):
        """figures: (name, script, words of the script)."""
        self.run, self.undrawn, self.worst, self.unread, self.quiet = run, [], 0, None, quiet
        self.waiting, self.children = figures, {}

    def _start(self):
        """As many children as there are cores; a figure whose turn it is to be shown is always among them."""
        for name, script, words in self.waiting:
            if len(self.children) == (os.cpu_count() or 1):
                break
            if name != GNUPLOT and name not in self.children:
                self.children[name] = Child(script, [self.run, *words])

    def say(self, text):
        try:
            if not self.unread:
                print(text, end="", flush=True)
        except OSError as error:  # the figures and the page are wanted all the same
            self.unread = error

    def _show(self, name, code, out, err):
        if out and not self.quiet:
            self.say(f"{name}: {out}")
        for line in err.splitlines() if code not in (0, MISSING) else ():  # what is missing is said once, at the end
            print(f"{name}: {line}", file=sys.stderr, flush=True)

    def all(self):
        while self.waiting:
            self._start()
            name = self.waiting.pop(0)[0]
            code, out, err = _with_gnuplot(self.run) if name == GNUPLOT else self.children.pop(name).end()
            self._show(name, code, out, err)
            if code == BAD_INPUT:
                self._stop(name, err)
                return BAD_INPUT
            if code:
                self.undrawn.append((name, _reason("gnuplot" if name == GNUPLOT else sys.executable, code, err)))
                self.worst = MISSING if code == MISSING and self.worst != FAILED else FAILED
        return self.worst

    def _stop(self, name, err):
        for child in self.children.values():
            child.end()
        self.undrawn += [(left, _reason(sys.executable, BAD_INPUT, err)) for left in (name, *(w[0] for w in self.waiting))]


def _figures(run_dir, run):
    """What to draw. Names of scenarios have no blanks."""
    code, loads, _ = Child("speed.py", [run_dir]).end()
    varied = [figure for key, figure in VARIED.items() if any(key in report.part(s, "varied", dict)
                                                              for s in run["scenarios"])]
    workloads = [report.part(s, "workload", dict) for s in run["scenarios"]]
    varied += ["scale"] if any(w.get("driver") == "coroutine" and len(w.get("clients") or ()) > 1 for w in workloads) else []
    varied += ["floor"] if len(run_folder.lock_cells(run)) < len(run["cells"]) else []
    return [(name, name.replace("-", "_") + ".py", []) for name in (*FIGURES, *varied)] + \
        [(f"scaling-{figure.file_name(load)}", "scaling.py", [load]) for load in (loads.split() if code == 0 else ())]


def _load_matplotlib():
    """Once, for all children. Without it each of them says so."""
    try:
        style.matplotlib_deterministic()
        for module in ("figure", "backends.backend_agg", "backends.backend_svg", "backends.backend_pdf"):
            importlib.import_module(f"matplotlib.{module}")
    except ModuleNotFoundError:
        pass


def _keep_list(run_dir, undrawn):
    """figures/not-drawn.txt, or none."""
    path = os.path.join(run_dir, "figures", "not-drawn.txt")
    with ending.naming(path):
        if undrawn:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(f"{path}.partial", "w", encoding="utf-8") as file:
                file.writelines(f"{name}: {reason}\n" for name, reason in undrawn)
            os.replace(f"{path}.partial", path)
        elif os.path.exists(path):
            os.remove(path)


def main():
    words = [word for word in sys.argv[1:] if word != "--quiet"]
    if len(words) != 1:
        raise ending.BadInput("usage: draw_all.py [--quiet] RUN_DIR")
    run_dir = ("./" if words[0].startswith("-") else "") + words[0]  # no option of a script
    run, trials = report.load(run_dir)
    _load_matplotlib()
    drawing = Drawing(run_dir, _figures(run_dir, run), "--quiet" in sys.argv)
    code = drawing.all()
    _keep_list(run_dir, drawing.undrawn)
    try:
        report.write(run_dir, run, trials)
        drawing.say(f"report: {run_dir}/report.html\n")
    except report.NoJinja as missing:
        print(missing, file=sys.stderr)
        code = code or MISSING
    drawing.say("".join(f"not drawn: {line}\n" for line in report.by_reason(dict(drawing.undrawn))))
    if drawing.unread:
        raise drawing.unread
    return code


if __name__ == "__main__":
    sys.exit(ending.of(main))
