"""Replicas of a server, the balancer before them, and what was seen of their answers."""

import http.client
import itertools
import json
import os
import random
import re
import subprocess
import threading
import time
from collections import Counter

from issuer import Issuer
from replicas_redis import Redis, now, poll
from served import SOON, Failed

AUDIENCE = "https://desk.example/mcp"
"""For whom tokens are."""
LIMIT, WINDOW = 20, 2.0
"""The rate limit of one tool: so many calls in so many seconds."""
RENEWAL = 4.0
"""Within so many seconds each replica has noticed that Redis was emptied: it looks every 3 seconds."""
REMEMBERED_WITHIN = RENEWAL + 10.0
"""Within so many seconds after Redis was emptied a replica does not say that it knows nothing of a task or a session."""
ENDED = re.compile("replica that (ran the task|answered the request) has ended")
AWAY = "the store that replicas share is away"

MANIFEST = """
folio: 1
server: { name: desk }
env: { REDIS_URL: { secret: true } }
store: { redis: "{{env.REDIS_URL}}" }
http:
  sessions: store
  drain: { delay: 300ms, timeout: 5s }
  publicUrl: AUDIENCE
  auth: { issuer: ISSUER }
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
    run:
      - &asked { id: sure, ask: { answer: { elicit: { message: "sure?", schema: { yes: { type: boolean } } } } } }
      - &noted { exec: [sh, -c, 'echo "$0" >> ACTS', "{{id}}"] }
  long: { <<: *act, task: required, run: [{ sleep: 300ms }, *asked, *noted] }
"""


class Broken(Exception):
    """A request that was sent to a replica which was killed: nobody knows what became of it."""


class Process:
    """One run of a replica."""

    def __init__(self, binary, folder, keys, redis):
        self.killed_at = self.stopped_at = None
        self.ready, self.lines, self.keys_read = False, [], 0
        environment = dict(os.environ, REDIS_URL=redis.url, FOLIO_LOG="info", NO_COLOR="1")
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
            if " call: call " not in line:
                self.lines = self.lines[-200:] + [f"{now():.2f} {line}"]
            if found := re.match(r"listening on http://127\.0\.0\.1:(\d+)/", line):
                self.port = int(found[1])
                said.set()
            self.keys_read += "are read again" in line
            if "WARN store" in line and ("the store failed" in line or "does not answer" in line) and not self.redis.was_away(now()):
                self.redis.note_slow()
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
        data.mkdir(exist_ok=True)
        (data / "folio.yaml").write_text(self.world.manifest(edition))
        (self.folder / "..new").symlink_to(data.name)
        (self.folder / "..new").rename(self.folder / "..data")
        self.edition = edition

    def start(self):
        self.process = Process(self.world.binary, self.folder, self.keys, self.world.redis)
        poll("/readyz answers", lambda: self.process.get("/readyz") == 200)
        self.process.ready = True


class Exchange:
    """A request that was sent, and what comes for it."""

    def __init__(self, process, connection, token, message, headers, method="POST"):
        self.process, self.connection, self.sent, self.done, self.event = process, connection, now(), None, None
        self.token = token
        self.message = self.status = self.resumed = None
        self.may_end = method == "GET"
        try:
            headers = headers | {"Authorization": f"Bearer {token.text}"}
            connection.request(method, "/mcp", json.dumps(message).encode() if message else None, headers)
            self.response = connection.getresponse()
            self.status, self.session = self.response.status, self.response.headers["Mcp-Session-Id"]
        except (OSError, http.client.HTTPException) as error:
            self.fail(error)
        if self.status in (401, 403):
            raise Failed(f"a token of {token.kid} is refused: {self}, {self.response.headers['WWW-Authenticate']}")

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
        """Of a stream of notices, which ends with its replica or its token."""
        if not self.process.died_at() and time.time() < self.token.expires:
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
        self.redis, self.issuer, self.replicas = Redis(place), Issuer(AUDIENCE), []
        self.lock, self.turn, self.ids = threading.Lock(), itertools.count(), itertools.count(1)
        self.counts, self.outcomes, self.limited = Counter(), {}, []
        self.failure, self.left, self.listeners = None, threading.Event(), []

    def manifest(self, edition):
        values = {"EDITION": str(edition), "ACTS": str(self.acts), "AUDIENCE": AUDIENCE, "ISSUER": self.issuer.url}
        return re.sub("|".join(values), lambda found: values[found[0]], MANIFEST)

    def new_key(self):
        return f"{self.chance.getrandbits(256):064x}"

    def end(self):
        self.left.set()
        for replica in self.replicas:
            replica.process.process.kill()
        self.redis.end()

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
                return Exchange(process, connection, self.issuer.token(), message, headers, method)
        raise Failed("no replica takes a connection")

    def is_away(self, exchange):
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
