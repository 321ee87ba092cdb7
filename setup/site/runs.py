# SPDX-License-Identifier: MIT
"""runs.py - what the site has of results/: each published run with report.html beside its files, the table of a hunt, and the page that lists them all.

What a run is for stands in the table "Published folders" of results/SCHEMA.md. A run that was published with its verdicts alone has a report without trials.
"""
import collections
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT / "plots"))
import hunt_folder  # noqa: E402
import report  # noqa: E402
import run_folder  # noqa: E402

PLACE = "results/index.md"
HUNT = "results/reference-hunt/index.md"
UNITS = ("B", "kB", "MB")


def published():
    """(folders of runs, folders of hunts): paths below the root."""
    folders = sorted(path for path in (ROOT / "results").glob("reference*") if path.is_dir())
    return [path for path in folders if (path / "run.json").exists()], [path for path in folders if hunt_folder.systems_in(path)]


def what_for():
    """{folder: what it is for}"""
    rows = re.findall(r"^\| ((?:`reference[^`]*/`(?:, )?)+) \| (.*?) \|", (ROOT / "results/SCHEMA.md").read_text(), re.M)
    return {name: text for names, text in rows for name in re.findall(r"`(.*?)/`", names)}


def copy(folder, made):
    shutil.copytree(folder, made, ignore=shutil.ignore_patterns("*.md"), dirs_exist_ok=True)  # pages are made of those


def draw(made):
    """Figures that are published as a PDF, for the paper, are drawn to be shown."""
    for pdf in sorted(made.glob("figures/*.pdf")):
        done = subprocess.run([sys.executable, ROOT / f"plots/{pdf.stem.replace('-', '_')}.py", made], capture_output=True, text=True, check=False, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
        if done.returncode or not pdf.with_suffix(".svg").exists():
            print(f"docs: figure {pdf.stem} of {made.name} is not drawn: {((done.stderr or done.stdout).strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        pdf.with_suffix(".png").unlink(missing_ok=True)  # the same picture


def written(folder, site, lockbench):
    """Its files and its report are in the site; the run."""
    made = site / "results" / folder.name
    os.environ["LOCKBENCH_CALLED_AS"] = "./bench"  # commands are those of a checkout
    os.environ["LOCKBENCH_BIN"] = lockbench or ""
    copy(folder, made)
    draw(made)
    copy(folder, made)  # what is published stays as it is
    run, trials = report.load(str(folder)) if (folder / "trials.csv").exists() else (run_folder.load_run(str(folder)), [])
    report.write(str(made), run, trials, home=report.Home("../../index.html", "../index.html", folder.name))
    return run


def size_of(path):
    size, unit = float(path.stat().st_size), 0
    while size >= 1000 and unit < 2:
        size, unit = size / 1000, unit + 1
    return f"{size:.{1 if unit == 2 else 0}f} {UNITS[unit]}"


def files_of(folder):
    """Links to its files, below results/."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".md"]
    return ", ".join(f"[{path.relative_to(folder)}]({path.relative_to(ROOT / 'results')}) ({size_of(path)})" for path in paths)


def pictures(made):
    """As README.md calls them, if it has them."""
    said = {path: alt for alt, path in re.findall(r"!\[([^]]*)\]\((results/[^)]*)\)", (ROOT / "README.md").read_text())}
    for path in sorted([*made.glob("figures/*.png"), *made.glob("figures/*.svg")]):
        name = f"{made.name}/figures/{path.name}"
        yield f"![{said.get(f'results/{name}') or report.EMBEDDED.get(path.stem) or f'figure {path.stem} of this run'}]({name})\n"


def came_to(run):
    """("11 systems, 71 scenarios, 6 guards", "567 safe, 253 violated")"""
    cells = [cell for cell in run_folder.lock_cells(run) if cell["verdict"] != "n/a"]
    verdicts = collections.Counter(cell["verdict"] for cell in cells)
    counts = {key: len({cell[key] for cell in cells}) for key in ("system", "scenario", "guard")}
    return ", ".join(f"{count} {key}{'s' if count > 1 else ''}" for key, count in counts.items()), ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in run_folder.VERDICTS if verdicts[verdict])


def entry(folder, made, run, text):
    asked, came = came_to(run)
    yield f"## {folder.name}\n"
    yield f"**[Open the report]({folder.name}/report.html)**: {asked}; {came}.\n"
    if text:
        yield f"What it is for: {text}.\n"
    yield f"{run_folder.versions_line(run)} Played {str(run.get('started_utc', ''))[:10]} with lockbench {run['tool'].get('version', '?')} ({run['tool'].get('commit', '?')}).\n"
    yield from pictures(made)
    yield f"Files: {files_of(folder)}.\n"


def write_hunt(folder, site):
    """The page of a hunt."""
    made = site / "results" / folder.name
    copy(folder, made)
    done = subprocess.run([sys.executable, ROOT / "plots/hunt_table.py", f"results/{folder.name}"], cwd=ROOT, capture_output=True, text=True, check=True)
    page = io.StringIO()
    print(f"# {folder.name}: a hunt\n\n[What a hunt is, and how to read this](../../docs/hunt.md).\n\n{done.stdout}\n\n## Files\n", file=page)
    print(f"`tar xf` of an archive gives the folder of a system ([schema](../SCHEMA.md)): {files_of(folder).replace('(' + folder.name + '/', '(')}.", file=page)
    (made / "index.md").write_text(page.getvalue())


def write(site, lockbench):
    """Pages and files of all published folders below `site`, the source of the pages."""
    runs, hunts = published()
    texts, lines = what_for(), ["# The data: every published run\n", "Each run has a report that you can filter by version, library and guard. A cell opens its trial, where that is published.",
                                "[Schema of the files](SCHEMA.md). To play one again: its command stands at the end of its report.\n"]
    made = {folder: written(folder, site, lockbench) for folder in runs}
    lines += ["| report | asked | came to | played |\n|---|---|---|---|\n" + "".join(f"| [{folder.name}]({folder.name}/report.html) | {' | '.join(came_to(run))} | {str(run.get('started_utc', ''))[:10].replace('-', chr(0x2011))} |\n" for folder, run in made.items())]
    for folder, run in made.items():
        lines += entry(folder, site / "results" / folder.name, run, texts.get(folder.name))
    for folder in hunts:
        write_hunt(folder, site)
        lines += [f"## {folder.name}\n", f"**[Open the table]({folder.name}/index.md)**: a hunt of {len(hunt_folder.systems_in(folder))} systems. What it is for: {texts.get(folder.name, '')}.\n"]
    (site / PLACE).write_text("\n".join(lines) + "\n")
