"""The official conformance suite against the example that is made for it, over HTTP, for every revision it knows.

    conformance.py FOLIO EXAMPLES

Runs `conformance server`, found on PATH, and reads what it writes: every check of every scenario counts, also where
the suite itself only warns, skips, or does not score.
"""

import json
import re
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
SKIPPED = {
    "tasks-status-notifications": "the suite skips it for every server, until it listens for them as SEP-2575 says",
}
"""Checks that may be skipped, and why."""


def every_scenario():
    """The names of all that a server can be tested for."""
    command = ["conformance", "list", "--server"]
    listed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
    return set(re.findall(r"^ +- (\S+)", listed.stdout, re.MULTILINE))


def conformance(url, options):
    """Every check of one run, with the name of its scenario."""
    with tempfile.TemporaryDirectory(prefix="folio-conformance-") as folder:
        command = ["conformance", "server", "--url", url, "--output-dir", folder, *options]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        files = sorted(Path(folder).glob("*/checks.json"))
        # A folder is called after its scenario and the time.
        scenario = {file: re.sub(r"^server-|-\d{4}-\d\d-\d\dT[^T]*$", "", file.parent.name) for file in files}
        checks = [(scenario[file], check) for file in files for check in json.loads(file.read_text())]
    empty = set(scenario.values()) - {name for name, _ in checks}
    explained = done.returncode == 0 or not all(is_well(check) for _, check in checks)
    if not checks or empty or not explained:
        print(done.stdout, done.stderr, file=sys.stderr)
        raise Failed(f"conformance {' '.join(options)}: exit status {done.returncode}, nothing checked in {sorted(empty)}")
    return checks


def is_well(check):
    return check["status"] in ("SUCCESS", "INFO") or (check["status"] == "SKIPPED" and check["id"] in SKIPPED)


def run(url, name, options):
    """One run: a line of totals, and a failure where a check is not well. The scenarios that it took in."""
    checks = conformance(url, options)
    counts = Counter(check["status"] for _, check in checks)
    told = ", ".join(f"{counts.pop(status, 0)} {word}" for status, word in (
        ("SUCCESS", "passed"), ("FAILURE", "failed"), ("WARNING", "warned"), ("SKIPPED", "skipped"),
    ))
    scenarios = {scenario for scenario, _ in checks}
    print(f"  {name}: {len(scenarios)} scenarios, {told}", flush=True)
    unwell = [(scenario, check) for scenario, check in checks if not is_well(check)]
    for scenario, check in unwell:
        words = check.get("errorMessage") or check.get("details")
        print(f"  {check['status']} {scenario} {check['id']}: {words}", file=sys.stderr)
    if unwell:
        raise Failed(f"{name}: {len(unwell)} checks of the conformance suite")
    return scenarios


def main(binary, examples):
    with example(examples, "conformance") as folder, over_http(binary, folder) as url:
        left = every_scenario()
        for revision, *options in RUNS:
            left -= run(url, revision, [*options, revision])
        # Extensions that no revision names.
        for scenario in sorted(left):
            run(url, scenario, ["--scenario", scenario])


if __name__ == "__main__":
    main(*sys.argv[1:])
