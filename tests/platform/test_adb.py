#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_adb.py - memtop behind Debian's own adb client and tests/lib/adbd.py as the device."""
import signal

import forward
from harness import Synthetic, main, report, test, wait_for


def mapped(pid):
    with open("/proc/net/unix", encoding="utf-8") as f:
        return f"@memtop.{pid}\n" in f.read()


@test
def t_adb_forward_real_program():
    adb = forward.Adb()
    program = forward.watched("/usr/bin/python3", "-c", "import time; keep = [bytearray(1000) for _ in range(500)];"
                              "\nwhile True: time.sleep(0.05)")
    wait_for(lambda: mapped(program.pid), 10, "the agent's socket")
    r = report(f":{adb.forward(f'memtop.{program.pid}')}")
    assert r["program"]["pid"] == program.pid, r["program"]
    assert r["totals"]["live_bytes"] >= 500_000, r["totals"]
    assert r["program"]["state"] == "running", r["program"]
    assert program.poll() is None
    program.send_signal(signal.SIGTERM)
    assert program.wait(60) == -signal.SIGTERM


@test
def t_adb_forward_synthetic():
    adb = forward.Adb()
    agent = Synthetic("--paths", 20000, "--still", listen=["@memtop.%p", "tcp:0"])
    direct, through = report(f":{agent.sockets[1][4:]}"), report(f":{adb.forward(agent.address[1:])}")
    assert direct["totals"] == through["totals"]
    assert direct["stacks"] == through["stacks"]


@test
def t_adb_forward_to_nobody():
    adb = forward.Adb()
    seconds, status, text = forward.explained(adb.forward("memtop.1999999999"))
    assert status == 3, f"status {status}: {text}"
    assert len(text.splitlines()) == 1 and text.startswith("memtop: "), text
    assert "agent" in text, text
    assert seconds < 2, f"after {seconds:.1f} s: {text}"


main()
