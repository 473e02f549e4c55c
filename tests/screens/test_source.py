#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_source.py - the detail page's source: the memory of each line, and the warning when the file
changed after the build."""
import os
import re

from harness import MEMTOP, Synthetic, main, need, run, temporary_folder, test
from term import Terminal, running

PROGRAM = """#include <stdlib.h>
#include <unistd.h>

static void *kept[400];

void fill(void)
{
	for (int i = 0; i < 100; i++)
		kept[i] = malloc(10240);

	for (int i = 100; i < 105; i++)
		kept[i] = malloc(1024);
}

void other(void)
{
	kept[300] = malloc(2048);
}

int main(void)
{
	fill();
	other();
	for (;;)
		pause();
}
"""


def compiled(folder, *options):
    os.makedirs(folder + "/src")
    path = folder + "/src/keeps.c"
    with open(path, "w", encoding="ascii") as f:
        f.write(PROGRAM)
    os.utime(path, (1e9, 1e9))
    done = run(["cc", "-g", "-O0", "-fno-builtin", *options, "-o", folder + "/keeps", path], cwd=folder + "/src")
    assert done.returncode == 0, done.stderr
    return path


def watch(folder, width, height, **more):
    """Under the view, the page of the call site that holds most."""
    t = running([folder + "/keeps"], width, height, **more)
    t.keys("3")
    t.wait_for(re.compile(r"\n> .*fill < main.*keeps"), 20)
    t.keys("v")
    t.wait_for("the call site)")
    return t


@test
def t_lines_and_what_they_hold():
    need("tmux", "cc")
    folder = temporary_folder()
    path = compiled(folder)
    with watch(folder, 120, 50) as t:
        t.wait_for("The file's total: 1.0M on 3 lines.")
        t.wait_for(f"Source  {path}")
        t.wait_for(re.compile(r"\n >     9 +kept\[i\] = malloc\(10240\); +1.0M  100 blocks\n"))
        t.wait_for(re.compile(r"\n +12 +kept\[i\] = malloc\(1024\); +5.0K  5 blocks\n"))
        t.wait_for(re.compile(r"\n +10\n"))  # nothing on it
        t.wait_for(re.compile(r"Allocates [\d.,]+ calls/s, "), without="lines may have moved")
        os.utime(path)
        t.wait_for("The file is newer than keeps: lines may have moved.")
        os.rename(path, folder + "/keeps.c")
        t.wait_for(('is not on this machine; ":source DIR" adds a folder to search.', re.compile(rf"^ {path}:9$", re.M)))
        t.type(f":source {folder}")
        t.keys("Enter")
        t.wait_for(f"Source  {folder}/keeps.c")
        t.wait_for("malloc(10240);")
        with open(folder + "/keeps.c", "w", encoding="ascii") as f:
            f.write("/* all gone */\n")
        t.wait_for("The file has no line 9: it is not the file that was compiled.")


@test
def t_folders_of_the_configuration():
    need("tmux", "cc")
    folder, home = temporary_folder(), temporary_folder()
    path = compiled(folder, "-fdebug-prefix-map=" + folder + "=/build/of/somebody")
    os.mkdir(home + "/memtop")
    with open(home + "/memtop/config", "w", encoding="ascii") as f:
        f.write(f"source = /nowhere:{folder}\n")
    with watch(folder, 80, 50, env={"XDG_CONFIG_HOME": home}) as t:
        t.wait_for("/build/of/somebody/src/keeps.c:9")
        t.wait_for(f"Source  {path}")
        t.wait_for(re.compile(r"\n >     9 +kept\[i\] = malloc\(10240\); +1.0M  100 blocks\n"))
        t.type(":write-config")
        t.keys("Enter")
        t.wait_for("written to")
    with open(home + "/memtop/config", encoding="ascii") as f:
        assert f"source = /nowhere:{folder}\n" in f.read()


@test
def t_survival_by_marks():
    need("tmux", "cc")
    folder = temporary_folder()
    compiled(folder)
    with watch(folder, 80, 50) as t:
        assert "Survival" not in t.text()
        t.keys("s")
        t.wait_for("Survival: how many blocks allocated between two marks are alive now")
        t.wait_for(re.compile(r"\n +start \.\. m1 +100\.0% +100 of 100 +\S+\n"))


@test
def t_many_paths_are_added_up_in_slices():
    need("tmux")
    agent = Synthetic("--past", 30, "--still", "--paths", 20000)
    with Terminal([MEMTOP, agent.address], 120, 40) as t:
        t.wait_for("< f_03", 20)
        t.keys("3")
        seen = []  # sums are made in slices, too: what stood there 60 times in a row is all

        def whole(lines):
            row = re.search(r"\n> +([\d.]+[MG]) +[\d,.M]+ .* f_050 < f_030", "\n".join(lines))
            seen.append(row and row.group(1))
            return row and len(seen) > 60 and len(set(seen[-60:])) == 1 and row.group(1)
        bytes_of_site = t.wait_for(whole, 60, "a sum that stands still")
        t.keys("v")
        t.wait_for(re.compile(r"The file's total: 2\.5G on 150 lines\."), 20)
        t.wait_for(re.compile(rf"\n > +406 .* {re.escape(bytes_of_site)}  [\d,]+ blocks\n"), 20)


if __name__ == "__main__":
    main()
