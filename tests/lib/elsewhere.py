# SPDX-License-Identifier: MIT
"""Programs of other architectures under Debian's qemu-user, watched by the native memtop over the
abstract socket."""
import collections
import glob
import os
import signal
import struct
import subprocess

from client import Client
from harness import (BUILD, MEMTOP, Skip, at_end, check_invariants, environment, need, read_report, recorded, report,
                     run, start, temporary_folder, test, wait_for)
from obedient import Obedient
import wire

PROGRAMS = [["s_threads", "5"], ["s_sites"], ["s_filter"], ["s_mark"], ["s_named"], ["s_paths", "8"], ["s_phases"]]


def listening(name):
    """Does somebody listen at @name?"""
    with open("/proc/net/unix", encoding="ascii", errors="replace") as f:
        return any(fields[-1] == "@" + name and fields[3] == "00010000" for fields in map(str.split, f) if len(fields) > 7)


def told(lines):
    """What s_stacks said: bytes by the stack's functions, innermost first."""
    count = collections.Counter()
    for line in lines.splitlines():
        size, *functions = line.split()
        count[tuple(functions)] += int(size)
    return count


def shown(r, functions):
    """The same of a report, as far as one of `functions` itself asked for the block; and the truncations met."""
    count, reasons = collections.Counter(), {}
    for s in r["stacks"]:
        names = [f["function"] for f in s["frames"]]
        if names and names[0] in functions:
            key = tuple(n for n in names if n in functions)
            count[key] += s["allocated_bytes"]
            reasons[key] = s["truncated"]
    return count, reasons


def check_cut(want, got, reasons):
    """Stacks that may end early: each that was told is shown up to somewhere, and said to be cut there if it is."""
    expected = collections.Counter()
    for stack, size in want.items():
        shown_as = max((k for k in got if k == stack[:len(k)]), key=len, default=())
        expected[shown_as] += size
    assert got == expected, f"missing {expected - got}, not told {got - expected}"
    assert all(reasons[k] or k in want for k in got), reasons


class Machine:
    before_main = (0, 0)  # blocks and bytes that libc keeps for itself
    quick_exit_known = True

    def __init__(self, name, qemu, triplet):
        self.name, self.qemu, self.triplet = name, qemu, triplet
        self.root = f"/usr/{triplet}"
        self.symbols = self.root + "/lib"
        self.compiler = f"{triplet}-gcc"
        self.agent = os.path.join(BUILD, name, "libmemtop-agent.so")
        self.targets = os.path.join(BUILD, "tests", name)
        need(qemu, self.compiler)

    def path(self, program):
        return program if "/" in program else os.path.join(self.targets, program)

    def command(self, program, *arguments, preload=None, options=None):
        given = [*(["-E", f"LD_PRELOAD={preload}"] if preload else []), *(["-E", f"MEMTOP_OPTIONS={options}"] if options else [])]
        return [self.qemu, "-L", self.root, *given, self.path(program), *arguments]

    def start(self, program, *arguments, options="", **named):
        """Under the agent; its process, and the name where it listens."""
        options = f"listen=@memtop-test.%p {options}".strip()
        p = start(self.command(program, *arguments, preload=self.agent, options=options), env=environment(), **named)
        at_end(p.kill)
        name = f"memtop-test.{p.pid}"
        wait_for(lambda: p.poll() is not None or listening(name), what=f"{program} to listen")
        return p, "@" + name

    def report(self, target, env=None):
        return report(target, env=env or environment(), arguments=["--symbols", self.symbols])

    def live(self, target):
        """A report of what runs now, None when it is gone."""
        done = run([MEMTOP, "report", "--format", "json", "--stacks", "all", "--symbols", self.symbols, target], env=environment())
        return read_report(done.stdout) if done.returncode == 0 else None

    def report_and_output(self, program, *arguments, options="", warning=""):
        """memtop's report of one whole run, and the program's output. warning: the agent's, at
        start."""
        p, target = self.start(program, *arguments, options=f"wait=20000 {options}", stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        session = recorded(arguments=[target])
        said = p.stdout.read().decode()
        lines = p.stderr.read().decode().splitlines()
        assert p.wait(60) == 0, (p.returncode, lines)
        assert len(lines) == bool(warning) and all(warning in line for line in lines), lines
        return self.report(session), said

    def counted(self, program, *arguments):
        """allocations, frees, bytes: by the plain counter."""
        folder = temporary_folder()
        os.link(f"{self.targets}/count_preload.so", folder + "/count.so")
        done = run(self.command(program, *arguments, preload=folder + "/count.so"), env=environment())
        assert done.returncode == 0, done.stderr
        with open(folder + "/counts", "rb") as f:
            return struct.unpack("=3Q", f.read(24))

    def compile(self, source, *flags, folder="tests/targets"):
        """A program of that folder, built in another way."""
        program = temporary_folder() + "/" + source
        done = run([self.compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-fno-builtin", "-Iinclude", "-Itests", *flags,
                    "-o", program, f"{folder}/{source}.c", "-lpthread"])
        assert done.returncode == 0, done.stderr
        return program

    def check_totals(self, but=""):
        wrong = []
        for command in (c for c in PROGRAMS if c[0] != but):
            t, want = self.report_and_output(*command)[0]["totals"], self.counted(*command)
            got = t["allocated_blocks"], t["freed_blocks"], t["allocated_bytes"]
            if got != want or not want[0]:
                wrong.append(f"{command[0]}: memtop {got}, counter {want}")
        assert not wrong, "; ".join(wrong)

    def check_stacks(self, program, engine, *, whole=True):
        """The report has exactly the functions that s_stacks lists. A truncated stack is marked
        so."""
        r, said = self.report_and_output(program, options=f"unwind={engine}")
        assert r["agent"]["unwind"] == engine, r["agent"]
        want = told(said)
        got, reasons = shown(r, {name for stack in want for name in stack})
        assert len(want) > 40, said
        if not whole:
            check_cut(want, got, reasons)
            assert all(reasons.values()), {k: v for k, v in reasons.items() if not v}
            return
        assert not any(reasons.values()), {k: v for k, v in reasons.items() if v}
        assert got == want, f"{engine}: missing {want - got}, not told {got - want}"

    def check_threads(self):
        r, _ = self.report_and_output("s_threads", "2")
        assert len(r["threads"]) > 8, r["threads"]
        assert sum(t["allocated_bytes"] for t in r["threads"]) == r["totals"]["allocated_bytes"]
        r, _ = self.report_and_output("s_named")
        assert len({t["name"] for t in r["threads"]}) > 2, r["threads"]

    def check_marks(self):
        marks = {m["name"]: m for m in self.report_and_output("s_mark")[0]["marks"]}
        blocks, bytes_ = self.before_main
        assert (marks["first"]["live_blocks"], marks["first"]["live_bytes"]) == (blocks + 10, bytes_ + 1000), marks
        assert (marks["m2"]["live_blocks"], marks["m2"]["live_bytes"]) == (blocks + 25, bytes_ + 4500), marks

    def check_live(self):
        """The server answers while the program runs, takes a mark from outside, and sees the end."""
        p, target = self.start("s_phases", "wait")

        def live():
            value = self.live(target)
            if value:
                check_invariants(value)
            return value

        blocks, bytes_ = self.before_main
        r = wait_for(lambda: (x := live()) and x["totals"]["live_blocks"] == blocks + 100 and x, what="the first phase")
        assert r["totals"]["live_bytes"] == bytes_ + 100 * 65536, r["totals"]
        assert any(f["function"] == "early_phase" for s in r["stacks"] for f in s["frames"]), r["stacks"][:1]
        for figure in ("live_blocks", "live_bytes"):
            assert sum(t[figure] for t in r["threads"]) == r["totals"][figure], (figure, r["threads"], r["totals"])
        done = run([MEMTOP, "mark", target, "outside"], env=environment())
        assert done.returncode == 0, done.stderr
        os.kill(p.pid, signal.SIGUSR1)
        r = wait_for(lambda: (x := live()) and x["totals"]["live_blocks"] == blocks + 400 and x, what="the second phase")
        assert [x["live_blocks"] for x in r["marks"] if x["name"] == "outside"] == [blocks + 100], r["marks"]
        os.kill(p.pid, signal.SIGUSR1)
        wait_for(lambda: (x := live()) and x["totals"]["live_blocks"] == blocks + 350, what="the third phase")
        os.kill(p.pid, signal.SIGUSR1)
        assert p.wait(60) == 0

    def check_hello(self, arch, word_bits):
        """And that its server is a thread, which is said."""
        p, target = self.start("s_phases", "wait")
        c = Client(target).until_complete()
        assert c.hello["arch"] == arch and c.hello["word_bits"] == word_bits, c.hello
        c.until(lambda: any("thread of the program" in text for text in c.notices), "the notice")
        p.kill()

    def check_children(self):
        """fork, _Fork, raw clone, vfork, posix_spawn: the parent's blocks are counted, the children do as they did."""
        r, _ = self.report_and_output("s_fork")
        t = r["totals"]
        assert (t["allocated_blocks"], t["freed_blocks"], t["allocated_bytes"]) == (200, 200, 9 * 199 * 200 // 2), t
        return r

    def check_units(self, *names):
        """The agent's own unit tests, on that machine. Those of the live map, of forks and of ends need what qemu-user lacks."""
        if "LONG" not in os.environ:
            raise Skip("LONG=1 only")
        objects = [f"{BUILD}/{self.name}/{c[:-2]}.o" for c in sorted(glob.glob("agent/*/*.c"))
                   if not c.startswith(("agent/linked/", "agent/loaded/")) and not c.endswith("/jemalloc_names.c")] + [f"{BUILD}/{self.name}/agent/linked/libc.o"]
        failed = []
        for name in names:
            program = temporary_folder() + "/" + name
            done = run([self.compiler, "-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-funwind-tables", "-fno-builtin", "-Iinclude",
                        "-Iagent", "-Itests", "-o", program, *glob.glob(f"tests/unit/agent/*/test_{name}.c"), *objects, "-lpthread", "-ldl"], 60)
            assert done.returncode == 0, done.stderr
            done = run(self.command(program), 200, env=environment())
            lines = done.stdout.splitlines()
            failed += [line for line in lines if line.startswith("FAIL")]
            assert done.returncode == 0 or failed, done
            assert any(line.startswith("PASS") for line in lines), done
        assert not failed, failed

    def check_torture(self):
        """test_torture.py's counts: handlers that allocate and jump out, coroutines, a timer that interrupts everywhere."""
        for mode, blocks in (("handlers", 1 + 2000 * 2 + 2000 * 2 * 2), ("coroutines", 16 * 200 + 16 * 10 * 2),
                             ("timer", 400000 * 2)):
            t = self.report_and_output("s_torture", mode)[0]["totals"]
            assert (t["allocated_blocks"], t["live_blocks"]) == (blocks, 0), (mode, t)

    def check_ends(self):
        """exit, _exit, quick_exit: the last figures come over, and the status, which quick_exit tells nobody."""
        for how, status, known in (("x 3", 3, True), ("_ 4", 4, True), ("q 5", 5, self.quick_exit_known)):
            p = Obedient(watched=False, wait=False,
                         command=self.command("s_server", preload=self.agent, options="listen=@memtop-test.%p"))
            c = p.viewer().until_complete()
            assert p.answer() == "ready"
            p.do("a 10 1000")
            p.tell(how)
            c.until_final()
            assert (c.state["state"], c.state["known"]) == (wire.EXITED, known), (how, c.state)
            assert c.state["status"] == status or not known, (how, c.state)
            assert any(c.slot_live(s) == (10, 10000) for s in c.counts), c.counts
            assert p.process.wait(60) == status


def tests_of_every_machine(machine, arch, word_bits):
    """Registers the tests that do not depend on the machine; machine() makes one."""
    @test
    def t_totals_equal_the_counters():
        machine().check_totals()

    @test
    def t_threads_and_their_blocks():
        machine().check_threads()

    @test
    def t_marks_from_within():
        machine().check_marks()

    @test
    def t_live_while_it_runs():
        machine().check_live()

    @test
    def t_hello_and_what_its_server_is():
        machine().check_hello(arch, word_bits)

    @test
    def t_torture():
        machine().check_torture()

    @test
    def t_ends():
        machine().check_ends()
