#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_keys.py - every key is answered on a program of 100,000 call paths, in all views, while it runs."""
import os
import subprocess

from harness import LIB, MEMTOP, Synthetic, main, test


@test
def t_each_of_500_keys_is_answered():
    agent = Synthetic("--paths", 100000)
    done = subprocess.run([os.path.join(LIB, "keytime.py"), "--keys", "500", "--", MEMTOP, agent.address],
                          capture_output=True, text=True, timeout=1000, stdin=subprocess.DEVNULL)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n0 of 5" in done.stdout, done.stdout


if __name__ == "__main__":
    main()
