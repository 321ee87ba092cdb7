#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-docs.py - the HTML of the pages (setup/docs): every page is there and can be found, its links lead somewhere, and nothing comes from the network. Speaks TAP."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

LINK = re.compile(r'(?:href|src)="([^"#]*)(?:#[^"]*)?"')


def wrong_links(site):
    for path in site.rglob("*.html"):
        if path.name == "404.html":  # its links begin at a root that files do not have
            continue
        for target in set(LINK.findall(path.read_text())):
            if target and not re.match(r"(https?|mailto|data|javascript):", target) and not (path.parent / target.partition("?")[0]).exists():
                yield f"{path.relative_to(site)}: {target}"


def from_network(site):
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        for target in re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="((?:https?:)?//[^"]+)"|url\(["\']?((?:https?:)?//[^)]+)\)|@import', path.read_text()):
            if "canonical" not in str(target):
                yield f"{path.relative_to(site)}: {target}"


def not_found(site):
    """Pages that the search does not have."""
    found = {entry[0].partition("#")[0] for entry in json.loads(re.match(r"const pages = (.*);\n", (site / "search/main.js").read_text())[1])}
    pages = [path for path in [tap.ROOT / "README.md", *tap.ROOT.glob("docs/*.md"), tap.ROOT / "results/SCHEMA.md"]]
    for path in pages:
        name = str(path.relative_to(tap.ROOT).with_suffix(".html")).replace("README", "index")
        if name not in found or not (site / name).exists():
            yield name


def main():
    if not pathlib.Path("/usr/lib/python3/dist-packages/mkdocs").exists():
        print("1..0 # SKIP no mkdocs: ./bench docs installs it")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder) / "site"
        done = subprocess.run(["/usr/bin/python3", tap.ROOT / "setup/docs", site], capture_output=True, text=True, check=False)
        tap.check("the site is built without a warning", [] if done.returncode == 0 else done.stderr.splitlines())
        if done.returncode == 0:
            tap.check("every link leads somewhere", list(wrong_links(site)))
            tap.check("nothing comes from the network", list(from_network(site)))
            tap.check("the search has every page", list(not_found(site)))
    return tap.end()


sys.exit(main())
