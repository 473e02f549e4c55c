# SPDX-License-Identifier: MIT
"""served.py - a memtop serve with a client, its metrics read strictly, and a target for it."""
import contextlib
import http.client
import re
import socket
import subprocess
import urllib.parse

from harness import AGENT, MEMTOP, PATIENCE, TARGETS, at_end, environment, start, wait_for

SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$')


def target(*command, **more):
    env = environment(LD_PRELOAD=AGENT, **more)
    process = start(command, env=env)
    wait_for(lambda: f"@memtop.{process.pid}\n" in open("/proc/net/unix", encoding="utf-8", errors="replace").read(), 20,
             "the agent's socket")
    return process


class Server:
    def __init__(self, *arguments, listen="127.0.0.1:0", token=None):
        self.token = token
        self.process = start([MEMTOP, "serve", *arguments, "--listen", listen], env=environment(), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("serving "), line + self.process.stderr.read()
        self.address = line.split()[1]

    def ask(self, path, method="GET", body=None, seconds=30, **headers):
        """(status, headers, body as text); a header of None is left out."""
        if self.address.startswith("unix:"):
            c = http.client.HTTPConnection("localhost", timeout=seconds * PATIENCE)
            c.sock = socket.socket(socket.AF_UNIX)
            c.sock.connect(self.address[5:])
        else:
            c = http.client.HTTPConnection(urllib.parse.urlsplit(self.address).netloc, timeout=seconds * PATIENCE)
        named = {k.replace("_", "-"): v for k, v in headers.items()}
        if self.token:
            named.setdefault("Authorization", f"Bearer {self.token}")
        with contextlib.closing(c):
            c.request(method, path, body, {k: v for k, v in named.items() if v is not None})
            r = c.getresponse()
            return r.status, r.headers, r.read().decode("utf-8", "surrogateescape")

    def metrics(self):
        status, headers, text = self.ask("/metrics")
        assert status == 200 and headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"), (status, headers)
        return parsed(text)

    def up(self, pid):
        return self.metrics().get(("memtop_up", str(pid)), [({}, 0)])[0][1] == 1


def parsed(text):
    """{(name, pid): [(labels, value)]}; checks the form of each line, and that no series comes twice."""
    assert text.endswith("# EOF\n") and text.count("# EOF") == 1, text[-200:]
    found, seen, typed = {}, set(), []
    for line in text.splitlines()[:-1]:
        if line.startswith("# "):
            word, name = line.split()[1:3]
            assert word in ("TYPE", "UNIT", "HELP"), line
            if word == "TYPE":
                assert name not in typed, f"{name} comes in two places"
                typed.append(name)
            assert word != "UNIT" or name.endswith("_" + line.split()[3]), line
            continue
        m = SAMPLE.match(line)
        assert m, f"not a sample: {line!r}"
        assert re.sub(r"(_total|_info)$", "", m[1]) == typed[-1], f"{line} stands below {typed[-1]}"
        labels = dict(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', m[2] or ""))
        assert line.rsplit(" ", 1)[0] not in seen, f"twice: {line}"
        seen.add(line.rsplit(" ", 1)[0])
        found.setdefault((m[1], labels.get("pid")), []).append((labels, float(m[3])))
    return found


def value(metrics, name, pid):
    (_, one), = metrics[name, str(pid)]
    return one


def phases():
    process = target(f"{TARGETS}/s_phases", "wait")
    at_end(process.kill)
    return process
