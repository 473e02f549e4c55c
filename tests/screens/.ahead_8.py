#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_ahead.py - keys that come while a thread still makes the answer to the last ones: rows, selection and open rows
end as they do where everything is made in line."""
import random
import time

from harness import LONG, MEMTOP, PATIENCE, Synthetic, main, test
from rawterm import Raw

KEYS = ("j", "j", "k", "+", "-", "\x1b[C", "\x1b[D", "\r", "g", "G", "\x06", "><", "I", "n", "N", "z", "\x7f", "2", "3", "1", "i", "h",
        "/catalog\r", "/row_1\r", "\\row_2\r", "\\\x15\r", "o")
BURSTS, KEYS_EACH = (40 if LONG else 12), 25


def chosen(r):
    return [line for line in r.lines() if line.startswith(">")]


def rows(r):
    """All but the header, whose times pass, and the last line."""
    return r.lines()[4:-1]


def agree(one, other, what, keys):
    """The thread has as long as it takes beside others."""
    end = time.monotonic() + 20 * PATIENCE
    while (a := what(one)) != (b := what(other)):
        assert time.monotonic() < end, f"{keys}\n" + "\n".join(a) + "\n--- in line\n" + "\n".join(b)
        one.read(0.02)
        other.read(0.02)


@test
def t_typed_ahead_is_as_in_line():
    agent = Synthetic("--no-story", "--wide", 20000, "--ended", "--past", 60)
    rng = random.Random(8)
    with Raw([MEMTOP, agent.address], 120, 36) as thread, \
            Raw([MEMTOP, agent.address], 120, 36, env={"MEMTOP_TEST_SYNC": "1"}) as line:
        for r in (thread, line):
            r.wait_for("20,000 sites", 40)
            for view in "231":  # a page's height is known once it was drawn
                r.send(view)
                r.settle()
        for _ in range(BURSTS):
            keys = [rng.choice(KEYS) for _ in range(KEYS_EACH)]
            for some, what in ((keys, chosen), (["\x1b"], chosen), ("g", rows)):  # Esc by itself, "g": wherever it scrolled to
                for r in (thread, line):
                    r.send(*some)
                for r in (thread, line):
                    r.settle()
                agree(thread, line, what, keys)


if __name__ == "__main__":
    main()
