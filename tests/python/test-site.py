#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-site.py LOCKBENCH FOLDER - the site of `./bench docs` in Chromium (tests/browser/site.mjs). Skipped without MkDocs or a browser. Speaks TAP."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import browser  # noqa: E402
import tap  # noqa: E402

START = (("Which lock for me?", "docs/choose.html", "cron job"), ("Does a failover lose my lock?", "results/reference-truth/report.html", "failover-slow-link"),
         ("Which library keeps its word?", "docs/libraries.html", "redis-py"), ("Which version of my server?", "docs/versions.html", "Valkey"),
         ("Where is the data?", "results/index.html", "reference-truth"), ("The paper", "paper/index.html", "Locks under test"))
PAGES = ("index.html", "search.html", "results/index.html", "results/reference-hunt/index.html", "paper/index.html", "results/SCHEMA.html", "ARCHITECTURE.html")
LIBRARY = "redis-py"


def versions_of(run):
    """A version that some systems of this run have, and these."""
    said = json.loads((tap.ROOT / "results" / run / "run.json").read_text())
    version = said["servers"]["sentinel:trixie"]
    systems = dict.fromkeys(cell["system"] for cell in said["cells"])
    return {"run": run, "name": version, "systems": [system for system in systems if version in said["servers"].get(system.split("@")[1], "").split(", ")]}


def main():
    if not pathlib.Path("/usr/lib/python3/dist-packages/mkdocs").exists():
        print("1..0 # SKIP no mkdocs: ./bench docs installs it")
        return 0
    modules = pathlib.Path(sys.argv[2]).resolve() / "browser"
    chromium, why = browser.found(modules)
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        done = subprocess.run(["/usr/bin/python3", tap.ROOT / "setup/docs", work / "site", os.path.abspath(sys.argv[1])], capture_output=True, text=True, check=False)
        tap.check("the site is built", [] if done.returncode == 0 else done.stderr.splitlines())
        if done.returncode == 0:
            site = work / "site"
            found = [str(path.relative_to(site)) for folder in ("docs", "results") for path in sorted(site.glob(f"{folder}/**/*.html"))]
            (work / "expected.json").write_text(json.dumps({"modules": str(modules), "chromium": chromium, "site": site.as_uri() + "/", "start": START, "library": LIBRARY,
                                                            "pages": list(dict.fromkeys([*PAGES, *found])), "versions": versions_of("reference-versions")}))
            browser.read("site.mjs", work)
    return tap.end()


sys.exit(main())
