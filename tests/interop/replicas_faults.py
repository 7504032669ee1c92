"""What two replicas do, while nobody else calls, when Redis changes its master, takes no writes or does not answer, and when a
session ends at one while it begins at the other."""

import threading
import time

from replicas_clients import ACCEPT, SESSIONS, ModernClient
from replicas_redis import poll
from replicas_world import AWAY, Replica, World
from served import Failed

LEFT_WITHIN = 2.0
"""Within so many seconds replicas leave a server that is not the master any more."""
REFUSED_FOR = 3.0
"""For how many seconds Redis takes no writes."""
MAX_LINES = 20
"""How much a replica logs in that time at most."""
SESSIONS_ENDED = 40


class FaultWorld(World):
    """With a tool that acts before it asks."""

    def manifest(self, edition):
        return super().manifest(edition) + f"""
  acted:
    <<: *act
    run: [{{ exec: [sh, -c, 'echo "$0-first" >> {self.acts}', "{{{{id}}}}"] }}, *asked, *noted]
"""

    def begin_session(self, process):
        hello = {"protocolVersion": SESSIONS, "capabilities": {}, "clientInfo": {"name": "interop", "version": "1"}}
        begun = self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}, {}, to=process).answer()
        return {"MCP-Protocol-Version": SESSIONS, "Mcp-Session-Id": begun.session}

    def ping(self, session, process):
        """How it is answered, once Redis is not too slow for that on a busy machine."""
        status = lambda: self.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, session, to=process).status
        return poll("a ping is answered", lambda: (found := status()) != 503 and found)


def check_failovers(world):
    """Replicas leave a former master, which would take what they send, and lose it."""
    for _ in range(2):
        poll("the follower follows", world.redis.follows)
        poll("replicas read from the master", lambda: world.redis.master.readers() == len(world.replicas))
        world.redis.change_master()
        poll("replicas read from the new master", lambda: world.redis.master.readers() == len(world.replicas), LEFT_WITHIN)
        world.redis.end_failover()


def check_refused_answer(world):
    """What is refused as not done can be sent again, and is done once."""
    one, other = (replica.process for replica in world.replicas)
    client = ModernClient(world, "faults")
    call = lambda to, **more: client.request("tools/call", {"name": "acted", "arguments": {"id": "kept"}} | more, to=to)
    asked = call(one).result
    answer = {"requestState": asked["requestState"], "inputResponses": {key: ACCEPT for key in asked["inputRequests"]}}
    refused = []
    world.redis.stand_still(1, lambda: refused.append(call(one, **answer)))
    if refused[0].status != 503 or AWAY not in refused[0].error.get("message", ""):
        raise Failed(f"while Redis stands still an answer is answered with {refused[0]}")
    poll("the answer is taken", lambda: call(one, **answer).text == "kept")
    again = call(other, **answer)
    if again.error.get("code") != -32602:
        raise Failed(f"an answer counts twice: {again}")
    if world.acts.read_text().split() != ["kept-first", "kept"]:
        raise Failed(f"done: {world.acts.read_text()}")


def check_refused_writes(world):
    """Replicas wait for a Redis that takes no writes, and do not try without end."""
    process = world.replicas[0].process
    session = world.begin_session(process)
    heard = []

    def listen():
        for message in world.send(None, session, "GET", to=process).messages():
            heard.append(message)

    threading.Thread(target=listen, daemon=True).start()
    poll("a client listens", lambda: world.ping(session, process) == 200)
    before = len(process.lines)
    with world.redis.away():
        world.redis.master.command("CONFIG SET min-replicas-to-write 9")
        # It is what they do meanwhile that counts.
        time.sleep(REFUSED_FOR)
        world.redis.master.command("CONFIG SET min-replicas-to-write 0")
    client = ModernClient(world, "writes")
    arguments = {"name": "long", "arguments": {"id": "later"}}
    poll("a task begins", lambda: "taskId" in (client.request("tools/call", arguments, to=process).result or {}))
    lines = len(process.lines) - before
    if lines > MAX_LINES or len(heard) > MAX_LINES:
        raise Failed(f"while Redis takes no writes a replica logs {lines} lines, and its client hears {len(heard)} notices")


def check_ended_sessions(world):
    """A session that ends at one replica while a request of it comes to the other is held by neither."""
    one, other = (replica.process for replica in world.replicas)
    for _ in range(SESSIONS_ENDED):
        session = world.begin_session(one)
        asking = threading.Thread(target=world.ping, args=(session, other))
        asking.start()
        poll("a session is ended", lambda: world.send(None, session, "DELETE", to=one).status in (204, 404))
        asking.join()
        for process in (one, other):
            if (status := world.ping(session, process)) != 404:
                raise Failed(f"a session that has ended is answered with {status} by :{process.port}")


def check_faults(binary, place):
    world = FaultWorld(binary, place, 0)
    try:
        world.replicas = [Replica(world, number) for number in range(2)]
        checks = (check_failovers, check_refused_answer, check_refused_writes, check_ended_sessions)
        for check in checks:
            check(world)
        print(f"faults while nobody calls: {len(checks)}", flush=True)
    finally:
        world.end()
