#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_keys.py - key frames of sessions: what is read from one on equals what is read from the start.

A session is recorded with a key frame after every few blocks, and the same one is read without them, without
its index, cut anywhere, and damaged: each report must be the same, or the one of the older memtop.
"""
import atexit
import difflib
import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile

import mtop
import wire
from harness import MEMTOP, child_of, environment, main, recording, temporary_folder, test, wait_for

PROGRAM = """
import ctypes, time, threading
mark = ctypes.CDLL(None).memtop_mark
kept = []
def work(n):
    for i in range(110):
        if n == 0 and i in (30, 60, 90):
            mark(None)
        kept.append([bytearray(100 + n * i) for _ in range(50)])
        if len(kept) > 60:
            del kept[:30]
        time.sleep(0.03)
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for t in threads: t.start()
for t in threads: t.join()
"""
KEY, LAST = 1 << 31, 1 << 30


def record(folder, name, *words, keys="3000", wait=True, seconds=None):
    path = os.path.join(folder, name)
    env = {**environment(), "MEMTOP_TEST_KEY_BYTES": keys, "PYTHONMALLOC": "malloc"}
    child = recording(sys.executable, "-c", PROGRAM, arguments=words, path=path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not wait:
        return path, child
    assert child.wait(60) == 0
    return path


@functools.cache
def shared_session():
    """One session for all who only read it."""
    folder = tempfile.mkdtemp(prefix="memtop-keys-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return record(folder, "a.mtop")


def heads(data):
    """(offset, head, end) of each whole block."""
    at = mtop.HEAD
    while data[at:at + 4] in (b"BLK1", b"BLK2"):
        size = 32 if data[at:at + 4] == b"BLK1" else 36
        end = at + size + int.from_bytes(data[at + 4:at + 8], "little")
        if end > len(data):
            return
        yield at, data[at:at + size], end
        at = end


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def stream_of(head):
    return int.from_bytes(head[28:32], "little")


def keys(data):
    """(offset of the first block, end) of each whole key frame."""
    begin, found = None, []
    for at, head, end in heads(data):
        if stream_of(head) & KEY and stream_of(head) < 0xfffffffe:
            begin = at if begin is None else begin
            if stream_of(head) & LAST:
                found.append((begin, end))
                begin = None
    return found


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def without_keys(data):
    """The blocks alone, as an older memtop that was killed left them."""
    return data[:mtop.HEAD] + b"".join(data[at:end] for at, head, end in heads(data) if not stream_of(head) & KEY)


def without_index(data):
    return data[:max(end for _, _, end in heads(data))]


def report(path, *words):
    done = subprocess.run([MEMTOP, "report", "-f", "json", "--stacks", "all", *words, path], capture_output=True, text=True,
                          env=environment(), check=False, timeout=60)
    if done.returncode:
        return done.stderr.replace(path, "FILE")
    found = json.loads(done.stdout)
    # what a file without an end is told apart by
    found["warnings"] = [w for w in found["warnings"] if "cut" not in w]
    found["program"].pop("state", None)
    return found


def text(path, *words):
    """Of a file of this name: the report has it."""
    same = os.path.join(os.path.dirname(path), "same.mtop")
    shutil.copyfile(path, same)
    return subprocess.run([MEMTOP, "report", *words, same], capture_output=True, text=True, env=environment(), check=False, timeout=60).stdout


@test
def the_same_from_any_key():
    folder = temporary_folder()
    path = shared_session()
    data = read(path)
    assert len(keys(data)) >= 3, f"{len(keys(data))} key frames in {len(data)} bytes"
    plain = write(folder, "plain.mtop", without_keys(data))
    bare = write(folder, "bare.mtop", without_index(data))
    whole = report(plain)
    assert whole["totals"]["allocated_blocks"] > 1000
    assert report(path) == whole and report(bare) == whole
    end = whole["program"]["duration_s"]
    for when in ["m1", "m2", "peak", "start"] + [f"0:{s:06.3f}" for s in (end * i / 6 for i in range(7))]:
        want = report(plain, "--at", when)
        assert report(path, "--at", when) == want, when
        assert report(bare, "--at", when) == want, when
    found, want = (text(x, "--at", "m2").splitlines() for x in (bare, plain))
    assert found == want, "\n".join(difflib.unified_diff(want, found, lineterm=""))
    changed = report(plain, "--between", "m1..m3")
    assert changed["changes"] and report(path, "--between", "m1..m3") == changed


@test
def the_end_comes_from_the_last_key():
    """Without the frames before it nothing is missing: it has all of them."""
    folder = temporary_folder()
    path = shared_session()
    data = read(path)
    begin, end = keys(data)[-1]
    # Damage all blocks of the session itself: they are not read.
    broken = bytearray(data)
    for at, head, stop in heads(data):
        if not stream_of(head) & KEY and stop <= begin:
            broken[stop - 1] ^= 0xff
    assert report(write(folder, "b.mtop", bytes(broken))) == report(path)


@test
def a_damaged_key_is_not_used():
    folder = temporary_folder()
    path = shared_session()
    data, want = read(path), report(path)
    broken = bytearray(data)
    for begin, end in keys(data):
        broken[end - 3] ^= 0xff
        assert report(write(folder, "b.mtop", bytes(broken))) == want
    # A right head that says where no block is: behind the end, or within one.
    begin, end = keys(data)[-1]
    for place, same in ((len(data) * 2, True), (begin - 7, False), (3, True)):
        broken = bytearray(data)
        for at, head, stop in heads(data):
            if begin <= at < end:
                broken[at + 12:at + 20] = place.to_bytes(8, "little")
                broken[at + 32:at + 36] = crc32c(broken[at:at + 32]).to_bytes(4, "little")
        found = report(write(folder, "c.mtop", without_index(bytes(broken))))
        assert found == want if same else found["totals"]["live_blocks"] > 0


@test
def a_key_that_is_not_understood():
    """Its blocks are whole, but a NODES frame says one entry more than it has: the stream has it all."""
    data, want = read(shared_session()), report(shared_session())
    begin, end = keys(data)[-1]
    out, at, spoilt = data[:begin], mtop.HEAD, False
    for head, frames in mtop.blocks(data):
        length = len(head) + int.from_bytes(head[4:8], "little")
        if begin <= at < end:
            raw = b""
            for kind, payload, whole in frames:
                if kind == wire.NODES and payload[0] & 0x7f < 0x7f and not spoilt:
                    whole, spoilt = whole[:-len(payload)] + bytes([payload[0] + 1]) + payload[1:], True
                raw += whole
            body = mtop.pack(raw)
            head = head[:4] + len(body).to_bytes(4, "little") + len(raw).to_bytes(4, "little") + head[12:32]
            out += head + crc32c(head).to_bytes(4, "little") + body
        at += length
    assert spoilt
    found = report(write(temporary_folder(), "b.mtop", out + without_index(data)[end:]))
    assert found == want, [k for k in want if found[k] != want[k]] if isinstance(found, dict) else found


@test
def cut_anywhere():
    folder = temporary_folder()
    data = read(shared_session())
    places = [end - 1 for _, end in keys(data)] + [begin + 50 for begin, _ in keys(data)]
    picked = random.Random(5)
    for at in places + [picked.randrange(len(data) // 4, len(data)) for _ in range(10)]:
        cut = data[:at]
        found = report(write(folder, "cut.mtop", cut))
        want = report(write(folder, "plain.mtop", without_keys(cut)))
        assert found == want, at


@test
def killed_and_while_it_is_written():
    folder = temporary_folder()
    path, child = record(folder, "a.mtop", wait=False)
    wait_for(lambda: len(keys(read(path))) >= 2 if os.path.exists(path) else False, 30)
    assert "totals" in report(path)
    child.send_signal(signal.SIGKILL)
    child.wait()
    data = read(path)
    assert data[-8:] != b"MEMTOPE\n", "it was not killed while it wrote"
    assert report(path) == report(write(folder, "plain.mtop", without_keys(data)))


@test
def live_recorded_reopened_reported():
    """The same totals on all ways: what the program was seen to do, with and without key frames."""
    folder, path = temporary_folder(), shared_session()
    copy = os.path.join(folder, "copy.mtop")
    subprocess.run([MEMTOP, "report", "-f", "folded", path], stdout=subprocess.DEVNULL, env=environment(), check=True)
    want = report(path)
    assert sum(s["live_bytes"] for s in want["stacks"]) == want["totals"]["live_bytes"]
    assert sum(s["allocated_blocks"] for s in want["stacks"]) == want["totals"]["allocated_blocks"]
    with open(copy, "wb") as f:
        f.write(read(path))
    assert report(copy) == want


@test
def what_the_agent_said_is_in_a_late_key():
    """Another viewer sets marks: the agent tells the recorder, in frames that no later one repeats."""
    folder = temporary_folder()
    path, child = record(folder, "a.mtop", wait=False)
    wait_for(lambda: os.path.exists(path) and keys(read(path)), 20)  # the recorder is there, and is told
    for name in ("early", "later"):
        before = len(keys(read(path)))
        wait_for(lambda name=name: subprocess.run([MEMTOP, "mark", "-p", str(child_of(child.pid)), name], env=environment(), check=False,
                                                  capture_output=True).returncode == 0, 20)
        wait_for(lambda n=before: len(keys(read(path))) > n, 20)
    assert child.wait(60) == 0
    data = read(path)
    said = [payload.decode(errors="replace") for head, frames in mtop.blocks(data[:keys(data)[-1][0]])
            for kind, payload, _ in frames if kind == wire.NOTICE and not stream_of(head)]
    assert len(said) == 2, said
    begin = keys(data)[-1][0]
    broken = bytearray(data)
    for at, head, stop in heads(data):
        if not stream_of(head) & KEY and stop <= begin:
            broken[stop - 1] ^= 0xff
    want = report(write(folder, "plain.mtop", without_keys(data)))["agent"]["notices"]
    assert [n.split()[-1] for n in want] == ["early", "later"], want
    assert report(write(folder, "late.mtop", bytes(broken)))["agent"]["notices"] == want


if __name__ == "__main__":
    main()
