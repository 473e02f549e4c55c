#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_live_server.py - a real server watched live: redis-server under redis-benchmark.

Its own memory figure (INFO's used_memory) is the reference. The known differences:
  + what jemalloc rounds each request up to, which redis counts and the program did not ask for
  + what the INFO command itself holds while it looks
  - blocks that do not go through redis' zmalloc: Lua, libcrypto, libstdc++'s pool, libc's stdio
LONG=1: a minute of load instead of some seconds.
"""
import json
import os
import re
import signal

import forward
from client import Client
from harness import (LIB, LONG, MEMTOP, Skip, at_end, environment, main, report, run, stop, test,
                     wait_for)
from redis_server import Redis, by_zmalloc, size_class
from term import Terminal, selected

INSTANTS = 10
REQUESTS = 3_000_000 if LONG else 120_000
KEYS = 400_000 if LONG else 40_000


def at_rest(connection, measure):
    """used_memory and measure()'s value of one state: nothing moved between two looks at the former."""
    def same():
        before = connection.info("memory")["used_memory"]
        value = measure()
        return (int(before), value) if connection.info("memory")["used_memory"] == before else None
    return wait_for(same, 30, "redis at rest")


def mark(target, name):
    done = run([MEMTOP, "mark", target, name], env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0]


def between(target, a, b):
    """The changes between two marks by stack, as (born, gone, net) in bytes and blocks."""
    r = report(target, arguments=["--between", f"{a}..{b}"])
    return r, {s["id"]: tuple(s[f"{w}_{u}"] for w in ("born", "gone", "net") for u in ("bytes", "blocks"))
               for s in r["changes"]}


@test
def t_used_memory_at_ten_instants():
    """Under load, stopped for a look: live <= used_memory <= 1.25 live, and each difference has its cause."""
    redis = Redis()
    connection = redis.start()
    before, after = (report(redis.target)["totals"]["allocated_bytes"],
                     connection.info("memory") and report(redis.target)["totals"]["allocated_bytes"])
    one_info = after - before
    assert one_info > 0
    load = redis.load("set", REQUESTS, KEYS)

    def served():
        return int(connection.info("stats")["total_commands_processed"])
    for i in range(INSTANTS):
        wait_for(lambda i=i: served() > REQUESTS * (i + 1) // (INSTANTS + 1), 120, f"instant {i + 1}")
        load.pause()
        connection.ask("DEBUG", "PAUSE-CRON", 1)  # it resizes buffers now and then: on a busy machine during every look
        used, r = at_rest(connection, lambda: report(redis.target))
        connection.ask("DEBUG", "PAUSE-CRON", 0)
        load.go_on()
        live = r["totals"]["live_bytes"]
        z = [s for s in r["stacks"] if by_zmalloc(s["frames"])]
        asked, blocks = sum(s["live_bytes"] for s in z), sum(s["live_blocks"] for s in z)
        print(f"  {i + 1}: live {live:,} used_memory {used:,} ratio {used / live:.3f}; by zmalloc {asked:,} in {blocks:,}"
              f" blocks, past it {live - asked:,}, rounded up and INFO's own {used - asked:,}")
        assert asked <= used, f"redis counts {used}, its zmalloc was asked for {asked}"
        assert used <= asked * 5 // 4 + 16 * blocks + one_info * 5 // 4, f"{used} of {asked} in {blocks} blocks"
        assert live <= used <= 1.25 * live, f"live {live}, used_memory {used}"
    load.wait()


@test
def t_used_memory_to_the_byte():
    """Keys of one size: what redis grew by is each block that was born or has gone, rounded by jemalloc.

    A separate connection loads the keys and closes before the comparison, so its buffers share no
    stack with those of the asking connection. redis' cron would resize the latter between INFO and
    memtop's scan, so it is stopped for both.
    """
    redis = Redis()
    connection = redis.start()
    connection.ask("DEBUG", "PAUSE-CRON", 1)
    used, _ = at_rest(connection, lambda: mark(redis.target, "base") and report(redis.target))
    count = 100_000 if LONG else 20_000
    connection.ask("DEBUG", "PAUSE-CRON", 0)
    writer = redis.connect()
    for i in range(count):
        writer.send("SET", f"key:{i:012d}", "x" * 200)
    for _ in range(count):
        writer.answer()
    writer.close()
    wait_for(lambda: connection.info("clients")["connected_clients"] == "1", 10, "the writer's end")
    at_rest(connection, lambda: report(redis.target))
    connection.ask("DEBUG", "PAUSE-CRON", 1)
    now, r = at_rest(connection, lambda: report(redis.target, arguments=["--since", "base"]))
    grown = 0
    for s in r["changes"]:
        names = [f["function"] for f in s["frames"]]
        assert by_zmalloc(s["frames"]), f"past zmalloc: {s['net_bytes']} by {names}"
        for word, sign in (("born", 1), ("gone", -1)):
            blocks, size = s[f"{word}_blocks"], s[f"{word}_bytes"]
            assert not blocks or size % blocks == 0, f"blocks of several sizes: {size} in {blocks} by {names}"
            grown += sign * blocks * size_class(size // blocks) if blocks else 0
    print(f"  used_memory grew by {now - used:,}, computed {grown:,}")
    rows = "\n".join(f"{s['born_bytes']} in {s['born_blocks']} born, {s['gone_bytes']} in {s['gone_blocks']} gone by "
                     f"{[f['function'] for f in s['frames'][:4]]}" for s in r["changes"])
    assert grown == now - used, f"used_memory grew by {now - used}, the blocks' sizes say {grown}\n{rows}"


@test
def t_marks_under_load():
    """The diff names the path that grew; a viewer there all along, a late one and a report agree."""
    redis = Redis()
    connection = redis.start()
    throughout = Client(redis.target)
    warm = redis.load("set", REQUESTS, 1000)
    first = mark(redis.target, "warm")
    push = redis.load("lpush", REQUESTS // 4, 1000)
    wait_for(lambda: int(connection.ask("LLEN", "mylist")) > 5000, 30, "pushes")
    second = mark(redis.target, "pushed")
    push.stop()
    warm.stop()
    r, changes = between(redis.target, first, second)
    top = max(r["changes"], key=lambda s: s["net_bytes"])  # the list is by live bytes
    names = [f["function"] for f in top["frames"]]
    print(f"  grew most: {top['net_bytes']:,} by {' < '.join(str(n) for n in names[:6])}")
    assert "pushGenericCommand" in names, f"grew most: {names}"
    late = Client(redis.target)
    at_rest(connection, lambda: (throughout.until_complete(), late.until_complete()))
    a, b = int(first[1:]), int(second[1:])
    for m in (a, b):
        assert throughout.marks[m] == late.marks[m], f"mark {m}"
        assert throughout.live_at(m) == late.live_at(m), f"what lived at mark {m}"
        assert throughout.diff(m) == late.diff(m), f"diff since mark {m}"
    _, again = between(redis.target, first, second)
    assert changes == again, "the same two marks, another diff"
    for m in (first, second):
        assert any(f"m{x['id']}" == m for x in r["marks"]), r["marks"]


@test
def t_marks_with_no_viewer():
    """Marks set by a script while nobody looks: the first viewer's numbers, then those of one that stays."""
    redis = Redis()
    connection = redis.start()
    first = mark(redis.target, "before")
    redis.load("lpush", REQUESTS // 8, 1000).wait()
    second = mark(redis.target, "after")
    redis.load("set", REQUESTS // 8, 1000).wait()
    r, changes = between(redis.target, first, second)
    net = sum(c[4] for c in changes.values())
    then = {m["id"]: m["live_bytes"] for m in r["marks"]}
    assert net == then[int(second[1:])] - then[int(first[1:])], f"net {net}, marks say {then}"
    assert "pushGenericCommand" in [f["function"] for f in r["changes"][0]["frames"]], r["changes"][0]
    stays = Client(redis.target).until_complete()
    diffs = [stays.diff(int(m[1:])) for m in (first, second)]
    late = Client(redis.target)

    def both_say():
        """The two may have a tick each of before and after an INFO, whose blocks come and go: they are asked again."""
        at_rest(connection, lambda: (stays.until_complete(), late.until_complete()))
        return all(stays.diff(int(m[1:])) == late.diff(int(m[1:])) for m in (first, second))
    wait_for(both_say, 30, "the same changes in both viewers")
    assert all(diffs)
    _, again = between(redis.target, first, second)
    assert changes == again


@test
def t_keys_under_load():
    """From a key to its answer on the screen while redis is at work (figures are printed, not judged)."""
    if not LONG:
        raise Skip("a minute of keys; LONG=1 runs it")
    redis = Redis()
    redis.start()
    load = redis.load("set", 10 * REQUESTS, KEYS)  # stopped after the last key
    done = run([f"{LIB}/keytime.py", "--keys", "600", "--pause", "0.2", "--", MEMTOP, redis.target], 180, env=environment())
    assert load.running(), "the load ended before the last key"
    load.stop()
    print("\n".join("  " + line for line in done.stdout.splitlines()))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no answer" not in done.stdout


@test
def t_a_killed_redis_stays_on_the_screen():
    """The last state stays to be looked at: it says so, and all keys work."""
    redis = Redis()
    redis.start()
    load = redis.load("set", REQUESTS, KEYS)
    with Terminal([MEMTOP, redis.target], 120, 36) as t:
        t.wait_for(re.compile("zmalloc|_sdsnewlen|redis"))
        os.kill(redis.pid, signal.SIGKILL)
        load.stop()
        t.wait_for(lambda lines: any("signal 9" in line or "SIGKILL" in line for line in lines), 10, "how it ended")
        t.settle()
        t.keys("2")
        t.wait_for(("[2 Tree", selected))
        for _ in range(3):
            before = selected(t.lines())
            t.keys("Down")
            t.wait_for(lambda lines, was=before: (selected(lines) or was) != was, 5, "the selection moved")
        t.keys("3")
        print("  " + t.wait_for((re.compile(".*(signal 9|SIGKILL).*"), "[3 Sites", "_sdsnewlen")).group().strip())
        t.keys("Q")
        t.wait_exit()


def watched_by_run(redis):
    """redis under `memtop run` on a screen; (terminal, its variables, a connection)."""
    env = environment()
    t = Terminal([MEMTOP, "run", *redis.command()], 120, 36, env=env)
    connection = redis.connect()
    at_end(redis.end)
    return t, env, connection


def writes_on(redis, connection):
    assert redis.alive(), "the server went with memtop"
    assert connection.ask("SET", "after", "memtop") == b"OK"
    redis.load("set", 5000, 1000).wait()
    assert redis.alive()


@test
def t_redis_lives_when_memtop_is_killed():
    """The server lives and writes; the session is there, on the screen and in a report."""
    redis = Redis()
    t, env, connection = watched_by_run(redis)
    with t:
        first = mark(redis.target, "early")
        load = redis.load("set", REQUESTS, KEYS)
        t.wait_for("_sdsnewlen", 20)
        folder = f"{env['XDG_STATE_HOME']}/memtop"
        spool = wait_for(lambda: [f"{folder}/{f}" for f in os.listdir(folder) if f.endswith(".mtop")], 10, "a spool")[0]
        size = os.path.getsize(spool)
        wait_for(lambda: os.path.getsize(spool) > size, 10, "a block of the spool")
        os.kill(t.pid(), signal.SIGKILL)
        assert t.wait_exit() == 137
        load.stop()
        writes_on(redis, connection)
    done = run([MEMTOP, "report", "--format", "json", spool], env=environment())
    assert done.returncode == 0, done.stderr
    r = json.loads(done.stdout)
    assert r["program"]["state"] == "cut" and r["program"]["pid"] == redis.pid, r["program"]
    assert r["totals"]["live_bytes"] > 1_000_000 and f"m{r['marks'][0]['id']}" == first, r["totals"]
    assert any("cut" in w for w in r["warnings"]) and "cut" in done.stderr, r["warnings"]
    with Terminal([MEMTOP, "open", "--last"], 120, 36, env=env) as t:
        t.wait_for("_sdsnewlen")
        t.keys("5")
        t.wait_for("early")
        t.keys("Q")
        t.wait_exit()


@test
def t_redis_lives_when_the_terminal_is_gone():
    """SIGHUP and a terminal that is no more end memtop, not the program under it."""
    redis = Redis()
    t, _, connection = watched_by_run(redis)
    with t:
        t.wait_for("[1 Over")
        memtop = t.pid()
    wait_for(lambda: not os.path.exists(f"/proc/{memtop}"), 10, "memtop's end")
    writes_on(redis, connection)


@test
def t_a_link_that_comes_back_shows_redis_again():
    """A link that is cut and comes back: everything is there again, the marks too."""
    redis = Redis()
    connection = redis.start()
    proxy, port = forward.slow_link(redis.target, rate=20_000_000, delay=0.001)
    load = redis.load("set", REQUESTS, KEYS)
    with Terminal([MEMTOP, f":{port}"], 120, 36) as t:
        t.wait_for("_sdsnewlen", 20)
        mark(redis.target, "by-script")
        t.keys("s")
        wait_for(lambda: len(report(redis.target)["marks"]) == 2, 10, "the mark that the key set")
        t.keys("3")
        t.wait_for("[3 Sites")
        for _ in range(3):
            proxy.send_signal(signal.SIGUSR1)
            t.wait_for("loading", 10)  # all over again
            t.wait_for(lambda lines: not any("loading" in line for line in lines) and
                       any("_sdsnewlen" in line for line in lines), 20, "the whole state")
        load.stop()
        stop(proxy)
        t.wait_for("STALE", 15)
        t.wait_for("nothing listens there", 15)
        t.wait_for("_sdsnewlen")
        forward.listening("slowproxy.py", "--to", redis.target, "--rate", 20_000_000, "--delay", 0.001, "--port", port)
        used, r = at_rest(connection, lambda: report(redis.target))
        t.wait_for(f"{r['totals']['live_blocks']:,} blocks", 15, "the totals of now")
        marks = [m["name"] for m in r["marks"]]
        assert "by-script" in marks and len(marks) == 2, marks
        t.keys("5")
        for name in marks:
            t.wait_for(name)
        t.keys("Q")
        t.wait_exit()


main()
