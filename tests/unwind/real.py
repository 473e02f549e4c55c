#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""real.py AGENT - the bench's real programs under an agent that libunwind judges: judge.c.

Every 97th stack of each thread is compared, as the agent booked it, with a walk of libunwind's; any difference
is a failure. With less to do than in the bench, unless UNWIND_LONG=1.
"""
import itertools
import os
import shutil
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "lib"), os.path.join(TESTS, "bench")]

import redis_server  # noqa: E402
import setting  # noqa: E402
import workloads  # noqa: E402
from harness import result, start  # noqa: E402

LONG = bool(os.environ.get("UNWIND_LONG"))
# What makes a program long: in the script that it runs, and what stands there in a short run.
LESS = {"sqlite": ("i < 150000", "i < 30000"), "python": ("range(60000)", "range(15000)"),
        "lua": ("1, 450000", "1, 150000"), "perl": ("1..900000", "1..200000")}
# Debian 13's sqlite3 takes most of its small blocks from an array of its own, and calls malloc a tenth as often.
OPTIONS = {"sqlite": ["-lookaside", "0", "0"]}
FUNCTIONS, OBJECTS = 240, 40000  # of cc1's and jq's input, likewise
LEAST = 1500  # stacks that are compared at least; in a long run, four times as many


def less_c():
    """The first functions of the source, without their callers."""
    functions = 0
    for piece in workloads.c_source():
        functions += piece.startswith("struct")
        if functions > FUNCTIONS:
            return
        yield piece.replace("static ", "")


def less(name, script):
    if name == "cc1":
        return less_c()
    if name == "jq":
        return itertools.chain(itertools.islice(workloads.json_data(), OBJECTS), "]")
    with open(script, encoding="ascii") as f:
        text = f.read()
    assert text.count(LESS[name][0]) == 1, f"{script} has no {LESS[name][0]!r}"
    return [text.replace(*LESS[name])]


def shorter(name, command):
    script = command[-1].removeprefix(".read ")
    return [*command[:-1], command[-1].replace(script, workloads.file("less-" + os.path.basename(script), less(name, script)))]


def judged(log):
    """The sums of the comparison, or the reason that it failed."""
    with open(log, encoding="utf-8") as f:
        text = f.read()
    last = text.splitlines()[-1].split()
    assert last[0] == "stacks", f"the judge did not come to an end\n{text}"
    sums = {key: int(value) for key, value in zip(last[::2], last[1::2])}
    assert not sums["differences"], f"{sums['differences']} of {sums['stacks']} stacks differ from libunwind's\n{text}"
    assert sums["stacks"] >= LEAST * (4 if LONG else 1), f"too few stacks: {text}"
    assert 0 < sums["remembered"] < sums["stacks"], f"only one kind: {text}"
    return sums


def run(command, environment):
    done = subprocess.run(command, env=environment, cwd=setting.FOLDER, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=240, check=False)
    assert done.returncode == 0, f"{command[0]}: status {done.returncode}: {done.stderr[-300:]}"


def serve(environment):
    """redis-server, while redis-benchmark asks it for all sorts of things."""
    redis = redis_server.Redis()
    redis.process = start(redis.command(), env=environment, stdout=subprocess.DEVNULL)
    client = redis.connect()
    run(["/usr/bin/redis-benchmark", "-p", str(redis.port), "-t", "set,get,incr,lpush,lpop,sadd,hset,zadd,mset", "-n",
         "200000" if LONG else "20000", "-P", "16", "-r", "100000", "-d", "64", "-q"], setting.PLAIN)
    client.ask("FLUSHALL", "ASYNC")  # its own thread frees
    client.send("SHUTDOWN", "NOSAVE")
    assert redis.process.wait(60) == 0, "redis-server did not end well"


def compare(agent, name, command):
    log = os.path.join(setting.FOLDER, name + ".judged")
    environment = {**setting.PLAIN, "LD_PRELOAD": agent, "JUDGE_LOG": log}
    try:
        if command:
            run(command, environment)
        else:
            serve(environment)
        sums = judged(log)
    except (AssertionError, OSError, subprocess.TimeoutExpired) as why:
        first, *more = str(why).splitlines()
        result("FAIL", name, first)
        print("\n".join("  | " + line for line in more))
        return False
    result("PASS", f"{name}: {sums['stacks']} captures, {sums['remembered']} remembered, {sums['frames']} frames, "
                   f"{sums['differences']} differences")
    return True


def main():
    agent, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    programs = [(w.name, w.command if LONG else shorter(w.name, w.command)) for w in workloads.everything() if w.real]
    programs = [(name, [command[0], *OPTIONS.get(name, []), *command[1:]]) for name, command in programs]
    good = [compare(agent, *p) for p in [*programs, ("redis", None)] if not wanted or p[0] in wanted]
    return 0 if good and all(good) else 1


try:
    sys.exit(main())
finally:
    shutil.rmtree(setting.FOLDER, ignore_errors=True)
