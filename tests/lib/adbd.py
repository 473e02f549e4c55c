#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""adbd.py - the device side of adb, enough for the genuine client to connect, forward, push, pull, and run a shell.

    adbd.py          prints "listening tcp:PORT"; then: adb connect 127.0.0.1:PORT
      --root DIR     a device's files: /data in the shell's commands and in pushes is DIR/data, DIR/packages has
                     its apps, DIR/bin its commands (tests/lib/phone.py makes them)
      --old          an old daemon: no shell_v2 (no exit status, stderr within stdout, CR LF); `jdwp` ends
      --state WORD   what `adb devices` says: device, recovery, ...; unauthorized: no key is ever accepted
      --deaf NAME    opens of services that begin so are never answered

Messages have a 24-byte little-endian head: command, arg0, arg1, length, checksum, command ^ 0xffffffff.
CNXN is answered with ours (no AUTH; at version 0x01000001 checksums are 0); OPEN with OKAY, or CLSE when
the service cannot be had; WRTE with OKAY, one in flight per stream. Services: localabstract:NAME and
tcp:PORT (loopback only), shell: and shell,v2,...: (packets of id, u32 length: 1 stdout, 2 stderr, 3 status), sync:
(STAT, SEND, RECV), jdwp and track-jdwp (pids of apps with a debug port), jdwp:PID (a bridge to that port).
Loopback only, nobody else's device is spoken for.
"""
import argparse
import asyncio
import glob
import os
import re
import struct

CNXN, OPEN, OKAY, CLSE, WRTE, AUTH = (int.from_bytes(name, "little") for name in (b"CNXN", b"OPEN", b"OKAY", b"CLSE", b"WRTE", b"AUTH"))
VERSION, MAX_DATA = 0x01000001, 256 * 1024
OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--root")
OPTIONS.add_argument("--old", action="store_true")
OPTIONS.add_argument("--state", default="device")
OPTIONS.add_argument("--deaf", default="nothing")
ARGS = None


def inside(text):
    """A device's paths, as they are here."""
    return re.sub(r"(?<![\w.-])/data(?=/)", ARGS.root + "/data", text) if ARGS.root else text


def banner():
    state = "device" if ARGS.state == "unauthorized" else ARGS.state
    features = "cmd" if ARGS.old else "cmd,shell_v2"
    return f"{state}::ro.product.name=memtop;ro.product.model=memtop;ro.product.device=memtop;features={features}".encode()


def debug_ports():
    """{pid: port} of the apps that run and take a debugger."""
    ports, packages = {}, os.path.join(ARGS.root or "/nonexistent", "packages")
    for name in os.listdir(packages) if os.path.isdir(packages) else ():
        try:
            with open(f"{packages}/{name}/pid", encoding="ascii") as pid, open(f"{packages}/{name}/debug", encoding="ascii") as port:
                number = int(pid.read())
                os.kill(number, 0)
                ports[number] = int(port.read())
        except (OSError, ValueError):
            pass
    return ports


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
        """A socket service: the other end's output, until it ends."""
        try:
            while data := await reader.read(65536):
                await self.send(data)
        except ConnectionError:
            pass
        self.close()

    async def shell(self, process, v2):
        async def forward(pipe, number):
            while data := await pipe.read(65536):
                if not v2 and ARGS.old:
                    data = data.replace(b"\n", b"\r\n")
                await self.send(struct.pack("<BI", number, len(data)) + data if v2 else data)
        await asyncio.gather(forward(process.stdout, 1), *([forward(process.stderr, 2)] if v2 else []))
        status = await process.wait()
        if v2:
            await self.send(struct.pack("<BIB", 3, 1, status & 255))
            await self.may_send.wait()
        self.close()

    async def list_debuggable(self):
        """Some daemons end it by themselves, some do not."""
        if text := "".join(f"{pid}\n" for pid in sorted(debug_ports())).encode():
            await self.send(text)
            await self.may_send.wait()
        if not ARGS.old:
            await asyncio.sleep(86400)
        self.close()


class Queue:
    """What the client writes, for a service that reads it here."""

    def __init__(self):
        self.reader = asyncio.StreamReader()
        self.write, self.close = self.reader.feed_data, self.reader.feed_eof

    async def drain(self):
        pass


class Sync:
    """The file service: requests of 4 letters, u32 length, and so many bytes."""

    def __init__(self, stream, reader):
        self.stream, self.reader = stream, reader

    async def run(self):
        try:
            while True:
                name, length = struct.unpack("<4sI", await self.reader.readexactly(8))
                path = inside((await self.reader.readexactly(length)).decode()) if length else ""
                if name == b"QUIT":
                    break
                await {b"STAT": self.stat, b"SEND": self.take, b"RECV": self.give}[name](path)
        except (asyncio.IncompleteReadError, KeyError):
            pass
        self.stream.close()

    async def fail(self, why):
        await self.stream.send(struct.pack("<4sI", b"FAIL", len(why)) + why.encode())

    async def stat(self, path):
        try:
            s = os.stat(path)
            await self.stream.send(struct.pack("<4s3I", b"STAT", s.st_mode, s.st_size & 0xffffffff, int(s.st_mtime)))
        except OSError:
            await self.stream.send(struct.pack("<4s3I", b"STAT", 0, 0, 0))

    async def take(self, spec):
        path, error, out = spec.rpartition(",")[0], None, None
        try:
            out = open(path, "wb")
        except OSError as e:
            error = e.strerror
        while True:
            name, length = struct.unpack("<4sI", await self.reader.readexactly(8))
            if name != b"DATA":
                break
            data = await self.reader.readexactly(length)
            if ARGS.root and os.path.exists(ARGS.root + "/full"):
                error = "No space left on device"
            elif out:
                out.write(data[:100] if ARGS.root and os.path.exists(ARGS.root + "/short") else data)
        if out:
            out.close()
        await (self.fail(error) if error else self.stream.send(struct.pack("<4sI", b"OKAY", 0)))

    async def give(self, path):
        try:
            with open(path, "rb") as f:
                while data := f.read(65536):
                    await self.stream.send(struct.pack("<4sI", b"DATA", len(data)) + data)
            await self.stream.send(struct.pack("<4sI", b"DONE", 0))
        except OSError as e:
            await self.fail(e.strerror)


class Device:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.streams, self.last, self.max_data = {}, 0, 4096

    def message(self, command, arg0, arg1, data=b""):
        self.writer.write(struct.pack("<6I", command, arg0, arg1, len(data), 0, command ^ 0xffffffff) + data)

    async def socket(self, stream, service):
        kind, _, name = service.partition(":")
        if kind == "localabstract":
            reader, stream.writer = await asyncio.open_unix_connection("\0" + name)
        else:
            port = debug_ports()[int(name)] if kind == "jdwp" else int(name)
            if kind == "jdwp" and any(os.stat(f).st_mode & 0o222 for f in glob.glob(ARGS.root + "/data/user/0/*/code_cache/*.so")):
                raise OSError("apps for API 37 and later load nothing that can be written to")
            reader, stream.writer = await asyncio.open_connection("127.0.0.1", port)
        return stream.copy(reader)

    async def shell(self, stream, service):
        head, _, command = service.partition(":")
        v2 = "v2" in head
        env = {**os.environ, "PHONE": ARGS.root or "/nonexistent", "PATH": f"{ARGS.root}/bin:{os.environ['PATH']}"} if ARGS.root else None
        process = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", inside(command), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if v2 else asyncio.subprocess.STDOUT, env=env)
        return stream.shell(process, v2)

    async def service(self, stream, service):
        """The work of one service; OSError, ValueError, KeyError: it cannot be had."""
        if service.startswith(("localabstract:", "tcp:", "jdwp:")):
            return await self.socket(stream, service)
        if service.startswith("shell"):
            return await self.shell(stream, service)
        if service == "sync:":
            stream.writer = Queue()
            return Sync(stream, stream.writer.reader).run()
        if service in ("jdwp", "track-jdwp"):
            return stream.list_debuggable()
        raise OSError("no such service")

    async def open(self, theirs, service):
        if service.startswith(ARGS.deaf):
            return
        self.last += 1
        stream = Stream(self, self.last, theirs)
        try:
            work = await self.service(stream, service)
        except (OSError, ValueError, KeyError):
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
        if command == CNXN and ARGS.state != "unauthorized":
            self.max_data = min(arg1, MAX_DATA)
            self.message(CNXN, VERSION, MAX_DATA, banner())
        elif command == CNXN or (command == AUTH and arg0 == 2):  # a token to sign; a signature that nobody knows
            self.message(AUTH, 1, 0, b"t" * 20)
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
    ARGS = OPTIONS.parse_args()
    asyncio.run(main())
