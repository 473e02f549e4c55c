#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_tour.py - a user's way through five programs: the largest holder, its growth since a mark,
the place, the thread.

Each tour lists all of its keys; their number must not grow.
"""
import os
import re

from harness import BUILD, MEMTOP, environment, main, need, temporary_folder, test
from redis_server import Redis
from term import Terminal, running

PYTHON = """
import time
class Session:
    def __init__(self, n):
        self.data = bytearray(1) * (3000 + n % 7)
kept = []
while True:
    kept.append(Session(len(kept)))
    time.sleep(0.002)
"""
LUA = """
local kept, n = {}, 0
while true do
    n = n + 1
    kept[n] = string.rep("x", 2000) .. n
    local t = os.clock() + 0.001
    while os.clock() < t do end
end
"""
PERL = """
my %kept;
while (1) { my $n = keys %kept; $kept{$n} = 'x' x 2500 . $n; select(undef, undef, undef, 0.002) }
"""


def tour(t, holder, place, thread):
    """Sites; a mark and the diff with it; the page of the first row."""
    before = t.sent
    t.wait_for("[1 Overview]", 20)
    t.keys("3")
    t.wait_for(re.compile(r"\n>.*" + holder), 20)                      # who holds most
    t.keys("s")
    t.wait_for(re.compile(r"setting a mark"))
    t.keys("d")
    t.wait_for(re.compile(r"BORN +GONE +NET"))
    t.wait_for(re.compile(r"\n>.*\+[0-9.]+[KM].*" + holder), 20)       # by what it grew since the mark
    t.keys("v")
    t.wait_for(re.compile(r"Stack, innermost first(.*\n)*?.*" + place))  # where
    t.wait_for("Ages of live blocks")  # in a garbage collector's program it may hold none just now
    t.wait_for(re.compile(r"Allocated by\n +" + thread))               # by which thread
    assert t.sent - before == 4, f"{t.sent - before} keys"
    t.keys("Q")


def run_tour(command, *expected):
    need("tmux")
    with running(command, 120, 50) as t:
        tour(t, *expected)


def script(name, text):
    path = os.path.join(temporary_folder(), name)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    return path


@test
def t_a_c_program_with_debug_information():
    run_tour([os.path.join(BUILD, "demo/mapd"), "100"], "new_vertex_array", r"new_vertex_array  .*vertex\.c:\d+", r"\S+ \d+")


@test
def t_a_tour_of_python():
    need("/usr/bin/python3")
    run_tour(["/usr/bin/python3", script("kept.py", PYTHON)], "PyByteArray_", r"python3", r"python3 \d+")


@test
def t_a_tour_of_lua():
    need("lua5.4")
    run_tour(["lua5.4", script("kept.lua", LUA)], "lua", r"lua", r"lua5\.4 \d+")


@test
def t_a_tour_of_perl():
    need("perl")
    run_tour(["/usr/bin/perl", script("kept.pl", PERL)], "Perl_", r"Perl_", r"perl \d+")


@test
def t_redis_under_load():
    need("tmux", "redis-server")
    redis = Redis()
    connection = redis.start()
    for i in range(20000):
        connection.send("SET", f"key:{i}", "x" * 400)
    for i in range(20000):
        connection.answer()
    with Terminal([MEMTOP, redis.target], 120, 50, env=environment()) as t:
        t.wait_for("[1 Overview]", 20)
        t.keys("3", "s")
        t.wait_for("setting a mark")
        for i in range(20000):
            connection.send("SET", f"more:{i}", "x" * 400)
        for i in range(20000):
            connection.answer()
        t.keys("d")
        t.wait_for(re.compile(r"\n>.*\+[0-9.]+M.*(sds|zmalloc|createObject|createEmbedded|tryObject|dup)"), 20)
        t.keys("v")
        t.wait_for(re.compile(r"Allocated by\n +redis-server \d+"), 20)
        assert t.sent == 4, f"{t.sent} keys"
        t.keys("Q")


if __name__ == "__main__":
    main()
