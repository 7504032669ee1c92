"""What operators use: nginx with the configuration of the docs before a server that is stopped under load, promtool and
Prometheus at its metrics.

    operation.py FOLIO [PROMTOOL] [NGINX]

`promtool`, `nginx` and `prometheus` are found on PATH.
"""

import hashlib
import http.client
import json
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from served import SOON, Failed, check

DOCS = Path(__file__).parents[2] / "docs/deploy.md"
SESSIONS, MODERN = "2025-11-25", "2026-07-28"
CLIENTS = 8
"""Clients of each generation."""
ROUNDS = 3
DELAY = 1
"""For how long a server that stops takes requests, in seconds."""
TOKEN = "interop-token-4711"
PREFIX = "io.modelcontextprotocol/"
META = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}

DESK = f"""
folio: 1
server: {{ name: desk }}
http:
  publicUrl: https://desk.example/mcp
  drain: {{ delay: {DELAY}s, timeout: 10s }}
admin: {{ listen: "127.0.0.1:0" }}
audit: {{ file: AUDIT }}
tools:
  brief: &work
    description: Takes a while
    arguments: {{ wait: {{ required: true }}, word: {{ required: true }} }}
    run: {{ sleep: "{{{{wait}}}}ms" }}
    result: {{ text: "{{{{word}}}}" }}
  long: *work
"""

METERED = f"""
folio: 1
server: {{ name: desk }}
http:
  publicUrl: https://desk.example/mcp
  auth: {{ tokens: {{ ci: {{ sha256: {hashlib.sha256(TOKEN.encode()).hexdigest()}, scopes: [desk.use] }} }} }}
admin: {{ listen: "127.0.0.1:0" }}
tools:
  look: {{ description: Looks, result: {{ text: seen }} }}
  fail: {{ description: Fails, run: {{ exec: ["false"] }} }}
  write: {{ description: Writes, scopes: [desk.write], result: {{ text: written }} }}
prompts: {{ greet: {{ text: Hello. }} }}
"""


class Server:
    """A server over HTTP, where it listens, and what it says."""

    def __init__(self, binary, place, manifest):
        folder, self.audit = place / "desk", place / "audit.jsonl"
        folder.mkdir()
        (folder / "folio.yaml").write_text(manifest.replace("AUDIT", str(self.audit)))
        self.process = subprocess.Popen([binary, "serve", str(folder), "--http=127.0.0.1:0"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.lines = []

    def wait(self):
        """Waits until it listens."""
        ready = threading.Event()

        def listen():
            for line in self.process.stderr:
                self.lines.append(line)
                if line.startswith("listening on"):
                    ready.set()
            ready.set()

        threading.Thread(target=listen, daemon=True).start()
        ready.wait(SOON)
        said = "".join(self.lines)
        where = [re.search(rf"^{what} on http://([^/\s]+)", said, re.M) for what in ("listening", "admin listener")]
        where = [found and found[1] for found in where]
        check("the server says where it listens", all(where), where if all(where) else said)
        self.authority, self.admin = where


@contextmanager
def serving(binary, manifest):
    with tempfile.TemporaryDirectory(prefix="folio-operation-") as place:
        server = Server(binary, Path(place), manifest)
        try:
            server.wait()
            yield server
        except BaseException:
            print("  the server said:", *server.lines[-40:], sep="\n    ", file=sys.stderr)
            raise
        finally:
            server.process.kill()
            server.process.wait()


def free_port():
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]


def documented_block():
    """The configuration for nginx in the docs."""
    found = re.findall(r"^## nginx\n\n```text\n(server \{\n.*?^\})\n```$", DOCS.read_text(), re.M | re.S)
    check("the docs configure nginx", len(found) == 1, f"{len(found)} blocks")
    return found[0]


def replaced(text, pattern, by):
    """Replaces what must be there once, so that the docs and this script stay one."""
    text, count = re.subn(pattern, by, text, flags=re.M)
    if count != 1:
        raise Failed(f"the docs hold {pattern!r} {count} times")
    return text


@contextmanager
def behind_nginx(nginx, authority):
    """The address of nginx before a server, and the file of its errors."""
    port = free_port()
    block = replaced(documented_block(), r"listen 443 ssl;", f"listen 127.0.0.1:{port};")
    block = replaced(replaced(block, r"^ *ssl_certificate .*\n", ""), r"^ *ssl_certificate_key .*\n", "")
    block = replaced(block, r"http://127\.0\.0\.1:8080;", f"http://{authority};")
    with tempfile.TemporaryDirectory(prefix="folio-nginx-") as place:
        own = "".join(f"{kind}_temp_path {place}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        conf, errors = Path(place) / "nginx.conf", Path(place) / "errors"
        # One process in the foreground, as whoever runs this.
        conf.write_text(f"daemon off;\nmaster_process off;\npid {place}/pid;\nerror_log {errors} info;\n"
                        f"events {{}}\nhttp {{\naccess_log off;\n{own}{block}\n}}\n")
        process = subprocess.Popen([nginx, "-p", place, "-e", str(errors), "-c", str(conf)], stdin=subprocess.DEVNULL)
        try:
            end = time.monotonic() + SOON
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > end:
                        raise Failed(f"nginx does not start: {errors.read_text()}") from None
                    time.sleep(0.02)
            yield f"127.0.0.1:{port}", errors
        finally:
            process.terminate()
            process.wait(SOON)


class Client:
    """A client of one generation, on one connection."""

    def __init__(self, authority, version, host="desk.example", token=None):
        self.connection = http.client.HTTPConnection(authority, timeout=SOON)
        self.version, self.session, self.last = version, None, 0
        self.fixed = {"Host": host, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if token:
            self.fixed["Authorization"] = f"Bearer {token}"

    def open(self):
        if self.version == SESSIONS:
            hello = {"protocolVersion": SESSIONS, "capabilities": {}, "clientInfo": {"name": "interop", "version": "1"}}
            response, _ = self.request("initialize", hello)
            self.session = response.headers["Mcp-Session-Id"]
            self.exchange("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def headers(self, message):
        headers = dict(self.fixed)
        if self.session or self.version == MODERN:
            headers["MCP-Protocol-Version"] = self.version
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.version == MODERN and message:
            headers["Mcp-Method"] = message["method"]
            if "name" in message["params"]:
                headers["Mcp-Name"] = message["params"]["name"]
        return headers

    def send(self, method, message):
        body = json.dumps(message).encode() if message else None
        self.connection.request(method, "/mcp", body, self.headers(message))
        return self.connection.getresponse()

    def exchange(self, method, message=None):
        """A response and all of its body: it raises where that is not whole."""
        response = self.send(method, message)
        return response, response.read().decode()

    def message(self, method, params):
        self.last += 1
        meta = {"_meta": META} if self.version == MODERN else {}
        return {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params | meta}

    def request(self, method, params):
        """The response, and the message that answers."""
        response, text = self.exchange("POST", self.message(method, params))
        for line in text.splitlines():
            if (line := line.removeprefix("data: ")).startswith("{"):
                answer = json.loads(line)
                if answer.get("id") == self.last and "method" not in answer:
                    return response, answer
        return response, None

    def call(self, tool, arguments={}):
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def listen(self):
        """Opens the stream on which changes are told."""
        if self.version == SESSIONS:
            return self.send("GET", None)
        return self.send("POST", self.message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))


def calling(client, number, left, stopped, calls):
    """Calls until it is told to leave; notes of each call when it was sent, when it ended, how and what was seen."""
    chance = random.Random(number)
    try:
        while not left.is_set():
            # Those that do not heed balancers ask often, so as to meet the moment from which on they are refused.
            tool, least, most = ("brief", 50, 300) if left is stopped or chance.random() < 0.7 else ("long", 1000, 2000)
            word, sent = f"{number}-{len(calls)}", time.monotonic()
            try:
                response, answer = client.call(tool, {"wait": str(chance.randint(least, most)), "word": word})
                texts = [content["text"] for content in (answer or {}).get("result", {}).get("content", [])]
                whole = response.status == 200 and texts == [word]
                # Of nginx that is the answer where nobody listens behind it.
                outcome = "answered" if whole else "refused" if response.status == 502 else "cut off"
                saw = answer or response.status
            except (OSError, http.client.HTTPException) as error:
                outcome, saw = "cut off", repr(error)
                client.connection.close()
            calls.append((sent, time.monotonic(), outcome, saw))
            if outcome != "answered":
                time.sleep(0.02)
    finally:
        client.connection.close()


def reading(client, response, begun, ends):
    """Reads a stream to its end, and notes that something has come."""
    text, whole = "", False
    try:
        while piece := response.read1():
            text += piece.decode()
            begun.add(client)
        whole = True
    except (OSError, http.client.HTTPException) as error:
        text += repr(error)
    ends.append((client.version, whole, text, time.monotonic()))


def status(authority, path):
    connection = http.client.HTTPConnection(authority, timeout=SOON)
    with closing(connection):
        connection.request("GET", path)
        return connection.getresponse().status


def drain(binary, nginx):
    """Stops a server under load."""
    with serving(binary, DESK) as server, behind_nginx(nginx, server.authority) as (authority, errors):
        left, stopped, threads, calls, begun, ends = threading.Event(), threading.Event(), [], [], set(), []
        versions = (SESSIONS, MODERN) * CLIENTS
        for number, version in enumerate(versions + (SESSIONS, MODERN)):
            calls.append((version, mine := []))
            # The last two do not heed what a balancer does.
            heeds = left if number < len(versions) else stopped
            threads.append(threading.Thread(target=calling, args=(Client(authority, version).open(), number, heeds, stopped, mine)))
        for version in (SESSIONS, MODERN) * 2:
            client = Client(authority, version).open()
            threads.append(threading.Thread(target=reading, args=(client, client.listen(), begun, ends)))
        for thread in threads:
            thread.start()
        time.sleep(1.5)
        acknowledged = [client.version for client in begun].count(MODERN)
        check("events come as they are sent", acknowledged == 2, f"{acknowledged} acknowledgements")
        check("it is ready before", status(server.authority, "/readyz") == 200, 200)
        began = time.monotonic()
        server.process.terminate()
        while (saw := status(server.authority, "/readyz")) == 200 and time.monotonic() < began + DELAY:
            time.sleep(0.002)
        took = time.monotonic() - began
        check("/readyz says so at once", saw == 503 and took < DELAY / 2, f"{saw} after {took * 1000:.0f} ms")
        check("for operators too", status(server.admin, "/readyz") == 503, 503)
        # As late as a balancer learns of it.
        time.sleep(max(0, began + DELAY * 0.6 - time.monotonic()))
        left.set()
        code = server.process.wait(SOON)
        stopped.set()
        for thread in threads:
            thread.join(SOON)
        check("it ends in order", code == 0, f"exit status {code} after {time.monotonic() - began:.1f} s")

        seen = {version: Counter(outcome for one, mine in calls for _, _, outcome, _ in mine if one == version) for version in (SESSIONS, MODERN)}
        bad = [saw for _, mine in calls for _, _, outcome, saw in mine if outcome == "cut off"]
        total = seen[SESSIONS] + seen[MODERN]
        check("no call is cut off", not bad, bad or {version: dict(counts) for version, counts in seen.items()})
        late = sum(outcome == "answered" and sent > began for _, mine in calls for sent, _, outcome, _ in mine)
        check("calls are taken after the signal", late >= CLIENTS, f"{late} calls")
        refused = [ended - began for _, mine in calls for _, ended, outcome, _ in mine if outcome == "refused"]
        check("they are refused after the delay alone", refused and min(refused) >= DELAY,
              f"{len(refused)} calls, the first after {min(refused, default=0):.2f} s")
        audited = Counter(line["outcome"] for line in map(json.loads, server.audit.read_text().splitlines())
                          if line["method"] == "tools/call")
        check("what the server did is what clients have seen", audited == {"ok": total["answered"]}, dict(audited))
        # Of a connection that was made when the listener closed, no call was read: the audit file has none that is lost.
        told = Counter(re.findall(r"Connection refused|Connection reset|prematurely closed", errors.read_text()))
        check("nginx says why it refused", told.total() == len(refused), dict(told))
        whole = [whole for _, whole, _, _ in ends]
        check("streams end whole", whole == [True] * 4, whole if all(whole) else ends)
        check("and not before the signal", all(ended > began for _, _, _, ended in ends),
              [f"{ended - began:.2f} s" for _, _, _, ended in ends])
        results = [bool(re.search(r'^data: \{.*"result":', text, re.M)) for version, _, text, _ in ends if version == MODERN]
        check("those of 2026-07-28 with their result", results == [True, True], results if all(results) else ends)


def meter(server):
    """Does what is counted; how many calls were answered, of each tool."""
    ask, in_session = (Client(server.authority, version, token=TOKEN).open() for version in (MODERN, SESSIONS))
    for client in (ask, in_session):
        check("a call", client.call("look")[1]["result"]["content"][0]["text"] == "seen", client.version)
        check("one that fails", client.call("fail")[1]["result"]["isError"], client.version)
        check("one of nothing", client.call('no"such\\tool\n' if client is in_session else "none")[1]["error"]["code"] == -32602, client.version)
        check("a prompt", "result" in client.request("prompts/get", {"name": "greet"})[1], client.version)
        response, _ = client.call("write")
        check("one without its scope", response.status == 403, response.status)
    for what, token, host, expected in (("no token", None, "desk.example", 401), ("a wrong token", "none", "desk.example", 401),
                                        ("another host", TOKEN, "other.example", 403)):
        response, _ = Client(server.authority, MODERN, host, token).call("look")
        check(what, response.status == expected, response.status)
    response, _ = in_session.exchange("DELETE")
    check("the session ends", response.status in (200, 202, 204), response.status)
    return {"look": 2, "fail": 2}


def metrics(binary, promtool, prometheus):
    with serving(binary, METERED) as server:
        called = meter(server)
        with urllib.request.urlopen(f"http://{server.admin}/metrics", timeout=SOON) as response:
            text = response.read().decode()
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=SOON)
        said = (done.stdout + done.stderr).strip()
        check("promtool takes the metrics", done.returncode == 0 and said == "", said or f"{len(text.splitlines())} lines, nothing to say")
        if prometheus:
            scrape(prometheus, server.admin, called)
        else:
            print("  (no prometheus)")


def scrape(prometheus, admin, called):
    """Lets Prometheus scrape a server, and asks it for the calls."""
    with tempfile.TemporaryDirectory(prefix="folio-prometheus-") as place, ExitStack() as stack:
        authority = f"127.0.0.1:{free_port()}"
        config = Path(place) / "prometheus.yml"
        config.write_text(f"scrape_configs:\n  - {{ job_name: folio, scrape_interval: 200ms, scrape_timeout: 200ms, "
                          f"static_configs: [{{ targets: ['{admin}'] }}] }}\n")
        log = stack.enter_context(open(Path(place) / "log", "w+"))
        process = subprocess.Popen([prometheus, f"--config.file={config}", f"--storage.tsdb.path={place}/data",
                                    f"--web.listen-address={authority}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            query = 'sum by (gen_ai_tool_name) (mcp_server_operation_duration_seconds_count{job="folio",gen_ai_tool_name=~"look|fail"})'
            url = f"http://{authority}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
            seen, end = {}, time.monotonic() + SOON
            while seen != called and time.monotonic() < end and process.poll() is None:
                time.sleep(0.1)
                try:
                    with urllib.request.urlopen(url, timeout=SOON) as response:
                        found = json.load(response)["data"]["result"]
                except OSError:
                    continue
                seen = {one["metric"]["gen_ai_tool_name"]: int(one["value"][1]) for one in found}
            log.seek(0)
            check("Prometheus has counted the calls", seen == called, seen or log.read())
        finally:
            process.terminate()
            process.wait(SOON)


def main(binary, promtool=None, nginx=None):
    promtool, nginx = promtool or shutil.which("promtool"), nginx or shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if not promtool or not nginx:
        sys.exit("no promtool or no nginx on PATH")
    print("metrics", flush=True)
    metrics(binary, promtool, shutil.which("prometheus"))
    for number in range(ROUNDS):
        print(f"a stop under load behind nginx, {number + 1} of {ROUNDS}", flush=True)
        drain(binary, nginx)


if __name__ == "__main__":
    main(*sys.argv[1:])
