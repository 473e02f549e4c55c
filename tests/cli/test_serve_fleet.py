#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_serve_fleet.py - memtop serve --all, and processes that make it hard: chains of exec, many
ends at once, targets that vanish or stop while their report is made, other users' programs, one
that drops its rights."""
import contextlib
import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import threading
import time

from harness import (AGENT, MEMTOP, ROOT, TARGETS, Skip, at_end, environment, main, mostly_waits, need, start, temporary_folder,
                     wait_for)
from served import Server, phases, target, value
from servers import server_of


def fds_of(pid):
    """What its descriptors are."""
    out = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            out.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return out


def named_pids(metrics, name):
    return [(labels["pid"], v) for key, rows in metrics.items() if key[0] == "memtop_up" for labels, v in rows if labels["name"].startswith(name)]


@mostly_waits
def t_the_side_car_sees_workers():
    """By the example's options: a shell that starts a service, whose master forks workers, as gunicorn does."""
    with open(f"{ROOT}/backend/serve/examples/kubernetes-sidecar.yml", encoding="utf-8") as f:
        text = f.read()
    folder = temporary_folder()
    options = re.search(r"value: (listen=.*)", text)[1].replace("/memtop/", f"{folder}/")
    arguments = re.search(r'args: \["memtop", "serve", (.*?), "--listen"', text)[1].replace("/memtop/", f"{folder}/").replace('"', "").split(", ")
    service = f"{folder}/service.py"
    with open(service, "w", encoding="utf-8") as f:
        f.write("import os, time\nkept = []\nfor _ in range(2):\n    if not os.fork():\n        break\n"
                "while True:\n    kept.append(bytes(5000)); time.sleep(0.05)\n")
    need("python3")
    s = Server(*arguments)
    shell = start(["/bin/sh", "-c", f"/usr/bin/python3 {service}; true"], start_new_session=True, stdout=subprocess.DEVNULL,
                  env=environment(LD_PRELOAD=AGENT, MEMTOP_OPTIONS=options, PYTHONMALLOC="malloc"))
    at_end(os.killpg, shell.pid, signal.SIGKILL)

    def followed():
        with contextlib.suppress(ValueError):
            listed = [t["labels"] for t in json.loads(s.ask("/targets")[2])]
            return [t["__meta_memtop_pid"] for t in listed if service in t["__meta_memtop_command"]]
        return []
    pids = wait_for(lambda: (found := followed()) and len(found) == 4 and found, 40, "the shell, the master and two workers")
    assert all(s.up(pid) for pid in pids), pids


@mostly_waits
def t_a_chain_of_execs():
    """A process that executes program after program is one process, and leaves no open files behind."""
    folder = temporary_folder()
    shell = f"{folder}/chain"
    shutil.copy("/bin/bash", shell)
    script = f"{folder}/script"
    with open(script, "w", encoding="utf-8") as f:
        # it waits by itself: a sleep that it started would outlive it
        f.write('i=${1:-0}\ndeclare -A a; for k in {1..200}; do a[$k]=$k; done\nexec 9<> <(:)\n[ -e "$2" ] && read -t 600 -u 9\n'
                'read -t 0.1 -u 9\nexec 9>&-\nexec "$BASH" "$0" $((i + 1)) "$2"\n')
    s = Server("--all")
    process = start([shell, script, "0", f"{folder}/end"], env=environment(LD_PRELOAD=AGENT))
    begin, seen = time.monotonic(), set()
    while time.monotonic() - begin < 12:
        rows = named_pids(s.metrics(), "chain")
        seen |= {pid for pid, _ in rows}
        assert len(rows) <= 1, rows
        time.sleep(0.1)
    assert seen <= {str(process.pid)}, seen
    with open(f"{folder}/end", "w", encoding="utf-8"):
        pass
    wait_for(lambda: s.up(process.pid), 30, "the last program")
    assert s.ask(f"/report.txt?pid={process.pid}")[0] == 200
    assert fds_of(s.process.pid).count(shell) <= 3, fds_of(s.process.pid)


@mostly_waits
def t_ninety_processes_end_at_once():
    s = Server("--all")
    copy = f"{temporary_folder()}/ender"
    shutil.copy(f"{TARGETS}/s_phases", copy)
    processes = [start([copy, "wait"], env=environment(LD_PRELOAD=AGENT)) for _ in range(90)]
    wait_for(lambda: sum(v for _, v in named_pids(s.metrics(), "ender")) == 90, 60, "all processes")
    for p in processes:
        p.kill()
    wait_for(lambda: sum(v for _, v in named_pids(s.metrics(), "ender")) == 0, 60, "their ends")
    wait_for(lambda: len(named_pids(s.metrics(), "ender")) <= 64, 20, "those that are forgotten")
    rows = named_pids(s.metrics(), "ender")
    assert rows and len(rows) == len(set(rows)), rows


@mostly_waits
def t_a_target_that_vanishes_while_its_report_is_made():
    need("python3")
    one = phases()
    s = Server("--all")
    for i in range(6):
        process = target("/usr/bin/python3", "-c", "import ssl, sqlite3, asyncio, time; time.sleep(600)", PYTHONMALLOC="malloc")
        wait_for(lambda p=process: s.up(p.pid), 30, "the state")
        killer = threading.Timer(random.random() * 0.4, process.kill)
        killer.start()
        for path in ("/report.html", "/debug/pprof/heap", "/report.json"):
            status, _, body = s.ask(f"{path}?pid={process.pid}")
            assert status == 200 or status in (404, 503) and body.count("\n") == 1, (i, path, status, body[:300])
        killer.join()
        process.wait()
    assert s.up(one.pid) and s.ask(f"/report.txt?pid={one.pid}")[0] == 200


def go_on(pid):
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGCONT)


@mostly_waits
def t_a_target_that_is_stopped():
    """Its agent's server sleeps, too: scrapes and reports show what was known."""
    one, other = phases(), phases()
    s = Server("--all")
    wait_for(lambda: s.up(one.pid) and s.up(other.pid), 30, "the state")
    stopped = [one.pid, server_of(one.pid)]
    for pid in stopped:
        at_end(go_on, pid)
        os.kill(pid, signal.SIGSTOP)
    for _ in range(3):
        m = s.metrics()
        assert value(m, "memtop_live_bytes", one.pid) == 6553600 == value(m, "memtop_live_bytes", other.pid)
    status, _, body = s.ask(f"/report.txt?pid={one.pid}")
    assert status == 200 and "early_phase" in body, (status, body)


@mostly_waits
def t_other_users_programs():
    """They are counted and not followed: alerts on agents that do not answer would fire for ever."""
    if os.geteuid():
        raise Skip("only root can be two users")
    mine = phases()
    folder = temporary_folder()
    os.chmod(folder, 0o755)
    for name, path in (("memtop", MEMTOP), ("agent.so", AGENT), ("program", f"{TARGETS}/s_phases")):
        shutil.copy(path, f"{folder}/{name}")
        os.chmod(f"{folder}/{name}", stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH | stat.S_IXUSR | stat.S_IXOTH)
    home = temporary_folder()
    os.chmod(home, 0o777)
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    env = {**environment(), "HOME": home, "XDG_STATE_HOME": home, "XDG_RUNTIME_DIR": home, "XDG_CONFIG_HOME": home}
    theirs = start([f"{folder}/program", "wait"], env={**env, "LD_PRELOAD": f"{folder}/agent.so"}, **as_nobody)
    process = start([f"{folder}/memtop", "serve", "--all", "--listen", "127.0.0.1:0"], env=env, stdout=subprocess.PIPE, text=True, **as_nobody)
    s = Server.__new__(Server)
    s.token, s.process, s.address = None, process, process.stdout.readline().split()[1]
    wait_for(lambda: s.up(theirs.pid), 30, "its own program")
    m = s.metrics()
    assert not [key for key in m if key[1] == str(mine.pid)], "another user's program"
    assert m["memtop_processes_left_out", None][0][1] >= 1, m["memtop_processes_left_out", None]


@mostly_waits
def t_a_program_that_drops_its_rights():
    if os.geteuid():
        raise Skip("only root has rights to drop")
    need("python3")
    process = target("/usr/bin/python3", "-c", "import os, time\nx = [bytes(100000) for _ in range(50)]\ntime.sleep(1)\nos.setgroups([])\n"
                     "os.setgid(65534)\nos.setuid(65534)\ny = [bytes(100000) for _ in range(50)]\ntime.sleep(600)", PYTHONMALLOC="malloc")
    s = Server("-p", str(process.pid))
    wait_for(lambda: s.up(process.pid) and value(s.metrics(), "memtop_live_bytes", process.pid) > 10e6, 30, "both halves")
    time.sleep(1)  # a link that broke would be told by then
    assert s.up(process.pid) and s.ask("/report.txt")[0] == 200


main()
