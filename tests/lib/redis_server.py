# SPDX-License-Identifier: MIT
"""redis_server.py - a private redis-server as a target, its load, and its own memory figures.

used_memory is redis' own sum: malloc_usable_size() of every block from its zmalloc functions. It
excludes blocks of libc, Lua, libcrypto and libstdc++, and counts sizes as jemalloc rounds them up.
size_class() is that rounding, so both can be compared block by block.
"""
import contextlib
import os
import re
import signal
import socket
import subprocess

import forward
from harness import environment, need, start, stop, temporary_folder, wait_for


def size_class(size):
    """What jemalloc makes of a request: 8, multiples of 16 to 128, then four steps to each doubling."""
    if size <= 8:
        return 8
    step = 16 if size <= 128 else 1 << ((size - 1).bit_length() - 3)
    return -(-size // step) * step


def by_zmalloc(frames):
    """Whether a stack of a JSON report went through redis' own allocator."""
    return bool(frames) and re.match(r"z(try)?(m|c|re)alloc", frames[0]["function"] or "") is not None


class Connection:
    """One client of redis, which speaks just enough of its protocol."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), 10)
        self.file = self.sock.makefile("rb")

    def send(self, *words):
        parts = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.sock.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))

    def answer(self):
        line = self.file.readline().rstrip(b"\r\n")
        assert line and not line.startswith(b"-"), f"redis: {line!r}"
        if line.startswith(b"$"):
            return self.file.read(int(line[1:]) + 2)[:-2] if line != b"$-1" else None
        return line[1:]

    def ask(self, *words):
        self.send(*words)
        return self.answer()

    def info(self, section):
        return dict(line.split(":", 1) for line in self.ask("INFO", section).decode().split("\r\n") if ":" in line)

    def close(self):
        self.file.close()
        self.sock.close()


class Redis:
    """A redis-server on a private port and folder. How it is started is the caller's: command() or start()."""

    def __init__(self):
        need("redis-server", "redis-benchmark")
        self.port, self.folder = forward.free_port(), temporary_folder()
        self.process = self.pid = None

    def command(self):
        # no slow log: on a loaded machine its entries are blocks of their own
        return ["/usr/bin/redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly",
                "no", "--enable-debug-command", "local", "--slowlog-log-slower-than", "-1",
                "--dir", self.folder, "--pidfile", f"{self.folder}/redis.pid"]

    def start(self, **named):
        """With the agent preloaded, without memtop."""
        words = self.command()
        self.process = forward.watched(words[0], *words[1:], stdout=subprocess.DEVNULL, **named)
        self.pid = self.process.pid
        return self.connect()

    def connect(self):
        def up():
            with contextlib.suppress(ConnectionRefusedError):
                return Connection(self.port)
        connection = wait_for(up, 15, "redis-server")
        self.pid = self.pid or int(connection.info("server")["process_id"])
        return connection

    @property
    def target(self):
        return f"@memtop.{self.pid}"

    def alive(self):
        try:
            with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as f:
                return f.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def end(self):
        if self.pid and self.alive():
            os.kill(self.pid, signal.SIGKILL)

    def load(self, test="set", requests=200_000, keys=50_000, size=200, clients=20):
        return Load(self.port, test, requests, keys, size, clients)


class Load:
    """redis-benchmark: so many requests and no more. pause() lets the server come to rest in the middle."""

    def __init__(self, port, test, requests, keys, size, clients):
        self.process = start(["redis-benchmark", "-p", str(port), "-t", test, "-n", str(requests), "-r", str(keys),
                              "-d", str(size), "-c", str(clients), "-q"], env=environment(), stdout=subprocess.DEVNULL)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def running(self):
        return self.process.poll() is None

    def wait(self, seconds=120):
        assert self.process.wait(seconds) == 0, "redis-benchmark failed"

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            self.go_on()
        stop(self.process)
