#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_jdwp_peers.py - memtop attach --jdwp at a port without a Java machine, or with a lying one:
memtop ends with one clear line."""
import socket
import struct
import subprocess
import threading

from cli import memtop, one_line
from harness import at_end, at_once, main, mostly_waits, test


def attach(port, *more):
    return memtop("attach", "--no-view", "--jdwp", str(port), *more, seconds=400)


class Peer:
    """Listens, and answers each connection with serve(socket)."""

    def __init__(self, serve):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.serve = serve
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        at_end(self.listener.close)

    def run(self):
        try:
            while True:
                peer, _ = self.listener.accept()
                with peer:
                    self.serve(peer)
        except OSError:
            pass


def packet(number, flags, rest, length=None):
    return struct.pack(">IIB", 11 + len(rest) - 2 if length is None else length, number, flags) + rest


def greeted(peer):
    assert peer.recv(14, socket.MSG_WAITALL) == b"JDWP-Handshake"
    peer.sendall(b"JDWP-Handshake")


def command(peer):
    """id, set, command, data of the next one."""
    head = peer.recv(11, socket.MSG_WAITALL)
    if len(head) < 11:
        raise OSError("gone")
    length, number, _, group, which = struct.unpack(">IIBBB", head)
    return number, group, which, peer.recv(length - 11, socket.MSG_WAITALL) if length > 11 else b""


def answers(table, sizes=(8, 8, 8, 8, 8)):
    """A machine that gives these answers (data, or (error, data)), else error 99."""
    def serve(peer):
        greeted(peer)
        while True:
            number, group, which, _ = command(peer)
            answer = struct.pack(">5I", *sizes) if (group, which) == (1, 7) else table.get((group, which), (99, b""))
            answer = answer(peer) if callable(answer) else answer
            error, data = answer if isinstance(answer, tuple) else (0, answer)
            peer.sendall(packet(number, 0x80, struct.pack(">H", error) + data))
    return serve


def text(s):
    return struct.pack(">I", len(s)) + s


VERSION = text(b"d") + struct.pack(">II", 17, 0) + text(b"17") + text(b"VM")


def then(*sent):
    def serve(peer):
        greeted(peer)
        command(peer)
        for piece in sent:
            peer.sendall(piece)
        while peer.recv(4096):
            pass
    return serve


def silent(peer):
    while peer.recv(4096):
        pass


def drip(peer):
    """A byte now and then, for ever: a packet that never ends."""
    greeted(peer)
    peer.sendall(struct.pack(">IIB", 1 << 20, 1, 0x80))
    while True:
        peer.sendall(b"x")
        threading.Event().wait(0.05)


def flood(peer):
    """Events without end."""
    greeted(peer)
    while True:
        peer.sendall(packet(7, 0, b"\x40\x64" + b"\x01" + struct.pack(">I", 0x7fffffff) + b"\x02" * 40) * 100)


def http(peer):
    peer.recv(64)
    peer.sendall(b"HTTP/1.0 400 B\x1b[31mad\r\n\r\n")


PEERS = {
    "http": (http, "not a Java debug port: it answers \"HTTP/1.0 400 B"),
    "closes": (lambda peer: None, "closed"),
    "closes_later": (lambda peer: peer.sendall(peer.recv(14)), "connection was lost"),
    "silent": (silent, "does not answer"),
    "half_a_handshake": (lambda peer: (peer.sendall(b"JDWP-"), silent(peer)), "does not answer"),
    "echo": (lambda peer: [peer.sendall(peer.recv(4096)) for _ in range(50)], ""),
    "huge": (then(packet(1, 0x80, b"\0\0", 0xffffffff)), "more than 16 MiB"),
    "large_and_no_more": (then(packet(1, 0x80, b"\0\0", 15 << 20)), "does not answer"),
    "short": (then(packet(1, 0x80, b"\0\0", 3)), "shorter than its header"),
    "no_sizes": (then(packet(1, 0x80, b"\0\0" + b"\0\0\0\x08")), "no sizes"),
    "wide_ids": (answers({}, (8, 9, 8, 8, 8)), "no sizes"),
    "no_ids": (answers({}, (8, 0, 8, 8, 8)), "no sizes"),
    "another_reply": (then(packet(2, 0x80, b"\0\0")), "does not answer"),
    "drip": (drip, "does not answer"),
    "flood": (flood, ""),
    "errors": (answers({}), "error 99 (NOT_IMPLEMENTED)"),
    "dead": (answers({(1, 1): (112, b"")}), "error 112 (VM_DEAD)"),
    "no_threads": (answers({(1, 1): VERSION, (1, 4): struct.pack(">I", 0)}), "none of its threads"),
    "threads_that_are_not_there": (answers({(1, 1): VERSION, (1, 4): struct.pack(">I", 0xffffffff)}), "none of its threads"),
    "long_texts": (answers({(1, 1): struct.pack(">I", 0xfffffff0), (1, 4): b""}), "none of its threads"),
    "no_thread_comes": (answers({(1, 1): VERSION, (1, 4): struct.pack(">IQ", 1, 5), (11, 1): text(b"main"), (15, 1): struct.pack(">I", 9)}),
                        "none came"),
}


def event_then(peer):
    """One that has a thread to offer, and nothing good after that."""
    peer.sendall(packet(77, 0, b"\x40\x64\x01" + struct.pack(">IBIQBQQQ", 1, 1, 9, 5, 1, 2, 3, 4)))
    return struct.pack(">I", 9)


STOPPED = {(1, 1): VERSION, (1, 4): struct.pack(">IQ", 1, 5), (11, 1): text(b"main"), (15, 1): event_then, (15, 2): b"", (11, 3): b"",
           (1, 6): b""}
PEERS["no_classes"] = (answers({**STOPPED, (1, 2): struct.pack(">I", 0)}), "does not know its process id")
PEERS["no_methods"] = (answers({**STOPPED, (1, 2): struct.pack(">IBQI", 1, 1, 6, 7), (2, 5): struct.pack(">I", 0xffff)}), "does not know its process id")
PEERS["garbage_for_results"] = (answers({**STOPPED, (1, 2): struct.pack(">IBQI", 1, 1, 6, 7), (2, 5): struct.pack(">IQ", 1, 8)
                                         + text(b"<init>") + text(b"(Ljava/lang/String;)V") + b"\0\0\0\1", (1, 11): struct.pack(">Q", 3),
                                         (9, 7): b"", (3, 4): b"\xff"}), "does not know its process id")


@mostly_waits
def t_peers_that_are_no_machine():
    def check(name):
        serve, words = PEERS[name]
        peer = Peer(serve)
        done = attach(peer.port, "--timeout", "3")
        last = done.stderr.splitlines(keepends=True)[-1:]
        one_line(subprocess.CompletedProcess(done.args, done.returncode, done.stdout, "".join(last)), 3, f":{peer.port}: ", words)
        assert "\x1b" not in done.stderr, f"{name}: {done.stderr!r}"
    at_once(check, [(name,) for name in PEERS])


@test
def t_no_debugger_port_listens():
    with socket.create_server(("127.0.0.1", 0)) as s:
        free = s.getsockname()[1]
    one_line(attach(free), 3, "nothing listens", "-agentlib:jdwp")


if __name__ == "__main__":
    main()
