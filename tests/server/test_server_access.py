#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""Access to the agent: who may connect, its addresses, and that invalid bytes do it no harm."""
import os
import random
import socket
import stat

import wire
from client import Client, connect_to, preload
from forward import free_port
from harness import Skip, at_end, main, mostly_waits, need, run, temporary_folder, test, wait_for
from nobody import NOBODY
from obedient import PROGRAM, Obedient

TOKEN = "0123456789abcdef0123456789abcdef"


def read_all(sock, seconds=10):
    sock.settimeout(seconds)
    data = b""
    try:
        while more := sock.recv(65536):
            data += more
    except ConnectionResetError:
        pass
    return data


def error_in(data):
    """The ERROR that follows the greeting, or None."""
    assert data[:8] == wire.MAGIC, data
    frames = wire.Splitter().feed(data[12:])
    return wire.decode(*frames[0]) if frames and frames[0][0] == wire.ERROR else None


@test
def t_tcp_with_a_token():
    port = free_port()
    p = Obedient(f"listen=tcp:{port}", environment={"MEMTOP_TOKEN": TOKEN})
    c = Client(port, token=TOKEN).until_complete()
    assert c.hello["pid"] == p.pid
    for wrong in ("", TOKEN[:-1], TOKEN + "0", "x" * len(TOKEN), "x" * 256):
        bad = Client(port, token=wrong)
        bad.until(lambda: bad.ended, "refused")
        assert bad.errors and bad.errors[0]["code"] == wire.E_ACCESS and bad.hello is None, (wrong, bad.errors)
        assert bad.kinds == [wire.ERROR], bad.kinds
    c.until_complete()
    with open("/proc/net/tcp") as f:
        listening = [line.split()[1] for line in f if f":{port:04X} " in line and line.split()[3] == "0A"]
    assert listening == [f"0100007F:{port:04X}"], listening
    with open(f"/proc/{p.pid}/environ", "rb") as f:
        pass  # what the program was given is its own; the agent's entries left `environ` before main


@test
def t_a_token_file_is_its_users_alone():
    folder, port = temporary_folder(), free_port()
    path = os.path.join(folder, "token")
    with open(path, "w") as f:
        f.write(TOKEN + "\n")
    os.chmod(path, 0o644)
    done = run([PROGRAM], env=preload(f"listen=tcp:{port} token_file={path}"))
    assert done.returncode == 0 and "chmod 600" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    os.chmod(path, 0o600)
    Obedient(f"listen=tcp:{port} token_file={path}")
    Client(port, token=TOKEN).until_complete()


@test
def t_tcp_without_a_token():
    for token in ({}, {"MEMTOP_TOKEN": "short"}):
        done = run([PROGRAM], env=preload(f"listen=tcp:{free_port()}", **token))
        assert done.returncode == 0 and done.stdout == "ready\n"
        assert "token" in done.stderr and done.stderr.count("\n") == 1, done.stderr


@test
def t_a_wrong_listen_leaves_the_program_alone():
    for text in ("listen=nowhere", "listen=tcp:0", "listen=tcp:70000", "listen=tcp:x", "listen=unix:relative",
                 "listen=@" + "x" * 200):
        done = run([PROGRAM], env=preload(text))
        assert done.returncode == 0 and done.stdout == "ready\n", text
        assert done.stderr.startswith("memtop: ") and done.stderr.count("\n") == 1, (text, done.stderr)


@test
def t_a_socket_at_a_path_is_private_and_goes_with_the_program():
    folder = temporary_folder()
    path = os.path.join(folder, "%p.sock")
    p = Obedient(f"listen=unix:{path}")
    path = path.replace("%p", str(p.pid))
    c = Client(path).until_complete()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode)
    assert c.hello["pid"] == p.pid
    p.tell("x 0")
    c.until_final()
    wait_for(lambda: not os.path.exists(path), 5, "the socket file goes with the target")
    # One that a killed predecessor left is replaced.
    fixed = os.path.join(folder, "fixed.sock")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(fixed)
    Obedient(f"listen=unix:{fixed}")
    Client(fixed).until_complete()


def lie_there(folder):
    """Paths of existing files where the agent should listen, by kind."""
    def at(name):
        return os.path.join(folder, name)

    def bound(path, kind=socket.SOCK_STREAM):
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(path)
        at_end(s.close)
        return s
    for name in "file", "linked":
        with open(at(name), "w", encoding="utf-8") as f:
            f.write("a line that stays\n")
    bound(at("closed")).close()
    os.symlink(at("linked"), at("link"))
    os.symlink(at("closed"), at("link to a socket"))
    os.symlink(at("nothing"), at("dangling"))
    os.mkdir(at("folder"))
    os.mkfifo(at("fifo"))
    bound(at("listens")).listen()
    bound(at("bound"))
    bound(at("datagrams"), socket.SOCK_DGRAM)
    names = ["file", "link", "link to a socket", "dangling", "folder", "fifo", "listens", "bound", "datagrams"]
    if os.geteuid() == 0:
        bound(at("another user's")).close()
        os.chown(at("another user's"), 65534, 65534)
        names.append("another user's")
    return [at(name) for name in names]


def seen(path):
    s = os.lstat(path)
    kept = open(path, encoding="utf-8").read() if stat.S_ISREG(s.st_mode) else ""
    return s.st_ino, s.st_mode, s.st_uid, s.st_mtime_ns, s.st_ctime_ns if not stat.S_ISDIR(s.st_mode) else 0, kept


@mostly_waits
def t_path_that_somebody_has():
    """Only a socket that nobody has any more is removed; anything else keeps its name, and the agent takes the next."""
    folder = temporary_folder()
    paths = lie_there(folder)
    before = [seen(path) for path in paths + [os.path.join(folder, "linked"), os.path.join(folder, "closed")]]
    programs = [Obedient(f'"listen=unix:{path}"') for path in paths]
    for path, p in zip(paths, programs):
        try:
            c = Client(path + ".2").until_complete()
        except (AssertionError, OSError) as e:
            raise AssertionError(f"{path}: {e}; it is {'as before' if seen(path) == before[paths.index(path)] else 'another'}") from e
        assert c.hello["pid"] == p.pid
        p.tell("x 0")
        c.until_final()
        wait_for(lambda path=path: not os.path.lexists(path + ".2"), 5, "the agent's socket goes with the target")
    after = [seen(path) for path in paths + [os.path.join(folder, "linked"), os.path.join(folder, "closed")]]
    assert after == before, [(p, a, b) for p, a, b in zip(paths, before, after) if a != b]


@test
def t_path_that_somebody_took():
    """The name is somebody else's by the time the target ends."""
    path = temporary_folder() + "/taken.sock"
    p = Obedient(f"listen=unix:{path}")
    c = Client(path).until_complete()
    os.unlink(path)
    with open(path, "w", encoding="utf-8") as f:
        f.write("a line that stays\n")
    p.tell("x 0")
    c.until_final() # sent after the name was let go
    with open(path, encoding="utf-8") as f:
        assert f.read() == "a line that stays\n"


@mostly_waits
def t_taken_name_gets_a_suffix():
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.bind("\0memtop-test-taken")
        squatter.listen()
        p = Obedient("listen=@memtop-test-taken")
        c = Client("@memtop-test-taken.2").until_complete()
        assert c.hello["pid"] == p.pid


@test
def t_other_users_are_refused():
    if os.geteuid():
        raise Skip("needs root to become somebody else")
    need("setpriv")
    p = Obedient()
    code = ("import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + sys.argv[1])\ns.settimeout(10)\n"
            "d = b''\nwhile True:\n    try:\n        m = s.recv(4096)\n    except ConnectionResetError:\n        break\n"
            "    if not m:\n        break\n    d += m\nsys.stdout.write(d.hex())\n")
    done = run([*NOBODY, "/usr/bin/python3", "-c", code, p.name[1:]])
    data = bytes.fromhex(done.stdout)
    error = error_in(data)
    assert error and error["code"] == wire.E_ACCESS, data
    frames = wire.Splitter().feed(data[12:])
    assert len(frames) == 1, "something was said before access was settled"
    p.viewer().until_complete()


@test
def t_root_may_watch_a_users_program():
    if os.geteuid():
        raise Skip("needs root")
    need("setpriv")
    # setpriv itself is watched first; its name is let go of when it becomes the program.
    p = Obedient(command=NOBODY)
    c = Client(p.name).until_complete()
    assert c.hello["uid"] == 65534, c.hello


@test
def t_a_viewer_of_another_version_is_refused():
    p = Obedient()
    s = connect_to(p.name)
    s.sendall(wire.MAGIC + (99).to_bytes(2, "little") + (98).to_bytes(2, "little"))
    error = error_in(read_all(s))
    assert error and error["code"] == wire.E_VERSION, error
    newer = connect_to(p.name)  # a newer client that still speaks ours
    newer.sendall(wire.MAGIC + (99).to_bytes(2, "little") + (1).to_bytes(2, "little"))
    c = Client(newer, hello=False)
    c._exactly(12)
    c.send(wire.CLIENT, features=0, who="newer", token="", tick_ns=0)
    c.until_complete()


@test
def t_too_many_viewers():
    p = Obedient()
    viewers = [p.viewer(f"v{i}").until_complete() for i in range(16)]
    late = p.viewer("late")
    late.until(lambda: late.ended, "refused")
    assert late.errors and late.errors[0]["code"] == wire.E_BUSY, late.errors
    viewers[3].send(wire.DETACH)
    viewers[3].until(lambda: viewers[3].ended, "gone")
    p.viewer("in its place").until_complete()
    viewers[0].until_complete()


def hostile_streams(rng):
    hello = wire.greeting() + wire.frame(wire.CLIENT, features=0, who="h", token="", tick_ns=0)
    yield b""
    yield b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    yield wire.MAGIC
    yield wire.greeting() + wire.frame(wire.SET_MARK, name="before CLIENT")
    yield hello + wire.varint(wire.SET_MARK) + wire.varint(1 << 40)
    yield hello + wire.varint(wire.SET_MARK) + wire.varint(wire.FRAME_MAX)
    yield hello + b"\xff" * 100
    yield hello + wire.varint(wire.SET_MARK) + wire.varint(3) + b"\x60ab"     # string past the payload
    yield hello + wire.frame(wire.SET_MARK, name="x" * 65)                    # name too long
    yield hello + wire.frame(wire.SET_MARK, name="a\0b")
    yield hello + wire.frame(wire.SCAN, request=1, kind=7, slots=[])
    yield hello + wire.varint(wire.SCAN) + wire.varint(6) + b"\x01\x01" + wire.varint(60000) + b"\x01"
    yield hello + wire.frame(wire.SCAN, request=1, kind=1, slots=[1 << 24])
    yield hello + wire.frame(wire.DROP_MARK, id=1 << 60) + wire.frame(wire.RENAME_MARK, id=4096, name="x")
    yield hello + wire.frame(wire.ACK, bytes=(1 << 64) - 1) + wire.frame(wire.ACK, bytes=0)
    yield hello + wire.frame(wire.SET_OPTION, name="", value="") + wire.frame(wire.SET_OPTION, name="depth", value="-1")
    for _ in range(300):
        kind = rng.choice((64, 65, 66, 67, 68, 69, 70, 71, 1, 200, 1 << 30))
        body = rng.randbytes(rng.randrange(0, 200))
        yield rng.choice((b"", wire.greeting(), hello)) + wire.varint(kind) + wire.varint(
            rng.choice((len(body), len(body) + 1, max(0, len(body) - 3)))) + body
    for _ in range(100):
        yield rng.choice((b"", wire.MAGIC, wire.greeting(), hello)) + rng.randbytes(rng.randrange(1, 5000))


@test
def t_hostile_bytes_end_their_connection_alone():
    rng = random.Random(20)
    p = Obedient()
    c = p.viewer("honest").until_complete()
    p.do("s 500")
    for data in hostile_streams(rng):
        s = connect_to(p.name)
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            read_all(s)
        except (BrokenPipeError, ConnectionResetError):
            pass
        s.close()
        c.pump(0)
    p.do("a 10 10")
    c.until_complete()
    late = p.viewer("late").until_complete()
    c.until_complete()
    assert late.counts == c.counts
    assert p.end() == 0


@test
def t_malformed_frame_is_answered():
    p = Obedient()
    c = p.viewer().until_complete()
    c.sock.sendall(wire.varint(wire.SET_MARK) + wire.varint(3) + b"\x60ab")
    c.until(lambda: c.ended, "closed")
    assert c.errors and c.errors[0]["code"] == wire.E_FRAME, c.errors


main()
