"""The official conformance suite against the example that is made for it, over HTTP, for every revision it knows.

    conformance.py FOLIO EXAMPLES

Runs `conformance server`, found on PATH, and reads what it writes: every check of every scenario counts, also where
the suite itself only warns, skips, or does not score.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from served import Failed, example, over_http

RUNS = (
    ("2026-07-28", "--requirements"),
    ("2025-11-25", "--requirements"),
    ("2025-06-18", "--suite", "active", "--spec-version"),
    ("2025-03-26", "--suite", "active", "--spec-version"),
)
EXTENSIONS = ("sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory")
"""Scenarios that no revision requires and no run of the above takes in: each is run by its name."""

SKIPPED = {
    "tasks-status-notifications": "the suite skips it for every server, until it listens for them as SEP-2575 says",
}
"""Checks that may be skipped, by what their ids begin with, and why."""
WITHOUT_SKILLS = {"sep-2640-": "the example has no skills"}


def conformance(url, options):
    """Every check of one run with the name of its scenario, and what was printed."""
    with tempfile.TemporaryDirectory(prefix="folio-conformance-") as folder:
        command = ["conformance", "server", "--url", url, "--output-dir", folder, *options]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        files = sorted(Path(folder).glob("*/checks.json"))
        # A folder is called after its scenario and the time.
        checks = [(file.parent.name[:-25], check) for file in files for check in json.loads(file.read_text())]
    printed = done.stdout + done.stderr
    empty = {file.parent.name[:-25] for file in files} - {scenario for scenario, _ in checks}
    if done.returncode != 0 or not checks or empty:
        print(printed, file=sys.stderr)
        raise Failed(f"conformance {' '.join(options)}: exit status {done.returncode}, nothing checked in {sorted(empty)}")
    return checks


def is_well(check, skipped):
    if check["status"] == "SKIPPED":
        return check["id"].startswith(tuple(skipped))
    return check["status"] in ("SUCCESS", "INFO")


def run(url, name, options, skipped=SKIPPED):
    """One run: a line of totals, and a failure where a check is not well."""
    checks = conformance(url, options)
    counts = Counter(check["status"] for _, check in checks)
    told = ", ".join(f"{counts.pop(status, 0)} {word}" for status, word in (
        ("SUCCESS", "passed"), ("FAILURE", "failed"), ("WARNING", "warned"), ("SKIPPED", "skipped"),
    ))
    scenarios = len({scenario for scenario, _ in checks})
    print(f"  {name}: {scenarios} scenarios, {told}", flush=True)
    unwell = [(scenario, check) for scenario, check in checks if not is_well(check, skipped)]
    for scenario, check in unwell:
        words = check.get("errorMessage") or check.get("details")
        print(f"  {check['status']} {scenario} {check['id']}: {words}", file=sys.stderr)
    if unwell:
        raise Failed(f"{name}: {len(unwell)} checks of the conformance suite")


def main(binary, examples):
    with example(examples, "conformance") as folder, over_http(binary, folder) as url:
        for revision, *options in RUNS:
            run(url, revision, [*options, revision])
        skipped = {} if "\nskills:" in (folder / "folio.yaml").read_text() else WITHOUT_SKILLS
        for scenario in EXTENSIONS:
            run(url, scenario, ["--scenario", scenario], skipped)


if __name__ == "__main__":
    main(*sys.argv[1:])
