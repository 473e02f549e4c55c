#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_slowlink.py - many call paths over 100 KB/s with 300 ms each way: the same final numbers as loopback.

The screen's totals are exact at once and the heaviest sites come first; the report's final state
equals that of a viewer on loopback. The time limits are the documented ones (totals within two
seconds of the connection, the top ten within five) plus the start of the terminal.
"""
import os
import re
import signal
import subprocess
import time

import forward
from harness import (AGENT, BUILD, LONG, MEMTOP, TARGETS, Synthetic, environment, main, mostly_waits, recording,
                     report, start, temporary_folder, test, wait_for)
from term import Terminal

DEPTH = 17 if LONG else 13  # 131,072 paths are 7.6 MB: 76 s on this link


def program(name="s_paths", *arguments, depth=DEPTH):
    path = f"{temporary_folder()}/memtop.sock"
    target = forward.watched(f"{TARGETS}/{name}", depth, *arguments, listen=f"unix:{path}", options="depth=64",
                             stdin=subprocess.PIPE)
    wait_for(lambda: os.path.exists(path), 10, "the agent's socket")
    # it stands still once it waits for its stdin (0 is the number of read)
    def waits():
        with open(f"/proc/{target.pid}/syscall", encoding="utf-8") as f:
            return f.read().startswith("0 0x0 ")
    wait_for(waits, 30, "the target's last allocation")
    return path


@mostly_waits
def t_slow_link_final_state():
    depth = DEPTH - 1
    path = program("s_paths", "hold", depth=depth)
    direct = report(f"unix:{path}")
    _, port = forward.slow_link(f"unix:{path}")
    slow = report(f":{port}", seconds=150)
    assert len(direct["stacks"]) >= 1 << depth, f"{len(direct['stacks'])} stacks"
    assert direct["totals"]["live_blocks"] >= 1 << depth
    for key in ("live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks", "freed_bytes", "freed_blocks"):
        assert direct["totals"][key] == slow["totals"][key], f"{key}: {direct['totals'][key]} and {slow['totals'][key]}"
    def keyed(r):
        return sorted((s["live_bytes"], s["allocated_blocks"], tuple((f["module"], f["offset"]) for f in s["frames"]))
                      for s in r["stacks"])
    assert keyed(direct) == keyed(slow), "stacks differ"


@mostly_waits
def t_slow_link_end_over_tcp():
    """The program ends while its state is still under way: over TCP, too, a recording gets the final one whole."""
    token, agent_port = "0123456789abcdef" * 2, forward.free_port()
    env = environment(LD_PRELOAD=AGENT, MEMTOP_TOKEN=token, MEMTOP_OPTIONS=f"listen=tcp:{agent_port} depth=64")
    target = start([f"{TARGETS}/s_paths", "11", "hold"], env=env, stdin=subprocess.PIPE)
    def listens():
        with open("/proc/net/tcp", encoding="utf-8") as f:
            return f":{agent_port:04X} 00000000:0000 0A" in f.read()
    wait_for(listens, 10, "the agent's port")
    _, port = forward.slow_link(f"tcp:{agent_port}")
    recorder = recording(arguments=[f":{port}"], env=environment(MEMTOP_TOKEN=token), stderr=subprocess.PIPE, text=True)
    path = recorder.session
    wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 2000, 15, "the recording's first block")
    target.stdin.close()
    assert target.wait(60) == 0
    status = recorder.wait(60)
    said = recorder.stderr.read()
    assert status == 0 and "the link broke before the end" not in said, f"status {status}: {said}"
    r = report(path)
    assert r["program"]["state"] == "exited", r["program"]
    assert r["totals"]["live_blocks"] >= 1 << 11, r["totals"]


@test
def t_slow_link_top_ten():
    """The real agent sends what holds most first: long before the rest has come the ten largest sites are right."""
    path = program("s_sites")
    direct = report(f"unix:{path}")
    sites = {}
    for s in direct["stacks"]:
        name = s["frames"][0]["function"]
        sites[name] = sites.get(name, 0) + s["live_bytes"]
    top = sorted(sites, key=sites.get, reverse=True)[:10]
    want = [(name, f"{sites[name] / (1 << 20):.1f}M") for name in top]
    _, port = forward.slow_link(f"unix:{path}")
    begin = time.monotonic()
    with Terminal([MEMTOP, f":{port}"], 120, 36) as t:
        t.wait_for(f"{direct['totals']['live_blocks']:,} blocks", 4, "exact totals")
        totals = time.monotonic() - begin
        t.keys("3")

        def rows(lines):
            found = [re.match(r"[> ]\s+≥?(\S+)\s+\S+\s.*?\b((?:heavy|light)_\w|main)\b", line) for line in lines]
            return [(m.group(2), m.group(1)) for m in found if m][:10]
        t.wait_for(lambda lines: rows(lines) == want, 10, f"the ten largest sites {want}")
        ten = time.monotonic() - begin
        loading = [line for line in t.lines() if "loading" in line]
        print(f"  {len(direct['stacks']):,} paths: exact totals after {totals:.1f} s, top ten after {ten:.1f} s"
              f" ({re.search('loading [^)]*[)]', loading[0]).group(0) if loading else 'all loaded'})")
        assert loading or not LONG, "nothing was left to load: the order was not tried"
        t.keys("Q")
        t.wait_exit()


@test
def t_slow_link_screen():
    """Totals at once, and the heaviest site first, while the rest is still under way."""
    agent = Synthetic("--paths", 100_000, "--still", listen=["@memtop.%p", "tcp:0"])
    direct = report(f":{agent.sockets[1][4:]}")
    text = f"{direct['totals']['live_blocks']:,} blocks"
    _, port = forward.slow_link(agent.sockets[0])
    with Terminal([MEMTOP, f":{port}"], 120, 36) as t:
        t.wait_for(text, 4, f"exact total {text}")
        t.wait_for("loading", 4)
        heaviest = max(direct["stacks"], key=lambda s: s["live_bytes"])["frames"][0]["function"]
        t.wait_for(heaviest, 7, f"heaviest site {heaviest}")
        t.keys("Q")
        t.wait_exit()


@mostly_waits
def t_cut_again_while_loading():
    """The link breaks each time while memtop reloads the state. The screen keeps the last complete
    state and the open rows."""
    log = f"{temporary_folder()}/log"
    agent = Synthetic("--paths", 4_000, "--still", "--past-marks", 2, "--log", log, listen=["@memtop.%p"])
    proxy, port = forward.slow_link(agent.sockets[0], delay=0.05)
    with Terminal([MEMTOP, f":{port}"], 120, 36) as t:
        t.wait_for(lambda lines: "LIVE" in lines[0] and "loading" not in lines[0], 30, "the first state, whole")
        t.keys("2", "Right", "Down", "Right", "Down")

        def body(lines):
            return [line for line in lines if "▶" in line or "▼ " in line]
        t.wait_for(lambda lines: any(re.match("> .*▶", line) for line in lines), 10, "a row below an open one")
        t.wait_for(re.compile(r" f_023 .*(s|min)\n.* f_022 .*(s|min)\n.* f_021 "), 20, "the ages, and the order that stays")
        held = body(t.lines())
        live = re.search(r"Live (\S+)", t.text()).group(0)

        def as_before(lines):
            return body(lines) == held

        def loads_again(lines):
            assert live in "\n".join(lines[:4]), f"{live} is gone:\n" + "\n".join(lines)
            return "STALE" in lines[0] and "live now" in lines[0]

        def greeted():
            with open(log, encoding="utf-8") as f:
                return f.read().count('"CLIENT"')
        for _ in range(3):
            before = greeted()
            os.kill(proxy.pid, signal.SIGUSR1)
            wait_for(lambda: greeted() > before, 10, "the next connection")
            t.wait_for((loads_again, as_before), 20, "the new state on its way, and the old one shown")
        t.wait_for((lambda lines: "LIVE" in lines[0] and "loading" not in lines[0], as_before), 30, "the new state, whole")
        t.keys("Q")
        t.wait_exit()


@mostly_waits
def t_name_server_that_never_answers():
    """memtop takes keys while it waits, names the cause, and Q leaves at once."""
    with Terminal([MEMTOP, "far.example:9001"], 120, 36, env={"LD_PRELOAD": f"{BUILD}/tests/lib/deaf_names.so"}) as t:
        t.wait_for("far.example:9001: looking up the name")
        t.keys("2")
        t.wait_for("[2 Tree]")
        t.keys("4")
        t.wait_for("[4 Libs]")
        t.keys("Q")
        assert t.wait_exit() == 0


main()
