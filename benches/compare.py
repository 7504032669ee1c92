"""folio beside servers that are written in other ways: their start, their memory, and their CPU time for a request.

Each serves, over stdio, a tool that returns its text, a prompt with two arguments, and a resource; the Rust SDK's serves
a few entries more. Those that are not installed are left out. To have them all, in the root of the repository:

    cargo build --release
    cargo build --release --manifest-path tests/interop/rust_reference/Cargo.toml --target-dir target/compare
    npm install --prefix target/compare @modelcontextprotocol/server@2.4.0 zod@4.6.7 @toolbox-sdk/server@1.12.0
    python3 -m venv target/compare/python
    target/compare/python/bin/pip install fastmcp==4.2.3
    python3 benches/compare.py

The servers take turns, with a new process in every round, and the table has the medians of the rounds. Linux only: CPU
time and memory are what /proc tells of a process and its children. Of other programs that run meanwhile, starts are the
most disturbed, and CPU time the least.
"""

import argparse
import json
import os
import platform
import select
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

SERVED = Path(__file__).resolve().parent / "compare"
SOON = 20.0
"""Seconds after which a reply does not come any more."""
SETTLED = 0.5
"""Seconds after which a server that was started is idle."""
WARM = 4000
"""Requests of each kind after which Node has compiled what answers them."""

# Short enough that 64 requests fit into a pipe: so neither side waits for the other to read.
TEXT = "fn lines_of(text: &str) -> Vec<&str> {\n    // \"Lines\" end with \\n or \\r\\n.\n    text.split('\\n').collect()\n}\n" * 3
MARK = b"lines_of"
CALL = ("tools/call", {"name": "echo", "arguments": {"text": TEXT}})
GET = ("prompts/get", {"name": "review", "arguments": {"kind": "bugs", "text": TEXT}})
LOADS = [(CALL, 1), (CALL, 64), (GET, 1), (GET, 64)]
COLUMNS = ["start, ms", "idle, MB", "tool call, µs", "64 at once", "prompt, µs", "64 at once"]


class Failed(Exception):
    """A server that did not do what is measured."""


class Peer(NamedTuple):
    name: str
    program: Path
    """What is there if it is installed."""
    command: list
    install: str
    """The command that installs it, in the root of the repository."""


def peers(options):
    modules, python = options.peers / "node_modules", options.peers / "python"
    # The program itself: the one in `.bin` is a script that starts it.
    toolbox = next(modules.glob("@toolbox-sdk/server-*/bin/toolbox"), modules / ".bin/toolbox")
    toolbox_words = ["--stdio", "--config", SERVED / "toolbox.yaml", "--log-level", "ERROR", "--disable-version-check"]
    crate = "tests/interop/rust_reference/Cargo.toml"
    npm = f"npm install --prefix {options.peers}"
    node = ["node", SERVED / "typescript_server.mjs", options.peers]
    return [
        Peer("folio", options.folio, [options.folio, "serve", SERVED], "cargo build --release"),
        Peer("Rust SDK (rmcp 3.9.0)", options.rust, [options.rust, "stdio"],
             f"cargo build --release --manifest-path {crate} --target-dir {options.peers}"),
        Peer("TypeScript SDK 2.4.0", modules / "@modelcontextprotocol/server", node,
             f"{npm} @modelcontextprotocol/server@2.4.0 zod@4.6.7"),
        Peer("FastMCP 4.2.3", python / "bin/fastmcp", [python / "bin/python", SERVED / "fastmcp_server.py"],
             f"python3 -m venv {python} && {python}/bin/pip install fastmcp==4.2.3"),
        Peer("MCP Toolbox 1.12.0", toolbox, [toolbox, *toolbox_words], f"{npm} @toolbox-sdk/server@1.12.0"),
    ]


def family(pid):
    """A process and all that it started."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from family(int(child))


def cpu_seconds(pid):
    """The time in user and system mode, with that of children that have ended."""
    stats = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in family(pid)]
    return sum(int(ticks) for stat in stats for ticks in stat[11:15]) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(pid):
    lines = [line for each in family(pid) for line in Path(f"/proc/{each}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


@contextmanager
def one_processor(pid):
    """Keeps a server and this client on one: across two, waking the other costs much more, or nothing, as it happens."""
    allowed = os.sched_getaffinity(0)
    threads = [int(task.name) for each in family(pid) for task in Path(f"/proc/{each}/task").iterdir()]
    for thread in [0, *threads]:
        with suppress(ProcessLookupError):  # It may have ended since.
            os.sched_setaffinity(thread, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


class Session:
    """A server that was started."""

    def __init__(self, command, log):
        self.rest, self.began = b"", time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0)

    def initialize(self):
        """The milliseconds from the start of the process to its first reply."""
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "compare", "version": "1"}}
        self.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode() + b"\n")
        reply = self.replies()[0]
        took = (time.perf_counter() - self.began) * 1000
        if b'"serverInfo"' not in reply:
            raise Failed(f"initialize: {reply.decode()}")
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return took

    def write(self, data):
        try:
            while data:
                data = data[os.write(self.process.stdin.fileno(), data):]
        except BrokenPipeError:
            raise Failed("the server has ended") from None

    def replies(self):
        """The replies that come next, one or more, without notifications."""
        while True:
            if not select.select([self.process.stdout], [], [], SOON)[0]:
                raise Failed(f"no reply for {SOON:.0f} s")
            data = os.read(self.process.stdout.fileno(), 1 << 18)
            if not data:
                raise Failed("the server has ended")
            *lines, self.rest = (self.rest + data).split(b"\n")
            if found := [line for line in lines if b'"method"' not in line]:
                return found

    def requests(self, method, params, in_flight, seconds, least=0):
        """Keeps so many requests in flight for a while, and until so many are answered: how many were."""
        head = json.dumps({"jsonrpc": "2.0", "method": method, "params": params})[:-1].encode() + b', "id": '
        end, sent, answered, due = time.perf_counter() + seconds, 0, 0, in_flight
        while due or answered < sent:
            self.write(b"".join(b"%s%d}\n" % (head, sent + index + 1) for index in range(due)))
            sent += due
            lines = self.replies()
            for line in lines:
                if MARK not in line or b'"result"' not in line or b'"isError":true' in line:
                    raise Failed(f"{method}: {line.decode()}")
            answered += len(lines)
            due = len(lines) if time.perf_counter() < end or answered < least else 0
        return answered

    def cpu_microseconds(self, method, params, in_flight, seconds):
        """The CPU time of one request."""
        before = cpu_seconds(self.process.pid)
        count = self.requests(method, params, in_flight, seconds)
        return (cpu_seconds(self.process.pid) - before) / count * 1e6

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(SOON)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def measured(peer, seconds):
    """What COLUMNS name, of a new process."""
    with tempfile.TemporaryFile() as log:
        session = Session(peer.command, log)
        try:
            start = session.initialize()
            time.sleep(SETTLED)
            idle = resident_megabytes(session.process.pid)
            with one_processor(session.process.pid):
                for what in (CALL, GET):
                    session.requests(*what, in_flight=64, seconds=0, least=WARM)
                return [start, idle] + [session.cpu_microseconds(*what, in_flight, seconds) for what, in_flight in LOADS]
        except Failed as failure:
            session.process.kill()
            log.seek(0)
            sys.exit(f"{peer.name}: {failure}\n{log.read().decode(errors='replace')[-2000:]}")
        finally:
            session.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folio", type=Path, default=Path("target/release/folio"), help="the program (default: %(default)s)")
    parser.add_argument("--rust", type=Path, default=Path("target/compare/release/rust_reference"), help="the Rust SDK's server (default: %(default)s)")
    parser.add_argument("--peers", type=Path, default=Path("target/compare"), help="where the others are installed (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each server is started (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each load lasts (default: %(default)s)")
    options = parser.parse_args()

    installed = [peer for peer in peers(options) if peer.program.exists()]
    for peer in peers(options):
        if peer not in installed:
            print(f"{peer.name} is left out, as there is no {peer.program}: {peer.install}", file=sys.stderr)
    rounds = {peer.name: [] for peer in installed}
    for _ in range(options.rounds):
        for peer in installed:
            rounds[peer.name].append(measured(peer, options.seconds))

    print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, medians of {options.rounds} rounds\n")
    print("| | " + " | ".join(COLUMNS) + " |\n|---|" + "--:|" * len(COLUMNS))
    for name, figures in rounds.items():
        print(f"| {name} | " + " | ".join(f"{median(column):,.0f}" for column in zip(*figures)) + " |")


if __name__ == "__main__":
    main()
