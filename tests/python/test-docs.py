#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-docs.py - the site (setup/docs): every page and every published run is there, each link leads somewhere, and nothing comes from the network. Speaks TAP."""
import html
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

LINK = re.compile(r'\b(?:href|src|action)="([^"]*)"')
OF_REPORTS = re.compile("(?:cell|scenario|filter)=")  # addresses that report.js understands
MOST_BYTES = 20_000_000


def text_of(path):
    """Without scripts, whose texts are no markup."""
    return re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", path.read_text(), flags=re.S)


def wrong_links(site):
    """A link leads to a file that is there, and to a place in it."""
    ids = {path: set(re.findall(r'\bid="([^"]*)"', text_of(path))) for path in site.rglob("*.html")}
    for path in ids:
        for link in sorted(set(LINK.findall(text_of(path)))):
            target, _, place = html.unescape(link).partition("#")
            if re.match(r"(https?|mailto|data|javascript):", target):
                continue
            file = (path.parent / urllib.parse.unquote(target.partition("?")[0])).resolve() if target else path
            if not file.exists() or site not in file.parents or place and not OF_REPORTS.match(place) and place not in ids.get(file, ()):
                yield f"{path.relative_to(site)}: {link}"


def wrong_rows(site):
    """A link to a report's rows or cell names some that the report has."""
    for path in site.rglob("*.html"):
        for target, place in re.findall(r'href="([^"#]+report\.html)#([^"]+)"', text_of(path)):
            data = (path.parent / target).read_text()
            words = urllib.parse.parse_qs(html.unescape(place).partition("=")[2]) if place.startswith("filter=") else {"cell": [urllib.parse.unquote(place.partition("=")[2])]}
            for word in (word for values in words.values() for word in values):
                if f'{word.split(".")[0]}' not in data:
                    yield f"{path.relative_to(site)}: {target}#{place}"


def unreachable(site):
    """A page without the way past its head, its parts, or its language; a published run without its report, or that the list does not link."""
    for path in site.rglob("*.html"):
        text = text_of(path)
        yield from (f"{path.relative_to(site)}: no {part}" for part in ('<html lang="en">', 'class="skip', "<nav ", "<header", "<main ", "<h1") if part not in text)
    listed = (site / "results/index.html").read_text()
    for run in sorted(tap.ROOT.glob("results/reference*")):
        page = f"{run.name}/{'report.html' if (run / 'run.json').exists() else 'index.html'}"
        if not (site / "results" / page).exists() or f'href="{page}"' not in listed:
            yield f"results/{page}"
        verdicts = site / "results" / run.name / "index.html"
        if verdicts.exists() and (run / "run.json").exists() and 'href="report.html"' not in verdicts.read_text():
            yield f"results/{run.name}/index.html: no link to its report"


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


def wrong_abstract():
    """What stands for a run, with its number in it, goes where there is no such run."""
    loader = importlib.machinery.SourceFileLoader("docs", str(tap.ROOT / "setup/docs"))
    docs = importlib.util.module_from_spec(importlib.util.spec_from_loader("docs", loader))
    loader.exec_module(docs)
    text = r"\begin{abstract}\LB{a} locks. \WhenRun{hunt}{A hunt of \LB{hunt.timelines} timelines. }Done (Section~\ref{sec:a}).\end{abstract}"
    for numbers, wanted in ((r"\LBset{a}{two}", "two locks. Done."), ("\\LBset{a}{two}\n\\LBset{hunt.timelines}{9}\n\\LBhas{hunt}", "two locks. A hunt of 9 timelines. Done.")):
        if docs.abstract(text, numbers) != wanted:
            yield f"{docs.abstract(text, numbers)!r}, expected {wanted!r}"


def main():
    tap.check("the abstract is that of the runs there are", list(wrong_abstract()))
    if not pathlib.Path("/usr/lib/python3/dist-packages/mkdocs").exists():
        tap.check("the site is built", [], unless="no mkdocs: ./bench docs installs it")
        return tap.end()
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder) / "site"
        done = subprocess.run(["/usr/bin/python3", tap.ROOT / "setup/docs", site, os.path.abspath(sys.argv[1])], capture_output=True, text=True, check=False)
        tap.check("the site is built without a warning", [] if done.returncode == 0 else done.stderr.splitlines())
        if done.returncode == 0:
            tap.check("every link leads somewhere", list(wrong_links(site)))
            tap.check("nothing comes from the network", list(from_network(site)))
            tap.check("links to rows and cells of reports name some", list(wrong_rows(site)))
            tap.check("each page can be used by keyboard, each published run is there", list(unreachable(site)))
            size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
            tap.check(f"it has at most {MOST_BYTES // 1000000} MB", [f"{size} bytes"] if size > MOST_BYTES else [])
            tap.check("the search has every page", list(not_found(site)))
    return tap.end()


sys.exit(main())
