"""What is exchanged with a server under comparison: sessions, one after another and beside one another."""

import time
from concurrent.futures import ThreadPoolExecutor

from differential_peers import GRACE, Http, Stdio, listening
from differential_traffic import (
    CHANGES, META, MODERN, SESSIONS, SUBSCRIBING, cancelled, echo, encode, framing, headers, initializations, listen, methods, posts, request, with_metas,
)


def pages(ask, meta):
    """Every list, page by page."""
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        params, number = ..., 1
        while params is not None and number < 6:
            seen = ask(request(method, params, id=f"page {number}", meta=meta))
            yield f"{method} page {number}", seen
            params = next(({"cursor": cursor} for cursor in seen["cursors"] if cursor), None)
            number += 1


class OnStdio:
    """The exchanges over standard streams, by name: each session is a server of its own."""

    def __init__(self, command):
        self.command, self.seen, self.pool, self.begun = command, {}, ThreadPoolExecutor(4), []

    def run(self):
        for version in [*SESSIONS, MODERN]:
            opening, meta = (None, META) if version == MODERN else (begun(version), None)
            self.begin(version, opening, meta, [(name, encode(request(*case, id=f"m {name}", meta=meta)), f"m {name}") for name, case in methods(version).items()], pages)
            self.begin(version, opening, meta, [(name, line, id) for name, (line, id) in framing(meta).items()])
            self.begin(version, opening, meta, cancelling(meta) + listening_to_changes(meta))
            self.begin(version, opening, meta, [(name, encode(request(*case, id=f"s {name}", meta=meta)), f"s {name}", True) for name, case in SUBSCRIBING.items()])
        for name, params in initializations().items():
            self.begin("fresh", None, None, [
                (f"initialize {name}", encode(request("initialize", params)), 1), (f"initialize {name}, then list", encode(request("tools/list", id=2)), 2),
                (f"initialize {name}, again", encode(request("initialize", params, id=3)), 3), (f"initialize {name}, then modern", encode(echo(META, 4)), 4)])
        for name, (line, id) in framing(None).items():
            initialize = encode(request("initialize", initializations()["2025-06-18"], id=2))
            self.begin("fresh", None, None, [(f"first {name}", line, id), (f"first {name}, then initialize", initialize, 2)])
        for name, method, message in with_metas():
            case = [(f"meta {name} {method}", encode(message), 1)]
            self.begin("fresh", None, None, case)
            self.begin("in session", begun("2025-11-25"), None, case)
            self.begin("in modern", [request("server/discover", id="opening", meta=META)], META, case)
        for each in self.begun:
            each.result()
        return self.seen

    def begin(self, *what):
        self.begun.append(self.pool.submit(self.run_session, *what))

    def run_session(self, prefix, opening, meta, cases, more=lambda *_: ()):
        """Sends the cases, each of a name, a line, the id of its answer, and whether more than that comes after a while."""
        server = Stdio(self.command, opening)
        for name, line, id, *waits in cases:
            self.seen[f"stdio {prefix} {name}"] = server.ask(line, id, meta, *waits)
        for name, told in more(lambda message: server.ask(encode(message), message["id"], meta), meta):
            self.seen[f"stdio {prefix} {name}"] = told
        server.stop()


def begun(version):
    """What begins a session of a version."""
    return [request("initialize", initializations()[version], id="opening"), request("notifications/initialized", id=...)]


def cancelling(meta):
    """A call that is cancelled, and what is sent meanwhile and after."""
    slow, cancel = (lambda id: encode(request("tools/call", {"name": "slow"}, id=id, meta=meta))), (lambda id: encode(cancelled(id, meta)))
    return [("slow", slow(5), 5, True), ("beside slow", encode(echo(meta, 6)), 6), ("id of slow", encode(echo(meta, 5)), 5),
            ("cancel as text", cancel("5"), 5, True), ("cancel slow", cancel(5), 5, True), ("id of cancelled", encode(echo(meta, 5)), 5),
            ("cancel again", cancel(5), 5), ("after cancel", encode(echo(meta, 8)), 8)]


def listening_to_changes(meta):
    """A subscription of 2026-07-28, what it tells, and its end."""
    return [*((name, encode(listen(notifications, id, meta)), id) for name, id, notifications in (("listen", "l", CHANGES), ("listen to nothing", "n", {}), ("listen id again", "l", {}))),
            ("notify listeners", encode(request("tools/call", {"name": "notify"}, id=9, meta=meta)), 9, True),
            ("cancel listen", encode(cancelled("l", meta)), "l", True), ("after listen", encode(echo(meta, 10)), 10)]


class OnHttp:
    """The exchanges over HTTP, by name: all with one server, but those about changes, which it tells to every session."""

    def __init__(self, command):
        self.command, self.seen = command, {}

    def run(self):
        pool = ThreadPoolExecutor(4)
        with listening(self.command) as self.authority:
            runs = [pool.submit(run, version) for version in [*SESSIONS, MODERN] for run in (self.run_methods, self.run_cancelling)]
            runs += [pool.submit(self.run_headers, version) for version in ("2025-11-25", MODERN, None)]
            runs.append(pool.submit(self.run_metas))
            for each in runs:
                each.result()
        with listening(self.command) as self.authority:
            for version in [*SESSIONS, MODERN]:
                self.run_subscribing(version)
        return self.seen

    def note(self, version, name, outcome):
        self.seen[f"http {version} {name}"] = outcome

    def run_methods(self, version):
        meta = META if version == MODERN else None
        server = Http(self.authority, version)
        for name, case in methods(version).items():
            self.note(version, name, server.exchange("POST", request(*case, meta=meta)))
        for name, (line, id) in framing(meta).items():
            self.note(version, name, server.exchange("POST", line))
        for name, outcome in pages(lambda message: server.exchange("POST", message), meta):
            self.note(version, name, outcome)
        for name, notifications in {"listen": CHANGES, "listen to nothing": {}}.items():
            self.note(version, name, server.exchange("POST", listen(notifications, "l", meta), until="first"))

    def run_cancelling(self, version):
        meta = META if version == MODERN else None
        server = Http(self.authority, version)
        slow = ThreadPoolExecutor().submit(server.exchange, "POST", request("tools/call", {"name": "slow"}, id=5, meta=meta), until="first")
        time.sleep(GRACE)
        for name, message in {"beside slow": echo(meta, 6), "id of slow": echo(meta, 5), "cancel slow": cancelled(5, meta), "id of cancelled": echo(meta, 5),
                              "cancel again": cancelled(5, meta), "after cancel": echo(meta, 8)}.items():
            self.note(version, name, server.exchange("POST", message))
        self.note(version, "slow", slow.result())

    def run_subscribing(self, version):
        server = Http(self.authority, version)
        stream = ThreadPoolExecutor().submit(server.exchange, "GET", None, until="silence")
        for name, case in SUBSCRIBING.items():
            time.sleep(GRACE / 5)
            self.note(version, name, server.exchange("POST", request(*case, meta=META if version == MODERN else None)))
        self.note(version, "stream of the session", stream.result())

    def run_headers(self, version):
        meta = META if version == MODERN else None
        server = Http(self.authority, version)
        for name, given in headers().items():
            for what, message in posts(meta).items():
                self.note(version, f"with {name}: {what}", server.exchange("POST", message, given))
            for verb in ("GET", "DELETE", "PUT", "HEAD", "OPTIONS"):
                self.note(version, f"with {name}: {verb}", Http(self.authority, version).exchange(verb, None, given, until="first"))
        for path in ("/", "/mcp/", "/none", "/mcp?a=b"):
            self.note(version, f"at {path}: POST", server.exchange("POST", echo(meta), path=path))
        for name in ("ended", "ended again"):
            for verb, message in {"DELETE": None, "POST": echo(meta), "GET": None}.items():
                self.note(version, f"{name}: {verb}", server.exchange(verb, message, until="first"))

    def run_metas(self):
        for name, method, message in with_metas():
            for version in ("2025-11-25", MODERN, None):
                self.note(version, f"meta {name} {method}", Http(self.authority, version).exchange("POST", message))
        for name, params in initializations().items():
            for version in (MODERN, None):
                self.note(version, f"initialize {name}", Http(self.authority, version).exchange("POST", request("initialize", params)))
