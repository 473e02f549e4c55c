#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_verdicts.py - line 2 on real programs: the right word within three minutes of a live run, and it stays.

All programs run in parallel. LONG=1 adds those with slow shapes.
"""
import os
import re
import threading
import time

from harness import BUILD, LONG, MEMTOP, PATIENCE, at_end, main, need, start, temporary_folder, test
from redis_server import Redis
from term import Terminal, running

WITHIN = 180 * PATIENCE  # seconds
STAYS = 60 if LONG else 8

BOUNDED = """
import collections, time
kept = collections.OrderedDict()
n = 0
while True:
    for _ in range(40):
        n += 1
        kept[n] = bytearray(3000)
        if len(kept) > 1500:
            kept.popitem(last=False)
    time.sleep(0.02)
"""
FILLING = """
import time
begin, kept, block = time.monotonic(), [], 8192
while True:
    seconds = time.monotonic() - begin
    want = int(24e6 * seconds / (seconds + 30) / block)
    while len(kept) < want:
        kept.append(bytearray(block))
    time.sleep(0.05)
"""
STEP = """
import time
kept = [bytearray(8192) for _ in range(500)]
time.sleep(35)
kept += [bytearray(8192) for _ in range(2500)]
time.sleep(1000)
"""
NGINX = """
daemon off; master_process off; pid {0}/pid; error_log {0}/error;
events {{ }}
http {{ access_log off; client_body_temp_path {0}/a; proxy_temp_path {0}/b; fastcgi_temp_path {0}/c;
        uwsgi_temp_path {0}/d; scgi_temp_path {0}/e; server {{ listen unix:{0}/http; return 200 "here"; }} }}
"""


def script(text):
    path = os.path.join(temporary_folder(), "program.py")
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    return ["/usr/bin/python3", "-S", path]


class Watched:
    """One program under memtop, and what its verdict has to be."""

    def __init__(self, want, command, attached=False):
        self.want = re.compile(want)
        self.terminal = Terminal([MEMTOP, command], 160, 36) if attached else running(command, 160, 36)
        self.right_since, self.done, self.line = None, False, ""

    def look(self):
        lines = self.terminal.now()
        if self.want.search(lines[1]):
            self.right_since = self.right_since or time.monotonic()
            self.done = time.monotonic() - self.right_since >= STAYS
        else:
            self.right_since = None
        self.line = lines[1]


def redis_with_new_keys():
    redis = Redis()
    connection = redis.start()
    ended = threading.Event()

    def load():
        n = 0
        while not ended.is_set():
            for _ in range(50):
                n += 1
                connection.ask("SET", f"key:{n}", "x" * 300)
            ended.wait(0.02)

    thread = threading.Thread(target=load, daemon=True)
    at_end(ended.set)
    thread.start()
    return redis.target


def nginx_with_requests():
    folder = temporary_folder()
    with open(f"{folder}/conf", "w", encoding="ascii") as f:
        f.write(NGINX.format(folder))
    start(["sh", "-c", f"while sleep 0.05; do curl -s --unix-socket {folder}/http http://here/; done"], stdout=-3)
    return ["/usr/sbin/nginx", "-p", folder, "-c", f"{folder}/conf"]


@test
def t_the_right_word_for_real_programs():
    need("redis-server", "nginx", "curl")
    all_watched = [
        Watched(r"GROWING \+[0-9.]+M/min for .*steady.*new_vertex_array", [f"{BUILD}/demo/mapd"]),
        Watched(r"GROWING \+[0-9.]+M/min for .*steady.* of it: .*redis-server", redis_with_new_keys(), attached=True),
        Watched(r"FLAT|UP AND DOWN", script(BOUNDED)),
        Watched(r"FLAT", nginx_with_requests()),
        Watched(r"STEP \+[0-9.]+M (before|at) .*python", script(STEP)),
    ]
    if LONG:
        all_watched.append(Watched(r"FILLING", script(FILLING)))
    end = time.monotonic() + WITHIN
    while not all(w.done for w in all_watched):
        for w in all_watched:
            w.look()
        assert time.monotonic() < end, "\n".join(f"{w.want.pattern}: {w.line}" for w in all_watched if not w.done)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
