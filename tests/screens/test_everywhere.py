#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_everywhere.py - ten real programs, each at one instant: every view, report and file shows
the same figures.

Running programs are stopped (SIGSTOP), so that their figures stand still. The test compares the
view that started them, a second one that connects late, `report` in text and JSON, `record`, and
`open` and `report` of the recorded file and of the one that the view saves. For programs that end
it compares the view that saw the end with its files. It skips figures that depend on the viewer:
the agent's own memory and cpu, ages, and the start of a graph. Between a stopped program and its files it skips the
verdict and the Overview, too: a step grows old while one looks, and test_same_verdict compares those of one instant.
"""
import json
import os
import re
import signal
import subprocess
import time

from harness import MEMTOP, Skip, main, mostly_waits, recorded, run, temporary_folder, wait_for
from term import Terminal, command, running

PYTHON = """
import threading, time
kept = {}
def work(n):
    kept[n] = [bytearray(1000 + n * 100 + i) for i in range(3000)]
    time.sleep(1000)
for n in range(4):
    threading.Thread(target=work, args=(n,)).start()
time.sleep(1000)
"""
CRASH = "import os, signal; kept = [bytearray(5000) for _ in range(900)]; os.kill(os.getpid(), signal.SIGSEGV)"
LUA = "t = {} for i = 1, 40000 do t[i] = {tostring(i)} end io.read()"
PERL = "my %h = map { $_ => [1 .. 20] } 1 .. 5000; sleep 1000"
SQL = "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000) " \
      "insert into t select i, hex(randomblob(20)) from n; create index x on t(b); select count(*) from t;"
SHELL = "x=$(seq 20000); (y=$x$x; sleep 1000) & (exit 3); wait"
NGINX = """
daemon off; master_process off; pid {0}/pid; error_log {0}/error;
events {{ }}
http {{ access_log off; client_body_temp_path {0}/a; proxy_temp_path {0}/b; fastcgi_temp_path {0}/c;
        uwsgi_temp_path {0}/d; scgi_temp_path {0}/e; server {{ listen unix:{0}/http; return 200 "here"; }} }}
"""
C = "".join(f"int f{i}(int a) {{ int b[{i + 1}]; for (int c = 0; c <= {i}; c++) b[c] = a * c; return b[a % {i + 1}]; }}\n" for i in range(300))


def written(name, text):
    path = os.path.join(temporary_folder(), name)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    return path


def tool(name):
    return subprocess.run(["gcc", f"-print-prog-name={name}"], capture_output=True, text=True, check=True).stdout.strip()


def redis():
    folder = temporary_folder()
    return ["/usr/bin/redis-server", "--port", "0", "--save", "", "--dir", folder, "--unixsocket", folder + "/redis"]


def load_redis(words):
    socket = words[-1]
    wait_for(lambda: os.path.exists(socket), 20, "redis")
    lines = "".join(f"SET key{i} {'v' * (1 + i % 700)}\r\n" for i in range(20000))
    done = subprocess.run(["redis-cli", "-s", socket, "--pipe"], input=lines, capture_output=True, text=True, timeout=60, check=False)
    assert "errors: 0" in done.stdout, done


STAND = {  # name: (words, what to do with them once they run, more environment, the program reads this)
    "redis": lambda: (redis(), load_redis),
    "python3_threads": lambda: (["/usr/bin/python3", "-S", "-c", PYTHON], None),
    "perl": lambda: (["/usr/bin/perl", "-e", PERL], None),
    "nginx": lambda: (["/usr/sbin/nginx", "-c", written("conf", NGINX.format(temporary_folder()))], None),
    "shell_that_forks": lambda: (["/bin/bash", "--norc", "-c", SHELL], None),
    "lua_waiting": lambda: (["/usr/bin/lua5.4", "-e", LUA.replace("io.read()", "os.execute('sleep 1000')")], None),
}
END = {
    "sqlite3": lambda: (["/usr/bin/sqlite3", ":memory:", SQL], "EXITED 0"),
    "git": lambda: (["/usr/bin/git", "help", "--all"], "EXITED 0"),
    "cc1": lambda: ([tool("cc1"), "-quiet", "-O1", "-o", "/dev/null", written("a.c", C)], "EXITED 0"),
    "python3_crash": lambda: (["/usr/bin/python3", "-S", "-c", CRASH], "SIGSEGV"),
}

WHO_LOOKS = [ # belongs to the viewer, not to the program
    (r"\bRSS [\d.]+[KMG]?( \(live is \d+ %\))?", "RSS"),
    (r" 8 Output", ""),
    (r"no marks yet: s sets one", "no marks"),
    (r"(>|~) ?(?=\d+(\.\d+)? (s|min|m|h)\b)", ""),
    (r"~?\b\d+(\.\d+)? (s|min|m|h)\b( ago)?", "TIME"),
    (r"[▁▂▃▄▅▆▇█⠀-⣿]+", "#"),
    (r"\b\d:\d\d:\d\d(\.\d+)?\b", "CLOCK"),
    (r"\b\d+(\.\d+)? ms\b", "TIME"),  # how long a block lives, as an average over what was seen
    (r"(?<= )[A-Z.] +(?=\S+( *TIME)* *$)", ""),  # an owner's letter
    (r"#", ""),
    (r"(, |  )?\b(LIVE|ages) as of TIME", ""),
    (r"\bAlloc (-|~?\S+/s)( ~?\S+/s)? +Free (-|~?\S+/s)( ~?\S+/s)?( in TIME)?", "rates"),  # a late viewer of a stopped program has none
    (r"\bNow (-|~?\S+) calls/s", "rates"),
]


def plain(line):
    for pattern, word in WHO_LOOKS:
        line = re.sub(pattern, word, line)
    return re.sub(r"\s+", " ", line).strip()


def without_columns(rows, titles):
    """Columns are right-aligned: each ends where its title does, and begins where the title before ends."""
    head = next((row for row in rows if row.split()[:1] and any(re.search(rf"(?<=\s){re.escape(t)}(?=\s)", row) for t in titles)), "")
    ends = [m.end() for m in re.finditer(r"\S+", head)]
    for title, begin, end in [(head[:e].split()[-1], b, e) for b, e in zip([0, *ends], ends)]:
        if title in titles:
            rows = [row[:begin] + " " * (end - begin) + row[end:] for row in rows]
    return rows


def body(lines, instant):
    """What a view says of the program: the verdict, if all look at one instant, the figures' line, and the rows."""
    rows = [line for line in lines[4:-1] if "memtop agent" not in line and "RSS, total" not in line and "│" not in line and "─" not in line]
    if "[7 Memory]" in lines[4]:  # NET, and the sentence above, are since this viewer's first look
        first = next((i for i, line in enumerate(rows) if "RESIDENT" in line), len(rows))
        rows = [re.sub(r"^(.{10} +\S+ +)[-+]?[\d.]+[KMG]? ", r"\1", line) for line in rows[first + 1:]]
        # The kernel drops pages of files whenever it likes.
        files = next((i for i, line in enumerate(rows) if "mapped files" in line), len(rows))
        anonymous = next((i for i, line in enumerate(rows[files:], files) if "shared memory" in line or "thread stacks" in line), files)
        rows = rows[:files] + rows[anonymous:]
        rows = [re.sub(r" +<?\d+ ", " ", line, count=1) if re.match(r"[ >] *[\d.]+[KMG]? +<?\d+ ", line) else line for line in rows]
    rows = without_columns(rows, ("BYTES/s", "CALLS/s", "CHURN/s", "LIFE"))  # over the time that this viewer looked
    if "[5 Marks]" in lines[4]:  # the resident size is that of another second
        rows = [re.sub(r"[\d.]+[KMG](?= +[\d,]+$)", "RSS", line) for line in rows]
    return [plain(line) for line in [*lines[1 if instant else 2:3], *rows] if plain(line)]


def settled(t, key):
    t.keys(key)
    t.wait_for((f"[{key} ", lambda lines: not re.search("reading|loading|symbols", lines[0])), 60, f"view {key} with all names")
    return t


def differences(name, want, have):
    return [f"{name}: {a!r} is {b!r}" for a, b in zip(want + [""] * len(have), have + [""] * len(want)) if a != b][:6]


def same_screens(screens, instant=True):
    """Views 1 to 7 of each; 2 to 7, unless all look at one instant: the Overview's shapes are those of the last minutes."""
    first, others = screens[0], screens[1:]
    bad = []
    for key in "1234567" if instant else "234567":
        for _, t in screens:
            settled(t, key)
        for name, t in others:
            pair = []

            def equal(t=t, pair=pair):
                pair[:] = body(first[1].now(), instant), body(t.now(), instant)
                return pair[0] == pair[1]
            try:
                wait_for(equal, 12, "the same figures")
            except AssertionError:
                bad += differences(f"view {key}, {name}", *pair)
    assert not bad, "\n".join(bad)


KEPT = ("program", "sampling", "totals", "libraries", "threads", "stacks", "marks", "changes", "filters", "verdict")


def kept(r):
    r["program"].pop("duration_s")
    for stop in r["program"]["stops"]:
        stop.pop("stopped_s")  # it grows while one looks
    for key in ("over_s", "at_s", "per_minute"):  # the newest sample may be another
        r["verdict"].pop(key)
    r["verdict"]["text"] = plain(r["verdict"]["text"])
    return {key: r.get(key) for key in KEPT}


def figures(target):
    done = run([MEMTOP, "report", "--format", "json", *target])
    assert done.returncode == 0, done
    r = json.loads(done.stdout)
    return kept(r)


def words(target):
    done = run([MEMTOP, "report", "--full", *target])
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    if re.match(r"[\d,]+ processes: ", lines[0]):  # the table of the tree stands before the process
        lines = lines[next(i for i, line in enumerate(lines) if line.startswith("command: ")):]
    else:
        lines = lines[1:]
    lines[1:] = lines[next(i for i, line in enumerate(lines) if line.startswith("live ")):]  # without the verdict
    return [plain(line) for line in lines if not re.match(r"\s*(agent|of it|resident|stacks) |.*memtop agent| *[\d.]+[KMG]? +total$|.* (younger than \S+ \S+|older)$", line)]


def same_reports(targets):
    first = targets[0]
    want, want_words = figures(first[1]), words(first[1])
    for name, target in targets[1:]:
        have = figures(target)
        for key in set(KEPT) - {"verdict"}:
            assert want[key] == have[key], f"{key} of {first[0]} and {name}:\n{json.dumps(want[key])[:1500]}\n{json.dumps(have[key])[:1500]}"
        bad = differences(f"text of {first[0]} and {name}", want_words, words(target))
        assert not bad, "\n".join(bad)


def of_process(path, pid):
    """A session of one process needs no choice, and takes none."""
    r = json.loads(run([MEMTOP, "report", "--format", "json", path]).stdout)
    return ["--process", str(pid), path] if len(r["processes"]) > 1 else [path]


def viewed(words_, folder):
    need_program(words_[0])
    return running(words_, 140, 44, env={"XDG_STATE_HOME": folder, "HOME": folder})


def need_program(path):
    if not os.access(path, os.X_OK):
        raise Skip(f"no {path} here")


def saved(t, folder):
    path = f"{folder}/saved.mtop"
    command(t, f"w {path}")
    wait_for(lambda: os.path.exists(path) and not run([MEMTOP, "report", path]).returncode, 20, "the saved file")
    return path


def opened(path):
    return Terminal([MEMTOP, "open", path], 140, 44)


def stands(make):
    program, load = make()
    folder = temporary_folder()
    t = viewed(program, folder)
    if load:
        load(program)
    quiet = [None, 0.0]  # the figures, and since when

    def still(lines):
        figures_, now = re.search(r"Live (\S+ +\S+) blocks", lines[2]), time.monotonic()
        if not figures_ or figures_.group(1) != quiet[0]:
            quiet[:] = [figures_ and figures_.group(1), now]
        return now - quiet[1] > 2
    t.wait_for((still, lambda lines: not re.search("verdict on growth needs|watching", lines[1])), 90,
               "a verdict, and figures that stand still")
    os.kill(t.child, signal.SIGSTOP)  # from here on no time counts: neither verdict nor rates change
    # ... and each scan that a file keeps is of this state
    t.wait_for(re.compile(r"STOPPED (1[5-9]|[2-9]\d|\d\d\d) s|STOPPED \d+ min"), 60, "stopped for 15 s")
    path = recorded(arguments=["--for", "3", "-p", str(t.child)])
    file = saved(t, folder)
    same_reports([("the process", ["-p", str(t.child)]), ("its recording", [path]),
                  ("what the view saved", of_process(file, t.child))])
    same_screens([("the first view", t), ("a second one", Terminal([MEMTOP, "-p", str(t.child)], 140, 44))])
    same_screens([("the view", t), ("the recording", opened(path)), ("what it saved", opened(file))], instant=False)
    os.kill(t.child, signal.SIGCONT)


def ends(make):
    program, state = make()
    folder = temporary_folder()
    t = viewed(program, folder)
    t.wait_for(lambda lines: state in lines[0], 60, state)
    file = saved(t, folder)
    shown = f"{folder}/shown.json"
    command(t, f"w {shown}")
    wait_for(lambda: os.path.exists(shown) and os.path.getsize(shown), 20, "the report")
    with open(shown, encoding="utf-8") as f:
        r = kept(json.load(f))
    have = figures([file])
    for key in KEPT:
        assert have[key] == r.get(key), f"{key} of the view and its file:\n{json.dumps(r.get(key))[:1500]}\n{json.dumps(have[key])[:1500]}"
    same_screens([("the view", t), ("what it saved", opened(file))])


def every_case():
    for way, programs in ((stands, STAND), (ends, END)):
        for name, make in programs.items():
            def case(way=way, make=make):
                way(make)
            case.__name__ = f"t_{name}"
            mostly_waits(case)


every_case()
main()
