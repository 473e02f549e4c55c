#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_extremes.py - trees of any depth and width, sums near what 64 bits hold, hundreds of
everything: memtop still shows and scrolls them; and a screen without attributes carries the same
information."""
import re

from harness import MEMTOP, TARGETS, Synthetic, at_end, child_of, kill, main, run, test
from rawterm import Raw
from term import Terminal, select_by_search


def run_view(blocks=100, size=(100, 40)):
    r = Raw([MEMTOP, "run", TARGETS + "/s_extremes", str(blocks), "wait"], *size)
    at_end(kill, child_of(r.process.pid))
    r.wait_for("s_extremes")
    return r


def leave(r):
    r.send("Q")
    assert r.wait_exit() == 0
    r.check()
    r.check_restored()


@test
def t_fifty_levels_stay_readable():
    """Each allocates, so that none folds; indents end in their number, each name can be read, in 40 columns too."""
    for size in ((100, 80), (40, 10), (80, 24)):
        with run_view(size=size) as r:
            r.send("2")
            r.wait_for(re.compile("level_10|main"))
            r.send("/", "bottom")  # opens all that is above it
            last = r.wait_for(re.compile(r"^>.*bottom", re.M)).group()
            r.send("\r")
            assert re.search(r"[\d.]+K.*«\d\d +bottom" if size[0] > 40 else r"[\d.]+K.*bottom", last), (last, r.text())
            for number in range(59, 9 if size[1] > 60 else 49, -1):
                r.send("k")
                row = r.wait_for(re.compile(rf"^>.*level_{number}\b.*", re.M)).group()
                assert re.search(r"[\d.]+K", row), row

            def one_deeper_each(lines):
                depths = [int(d) for d in re.findall("«([0-9]+) ", "\n".join(lines))]
                return len(depths) > 40 and depths == list(range(depths[0], depths[-1] + 1))
            if size[1] > 60:
                r.wait_for(one_deeper_each)
            leave(r)


@test
def t_recursion_is_one_row():
    """150 calls of one function and 140 of two alternating ones are a row each; a stack beyond the
    depth limit is marked."""
    with run_view(size=(120, 40)) as r:
        r.send("2")
        r.wait_for(re.compile(r"\[2 Tree\](.*\n)+.*(main|level_)"))
        r.wait_for(re.compile(r"stacks 9\d\.\d%"))
        r.send("G")
        r.wait_for(re.compile(r"^>.* again \(257\)", re.M))  # the limit, and where it ended
        # each is looked for: 50 levels, open when they were all there was at first, may stand above it
        for function, row in (("pong", r"39\.1K .* pong \(142\)"), ("again", r"48\.8K .* again \(151\)")):
            r.send("g", "/", function)
            r.wait_for(re.compile("^> +" + row, re.M))
            r.send("\r")
        r.send("v")
        r.wait_for(re.compile(r"#30 +again"))
        r.send("G")
        r.wait_for(re.compile(r"#150 +again.*\n +#151 +main"))
        leave(r)


@test
def t_five_million_blocks_of_one_site():
    with run_view(5000000, size=(120, 40)) as r:
        r.send("3")
        r.wait_for((re.compile(r"76\.3M +5,000,000 .* one_of_many < main"), "0 lost"), 60)
        r.send("g")  # the cursor may be on a row that was first before
        r.wait_for(re.compile(r"^> +76\.3M +5,000,000", re.M))
        r.send("v")
        r.wait_for(re.compile(r"Live 76\.3M in 5,000,000 blocks"), 60)
        leave(r)


@test
def t_twenty_thousand_siblings():
    agent = Synthetic("--no-story", "--wide", 20000, "--past", 2)
    with Raw([MEMTOP, agent.address], 120, 36) as r:
        r.wait_for("20,000 sites", 40)
        r.wait_for(re.compile(r"\+0x10000 +A"), without=" mai ")  # its caller's name has no room: not a part of it instead
        r.send("3")
        r.wait_for(re.compile("20,000 sites"))
        for keys, last in (("G", "0x5e1f0"), ("g", "0x10000"), ("\x06\x06", "0x10"), ("G", "0x5e1f0")):
            r.send(keys)
            r.wait_for(re.compile(rf"^>.*\+{last}", re.M))
        r.send(">>>>>")
        r.wait_for("AGE▼")
        r.wait_for("20,000 sites, too many to sort by age: sorted in view only")
        r.send("2")
        r.wait_for(re.compile(r"main.*\n.* \.\.\. 20000 more"))
        r.send("*", "C")  # what closes ends it
        r.settle()
        r.wait_for(re.compile(r"^> .*▶ main", re.M))
        r.send("\r")  # G goes to the last row that is there
        r.wait_for(re.compile(r"main.*\n.* \.\.\. 20000 more"))
        r.send("*", "G")  # going somewhere does not end the opening; what it leaves closed is said, with its sum
        r.wait_for(re.compile(r"^> +6\.1G .* 15001 more", re.M))
        r.send("k")
        r.wait_for(re.compile(r"^> .*\+0x23860", re.M))
        leave(r)


@test
def t_a_thousand_libraries():
    agent = Synthetic("--no-story", "--libraries", 1000, "--past", 5)
    with Raw([MEMTOP, agent.address], 120, 36) as r:
        r.wait_for("libplug0000.so")
        r.send("4")
        r.wait_for("1,000 libraries")
        r.wait_for(re.compile(r"^> +1\.0M +<1 .* libplug0000\.so", re.M))  # little is not nothing
        r.send("G")
        r.wait_for(re.compile(r"^> +1\.0K .* libplug0999\.so", re.M))
        r.send("/", "plug0500", "\r")
        r.wait_for(re.compile(r"^> +500\.0K .*\*\S libplug0500\.so|^> +500\.0K .* libplug0500\.so", re.M))
        r.send("\r")
        r.wait_for(re.compile(r"\[2 Tree\](.*\n)+.*libplug0500"))
        leave(r)


@test
def t_two_thousand_threads():
    agent = Synthetic("--no-story", "--threads", 2000, "--past", 5)
    with Raw([MEMTOP, agent.address], 120, 36) as r:
        r.wait_for("[1 Over")
        r.send("6")
        r.wait_for("2,002 threads")
        r.wait_for(re.compile(r"^> +125\.0K .* worker-0000", re.M))
        r.send("/", "worker-1999", "\r")
        r.wait_for(re.compile(r"^> +64 .*\*worker-1999", re.M))
        leave(r)


@test
def t_the_detail_of_a_pool():
    """Others may hold more than the heaviest thread; bars keep their column at any number of threads."""
    for threads in (12, 1000, 8000):
        agent = Synthetic("--no-story", "--threads", threads, "--past", 5)
        with Raw([MEMTOP, agent.address], 120, 60) as r:
            r.wait_for(re.compile(r"worker|libvendor"), 40)
            r.send("2", "g")
            r.wait_for(re.compile(r"^>.* main", re.M), 40)
            r.send("v")

            def has_bars(lines, largest=0 if threads == 12 else -1):
                bars = re.findall(r"^ +(?:worker-\d+ \d+|[\d,]+ others) +\S+ +\S+ *(█*)$", "\n".join(lines), re.M)
                return len(bars) == 9 and max(map(len, bars)) == 24 == len(bars[largest])
            r.wait_for((re.compile(r"^ +[\d,]+ others .*█$", re.M), has_bars))
            leave(r)


@test
def t_a_hundred_marks():
    agent = Synthetic("--past", 300, "--past-marks", 100)
    with Raw([MEMTOP, agent.address], 120, 36) as r:
        r.wait_for("new_vertex_array")
        r.send("5")
        r.wait_for(re.compile(r"^> +A +m100 .*\+", re.M))
        r.send("g")
        r.wait_for(re.compile(r"m10 .*\+"))
        r.send("G", "k")
        r.wait_for(re.compile(r"^> +A +m100 ", re.M))
        r.send("\x15")
        r.wait_for(re.compile(r"^> +m9\d ", re.M))
        r.send("1")
        r.wait_for(re.compile(r" m1 .*now"))
        leave(r)


def wrong_number(lines):
    return re.search(r"-\d|nan|inf\b", "\n".join(x for x in lines if not re.search("m1|[┘│]|/.*/", x)))


@test
def t_sums_near_the_end_of_64_bits():
    agent = Synthetic("--still", "--huge", "--past", 30)
    blocks = "2,305,843,009,21"  # 2^61 of one byte, and some
    for size in ((120, 36), (80, 24), (40, 10)):
        with Raw([MEMTOP, agent.address], *size) as r:
            r.wait_for(re.compile(r"2\.0E .*sibling_00"))
            for key in "123456":  # what is resident is bounded by the address space
                r.send(key)
                r.wait_for((f"[{key} ", re.compile(r" [45]\.0E|Live 4\.0E|2\.0E|start"), lambda lines, wide=size[0] > 80: not wide or blocks in lines[2]),
                           without=wrong_number)
            r.send("s", "2", "d")
            r.wait_for("[2 ")
            leave(r)
    report = run([MEMTOP, "report", agent.address])
    assert "4.0E in " + blocks in report.stdout, report.stdout[:600]


@test
def t_without_attributes_no_fact_is_lost():
    """Selection, focus, hits, signs, order, tab, pause, stale: in the characters themselves, as a copy of the screen has them."""
    agent = Synthetic("--past", 300, "--past-marks", 2, "--still")
    for options in ([], ["--ascii"], ["--theme", "mono"]):
        with Terminal([MEMTOP, *options, agent.address], 120, 36) as t:
            t.wait_for("new_vertex_array")
            # the selection in each view, and its tab
            for key in "1234567":
                t.keys(key)
                t.wait_for((re.compile(rf"\[{key} \w+\](.*\n)+>"), lambda lines: sum(x.startswith(">") for x in lines) == 1))
            # the focus: the graph's frame or the list has the sign, the row that stays selected another
            dot, hit = (".", "!") if options == ["--ascii"] else ("·", "*")
            for key in "14":
                t.keys(key)
                t.wait_for(re.compile(rf"\[{key} (.*\n)+>"))
                t.keys("Tab")
                t.wait_for((re.compile(r"^[┌+]>", re.M), lambda lines, dot=dot: sum(x.startswith(dot) for x in lines) == 1),
                           without=re.compile(r"^>", re.M))
                t.keys("Tab")
                t.wait_for(lambda lines: any(x.startswith(">") for x in lines) and not any(re.match(r"[┌+]>", x) for x in lines))
            t.keys("5", "Tab")
            t.wait_for(lambda lines: sum(x.startswith(">") for x in lines) == 1 and any(re.match(rf"{re.escape(dot)} .* m?\d|{re.escape(dot)} +start", x) for x in lines))
            # hits, the selected one too
            for key, word, hits in (("1", "tile", 3), ("2", "sqlite3", 1), ("3", "tile", 3), ("4", "lib", 3), ("6", "log", 1)):
                t.keys(key)
                t.wait_for(f"[{key} ")
                t.type("/" + word)
                t.keys("Enter")

                def marked(lines, key=key, word=word, hits=hits, hit=hit):
                    rows = [x for x in lines[5:] if re.match(rf"[> ].*\{hit}", x)]
                    return len(rows) >= hits and any(x.startswith(">") for x in rows) and (key == "2" or all(word in x for x in rows))
                t.wait_for((re.compile(r"\d+ hits?; n next"), marked))
                t.keys("Escape", "Escape")
                t.wait_for(lambda lines: not any(hit in x for x in lines[5:]))
            t.keys("?")
            t.wait_for("Does it grow?")
            t.type("/snapshot")
            t.keys("Enter")
            t.wait_for(lambda lines: any(x.startswith(hit) and "snapshot" in x for x in lines))
            t.keys("Escape", "Escape", "Escape")
            # what it is sorted by; signs of what grew; the pause
            t.keys("3")
            t.wait_for(re.compile(r"\[3 (.*\n)+.* LIVE[▼v]"))
            t.keys(">")
            t.wait_for(re.compile(r" BLOCKS[▼v]"))
            t.keys("5")
            t.wait_for(re.compile(r" m2 .* \+[\d.]+[KM]"))
            t.keys("p")
            t.wait_for("PAUSED")
            t.keys("p")
            # the line of the source that a stack is at
            t.keys("3")
            t.wait_for("[3 ")
            select_by_search(t, "new_vertex")
            t.keys("v")
            t.wait_for("Stack, innermost first")
            t.keys("End")
            t.wait_for(re.compile(r"^ > +\d+ .*the call that allocates", re.M))
            t.keys("q", "Q")
            assert t.wait_exit() == 0


@test
def t_rows_that_went_to_nothing_say_so():
    """Dimmed, and with a nought; a link that is gone in a word."""
    agent = Synthetic("--past", 60)
    with Terminal([MEMTOP, agent.address], 120, 36) as t:
        t.wait_for("new_vertex_array")
        t.keys("4")
        t.wait_for(re.compile(r"OWNER LIBRARY(.|\n)*libtile"))
        agent.kill()
        t.wait_for(re.compile(r"STALE \d+ s since"), 15)
        t.keys("3")
        t.wait_for("new_vertex_array")


if __name__ == "__main__":
    main()
