#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_demo.py - the first minute: from the start of the demonstration to the leak's function, file and line."""
import os
import re

from harness import BUILD, main, need, test, wait_for
from term import running


@test
def t_the_demos_leak_is_found_in_a_minute():
    """At most three keys and 60 s; what `make demo` runs in a terminal."""
    need("tmux")
    with running([BUILD + "/demo/mapd", "100"], 120, 36) as t:
        t.wait_for(re.compile(r"GROWING .*new_vertex_array.*libtile\.so\.2"), 50)
        t.keys("2", "*")
        t.wait_for(re.compile(r"new_vertex_array .*vertex\.c:13"), 10)
        assert t.sent <= 3, f"{t.sent} keys"
        t.keys("1", "q")
        t.wait_for("leave it running", 10)
        t.keys("s")
        t.wait_exit()
        wait_for(lambda: not os.path.exists(f"/proc/{t.child}"), 10, "the end of the program that was to be stopped")


@test
def t_temporary_blocks_by_one_key():
    """T: what allocates most often stands first, and how long its blocks live beside it, in 80 columns, too."""
    need("tmux")
    with running([BUILD + "/demo/mapd", "100"], 80, 24) as t:
        t.wait_for("new_vertex_array", 20)
        t.keys("T")
        t.wait_for(re.compile(r"CALLS/s▼ +LIFE +CALL SITE"))
        t.wait_for(re.compile(r"\n> +\S+ +[\d.]+k +(< )?\d+ us +read_feature"), 30)
        t.wait_for(re.compile(r" [\d.]+ ms +log_line"), 30)
        t.keys(">")
        # the shortest first; which of those that live for some microseconds is chance
        t.wait_for(re.compile(r"LIFE▼ .*\n> .*\d us .*\n(.*\n)*.* ms +log_line"))
        t.resize(200, 40)
        t.wait_for(re.compile(r" CHURN/s +LIFE▼ "))
        # a leak's blocks come and do not go: no mean is told
        row = t.wait_for(re.compile(r"\n.* ([\d.]+)K +(?:< )?\d+ us +.*read_feature"),
                         without=re.compile(r" [mu]?s +\d+ s +\d+ s +new_vertex_array"))
        assert float(row.group(1)) > 1, row.group()


@test
def t_detail_says_of_how_many_stacks():
    """A site adds up several stacks, and its page shows one of them."""
    need("tmux")
    with running([BUILD + "/demo/mapd", "100"], 120, 36) as t:
        t.keys("3")
        t.wait_for(re.compile(r"new_vertex_array < "), 20)
        t.keys("/", *"new_vertex", "Enter")
        t.wait_for(re.compile(r"^>.*new_vertex_array < ", re.M))
        t.keys("v")
        t.wait_for(re.compile(r"This row sums [2-9] stacks.*\n +Live .* in [0-9,]+ blocks?, freed"), 10)
        t.keys("Q")


if __name__ == "__main__":
    main()
