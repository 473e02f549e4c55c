#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""Strangers at the agent's socket lock out no viewer, learn nothing, and cost little."""
import contextlib
import ctypes
import os
import random
import resource
import socket
import struct
import subprocess
import sys

import wire
from client import Client, Closed, connect_to, preload
from forward import free_port
from harness import Skip, main, mostly_waits, need, report, run, start, test, wait_for
from nobody import NOBODY
from obedient import PROGRAM, Obedient

TOKEN = "0123456789abcdef0123456789abcdef"
PLACES = 16   # of viewers
STRANGERS = 64  # that wait at the door, at most
CHALLENGED = 12 + 3 + wire.NONCE_LEN  # bytes that come unasked


def on_tcp():
    """A program whose agent listens on TCP, and the port."""
    port = free_port()
    return Obedient(f"listen=tcp:{port}", environment={"MEMTOP_TOKEN": TOKEN}), port


def exactly(sock, n):
    sock.settimeout(120)
    data = b""
    while len(data) < n:
        more = sock.recv(n - len(data))
        if not more:
            break
        data += more
    return data


def read_all(sock):
    data = b""
    with contextlib.suppress(ConnectionResetError):
        sock.settimeout(120)
        while more := sock.recv(65536):
            data += more
    return data


def frames_of(data):
    return [(kind, wire.decode(kind, body)) for kind, body in wire.Splitter().feed(data)]


def closed(sock):
    """Whether the agent has hung up, whatever it said before."""
    sock.setblocking(False)
    try:
        while sock.recv(4096):
            pass
        return True
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def work_goes_on(p, *viewers):
    p.do("a 3 10")
    for v in viewers:
        v.until_complete()


@test
def t_silent_strangers_keep_nobody_out():
    """As many as have places, and three times what waits at the door: all authorised, on both kinds of socket."""
    for p, at, token in ((Obedient(), None, ""), (*on_tcp(), TOKEN)):
        at = at or p.name
        first = Client(at, token=token).until_complete()
        strangers = []
        for n in (PLACES, 3 * STRANGERS):
            while len(strangers) < n:
                strangers.append(connect_to(at))
            work_goes_on(p, first, Client(at, token=token).until_complete())
        # The oldest made room; the server has no more of them than fit.
        wait_for(lambda: sum(closed(s) for s in strangers) >= 2 * STRANGERS, 10, "the oldest leave")


@mostly_waits
def t_silent_and_slow_ones_leave():
    p, port = on_tcp()
    first = Client(port, token=TOKEN).until_complete()
    silent, slow, greeted = (connect_to(port) for _ in range(3))
    greeted.sendall(wire.greeting(wire.PROVED))
    hello = iter(wire.greeting(wire.PROVED) + wire.frame(wire.RESPONSE, nonce=bytes(32), proof=bytes(32)))

    def drip():  # a byte now and then is no progress
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, StopIteration):
            if random.random() < 0.1:
                slow.sendall(bytes([next(hello)]))
        return all(closed(s) for s in (silent, slow, greeted))
    wait_for(drip, 20, "all three are sent away")
    work_goes_on(p, first, Client(port, token=TOKEN).until_complete())


@test
def t_strangers_learn_nothing():
    """Greeting and challenge, then nothing, or an ERROR: no HELLO, and no proof that guesses could be tried on."""
    p, port = on_tcp()
    nothing = connect_to(port)
    assert len(exactly(nothing, CHALLENGED)) == CHALLENGED
    nothing.shutdown(socket.SHUT_WR)
    assert read_all(nothing) == b""
    for words in (wire.frame(wire.CLIENT, features=0, who="x", token=TOKEN, tick_ns=0),
                  wire.frame(wire.RESPONSE, nonce=bytes(32), proof=bytes(31)),
                  wire.frame(wire.RESPONSE, nonce=bytes(1), proof=bytes(32)),
                  wire.frame(wire.PROOF, proof=bytes(32)),
                  wire.varint(wire.RESPONSE) + wire.varint(513),
                  wire.varint(wire.RESPONSE) + wire.varint(1 << 62),
                  b"\xff" * 20):
        s = connect_to(port)
        exactly(s, CHALLENGED)
        s.sendall(wire.greeting(wire.PROVED) + words)
        (kind, error), = frames_of(read_all(s))
        assert kind == wire.ERROR and error["code"] == wire.E_FRAME, (words, error)
    Client(port, token=TOKEN).until_complete()


@test
def t_an_older_viewer_is_sent_away_without_its_token():
    """One that speaks version 1 alone is sent away before it has sent its token; sent all the same, it gets no session."""
    p, port = on_tcp()
    s = connect_to(port)
    greeting = exactly(s, CHALLENGED)[:12]
    assert greeting == wire.greeting(wire.PROVED, wire.PROVED), greeting  # "lowest 2": such a client closes here
    s.sendall(wire.greeting(1, 1) + wire.frame(wire.CLIENT, features=0, who="old", token=TOKEN, tick_ns=0))
    (kind, error), = frames_of(read_all(s))
    assert kind == wire.ERROR and error["code"] == wire.E_VERSION, error


def prove(port, proof_of, nonce=None):
    """A stranger's try: proof_of(exchange). The answer's frames."""
    s = connect_to(port)
    start_of = exactly(s, CHALLENGED)
    mine, nonce = wire.greeting(wire.PROVED), nonce or os.urandom(32)
    exchange = start_of[:12], start_of[15:], mine, nonce
    s.sendall(mine + wire.frame(wire.RESPONSE, nonce=nonce, proof=proof_of(exchange)))
    s.shutdown(socket.SHUT_WR)
    return frames_of(read_all(s))


@test
def t_wrong_proofs_are_refused_and_told():
    """Guesses, the agent's label, other greetings, a proof recorded before: refused, and viewers hear of it, but not of each."""
    p, port = on_tcp()
    viewer = Client(port, token=TOKEN).until_complete()
    recorded = []

    def right(exchange):
        recorded.append((exchange[3], wire.proof(TOKEN, wire.LABEL_CLIENT, *exchange)))
        return recorded[0][1]
    (kind, _), = prove(port, right)
    assert kind == wire.PROOF
    tries = [lambda e: bytes(32), lambda e: os.urandom(32), lambda e: wire.proof(TOKEN, wire.LABEL_AGENT, *e),
             lambda e: wire.proof(TOKEN + "0", wire.LABEL_CLIENT, *e), lambda e: wire.proof("", wire.LABEL_CLIENT, *e),
             lambda e: wire.proof(TOKEN, wire.LABEL_CLIENT, wire.greeting(1, 1), *e[1:]),
             lambda e: wire.proof(TOKEN, wire.LABEL_CLIENT, *e[:2], wire.greeting(1, 1), e[3]),
             lambda e: e[1], lambda e: e[3]]
    for n, wrong in enumerate([*tries, *[lambda e: os.urandom(32)] * 15]):
        (kind, error), = prove(port, wrong)
        assert kind == wire.ERROR and error["code"] == wire.E_ACCESS, (n, kind)
    (kind, error), = prove(port, lambda e: recorded[0][1], nonce=recorded[0][0])
    assert kind == wire.ERROR and error["code"] == wire.E_ACCESS, "a proof was taken twice"
    viewer.until(lambda: len(viewer.notices) == 2, "two notices of 25 refusals")
    assert "(1 so far)" in viewer.notices[0] and "(10 so far)" in viewer.notices[1], viewer.notices
    assert all(str(port) in n and TOKEN not in n for n in viewer.notices), viewer.notices
    work_goes_on(p, viewer, Client(port, token=TOKEN).until_complete())
    assert len(viewer.notices) == 2, viewer.notices


@test
def t_each_viewer_gets_another_challenge():
    p, port = on_tcp()
    seen = set()
    for _ in range(100):
        s = connect_to(port)
        seen.add(exactly(s, CHALLENGED)[15:])
        s.close()
    assert len(seen) == 100
    assert all(len({n[i] for n in seen}) > 20 for i in range(32)), "bytes that hardly change"


@test
def t_hostile_bytes_at_the_door_harm_nobody():
    rng = random.Random(17)
    p, port = on_tcp()
    c = Client(port, token=TOKEN).until_complete()
    for n in range(200):
        s = connect_to(port)
        kind = rng.choice((1, 27, 28, 64, 72, 200, 1 << 40))
        body = rng.randbytes(rng.choice((0, 1, 31, 66, 511, 512, 513, 4000)))
        with contextlib.suppress(OSError):
            s.sendall(rng.choice((b"", wire.MAGIC, wire.greeting(2), wire.greeting(2))) + wire.varint(kind) +
                      wire.varint(rng.choice((len(body), len(body) + 1, 1 << 63))) + body)
            if n % 2:
                s.shutdown(socket.SHUT_WR)  # only this direction: the agent's answers still have a way
                data = read_all(s)
                assert all(k == wire.ERROR for k, _ in frames_of(data[CHALLENGED:])), data
        s.close()
    work_goes_on(p, c, Client(port, token=TOKEN).until_complete())
    assert p.end() == 0


@test
def t_frames_behind_the_first():
    """A client may send everything at once; what does not fit the small buffer at the door is not lost."""
    p = Obedient()
    s = connect_to(p.name)
    s.sendall(wire.greeting() + wire.frame(wire.CLIENT, features=0, who="w" * 64, token="t" * 256, tick_ns=0) +
              b"".join(wire.frame(wire.SET_MARK, name=f"mark {i}") for i in range(200)))
    c = Client(s, hello=False)
    c._exactly(12)
    c.until(lambda: len(c.marks) == 200, "all marks")
    assert [m["name"] for m in c.marks.values()] == [f"mark {i}" for i in range(200)]


@test
def t_places_are_for_clients():
    """The 17th viewer gets the refusal after it has identified itself; on TCP after
    its proof."""
    for p, at, token in ((Obedient(), None, ""), (*on_tcp(), TOKEN)):
        at = at or p.name
        viewers = [Client(at, who=f"v{i}", token=token).until_complete() for i in range(PLACES)]
        late = Client(at, token=token)
        late.until(lambda: late.ended, "refused")
        assert late.errors and late.errors[0]["code"] == wire.E_BUSY and late.hello is None, late.errors
        if token:
            s = connect_to(at)
            assert frames_of(exactly(s, CHALLENGED)[12:])[0][0] == wire.CHALLENGE, "a stranger is told how full it is"
        viewers[5].send(wire.DETACH)
        viewers[5].until(lambda: viewers[5].ended, "gone")
        Client(at, token=token).until_complete()


@test
def t_connections_that_are_gone_harm_nobody():
    """Connections that are gone before they are accepted, or in the middle of the greeting."""
    p, port = on_tcp()
    c = Client(port, token=TOKEN).until_complete()
    for n in range(300):
        s = connect_to(port)
        if n % 3:
            s.sendall(wire.greeting(wire.PROVED)[:n % 12])
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    work_goes_on(p, c, Client(port, token=TOKEN).until_complete())


# Arguments: kind, where, how many, how many at the same time. A connection lives until twice as many are newer; where
# the queue is full the kernel would ask again after 1 s, 2 s, ...: this one starts again at once.
FLOOD = """
import select, socket, sys
kind, where, count, wide = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
poll, pending, held, made = select.epoll(), {}, [], 0
while made < count:
    while len(pending) < wide:
        s = socket.socket(socket.AF_INET if kind == "tcp" else socket.AF_UNIX)
        if kind == "tcp":
            s.setblocking(False)
        s.connect_ex(("127.0.0.1", int(where)) if kind == "tcp" else chr(0) + where)
        pending[s.fileno()] = s
        poll.register(s, select.EPOLLOUT)
    ready = [fd for fd, _ in poll.poll(0.02)]
    for fd in ready or list(pending):
        poll.unregister(fd)
        held.append(pending.pop(fd))
        made += 1
        if len(held) > 2 * wide:
            held.pop(0).close()
print("done", flush=True)
"""


def flood(at, count=10000, wide=200, before=()):
    kind, where = ("tcp", str(at)) if isinstance(at, int) else ("unix", at[1:])
    return start([*before, sys.executable, "-c", FLOOD, kind, where, str(count), str(wide)], stdout=subprocess.PIPE)


@test
def t_a_flood_of_connections_keeps_no_viewer_out():
    """10,000 connections: who watches goes on watching, who knows the token gets in, the server has time left over."""
    p, port = on_tcp()
    c = Client(port, token=TOKEN).until_complete()
    cpu, since = c.totals["agent_cpu_ns"], c.totals["time_ns"]
    flooder, entered, tried = flood(port), 0, 0
    while flooder.poll() is None:
        c.until_complete()
        tried += 1
        with contextlib.suppress(OSError, Closed), socket.create_connection(("127.0.0.1", port), 20) as s:
            Client(s, token=TOKEN).until_complete()
            entered += 1
    assert flooder.stdout.read() == b"done\n"
    work_goes_on(p, c, Client(port, token=TOKEN).until_complete())
    share = (c.totals["agent_cpu_ns"] - cpu) / (c.totals["time_ns"] - since)
    print(f"# {entered} of {tried} entered beside the flood; server's share of a processor {share:.1%}")
    assert entered, "nobody got in"
    assert share < 0.3, f"the server took {share:.0%} of a processor"


@test
def t_flood_by_another_user():
    if os.geteuid():
        raise Skip("needs root to become somebody else")
    need("setpriv")
    p = Obedient()
    c = p.viewer().until_complete()
    flooder = flood(p.name, count=3000, before=NOBODY)
    for _ in range(5):
        report(p.name)  # each finds room in a queue that others keep full
        c.until_complete()
    p.viewer().until_complete()
    assert flooder.wait(60) == 0
    work_goes_on(p, c, p.viewer().until_complete())


def peer_of(sock):
    return struct.unpack("iii", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


@test
def t_accept_without_descriptors_is_not_repeated():
    """accept() that fails is not asked again and again; strangers give up theirs for a client."""
    p = Obedient()
    c = p.viewer().until_complete()
    server = peer_of(c.sock)
    used = len(os.listdir(f"/proc/{server}/fd"))
    usual = resource.prlimit(server, resource.RLIMIT_NOFILE, (used, resource.prlimit(server, resource.RLIMIT_NOFILE)[1]))
    waiting = [connect_to(p.name) for _ in range(5)]
    cpu, since, ticks = c.totals["agent_cpu_ns"], c.totals["time_ns"], c.ticks
    c.until(lambda: c.ticks > ticks + 20, "twenty ticks", 60)
    share = (c.totals["agent_cpu_ns"] - cpu) / (c.totals["time_ns"] - since)
    assert share < 0.1, f"the server took {share:.0%} of a processor"  # 0.1 % when it pauses; asked in a loop, what it can get
    resource.prlimit(server, resource.RLIMIT_NOFILE, (used + 1, usual[1]))
    p.viewer().until_complete()  # in the place of those that wait
    assert any(closed(s) for s in waiting)
    resource.prlimit(server, resource.RLIMIT_NOFILE, usual)
    work_goes_on(p, c, p.viewer().until_complete())


@test
def t_strangers_at_the_end():
    """Strangers do not keep a server alive when its program is gone."""
    p, port = on_tcp()
    strangers = [connect_to(port) for _ in range(10)]
    c = Client(port, token=TOKEN).until_complete()
    p.tell("x 3")
    c.until_final()
    assert (c.state["state"], c.state["status"]) == (wire.EXITED, 3), c.state
    wait_for(lambda: all(closed(s) for s in strangers), 10, "the strangers are let go")


def refuse_getrandom():
    """For preexec_fn: getrandom fails with ENOSYS from now on, as before Linux 3.17."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, 318), (6, 0, 0, 0x50000 | 38), (6, 0, 0, 0x7fff0000)]
    raw = b"".join(struct.pack("HBBI", *one) for one in code)
    body = ctypes.create_string_buffer(raw)
    prog = struct.pack("HxxxxxxP", len(code), ctypes.addressof(body))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, prog, 0, 0):
        os._exit(99)


@test
def t_without_getrandom_there_is_a_door_all_the_same():
    if os.uname().machine != "x86_64":
        raise Skip("the filter is written for x86-64")
    port = free_port()
    Obedient(f"listen=tcp:{port}", environment={"MEMTOP_TOKEN": TOKEN}, preexec_fn=refuse_getrandom)
    Client(port, token=TOKEN).until_complete()


@test
def t_no_random_numbers():
    """Neither getrandom nor /dev/urandom: no TCP, one sentence, the program unharmed."""
    if os.geteuid() or os.uname().machine != "x86_64":
        raise Skip("needs root and x86-64")
    need("unshare")
    env = preload(f"listen=tcp:{free_port()}", MEMTOP_TOKEN=TOKEN)
    inside = (f"mount --bind /dev/null /dev/urandom && exec env LD_PRELOAD={env.pop('LD_PRELOAD')} {PROGRAM}")
    done = run(["unshare", "-m", "sh", "-c", inside], env=env, preexec_fn=refuse_getrandom)
    if "mount" in done.stderr or "unshare" in done.stderr:
        raise Skip(f"no mount namespace here: {done.stderr}")
    assert done.returncode == 0 and done.stdout == "ready\n", done
    assert "random" in done.stderr and done.stderr.count("\n") == 1, done.stderr


main()
