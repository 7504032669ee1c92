"""The same traffic to folio and to the official Rust SDK's server over the same entries: replies differ only as the table says.

Usage: differential.py FOLIO REFERENCE. The texts of errors, cursors, ids of sessions and what names the server are not
compared, nor the order of keys.
"""

import fnmatch
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from differential_exchanges import OnHttp, OnStdio

FOLDER = Path(__file__).parent / "rust_reference"

# Deliberate differences: exchange, aspect, folio's, the reference's (each a pattern), and why.
TABLE = [
    ("*", "answer", "*id null*", "*id absent*", "an answer to nobody knows what has the id null, as in JSON-RPC"),
    ("*", "answer", "*error -32602", "*error -32601", "of a method that there is, the parameters are what is wrong"),
    ("*", "answer", "error -3260?", "error -32600 id absent", "what is wrong with a request is said with its id"),
    ("stdio *", "answer", "error -32700 id null", "none", "invalid JSON is answered, as in JSON-RPC"),
    ("http *", "answer", "400 error -32*", "415 none", "a message that cannot be taken is a bad request, and is told why"),
    ("http *", "answer", "404 error -32601", "415 none", "the same, of a method that there is not"),
    ("http *", "answer", "200 error -3260*", "415 none", "the same, in a session"),
    ("http * with *accept*: *", "answer", "*", "406 none", "a client gets which of both types it takes"),
    ("* BOM", "answer", "*result", "*none", "a byte order mark before a message is none of it"),
    ("* lone surrogate", "answer", "*", "*none", "half of a surrogate pair is replaced"),
    ("stdio * very deep", "answer", "error -32602", "none", "what is too deep is said with the id of the request"),
    ("stdio * huge number", "answer", "error -32602", "none", "the same, of a number that is too large"),
    ("*/list number", "answer", "*error -32602", "*result", "a cursor is a text"),
    ("*/list list", "answer", "*error -32602", "*result", "a cursor is a text"),
    ("* echo state", "answer", "*error -32602", "*result", "a state that was never given is refused"),
    ("* greet unknown argument", "answer", "*error -32602", "*result", "arguments that a prompt has not are refused"),
    ("* complete unknown argument", "answer", "*error -32602", "*result", "of an argument that there is not, there is nothing to complete"),
    ("* log level unknown", "answer", "*error -32602", "*result", "a level that there is not is refused, as with `logging/setLevel`"),
    ("* read DESK://notes", "answer", "*result", "*error -32*02", "a URI is found in any of its forms"),
    ("* read *", "answer", "*error -32602", "*error -32002", "what is no URI is invalid rather than not there"),
    ("* read desk://room/a%20b", "result.contents.text", "Room a b", "Room a%20b", "variables of a URI are decoded, which the reference does not do"),
    ("* echo empty", "result.content", "[[][]]", "*", "a text that is empty is left out"),
    ("* responses mistyped", "answer", "*result", "*error -32601", "`[]` is an object without members, as PHP writes it"),
    ("* meta list", "answer", "*result", "*", "the same"),
    ("* params list", "answer", "*result", "*", "the same"),
    ("* capabilities list*", "*", "*", "*", "the same"),
    ("* capabilities null*", "*", "*", "*", "null is an object without members"),
    ("* id long text", "answer", "*error -32600 id null", "*", "ids are bounded"),
    ("* id of slow", "answer", "*error -32600 id null", "*result", "an id in use is refused: the answers would be one"),
    ("* listen id again", "*", "*", "*", "the same"),
    ("* result and error", "answer", "*none", "*", "an answer is never answered"),
    ("* malformed error", "answer", "*none", "*", "the same: whoever asked waits no longer"),
    ("http 2026-07-28 error *", "answer", "202 none", "400 error -32600 id absent", "an error is never answered"),
    ("* method and result", "answer", "*result", "*", "what has a method and an id is a request"),
    ("http * unknown notification params", "answer", "202 none", "415 none", "notifications are not answered"),
    ("* 2025-03-26 *batch*", "answer", "*", "*", "batches are served in the version that has them"),
    ("http * with coded body: *", "answer", "415 none", "*", "a body that says it is compressed is not read as if it were not"),
    ("* fresh initialize *, again", "answer", "error -32600", "*", "a session begins once"),
    ("http 2025-11-25 with *: initialize", "answer", "200 error -32600", "200 result", "the same"),
    ("* initialize with meta*", "answer", "*error *", "*result", "2026-07-28 has no `initialize`"),
    ("http 2026-07-28 *initialize*", "answer", "404 error -32601", "*", "the same, by its header"),
    ("http * with * version: initialize", "answer", "404 error -32601", "400 error -32600", "the same"),
    ("http *", "type", "application/json", "text/event-stream", "in a session too an answer that is there at once is JSON"),
    ("http *", "primed", "false", "true", "the same, and streams begin with an id since 2025-11-25"),
    ("http * listen*", "state", "closed", "open", "in a session it is refused at once"),
    ("stdio fresh first *", "state", "open", "ended", "what comes before `initialize` does not end the server"),
    ("stdio 2026-07-28 ping", "answer", "error -32601", "result", "2026-07-28 has no `ping`, not even first"),
    ("stdio * meta * ping", "answer", "error -32*", "result", "the same"),
    ("* nothing/here*", "answer", "*error -32601", "*error -32602", "a method that there is not is said before what lacks"),
    ("stdio fresh first notification as request", "answer", "error -32601", "error -32602", "the same"),
    ("http 2026-07-28 *", "answer", "404 error -32601", "400 error -32*", "the same, of methods of sessions"),
    ("* ping params null", "answer", "result", "error -32602", "before a session, `ping` needs nothing"),
    ("stdio * version without capabilities *", "answer", "error -32022", "error -32602", "an unknown version is said before what lacks"),
    ("* meta version 20* server/discover", "answer", "*error -32601", "*result", "versions with sessions have no `server/discover`"),
    ("stdio * meta version 20* *", "answer", "error -32602", "*", "versions with sessions need one"),
    ("http 2025-11-25 meta version 2025-11-25 *", "answer", "200 error -32601", "404 error -32601", "a request of a session is answered in it"),
    ("* 2024-11-05*", "*", "absent", "*", "keys that the version has not are left out"),
    ("* 2025-03-26*", "*", "absent", "*", "the same"),
    ("http * log*", "told", "*notifications/message*", "[[][]]", "the log of a call goes where its answer goes, as a client may have no other stream"),
    ("http * slow", "state", "closed", "open", "the stream of a call that is cancelled ends"),
    ("http *: DELETE", "answer", "204 none", "202 none", "that the session has ended is all there is to say"),
    ("http *: DELETE", "answer", "404 none", "202 none", "a session that there is not is said to be none"),
    ("http * at /: POST", "answer", "200 none", "404 none", "says where the endpoint is"),
    ("http * at /mcp/: POST", "answer", "*", "404 none", "a slash at the end is none"),
    ("http None initialize *", "answer", "400 error -32602", "400 none", "says what is wrong with it"),
]

SERVERS = {"folio": lambda program, way: [program, "serve", str(FOLDER), *([] if way == "stdio" else ["--http=127.0.0.1:0"])],
           "reference": lambda program, way: [program, *(["stdio"] if way == "stdio" else ["http", "127.0.0.1:0"])]}


def main(folio, reference):
    began = time.monotonic()
    with ThreadPoolExecutor() as pool:
        ways = {"stdio": OnStdio, "http": OnHttp}
        both = [[pool.submit(run(SERVERS[name](program, way)).run) for way, run in ways.items()] for name, program in (("folio", folio), ("reference", reference))]
        ours, theirs = ({name: seen for run in each for name, seen in run.result().items()} for each in both)
    diffs = [(name, aspect, a, b) for name in ours for aspect, a, b in differences(ours[name], theirs.get(name, {}))]
    met, unknown = set(), []
    for difference in diffs:
        texts = [difference[0], difference[1], *(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in difference[2:])]
        row = next((number for number, row in enumerate(TABLE) if all(map(fnmatch.fnmatchcase, texts, row[:4]))), None)
        unknown += [texts] if row is None else []
        met.add(row)
    for texts in sorted(unknown):
        print("  FAIL", " | ".join(text if len(text) < 300 else text[:297] + "..." for text in texts))
    for number, row in enumerate(TABLE):
        if number not in met:
            print("  FAIL no exchange meets the row", row[:4])
    differing = {name for name, *_ in diffs}
    print(f"{len(ours)} exchanges, {len(ours) - len(differing)} equal, {len(differing)} with differences: {len(diffs) - len(unknown)} in the table of {len(TABLE)}, {len(unknown)} not; {time.monotonic() - began:.0f} s")
    sys.exit(bool(unknown or {*range(len(TABLE))} - met or set(ours) != set(theirs)))


def differences(ours, theirs, path=""):
    """Where two values differ, with both: of answers of two kinds, only that."""
    if not path and ours.get("answer") != theirs.get("answer"):
        ours, theirs = ({"answer": each.get("answer"), "told": each.get("told")} for each in (ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs} - {"cursors"}):
            yield from differences(ours.get(key, "absent"), theirs.get(key, "absent"), f"{path}.{key}" if path else key)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for one, other in zip(ours, theirs):
            yield from differences(one, other, path)
    elif type(ours) is not type(theirs) or ours != theirs:
        yield path, ours, theirs


if __name__ == "__main__":
    main(*sys.argv[1:])
