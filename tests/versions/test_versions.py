#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_versions.py - old and new together: sessions and streams that earlier versions wrote (capture.py) give the figures that
they always gave, and what differs is named with its version."""
import json
import os
import re
import socket
import threading

import wire
from cli import memtop, one_line
from harness import (AGENT, MEMTOP, TARGETS, Synthetic, at_end, environment, main, recorded, report, temporary_folder,
                     test, wait_for)
from served import Server, phases
from term import Terminal

HERE = os.path.dirname(os.path.abspath(__file__))
GREETING = 12  # bytes
TOKEN = "0123456789abcdef0123456789abcdef"  # capture.py's
# file: the version of its agent, and of the file's format or of the stream's protocol
ONE = {"0.1.0-8c2d3d61-one.mtop": ("0.1.0", 1), "0.1.0-90485f8-one.mtop": ("0.1.0", 1), "0.1.0-24c594fc-one.mtop": ("0.1.0", 1),
       "0.2.0-one.mtop": ("0.2.0", 1), "0.2.0-keys.mtop": ("0.2.0", 2), "0.2.0-dump.mtop": ("0.2.0", 1)}
TREE = {"0.1.0-24c594fc-tree.mtop": ("0.1.0", 2), "0.2.0-tree.mtop": ("0.2.0", 2)}
STREAMS = {"0.1.0-8c2d3d61-unix.bin": ("0.1.0", 1), "0.1.0-8c2d3d61-tcp.bin": ("0.1.0", 1), "0.1.0-90485f8-unix.bin": ("0.1.0", 1),
           "0.1.0-90485f8-tcp.bin": ("0.1.0", 1), "0.1.0-24c594fc-unix.bin": ("0.1.0", 1), "0.1.0-24c594fc-tcp.bin": ("0.1.0", 2),
           "0.2.0-unix.bin": ("0.2.0", 1), "0.2.0-tcp.bin": ("0.2.0", 2)}
PHASES = {"live_bytes": 350 * 65536, "live_blocks": 350, "allocated_bytes": 400 * 65536, "allocated_blocks": 400,
          "freed_bytes": 50 * 65536, "freed_blocks": 50}


def contents(name):
    with open(f"{HERE}/{name}", "rb") as f:
        return f.read()


def is_of_the_phases(r, version, named=True):
    """s_phases, whole, to its end; streams and dumps have no names of functions."""
    assert r["agent"]["version"] == version, r["agent"]
    assert r["program"]["state"] == "exited" and r["program"]["status"] == 0 and r["program"]["complete"], r["program"]
    assert {key: r["totals"][key] for key in PHASES} == PHASES, r["totals"]
    stacks = {s["frames"][0]["function"] if named else s["live_blocks"]: s["live_bytes"] for s in r["stacks"]}
    assert stacks == {"later_phase" if named else 300: 300 * 65536, "early_phase" if named else 50: 50 * 65536}, stacks


@test
def t_every_file_is_read():
    kept = {name for name in os.listdir(HERE) if name.endswith((".mtop", ".bin"))}
    assert kept == {*ONE, *TREE, *STREAMS}, kept ^ {*ONE, *TREE, *STREAMS}
    assert all(os.path.getsize(f"{HERE}/{name}") < 20_000 for name in kept)


@test
def t_sessions_of_each_format():
    for name, (version, form) in {**ONE, **TREE}.items():
        data = contents(name)
        assert data[:10] == b"MEMTOPS\n" + bytes((form, 0)), f"{name}: {data[:10]}"
        r = report(f"{HERE}/{name}")
        if name in ONE:
            is_of_the_phases(r, version, named="dump" not in name)  # an agent alone knows no names
        else:
            assert r["agent"]["version"] == version, (name, r["agent"])
            assert sorted((p["name"], p["allocated_blocks"], p["forked"]) for p in r["processes"]) == \
                [("s_tree", 5, True), ("s_tree", 10, False)], (name, r["processes"])
    keys = [data for data in contents("0.2.0-keys.mtop").split(b"BLK2")[1:] if data[27] & 0x80]
    assert len(keys) >= 2, "key frames are what the file is kept for"


@test
def t_sessions_of_each_format_are_compared():
    """The same program by the first memtop and by a new one: no difference."""
    first = f"{HERE}/0.1.0-8c2d3d61-one.mtop"
    for name in ONE:
        done = memtop("diff", "--format", "json", first, f"{HERE}/{name}")
        assert done.returncode == 0, (name, done.stderr)
        totals = json.loads(done.stdout)["totals"]
        assert totals["kind"] == "same" and set(totals["change"].values()) == {0}, (name, totals)


class Replay:
    """An agent of a kept stream: greets, asks for the proof where that one did, and says all when a viewer has come."""

    def __init__(self, data, tcp):
        self.greeting, self.stream = data[:GREETING], data[GREETING:]
        if tcp:
            self.socket = socket.create_server(("127.0.0.1", 0))
            self.address = f":{self.socket.getsockname()[1]}"
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind("")  # the kernel chooses an abstract name
            self.socket.listen()
            self.address = "@" + self.socket.getsockname()[1:].decode()
        at_end(self.socket.close)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with self.socket.accept()[0] as peer:
            peer.sendall(self.greeting)
            proves, splitter, nonce = self.greeting[10] >= wire.PROVED, wire.Splitter(), os.urandom(wire.NONCE_LEN)
            if proves:
                peer.sendall(wire.frame(wire.CHALLENGE, nonce=nonce))
            theirs = peer.recv(GREETING, socket.MSG_WAITALL)
            while data := peer.recv(65536):
                for kind, body in splitter.feed(data):
                    if kind == wire.RESPONSE:
                        value = wire.decode(kind, body)
                        exchange = self.greeting, nonce, theirs, value["nonce"]
                        assert value["proof"] == wire.proof(TOKEN, wire.LABEL_CLIENT, *exchange), "memtop's proof is wrong"
                        peer.sendall(wire.frame(wire.PROOF, proof=wire.proof(TOKEN, wire.LABEL_AGENT, *exchange)))
                    elif kind == wire.CLIENT:
                        peer.sendall(self.stream)


@test
def t_agents_of_each_protocol():
    """Their greeting, their HELLO, and all that followed."""
    for name, (version, protocol) in STREAMS.items():
        data = contents(name)
        assert data[:GREETING] == wire.greeting(protocol, protocol), f"{name}: {data[:GREETING]}"
        (kind, body), *_ = wire.Splitter().feed(data[GREETING:])
        hello = wire.decode(kind, body)
        assert kind == wire.HELLO and (hello["version"], hello["agent_version"]) == (protocol, version), (name, kind, hello)
        agent = Replay(data, "-tcp" in name)
        env = environment(MEMTOP_TOKEN=TOKEN) if protocol >= wire.PROVED else environment()
        is_of_the_phases(report(agent.address, env=env), version, named=False)


@test
def t_what_differs_is_named():
    """Another protocol, another proof, another format: each sentence has memtop's version."""
    ours = memtop("--version").stdout.split()[1]
    for greeting, env, word in ((wire.greeting(9, 9), {}, "speaks version 9 (lowest 9)"),
                                (contents("0.1.0-90485f8-tcp.bin")[:GREETING], {"MEMTOP_TOKEN": TOKEN}, "an older release")):
        agent = Replay(greeting, True)
        one_line(memtop("report", agent.address, env=environment(**env)), 3, word, f"memtop {ours}")
    # one that asks for the token itself, which memtop has or has not: in no case is it sent
    asks = contents("0.1.0-90485f8-tcp.bin")[:GREETING] + \
        wire.frame(wire.ERROR, code=wire.E_ACCESS, text="the token is wrong or missing; set MEMTOP_TOKEN to the agent's")
    one_line(memtop("report", Replay(asks, True).address), 3, "of an older release, which asks for the token itself", f"memtop {ours}")
    # one that is newer, and goes when it has read memtop's greeting
    listener = socket.create_server(("127.0.0.1", 0))
    at_end(listener.close)

    def newer():
        with listener.accept()[0] as peer:
            peer.sendall(wire.greeting(9, wire.PROVED))
            peer.recv(GREETING, socket.MSG_WAITALL)

    threading.Thread(target=newer, daemon=True).start()
    one_line(memtop("report", f":{listener.getsockname()[1]}", env=environment(MEMTOP_TOKEN=TOKEN)), 3, "speaks version 9 (lowest 2)",
             f"memtop {ours}")
    session = f"{temporary_folder()}/newer.mtop"
    with open(session, "wb") as f:
        f.write(b"MEMTOPS\n\3" + contents("0.2.0-one.mtop")[9:])
    one_line(memtop("report", session), 3, "format 3", f"memtop {ours}")


@test
def t_one_version_everywhere():
    """--version, the agent's file, HELLO in a report and a session, OpenMetrics."""
    ours = memtop("--version").stdout.split()[1]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\+[\w.-]+)?", ours), ours
    with open(AGENT, "rb") as f:
        assert f" {ours} 1 2 listen ".encode()[1:] in f.read(), "the agent's note"
    is_of_the_phases(report(recorded(f"{TARGETS}/s_phases")), ours)
    process = phases()
    server = Server("-p", str(process.pid))
    wait_for(lambda: server.up(process.pid), what="memtop_up")
    (labels, _), = server.metrics()["memtop_process_info", str(process.pid)]
    assert labels["agent"] == ours, labels


@test
def t_a_view_names_an_agent_of_another_version():
    """In the header and on the page of the agent; its own version is nothing to say in the header."""
    ours = memtop("--version").stdout.split()[1]
    for version, other in (("0.1.0", True), (ours, False)):
        agent = Synthetic("--agent-version", version)
        with Terminal([MEMTOP, agent.address], 160, 30) as t:
            header = t.wait_for(lambda lines: "every block" in lines[0] and "agent " in lines[0] and lines)[0]
            assert (f"agent {version} " in header) == other, header
            t.keys("A")
            t.wait_for(re.compile(rf"^ +version +{re.escape(version)} +{'another than memtop' if other else 'memtop'}'s", re.M))


main()
