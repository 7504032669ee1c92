"""Redis as replicas share it, which stands still, ends and is emptied."""

import os
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


class Redis:
    """Redis, and when it was away or lost what it held."""

    def __init__(self, place):
        self.port, self.place = free_port(), place / "redis"
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
