#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_all.py - all processes of a tree as one heap: the sums are those of the parts, and what a fork inherits counts
once."""
import json
import os
import re

from cli import compiled, memtop, one_line
from harness import MEMTOP, check_invariants, main, mostly_waits, recorded, test
from term import Terminal

MB = 1000000

# 10 MB before the forks, then 1 MB in each of FORKS; each may free what it inherited; HOW_LONG seconds
FORKS = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void *early(void) { void *p = malloc(10000000); return p; }
__attribute__((noinline)) void *late(void) { void *p = malloc(1000000); return p; }
static void *volatile kept[2];
int main(int argc, char **argv)
{
	int forks = atoi(argv[1]), frees = atoi(argv[2]);
	kept[0] = early();
	for (int i = 0; i < forks; i++)
		if (!fork()) {
			kept[1] = late();
			sleep(3);
			if (i < frees)
				free(kept[0]);
			sleep(1);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return argc < 0;
}
"""


def all_of(session, *arguments):
    done = memtop("report", "--format", "json", "--stacks", "all", "--process", "all", *arguments, session)
    assert done.returncode == 0, done.stderr
    r = json.loads(done.stdout)
    check_invariants(r)
    assert r["all"] is True
    return r


def by_function(r):
    """{name: (live bytes, processes)}, by the innermost function that is the program's own."""
    found = {}
    for s in r["stacks"]:
        names = [r["frames"][f]["function"] for f in s["frames"]]
        own = next((n for n in names if n and n not in ("malloc", "calloc")), "?")
        live, _ = found.get(own, (0, 0))
        found[own] = (live + s["live_bytes"], s["processes"])
    return found


def live_by_function(r):
    """{name: live bytes}; which processes hold them is not known of a past instant."""
    found = by_function({**r, "stacks": [{"processes": None, **s} for s in r["stacks"] if s["live_bytes"]]})
    return {name: live for name, (live, _) in found.items()}


def sums_equal(r):
    assert r["totals"]["live_bytes"] == r["tree"]["live_bytes"] == r["tree"]["live_bytes_most"], (r["totals"], r["tree"])
    assert r["totals"]["live_blocks"] == r["tree"]["live_blocks"], (r["totals"], r["tree"])
    assert r["totals"]["allocated_bytes"] == r["tree"]["allocated_bytes"], (r["totals"], r["tree"])
    assert r["totals"]["allocated_blocks"] == r["tree"]["allocated_blocks"], (r["totals"], r["tree"])


@mostly_waits
def t_what_forks_inherit_counts_once():
    for forks, frees in ((2, 0), (3, 2)):
        r = all_of(recorded(compiled(FORKS), str(forks), str(frees)))
        sums_equal(r)
        assert by_function(r) == {"early": (10 * MB, 1), "late": (forks * MB, forks)}, by_function(r)
        assert r["totals"]["live_bytes"] == (10 + forks) * MB, r["totals"]
        assert r["totals"]["peak_bytes"] == (10 + forks) * MB, r["totals"]


# One after the other: a process holds 20 MB for a moment, then 5 MB for 1.5 s, and ends; another holds 3 MB, and ends at once.
IN_TURN = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept;
static void in_turn(size_t bytes, int ms)
{
	if (!fork()) {
		if (ms)
			free(malloc(20000000));
		kept = malloc(bytes);
		usleep(1000 * ms);
		_exit(0);
	}
	wait(NULL);
	usleep(300000); /* its end may be noticed some milliseconds later */
}
int main(int argc, char **argv)
{
	usleep(1100000);
	for (int i = 0; i < 2; i++)
		in_turn(5000000, 1500);
	in_turn(3000000, 0);
	return argc < 0;
}
"""


@mostly_waits
def t_what_each_held_at_its_end_and_the_peak():
    """All's peak is no less than a process' own, also where that fell between two points of the graph. What each held at
    its end may add up to more, since it was not held together: the report says so. It says what All has not once."""
    session = recorded(compiled(IN_TURN))
    r = all_of(session)
    sums_equal(r)
    assert r["totals"]["live_bytes"] == 13 * MB and r["totals"]["peak_bytes"] == 20 * MB, r["totals"]
    assert not [w for w in r["warnings"] if "at its end" in w], r["warnings"]
    assert len(r["not_known"]) == 1 and {p["rss_bytes"] for p in r["timeline"]} == {None}, (r["not_known"], r["timeline"])
    session = recorded(compiled(IN_TURN.replace("20000000", "5000000")))
    with Terminal([MEMTOP, "open", "--process", "all", session], 80, 24) as t:
        t.wait_for(re.compile(r"^ Live 12\.4M +3 blocks at their ends .* Peak 4\.8M \d+ s ago", re.M))
    r = all_of(session)
    assert r["totals"]["live_bytes"] == 13 * MB and r["totals"]["peak_bytes"] == 5 * MB, r["totals"]
    assert max(p["live_bytes"] for p in r["timeline"]) == 5 * MB, r["timeline"]
    assert [w for w in r["warnings"] if re.search("at its end: 12.4M together, though never more than 4.8M", w)], r["warnings"]


# 10 MB before two forks, 1 MB in each. "here"; then 2 MB in the first, which frees the 10 MB, 3 MB in the parent, and the
# second frees its 1 MB.
MARKED = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void *early(void) { void *p = malloc(10000000); return p; }
__attribute__((noinline)) void *late(void) { void *p = malloc(1000000); return p; }
__attribute__((noinline)) void *after(size_t n) { void *p = malloc(n); return p; }
static void *volatile kept[3];
int main(int argc, char **argv)
{
	int go[2];
	char c;
	setvbuf(stdout, NULL, _IONBF, 0);
	if (pipe2(go, O_NONBLOCK))
		return 1;
	kept[0] = early();
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			close(go[1]);
			kept[1] = late();
			/* a fork's agent begins with what the fork does */
			while (read(go[0], &c, 1) < 0 && usleep(20000) == 0)
				free(malloc(16));
			if (i)
				free(kept[1]);
			else
				kept[2] = after(2000000), free(kept[0]);
			sleep(1);
			_exit(0);
		}
	sleep(3);
	puts("here");
	sleep(3);
	close(go[1]);
	kept[2] = after(3000000);
	while (wait(NULL) > 0)
		;
	return argc < 0;
}
"""


def marked():
    return recorded(compiled(MARKED), arguments=["--mark-on", "here"])


@mostly_waits
def t_a_mark_of_all_is_one_name():
    """Each process has its own mark of that name: what was born and gone since is counted in all, and at the mark
    inherited memory counts once."""
    session = marked()
    r = all_of(session, "--since", "here")
    sums_equal(r)
    assert [m["name"] for m in r["marks"]] == ["here"], r["marks"]
    changes = {}
    for c in r["changes"]:
        name = next(r["frames"][f]["function"] for f in c["frames"] if r["frames"][f]["function"] != "malloc")
        born, gone = changes.get(name, (0, 0))
        changes[name] = (born + c["born_bytes"], gone + c["gone_bytes"])
    assert changes == {"after": (5 * MB, 0), "late": (0, MB)}, changes
    then = all_of(session, "--at", "here")
    assert then["totals"]["live_bytes"] == 12 * MB, then["totals"]
    assert live_by_function(then) == {"early": 10 * MB, "late": 2 * MB}, then["stacks"]


# set by the parent alone, while its fork runs
ALONE = MARKED.replace('puts("here")', 'memtop_set_mark("alone")').replace("#include <stdio.h>",
                                                                          "#include <memtop/memtop.h>\n#include <stdio.h>")


@mostly_waits
def t_a_mark_of_one_process_is_not_a_mark_of_all():
    session = recorded(compiled(ALONE, "-Iinclude"))
    assert all_of(session)["marks"] == []
    one_line(memtop("report", "--process", "all", "--since", "alone", session), 2, "alone")


# a library's function, which two programs call: each holds SIZE from it
SHARED = r"""
#include <stdlib.h>
__attribute__((noinline)) void *from_library(size_t size) { return malloc(size); }
"""
USES = r"""
#include <stdlib.h>
#include <unistd.h>
void *from_library(size_t size);
static void *volatile kept;
int main(int argc, char **argv)
{
	kept = from_library((size_t)atol(argv[1]));
	usleep(1300000);
	return argc < 0;
}
"""


def two_programs():
    library = compiled(SHARED, "-shared", "-fPIC", "-g", "-Wl,--build-id")
    one, two = (compiled(USES + f"int unlike_{n};", library, "-g", "-Wl,--build-id") for n in "ab")
    return recorded("/bin/sh", "-c", f"{one} 3000000 & {two} 4000000; wait; /bin/true; /bin/true")


@mostly_waits
def t_the_same_code_is_one_row():
    """A library's function below two programs: two stacks, and one call site with both processes. Processes without
    call paths are one row, and all sums are those of the table."""
    session = two_programs()
    r = all_of(session)
    sums_equal(r)
    stacks = [s for s in r["stacks"] if any(r["frames"][f]["function"] == "from_library" for f in s["frames"])]
    assert sorted(s["live_bytes"] for s in stacks) == [3 * MB, 4 * MB], stacks
    assert [x for x in r["libraries"] if x["name"] == "[no stacks]"], r["libraries"]
    text = memtop("report", "--process", "all", session).stdout
    head = re.search(r"^All of sh \[\d+\]: (\d+) processes  exited with status 0 after", text, re.M)
    assert head and int(head[1]) == r["tree"]["processes"] >= 5, text
    assert re.search(r"^ +6\.7M +2 +6\.7M +2  from_library$", text, re.M), text
    assert re.search(r" \d+  \[no stacks: \d+ processes\]$", text, re.M), text
    assert "The age and thread" not in text and "resident memory" not in text, text


@mostly_waits
def t_the_table_has_command_lines():
    session = recorded("/bin/sh", "-c", "sleep 1.2 & sleep 1.3; wait")
    titles = [p["title"] for p in all_of(session)["processes"]]
    assert sorted(titles) == ["/bin/sh -c sleep 1.2 & sleep 1.3; wait", "sleep 1.2", "sleep 1.3"], titles
    text = memtop("report", session).stdout
    for n in ("1.2", "1.3"):
        assert re.search(rf" sleep \[\d+\](\s+\(below\))?\s+{n}$", text, re.M), text


@mostly_waits
def t_every_format_writes_it():
    session = recorded(compiled(FORKS), "2", "0")
    folder = os.path.dirname(session)
    for ending in ("folded", "csv", "pb.gz", "html", "dot", "speedscope.json"):
        path = os.path.join(folder, "all." + ending)
        done = memtop("report", "--process", "all", "-o", path, session)
        assert done.returncode == 0 and os.path.getsize(path) > 100, (ending, done.stderr)
    folded = memtop("report", "--process", "all", "--format", "folded", session).stdout
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == 12 * MB, folded


@test
def t_of_one_process_there_is_no_all():
    session = recorded("/bin/true")
    one_line(memtop("report", "--process", "all", session), 2, "one process")


if __name__ == "__main__":
    main()
