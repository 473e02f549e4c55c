#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_ssh.py - memtop over ssh -L to an agent's socket, through a real OpenSSH server on loopback."""
import os

import forward
from harness import main, report, temporary_folder, test, wait_for


@test
def t_ssh_forward_real_program():
    path = f"{temporary_folder()}/memtop.sock"
    program = forward.watched("/usr/bin/perl", "-e", "my @a = map { 'x' x 1000 } 1 .. 500; sleep 1 while 1",
                              listen=f"unix:{path}")
    wait_for(lambda: os.path.exists(path), 10, "the agent's socket")
    mode = os.stat(path).st_mode & 0o777
    assert mode == 0o600, f"the socket has mode {mode:o}"
    r = report(f":{forward.Sshd().forward(path)}")
    assert r["program"]["pid"] == program.pid, r["program"]
    assert r["totals"]["live_bytes"] >= 500_000, r["totals"]


@test
def t_ssh_forward_to_nobody():
    port = forward.Sshd().forward(f"{temporary_folder()}/nobody.sock")
    seconds, status, text = forward.explained(port)
    assert status == 3, f"status {status}: {text}"
    assert len(text.splitlines()) == 1 and text.startswith("memtop: "), text
    assert seconds < 2, f"after {seconds:.1f} s: {text}"


main()
