#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_choices.py - the user's choices, in the view or the configuration file: columns, units,
owner or direct caller."""
import os
import re

from harness import Synthetic, main, temporary_folder, test, user_folders
from term import command, selected, view


@test
def t_the_config_file_counts_and_is_written():
    """What it says counts; a wrong line is named, and the rest still counts; :write-config writes what reads the same."""
    home = temporary_folder()
    env = {"XDG_CONFIG_HOME": home}
    os.mkdir(home + "/memtop")
    path = home + "/memtop/config"
    with open(path, "w", encoding="ascii") as f:
        f.write("# mine\ntheme = light\npercent = yes # shares\nkey mark-named = m <F2>\nwobble = 3\nkey diff = s\n"
                "key nothing = x\nkey libs = <F99>\nmouse = perhaps\nmouse = no\n"
                "hide tree = AEG\nhide woods = AGE\nhide sites = in all, AGE\nunits = kib\nunits = bytes\ndirect = yes\ninlined = no\n")
    agent = Synthetic("--past", 60)
    with view(agent, 120, 36, env=env) as t:
        t.wait_for(re.compile(re.escape(path) + r':5: no setting "wobble" \(and 7 more lines\)'))
        t.wait_for("new_vertex_array")
        assert t.tmux("display", "-p", "#{mouse_any_flag}").strip() == "0"
        t.wait_for(re.compile(r"^>.* [\d.]+% ", re.M))
        t.keys("m")
        t.wait_for("Name of the mark:")
        t.keys("Escape", "S")
        t.wait_gone("Name of the mark:")
        t.prompt(":write-config", "M", "%")
        t.wait_for(f"written to {path}")
    with open(path, encoding="ascii") as f:
        text = f.read()
    for line in ("units = bytes", "direct = yes", "inlined = no", "hide sites = in all, AGE", "theme = light", "mouse = yes", "percent = no", "key mark-named = m <F2>"):
        assert line + "\n" in text, text
    assert {line.split()[1] for line in text.splitlines() if line.startswith("key ")} == {"mark-named"}, text
    with view(agent, 120, 36, env=env) as t:
        t.wait_for("new_vertex_array", without=path)
        assert t.tmux("display", "-p", "#{mouse_any_flag}").strip() == "1"
        t.keys("F2")
        t.wait_for("Name of the mark:")
    # two that change places; what is written reads back
    with open(path, "w", encoding="ascii") as f:
        f.write("key diff =\nkey mark = d #\nkey diff = s")
    for _ in range(2):
        with view(agent, 120, 36, env=env) as t:
            t.wait_for("new_vertex_array", without=path)
            t.keys("d")
            t.wait_for("setting a mark")
            t.type(":write-config")
            t.keys("Enter")
            t.wait_for(f"written to {path}")
    with open(path, encoding="ascii") as f:
        assert "key mark = d\n" in f.read()
    os.unlink(path)
    os.mkdir(path)
    with view(agent, 120, 36, env=env) as t:
        t.wait_for(f"{path}: cannot be read: not a file")


@test
def t_live_in_percent():
    """The shares of all libraries add up to the whole; % again shows bytes."""
    agent = Synthetic("--past", 60)
    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        t.keys("4", "%")
        t.wait_for(lambda lines: abs(sum(float(m[1]) for m in (re.match(r"[> ] +([\d.]+)% ", x) for x in lines) if m) - 100) < 0.6)
        for key in ("1", "2", "3"):
            t.keys(key)
            t.wait_for(re.compile(r"^>.* [\d.]+% ", re.M))
        t.keys("%")
        t.wait_for(re.compile(r"^> +[\d.]+M ", re.M))


def rows_of(lines, title):
    """First words of the rows below the head that has the title."""
    head = next((i for i, line in enumerate(lines) if title in line), None)
    return [line.lstrip("> ").split()[0] for line in lines[head + 1:-1] if line.strip()] if head is not None else []


@test
def t_sizes_in_other_units():
    """Exact bytes add up to the header's, are never cut, and take columns away where there are few."""
    agent = Synthetic("--past", 60, "--still")
    count = re.compile(r"\d{1,3}(,\d{3})*$")
    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        t.keys("4")
        t.wait_for("OWNER LIBRARY")
        t.keys("u")
        t.wait_for("sizes: M (MiB)")
        t.wait_for(lambda lines: (rows := rows_of(lines, "OWNER LIBRARY")) and all(re.match(r"\d+\.\dM$", x) for x in rows), what="MiB")
        t.keys("u")
        t.wait_for("sizes: bytes")

        def adds_up(lines):
            live = re.search(r"Live ([\d,]+) ", lines[2])
            rows = rows_of(lines, "OWNER LIBRARY")
            return live and rows and all(count.match(x) for x in rows) and \
                sum(int(x.replace(",", "")) for x in rows) == int(live[1].replace(",", ""))

        t.wait_for(adds_up)
        t.keys("2")
        exact = t.wait_for((lambda lines: all(count.match(x) for x in rows_of(lines, "FUNCTION")[:3]) and rows_of(lines, "FUNCTION"), "SELF"))[0]
        assert len(exact) > 8, exact
        t.resize(80, 24)
        t.wait_for(lambda lines: rows_of(lines, "FUNCTION")[:1] == [exact], without="SELF")
        t.resize(40, 10)
        t.wait_for(lambda lines: rows_of(lines, "FUNCTION")[:1] == [exact])
        t.resize(120, 36)
        command(t, "units kib")
        t.wait_for("units: auto, mib or bytes")
        command(t, "units auto")
        t.wait_for("sizes: K, M or G")
        t.wait_for(lambda lines: re.match(r"[\d.]+M$", (rows_of(lines, "FUNCTION") or [""])[0]))


@test
def t_libraries_by_direct_caller():
    """L counts by direct caller in every view and says so; of the past it shows only known
    figures."""
    agent = Synthetic("--past", 300)

    def libraries(lines):
        return {line.split()[-1] for line in lines if re.match(r"[> ] +[\d.]+[KM]? +[<>]?\d+ ", line)}

    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        t.keys("4")
        by_owner = (lambda lines: "libtile.so.2" in libraries(lines) and not libraries(lines) & {"libstdc++.so.6", "libc.so.6"},
                    "by owner library, net over")
        t.wait_for(by_owner)
        t.keys("L")
        t.wait_for("libraries by direct caller")
        t.wait_for((lambda lines: libraries(lines) >= {"libstdc++.so.6", "libc.so.6", "libtile.so.2"}, "░░░░", "DIRECT CALLER",
                    re.compile(r"by direct caller.*\n.*Live by direct caller, known since 0:\d\d:\d\d")), without="OWNER")
        for key, title in (("1", "1 Overview"), ("3", "3 Sites")):
            t.keys(key)
            t.wait_for(re.compile(rf"\[{title}\].* by (direct )?caller(.|\n)*DIRECT CALLER(.|\n)* Index::grow .* libstdc..\.so\.6"))
        t.keys("2")
        t.wait_for(re.compile(r"\[2 Tree\].* by direct caller"))
        # the earlier counts by owner return, and so does the gap
        t.keys("4", "L")
        t.wait_for("libraries by owner")
        t.wait_for((*by_owner, re.compile(r"│ +[\d.]+M? +[A-C]{20,}")), without="caller")
        command(t, "direct maybe")
        t.wait_for("direct: on or off")
        command(t, "direct on")
        t.wait_for("by direct caller")
        command(t, "direct off")
        t.wait_gone("by direct caller")


@test
def t_columns_are_chosen():
    agent = Synthetic("--past", 60, "--still")
    folders = user_folders()
    with view(agent, 140, 36, env=folders) as t:
        t.wait_for("new_vertex_array")
        t.keys("3")
        t.wait_for(re.compile(r"IN ALL +LIFE +AGE +OLDEST"))
        t.keys("c")
        t.wait_for("Columns of Sites")
        t.wait_for(re.compile(r"\[x\] IN ALL +allocated since the start"))
        t.keys("/")  # nothing to search here: said, not done
        t.wait_for("no search in this view")
        here = t.wait_for(selected)
        while "IN ALL" not in here:
            t.keys("Down")
            here = t.wait_for(lambda lines, here=here: (selected(lines) or here) != here and selected(lines))
        t.keys("Space")
        t.wait_for("[ ] IN ALL")
        t.keys("c")
        t.wait_for(re.compile(r"CALLS/s +(CHURN/s +)?LIFE +AGE"))
        t.type(":write-config")
        t.keys("Enter")
        t.wait_for(re.compile("written to .*memtop/config"))
        t.keys("Q")
    with open(f"{folders['XDG_CONFIG_HOME']}/memtop/config", encoding="utf-8") as f:
        assert "hide Sites = IN ALL\n" in f.read()
    with view(agent, 140, 36, env=folders) as t:
        t.wait_for("new_vertex_array")
        t.keys("3")
        t.wait_for(re.compile(r"CALLS/s +(CHURN/s +)?LIFE +AGE"))
        t.keys("2", "c")
        t.wait_for("Columns of Tree")


if __name__ == "__main__":
    main()
