"""Replicas of a server that share Redis, under load, while they are killed, stopped in turn and edited at different times, and
while Redis stands still, is emptied and restarts.

    replicas.py FOLIO [--rounds N] [--seed S]

`redis-server` is found on PATH. This script is the balancer too: a request that was sent is never sent again, unless it only
reads. Each round has 2 or 3 replicas and the next events of a shuffled deck, under clients of 2026-07-28 and of 2025-11-25.
"""

import argparse
import http.client
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from operation import free_port
from served import SOON, Failed

SESSIONS, MODERN = "2025-11-25", "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
EVENTS_A_ROUND = 4
LIMIT, WINDOW = 20, 2.0
"""The rate limit of one tool: so many calls in so many seconds."""
GRACE = 2.0
"""Within so many seconds after its return all is as it was before Redis was away."""
RENEWAL = 4.0
"""Within so many seconds each replica has noticed that Redis was emptied: it looks every 3 seconds."""
REMEMBERED_WITHIN = RENEWAL + 10.0
"""Within so many seconds after Redis was emptied a replica does not say that it knows nothing of a task or a session."""
HEARD_WITHIN = 5.0
"""Within so many seconds clients know of an edit that every replica has."""
TASK_WITHIN = 30.0
"""Within so many seconds a task has ended: that a replica is dead is sure after 10 seconds, and 3 until that is noticed."""
KEPT_KEYS = 2
"""How many state keys there are: the newest, and those before it."""
ENDED = re.compile("replica that (ran the task|answered the request) has ended")
AWAY = "the store that replicas share is away"
ACCEPT = {"action": "accept", "content": {"yes": True}}

MANIFEST = """
folio: 1
server: { name: desk }
env: { REDIS_URL: { secret: true } }
store: { redis: "{{env.REDIS_URL}}" }
http: { sessions: store, drain: { delay: 300ms, timeout: 5s } }
tools:
  edition-EDITION: { description: Says which edition this is, result: { text: EDITION } }
  echo: { description: Repeats a text, arguments: { id: { required: true } }, result: { text: "{{id}}" } }
  limited: { description: Is limited, rateLimit: { calls: 20, per: 2s }, result: { text: ok } }
  act: &act
    description: Notes an id
    arguments: { id: { required: true } }
    run: { exec: [sh, -c, 'echo "$0" >> ACTS', "{{id}}"] }
    result: { text: "{{id}}" }
  slow: { <<: *act, run: [{ sleep: 400ms }, { exec: [sh, -c, 'echo "$0" >> ACTS', "{{id}}"] }] }
  confirm:
    <<: *act
    run: &confirmed
      - { id: sure, ask: { answer: { elicit: { message: "sure?", schema: { yes: { type: boolean } } } } } }
      - { exec: [sh, -c, 'echo "$0" >> ACTS', "{{id}}"] }
  long: { <<: *act, task: required, run: [{ sleep: 300ms }, *asked, *noted] }
""".replace("      - { id: sure", "      - &asked { id: sure").replace("      - { exec: [sh", "      - &noted { exec: [sh")


def now():
    return time.monotonic()


def poll(what, until, within=SOON):
    """Asks again and again until there is something, and returns that."""
    end = now() + within
    while not (found := until()):
        if now() > end:
            raise Failed(f"{what}: not within {within} s")
        time.sleep(0.02)
    return found


class Broken(Exception):
    """A request that was sent to a replica which was killed: nobody knows what became of it."""


class Redis:
    """Redis, and when it was away or lost what it held."""

    def __init__(self, place):
        self.port, self.place, self.runs = free_port(), place / "redis", itertools.count()
        self.outages, self.losses, self.process = [], [], None
        self.start()

    def start(self):
        self.place.mkdir(exist_ok=True)
        # What it has answered is written before: nothing is lost with its process.
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--dir", str(self.place), "--save", "", "--appendonly", "yes",
             "--appendfsync", "always"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        poll("Redis answers", lambda: self.command("PING") == "+PONG")

    def command(self, word):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=SOON) as connection:
                connection.sendall(word.encode() + b"\r\n")
                return connection.recv(100).decode().strip()
        except OSError:
            return None

    def kill(self):
        self.process.kill()
        self.process.wait()

    @contextmanager
    def away(self):
        outage = [now(), float("inf")]
        self.outages.append(outage)
        yield
        outage[1] = now()

    def stand_still(self, seconds, meanwhile):
        with self.away():
            os.kill(self.process.pid, signal.SIGSTOP)
            try:
                end = now() + seconds
                meanwhile()
                # It stands still for as long as it was said, and no check knows how long that is.
                time.sleep(max(0, end - now()))
            finally:
                os.kill(self.process.pid, signal.SIGCONT)

    def restart(self, keeps, meanwhile):
        with self.away():
            self.kill()
            meanwhile()
            if not keeps:
                shutil.rmtree(self.place)
                self.losses.append(now())
            self.start()

    def empty(self):
        with self.away():
            self.losses.append(now())
            if self.command("FLUSHALL") != "+OK":
                raise Failed("Redis cannot be emptied")

    def was_away(self, since, until=None):
        until = until or now()
        return any(began <= until and since <= ended + GRACE for began, ended in list(self.outages))

    def lost(self, since):
        """When it lost last what it held, if that was then or later."""
        return max((loss for loss in list(self.losses) if loss >= since), default=None)


class Process:
    """One run of a replica."""

    def __init__(self, binary, folder, keys, redis):
        self.killed_at = self.stopped_at = None
        self.began = now()
        self.ready, self.lines, self.keys_read = False, [], 0
        environment = dict(os.environ, REDIS_URL=f"redis://127.0.0.1:{redis.port}", FOLIO_LOG="info", NO_COLOR="1")
        self.redis = redis
        self.process = subprocess.Popen([binary, "serve", str(folder), "--http=127.0.0.1:0", f"--state-key-file={keys}"],
                                        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        said, self.port = threading.Event(), None
        threading.Thread(target=self.read, args=(said,), daemon=True).start()
        said.wait(SOON)
        if not self.port:
            raise Failed("a replica does not start: " + "".join(self.lines[-20:]))

    def read(self, said):
        for line in self.process.stderr:
            self.lines = self.lines[-200:] + [f"{now():.2f} {line}"]
            if found := re.match(r"listening on http://127\.0\.0\.1:(\d+)/", line):
                self.port = int(found[1])
                said.set()
            self.keys_read += "are read again" in line
            if "WARN store" in line and ("the store failed" in line or "does not answer" in line) and not self.redis.was_away(now()):
                # The machine is too busy: Redis was slower than a replica waits.
                self.redis.outages.append([now() - 2, now()])
        said.set()

    def died_at(self):
        return self.killed_at or self.stopped_at

    def kill(self):
        self.killed_at, self.ready = now(), False
        self.process.kill()
        self.process.wait()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SOON)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return None
        finally:
            connection.close()

    def stop(self):
        """Stops in order: the balancer leaves it when it says that it is not ready."""
        self.stopped_at = now()
        self.process.terminate()
        poll("/readyz fails", lambda: self.get("/readyz") != 200)
        self.ready = False
        code = self.process.wait(SOON)
        if code != 0:
            raise Failed(f"a replica that is stopped ends with {code}")


class Replica:
    """A replica with a folder and a file of state keys of its own."""

    def __init__(self, world, number):
        self.world, self.place, self.edition = world, world.place / f"replica-{number}", None
        self.place.mkdir()
        self.folder, self.keys = self.place / "folder", self.place / "keys"
        self.folder.mkdir()
        self.write_keys(world.keys)
        self.edit(world.edition)
        (self.folder / "folio.yaml").symlink_to("..data/folio.yaml")
        self.start()

    def write_keys(self, keys):
        fresh = self.keys.with_suffix(".new")
        fresh.write_text("\n".join(keys))
        fresh.rename(self.keys)

    def edit(self, edition):
        """Swaps the folder as a ConfigMap is."""
        data = self.folder / f"..{edition}"
        data.mkdir()
        text = MANIFEST.replace("EDITION", str(edition)).replace("ACTS", str(self.world.acts))
        (data / "folio.yaml").write_text(text)
        (self.folder / "..new").symlink_to(data.name)
        (self.folder / "..new").rename(self.folder / "..data")
        self.edition = edition

    def start(self):
        self.process = Process(self.world.binary, self.folder, self.keys, self.world.redis)
        poll("/readyz answers", lambda: self.process.get("/readyz") == 200)
        self.process.ready = True


class Exchange:
    """A request that was sent, and what comes for it."""

    def __init__(self, process, connection, message, headers, method="POST"):
        self.process, self.connection, self.sent, self.done, self.event = process, connection, now(), None, None
        self.message = self.status = self.resumed = None
        self.may_end = method == "GET"
        try:
            connection.request(method, "/mcp", json.dumps(message).encode() if message else None, headers)
            self.response = connection.getresponse()
            self.status, self.session = self.response.status, self.response.headers["Mcp-Session-Id"]
        except (OSError, http.client.HTTPException) as error:
            self.fail(error)

    def fail(self, error):
        self.connection.close()
        # A stream that is read by itself can be read on at another replica.
        if not (self.process.died_at() if self.may_end else self.process.killed_at):
            raise Failed(f"a request is cut off by a replica that was not killed: {error!r}, "
                         f"sent at {self.sent:.2f}, stopped at {self.process.stopped_at}")
        raise Broken

    def messages(self):
        try:
            if "event-stream" not in (self.response.headers["Content-Type"] or ""):
                text = self.response.read().decode()
                yield from [json.loads(text)] if text.startswith("{") else []
                return
            for line in self.response:
                line = line.decode().rstrip("\n")
                if line.startswith("id: "):
                    self.event = line[4:]
                elif line.startswith("data: {"):
                    yield json.loads(line[6:])
        except (OSError, http.client.HTTPException) as error:
            self.fail(error)

    def answer(self, ask=None):
        """Reads until the answer, and answers questions on the way."""
        for message in self.messages():
            if "method" not in message:
                self.message = message
                break
            if ask and message["method"] == "elicitation/create":
                ask(message)
        if self.message is None and self.status == 200:
            # Of a stream that breaks off, `http.client` says that it ends.
            self.fail("no answer")
        self.connection.close()
        self.done = now()
        return self

    def ended(self):
        """Of a stream of notices, which ends with its replica alone."""
        if not self.process.died_at():
            raise Failed(f"a stream ends whose replica lives: {self}")

    def is_lost(self):
        """Whether its replica was killed before anybody could know the answer."""
        return self.resumed and self.resumed.killed_at and ENDED.search(self.error.get("message", ""))

    @property
    def result(self):
        return (self.message or {}).get("result")

    @property
    def error(self):
        return (self.message or {}).get("error", {})

    @property
    def text(self):
        return "".join(content.get("text", "") for content in (self.result or {}).get("content", []))

    def __str__(self):
        return (f"{self.status} {json.dumps(self.message)[:300]} from :{self.process.port}, sent {self.sent:.2f}, "
                f"done {self.done}")


class World:
    """Redis, the replicas, the balancer, and what was seen."""

    def __init__(self, binary, place, seed):
        self.binary, self.place, self.chance = binary, place, random.Random(seed)
        self.acts, self.edition, self.keys = place / "acts", 0, [self.new_key()]
        self.acts.touch()
        self.redis, self.replicas = Redis(place), []
        self.lock, self.turn, self.ids = threading.Lock(), itertools.count(), itertools.count(1)
        self.counts, self.outcomes, self.limited = Counter(), {}, []
        self.failure, self.left, self.listeners = None, threading.Event(), []

    def new_key(self):
        return f"{self.chance.getrandbits(256):064x}"

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def fail(self, error):
        with self.lock:
            self.failure = self.failure or error
        self.left.set()

    def ready(self):
        return [replica.process for replica in list(self.replicas) if replica.process.ready]

    def send(self, message, headers, method="POST", avoid=None, to=None):
        """Sends a request to the next replica that takes connections."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} | headers
        end = now() + SOON
        while now() < end:
            ready = [to] if to else self.ready()
            ready = [one for one in ready if one is not avoid] or ready
            if ready:
                process = ready[next(self.turn) % len(ready)]
                connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=SOON)
                try:
                    connection.connect()
                except OSError:
                    if to:
                        raise Broken from None
                    time.sleep(0.01)
                    continue
                return Exchange(process, connection, message, headers, method)
        raise Failed("no replica takes a connection")

    def is_away(self, exchange, done=None):
        """Whether it was refused since Redis is away, which must be so."""
        text = json.dumps(exchange.message)
        if AWAY not in text:
            return False
        may_have_forgotten = self.redis.lost(exchange.sent - REMEMBERED_WITHIN)
        if not self.redis.was_away(exchange.sent, exchange.done) and not may_have_forgotten:
            raise Failed(f"refused for a store that is not away: {exchange}")
        if exchange.status != 503 and exchange.status != 200:
            raise Failed(f"another status than 503: {exchange}")
        self.count("refused while Redis was away")
        return True

    def new_id(self, kind):
        identity = f"{kind}-{next(self.ids)}"
        self.outcomes[identity] = "sent"
        return identity

    def check_acts(self):
        """No call has run twice, and what was answered has run."""
        outcomes = dict(self.outcomes)
        acted = Counter(self.acts.read_text().split())
        for identity, times in acted.items():
            if times > 1 + (outcomes.get(identity) == "replayed") or identity not in self.outcomes or outcomes.get(identity) == "refused":
                raise Failed(f"{identity} has run {times} times, and was {outcomes.get(identity)}")
        missing = [identity for identity, outcome in outcomes.items() if outcome == "answered" and not acted[identity]]
        if missing:
            raise Failed(f"answered, and never done: {missing}")

    def check_rate(self):
        """No calls that began and ended within one window are more than its limit, while Redis was there."""
        admitted = sorted(call for call in list(self.limited) if not self.redis.was_away(call[0] - WINDOW, call[1] + WINDOW))
        for at, (first, _) in enumerate(admitted):
            within = list(itertools.takewhile(lambda call: call[0] < first + WINDOW, admitted[at:]))
            whole = [call for call in within if call[1] < first + WINDOW]
            if len(whole) > LIMIT and not self.redis.was_away(first, first + WINDOW):
                raise Failed(f"{len(whole)} calls within {WINDOW} s from {first:.2f} on, of {LIMIT}")
            self.counts["most calls in a window"] = max(self.counts["most calls in a window"], len(whole))
        self.limited = [call for call in self.limited if call[0] > now() - 10]


class Client(threading.Thread):
    """A client that calls on and on."""

    def __init__(self, world, number):
        super().__init__(daemon=True)
        self.world, self.number, self.last = world, number, 0
        self.chance = random.Random(f"{world.chance.random()}")

    def run(self):
        try:
            while not self.world.left.is_set():
                try:
                    self.chance.choices(*zip(*self.work()))[0]()
                except Broken:
                    self.world.count("unknown")
                self.world.left.wait(self.chance.uniform(0.01, 0.06))
        except Failed as error:
            self.world.fail(f"{type(self).__name__} {self.number}: {error}")
        except Exception:
            self.world.fail(traceback.format_exc())

    def finish(self, identity, exchange):
        """Notes how a call ended that may run once."""
        if self.world.is_away(exchange):
            self.world.outcomes[identity] = "refused"
        elif exchange.text == identity:
            self.world.outcomes[identity] = "answered"
            self.world.count("acted")
        elif exchange.is_lost():
            self.world.outcomes[identity] = "unknown"
            self.world.count("lost with a replica")
        else:
            raise Failed(f"{identity} is answered with {exchange}")

    def echo(self):
        identity = f"echo-{self.number}-{now()}"
        exchange = self.call("echo", identity, reads=True)
        if not self.world.is_away(exchange):
            if exchange.text != identity or exchange.status != 200:
                raise Failed(f"{identity} is answered with {exchange}")
            self.world.count("echoed")

    def limit(self):
        exchange = self.call("limited", None)
        if exchange.text == "ok":
            self.world.limited.append((exchange.sent, exchange.done))
            self.world.count("limited admitted")
        elif "rate limit of" in exchange.text or "rate limit of" in json.dumps(exchange.error):
            self.world.count("limited refused")
        elif not exchange.is_lost() and not self.world.is_away(exchange):
            raise Failed(f"a limited call is answered with {exchange}")

    def act(self):
        identity = self.world.new_id("act")
        self.finish(identity, self.call(self.chance.choice(["act", "slow"]), identity))


class ModernClient(Client):
    """A client of 2026-07-28."""

    def work(self):
        return (self.echo, 4), (self.act, 3), (self.confirm, 3), (self.run_task, 2)

    def request(self, method, params, avoid=None, reads=False, to=None):
        self.last += 1
        meta = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientInfo": {"name": "interop", "version": "1"},
                PREFIX + "clientCapabilities": {"elicitation": {"form": {}}, "extensions": {PREFIX + "tasks": {}}}}
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params | {"_meta": meta}}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if name := params.get("name") or params.get("taskId"):
            headers["Mcp-Name"] = name
        while True:
            try:
                exchange = self.world.send(message, headers, avoid=avoid, to=to)
                if method != "subscriptions/listen":
                    exchange.answer()
                return exchange
            except Broken:
                if not reads or to:
                    raise
                self.world.count("asked again")

    def call(self, tool, identity, avoid=None, reads=False, **more):
        arguments = {"id": identity} if identity else {}
        return self.request("tools/call", {"name": tool, "arguments": arguments} | more, avoid, reads)

    def confirm(self):
        """Answers a question at another replica, and then once more."""
        identity = self.world.new_id("confirm")
        asked = self.call("confirm", identity, reads=True)
        if self.world.is_away(asked):
            return
        if "requestState" not in (asked.result or {}):
            raise Failed(f"{identity} is not asked: {asked}")
        answer = {"requestState": asked.result["requestState"],
                  "inputResponses": {key: ACCEPT for key in asked.result["inputRequests"]}}
        exchange = self.call("confirm", identity, avoid=asked.process, **answer)
        began = asked.sent - GRACE
        if exchange.error.get("code") == -32602 and self.world.redis.was_away(began - RENEWAL):
            # It may have been emptied, or have taken the answer after nobody waited for that any more.
            self.world.outcomes[identity] = "unknown"
            return self.world.count("questions lost with Redis")
        self.finish(identity, exchange)
        # An answer that was taken without Redis is not remembered there.
        if not self.world.redis.was_away(began):
            again = self.call("confirm", identity, avoid=exchange.process, reads=True, **answer)
            if again.result and self.world.redis.was_away(again.sent, again.done):
                # A replica cannot ask Redis, and runs what had done nothing before its question.
                self.world.outcomes[identity] = "replayed"
                return self.world.count("replays taken while Redis was away")
            if again.result or again.error.get("code") != -32602 and not self.world.is_away(again):
                raise Failed(f"an answer to {identity} counts twice: {again}")
            self.world.count("replays refused")

    def run_task(self):
        """Begins a task at one replica and asks another for it."""
        identity = self.world.new_id("task")
        begun = self.call("long", identity)
        if self.world.is_away(begun):
            self.world.outcomes[identity] = "refused"
            return
        if "taskId" not in (begun.result or {}):
            raise Failed(f"{identity} does not begin: {begun}")
        task, owner, end, answered = begun.result["taskId"], begun.process, now() + TASK_WITHIN, 0
        while True:
            asked = self.request("tasks/get", {"taskId": task}, avoid=owner, reads=True)
            if not self.world.is_away(asked):
                status = (asked.result or {}).get("status")
                # What is said to be lost may have been answered to: then it is said again.
                if status == "input_required" and now() > answered + 2:
                    answers = {key: ACCEPT for key in asked.result["inputRequests"]}
                    if not self.world.is_away(self.request("tasks/update", {"taskId": task, "inputResponses": answers}, reads=True)):
                        answered = now()
                if status not in ("working", "input_required"):
                    return self.end_task(identity, begun, asked, status)
            if now() > end:
                raise Failed(f"{identity} does not end: {asked}, begun by {begun}, killed at {owner.killed_at}")
            time.sleep(0.15)

    def end_task(self, identity, begun, asked, status):
        owner, lost = begun.process, self.world.redis.lost(begun.sent - RENEWAL)
        if status == "completed":
            texts = [content["text"] for content in asked.result["result"]["content"]]
            if texts != [identity]:
                raise Failed(f"{identity} has another result: {asked}")
            self.world.outcomes[identity] = "answered"
            return self.world.count("tasks completed")
        self.world.outcomes[identity] = "unknown"
        if status == "failed" and ENDED.search(asked.result["error"]["message"]) and owner.killed_at:
            return self.world.count("tasks failed with a replica")
        if status == "cancelled" and owner.stopped_at:
            return self.world.count("tasks cancelled at the end of a drain")
        if status is None and lost and (owner.died_at() or now() < lost + RENEWAL):
            return self.world.count("tasks lost with Redis")
        raise Failed(f"{identity} ends as {asked}, begun by {begun}, killed at {owner.killed_at}, stopped at {owner.stopped_at}")


class SessionClient(Client):
    """A client of 2025-11-25, whose session is at any replica."""

    def __init__(self, world, number):
        super().__init__(world, number)
        self.session, self.holders, self.began = None, set(), 0

    def work(self):
        return (self.echo, 4), (self.act, 3), (self.confirm, 2), (self.list_tools, 2)

    def post(self, message, avoid=None):
        headers = {"MCP-Protocol-Version": SESSIONS} | ({"Mcp-Session-Id": self.session} if self.session else {})
        return self.world.send({"jsonrpc": "2.0"} | message, headers, avoid=avoid)

    def begin(self):
        while not self.session:
            hello = {"protocolVersion": SESSIONS, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "interop", "version": "1"}}
            began = now()
            exchange = self.post({"id": 0, "method": "initialize", "params": hello}).answer()
            if self.world.is_away(exchange):
                time.sleep(0.1)
                continue
            if not exchange.result or not exchange.session:
                raise Failed(f"a session does not begin: {exchange}")
            self.session, self.holders, self.began = exchange.session, {exchange.process}, began
            self.world.count("sessions")
            self.post({"method": "notifications/initialized"}).answer()

    def is_known(self, exchange):
        """Whether a replica knows the session. If not, Redis has lost it, and so have those that held it."""
        if exchange.status != 404:
            if exchange.status == 200:
                self.holders.add(exchange.process)
            return True
        lost = self.world.redis.lost(self.began)
        held = [one for one in self.holders if not one.died_at() or lost and one.died_at() > lost + RENEWAL]
        if not lost or held and now() > lost + RENEWAL:
            raise Failed(f"a session is unknown that {[one.port for one in held]} hold: {exchange.sent:.2f} at :{exchange.process.port}")
        self.session = None
        self.world.count("sessions lost with Redis")
        return False

    def request(self, method, params, ask=None):
        while True:
            self.begin()
            self.last += 1
            exchange = self.post({"id": self.last, "method": method, "params": params})
            if self.is_known(exchange):
                break
            exchange.connection.close()
        try:
            exchange.answer(ask)
        except Broken:
            exchange = self.resume(exchange)
        if exchange.message and exchange.message.get("id") not in (self.last, None):
            raise Failed(f"an answer to another request than {self.last}: {exchange}")
        return exchange

    def resume(self, broken):
        """Goes on to read a stream whose replica was killed."""
        event = broken.event
        while event and self.session:
            headers = {"MCP-Protocol-Version": SESSIONS, "Mcp-Session-Id": self.session, "Last-Event-ID": event}
            exchange = self.world.send(None, headers, "GET", avoid=broken.process)
            exchange.resumed = broken.process
            if not self.is_known(exchange) or exchange.status == 503:
                break
            try:
                exchange.answer()
                self.world.count("streams resumed")
                return exchange
            except Broken:
                event = exchange.event or event
        raise Broken

    def call(self, tool, identity, reads=False, ask=None):
        params = {"name": tool, "arguments": {"id": identity} if identity else {}}
        while True:
            try:
                exchange = self.request("tools/call", params, ask)
                if not reads or exchange.text or not exchange.resumed:
                    return exchange
            except Broken:
                if not reads:
                    raise
            self.world.count("asked again")

    def confirm(self):
        """Answers a question through another replica."""
        identity, answers = self.world.new_id("confirm"), []

        def ask(message):
            """Says it until a replica takes it: an answer that comes twice does no harm."""
            while not answers or answers[-1].status != 202:
                try:
                    answers.append(self.post({"id": message["id"], "result": ACCEPT}).answer())
                except Broken:
                    continue
                if not self.is_known(answers[-1]):
                    raise Broken
                if answers[-1].status != 202 and not self.world.is_away(answers[-1]):
                    raise Failed(f"an answer to a question is answered with {answers[-1]}")
                time.sleep(0.05)

        try:
            self.finish(identity, self.call("confirm", identity, ask=ask))
            self.world.count("questions answered")
        except Failed:
            # An answer that does not arrive while Redis is away is lost: its sender waits in vain.
            if not answers or not self.world.redis.was_away(answers[0].sent):
                raise
            self.world.count("answers lost while Redis was away")

    def list_tools(self):
        try:
            exchange = self.request("tools/list", {})
        except Broken:
            return
        if not self.world.is_away(exchange) and not exchange.resumed and not (exchange.result or {}).get("tools"):
            raise Failed(f"the list is answered with {exchange}")
        self.world.count("lists")


class ModernLimited(ModernClient):
    def work(self):
        return ((self.limit, 1),)


class SessionLimited(SessionClient):
    def work(self):
        return ((self.limit, 1),)


class Listener:
    """Lists anew when it hears of a change, at all replicas: what it knows is the oldest edition that one of them serves."""

    known = 0

    def learn(self):
        """Of the versions that there may be, it asks in the one without sessions, as it is the list that counts."""
        editions = []
        for process in self.world.ready():
            try:
                exchange = self.lister.request("tools/list", {}, to=process)
                names = [tool["name"] for tool in exchange.result["tools"]]
                editions += [int(name[8:]) for name in names if name.startswith("edition-")]
            except Broken:
                pass
        self.known = min(editions, default=self.known)
        self.world.count("notices")

    def work(self):
        return ((self.listen, 1),)


class ModernListener(Listener, ModernClient):
    def __init__(self, world, number):
        super().__init__(world, number)
        self.lister = ModernClient(world, number)

    def listen(self):
        exchange = self.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        for message in exchange.messages():
            # Who listens anew may have missed something, and lists.
            if message.get("method") in ("notifications/subscriptions/acknowledged", "notifications/tools/list_changed"):
                self.learn()
        exchange.ended()
        self.world.count("listened anew")


class SessionListener(Listener, SessionClient):
    def __init__(self, world, number):
        super().__init__(world, number)
        self.lister, self.event = ModernClient(world, number), None

    def listen(self):
        if not self.session:
            self.begin()
            self.event = None
            self.learn()
        last = {"Last-Event-ID": self.event} if self.event else {}
        exchange = self.world.send(None, {"MCP-Protocol-Version": SESSIONS, "Mcp-Session-Id": self.session} | last, "GET")
        if exchange.status == 503 or not self.is_known(exchange):
            return exchange.connection.close()
        try:
            for message in exchange.messages():
                # What it listens to after a break it must be told: it lists for notices alone.
                if message.get("method") == "notifications/tools/list_changed":
                    self.learn()
        finally:
            self.event = exchange.event or self.event
        exchange.ended()
        self.world.count("listened anew")


class Chaos:
    """What happens in a round."""

    def __init__(self, world):
        self.world, self.chance, self.probe = world, world.chance, ModernClient(world, "probe")
        self.deck = []

    def events(self, count):
        kinds = [self.kill, self.roll, self.edit, self.edit_while_still, self.restart_with_edit, self.stand_still, self.empty,
                 self.restart_redis, self.lose_redis, self.rotate]
        while count:
            self.deck = self.deck or self.chance.sample(kinds, len(kinds))
            yield self.deck.pop()
            count -= 1

    def any(self):
        return self.chance.choice(self.world.replicas)

    def scale(self, count):
        while len(self.world.replicas) < count:
            self.world.replicas.append(Replica(self.world, len(list(self.world.place.glob("replica-*")))))
        while len(self.world.replicas) > count:
            replica = self.any()
            replica.process.stop()
            self.world.replicas.remove(replica)

    def kill(self):
        replica = self.any()
        replica.process.kill()
        # For as long as others need to be sure, or too short for them to notice.
        self.world.left.wait(self.chance.choice([0, 0, 15]))
        replica.start()

    def roll(self):
        for replica in list(self.world.replicas):
            replica.process.stop()
            replica.start()

    def edit(self):
        self.world.edition += 1
        for replica in self.chance.sample(self.world.replicas, len(self.world.replicas)):
            replica.edit(self.world.edition)
            self.world.left.wait(self.chance.uniform(0, 1))
        self.converge()

    def restart_with_edit(self):
        """An edit that comes with a restart, as of a server that does not watch its files."""
        self.world.edition += 1
        for replica in self.chance.sample(self.world.replicas, len(self.world.replicas)):
            replica.process.stop()
            replica.edit(self.world.edition)
            replica.start()
        self.converge()

    def converge(self):
        """Waits until all replicas serve an edit, and soon after all clients know it."""
        edition = self.world.edition
        expected = f"edition-{edition}"

        def serve_it():
            try:
                lists = [self.probe.request("tools/list", {}, to=process).result["tools"] for process in self.world.ready()]
            except Broken:
                return False
            return all(any(tool["name"] == expected for tool in tools) for tools in lists)

        poll("replicas serve an edit", serve_it)
        poll("Redis is back", lambda: self.world.failure or not self.world.redis.was_away(now()))
        slow = lambda: [f"{type(one).__name__} {one.number} knows {one.known}" for one in self.world.listeners if one.known < edition]
        end = now() + HEARD_WITHIN
        while slow() and not self.world.failure:
            if now() > end:
                raise Failed(f"{slow()} within {HEARD_WITHIN} s after all replicas serve edition {edition}")
            time.sleep(0.02)
        self.world.count("edits heard of by all")

    def look_away(self):
        """While Redis is away: new tasks and sessions are refused, what only reads goes on."""
        session = SessionClient(self.world, "probe")
        hello = {"protocolVersion": SESSIONS, "capabilities": {}, "clientInfo": {"name": "interop", "version": "1"}}
        for process in self.world.ready():
            long = {"name": "long", "arguments": {"id": self.world.new_id("task")}}
            poll("a task is refused", lambda: self.probe.request("tools/call", long, to=process).status == 503, 2)
            message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
            poll("a session is refused", lambda: self.world.send(message, {}, to=process).answer().status == 503, 2)
            echoed = self.probe.request("tools/call", {"name": "echo", "arguments": {"id": "probe"}}, to=process)
            if (echoed.status, echoed.text) != (200, "probe"):
                raise Failed(f"while Redis is away an echo is answered with {echoed}")

    def look_back(self):
        """Soon after its return nothing is refused."""
        for process in self.world.ready():
            arguments = {"name": "long", "arguments": {"id": self.world.new_id("task")}}
            poll("a task begins", lambda: (self.probe.request("tools/call", arguments, to=process).result or {}).get("taskId"), GRACE)

    def stand_still(self):
        self.world.redis.stand_still(self.chance.uniform(1, 1.5), lambda: None)
        self.look_back()
        self.world.redis.stand_still(3, self.look_away)
        self.look_back()

    def edit_while_still(self):
        """Too short for connections to be lost, and longer than a message waits."""
        self.world.edition += 1
        replicas = self.chance.sample(self.world.replicas, len(self.world.replicas))
        self.world.redis.stand_still(self.chance.uniform(1, 3), lambda: [replica.edit(self.world.edition) for replica in replicas])
        self.converge()

    def empty(self):
        self.world.redis.empty()
        self.look_back()

    def restart_redis(self):
        self.world.redis.restart(True, self.look_away)
        self.look_back()

    def lose_redis(self):
        self.world.redis.restart(False, self.look_away)
        self.look_back()

    def rotate(self):
        """A new key that opens, then seals: no replica is given what it cannot open."""
        newer, older = self.world.new_key(), self.world.keys[:KEPT_KEYS - 1]
        for keys in ([*older, newer], [newer, *older]):
            self.world.keys = keys
            before = [(replica, replica.process.keys_read) for replica in self.world.replicas]
            for replica, _ in before:
                replica.write_keys(keys)
            poll("keys are read", lambda: all(replica.process.keys_read > read for replica, read in before))


def run(binary, rounds, seed, world):
    chaos = Chaos(world)
    chaos.scale(2)
    kinds = [ModernClient] * 3 + [SessionClient] * 3 + [ModernLimited, SessionLimited] + [ModernListener, SessionListener] * 2
    clients = [kind(world, number) for number, kind in enumerate(kinds)]
    world.listeners = [client for client in clients if isinstance(client, Listener)]
    for client in clients:
        client.start()
    for number in range(rounds):
        began, names = now(), []
        chaos.scale(2 + (number + seed) % 2)
        for event in chaos.events(EVENTS_A_ROUND):
            names.append(event.__name__.replace("_", " "))
            world.last_event = names
            event()
            world.count(names[-1])
            if world.failure:
                raise Failed(world.failure)
            # So that some events meet what is left of others, and others do not.
            world.left.wait(world.chance.choice([0, 0.5, 3]))
        world.check_acts()
        world.check_rate()
        print(f"round {number + 1}, seed {seed}, {len(world.replicas)} replicas, {now() - began:.0f} s: {', '.join(names)}; "
              f"{len(world.outcomes)} acts, {world.counts['unknown']} unknown", flush=True)
    world.left.set()
    for client in clients:
        if not isinstance(client, Listener):
            client.join(SOON + TASK_WITHIN)
            if client.is_alive():
                raise Failed(f"{type(client).__name__} {client.number} waits in vain")
    if world.failure:
        raise Failed(world.failure)
    world.check_acts()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folio")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    if not shutil.which("redis-server"):
        sys.exit("no redis-server on PATH")
    with tempfile.TemporaryDirectory(prefix="folio-replicas-") as place:
        world = World(os.path.abspath(options.folio), Path(place), options.seed)
        try:
            run(options.folio, options.rounds, options.seed, world)
        except Failed as failed:
            for replica in world.replicas:
                said = [line for line in replica.process.lines if " call: call " not in line]
                print(f"  :{replica.process.port} said:\n    " + "    ".join(said[-25:]), end="", file=sys.stderr)
            print(f"outages {world.redis.outages[-4:]}, losses {world.redis.losses[-4:]}, {dict(world.counts)}", file=sys.stderr)
            sys.exit(f"FAIL, seed {options.seed}, after {getattr(world, 'last_event', [])}, at {now():.2f}: {world.failure or failed}")
        finally:
            world.left.set()
            for replica in world.replicas:
                replica.process.process.kill()
            world.redis.kill()
        print("all held:", ", ".join(f"{what} {count}" for what, count in sorted(world.counts.items())))


if __name__ == "__main__":
    main()
