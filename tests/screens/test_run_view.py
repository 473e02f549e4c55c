#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_run_view.py - memtop run on the screen: the program's output, leaving it, stopping it; the chooser."""
import json
import os
import re

from harness import AGENT, MEMTOP, TARGETS, at_end, environment, kill, main, run, start, temporary_folder, test, wait_for
from term import Terminal

PROGRAM = """
import os, sys, time
print("hello from", os.getpid(), flush=True)
keep = []
while True:
    keep.append(bytearray(5000))
    print("line", len(keep), "\\x1b[31mred\\x1b[0m", flush=True)
    time.sleep(0.02)
"""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def run_view(size=(120, 36), program=PROGRAM, env=None):
    path = f"{temporary_folder()}/program.py"
    with open(path, "w", encoding="ascii") as f:
        f.write(program)
    t = Terminal(["sh", "-c", f"{MEMTOP} run /usr/bin/python3 {path}; echo status=$?; exec sleep 60"], *size, env=env)
    pid = int(t.wait_for(re.compile(r"\[([1-9]\d*)\] (.*\n)+.*\[1 Over"), 20).group(1))
    at_end(kill, pid)
    t.keys("8")
    t.wait_for(re.compile(r"\[8 Out(.*\n)+ (hello from|line) \d+"))
    return t, pid


def select(chooser, pid):
    """Towards its row, one at a time, each seen: others have agents, too, which come and go."""
    row = re.compile(r"([> ]) +(\d+) ")

    def rows(lines):
        """Their pids, and which of them is selected."""
        found = [(int(m[2]), m[1]) for m in map(row.match, lines) if m]
        pids = [p for p, _ in found]
        return pids, next((i for i, (_, sign) in enumerate(found) if sign == ">"), None)

    chooser.keys("Home")
    while True:
        seen = chooser.wait_for(lambda lines: (lambda r: r if r[1] is not None else None)(rows(lines)))
        pids, here = seen
        if pids[here] == pid:
            return
        chooser.keys("Up" if pid in pids[:here] else "Down")
        chooser.wait_for(lambda lines, was=seen: rows(lines) != was)


@test
def t_output_is_followed_without_control_sequences():
    t, _ = run_view()
    with t:
        t.wait_for(re.compile(r"^ line \d{3,} red$", re.M))  # more than fit
        t.keys("g")
        t.wait_for(re.compile(r"^ line 3 red$", re.M))
        t.keys("G")
        t.wait_for("following")
        line = re.compile(r"line (\d+)")
        first = int(t.wait_for(line).group(1))
        t.wait_for(lambda lines: (later := line.search("\n".join(lines))) and int(later.group(1)) > first + 20)
        t.keys("Up")
        t.wait_for("End follows")
        t.prompt("line 7 ", "/")
        t.wait_for(re.compile(r"^\*line 7 red", re.M))


@test
def t_a_folder_that_cannot_be_written():
    """The output goes elsewhere; the warning is there when the view has gone."""
    t, _ = run_view(env={"TMPDIR": "/no/such/folder"})
    with t:
        t.keys("1", "q")
        t.wait_for("stop it")
        t.keys("s")
        t.wait_for("/no/such/folder: cannot be written: No such file or directory; /var/tmp is used")


@test
def t_wrong_options_start_nothing():
    """No program is started with them, and no view opens."""
    command = f"{MEMTOP} run --options nonsense=1 -- /bin/sleep 1000; echo status $?; exec sleep 1000"
    with Terminal(["sh", "-c", command], 80, 24) as t:
        t.wait_for((re.compile(r'^memtop: --options: no option is called "nonsense"', re.M), re.compile(r"^status 125$", re.M)))


@test
def t_leave_it_running():
    t, pid = run_view()
    with t:
        t.keys("1", "q")
        t.wait_for("leave it running")
        t.keys("Escape")
        t.wait_gone("leave it running")
        t.keys("q")
        t.wait_for("leave it running")
        t.keys("l")
        t.wait_for("status=0")
        assert alive(pid), "the program went with memtop"
        t.wait_for(re.compile(rf"memtop: /usr/bin/python3: runs on as process {pid}; memtop -p {pid} watches it again"))


@test
def t_q_may_stop_the_program():
    t, pid = run_view((80, 24))
    with t:
        t.keys("1", "q")
        t.wait_for("stop it")
        t.keys("s")
        t.wait_for("status=")
        wait_for(lambda: not alive(pid), 10, "the program's end")


# On SIGTERM it allocates 7,000,000 bytes more, and ends by itself when `gate` has a line.
LAST_WORDS = """
import os, signal, sys
def last(*_):
    keep.append(bytearray(7000000))
    print("allocated", flush=True)
    open(GATE).readline()
    os._exit(7)
keep = []
signal.signal(signal.SIGTERM, last)
print("hello from", os.getpid(), flush=True)
while True:
    signal.pause()
"""


def gated():
    gate = temporary_folder() + "/gate"
    os.mkfifo(gate)
    return gate, LAST_WORDS.replace("GATE", repr(gate))


def stop(t):
    t.keys("1", "q")
    t.wait_for("stop it")
    t.keys("s")
    t.wait_for("waiting for its last state")


@test
def t_stop_it_keeps_its_last_state():
    state = temporary_folder()
    gate, program = gated()
    t, _ = run_view(program=program, env={"XDG_STATE_HOME": state})
    with t:
        stop(t)
        t.keys("8")
        t.wait_for("allocated")
        with open(gate, "w", encoding="ascii") as f:
            f.write("go\n")
        t.wait_for("status=7")
        t.wait_for(re.compile(r"memtop open --last \d+ shows its last state"))
    sessions = [f"{state}/memtop/{name}" for name in os.listdir(state + "/memtop") if name.endswith(".mtop")]
    assert len(sessions) == 1, sessions
    report = json.loads(run([MEMTOP, "report", "--format", "json", sessions[0]]).stdout)
    assert report["totals"]["live_bytes"] > 7000000, report["totals"]
    assert (report["program"]["state"], report["program"]["status"]) == ("exited", 7), report["program"]


@test
def t_keys_live_while_it_stops_and_q_leaves():
    """What does not end is not waited for when q is pressed again, and not for long when it is not."""
    t, pid = run_view(program=gated()[1])
    with t:
        stop(t)
        t.keys("2", "q")
        screen = "\n".join(t.wait_for(lambda lines: lines if any("status=0" in x for x in lines) else None))
        assert f"SIGTERM was sent to process {pid}" in screen, screen
        assert alive(pid)


@test
def t_what_ends_slowly_does_not_run_on():
    deaf = PROGRAM.replace("import os, sys, time", "import os, signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)")
    t, pid = run_view(program=deaf)
    with t:
        t.keys("1", "q")
        t.wait_for("stop it")
        t.keys("s")
        screen = "\n".join(t.wait_for(lambda lines: lines if any("status=" in x for x in lines) else None))
        assert f"SIGTERM was sent to process {pid}" in screen and "runs on" not in screen, screen
        assert alive(pid)


@test
def t_a_session_that_is_no_longer_saved_is_said_until_the_end():
    """A limit of the file's size stands for a full disk. The header keeps it, and leaving says how much there is."""
    path = f"{temporary_folder()}/program.py"
    with open(path, "w", encoding="ascii") as f:
        f.write("import time\nkeep = []\nwhile True:\n    keep.append(bytearray(5000))\n    time.sleep(0.02)\n")
    command = f"ulimit -f 24; {MEMTOP} run /usr/bin/python3 {path}; echo status=$?; exec sleep 60"
    with Terminal(["bash", "-c", command], 120, 24) as t:
        at_end(kill, int(t.wait_for(re.compile(r"memtop  python3 \[([1-9]\d*)\]"), 20).group(1)))
        t.wait_for(re.compile(r"^ memtop .* NOT SAVED", re.M), 60)
        t.wait_for(re.compile(r"\[1 Over"), without="no longer saved", seconds=30)
        stop(t)
        left = "".join(t.wait_for(lambda lines: lines if any("status=" in x for x in lines) else None, 30))
        assert "the session is not saved to its end: " in left and "shows its last state" not in left, left


@test
def t_interrupt_never_reaches_the_program():
    t, pid = run_view()
    with t:
        t.keys("C-c")
        t.wait_for("status=130")
        t.wait_for(f"runs on as process {pid}")
        assert alive(pid), "^C reached the program"


@test
def t_chooser_lists_and_watches():
    t, pid = run_view()
    with t:
        t.keys("Q")
        t.wait_for("status=0")
        with Terminal([MEMTOP], 100, 70) as c:  # a line for each agent that others run now
            has_figures = re.compile(rf"^>? +{pid} +[0-9.]+[KM]", re.M)
            c.wait_for(re.compile(rf"^>? +{pid} ", re.M), 30)
            select(c, pid)
            c.wait_for(has_figures, 60)  # those around the selected one have them
            c.keys("Enter")
            c.wait_for(f"[{pid}]")
            c.wait_for("LIVE")
            for key in ("Enter", "q"):  # P: its own processes; below them all others, of which another, or none: back to the same
                c.keys("P")
                c.wait_for(re.compile(r"^> .*another program", re.M))
                c.keys("Enter")
                c.wait_for("processes that have an agent")
                c.wait_for(re.compile(rf"^>? +{pid} ", re.M))
                select(c, pid)
                c.wait_for(has_figures, 60)
                c.keys(key)
                c.wait_for(f"[{pid}]")
                c.wait_for("[1 Over")


@test
def t_chooser_with_many_agents():
    """Each has figures when it is selected: not all are watched at once."""
    env = environment(LD_PRELOAD=AGENT, MEMTOP_OPTIONS="listen=@memtop.%p")
    pids = [start([f"{TARGETS}/s_swings", "1000", "100"], env=env).pid for _ in range(20)]
    with Terminal([MEMTOP], 100, 150) as c:  # and the agents that others run now
        shown = lambda lines: [int(m[1]) for m in (re.match(r"[> ] +(\d+) ", x) for x in lines) if m and int(m[1]) in pids]  # noqa: E731
        last = c.wait_for(lambda lines: shown(lines)[-1] if len(shown(lines)) == len(pids) else None, 60, "all of them")
        select(c, last)
        c.wait_for(re.compile(rf"^> +{last} +[0-9.]+[KM]", re.M), 60)


if __name__ == "__main__":
    main()
