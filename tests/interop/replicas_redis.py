"""Redis as replicas share it: a master and a follower that a Sentinel knows. It stands still, ends, is emptied and fails over."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager

from operation import free_port
from served import SOON, Failed

GRACE = 2.0
"""Within so many seconds after its return all is as it was before Redis was away."""
PAUSE = 60
"""For how many seconds a master takes no writes that is about to be a follower: for longer than that takes."""


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


class Server:
    """A process of Redis, or of its Sentinel."""

    def __init__(self, place):
        self.port, self.place, self.process = free_port(), place, None
        place.mkdir()

    def launch(self, *arguments):
        command = ["redis-server", *arguments, "--port", str(self.port), "--dir", str(self.place)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        poll("Redis answers", lambda: self.command("PING") == "PONG")

    def start(self, master=None):
        # What it has answered is written before: nothing is lost with its process.
        self.launch("--save", "", "--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0",
                    *(["--replicaof", f"127.0.0.1 {master.port}"] if master else []))

    def command(self, words):
        """What it answers; nothing if it is away."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=SOON) as connection, connection.makefile("rb") as stream:
                connection.sendall(words.encode() + b"\r\n")
                return read_reply(stream)
        except OSError:
            return None

    def replication(self):
        return dict(re.findall(r"(\w+):(.*?)\r\n", self.command("INFO replication") or ""))

    def readers(self):
        """How many connections wait for messages."""
        return (self.command("CLIENT LIST") or "").count("cmd=xread ")

    def kill(self):
        self.process.kill()
        self.process.wait()


def read_reply(stream):
    line = stream.readline().decode().strip()
    if line.startswith("$"):
        return stream.read(int(line[1:]) + len("\r\n")).decode().removesuffix("\r\n")
    if line.startswith("*"):
        return [read_reply(stream) for _ in range(int(line[1:]))]
    return line.removeprefix("+")


class Redis:
    """The servers, and when they were away or lost what they held."""

    def __init__(self, place):
        self.outages, self.losses, self.slow = [], [], 0
        self.master, self.follower, self.sentinel = (Server(place / name) for name in ("redis-1", "redis-2", "sentinel"))
        self.master.start()
        self.follower.start(self.master)
        poll("the follower follows", self.follows)
        # It does nothing by itself: a master that is away comes back.
        config = self.sentinel.place / "sentinel.conf"
        config.write_text(f"sentinel monitor desk 127.0.0.1 {self.master.port} 1\nsentinel down-after-milliseconds desk 86400000\n")
        self.sentinel.launch(str(config), "--sentinel")
        self.url = f"redis-sentinel://127.0.0.1:{self.sentinel.port}/0#desk"

    def follows(self):
        return self.follower.replication().get("master_link_status") == "up"

    def follower_has_all(self):
        offsets = [server.replication().get("master_repl_offset") for server in (self.master, self.follower)]
        return offsets[0] == offsets[1]

    def end(self):
        for server in (self.master, self.follower, self.sentinel):
            server.kill()

    @contextmanager
    def away(self):
        outage = [now(), float("inf")]
        self.outages.append(outage)
        yield
        outage[1] = now()

    def stand_still(self, seconds, meanwhile):
        with self.away():
            os.kill(self.master.process.pid, signal.SIGSTOP)
            try:
                end = now() + seconds
                meanwhile()
                # It stands still for as long as it was said, and no check knows how long that is.
                time.sleep(max(0, end - now()))
            finally:
                os.kill(self.master.process.pid, signal.SIGCONT)

    def restart(self, keeps, meanwhile):
        with self.away():
            self.master.kill()
            meanwhile()
            if not keeps:
                shutil.rmtree(self.master.place)
                self.master.place.mkdir()
                self.losses.append(now())
            self.master.start()

    def empty(self):
        with self.away():
            self.losses.append(now())
            if self.master.command("FLUSHALL") != "OK":
                raise Failed("Redis cannot be emptied")

    def fail_over(self):
        """Makes the follower the master, once it has all that was answered."""
        poll("the follower follows", self.follows)
        with self.away():
            if self.master.command(f"CLIENT PAUSE {PAUSE * 1000} WRITE") != "OK":
                raise Failed("Redis cannot be paused")
            poll("the follower has all", self.follower_has_all)
            self.change_master()

    def change_master(self):
        """Makes the follower the master. The former one is a master for seconds more, until the Sentinel has it follow."""
        before, after = self.master, self.follower
        poll("the failover begins", lambda: self.sentinel.command("SENTINEL FAILOVER desk") == "OK")
        poll("the follower is the master", lambda: after.replication().get("role") == "master", PAUSE)
        named = lambda: self.sentinel.command("SENTINEL GET-MASTER-ADDR-BY-NAME desk")[1]
        poll("the Sentinel names the new master", lambda: named() == str(after.port), PAUSE)
        self.master, self.follower = after, before

    def end_failover(self):
        """Has the former master follow. Its Sentinel cannot, as it does not answer that while it takes no writes."""
        self.follower.command(f"REPLICAOF 127.0.0.1 {self.master.port}")
        self.follower.command("CLIENT UNPAUSE")
        poll("the former master follows", self.follows)

    def note_slow(self):
        """The machine is too busy: Redis was slower than a replica waits."""
        self.slow += 1
        self.outages.append([now() - 2, now()])

    def was_away(self, since, until=None):
        until = until or now()
        return any(began <= until and since <= ended + GRACE for began, ended in list(self.outages))

    def lost(self, since):
        """When it lost last what it held, if that was then or later."""
        return max((loss for loss in list(self.losses) if loss >= since), default=None)
