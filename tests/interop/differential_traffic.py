"""What is sent to both servers: requests as they should be and otherwise, by name."""

import json

SESSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
META = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}
CHANGES = {"toolsListChanged": True, "resourceSubscriptions": ["desk://notes"]}
# What is told of a change, before, while and after a client is subscribed to it.
SUBSCRIBING = {
    "notify before": ("tools/call", {"name": "notify"}), "subscribe": ("resources/subscribe", {"uri": "desk://notes"}),
    "notify subscribed": ("tools/call", {"name": "notify"}), "subscribe again": ("resources/subscribe", {"uri": "desk://notes"}),
    "notify once": ("tools/call", {"name": "notify"}), "unsubscribe": ("resources/unsubscribe", {"uri": "desk://notes"}),
    "notify after": ("tools/call", {"name": "notify"}),
}


def request(method, params=..., id=1, meta=None, **more):
    """A request, with the `_meta` of its version where it has parameters that can hold one."""
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params} | more
    if meta is not None and (params is ... or isinstance(params, dict)):
        given = {} if params is ... else params
        message["params"] = given | ({} if "_meta" in given else {"_meta": meta})
    return {key: value for key, value in message.items() if value is not ...}


def encode(message):
    """A message as it is sent."""
    return json.dumps(message).encode()


def echo(meta, id=1):
    """A call that is answered at once."""
    return request("tools/call", {"name": "echo", "arguments": {"text": "a"}}, id=id, meta=meta)


def cancelled(id, meta):
    """Takes a request back."""
    return request("notifications/cancelled", {"requestId": id}, id=..., meta=meta)


def listen(notifications, id, meta):
    """Subscribes to changes, in 2026-07-28."""
    return request("subscriptions/listen", {"notifications": notifications}, id=id, meta=meta)


def methods(version):
    """Every method as it should be, by name."""
    call = lambda name, arguments=..., **more: ("tools/call", {"name": name, **({} if arguments is ... else {"arguments": arguments}), **more})
    get = lambda name, **arguments: ("prompts/get", {"name": name, "arguments": arguments})
    complete = lambda ref, name, value: ("completion/complete", {"ref": ref, "argument": {"name": name, "value": value}})
    meta = META if version == MODERN else {}
    review, page = {"type": "ref/prompt", "name": "review"}, {"type": "ref/resource", "uri": "desk://page/{id}"}
    read = {f"read {uri}": ("resources/read", {"uri": uri}) for uri in (
        "desk://notes", "desk://hours", "desk://people", "desk://picture", "desk://page/first", "desk://room/7",
        "desk://room/a%20b", "desk://room/ä", "DESK://notes", "desk://room/", "desk://room/a/b", "desk://page/third",
        "desk://page/{id}", "desk://none", "", "no uri", "file:///etc/passwd")}
    bare = {name: (name,) for name in (
        "ping", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
        "roots/list", "sampling/createMessage", "tasks/list", "tasks/result", "skills/list", "nothing/here", "", "TOOLS/LIST", "rpc.discover")}
    lists = {f"{of}/list {name}": (f"{of}/list", {"cursor": cursor}) for of in ("tools", "prompts", "resources", "resources/templates")
             for name, cursor in {"forged": "AAAA", "empty": "", "number": 5, "null": None, "list": []}.items()}
    subscriptions = {f"{verb} {uri}": (f"resources/{verb}", {"uri": uri}) for verb in ("subscribe", "unsubscribe")
                     for uri in ("desk://notes", "desk://room/3", "desk://none", "")}
    return bare | read | lists | subscriptions | {
        "echo": call("echo", {"text": "a"}), "echo odd": call("echo", {"text": "\u0000é\u2028😀\""}), "echo empty": call("echo", {"text": ""}),
        "echo without": call("echo", {}), "echo no arguments": call("echo"), "echo null arguments": call("echo", None),
        "echo mistyped": call("echo", {"text": 5}), "echo unknown argument": call("echo", {"text": "a", "more": 1}),
        "echo list of arguments": call("echo", ["a"]), "echo text of arguments": call("echo", "a"),
        "echo unknown parameter": call("echo", {"text": "a"}, more=1), "echo task": call("echo", {"text": "a"}, task={}),
        "echo responses": call("echo", {"text": "a"}, inputResponses={}), "echo state": call("echo", {"text": "a"}, requestState="forged"),
        "echo responses mistyped": call("echo", {"text": "a"}, inputResponses=[]),
        "fail": call("fail"), "list": call("list", {}), "log": call("log"), "notify": call("notify"), "progress": call("progress"),
        "log level": call("log", _meta=meta | {PREFIX + "logLevel": "info"}), "log level error": call("log", _meta=meta | {PREFIX + "logLevel": "error"}),
        "log level unknown": call("log", _meta=meta | {PREFIX + "logLevel": "loud"}),
        **{f"progress token {token}": call("progress", _meta=meta | {"progressToken": token}) for token in (7, "", "a", 0, -1, 1.5, None, True)},
        "meta list": call("echo", {"text": "a"}, _meta=[]), "meta null": call("echo", {"text": "a"}, _meta=None), "meta text": call("echo", {"text": "a"}, _meta="a"),
        "unknown tool": call("none"), "empty tool": call(""), "tool number": call(5), "tool null": call(None), "no tool": ("tools/call", {"arguments": {}}),
        "draft": get("draft"), "greet": get("greet", who="Ada"), "greet without": get("greet"), "greet number": get("greet", who=5), "greet null": get("greet", who=None),
        "greet unknown argument": get("greet", who="Ada", more="x"), "review": get("review", kind="bugs"), "review text": get("review", kind="style", text="T"),
        "review other": get("review", kind="taste"), "unknown prompt": get("none"), "no prompt": ("prompts/get", {}), "prompt list": ("prompts/get", {"name": "greet", "arguments": ["Ada"]}),
        "draft no arguments": ("prompts/get", {"name": "draft"}), "read number": ("resources/read", {"uri": 5}), "read nothing": ("resources/read", {}),
        "complete b": complete(review, "kind", "b"), "complete all": complete(review, "kind", ""), "complete none": complete(review, "kind", "zzz"),
        "complete unknown argument": complete(review, "none", ""), "complete page": complete(page, "id", "f"), "complete text": complete(review, "text", ""),
        "complete room": complete({"type": "ref/resource", "uri": "desk://room/{id}"}, "id", ""), "complete unknown prompt": complete({"type": "ref/prompt", "name": "none"}, "kind", ""),
        "complete unknown uri": complete({"type": "ref/resource", "uri": "desk://none/{id}"}, "id", ""), "complete unknown type": complete({"type": "ref/tool", "name": "echo"}, "text", ""),
        "complete no type": complete({"name": "review"}, "kind", ""), "complete number": complete(review, "kind", 5), "complete no argument": ("completion/complete", {"ref": review}),
        "complete context": ("completion/complete", {"ref": review, "argument": {"name": "kind", "value": "st"}, "context": {"arguments": {"text": "t"}}}),
        "complete context mistyped": ("completion/complete", {"ref": review, "argument": {"name": "kind", "value": "st"}, "context": {"arguments": {"text": 1}}}),
        **{f"level {level}": ("logging/setLevel", {"level": level}) for level in ("error", "debug", "loud", "DEBUG", 3, None)}, "no level": ("logging/setLevel", {}),
        "log again": call("log"), "subscribe number": ("resources/subscribe", {"uri": 5}), "subscribe nothing": ("resources/subscribe", {}),
        "unsubscribe nothing": ("resources/unsubscribe", {}),
        **{f"tasks/{verb}": (f"tasks/{verb}", {"taskId": "a"}) for verb in ("get", "update", "cancel")}, "tasks/get nothing": ("tasks/get", {}),
        "skills/get": ("skills/get", {"uri": "skill://a/SKILL.md"}), "directory": ("resources/directory/read", {"uri": "desk://a"}),
        "listen nothing": ("subscriptions/listen", {}), "listen mistyped": ("subscriptions/listen", {"notifications": {"toolsListChanged": 5}}),
        "listen list": ("subscriptions/listen", {"notifications": []}), "listen in session": ("subscriptions/listen", {"notifications": {}}) if version != MODERN else ("ping",),
        **{f"{method} params {name}": (method, params) for method in ("ping", "tools/list", "tools/call", "prompts/get", "resources/read", "server/discover", "logging/setLevel", "nothing/here", "initialize")
           for name, params in {"list": [], "full list": [1], "null": None, "text": "a", "number": 1, "none": ...}.items()},
    }


def framing(meta):
    """Messages that are no requests as they should be: bytes, with the id that an answer would have."""
    text, ask = encode, lambda **more: request("tools/call", {"name": "echo", "arguments": {"text": "a"}}, meta=meta, **more)
    note = lambda method, params=...: text(request(method, params, id=..., meta=meta))
    ids = {f"id {name}": (text(ask(id=id)), id) for name, id in {
        "0": 0, "negative": -1, "2^53": 2**53, "2^63": 2**63, "2^64": 2**64, "text": "a", "empty text": "", "text of a number": "1",
        "long text": "x" * 5000, "odd text": "\u0000\"\\é", "null": None, "float": 1.5, "whole float": 1.0, "object": {}, "list": [], "true": True}.items()}
    raw = {
        "empty line": b"", "blank line": b"  ", "invalid JSON": b"{nothing", "cut off": text(ask())[:-1], "two values": b"{} {}", "text": b'"a"', "number": b"5", "null": b"null", "empty object": b"{}",
        "empty batch": b"[]", "batch": text([ask(id=1), ask(id=2)]), "batch of notification": b"[" + note("notifications/none") + b"]", "batch of numbers": b"[1, 2]",
        "BOM": b"\xef\xbb\xbf" + text(ask()), "carriage return": text(ask()) + b"\r", "blanks around": b"  " + text(ask()) + b"  ", "invalid UTF-8": text(ask(id="zz")).replace(b"zz", b"\xff"),
        "lone surrogate": text(ask()).replace(b'"a"', b'"\\ud800"'), "huge number": text(ask()).replace(b'"a"', b"1e999"), "duplicate key": b'{"id": 5, ' + text(ask())[1:],
        "deep": text(ask()).replace(b'"a"', b"[" * 100 + b"]" * 100), "very deep": text(ask()).replace(b'"a"', b"[" * 200 + b"]" * 200),
        "jsonrpc 1.0": text(ask(jsonrpc="1.0")), "jsonrpc number": text(ask(jsonrpc=2.0)), "no jsonrpc": text(ask(jsonrpc=...)), "unknown member": text(ask(more=1)),
        "method number": text(ask() | {"method": 5}), "method null": text(ask() | {"method": None}), "no method": text({"jsonrpc": "2.0", "id": 1, "params": {}}),
        "result not asked for": text({"jsonrpc": "2.0", "id": 77, "result": {}}), "error not asked for": text({"jsonrpc": "2.0", "id": 77, "error": {"code": 1, "message": "no"}}),
        "error without id": text({"jsonrpc": "2.0", "error": {"code": 1, "message": "no"}}), "error of null id": text({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "no"}}),
        "malformed error": text({"jsonrpc": "2.0", "id": 77, "error": 5}), "result and error": text({"jsonrpc": "2.0", "id": 77, "result": {}, "error": {"code": 1, "message": "no"}}),
        "method and result": text(ask(result={})), "request without id": text(ask(id=...)),
        "unknown notification": note("notifications/none"), "unknown notification params": note("notifications/none", [1]), "cancelled nothing": note("notifications/cancelled"),
        "cancelled unknown": note("notifications/cancelled", {"requestId": 999}), "cancelled null": note("notifications/cancelled", {"requestId": None}),
        "progress not asked for": note("notifications/progress", {"progressToken": 5, "progress": 1}), "malformed progress": note("notifications/progress", {}),
        "initialized again": note("notifications/initialized"), "roots changed": note("notifications/roots/list_changed"), "notification with null id": text(request("notifications/initialized", id=None)),
        "request as notification": note("tools/list"), "notification as request": text(request("notifications/initialized", id=1, meta=meta)),
    }
    return ids | {name: (line, 1) for name, line in raw.items()}


def metas():
    """The `_meta` of a request of 2026-07-28, more or less."""
    without = lambda key: {k: v for k, v in META.items() if k != PREFIX + key}
    changed = lambda key, value: META | {PREFIX + key: value}
    return {
        "whole": META, "none": {}, "no version": without("protocolVersion"), "no capabilities": without("clientCapabilities"),
        "client": changed("clientInfo", {"name": "a", "version": "1"}), "client mistyped": changed("clientInfo", 5), "client without version": changed("clientInfo", {"name": "a"}),
        "capabilities list": changed("clientCapabilities", []), "capabilities null": changed("clientCapabilities", None), "capabilities mistyped": changed("clientCapabilities", {"roots": 5}),
        "capabilities unknown": changed("clientCapabilities", {"dreams": {}}), "unknown version": changed("protocolVersion", "1999-01-01"), "newer version": changed("protocolVersion", "2030-01-01"),
        "version number": changed("protocolVersion", 5), "version null": changed("protocolVersion", None), "empty version": changed("protocolVersion", ""),
        "version without capabilities": {PREFIX + "protocolVersion": "1999-01-01"}, "other keys": META | {"com.example/a": [1], "traceparent": 5},
        **{f"version {version}": changed("protocolVersion", version) for version in SESSIONS},
    }


def with_metas():
    """Requests with each of these: what it is called, the method, and the request."""
    probes = {"tools/call": {"name": "list"}, "server/discover": {}, "ping": {}, "nothing/here": {}, "resources/read": {"uri": "desk://none"}}
    return [(name, method, request(method, params | {"_meta": meta})) for name, meta in metas().items() for method, params in probes.items()]


def initializations():
    """The parameters of `initialize`."""
    client = {"name": "client", "version": "1"}
    usual = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    without = lambda key: {k: v for k, v in usual.items() if k != key}
    return {**{version: usual | {"protocolVersion": version} for version in [*SESSIONS, MODERN, "1999-01-01", "2030-01-01", "", "latest"]},
            "number": usual | {"protocolVersion": 5}, "no version": without("protocolVersion"), "no capabilities": without("capabilities"),
            "no client": without("clientInfo"), "client name only": usual | {"clientInfo": {"name": "a"}}, "capabilities list": usual | {"capabilities": []},
            "capabilities mistyped": usual | {"capabilities": {"roots": 5}}, "capabilities unknown": usual | {"capabilities": {"dreams": {}, "elicitation": {}}},
            "client titled": usual | {"clientInfo": client | {"title": "C", "icons": [], "more": 1}}, "unknown parameter": usual | {"more": 1}, "with meta": usual | {"_meta": META}}


def headers():
    """Headers beside the usual ones, or instead of them: `None` for none."""
    return {
        "usual": {}, "no accept": {"Accept": None}, "accept all": {"Accept": "*/*"}, "accept JSON": {"Accept": "application/json"}, "accept stream": {"Accept": "text/event-stream"},
        "accept HTML": {"Accept": "text/html"}, "accept application": {"Accept": "application/*"}, "accept weighed": {"Accept": "text/event-stream;q=0.5, APPLICATION/JSON;q=0.1"},
        "accept not": {"Accept": "application/json;q=0, text/event-stream;q=0"}, "no type": {"Content-Type": None}, "type text": {"Content-Type": "text/plain"},
        "type charset": {"Content-Type": "application/json; charset=utf-8"}, "type capitals": {"Content-Type": "Application/JSON"}, "type XML": {"Content-Type": "application/xml"},
        "type JSON-RPC": {"Content-Type": "application/json-rpc"}, "type longer": {"Content-Type": "application/jsonp"},
        "no version": {"MCP-Protocol-Version": None}, "empty version": {"MCP-Protocol-Version": ""}, "unknown version": {"MCP-Protocol-Version": "1999-01-01"},
        "malformed version": {"MCP-Protocol-Version": "a b"}, "other version": {"MCP-Protocol-Version": "2025-06-18"}, "old version": {"MCP-Protocol-Version": "2024-11-05"}, "modern version": {"MCP-Protocol-Version": MODERN},
        "no session": {"Mcp-Session-Id": None}, "unknown session": {"Mcp-Session-Id": "none"}, "empty session": {"Mcp-Session-Id": ""},
        "evil origin": {"Origin": "http://evil.example"}, "null origin": {"Origin": "null"}, "evil host": {"Host": "evil.example"}, "local host": {"Host": "localhost"},
        "no method": {"Mcp-Method": None}, "other method": {"Mcp-Method": "prompts/get"}, "empty method": {"Mcp-Method": ""}, "method in capitals": {"Mcp-Method": "TOOLS/CALL"},
        "no name": {"Mcp-Name": None}, "other name": {"Mcp-Name": "none"}, "empty name": {"Mcp-Name": ""}, "encoded name": {"Mcp-Name": "=?base64?ZWNobw==?="}, "malformed name": {"Mcp-Name": "=?base64?Z?="},
        "last event": {"Last-Event-ID": "none"}, "doubled method": {"Mcp-Method": ("tools/call", "tools/call")}, "doubled name": {"Mcp-Name": ("echo", "none")},
        "doubled version": {"MCP-Protocol-Version": (MODERN, "2025-11-25")}, "doubled accept": {"Accept": ("application/json", "text/event-stream")},
        "coded body": {"Content-Encoding": "gzip"}, "plain body": {"Content-Encoding": "identity"},
    }


def posts(meta):
    """What is posted with each of these headers."""
    return {"call": echo(meta), "list": request("tools/list", meta=meta), "read": request("resources/read", {"uri": "desk://none"}, meta=meta),
            "initialize": request("initialize", initializations()["2025-11-25"]), "discover": request("server/discover", meta=META), "unknown": request("nothing/here", meta=meta),
            "notification": request("notifications/initialized", id=..., meta=meta), "answer": {"jsonrpc": "2.0", "id": 77, "result": {}}, "invalid": b"{nothing", "empty": b""}
