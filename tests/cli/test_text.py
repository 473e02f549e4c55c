#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_text.py - the text report of names that a terminal would not like: 80 columns, and nothing but text."""
import os
import re
import subprocess
import unicodedata

import hostileprog
from cli import memtop
from harness import AGENT, environment, main, recorded, report, run, start, temporary_folder, test


def columns(line):
    """As a terminal counts: nothing for what joins the character before, two for what is wide."""
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


LONG_NAMES = """
#include <cstdlib>
template<int N, class A, class B> struct a_pair_of_types_with_a_long_name { };
template<int N> struct deep { typedef a_pair_of_types_with_a_long_name<N, typename deep<N - 1>::type, typename deep<N - 1>::type> type; };
template<> struct deep<0> { typedef char type; };
void *kept[2];
template<class T> __attribute__((noinline)) void keep(T *) { kept[0] = malloc(12345); }
int main() { keep((deep<6>::type *)nullptr); }
"""


@test
def t_eighty_columns_of_hostile_names():
    """Wide, reordered, hidden, control characters, a hundred accents; C++ names of more than 4,000 characters."""
    program, command = hostileprog.build(temporary_folder())
    p = start(command, executable=program, env={**environment(), "LD_PRELOAD": AGENT}, stdout=subprocess.PIPE)
    seen = b""
    while b"tallLLL" not in seen:
        seen += os.read(p.stdout.fileno(), 65536)
    folder = temporary_folder()
    with open(folder + "/long.cc", "w", encoding="ascii") as f:
        f.write(LONG_NAMES)
    assert run(["g++", "-g", "-O1", "-o", folder + "/long", folder + "/long.cc"]).returncode == 0
    long = recorded(folder + "/long")
    assert max(len(s["frames"][0]["function"]) for s in report(long)["stacks"]) > 4000
    hostile = f"@memtop.{p.pid}"
    for arguments, shown in (((hostile,), "日本語"), (("--since", "m1", hostile), "日本語"), ((long,), "keep<...>")):
        done = memtop("report", *arguments)
        assert done.returncode == 0 and shown in done.stdout, done
        for line in done.stdout.split("\n"):
            assert columns(line) <= 80 and not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", line), (columns(line), line)


if __name__ == "__main__":
    main()
