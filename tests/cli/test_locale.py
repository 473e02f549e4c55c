#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_locale.py - numbers and words that memtop reads and writes are the same in every country: where 1.5 is written
1,5, and where I is not the upper case of i."""
import functools
import os
import re
import shutil
import socket
import subprocess
import tempfile

from cli import FORMATS, memtop
from harness import (MEMTOP, Skip, Synthetic, at_once, environment, main, recorded, run, start, test, user_folders,
                     wait_for)
from term import command, view

COUNTRIES = {"de_DE": "1,5", "tr_TR": "1,5"}
PROGRAM = """
import ctypes, time
mark = ctypes.CDLL(None).memtop_mark
keep = [bytes(5000 + i % 300) for i in range(700)]
mark(b"one")
keep += [bytes(7001) for i in range(500)]
time.sleep(0.25)
"""


@functools.cache
def folder():
    path = tempfile.mkdtemp(prefix="memtop-locale-")
    import atexit
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def country(name):
    """Variables of a locale that is made here, and is in force: printf shows it."""
    if not shutil.which("localedef") or not os.path.exists(f"/usr/share/i18n/locales/{name}"):
        raise Skip("localedef, or the package locales, is not installed")
    run(["localedef", "-i", name, "-f", "UTF-8", f"{folder()}/{name}.UTF-8"])
    more = {"LOCPATH": folder(), "LC_ALL": f"{name}.UTF-8"}
    done = run(["/usr/bin/printf", "%.1f", COUNTRIES[name]], env={**os.environ, **more})
    assert done.stdout == COUNTRIES[name], f"the locale is not in force: {done}"
    return more


@functools.cache
def session():
    return recorded("/usr/bin/python3", "-c", PROGRAM, path=folder() + "/a.mtop")


def said(arguments, more):
    done = memtop(*arguments, env=environment(**more), text=False)
    return done.returncode, done.stdout, done.stderr


def same_everywhere(arguments, countries=COUNTRIES, status=0):
    plain, *others = at_once(said, [(arguments, {}), *((arguments, country(name)) for name in countries)])
    assert plain[0] == status, (arguments, plain)
    for name, there in zip(countries, others):
        assert there == plain, f"{' '.join(arguments)} in {name}: {there[0]} {there[2]!r} {there[1][:300]!r}"
    return plain[1].decode(errors="replace")


@test
def t_reports_have_points_in_each_country():
    for kind in FORMATS:
        same_everywhere(("report", "--format", kind, session()), ["de_DE"])
    for kind in ("text", "json"):
        same_everywhere(("report", "--format", kind, "--since", "one", session()), ["tr_TR"])
    assert re.search(r"at \d+\.\d s", same_everywhere(("report", session())))


@test
def t_diff_and_check():
    for kind in ("text", "json", "html", "folded"):
        if memtop("diff", "--format", kind, session() + "@one", session()).returncode == 0:
            same_everywhere(("diff", "--format", kind, session() + "@one", session()))
    for kind in ("text", "json", "junit", "github"):
        same_everywhere(("check", "--format", kind, "--max-live", "1.5K", "--max-rate", "0.5K", session()), status=1)
        same_everywhere(("check", "--format", kind, "--max-live", "1.5G", session()))


@test
def t_numbers_that_are_read():
    """Each with a decimal point; the other country's comma is an error as it is here."""
    same_everywhere(("report", "--at", "0.2s", "--format", "json", session()))
    same_everywhere(("check", "--baseline", session(), "--tolerance", "1.5%,0.5K", session()))
    for name in COUNTRIES:
        more = environment(**country(name))
        recorded("/bin/sleep", "30", arguments=["--for", "0.5", "--max-overhead", "99.5", "--mark-every", "1.5"], env=more, status=None)
        done = memtop("attach", "--jdwp", "127.0.0.1:1", "--timeout", "0.5", env=more)
        assert "--timeout" not in done.stderr, done
    for arguments in (("check", "--max-live", "1,5M", session()), ("report", "--at", "0,2s", session()),
                      ("attach", "--jdwp", "127.0.0.1:1", "--timeout", "1,5")):
        same_everywhere(arguments, status=2)


@test
def t_metrics_have_points_in_each_country():
    """OpenMetrics has numbers with a point, and the verdict's word in lower case."""
    agent = Synthetic("--past", "600")
    for name in COUNTRIES:
        s = start([MEMTOP, "serve", agent.address, "--listen", "127.0.0.1:0"], env=environment(**country(name)), stdout=subprocess.PIPE,
                  text=True)
        host, port = s.stdout.readline().split()[1].removeprefix("http://").rstrip("/").rsplit(":", 1)

        def metrics():
            with socket.create_connection((host, int(port)), 10) as c:
                c.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
                return b"".join(iter(lambda: c.recv(65536), b"")).decode()

        wait_for(lambda: re.search(r"^memtop_verdict\{.*\} 1\r?$", metrics(), re.M), 30, "a verdict")
        text = metrics()
        values = [line.rsplit(" ", 1)[1] for line in text.split("\r\n\r\n", 1)[1].splitlines() if line[:1] != "#"]
        assert len(values) > 20 and all(re.fullmatch(r"-?\d+(\.\d+)?(e[-+]\d+)?", v) for v in values), values
        assert any("." in v for v in values), "no value with decimals: nothing was shown"


@test
def t_the_view_reads_points_in_each_country():
    """A filter with a decimal point; a column's title in lower case hides it, though I is not the upper case of i."""
    agent = Synthetic("--past", "30", "--still")
    for name in COUNTRIES:
        folders = user_folders()
        os.makedirs(folders["XDG_CONFIG_HOME"] + "/memtop")
        with open(folders["XDG_CONFIG_HOME"] + "/memtop/config", "w", encoding="ascii") as f:
            f.write("hide Sites = in all\n")
        with view(agent, 140, 36, env={**folders, **country(name)}) as t:
            t.wait_for("new_vertex_array")
            t.keys("3")
            t.wait_for(re.compile(r"CALLS/s +(CHURN/s +)?LIFE +AGE"))
            command(t, "filter size>1.5k")
            t.wait_for("filter: size>1.5k", without="not a size")


if __name__ == "__main__":
    main()
