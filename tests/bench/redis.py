# SPDX-License-Identifier: MIT
"""redis.py - rows about a server: under load, idle, with viewers, over a long
time.

Cpu comes from the scheduler's clocks of the processes (ns), not from rusage, because the server
runs on while it is measured. The agent's server is a separate process with its own clock.
"""
import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import threading
import time

import figures
import goals
from setting import FOLDER, PLAIN, QUICK, ROOT, Failed, built
from tools import ALL, last_words, listening, viewers
from turns import in_turns

sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from forward import free_port  # noqa: E402

REQUESTS = 500000
TESTS = "set,get,lpush"
STEADY = "set,get,incr,lpush,lpop,rpush,rpop,sadd,spop,hset,zadd,zpopmin"  # what is pushed is popped
JUDGED = {"memtop": "redis-server: cpu", "memtop-sampled": "redis-server, sampled: cpu"}
PR_SET_CHILD_SUBREAPER = 36


def cpu_s(pid):
    """The cpu that a process has used: its clock's number is made of its pid."""
    return time.clock_gettime((~pid << 3) | 2)


def agent_server(pid):
    """The pid of the agent's server: named so, and in the memory of the process `pid`."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        wanted = f.readline().split()[0]
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{entry}/comm", encoding="utf-8") as f:
                if f.read() != "memtop-agent\n":
                    continue
            with open(f"/proc/{entry}/maps", encoding="utf-8") as f:
                if f.readline().split()[0] == wanted:
                    return int(entry)
    return None


class Server:
    """A private redis-server under a tool; .pid is redis itself, whatever stands in front of it."""

    def __init__(self, tool):
        self.port, self.name, self.tool = free_port(), listening(), tool
        environment = {**PLAIN, **tool.environment}
        if "LD_PRELOAD" in environment and tool.name.startswith("memtop"):
            environment["MEMTOP_OPTIONS"] = f"{tool.options} listen=@{self.name}".strip()
        command = ["/usr/bin/redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                   "--appendonly", "no", "--dir", FOLDER]
        self.process = subprocess.Popen(tool.prefix + command, env=environment, cwd=FOLDER, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self._connect()

    def __enter__(self):
        return self

    def _connect(self):
        for _ in range(2000):
            with contextlib.suppress(OSError):
                said = self.ask("INFO server")
                if "process_id:" in said:
                    return int(said.split("process_id:")[1].split()[0])
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        self.process.kill()
        raise Failed(f"redis-server did not start under {self.tool.name}")

    def ask(self, line):
        with socket.create_connection(("127.0.0.1", self.port), 10) as s:
            s.sendall(line.encode() + b"\r\n")
            return s.recv(65536).decode(errors="replace")

    def load(self, requests=REQUESTS, tests=TESTS):
        """Seconds that redis-benchmark takes."""
        begin = time.monotonic()
        done = subprocess.run(["redis-benchmark", "-p", str(self.port), "-t", tests, "-n", str(requests), "-P", "16",
                               "-r", "100000", "-d", "64", "-q"], env=PLAIN, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            raise Failed(f"redis-benchmark: {done.stderr[-200:]!r}")
        return time.monotonic() - begin

    def peak_kib(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))

    def __exit__(self, *unused):
        with contextlib.suppress(OSError):
            self.ask("SHUTDOWN NOSAVE")
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def loaded(tool):
    """(driver s, server cpu s, peak KiB, cpu of the agent's server s) of one run."""
    with Server(tool) as server, contextlib.ExitStack() as stack:
        process = stack.enter_context(viewers(tool.viewers, server.name)) if tool.viewers else None
        beside = agent_server(server.pid) if tool.name.startswith("memtop") else None
        before, beside_before = cpu_s(server.pid), cpu_s(beside) if beside else 0
        wall = server.load()
        taken = (wall, cpu_s(server.pid) - before, server.peak_kib(), (cpu_s(beside) - beside_before) if beside else 0)
        server.__exit__()
        if process:
            last_words(process)
    return taken


def idle(tool, seconds=2.0):
    """ms of cpu in a second that redis-server and the agent's server take with nothing to do."""
    with Server(tool) as server:
        beside = agent_server(server.pid) if tool.name.startswith("memtop") else None
        time.sleep(0.5)
        before, beside_before = cpu_s(server.pid), cpu_s(beside) if beside else 0
        begin = time.monotonic()
        time.sleep(seconds)  # what is measured is this time, not a wait for something
        took = time.monotonic() - begin
        return ((cpu_s(server.pid) - before) * 1000 / took,
                (cpu_s(beside) - beside_before) * 1000 / took if beside else 0.0)


def load_rows(chosen):
    """Redis under load, plain and under each tool, in turns."""
    rows = [(t.name, t.missing(), "", "", "", "") for t in chosen if t.missing()]
    able = [t for t in chosen if not t.missing()]
    found, failed = in_turns(able, loaded)
    rows += [(name, "failed: " + why, "", "", "", "") for name, why in failed.items()]
    for tool in (t for t in able if t.name in found):
        pairs = [(*(y / x for x, y in zip(a[:3], b[:3])), b[3] / b[0] * 100) for a, b in found[tool.name]]
        columns = [figures.interval(c) for c in zip(*pairs)]
        judged = goals.judge(JUDGED[tool.name], columns[1]) if tool.name in JUDGED else ""
        rows.append((tool.name, *map(figures.text, columns[:3]), f"{columns[3].median:.2f} %" if tool.options is not None
                     else "", judged))
        print(f"  redis {rows[-1]}", flush=True)
    return figures.table(["redis-server", "time of the driver", "cpu of the server", "its peak memory",
                          "agent's own server, of one core", "cpu: target"], rows)


def idle_rows():
    found, failed = in_turns([ALL["memtop"]], idle)
    if failed:
        raise Failed(failed["memtop"])
    columns = zip(*((a[0], *b) for a, b in found["memtop"]))
    return figures.table(["idle redis-server: ms of cpu in a second", "plain", "under memtop", "the agent's server beside it"],
                         [("", *(figures.text(figures.interval(c)) for c in columns))])


def viewer_rows():
    """Share of one core that the agent's server takes while redis works, by its own clock."""
    rows = []
    for count in (0, 1, 10):
        shares, ticks = [], []
        for _ in range(2 if QUICK else 5):
            with Server(ALL["memtop"]) as server, contextlib.ExitStack() as stack:
                process = stack.enter_context(viewers(count, server.name)) if count else None
                beside, begin = agent_server(server.pid), time.monotonic()
                if not beside:
                    raise Failed("the agent has no server")
                before = cpu_s(beside)
                server.load(2 * REQUESTS)
                shares.append((cpu_s(beside) - before) / (time.monotonic() - begin) * 100)
                server.__exit__()
                if process:
                    end = last_words(process)
                    ticks.append(end["ticks"] / ((end["last_ns"] - end["first_ns"]) / 1e9))
        i = figures.interval(shares)
        name = f"{count} viewer{'' if count == 1 else 's'}"
        rows.append((name, f"{min(ticks):.1f}" if ticks else "", figures.text(i),
                     goals.judge(f"redis-server, {name}: % of a core", i)))
        print(f"  viewers {rows[-1]}", flush=True)
    return figures.table(["redis under load", "ticks a second", "cpu of the agent's server, % of one core", "target"], rows)


def mapped_by_agent(pid):
    """Resident bytes of the agent's own mappings, as the kernel counts them: alone they are kept both out of
    core files and from huge pages. What the agent says of itself is thereby checked."""
    total, rss = 0, 0
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
        for line in f:
            if line.startswith("Rss:"):
                rss = int(line.split()[1])
            elif line.startswith("VmFlags:") and {"dd", "nh"} <= set(line.split()):
                total += rss
    return total * 1024


class Watch:
    """Points (s, live MiB, agent MiB by its mappings, by its own word, rss MiB, stacks) of a process with a viewer."""

    def __init__(self, viewer, pid):
        self.points, self.viewer, self.pid = [], viewer, pid
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self):
        mapped, looked = 0, 0.0
        for line in self.viewer.stdout:
            words = line.split()
            if words[0] == "end":
                break
            if time.monotonic() - looked > 0.5:
                with contextlib.suppress(OSError):
                    mapped = mapped_by_agent(self.pid) or mapped
                looked = time.monotonic()
            at, live, agent, rss, slots = (int(w) for w in words[:5])
            self.points.append((at / 1e9, live / 2 ** 20, mapped / 2 ** 20, agent / 2 ** 20, rss / 2 ** 20, slots))

    def done(self):
        self.thread.join(60)
        if not self.points:
            raise Failed("the viewer saw nothing")
        return self.points


def memory_report(name, title, points):
    """The agent's memory over time: a plot, quarters, and the rule 64 MiB + 0.25 x live."""
    lines = [f"### {title}", ""]
    lines += figures.plot("agent's mappings, resident", [(p[0], p[2]) for p in points], "MiB")
    rows, n = [], len(points)
    for q in range(4):
        part = points[q * n // 4:max((q + 1) * n // 4, q * n // 4 + 1)]
        rows.append((f"{part[0][0]:.0f} to {part[-1][0]:.0f} s", f"{max(p[5] for p in part)}", *(
            f"{max(p[k] for p in part):.1f}" for k in (1, 2, 3, 4))))
    lines += figures.table(["quarter: highest", "stacks", "live, MiB", "agent's mappings, MiB", "by its own word",
                            "resident in all, MiB"], rows)
    above = max(0, *(p[2] - 64 - 0.25 * p[1] for p in points))
    judged = goals.judge(f"memory of {name}: bytes above 64 MiB + 0.25 x live", figures.exact(above * 2 ** 20), 0)
    lines += [f"Bytes above 64 MiB + 0.25 x live: {judged}; the agent had at most {max(p[2] for p in points):.1f} MiB.", ""]
    return lines


def many_stacks():
    """100,000 distinct stacks one after the other."""
    name = listening()
    environment = {**PLAIN, **ALL["memtop"].environment, "MEMTOP_OPTIONS": f"listen=@{name}"}
    with subprocess.Popen([built("paths"), "30", "2000"], env=environment, stdout=subprocess.DEVNULL) as program:
        with viewers(1, name, verbose=True) as process:
            points = Watch(process, program.pid).done()
        if program.wait():
            raise Failed("paths ended badly")
    return points


def long_run(seconds):
    """redis under load for long."""
    with Server(ALL["memtop"]) as server, viewers(1, server.name, verbose=True) as process:
        watch, end = Watch(process, server.pid), time.monotonic() + seconds
        while time.monotonic() < end:
            server.load(200000, STEADY)
        server.__exit__()
        return watch.done()


def memory_rows(seconds):
    lines = memory_report("131,071 stacks", "131,071 distinct stacks in a few seconds, then 29 rounds of the same", many_stacks())
    return lines + memory_report("redis-server", f"redis-server under redis-benchmark for {seconds} s ({STEADY})", long_run(seconds))


ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what servers leave behind is ours
