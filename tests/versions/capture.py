#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""capture.py - keeps what a build writes and sends, for all later ones to read. With each release, and before each change of
a format or of the protocol:

    make all test-programs && tests/versions/capture.py build/release 0.2.0

    NAME-one.mtop    a session of one program              NAME-unix.bin   an agent's greeting on a Unix socket and its whole
    NAME-tree.mtop   of a program and its fork                             stream, up to the program's end
    NAME-keys.mtop   with key frames, thinned              NAME-tcp.bin    the same over TCP, without the exchange of proofs
    NAME-dump.mtop   written by the agent itself

What a build cannot do it has no file of. The program is targets/s_phases.c, each figure of which is known. test_versions.py
lists the files.
"""
import os
import shutil
import signal
import sys

import wire
from client import Client, connect_to
from forward import free_port
from harness import TARGETS, child_of, environment, run, start, temporary_folder, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
TOKEN = "0123456789abcdef0123456789abcdef"
LIMIT = 20_000  # bytes of a file


class Tee:
    """A socket whose incoming bytes are kept."""

    def __init__(self, sock):
        self.sock, self.got = sock, b""

    def recv(self, n):
        data = self.sock.recv(n)
        self.got += data
        return data

    def __getattr__(self, name):
        return getattr(self.sock, name)


def captured(agent, folder, address):
    """Greeting and stream, without CHALLENGE and PROOF."""
    listen = f"tcp:{address}" if isinstance(address, int) else address
    process = start([f"{TARGETS}/s_phases", "wait"], env=environment(LD_PRELOAD=agent, MEMTOP_OPTIONS=f"listen={listen}", MEMTOP_TOKEN=TOKEN))
    tee = Tee(connect_to(address))
    c = Client(tee, hello=False)
    c.greeting = c._exactly(12)
    proves = c.greeting[10] >= wire.PROVED
    if proves:
        c.prove(TOKEN)
    else:
        tee.sendall(wire.greeting())
    entry = len(tee.got)
    c.send(wire.CLIENT, features=0, who="capture", token="" if proves or listen[0] == "@" else TOKEN, tick_ns=0)
    for figure, blocks in (("allocated_blocks", 100), ("allocated_blocks", 400), ("freed_blocks", 50)):
        c.until(lambda: c.complete and c.totals[figure] >= blocks, f"{blocks} {figure}")
        os.kill(process.pid, signal.SIGUSR1)
    c.until_final()
    path = f"{folder}/stream"
    with open(path, "wb") as f:
        f.write(c.greeting + tee.got[entry:])
    return path


def recorded(build, folder, *program, **variables):
    """With some seconds between the phases, where it waits."""
    path = f"{folder}/session.mtop"
    agent = f"{build}/libmemtop-agent.so"
    process = start([f"{build}/memtop", "record", "-o", path, "--", *program], env=environment(MEMTOP_AGENT=agent, **variables))
    for _ in range(3 if "wait" in program else 0):
        size = wait_for(lambda: os.path.exists(path) and os.path.getsize(path), what="a session")
        wait_for(lambda: os.path.getsize(path) > size + 500, what="more of it")
        os.kill(child_of(process.pid), signal.SIGUSR1)
    assert process.wait() == 0, process
    return path


def dumped(agent, folder):
    path = f"{folder}/dump.mtop"
    run([f"{TARGETS}/s_phases"], env=environment(LD_PRELOAD=agent, MEMTOP_OPTIONS=f"listen=none dump_at_exit=yes dump_to={path}"))
    return path


def main():
    build, name = (os.path.abspath(sys.argv[1]), sys.argv[2])
    agent, folder = f"{build}/libmemtop-agent.so", temporary_folder()
    phases, tree = f"{TARGETS}/s_phases", f"{TARGETS}/s_tree"
    for end, make in {
            "one.mtop": lambda: recorded(build, folder, phases),
            "tree.mtop": lambda: recorded(build, folder, tree, "child", "fork", "exit"),
            "keys.mtop": lambda: recorded(build, folder, phases, "wait", MEMTOP_TEST_KEY_BYTES="1000", MEMTOP_TEST_THIN_BYTES="1500",
                                          MEMTOP_TEST_THIN_AGES="100"),
            "dump.mtop": lambda: dumped(agent, folder),
            "unix.bin": lambda: captured(agent, folder, f"@memtop.capture.{os.getpid()}"),
            "tcp.bin": lambda: captured(agent, folder, free_port())}.items():
        path, to = make(), f"{HERE}/{name}-{end}"
        if not os.path.exists(path):
            print(f"{name} writes no {end}")
            continue
        assert os.path.getsize(path) <= LIMIT, f"{path}: {os.path.getsize(path)} bytes"
        shutil.copyfile(path, to)
        print(f"{to}: {os.path.getsize(to)} bytes")
        os.remove(path)


if __name__ == "__main__":
    main()
