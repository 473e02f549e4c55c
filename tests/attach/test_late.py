#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_late.py - the agent in a running process: exact from the attach on, gone without a trace
after the detach.

tests/targets/late.c loads the agent itself, without ptrace, and counts every allocation of its own
and its libraries.
"""
import glob
import os
import signal
import subprocess

import tracing
import wire
from client import Client, connect_to
from harness import (AGENT, BUILD, MEMTOP, Skip, environment, main, mostly_waits, report, run, start, test,
                     wait_for)
from servers import server_of

TARGETS = os.path.join(BUILD, "tests", "late")  # not among those that end by themselves
CONSTRUCTED = 333  # what each C library's constructor allocates
AGAIN = 1
ALREADY, PRELOADED, OPTIONS, ALLOCATOR, MEMORY, SERVER, LEAVING = range(-1, -8, -1)
KEYS = ("allocated_blocks", "allocated_bytes", "freed_blocks", "freed_bytes", "before_blocks", "before_bytes", "wrong")


class Late:
    def __init__(self, program="late", env=None):
        self.process = start([os.path.join(TARGETS, program), AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True, env=env or environment())
        self.pid = self.process.pid

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def attach(self, options="", result=0):
        """After a detach once its server is gone."""
        answers = []

        def answered():
            answers.append(int(self.say(f"a {options}")))
            return answers[-1] == result or answers[-1] != LEAVING
        wait_for(answered, 20, "the end of the session before")
        assert answers[-1] == result, f"memtop_attach: {answers}"

    def sums(self, line):
        words = self.say(line).split()
        assert words and words[0] == "sums", words
        sums = dict(zip(KEYS, map(int, words[1:])))
        assert sums["wrong"] == 0, f"{sums['wrong']} bytes of the program's blocks changed"
        return sums

    def load(self, name):
        assert self.say(f"l {TARGETS}/liblate_{name}.so") == "ok", name

    def unload(self):
        assert self.say("u") == "ok"

    def come_and_go(self, name):
        """One thread more loads and unloads that library while events are made; its constructor's blocks are in the sums."""
        assert self.say(f"o {TARGETS}/liblate_{name}.so") == "ok"

    def viewer(self):
        return Client(f"@memtop.{self.pid}", tick_ns=20_000_000)

    def detach(self, c=None):
        """Takes the agent out, as the viewer does; the client with the last state."""
        c = (c or self.viewer()).until_complete()
        c.sock.sendall(wire.detach_agent())
        c.until_final()
        assert c.state["state"] == wire.DETACHED, c.state
        c.until(lambda: c.ended or not c.pump(), "the end of the connection")
        return c

    def tasks(self):
        """Its threads, and other processes in its memory under the agent's name."""
        own = len(os.listdir(f"/proc/{self.pid}/task"))
        servers = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
                    if f.read() != "memtop-agent\n":
                        continue
                with open(f"/proc/{pid}/maps", "rb") as f, open(f"/proc/{self.pid}/maps", "rb") as g:
                    servers += f.readline() == g.readline()  # the same memory
            except OSError:
                continue
        return own, servers


def settled(client):
    """The program stands still: the second whole state from now on was taken after that."""
    return client.until_complete().until_complete()


def seen(client):
    """What the agent says, as the program counts."""
    settled(client)
    t, unknown = client.totals, client.losses.get(2, {"events": 0, "bytes": 0})
    return {**{k: t[k] for k in KEYS[:4]}, "before_blocks": unknown["events"], "before_bytes": unknown["bytes"]}


def same(client, sums, constructed=(0, 0)):
    """Both agree, but for the blocks of constructors: made and freed since the attach."""
    made, freed = constructed
    want = {k: sums[k] for k in KEYS[:6]}
    want["allocated_blocks"] += made
    want["allocated_bytes"] += made * CONSTRUCTED
    want["freed_blocks"] += freed
    want["freed_bytes"] += freed * CONSTRUCTED
    have = seen(client)
    assert have == want, f"the agent says {have}\nthe program     {want}"
    lost = {k: v for k, v in client.losses.items() if k != 2 and v["events"]}
    assert not lost, f"lost: {lost}"


def exact_in(program):
    late = Late(program)
    for name in ("now", "lazy", "cxx"):
        late.load(name)
    late.sums("r 3000")
    assert late.say("z") == "ok"
    late.attach("")
    client = late.viewer().until_complete()
    assert client.options["attached"]["value"] == "yes", client.options
    first = late.sums("r 3000")
    assert first["before_blocks"] > 100 and first["allocated_blocks"] > 3000, first
    same(client, first)
    late.load("rel")  # comes after the attach, with a constructor, and without a GNU hash table
    same(client, late.sums("r 2000"), (1, 0))
    dropped = late.sums("d")
    same(client, dropped, (1, 0))
    late.unload()
    same(client, dropped, (1, 1))
    assert client.live() == (0, 0), client.live()
    late.load("lazy")  # a second time: what is bound lazily now finds the hooks by name
    same(client, late.sums("r 500"), (1, 1))  # its first load was there before, and stays
    return late


@test
def t_exact_in_a_program_of_full_relro():
    exact_in("late")


@test
def t_exact_in_a_lazy_program_that_is_no_pie():
    exact_in("late_lazy")


@test
def t_exact_with_other_allocators():
    """The modules' bindings are the hooked functions, operator new included."""
    found = [f for name in ("jemalloc.so.2", "tcmalloc_minimal.so.4", "mimalloc.so.2")
             for f in glob.glob(f"/usr/lib/*-linux-gnu/lib{name}")]
    if not found:
        raise Skip("none is installed")
    for library in found:
        late = Late(env=environment(LD_PRELOAD=library))
        for name in ("now", "cxx"):
            late.load(name)
        late.sums("r 1000")
        assert late.say("z") == "ok"
        late.attach("")
        client = late.viewer().until_complete()
        same(client, late.sums("r 1000"))
        late.load("rel")
        same(client, late.sums("r 500"), (1, 0))
        same(client, late.sums("d"), (1, 0))
        late.detach(client)
        late.sums("r 100")


@test
def t_first_calls_are_bound_after_the_attach():
    """Nothing called malloc before, so no lazy slot holds an address yet."""
    late = Late("late_lazy")
    late.load("lazy")
    late.attach("")
    client = late.viewer()
    same(client, late.sums("r 1000"))


@test
def t_exact_while_libraries_come_and_go():
    late = Late()
    late.load("cxx")
    late.attach("")
    for name in ("rel", "lazy", "now"):
        late.come_and_go(name)
        client = late.viewer().until_complete()
        same(client, late.sums("r 8000"))
        gone = [m for m in client.modules.values() if m["path"].endswith(f"liblate_{name}.so") and m["unloaded_ns"]]
        assert gone, "it was never seen"
    same(client, late.sums("d"))
    assert client.live() == (0, 0)


def server_killed(late):
    """Kills it under fire; events go on without it."""
    server = server_of(late.pid)
    assert late.say("h") == "ok"
    os.kill(server, signal.SIGKILL)
    wait_for(lambda: late.tasks()[1] == 0, 20, "the server's end")
    late.sums("s")
    return late.sums("r 1000")


@test
def t_a_killed_server_is_replaced():
    """The counters are the program's: the new server has all of them, also what was counted while there was none."""
    late = Late()
    late.load("cxx")
    late.attach("depth=77")
    for _ in range(3):
        late.sums("r 500")
        server_killed(late)
        late.attach("depth=99", AGAIN)
        late.attach("", ALREADY)
        client = late.viewer()
        same(client, late.sums("r 500"))
        assert client.options["depth"]["value"] == "77", client.options  # the session keeps its own
    same(client, late.sums("d"))
    assert client.live() == (0, 0), client.live()
    late.detach(client)
    wait_for(lambda: late.tasks()[1] == 0, 20, "the server's end")
    late.attach("")
    assert late.say("z") == "ok"
    late.sums("r 100")


@test
def t_a_killed_server_of_a_preloaded_agent_is_replaced():
    late = Late(env=environment(LD_PRELOAD=AGENT))
    late.attach("", PRELOADED)  # what its dlopen allocates is counted by the agent alone
    begun = late.sums("r 500")
    before = seen(Client(f"@memtop.{late.pid}"))
    ended = server_killed(late)
    late.attach("", AGAIN)
    late.attach("", PRELOADED)
    after = seen(Client(f"@memtop.{late.pid}"))
    for key in KEYS[:4]:
        assert after[key] - before[key] == ended[key] - begun[key], (key, before, after, begun, ended)


@test
def t_fifty_rounds_under_fire():
    late = Late()
    for name in ("now", "cxx"):
        late.load(name)
    late.come_and_go("lazy")
    assert late.say("h") == "ok"
    before = late.tasks()
    for i in range(50):
        late.attach("")
        if i % 10 == 0:
            late.attach("", ALREADY)
        c = late.detach()
        wait_for(lambda: late.tasks() == before, what="threads and servers gone")
        t = c.totals
        assert t["allocated_blocks"] >= t["freed_blocks"], t
        lost = {k: v for k, v in c.losses.items() if k != 2 and v["events"]}
        assert not lost, f"round {i}: lost {lost}"
    late.sums("s")
    late.load("rel")
    late.sums("r 500")
    assert late.say("z") == "ok"
    late.attach("")  # a session that begins with nothing
    client = late.viewer().until_complete()
    assert client.totals["allocated_blocks"] == 0 and client.live() == (0, 0), client.totals
    same(client, late.sums("r 2000"))
    same(client, late.sums("d"))
    assert client.live() == (0, 0)


def code_of(pid, path):
    """The addresses of that file's instructions in the process."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        rows = [line.split() for line in f if line.rstrip().endswith(path)]
    return [range(*(int(at, 16) for at in row[0].split("-"))) for row in rows if "x" in row[1]]


@test
def t_held_at_any_instruction_of_the_agent():
    """A thread that loses its cpu inside the agent, at each instruction in turn, and gets it back in the next session."""
    late = Late()
    tid, before = int(late.say("w")), late.tasks()
    late.attach("")
    code = code_of(late.pid, os.path.realpath(AGENT))
    wrong, at = [], 0
    while at >= 0:
        for line in ("n 50", "e"):
            assert late.say(line) == "ok"
        tracing.held(tid)
        assert late.say("n 1") == "ok"
        waits, inside, last = tracing.stopped_at(tid).ip, 0, 0
        while inside <= at and not (inside and 0 <= waits - last <= 4):  # before it waits again
            last = tracing.step(tid)
            inside += any(last in r for r in code)
        at = at + 1 if inside > at else -1
        late.detach()
        wait_for(lambda: late.tasks() == before, what="the server's end")
        if int(late.say("a")) == LEAVING:  # no session begins while it is in the middle of an event
            tracing.ptrace(tracing.DETACH, tid)
            assert late.say("e") == "ok"
            late.attach("")
        else:
            tracing.ptrace(tracing.DETACH, tid)
        for line in ("e", "n 10", "e"):
            assert late.say(line) == "ok"
        client = settled(late.viewer())
        t, lost = client.totals, {k: v["events"] for k, v in client.losses.items() if v["events"]}
        if not 10 <= t["allocated_blocks"] == t["freed_blocks"] <= 11 or client.live() != (0, 0) or lost not in ({}, {2: 1}):
            wrong.append(f"{last - code[0].start:#x}: {t} {lost}")
        client.sock.close()
    assert not wrong, "\n".join(wrong)


@test
def t_everything_freed_is_everything_seen():
    """Attached under fire nobody can say at which call it began; but no block may stay for ever."""
    late = Late()
    for name in ("now", "cxx"):
        late.load(name)
    for _ in range(5):
        assert late.say("h") == "ok"
        late.attach("")
        client = late.viewer().until_complete()
        client.until(lambda: client.totals["allocated_blocks"] > 20000, "events")
        late.sums("s")
        late.sums("d")
        settled(client)
        cut = [n for n in client.nodes.values() if n and n["kind"] == wire.TRUNCATED]
        assert not cut, f"threads that were there before have stacks that end early: {cut}"
        assert client.live() == (0, 0), client.live()
        assert not {k: v for k, v in client.losses.items() if k != 2 and v["events"]}, client.losses
        late.detach(client)


def slots_of(path):
    """Offset of the file's malloc-like call slots, by name, from readelf."""
    text = run(["readelf", "-rW", path]).stdout
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 5 and words[2].endswith(("_JUMP_SLO", "_JUMP_SLOT", "_GLOB_DAT")):
            found[words[4].split("@")[0]] = int(words[0], 16)
    return found


def read_slot(pid, path, offset):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        base = next(int(line.split("-")[0], 16) for line in f if line.rstrip().endswith(path))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as f:
        f.seek(base + offset)
        return int.from_bytes(f.read(8), "little")


def write_slot(pid, path, offset, value):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        base = next(int(line.split("-")[0], 16) for line in f if line.rstrip().endswith(path))
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as f:
        f.seek(base + offset)
        f.write(value.to_bytes(8, "little"))


def protections(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return [(line.split()[1], line.split()[5]) for line in f if "liblate_" in line or line.rstrip().endswith("/late")
                or "libc.so" in line]


@test
def t_slots_and_pages_are_as_before():
    late = Late()
    late.load("now")
    late.sums("r 100")
    path = os.path.join(TARGETS, "liblate_now.so")
    slots = {name: at for name, at in slots_of(path).items() if name in ("malloc", "free", "realloc", "calloc")}
    assert len(slots) == 4, slots
    now = lambda: {name: read_slot(late.pid, path, at) for name, at in slots.items()}  # noqa: E731
    before, pages = now(), protections(late.pid)
    late.attach("")
    assert all(value != before[name] for name, value in now().items()), "not hooked"
    late.detach()
    assert now() == before, "slots differ"
    # adjacent read-only areas may be one mapping or two: only order and rights count
    squeeze = lambda rows: [row for i, row in enumerate(rows) if i == 0 or row != rows[i - 1]]  # noqa: E731
    assert squeeze(protections(late.pid)) == squeeze(pages), (pages, protections(late.pid))
    late.sums("r 100")


@test
def t_slot_that_somebody_else_changed_is_left():
    late = Late()
    late.load("now")
    path = os.path.join(TARGETS, "liblate_now.so")
    slots = slots_of(path)
    real = {name: read_slot(late.pid, path, slots[name]) for name in ("malloc", "calloc")}
    late.attach("")
    client = late.viewer()
    wait_for(lambda: any(m["flags"] & wire.MODULE_HOOKED for m in settled(client).modules.values()
                         if m["path"].endswith("liblate_now.so")), what="the status")
    write_slot(late.pid, path, slots["calloc"], real["malloc"])  # as another tool's hook would
    late.detach(client)
    assert read_slot(late.pid, path, slots["calloc"]) == real["malloc"], "not left"
    assert read_slot(late.pid, path, slots["malloc"]) == real["malloc"], "not restored"
    assert any("left as they are: 1" in n for n in client.notices), client.notices
    write_slot(late.pid, path, slots["calloc"], real["calloc"])
    late.attach("")
    same(late.viewer(), late.sums("r 100"))


@test
def t_modules_say_whether_they_are_hooked():
    late = Late()
    late.load("now")
    assert late.say(f"L {TARGETS}/liblate_else.so") == "ok"  # bound to liblate_own's malloc
    late.attach("")
    client = late.viewer()
    late.load("lazy")  # its slots lead to their stubs
    late.sums("r 10")

    def status():
        settled(client)
        return {os.path.basename(m["path"]): m["flags"] & wire.MODULE_HOOKS for m in client.modules.values()}

    want = {"late": wire.MODULE_HOOKED, "liblate_now.so": wire.MODULE_HOOKED, "liblate_lazy.so": wire.MODULE_HOOKED,
            "libc.so.6": wire.MODULE_HOOKED, "liblate_else.so": wire.MODULE_ELSEWHERE,
            "liblate_own.so": wire.MODULE_OWN, "libmemtop-agent.so": wire.MODULE_SPARED,
            "ld-linux-x86-64.so.2": wire.MODULE_SPARED}
    wait_for(lambda: all(status().get(name) for name in want), what="a status of each module")
    now = status()
    assert {name: now[name] for name in want} == want, now
    r = report(f"@memtop.{late.pid}")
    hooks = {m["name"]: m["hooks"] for m in r["modules"]}
    assert hooks["late"] == "hooked" and hooks["liblate_own.so"] == "own allocator", hooks
    assert hooks["liblate_else.so"] == "another allocator", hooks
    assert r["agent"]["attached"] is True, r["agent"]
    assert any("liblate_else.so: another allocator" in w for w in r["warnings"]), r["warnings"]


def calls_of(late, name):
    """What the slots of malloc and free of that library hold: hooks, or the real functions."""
    path = f"{TARGETS}/liblate_{name}.so"
    slots = slots_of(path)
    return tuple(read_slot(late.pid, path, slots[f]) for f in ("malloc", "free"))


def status_of(client, name):
    """The hooks of that library, once the agent has reported some."""
    def said():
        flags = [m["flags"] for m in settled(client).modules.values() if m["path"].endswith(f"/liblate_{name}.so")]
        return flags and flags[0] & wire.MODULE_HOOKS
    return wait_for(said, what="a status")


@test
def t_other_namespaces_are_named():
    """Of an attached agent, before and after it comes, and of a preloaded one."""
    for preloaded in (False, True):
        late = Late(env=environment(LD_PRELOAD=AGENT) if preloaded else None)
        if not preloaded:
            assert late.say(f"M {TARGETS}/liblate_lazy.so") == "ok"
            late.attach("")
        client = late.viewer()
        assert late.say(f"M {TARGETS}/liblate_now.so") == "ok"
        for name in ("now",) if preloaded else ("now", "lazy"):
            assert status_of(client, name) == wire.MODULE_APART, name
        if not preloaded:
            same(client, late.sums("r 100"))
        r = report(f"@memtop.{late.pid}")
        apart = [m["name"] for m in r["modules"] if m["hooks"] == "a namespace of its own (dlmopen)"]
        assert "liblate_now.so" in apart and "libc.so.6" in apart, apart
        warned = [w for w in r["warnings"] if "a namespace of its own (dlmopen); memtop does not see its allocations" in w]
        assert len(warned) == 2 - preloaded, r["warnings"]  # its libc goes without saying


@test
def t_libs_and_exclude_say_which_modules_are_hooked():
    """Excluded modules call the real functions, and their frees are still seen: both parts sum to
    the whole."""
    parts = []
    for options, status in (("libs=^liblate_now", wire.MODULE_HOOKED), ("exclude=^liblate_now", wire.MODULE_UNMATCHED)):
        late = Late()
        for name in ("now", "cxx"):
            late.load(name)
        real = calls_of(late, "now")
        late.attach(options)
        client = late.viewer()
        assert status_of(client, "now") == status
        assert status_of(client, "cxx") == wire.MODULE_HOOKED + wire.MODULE_UNMATCHED - status
        is_real = [a == b for a, b in zip(real, calls_of(late, "now"))]
        assert is_real == [status == wire.MODULE_UNMATCHED, False], is_real
        sums = late.sums("r 3000")
        have = seen(client)
        parts.append((have["allocated_blocks"], have["allocated_bytes"]))
        assert not any(v["events"] for k, v in client.losses.items() if k != 2), client.losses
        late.sums("d")
        settled(client)
        assert client.live() == (0, 0), client.live()
    whole = sums["allocated_blocks"], sums["allocated_bytes"]
    assert tuple(map(sum, zip(*parts))) == whole and all(blocks > 1000 for blocks, _ in parts), (parts, whole)
    client.send(wire.SET_OPTION, name="exclude", value="")  # by a viewer: hooked again
    wait_for(lambda: status_of(client, "now") == wire.MODULE_HOOKED, what="hooks")
    assert calls_of(late, "now")[0] != real[0]
    first = late.sums("r 0")
    before = seen(client)
    sums, after = late.sums("r 1000"), seen(client)
    assert all(after[k] - before[k] == sums[k] - first[k] > 1000 for k in KEYS[:2]), (before, after, first, sums)
    late.detach(client)
    assert calls_of(late, "now") == real


@test
def t_allocator_in_use_is_not_another():
    """Its calls of itself are bound lazily, and may not be yet."""
    found = glob.glob("/usr/lib/*-linux-gnu/libjemalloc.so.2")
    if not found:
        raise Skip("it is not installed")
    late = Late(env=environment(LD_PRELOAD=found[0]))
    late.attach("")
    client = late.viewer()
    flags = wait_for(lambda: [m["flags"] & wire.MODULE_HOOKS for m in settled(client).modules.values()
                              if m["path"] == found[0] and m["flags"] & wire.MODULE_HOOKS], what="its status")
    assert flags == [wire.MODULE_HOOKED], flags
    same(client, late.sums("r 100"))


@test
def t_before_attach_is_reported():
    late = Late()
    late.sums("r 2000")
    assert late.say("z") == "ok"
    late.attach("")
    sums = late.sums("d")
    assert sums["before_blocks"] > 500, sums
    r = report(f"@memtop.{late.pid}")
    before = r["agent"]["before_attach"]
    assert before == {"freed_blocks": sums["before_blocks"], "freed_bytes": sums["before_bytes"]}, (before, sums)
    assert r["agent"]["lost"]["events"] == 0, r["agent"]["lost"]
    assert any("older blocks are not shown" in w for w in r["warnings"]), r["warnings"]


@test
def t_a_late_agent_refuses_wrong_options_and_a_second_attach():
    late = Late()
    late.attach("depth=0", OPTIONS)
    late.attach("nonsense=1", OPTIONS)
    late.attach("listen=none", SERVER)
    late.attach("")
    late.attach("", ALREADY)
    late.sums("r 100")
    # preloaded: memtop_attach has nothing to do, and the agent cannot be taken out
    early = Late(env=environment(LD_PRELOAD=AGENT))
    early.attach("", PRELOADED)
    c = Client(f"@memtop.{early.pid}").until_complete()
    c.sock.sendall(wire.detach_agent())
    c.until(lambda: c.errors, "a refusal")
    assert c.errors[0]["code"] == wire.E_DETACH and "cannot be taken out" in c.errors[0]["text"], c.errors
    Client(f"@memtop.{early.pid}").until_complete()


@test
def t_static_program_is_refused():
    late = Late("late_static")
    late.attach("", ALLOCATOR)
    late.sums("r 100")


@test
def t_children_and_ends():
    late = Late()
    for name in ("now", "cxx"):
        late.load(name)
    late.attach("")
    client = late.viewer()
    same(client, late.sums("r 500"))
    assert late.say("f") == "ok"  # what the child does is the child's
    same(client, late.sums("r 500"))
    late.detach(client)
    assert late.say("f") == "ok"
    late.attach("")
    client = late.viewer().until_complete()
    late.process.stdin.write("x\n")
    late.process.stdin.flush()
    text = late.process.stdout.read()
    names = {line.split("=")[0] for line in text.splitlines()}
    assert not names & {"MEMTOP_OPTIONS", "LD_PRELOAD"} and "PATH" in names, sorted(names)
    client.until_final()
    assert client.state["state"] == wire.EXECED, client.state
    # an end that is seen
    late = Late()
    late.attach("")
    client = late.viewer().until_complete()
    late.process.stdin.write("q\n")
    late.process.stdin.flush()
    client.until_final()
    assert (client.state["state"], client.state["status"]) == (wire.EXITED, 0), client.state
    assert late.process.wait(60) == 0


@test
def t_sampled_filtered_and_other_engines():
    """Options are those of any session, and each session's own."""
    late = Late()
    late.load("now")
    late.sums("r 300")
    late.attach("sample=4096 unwind=fp")
    client = late.viewer().until_complete()
    late.sums("r 2000")
    settled(client)
    assert client.weighed and client.options["unwind"]["value"] == "fp", client.options
    late.detach(client)
    late.attach("min_size=2048 unwind=caller")
    client = late.viewer().until_complete()
    late.sums("r 1000")
    settled(client)
    t = client.totals
    assert t["allocated_blocks"] and t["allocated_bytes"] >= 2048 * t["allocated_blocks"] and not client.weighed, t
    late.detach(client)
    assert late.say("z") == "ok"
    late.attach("")
    client = late.viewer().until_complete()
    assert not client.filters and client.options["unwind"]["value"] in ("cfi", "fp"), client.options
    same(client, late.sums("r 1000"))
    same(client, late.sums("d"))
    assert client.live() == (0, 0)


FORKS = """
import ctypes, os, sys, time
agent = ctypes.CDLL(sys.argv[1])
def attach():
    assert agent.memtop_attach(b"") == 0, "attach"
if sys.argv[2] == "before":
    attach()
    pid = os.fork()
else: # attached, taken out, and the child is attached by itself
    attach()
    print(os.getpid(), flush=True)
    sys.stdin.readline()
    pid = os.fork()
    if not pid:
        attach()
if not pid:
    for i in range(60):
        time.sleep(0.05)
    sys.stdin.read()
    os._exit(0)
print(pid, flush=True)
print(os.waitpid(pid, 0)[1], flush=True)
"""


def forked_late(how):
    p = start(["/usr/bin/python3", "-c", FORKS, AGENT, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
              env=environment())
    if how == "after":
        done = run([MEMTOP, "detach", p.stdout.readline().strip()], env=environment())
        assert done.returncode == 0, done
        p.stdin.write("\n")
        p.stdin.flush()
    child = int(p.stdout.readline())
    c = Client(f"@memtop.{child}").until_complete()
    p.stdin.close()
    assert p.stdout.readline() == "0\n", "the child did not end as it should"
    c.until_final()


@mostly_waits
def t_child_of_an_attached_process_becomes_a_session():
    """It has the list of its parent's server's mappings, and not what that lists."""
    forked_late("before")


@mostly_waits
def t_child_of_a_detached_process_is_attached():
    forked_late("after")


@test
def t_nothing_without_an_attach():
    """The agent's constructor does nothing in a process that loads it late."""
    late = Late()
    late.attach("depth=0", OPTIONS)  # loads it
    assert late.tasks() == (1, 0), late.tasks()
    try:
        connect_to(f"@memtop.{late.pid}", 0)
    except AssertionError:
        return
    raise AssertionError("somebody listens")


main()
