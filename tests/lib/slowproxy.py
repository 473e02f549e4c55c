#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""slowproxy.py - a slow, far link: forwards one address to another at a rate, with a delay both ways.

    slowproxy.py --to @memtop.4121 --rate 100000 --delay 0.3      prints "listening tcp:PORT"

Each direction is a pipe of rate x delay bytes (in flight) behind small socket buffers, so a sender
that outruns its reader meets a full pipe, as on a real link. SIGUSR1 cuts all connections; new ones
are accepted as before.
"""
import argparse
import asyncio
import collections
import os
import signal
import socket

CHUNK = 2048


class Direction:
    """Bytes from one socket to the other: each chunk leaves at the rate and arrives `delay` later."""

    def __init__(self, rate, delay):
        self.rate, self.delay = rate, delay
        self.queue, self.under_way = collections.deque(), 0
        self.changed = asyncio.Event()
        self.free_at = 0.0
        self.total = 0

    async def take(self, source):
        loop = asyncio.get_running_loop()
        room = int(self.rate * self.delay) + 8192
        while True:
            while self.under_way + CHUNK > room:
                self.changed.clear()
                await self.changed.wait()
            data = await loop.sock_recv(source, CHUNK)
            now = loop.time()
            self.free_at = max(now, self.free_at) + len(data) / self.rate
            self.queue.append((self.free_at + self.delay, data))
            self.under_way += len(data)
            self.changed.set()
            if not data:
                return
            # the line is busy until then: do not read ahead of it
            await asyncio.sleep(max(0, self.free_at - loop.time()))

    async def give(self, sink):
        loop = asyncio.get_running_loop()
        while True:
            while not self.queue:
                self.changed.clear()
                await self.changed.wait()
            due, data = self.queue.popleft()
            await asyncio.sleep(max(0, due - loop.time()))
            if not data:
                try:
                    sink.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
                return
            await loop.sock_sendall(sink, data)
            self.total += len(data)
            self.under_way -= len(data)
            self.changed.set()


def small(s):
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        s.setsockopt(socket.SOL_SOCKET, option, 4096)
    s.setblocking(False)


async def connect(where):
    loop = asyncio.get_running_loop()
    if where.startswith("tcp:"):
        s, address = socket.socket(), ("127.0.0.1", int(where[4:]))
    else:
        s = socket.socket(socket.AF_UNIX)
        address = "\0" + where[1:] if where.startswith("@") else where.removeprefix("unix:")
    small(s)
    await loop.sock_connect(s, address)
    return s


async def carry(client, args, cut):
    loop = asyncio.get_running_loop()
    try:
        server = await connect(args.to)
    except OSError:
        client.close()  # as ssh and adb do: the connection was taken, then it ends
        return
    up, down = Direction(args.rate, args.delay), Direction(args.rate, args.delay)
    tasks = [loop.create_task(c) for c in (up.take(client), up.give(server), down.take(server), down.give(client))]
    cutter = loop.create_task(cut.wait())
    try:
        everything = asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait([everything, cutter], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for t in [*tasks, cutter]:
            t.cancel()
        client.close()
        server.close()


async def main(args):
    loop = asyncio.get_running_loop()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", args.port))
    listener.listen()
    listener.setblocking(False)
    print(f"listening tcp:{listener.getsockname()[1]}", flush=True)
    cut = asyncio.Event()

    def cut_all():
        nonlocal cut
        cut.set()
        cut = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, cut_all)
    carried = set()
    while True:
        client, _ = await loop.sock_accept(listener)
        small(client)
        task = loop.create_task(carry(client, args, cut))
        carried.add(task)
        task.add_done_callback(carried.discard)


if __name__ == "__main__":
    a = argparse.ArgumentParser()
    a.add_argument("--to", required=True, help="tcp:PORT, @NAME or unix:PATH")
    a.add_argument("--port", type=int, default=0)
    a.add_argument("--rate", type=float, default=100_000, help="bytes a second, each way")
    a.add_argument("--delay", type=float, default=0.3, help="seconds, each way")
    try:
        asyncio.run(main(a.parse_args()))
    except KeyboardInterrupt:
        os._exit(130)
