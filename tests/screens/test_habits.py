#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_habits.py - habits from other programs: typing, Esc, sorting, and a list that shows new
rows."""
import json
import os
import re
import stat

from harness import MEMTOP, Synthetic, main, mostly_waits, need, recorded, run, temporary_folder, test, wait_for
from term import Terminal, command, running, selected, view


@test
def t_a_name_that_is_typed_takes_the_place_of_the_offer():
    folder = temporary_folder()
    agent = Synthetic("--past", 60, "--still")
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.keys("w")
        t.wait_for(re.compile(r"Save as .*mapd-\d+\.mtop$", re.M))
        t.type(f"{folder}/a.txt")
        t.keys("Enter")
        t.wait_for(f"saved: {folder}/a.txt", 20)
    assert os.listdir(folder) == ["a.txt"]


@test
def t_home_and_several_settings():
    """~ is the home folder wherever a path is typed; :set takes several."""
    home = temporary_folder()
    with open(home + "/r.supp", "w", encoding="ascii") as f:
        f.write("cat!main\n")
    os.mkfifo(home + "/go")
    with running(["/bin/cat", home + "/go"], env={"HOME": home, "XDG_STATE_HOME": home}) as t:
        t.wait_for("[1 Overview]")
        t.keys("w")
        t.wait_for("Save as")
        t.type("~/a.txt")
        t.keys("Enter")
        t.wait_for(re.compile(r"saved: \S*/a.txt"), 20)
        command(t, "w ~/b.json")
        t.wait_for(re.compile(r"saved: \S*/b.json"), 20)
        command(t, "suppress ~/r.supp")
        t.wait_for("suppressions: 1 from")
        assert {"a.txt", "b.json"} <= set(os.listdir(home)), os.listdir(home)
        command(t, "set min_size=64 libs=ca  t exclude=x max_size=1M")
        t.wait_for("setting min_size=64")

        def in_force():
            filters = json.loads(run([MEMTOP, "report", "--format", "json", "-p", str(t.child)]).stdout)["filters"]
            return filters and [filters[-1][k] for k in ("min_size", "max_size", "libs", "exclude")] == [64, 1 << 20, "ca  t", "x"]
        wait_for(in_force, 20, "all four in force")
        command(t, "set min_size")
        t.wait_for("write NAME=VALUE")


@test
def t_a_file_is_saved_in_the_place_of_a_file_alone():
    """memtop overwrites no FIFO and no device, touches no file beside it, and keeps a link a link."""
    folder = temporary_folder()
    os.mkfifo(folder + "/pipe.txt")
    os.symlink("/dev/null", folder + "/device.mtop")
    os.symlink(folder + "/to.txt", folder + "/link.txt")
    for name in "to.txt", "link.txt.part", "device.mtop.part", "pipe.txt.part":
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write("the user's\n")
    agent = Synthetic("--past", 60, "--still")
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        for name, said in (("pipe.txt", "not overwritten: it is not a plain file"), ("device.mtop", "not overwritten: it is not a plain file"),
                           ("link.txt", "saved: ")):
            t.keys("w")
            t.wait_for("Save as")
            t.prompt(f"{folder}/{name}", "C-u")
            t.wait_for("The file exists")
            t.keys("o")
            t.wait_for(said, 20)
    assert stat.S_ISFIFO(os.lstat(folder + "/pipe.txt").st_mode) and os.path.islink(folder + "/device.mtop")
    assert os.path.islink(folder + "/link.txt") and os.path.getsize(folder + "/to.txt") > 100
    for name in "link.txt.part", "device.mtop.part", "pipe.txt.part":
        with open(f"{folder}/{name}", encoding="ascii") as f:
            assert f.read() == "the user's\n", name


@test
def t_saves_every_format():
    """By its ending, with the sums of the JSON report; one that is none is answered with what there is."""
    folder = temporary_folder()
    agent = Synthetic("--past", 60, "--still")
    with view(agent, 160, 30) as t:
        t.wait_for("[1 Overview]")
        for ending in ("json", "folded", "pb.gz", "csv", "xml"):
            t.keys("w")
            t.wait_for("Save as")
            t.prompt(f"{folder}/a.{ending}", "C-u")
            t.wait_for("saved: " if ending != "xml" else "unknown format; end the name in .mtop, .supp, .txt, .json, .html, .folded", 20)
            wait_for(lambda: ending == "xml" or os.path.exists(f"{folder}/a.{ending}"), 20, ending)
    with open(folder + "/a.json", encoding="utf-8") as f:
        live = json.load(f)["totals"]["live_bytes"]
    with open(folder + "/a.folded", encoding="utf-8") as f:
        assert sum(int(line.rsplit(" ", 1)[1]) for line in f) == live
    with open(folder + "/a.pb.gz", "rb") as f:
        assert f.read(2) == b"\x1f\x8b"
    assert sorted(os.listdir(folder)) == ["a.csv", "a.folded", "a.json", "a.pb.gz"]


@mostly_waits
def t_sorting_goes_from_column_to_column_that_is_there():
    agent = Synthetic("--past", 60, "--still")
    with view(agent, 80, 24) as t:
        t.wait_for("[1 Over]")
        t.keys("2")
        t.wait_for(" LIVE▼")
        for step, title in ((">", "BLOCKS"), (">", "CALLS/s"), (">", "FUNCTION"), ("<", "CALLS/s"), ("<", "BLOCKS"), ("<", "LIVE")):
            t.keys(step)
            t.wait_for(f" {title}▼")
        t.keys("3")
        t.wait_for(" LIVE▼")
        # by calls and by life Sites has LIFE in the place of BLOCKS and AGE; back it is the same way
        titles = ["LIVE", "BLOCKS", "CALLS/s", "LIFE", "AGE", "CALL SITE < CALLER"]
        for step, title in [(">", x) for x in titles[1:]] + [("<", x) for x in titles[-2::-1]]:
            t.keys(step)
            t.wait_for(f" {title}▼")


@mostly_waits
def t_churn_again_is_the_largest_first():
    agent = Synthetic("--past", 60, "--still")
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.keys("3")
        t.wait_for(re.compile(r"^ +LIVE▼", re.M))
        t.keys("r")
        t.wait_for(re.compile(r"^ +LIVE▲", re.M))
        t.keys("T")
        t.wait_for("CALLS/s▼")
        t.keys("r")
        t.wait_for("CALLS/s▲")
        t.keys("T")
        t.wait_for(re.compile(r"^ +LIVE▼", re.M))


@mostly_waits
def t_escape_ends_the_search_before_the_zoom():
    agent = Synthetic("--past", 60, "--still")
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.keys("2")
        t.wait_for(re.compile(r"^>.*[▼▶ ] ", re.M))
        t.keys("g", "O")
        t.wait_for(re.compile(r"\[2 Tree\].* in "))
        t.prompt("tile_cache", "/")
        t.wait_for(re.compile(r"[1-9]\d* hits?; n next"))
        t.keys("Escape")
        t.wait_for(re.compile(r"\[2 Tree\].* in "), without="; n next")
        t.keys("n")
        t.wait_for("no search yet")
        t.keys("Escape")
        t.wait_for("[2 Tree]", without=re.compile(r"\[2 Tree\].* in "))


@mostly_waits
def t_the_newest_marks_are_on_the_screen():
    agent = Synthetic("--past", 120, "--past-marks", 20)
    with view(agent, 80, 24) as t:
        t.wait_for("[1 Over]")
        t.keys("5")
        t.wait_for((re.compile(r"^>.* m20 ", re.M), re.compile(r"^ .* now ", re.M)))
        t.keys("s")
        t.wait_for(lambda lines: " m21 " in (selected(lines) or ""))
        t.keys("Up", "Up")  # the user's from now on
        t.wait_for(lambda lines: " m19 " in (selected(lines) or ""))
        t.keys("s")
        t.wait_for(("m22", lambda lines: " m19 " in (selected(lines) or "")))


@mostly_waits
def t_the_command_line_completes():
    agent = Synthetic("--past", 60, "--still")
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.type(":wri")
        t.keys("Tab")
        t.wait_for(re.compile(r"^ :write-config$", re.M))
        t.keys("C-u")
        t.type("units b")
        t.keys("Tab", "Enter")
        t.wait_for("sizes: bytes")
        t.type(":theme ")
        t.keys("Tab")
        first = t.wait_for(re.compile(r"^ :theme (\S+)$", re.M)).group(1)
        t.keys("Tab")
        assert t.wait_for(re.compile(rf"^ :theme (?!{first}$)(\S+)$", re.M))
        t.keys("Escape")
        t.type(":tree-h")  # what has a key, by its name
        t.keys("Tab")
        t.wait_for(re.compile(r"^ :tree-heavy$", re.M))
        t.keys("Escape")
        command(t, "nonsense")
        t.wait_for(":nonsense: no such command; Tab")


@mostly_waits
def t_a_filter_says_what_it_took_for_a_name():
    agent = Synthetic("--past", 60, "--still")
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.prompt("foo:bar", "3", "\\")
        t.wait_for('"foo:bar" is matched as a name; filter words: lib: thread:')
        t.prompt("lib:tile age>1s Cache::grow", "\\", "C-u")
        t.wait_for("filter: lib:tile age>1s Cache::grow")
        t.wait_gone("matched as a name")
        t.keys("4")  # of libraries all are listed: no filter is named
        t.wait_for("[4 Libs]", without="filter:")


@test
def t_an_owner_without_memory_is_not_unknown():
    need("lua5.4")
    with Terminal([MEMTOP, "open", recorded("lua5.4", "-e", "x = {}")], 120, 36) as t:
        t.wait_for(("EXITED 0", re.compile(r"^.*  lua5\.4 ", re.M)), without="? lua5.4")


@test
def t_line_3_has_both_rates_in_80_columns():
    agent = Synthetic("--past", 60)
    with view(agent, 80, 24) as t:
        t.wait_for(re.compile(r"^ Live \S+  [\d,]+ blocks  +RSS \S+  +Alloc [\d.]+k?/s  +Free [\d.]+k?/s", re.M))


@mostly_waits
def t_a_remark_is_whole_in_80_columns():
    agent = Synthetic("--past", 60, "--still")
    with view(agent, 80, 24) as t:
        t.wait_for("[1 Over]")
        t.keys("M", "M")
        t.wait_for(re.compile(r"mouse on: a click selects, a second click opens; Shift\+mouse\s+selects\s+text$", re.M))
        t.keys("Escape")
        t.wait_for(lambda lines: "Quit" in lines[-1] and "memtop's" not in lines[-2])


main()
