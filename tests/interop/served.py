"""An example under test: a copy that may be edited, the server over it, and checks that say what they saw."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

SOON = 20.0
"""Seconds that anything may take before it counts as never coming."""


class Failed(Exception):
    """A check that did not hold."""


def check(what, holds, saw):
    """Prints one line for a check, with what was seen; the first that does not hold ends the run."""
    text = saw if isinstance(saw, str) else json.dumps(saw, ensure_ascii=False, default=str)
    short = text if holds or len(text) <= 400 else text[:4000]
    print(f"  {'ok  ' if holds else 'FAIL'} {what}: {short if len(short) <= 160 or not holds else short[:157] + '...'}", flush=True)
    if not holds:
        raise Failed(what)


@contextmanager
def example(examples, name):
    """A copy of an example in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix=f"folio-{name}-") as folder:
        copy = Path(folder) / name
        shutil.copytree(Path(examples) / name, copy)
        yield copy


@contextmanager
def over_http(binary, folder):
    """The address of a server over HTTP, which must end in order when it is asked to."""
    server = subprocess.Popen(
        [binary, "serve", str(folder), "--http=127.0.0.1:0"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    lines, ready, url = [], threading.Event(), []

    def listen():
        for line in server.stderr:
            lines.append(line)
            if found := re.match(r"listening on (http://\S+)$", line.strip()):
                url.append(found[1])
                ready.set()
        ready.set()

    reader = threading.Thread(target=listen, daemon=True)
    reader.start()
    try:
        ready.wait(SOON)
        check("the server says where it listens", bool(url), url or lines)
        yield url[0]
        began = time.monotonic()
        server.terminate()
        code = server.wait(SOON)
        took = time.monotonic() - began
        check("the server ends in order on SIGTERM", code == 0 and took < 2, f"exit status {code} after {took:.2f} s")
        left = server.stdout.read()
        check("nothing on stdout but the protocol", left == "", repr(left))
    except BaseException:
        print("  the server said:", *lines[-40:], sep="\n    ", file=sys.stderr)
        raise
    finally:
        server.kill()
        server.wait()
        reader.join(SOON)


def edit(path, old, new):
    """Replaces a text of a file, which must hold it once, in the way of an editor that renames over it."""
    text = path.read_text()
    if text.count(old) != 1:
        raise Failed(f"{path.name} holds {old!r} {text.count(old)} times")
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text.replace(old, new))
    fresh.rename(path)


def add_prompt(folder):
    """Adds the prompt `farewell`."""
    edit(folder / "folio.yaml", "\nprompts:\n", '\nprompts:\n  farewell: { description: Say goodbye, text: "Say goodbye." }\n')


def add_tool(folder):
    """Adds the tool `count`, which is made from its arguments alone."""
    tool = (
        "  count:\n    description: Counts\n    arguments: { upTo: { type: integer, required: true } }\n"
        '    result: { structuredContent: { upTo: "{{upTo}}" } }\n'
    )
    edit(folder / "folio.yaml", "\ntools:\n", f"\ntools:\n{tool}")


def names(entries, key="name"):
    """The names of what was listed."""
    return [entry[key] for entry in entries]
