#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_heap.py - the snapshot of a recorded session (backend/heap/) against the model's answers, every figure of every
node, at the end and since each mark."""
import os
import re
import sys

from harness import BUILD, TARGETS, main, need, recorded, run, temporary_folder, test

COMPARE = os.path.join(BUILD, "tests", "heap", "compare")

PROGRAM = """import json, re, time
kept = []
for i in range(20000):
    kept.append({'a': i, 'b': str(i)})
time.sleep(1.1)
del kept[1000:]
text = json.dumps(kept)
time.sleep(1.1)
print(len([re.sub('a', 'b', str(i)) for i in range(2000)]), len(text))"""

CXX = """#include <algorithm>
#include <map>
#include <regex>
#include <string>
int main() { std::map<std::string, int> m; std::regex r("a+"); return (int)m.size(); }
"""


def equal(*sessions):
    done = run([COMPARE, *sessions], seconds=120)
    found = re.search(r"^(\d+) figures compared, (\d+) differ$", done.stdout, re.M)
    assert done.returncode == 0 and int(found[1]) > 1000 * len(sessions) and found[2] == "0", done


@test
def t_marks_of_a_program_that_frees():
    equal(recorded(sys.executable, "-c", PROGRAM, arguments=["--mark-every", "1s"], options="depth=64"))


@test
def t_samples_and_no_samples():
    sampled = [recorded(f"{TARGETS}/s_sites", options=f"sample={size}") for size in ("256", "4k")]
    equal(*sampled, recorded(f"{TARGETS}/s_phases"))


@test
def t_a_compiler():
    need("clang++")
    source = temporary_folder() + "/a.cc"
    with open(source, "w", encoding="ascii") as f:
        f.write(CXX)
    equal(recorded("clang++", "-O1", "-c", "-o", "/dev/null", source, arguments=("--no-follow", "--mark-every", "1s")))


main()
