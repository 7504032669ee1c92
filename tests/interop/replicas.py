"""Replicas of a server that share Redis, under load, while they are killed, stopped in turn and edited at different times, while
Redis stands still, is emptied, restarts and fails over, and while the issuer of their callers' tokens changes its keys.

    replicas.py FOLIO [--rounds N] [--seed S]

`redis-server` is found on PATH, and is the Sentinel too. This script is the balancer: a request that was sent is never sent
again, unless it only reads. First come faults and tasks that nobody calls beside. Then each round has 2 or 3 replicas and
the next events of a shuffled deck, under clients of 2026-07-28 and of 2025-11-25.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from replicas_clients import (SESSIONS, TASK_WITHIN, Listener, ModernClient, ModernLimited, ModernListener, SessionClient,
                              SessionLimited, SessionListener)
from replicas_faults import check_faults
from replicas_redis import GRACE, now, poll
from replicas_tasks import check_tasks
from replicas_world import REMEMBERED_WITHIN, Broken, Replica, World
from served import SOON, Failed

EVENTS_A_ROUND = 4
HEARD_WITHIN = 5.0
"""Within so many seconds clients know of an edit that every replica has."""
KEPT_KEYS = 2
"""How many state keys there are: the newest, and those before it."""


class Chaos:
    """What happens in a round."""

    def __init__(self, world):
        self.world, self.chance, self.probe = world, world.chance, ModernClient(world, "probe")
        self.deck = []

    def events(self, count):
        kinds = [self.kill, self.roll, self.edit, self.edit_while_still, self.restart_with_edit, self.stand_still, self.empty,
                 self.restart_redis, self.lose_redis, self.fail_over, self.rotate,
                 self.rotate_issuer_keys]
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
        is_slow = lambda one: one.known < edition and not (one.is_refused and self.world.redis.lost(now() - REMEMBERED_WITHIN))
        slow = lambda: [f"{type(one).__name__} {one.number} knows {one.known}" for one in self.world.listeners if is_slow(one)]
        end = now() + HEARD_WITHIN
        while slow() and not self.world.failure:
            if now() > end:
                raise Failed(f"{slow()} within {HEARD_WITHIN} s after all replicas serve edition {edition}")
            time.sleep(0.02)
        self.world.count("edits heard of by all")

    def look_away(self):
        """While Redis is away: new tasks and sessions are refused, what only reads goes on."""
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

    def fail_over(self):
        self.world.redis.fail_over()
        self.look_back()
        # Whoever still reads from the former master hears nothing.
        self.edit()
        self.world.redis.end_failover()

    def rotate(self):
        """A new key that opens, then seals: no replica is given what it cannot open."""
        newer, older = self.world.new_key(), self.world.keys[:KEPT_KEYS - 1]
        for keys in ([*older, newer], [newer, *older]):
            self.world.keys = keys
            before = [(replica, replica.process.keys_read) for replica in self.world.replicas]
            for replica, _ in before:
                replica.write_keys(keys)
            poll("keys are read", lambda: all(replica.process.keys_read > read for replica, read in before))

    def rotate_issuer_keys(self):
        """The issuer signs with a key at once that no replica knows."""
        self.world.issuer.add_key()


def run(rounds, seed, world):
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
    binary = os.path.abspath(options.folio)
    for check in (check_faults, check_tasks):
        with tempfile.TemporaryDirectory(prefix="folio-replicas-") as place:
            try:
                check(binary, Path(place))
            except Failed as failed:
                sys.exit(f"FAIL: {failed}")
    with tempfile.TemporaryDirectory(prefix="folio-replicas-") as place:
        world = World(binary, Path(place), options.seed)
        try:
            run(options.rounds, options.seed, world)
        except Failed as failed:
            for replica in world.replicas:
                print(f"  :{replica.process.port} said:\n    " + "    ".join(replica.process.lines[-25:]), end="", file=sys.stderr)
            print(f"outages {world.redis.outages[-4:]}, losses {world.redis.losses[-4:]}, {dict(world.counts)}", file=sys.stderr)
            sys.exit(f"FAIL, seed {options.seed}, after {getattr(world, 'last_event', [])}, at {now():.2f}: {world.failure or failed}")
        finally:
            world.end()
        print("all held:", ", ".join(f"{what} {count}" for what, count in sorted(world.counts.items())))
        print(f"Redis was slower than a replica waits {world.redis.slow} times, as the machine was busy")


if __name__ == "__main__":
    main()
