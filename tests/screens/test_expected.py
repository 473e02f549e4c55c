#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_expected.py - call sites that the user marks as expected: in the session, in rules files, in
reports."""
import os
import re

from harness import MEMTOP, Synthetic, environment, main, recorded, report, run, temporary_folder, test, wait_for
from term import Terminal, command, select_by_search, selected

SITE = "new_vertex_array"
EXPECTED = re.compile(rf"expected .*{SITE}")


def view(*arguments):
    return Terminal([MEMTOP, *arguments], 120, 36)


def save(t, path):
    t.keys("w")
    t.wait_for("Save as")
    t.prompt(path, "C-u")
    t.wait_for(f"saved: {path}")


def sites(r):
    """What is expected in a report, by its innermost function that is no wrapper."""
    return {next(f["function"] for f in s["frames"] if f["function"] not in ("malloc", "calloc"))
            for s in r["stacks"] if s["expected"]}


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


@test
def t_the_cursor_stays_with_the_marked_site():
    """Also on the first row that nobody chose: a second x takes the mark back, and marks no other site."""
    agent = Synthetic("--past", 200, "--past-marks", 3)
    with view(agent.address) as t:
        t.wait_for(re.compile(rf">.*steady .*{SITE}"))
        t.keys("x")
        t.wait_for(f"!{SITE}: expected")
        # it goes to the end with the next order
        t.wait_for((lambda lines: SITE in (selected(lines) or ""),
                    lambda lines: any(EXPECTED.search(line) for line in lines[lines.index(selected(lines)):]),
                    lambda lines: SITE not in next((line for line in lines if re.search(r"^[> ] ?.*(steady|slowing|flat|step) ", line)), SITE)), 20)
        t.keys("x")
        t.wait_for(f"!{SITE}: not expected")


@test
def t_marked_sites_are_in_the_session():
    folder = temporary_folder()
    agent = Synthetic("--past", 200, "--past-marks", 3, "--drop-after", 6, "--log", folder + "/log")
    with view(agent.address) as t:
        t.wait_for(re.compile(rf">.*steady .*{SITE}"))
        t.keys("x")
        key = re.search(rf"\S+!{SITE}", t.wait_for(f"!{SITE}: expected")).group()
        t.wait_for((EXPECTED, re.compile(r"% of it: (?!new_vertex)")))
        wait_for(lambda: open(folder + "/log", encoding="ascii").read().count('"CLIENT"') == 2, 15, "a second greeting")
        t.wait_for(lambda lines: not re.search("loading|STALE", "".join(lines)) and any(map(EXPECTED.search, lines)))
        save(t, folder + "/a.mtop")
        save(t, folder + "/a.supp")
        select_by_search(t, SITE)
        t.keys("x")
        t.wait_for(f"!{SITE}: not expected")
        t.wait_for(lambda lines: not any(EXPECTED.search(line) for line in lines))
        save(t, folder + "/b.mtop")
    with open(folder + "/a.supp", encoding="ascii") as f:
        assert [line for line in f.read().splitlines() if line[0] != "#"] == [key]
    with view("open", folder + "/a.mtop") as t:
        t.wait_for(EXPECTED)
        t.keys("3")
        t.wait_for("[3 Sites]")
    assert sites(report(folder + "/a.mtop")) == {SITE}
    assert sites(report(folder + "/b.mtop")) == set()
    # in the view of the file, too
    with view("open", folder + "/b.mtop") as t:
        t.wait_for(re.compile(rf">.*{SITE}"))
        t.keys("x")
        t.wait_for(f"!{SITE}: expected; w NAME.supp saves it")
        save(t, folder + "/c.mtop")
    assert sites(report(folder + "/c.mtop")) == {SITE}
    assert report(folder + "/c.mtop")["totals"] == report(folder + "/b.mtop")["totals"]
    with open(folder + "/a.mtop", "rb") as f, open(folder + "/cut.mtop", "wb") as g:
        g.write(f.read()[:-40])
    with view("open", folder + "/cut.mtop") as t:
        t.wait_for(EXPECTED)
        t.keys("x")
        t.wait_for("expected; w NAME.supp saves it")
        t.keys("w")
        t.wait_for("Save as")
        t.prompt(folder + "/d.mtop", "C-u")
        t.wait_for(re.compile("saved in part: .*: without the call sites marked by x: the session was cut"))
    text = run([MEMTOP, "report", "--full", folder + "/a.mtop"], env=environment()).stdout
    assert re.search(rf"{SITE} .*\(expected\)\n", text) and text.count("(expected)") == 1, text


@test
def t_rules_of_a_file():
    folder = temporary_folder()
    rules = folder + "/rules.supp"
    write(rules, f"# ours\n*!{SITE}\nnonsense\n*!png_*\nnot *!png_read_info\n")
    wrong = f"{rules}:3: not a suppression (MODULE!FUNCTION): this line is ignored"
    agent = Synthetic("--past", 60, "--still")
    with view("--suppress", rules, agent.address) as t:
        t.wait_for(EXPECTED)
        t.wait_for(wrong)
        save(t, folder + "/a.mtop")
    # they went into the session
    assert sites(report(folder + "/a.mtop")) == {SITE, "png_read_row"}
    done = run([MEMTOP, "report", "--format", "json", "--suppress", rules, agent.address], env=environment())
    assert done.returncode == 0 and wrong in done.stderr, done.stderr
    assert '"expected":true' in done.stdout
    # and while it runs
    with view(agent.address) as t:
        t.wait_for(SITE, without=EXPECTED)
        command(t, f"suppress {folder}/none.supp")
        t.wait_for("none.supp: cannot be read: No such file")
        save_refused(t, folder)
        command(t, f"suppress {rules}")
        t.wait_for(wrong)
        t.wait_for(EXPECTED)
    done = run([MEMTOP, "report", "--suppress", folder + "/none.supp", agent.address], env=environment())
    assert done.returncode == 2 and "none.supp: cannot be read" in done.stderr, done.stderr


def save_refused(t, folder):
    t.keys("w")
    t.wait_for("Save as")
    t.prompt(folder + "/b.supp", "C-u")
    t.wait_for("not saved: no call site is marked as expected")
    assert not os.path.exists(folder + "/b.supp")


@test
def t_a_place_is_not_marked_before_its_name():
    agent = Synthetic("--past", 60, "--still")
    with Terminal([MEMTOP, agent.address], 120, 36, env={"MEMTOP_TEST_SYMBOLS_GATE": "/nowhere"}) as t:
        t.wait_for(re.compile(r"\n>.* \S+\+0x[0-9a-f]+ .*mapd"))
        t.keys("x")
        t.wait_for("not marked: its name is still loading")


@test
def t_a_recording_has_its_rules():
    folder = temporary_folder()
    write(folder + "/r.supp", f"*!{SITE}\n")
    agent = Synthetic("--past", 30)
    assert sites(report(recorded(arguments=["--for", "1", "--suppress", folder + "/r.supp", agent.address]))) == {SITE}


if __name__ == "__main__":
    main()
