#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""session.py - what a long session costs to read: reports, the first screen, the history behind it.

programs/session.c writes the session: PATHS call paths (131,000), CHANGED of which change per tick (1,000: 20,000
events a second), for SECONDS (600). programs/keyed.c adds the key frames that memtop records; some rows are of the
session without them, as memtop 0.1 wrote it. REFERENCE=PATH names another memtop to measure beside this build's, in turns.
The figures are seconds: the best of RUNS (5), since anything else on the machine only adds to them; `cpu` is what the
process itself used. What takes longest, the reports as JSON and html and the history behind the first screen, runs once.
The file is in the page cache. LARGE (3,000,000; 0: none) paths, ten ticks long, are opened and reported once, for time and
memory.

Then sizes: JSON reports of python3 and of a C++ compiler, and the session file of redis-server under redis-benchmark
for REDIS seconds (60; 0: none). programs/aged.c goes on with that session for an hour and a day, thinned as memtop does.
"""
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

import figures
import workloads
from setting import BUILD, FOLDER, ROOT, Failed, built, output

sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import keytime  # noqa: E402

RUNS = int(os.environ.get("RUNS") or 5)
PATHS, CHANGED, SECONDS = (os.environ.get(name) or default for name, default in
                           (("PATHS", "131000"), ("CHANGED", "1000"), ("SECONDS", "600")))
REDIS = int(os.environ.get("REDIS") or 60)
LARGE = int(os.environ.get("LARGE") or 3000000)
GOALS = {"text report": 0.4, "json report": 0.6, "html report": 0.5, "open: first screen": 0.5,
         "large: report": 3.0, "large: report, GB": 0.6, "large: open, GB": 0.8, "clang++: open, bytes a path": 230}
ENV = {**os.environ, "XDG_STATE_HOME": FOLDER, "XDG_CONFIG_HOME": FOLDER}


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(run):
    """(seconds, seconds of cpu) of a process that run() starts and awaits."""
    begin, cpu = time.monotonic(), children()
    run()
    return time.monotonic() - begin, children() - cpu


def report(memtop, session, kind):
    path = os.path.join(FOLDER, "report." + kind)
    with open(path, "wb") as out:
        subprocess.run([memtop, "report", "-f", kind, session], stdout=out, env=ENV, check=True)
    return path


def shown(lines):
    """The last state stands on the screen: its time in the header, and what is live."""
    return "EXITED 0 at" in lines[0] and any(re.match(r" Live \d", line) for line in lines)


def used(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        ticks = f.read().rsplit(")", 1)[1].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def view(memtop, session, behind):
    """[(seconds, seconds of cpu)]: the first screen and, if wanted, the history that is read behind it."""
    begin = time.monotonic()
    driven = keytime.Driven([memtop, "open", session], 120, 36)
    found = []
    try:
        for test in (shown, lambda lines: "reading" not in lines[0])[:1 + behind]:
            if driven.wait(test, 300) is None:
                raise Failed("memtop open:\n" + "\n".join(driven.screen.lines()))
            found.append((time.monotonic() - begin, used(driven.pid)))
            driven.think(0.5 if behind else 0)
    finally:
        os.kill(driven.pid, signal.SIGKILL)
        os.waitpid(driven.pid, 0)
        os.close(driven.fd)
    return found


def bracket(memtop, session):
    """(seconds, seconds of cpu) from [ at the first screen, while the file's history is read, to the past on the screen."""
    driven = keytime.Driven([memtop, "open", session], 120, 36)
    try:
        if driven.wait(shown, 300) is None:
            raise Failed("memtop open:\n" + "\n".join(driven.screen.lines()))
        begin, cpu = time.monotonic(), used(driven.pid)
        os.write(driven.fd, b"[")
        if driven.wait(lambda lines: "PAST" in lines[0] and "going" not in lines[0] and "reading" not in lines[0], 300) is None:
            raise Failed("memtop open, [:\n" + "\n".join(driven.screen.lines()))
        return time.monotonic() - begin, used(driven.pid) - cpu
    finally:
        os.kill(driven.pid, signal.SIGKILL)
        os.waitpid(driven.pid, 0)
        os.close(driven.fd)


def measure(memtops, session, plain):
    """{row: [figure of each memtop]}"""
    rows = {}

    def best(row, at, value):
        list_ = rows.setdefault(row, [None] * len(memtops))
        list_[at] = value if list_[at] is None else min(list_[at], value)

    for run in range(RUNS):
        for at, memtop in enumerate(memtops):
            whole, cpu = timed(lambda m=memtop: report(m, session, "text"))
            best("text report", at, whole)
            best("text report, cpu", at, cpu)
            for row, (whole, cpu) in zip(("open: first screen", "open: history behind it"), view(memtop, session, not run)):
                best(row, at, whole)
                best(row + ", cpu", at, cpu)
            whole, _ = timed(lambda m=memtop: report(m, plain, "text"))
            best("text report, without key frames", at, whole)
            best("open: first screen, without key frames", at, view(memtop, plain, False)[0][0])
            if not run:
                whole, cpu = bracket(memtop, session)
                best("open: [ at the first screen", at, whole)
                best("open: [ at the first screen, cpu", at, cpu)
                for kind in ("html", "json"):
                    whole, _ = timed(lambda m=memtop, k=kind: report(m, session, k))
                    best(f"{kind} report", at, whole)
                best("json report, MB", at, os.path.getsize(os.path.join(FOLDER, "report.json")) / 1e6)
    return rows


def held(memtop, session):
    """(s, bytes then, bytes at the peak) of a view that was opened, until nothing is read any more."""
    driven = keytime.Driven([memtop, "open", session], 120, 36)
    begin = time.monotonic()
    try:
        if driven.wait(shown, 300) is None or driven.wait(lambda lines: "reading" not in lines[0], 300) is None:
            raise Failed("memtop open:\n" + "\n".join(driven.screen.lines()))
        with open(f"/proc/{driven.pid}/status", encoding="ascii") as f:
            kib = {w[0]: int(w[1]) for w in (line.split() for line in f) if w[0] in ("VmRSS:", "VmHWM:")}
        return time.monotonic() - begin, kib["VmRSS:"] * 1024, kib["VmHWM:"] * 1024
    finally:
        os.kill(driven.pid, signal.SIGKILL)
        os.waitpid(driven.pid, 0)
        os.close(driven.fd)


def large_rows(memtops):
    """The same of a session of LARGE paths: a report, and a view that was opened until nothing is read any more."""
    rows, session = {}, os.path.join(FOLDER, "large.mtop")
    output([built("session"), session, str(LARGE), "50000", "1"])
    for memtop in memtops:
        with open(os.devnull, "wb") as out:
            begin = time.monotonic()
            process = subprocess.Popen([memtop, "report", session], stdout=out, env=ENV)
            _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise Failed(f"{memtop} report: status {status}")
        rows.setdefault("large: report", []).append(time.monotonic() - begin)
        rows.setdefault("large: report, GB", []).append(usage.ru_maxrss * 1024 / 1e9)
        whole, _, peak = held(memtop, session)
        rows.setdefault("large: open", []).append(whole)
        rows.setdefault("large: open, GB", []).append(peak / 1e9)
    os.unlink(session)
    return rows


def compiler_rows(memtops):
    """Bytes a call path of a view of a large C++ program: 5.6 nodes a path, inlined frames."""
    if not os.path.exists(workloads.clang()[0]):
        return {}
    session = recorded("clang", workloads.clang())
    paths = output([memtops[0], "report", "-f", "csv", session]).count("\n") - 1
    empty = recorded("empty", ["/bin/true"])
    return {"clang++: open, bytes a path": [(held(m, session)[1] - held(m, empty)[1]) / paths for m in memtops]}


def verdict(row, figure):
    return f"{GOALS[row]:.1f}, {'met' if figure <= GOALS[row] else 'missed'}" if row in GOALS else ""


def recorded(name, command, seconds=None):
    """A session of a command; with seconds, it is ended by then."""
    path = os.path.join(FOLDER, name + ".mtop")
    words = [os.path.join(BUILD, "memtop"), "record", "-o", path, *(["--for", str(seconds)] if seconds else []), "--", *command]
    subprocess.run(words, env={**ENV, "PYTHONMALLOC": "malloc"}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    return path


def json_sizes():
    source = os.path.join(FOLDER, "all.cc")
    with open(source, "w", encoding="ascii") as f:
        f.write("#include <algorithm>\n#include <iostream>\n#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n"
                "int main() { std::map<std::string, std::vector<int>> m; std::regex r(\"a+\"); std::cout << m.size(); }\n")
    compiler, machine = (output(["g++", word]).strip() for word in ("-print-prog-name=cc1plus", "-dumpmachine"))
    for name, command in (("python3", ["/usr/bin/python3", "-c", "import json, decimal, argparse, unittest, xml.dom.minidom"]),
                          ("cc1plus -O1", [compiler, "-quiet", "-imultiarch", machine, "-D_GNU_SOURCE", "-O1", "-o", "/dev/null", source])):
        path = recorded(name.split()[0], command)
        kept = os.path.getsize(path)
        size = os.path.getsize(report(os.path.join(BUILD, "memtop"), path, "json"))
        yield f"JSON of {name}: {size / 1e6:.2f} MB (its session: {kept / 1e6:.2f} MB)"


def redis_size():
    if not REDIS or not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        yield "session file of redis: not measured"
        return
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    load = subprocess.Popen(["sh", "-c", f"sleep 1; exec redis-benchmark -p {port} -q -n 2000000000 -r 100000 -d 64 -t set,get,lpush,lpop,hset"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        path = recorded("redis", ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], REDIS)
    finally:
        load.kill()
        load.wait()
        subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], check=False, capture_output=True)
    size = os.path.getsize(path) / 1e6
    aged = output([built("aged"), path, os.path.join(FOLDER, "aged.mtop"), "86400"]).strip()
    yield f"session file of redis-server under redis-benchmark: {size:.2f} MB after {REDIS} s; this load for a day, thinned: {aged}"


def main():
    session, plain = os.path.join(FOLDER, "bench.mtop"), os.path.join(FOLDER, "plain.mtop")
    said = output([built("session"), plain, PATHS, CHANGED, SECONDS]).strip()
    output([built("keyed"), plain, session])
    memtops = [os.path.join(BUILD, "memtop"), *filter(None, [os.environ.get("REFERENCE")])]
    print(f"{said}; {os.path.getsize(plain) / 1e6:.1f} MB with its index, "
          f"{os.path.getsize(session) / 1e6:.1f} MB with key frames; load before {os.getloadavg()[0]:.1f}\n")
    rows = {**measure(memtops, session, plain), **(large_rows(memtops) if LARGE else {}), **compiler_rows(memtops)}
    head = ["seconds, best of " + str(RUNS), "this build", *["reference"][:len(memtops) - 1], "goal"]
    print("\n".join(figures.table(head, [(row, *(f"{v:.2f}" for v in found), verdict(row, found[0]))
                                         for row, found in rows.items()])))
    print()
    for line in (*json_sizes(), *redis_size()):
        print(line)


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
