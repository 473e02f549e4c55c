#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""adbd.py - the device side of adb, enough for the genuine client to connect, forward and run a shell.

    adbd.py          prints "listening tcp:PORT"; then: adb connect 127.0.0.1:PORT

Messages have a 24-byte little-endian head: command, arg0, arg1, length, checksum, command ^ 0xffffffff.
CNXN is answered with ours (no AUTH; at version 0x01000001 checksums are 0); OPEN with OKAY, or CLSE when
the service cannot be had; WRTE with OKAY, one in flight per stream. Services: localabstract:NAME and
tcp:PORT (loopback only), shell: and shell,v2,...: (packets of id, u32 length: 1 stdout, 2 stderr, 3 status).
Loopback only, nobody else's device is spoken for.
"""
import asyncio
import struct

CNXN, OPEN, OKAY, CLSE, WRTE = (int.from_bytes(name, "little") for name in (b"CNXN", b"OPEN", b"OKAY", b"CLSE", b"WRTE"))
VERSION, MAX_DATA = 0x01000001, 256 * 1024
BANNER = b"device::ro.product.name=memtop;ro.product.model=memtop;ro.product.device=memtop;features=cmd,shell_v2"


class Stream:
    """One service that the client opened; `ours` is its number here, `theirs` the client's."""

    def __init__(self, device, ours, theirs):
        self.device, self.ours, self.theirs = device, ours, theirs
        self.may_send = asyncio.Event()
        self.may_send.set()
        self.writer = None
        self.tasks = []

    async def send(self, data):
        for i in range(0, len(data), self.device.max_data):
            await self.may_send.wait()
            self.may_send.clear()
            self.device.message(WRTE, self.ours, self.theirs, data[i:i + self.device.max_data])

    async def got(self, data):
        if self.writer:
            try:
                self.writer.write(data)
                await self.writer.drain()
            except ConnectionError:
                self.close()
                return
        self.device.message(OKAY, self.ours, self.theirs)

    def close(self, tell=True):
        if self.device.streams.pop(self.ours, None):
            if tell:
                self.device.message(CLSE, self.ours, self.theirs)
            if self.writer:
                self.writer.close()
            for t in self.tasks:
                if t is not asyncio.current_task():
                    t.cancel()

    def spawn(self, work):
        self.tasks.append(asyncio.ensure_future(work))

    async def copy(self, reader):
        """A socket service: what the other end says, until it ends."""
        try:
            while data := await reader.read(65536):
                await self.send(data)
        except ConnectionError:
            pass
        self.close()

    async def shell(self, process, v2):
        async def forward(pipe, number):
            while data := await pipe.read(65536):
                await self.send(struct.pack("<BI", number, len(data)) + data if v2 else data)
        await asyncio.gather(forward(process.stdout, 1), *([forward(process.stderr, 2)] if v2 else []))
        status = await process.wait()
        if v2:
            await self.send(struct.pack("<BIB", 3, 1, status & 255))
            await self.may_send.wait()
        self.close()


class Device:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.streams, self.last, self.max_data = {}, 0, 4096

    def message(self, command, arg0, arg1, data=b""):
        self.writer.write(struct.pack("<6I", command, arg0, arg1, len(data), 0, command ^ 0xffffffff) + data)

    async def open(self, theirs, service):
        self.last += 1
        stream = Stream(self, self.last, theirs)
        try:
            if service.startswith(("localabstract:", "tcp:")):
                kind, _, name = service.partition(":")
                if kind == "tcp":
                    reader, stream.writer = await asyncio.open_connection("127.0.0.1", int(name))
                else:
                    reader, stream.writer = await asyncio.open_unix_connection("\0" + name)
                work = stream.copy(reader)
            elif service.startswith("shell"):
                head, _, command = service.partition(":")
                v2 = "v2" in head
                process = await asyncio.create_subprocess_exec(
                    "/bin/sh", "-c", command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE if v2 else asyncio.subprocess.STDOUT)
                work = stream.shell(process, v2)
            else:
                raise OSError("no such service")
        except (OSError, ValueError):
            self.message(CLSE, 0, theirs)
            return
        self.streams[stream.ours] = stream
        self.message(OKAY, stream.ours, theirs)
        stream.spawn(work)

    async def run(self):
        try:
            while True:
                head = await self.reader.readexactly(24)
                command, arg0, arg1, length, _, magic = struct.unpack("<6I", head)
                if magic != command ^ 0xffffffff or length > 1 << 20:
                    return
                data = await self.reader.readexactly(length)
                await self.handle(command, arg0, arg1, data)
                await self.writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for s in list(self.streams.values()):
                s.close(tell=False)
            self.writer.close()

    async def handle(self, command, arg0, arg1, data):
        if command == CNXN:
            self.max_data = min(arg1, MAX_DATA)
            self.message(CNXN, VERSION, MAX_DATA, BANNER)
        elif command == OPEN:
            await self.open(arg0, data.rstrip(b"\0").decode())
        elif command == WRTE and arg1 in self.streams:
            await self.streams[arg1].got(data)
        elif command == OKAY and arg1 in self.streams:
            self.streams[arg1].may_send.set()
        elif command == CLSE and arg1 in self.streams:
            self.streams[arg1].close(tell=False)
        elif command == WRTE:
            self.message(CLSE, 0, arg0)


async def main():
    server = await asyncio.start_server(lambda r, w: Device(r, w).run(), "127.0.0.1", 0)
    print(f"listening tcp:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
