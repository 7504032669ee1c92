"""Servers under comparison, over stdin and stdout and over HTTP: what they are sent, and what comes of it."""

import base64
import http.client
import json
import queue
import re
import subprocess
import threading
import time
from contextlib import contextmanager

from differential_traffic import MODERN, PREFIX, SESSIONS, initializations, request

GRACE = 0.25
"""Seconds after which an answer does not come any more, where a request that is sent then is answered."""
SOON = 5.0


def normalized(value):
    """A result without what may differ."""
    if isinstance(value, list):
        return [normalized(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("isError") is True:
        value = value | {"content": "of an error"}
    value = {key: normalized(each) for key, each in value.items() if key not in ("serverInfo", PREFIX + "serverInfo")}
    value |= {"nextCursor": "…"} if "nextCursor" in value else {}
    return {key: each for key, each in value.items() if key != "_meta" or each != {}}


def outcome(messages, id, status="", **more):
    """What is compared of the messages that came for a request."""
    def kind(reply):
        said = f"error {reply['error'].get('code')}" if "error" in reply else "result" if "result" in reply else "neither"
        other = "id" not in reply or reply["id"] != id or type(reply["id"]) is not type(id)
        return said + (f" id {json.dumps(reply['id']) if 'id' in reply else 'absent'}" if other else "")

    replies = [message for message in messages if "method" not in message]
    told = [{"method": message["method"], "params": normalized(message.get("params"))} for message in messages if "method" in message]
    results = [normalized(reply["result"]) for reply in replies if "result" in reply]
    data = [reply["error"].get("data") for reply in replies if "error" in reply and reply["error"].get("data") is not None]
    reply = ", ".join(sorted(map(kind, replies))) or "none"
    cursors = [reply["result"].get("nextCursor") for reply in replies if "result" in reply]
    return {"answer": f"{status} {reply}".strip(), "told": told, "result": results, "data": data, "cursors": cursors, **more}


def encoded(name):
    """A name as a header has it."""
    if not isinstance(name, str) or re.fullmatch(r"([!-~]([ -~]*[!-~])?)?", name):
        return name
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


class Stdio:
    """A server over its standard streams, which is begun again when it ends."""

    def __init__(self, command, opening=None):
        self.command, self.opening, self.process, self.count = command, opening, None, 0

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines), daemon=True).start()
        for message in self.opening or []:
            self.send(json.dumps(message).encode())

    @staticmethod
    def read(stream, lines):
        for line in stream:
            message = json.loads(line)
            lines.put(message if isinstance(message, list) else [message])
        lines.put(None)

    def send(self, line):
        try:
            self.process.stdin.write(line + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def ask(self, line, id, meta=None, waits=False):
        """What comes after a line until a later request is answered, or one that is later still where there is no answer."""
        if self.process is None:
            self.start()
        self.send(line)
        if waits:
            time.sleep(GRACE)
        messages, state = self.until_later_request_is_answered(meta)
        if state == "open" and all("method" in message for message in messages):
            time.sleep(GRACE)
            more, state = self.until_later_request_is_answered(meta)
            messages += more
        if state == "ended":
            self.stop()
        return outcome(messages, id, state=state)

    def until_later_request_is_answered(self, meta):
        """What comes until a request that is sent now is answered, and whether it is."""
        self.count += 1
        barrier, messages = f"barrier {self.count}", []
        self.send(json.dumps(request("server/discover" if meta else "ping", id=barrier, meta=meta)).encode())
        while True:
            try:
                came = self.lines.get(timeout=SOON)
            except queue.Empty:
                return messages, "silent"
            if came is None:
                return messages, "ended"
            messages += [message for message in came if not re.match("barrier|opening", str(message.get("id")))]
            if any(message.get("id") == barrier for message in came):
                return messages, "open"

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Http:
    """A server over HTTP, in one session or in none."""

    def __init__(self, authority, version=None):
        self.authority, self.version, self.session = authority, version, None
        if version in SESSIONS:
            self.open_session()

    def open_session(self):
        message = request("initialize", initializations()[self.version], id="opening")
        self.session = self.exchange("POST", message, {"MCP-Protocol-Version": None}, raw=True)[0].headers["Mcp-Session-Id"]
        self.exchange("POST", request("notifications/initialized", id=...))

    def headers(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": self.version, "Mcp-Session-Id": self.session}
        if self.version == MODERN and isinstance(message, dict) and "method" in message:
            params = message.get("params") if isinstance(message.get("params"), dict) else {}
            name = params.get({"resources/read": "uri", "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
                               "tools/call": "name", "prompts/get": "name"}.get(message["method"]))
            headers |= {"Mcp-Method": message["method"], "Mcp-Name": encoded(name)}
        return headers

    def exchange(self, method, message, headers={}, path="/mcp", raw=False, until="end"):
        """What a request is answered with: up to its end, to the first message, or to a silence."""
        body = message if isinstance(message, bytes) or message is None else json.dumps(message).encode()
        if isinstance(message, bytes):
            try:
                message = json.loads(message)
            except ValueError:
                message = None
        connection = http.client.HTTPConnection(self.authority, timeout=SOON if until == "end" else GRACE * 4)
        sent = self.headers(message) | headers
        connection.putrequest(method, path, skip_host="Host" in sent)
        for name, values in sent.items():
            for value in values if isinstance(values, tuple) else (values,):
                if isinstance(value, str):
                    connection.putheader(name, value.encode())
        connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        try:
            response = connection.getresponse()
        except TimeoutError:
            return outcome([], 1, state="silent")
        kind = (response.headers.get("Content-Type") or "none").split(";")[0]
        messages, state, primed = [], "open", False
        try:
            if kind == "text/event-stream":
                for line in response:
                    primed = primed or line.startswith(b"retry:")
                    if line.startswith(b"data:") and line[5:].strip():
                        messages.append(json.loads(line[5:]))
                        if until == "first":
                            break
                else:
                    state = "closed"
            else:
                text, state = response.read(), "closed"
                found = json.loads(text) if kind == "application/json" and text else []
                messages = found if isinstance(found, list) else [found]
        except TimeoutError:
            pass
        connection.close()
        if raw:
            return response, messages, state
        id = message.get("id", 1) if isinstance(message, dict) else 1
        return outcome(messages, id, status=response.status, type=kind if messages else "none", state=state, primed=primed)


@contextmanager
def listening(command):
    """The authority of a server over HTTP."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        address = next(found[1] for line in server.stderr if (found := re.search(r"listening on http://([^/\s]+)", line)))
        threading.Thread(target=lambda: [None for _ in server.stderr], daemon=True).start()
        yield address
    finally:
        server.kill()
        server.wait()
