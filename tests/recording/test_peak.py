#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_peak.py - the tree at the heap's peak, of programs that have freed it when they end: its sum is
the peak that the totals name, and no program is disturbed for it.

LONG=1 has 25 programs in place of five, as a table.
"""
import collections
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import mtop
import wire
from client import Client, run_watched
from harness import (LONG, MEMTOP, TARGETS, Skip, environment, main, mostly_waits, recorded, report, run, start,
                     temporary_folder, test)
from term import Terminal

TARGET = os.path.join(TARGETS, "s_peak")
COUNTERS = "allocated_blocks", "allocated_bytes", "freed_blocks", "freed_bytes"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PROGRAMS = {
    "python3": ["python3", "-c", "import json, decimal; x = [bytearray(1000) for i in range(20000)]; del x; print(1)"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); with recursive c(x) as (values(1) union all select x + 1 from c where"
                " x < 100000) insert into t select x, hex(randomblob(20)) from c; select count(*) from (select distinct b from t"
                " order by b); drop table t;"],
    "perl": ["perl", "-e", "my %h; $h{$_} = $_ x 5 for 1 .. 50000; %h = (); print 1"],
    "bash": ["bash", "-c", "for ((i = 0; i < 20000; i++)); do a[$i]=$i; done; unset a; for i in 1 2 3; do :; done"],
    "sort": ["sort", f"{ROOT}/backend/model/walk.c"],
}
MORE = {
    "cc1": ["{cc1}", "-quiet", "-O2", "-std=gnu11", f"-I{ROOT}/agent", f"-I{ROOT}/include", "-o", "/dev/null",
            f"{ROOT}/agent/record/record.c"],
    "git log": ["git", "-C", ROOT, "log", "--stat", "-n", "60"],
    "git diff": ["git", "-C", ROOT, "diff", "HEAD~30"],
    "lua": ["lua5.4", "-e", "local t = {} for i = 1, 300000 do t[i] = {i} end t = nil collectgarbage()"],
    "redis": ["sh", "-c", "(sleep 0.5; redis-cli -p 16391 eval \"for i = 1, 200000 do redis.call('set', i, i) end redis.call('flushall')\" 0;"
              " redis-cli -p 16391 shutdown nosave) & exec redis-server --port 16391 --save '' --daemonize no"],
    "gawk": ["gawk", "BEGIN { for (i = 0; i < 200000; i++) a[i] = i; delete a; for (i = 0; i < 1000; i++) b[i] = i }"],
    "mawk": ["mawk", "BEGIN { for (i = 0; i < 200000; i++) a[i] = i; for (i in a) delete a[i] }"],
    "xz": ["xz", "-9", "-k", "-c", "-T1", f"{ROOT}/backend/model/walk.c"],
    "xz threads": ["xz", "-6", "-k", "-c", "-T4", "{memtop}"],
    "zstd threads": ["zstd", "-12", "-T4", "-c", "{memtop}"],
    "grep": ["grep", "-rc", "struct.*thread", f"{ROOT}/agent"],
    "sed": ["sed", "-e", "s/a/b/g", f"{ROOT}/backend/model/walk.c"],
    "jq": ["jq", "-n", "[range(200000)] | map(tostring) | length"],
    "tar": ["tar", "cf", "-", f"{ROOT}/agent"],
    "find": ["find", f"{ROOT}/agent"],
    "diff": ["diff", "-r", f"{ROOT}/agent", f"{ROOT}/backend"],
    "ls": ["ls", "-lR", f"{ROOT}/agent"],
    "make": ["make", "-n", "-C", ROOT, "clean"],
    "objdump": ["objdump", "-t", "{memtop}"],
    "gdb": ["gdb", "--batch", "-ex", "info functions main", "{memtop}"],
    "python3 threads": ["python3", "-c", "import threading, json\ndef f():\n    for i in range(40): x = json.loads('[' + '[1.5],' * 20000 + '1]')\n"
                        "t = [threading.Thread(target=f) for _ in range(8)]\n[x.start() for x in t]; [x.join() for x in t]"],
}


class Peak:
    """Of a process in a session: the snapshot of its peak as the last frames have it, and its last totals."""

    def __init__(self):
        self.slots, self.coming, self.head, self.totals = {}, {}, None, None

    def take(self, kind, v):
        if kind == wire.HELLO:  # another program, by exec
            self.__init__()
        elif kind == wire.TOTALS:
            self.totals = v
        elif kind == wire.PEAK:
            self.coming = {} if v["flags"] & wire.PART_FIRST else self.coming
            self.coming.update((c["slot"], c) for c in v["counts"])
            if v["flags"] & wire.PART_LAST:
                self.slots.update(self.coming)
                self.head = v

    def check(self):
        assert self.head, f"no snapshot of the peak; the totals: {self.totals}"
        self.tree = self.head["allocated_bytes"] - self.head["freed_bytes"]
        self.named, self.error = self.totals["peak_bytes"], self.totals["peak_error_bytes"]
        self.end = self.totals["allocated_bytes"] - self.totals["freed_bytes"]
        for key in COUNTERS:
            assert sum(c[key] for c in self.slots.values()) == self.head[key], key
        assert all(c["allocated_bytes"] >= c["freed_bytes"] and c["allocated_blocks"] >= c["freed_blocks"] for c in self.slots.values())
        return self

    def off(self):
        """Percent that the tree differs from the peak that the totals name."""
        return 100 * (self.tree - self.named) / max(self.named, 1)


def peaks(path):
    """Of each process, the largest first."""
    found = {}
    for stream, kind, v in mtop.streams(path):
        found.setdefault(stream, Peak()).take(kind, v)
    return sorted((p.check() for p in found.values() if p.totals), key=lambda p: -p.named)


def peak_and_output(*command, before=()):
    session = recorded(*command, before=before)
    return peaks(session)[0], session.stdout


def reported(*command):
    """The process with the largest peak; what report --at peak shows of it adds up to the same tree."""
    path = recorded(*command, status=None)
    p = peaks(path)[0]
    others = [["--process", str(x["pid"])] for x in report(path)["processes"] if x["recorded"]]
    for which in others or [[]]:
        r = report(path, arguments=[*which, "--at", "peak"])
        assert sum(s["live_bytes"] for s in r["stacks"]) == r["totals"]["live_bytes"]
        if r["totals"]["live_bytes"] == p.tree:
            return p
    raise AssertionError(f"{command[0]}: no process has {p.tree} bytes in its tree at the peak")


def compiler():
    done = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def words(command):
    known = {"{memtop}": MEMTOP, "{cc1}": compiler() if "{cc1}" in command else ""}
    return [known.get(word, word) for word in command]


@test
def t_the_tree_at_the_peak_has_all_of_it():
    rows, missing = [], []
    for name, command in {**PROGRAMS, **(MORE if LONG else {})}.items():
        command = words(command)
        if not shutil.which(command[0]):
            missing.append(name)
            continue
        rows.append((name, reported(*command)))
    for name, p in rows:
        line = f"{name:16} peak {p.named:>11}  tree {p.tree:>11} {p.off():+6.2f} %  at the end {p.end:>10}"
        print(line, file=sys.stderr if LONG else open(os.devnull, "w", encoding="ascii"))
    wrong = [(name, p.named, p.tree, p.off()) for name, p in rows if abs(p.off()) > 1]
    assert not wrong, wrong
    assert any(p.end < p.named / 10 for _, p in rows), "none of them falls: this shows nothing"
    if len(missing) > 2:
        raise Skip(f"not installed: {', '.join(missing)}")


@test
def t_the_peak_of_many_threads_is_exact():
    for n in (1, 8, 64) if LONG else (1, 16):
        p, out = peak_and_output(TARGET, "threads", str(n))
        top = int(out)
        assert abs(p.off()) <= 1 and top * 0.99 - p.error <= p.tree <= top * 1.01 + 65536 * n, (n, top, p.tree, p.named)
        assert p.end < top / 100


def live_by_function(path):
    """At the peak, of each function that allocated."""
    sums = collections.Counter()
    for s in report(path, arguments=["--at", "peak"])["stacks"]:
        sums[s["frames"][0]["function"]] += s["live_bytes"]
    return sums


@test
def t_a_heap_that_turns_over():
    """At the top all blocks are new, and with the old ones the heap was nearly as high."""
    for n in (1, 2, 32) if LONG else (1, 8):
        path = recorded(TARGET, "turns", str(n))
        p, by = peaks(path)[0], live_by_function(path)
        lists = 20000 * 8 * n
        assert p.named - p.error <= p.tree <= p.named + p.error, (n, p.named, p.tree, p.error)
        assert by["rise"] <= lists + p.error, (n, by, p.error)
        assert by["renew"] >= int(path.stdout) - lists - p.error, (n, by, p.error)


@test
def t_all_blocks_are_replaced_all_the_time():
    """A new top every few milliseconds, for a viewer that is there and one that comes: nothing waits for another."""
    for n in (1, 4, 16) if LONG else (1, 4):
        p, _ = peak_and_output(TARGET, "plateau", str(n))
        assert p.named - p.error - p.named / 512 <= p.tree <= p.named + p.error, (n, p.named, p.tree, p.error)
    process = run_watched([TARGET, "plateau", "4"], "listen=@memtop-test.%p", stdout=subprocess.DEVNULL)
    client = Client(f"@memtop-test.{process.pid}")
    client.until(lambda: client.peak and live_at_peak(client) > 20 << 20, "a snapshot while it runs", 30)
    client.until_final()
    assert process.wait(60) == 0
    off = abs(live_at_peak(client) - client.totals["peak_bytes"])
    assert off <= client.totals["peak_error_bytes"] + client.totals["peak_bytes"] / 512, (live_at_peak(client), client.totals)


@test
def t_a_difference_from_the_peak():
    """Between the peak and the end: what was freed is gone, and allocated is what came since."""
    path = recorded(TARGET, "turns", "1")
    same = json.loads(run([MEMTOP, "diff", "-f", "json", path + "@peak", path + "@peak"]).stdout)
    assert not same["stacks"], same["stacks"]
    d = json.loads(run([MEMTOP, "diff", "-f", "json", "--value", "live", path + "@peak", path]).stdout)
    sites = {s["function"]: s["change"]["live_blocks"] for s in d["sites"]}
    error = peaks(path)[0].error // 700 + 1
    assert -20000 <= sites["renew"] <= -20000 + error, sites
    text = run([MEMTOP, "diff", "--value", "allocated", path + "@peak", path]).stdout
    since = [int(n.replace(",", "")) for n in re.findall(r"grown, \+([\d,]+) block", text)]
    assert not re.search(r"-[\d,]+ block", text) and sum(since) <= error, text


@test
def t_a_filter_that_allows_an_allocator_s_calls_alone():
    plain = run([TARGET, "filter"], env=environment())
    if plain.returncode == 77:
        raise Skip("no seccomp here")
    p, out = peak_and_output(TARGET, "filter")
    assert plain.returncode == 0 and plain.stdout == out, (plain, out)
    assert abs(p.tree - int(out)) < int(out) / 100, (p.tree, out)


def live_at_peak(client):
    return client.peak["allocated_bytes"] - client.peak["freed_bytes"] if client.peak else 0


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@mostly_waits
def t_a_server_that_does_not_run():
    """It sleeps while the heap rises and falls: nothing waits for it, and nothing is lost."""
    process = run_watched([TARGET, "waits"], "listen=@memtop-test.%p", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    client = Client(f"@memtop-test.{process.pid}")
    client.until_complete()
    server = struct.unpack("3i", client.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    os.kill(server, signal.SIGSTOP)
    try:
        began = time.monotonic()
        process.stdin.write(b"x")
        process.stdin.flush()
        top = int(process.stdout.readline())
        took, cpu = time.monotonic() - began, processor_seconds(process.pid)
        assert took < 2 + 4 * cpu, f"{took:.2f} s for {cpu:.2f} s of its processor's time"
    finally:
        os.kill(server, signal.SIGCONT)
    client.until(lambda: live_at_peak(client) > top * 0.99, "the peak", 20)
    assert client.live()[1] < top / 10, client.live()
    process.stdin.write(b"x")
    process.stdin.flush()
    client.until_final()
    live = live_at_peak(client)
    assert process.wait(60) == 0 and abs(live - client.totals["peak_bytes"]) <= live / 100, (live, client.totals)


@mostly_waits
def t_threads_that_have_ended():
    """Nobody continues their states, and what each held back is known all the same."""
    process = run_watched([TARGET, "waits", "64"], "listen=@memtop-test.%p", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    client = Client(f"@memtop-test.{process.pid}")
    ended = lambda: sum(t["flags"] & 1 for t in client.threads.values())  # noqa: E731
    client.until(lambda: ended() == 64, "the ends of all threads", 20)
    process.stdin.write(b"xx")
    process.stdin.flush()
    client.until_final()
    assert process.wait(60) == 0 and client.totals["peak_error_bytes"] < 1 << 20, client.totals


@mostly_waits
def t_a_starved_processor():
    """Everything on one cpu, which others keep busy: as exact, and not much slower."""
    alone = ["taskset", "-c", str(min(os.sched_getaffinity(0))), "nice", "-n"]
    for _ in range(3):
        start([*alone, "0", sys.executable, "-c", "while True: pass"])
    p, out = peak_and_output(TARGET, "threads", "4", before=[*alone, "10"])
    assert abs(p.off()) <= 1 and p.tree >= int(out) * 0.99 - p.error, (p.tree, p.named, out)


@test
def t_the_program_ends_at_any_moment():
    for _ in range(20 if LONG else 3):
        p, _ = peak_and_output(TARGET, "ends")
        assert p.tree <= p.named + p.error and p.tree >= p.named * 0.97 - p.error, (p.tree, p.named, p.error)


@mostly_waits
def t_a_child_has_a_peak_of_its_own():
    path = recorded(TARGET, "fork")
    top, found = int(path.stdout), peaks(path)
    assert len(found) == 2 and all(abs(p.off()) <= 1 for p in found), [(p.named, p.tree) for p in found]
    assert abs(found[0].tree / (top * 1.25) - 1) < 0.01 and abs(found[1].tree / top - 1) < 0.01, [p.tree for p in found]


@test
def t_a_live_view_gets_it_as_it_grows():
    process = run_watched([TARGET, "waits"], "listen=@memtop-test.%p", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    client = Client(f"@memtop-test.{process.pid}")
    client.until_complete()
    process.stdin.write(b"x")
    process.stdin.flush()
    top = int(process.stdout.readline())
    client.until(lambda: live_at_peak(client) > top * 0.99, "the peak", 20)
    assert client.hello["features"] & 4
    newcomer = Client(f"@memtop-test.{process.pid}")
    newcomer.until_complete()
    newcomer.until(lambda: newcomer.peak, "the peak", 20)
    assert {k: newcomer.peak[k] for k in COUNTERS} == {k: client.peak[k] for k in COUNTERS}
    assert newcomer.peak_counts == client.peak_counts
    frames = client.kinds.count(wire.PEAK)
    for _ in range(15):
        client.pump(0.1)
    assert client.kinds.count(wire.PEAK) == frames, "sent again though it has not changed"


@test
def t_the_view_goes_there():
    path, older = recorded(TARGET, "threads", "1"), temporary_folder() + "/older.mtop"
    p = peaks(path)[0]
    assert p.end < 10000, p.end
    t = Terminal([MEMTOP, "open", path], width=120)
    t.wait_for(re.compile("EXITED 0 at"))
    t.keys(":at peak", "Enter")
    t.wait_for(re.compile(r"PAST peak 0:00:\d\d\.\d\d\d"))
    t.wait_for(f"Live {p.tree / (1 << 20):.1f}M")
    t.keys(":now", "Enter")
    t.wait_for(re.compile("EXITED 0 at"))
    t.close()
    mtop.without(path, older, (wire.PEAK,))
    t = Terminal([MEMTOP, "open", older], width=120)
    t.wait_for(re.compile("CUT|EXITED"))
    t.keys(":at peak", "Enter")
    t.wait_for("the call paths at the peak are not in this session")
    t.close()


main()
