"""Clients of 2026-07-28 and of 2025-11-25, which call on and on and look at each answer."""

import json
import random
import threading
import time
import traceback

from replicas_redis import GRACE, now
from replicas_world import ENDED, RENEWAL, Broken
from served import Failed

SESSIONS, MODERN = "2025-11-25", "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
TASK_WITHIN = 30.0
"""Within so many seconds a task has ended: that a replica is dead is sure after 10 seconds, and 3 until that is noticed."""
ACCEPT = {"action": "accept", "content": {"yes": True}}


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
    is_refused = False
    """Whether replicas cannot tell yet that its session is lost."""

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
        self.is_refused = exchange.status == 503 and self.world.is_away(exchange.answer())
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
