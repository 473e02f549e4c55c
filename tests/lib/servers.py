# SPDX-License-Identifier: MIT
"""servers.py - finds the process that serves a target's viewers; it shares the target's
memory."""
import os

from harness import wait_for


def is_server_of(pid, target):
    """Whether pid has a server's name, the target's memory and the target's program."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
            if f.read() != "memtop-agent\n" or int(pid) == int(target):
                return False
        with open(f"/proc/{pid}/maps", "rb") as a, open(f"/proc/{target}/maps", "rb") as b:
            return a.readline() == b.readline() and os.readlink(f"/proc/{pid}/exe") == os.readlink(f"/proc/{target}/exe")
    except OSError:
        return False


def server_of(target):
    """The pid of its server, which may be about to start."""
    return wait_for(lambda: next((int(e) for e in os.listdir("/proc") if e.isdigit() and is_server_of(e, target)), None),
                    20, f"the server of {target}")
