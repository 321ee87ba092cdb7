# SPDX-License-Identifier: MIT
"""browser.py - opens pages in Chromium, driven by Playwright, for tests that look at them as a reader does (tests/browser/*.mjs).

Playwright comes from the npm registry, in the version of package-lock.json, into a folder, once.
"""
import fcntl
import os
import shutil
import subprocess
import sys

import tap


def _install(folder):
    """Why Playwright is not there, or None."""
    if not shutil.which("npm"):
        return "npm is missing"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = (tap.ROOT / "tests/browser/package-lock.json").read_bytes()
        kept = folder / "package-lock.json"
        if kept.exists() and kept.read_bytes() == wanted and (folder / "node_modules/playwright-core").is_dir():
            return None
        shutil.copy(tap.ROOT / "tests/browser/package.json", folder)
        kept.write_bytes(wanted)
        try:
            done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            done = None
        if done is None or done.returncode:
            kept.unlink()
            return f"npm has no playwright-core: {(done.stderr.splitlines() or ['?'])[0] if done else 'no answer in 120 s'}"
    return None


def found(folder):
    """(Chromium, None), or (None, why there is none). `folder` is that of Playwright."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium or not shutil.which("node"):
        return None, f"{'node' if chromium else 'chromium'} is missing"
    try:
        import jinja2  # noqa: F401
    except ModuleNotFoundError:
        return None, "jinja2 is missing"
    why = _install(folder)
    return (None, why) if why else (chromium, None)


def read(script, work):
    """Each statement of this script of tests/browser, which reads WORK/expected.json, becomes one of the test."""
    sys.stdout.flush()
    done = subprocess.run(["node", tap.ROOT / "tests/browser" / script, work / "expected.json"], capture_output=True, text=True, timeout=600,
                          env=os.environ | {"HOME": str(work)}, check=False)
    lines = done.stdout.splitlines()
    for line, more in zip(lines, [*lines[1:], "?"]):
        if line.startswith(("ok ", "not ok ")):
            tap.check(line.partition(" - ")[2], [] if line.startswith("ok ") else [more.removeprefix("# ")])
    tap.check("the browser's test came to its end", [] if lines and lines[-1].startswith("1..") else (done.stderr.splitlines()[-5:] or ["it said nothing"]))
