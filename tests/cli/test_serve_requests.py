#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_serve_requests.py - what memtop serve makes of requests: who may ask, pages of other sites,
hostile bytes, too many and too slow clients, writers of reports, and the instants of reports."""
import contextlib
import gzip
import json
import os
import secrets
import signal
import socket
import time
import urllib.parse

from cli import memtop, one_line
from harness import PATIENCE, at_end, children, main, mostly_waits, need, report, run, temporary_folder, test, wait_for
from served import Server, phases, target, value

HOST = b"Host: 127.0.0.1\r\n"
JSON = {"Content_Type": "application/json"}


@test
def t_who_may_ask():
    pid = str(phases().pid)
    folder = temporary_folder()
    path = os.path.join(folder, "token")

    def token_file(text):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o600)

    one_line(memtop("serve", "-p", pid, "--listen", "0.0.0.0:0"), 2, "--token-file")
    one_line(memtop("serve", "-p", pid, "--listen", "[::]:0"), 2, "--token-file")
    for weak in ("", "short", "0" * 31, "a b" * 20):
        token_file(weak)
        one_line(memtop("serve", "-p", pid, "--token-file", path), 2, "128 bits")
    token = secrets.token_hex(16)
    token_file(token + "\n")
    s = Server("-p", pid, "--token-file", path, listen="0.0.0.0:0", token=token)
    s.address = s.address.replace("0.0.0.0", "127.0.0.1")
    assert s.ask("/metrics")[0] == 200
    assert s.ask("/metrics", Host="memtop.example.org")[0] == 200, "a token needs no Host check"
    for wrong in (None, "Bearer", "Bearer ", f"Bearer {token[:-1]}", f"Bearer {token}0", f"Basic {token}", "Bearer " + "x" * 9000):
        status, headers, _ = s.ask("/metrics", Authorization=wrong)
        assert status == 401 and "Bearer" in headers["WWW-Authenticate"], (wrong, status)
    plain = Server("-p", pid)
    assert plain.ask("/metrics")[0] == 200
    assert plain.ask("/metrics", Host="localhost:9091")[0] == 200
    for host in ("evil.example.org", "127.0.0.1.evil.org", "localhost.evil.org", ""):
        assert plain.ask("/metrics", Host=host)[0] == 403, host
    unix = Server("-p", pid, listen=f"unix:{folder}/s")
    assert unix.ask("/metrics")[0] == 200 and os.stat(f"{folder}/s").st_mode & 0o777 == 0o600
    unix.process.send_signal(signal.SIGTERM)
    assert unix.process.wait(60) == 0 and not os.path.exists(f"{folder}/s")


def connected(server):
    at = urllib.parse.urlsplit(server.address)
    c = socket.create_connection((at.hostname, at.port), 20 * PATIENCE)
    at_end(c.close)
    return c


def answer(c, heads=1, seconds=60 * PATIENCE):
    """What comes until the server closes, or so many heads."""
    out = b""
    c.settimeout(seconds)
    with contextlib.suppress(OSError):
        while out.count(b"\r\n\r\n") < heads and (part := c.recv(65536)):
            out += part
    return out


def raw(server, data, seconds=0.5):
    """What has no end gets no answer."""
    c = connected(server)
    with contextlib.suppress(OSError):
        c.sendall(data)
    return answer(c, seconds=seconds)


@mostly_waits
def t_hostile_requests():
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    for data in (b"", b"\r\n\r\n", b"\0" * 1000, b"GET", b"GET / HTTP/1.1\r\n\r\n", b"GET /%00 HTTP/1.1\r\n" + HOST + b"\r\n",
                 b"GET " + b"/a" * 40000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 9000 + b"\r\n",
                 b"POST /marks HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999\r\n\r\nx",
                 b"POST /marks HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\nx", b"BREW / HTTP/1.1\r\n" + HOST + b"\r\n",
                 b"GET /../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", b"GET /metrics?pid=%zz&pid=&& HTTP/1.1\r\n" + HOST + b"\r\n",
                 b"GET http://[::1 HTTP/1.1\r\n" + HOST + b"\r\n", os.urandom(5000)):
        answer = raw(s, data)
        assert b" 200 " not in answer.split(b"\r\n")[0] or b"/metrics?" in data, (data[:60], answer[:100])
    for path, status in (("/nothing", 404), ("/report.txt?pid=1", 404), ("/report.txt?pid=x", 404), ("/report.", 404), ("/report.exe", 404)):
        got = s.ask(path)[0]
        assert got == status, (path, got)
    assert s.ask("/metrics", "POST", "x")[0] == 405
    assert s.ask("/metrics", "DELETE")[0] in (405, 501)
    # clients that go while their report is written
    for _ in range(10):
        at = urllib.parse.urlsplit(s.address)
        with socket.create_connection((at.hostname, at.port)) as c:
            c.sendall(b"GET /report.json HTTP/1.1\r\n" + HOST + b"\r\n")
    assert s.up(pid) and s.process.poll() is None


@test
def t_a_request_is_judged_by_its_head():
    pid = str(phases().pid)
    path = temporary_folder() + "/token"
    token = secrets.token_hex(16)
    with open(path, "w", encoding="utf-8") as f:
        f.write(token)
    s = Server("-p", pid, "--token-file", path, token=token)
    wait_for(lambda: s.up(pid), 20, "the state")
    post = b"POST /marks HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nContent-Length: %d\r\n"
    c = connected(s)
    c.sendall(post % 4000 + b"\r\n")  # no body follows
    said = answer(c)
    assert said.startswith(b"HTTP/1.1 401 ") and b"\r\nConnection: close\r\n" in said, said
    known = post + b"Authorization: Bearer " + token.encode() + b"\r\n"
    c = connected(s)
    c.sendall(known % 5000 + b"\r\n")
    assert answer(c).startswith(b"HTTP/1.1 413 ")
    c = connected(s)
    c.sendall(known % 13 + b"Expect: 100-continue\r\n\r\n")
    assert c.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    c.sendall(b'{"name": "a"}')
    assert c.recv(1000).startswith(b"HTTP/1.1 201 ")
    # two at once, and then one byte after the other
    c.sendall((b"HEAD / HTTP/1.1\r\n" + HOST + b"Authorization: Bearer " + token.encode() + b"\r\n\r\n") * 2)
    said = answer(c, heads=2)
    assert said.count(b"HTTP/1.1 200 OK\r\n") == 2 and said.endswith(b"\r\n\r\n"), said
    for b in b"GET / HTTP/1.0\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n":
        c.sendall(bytes([b]))
    said = answer(c, heads=9)
    assert said.startswith(b"HTTP/1.1 200 ") and b"Connection: close" in said and said.endswith(b"</html>\n"), said[:300]
    # empty lines before a request, as some clients send after a body
    said = raw(s, b"\r\n\r\nHEAD / HTTP/1.0\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n", 60 * PATIENCE)
    assert said.startswith(b"HTTP/1.1 200 "), said[:300]


@test
def t_pages_of_other_sites_get_nothing():
    """A page may send any GET, and would thereby start writers of reports."""
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    here = urllib.parse.urlsplit(s.address).netloc
    for path in ("/", "/report.html", "/report.json", "/debug/pprof/heap", "/debug/pprof/allocs", "/debug/pprof/growth", "/marks"):
        for headers in ({"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}, {"Origin": "http://evil.org"}, {"Origin": "null"},
                        {"Origin": "http://127.0.0.1:1"}, {"Host": "evil.org"}):
            assert s.ask(path, **headers)[0] == 403, (path, headers)
        for headers in ({"Sec_Fetch_Site": "none"}, {"Sec_Fetch_Site": "same-origin", "Origin": f"http://{here}"}):
            assert s.ask(path, **headers)[0] == 200, (path, headers)
    assert s.ask("/metrics", Sec_Fetch_Site="cross-site")[0] == 200
    assert s.ask("/metrics", Sec_Fetch_Site="cross-site", Host="evil.org")[0] == 403


def sockets_of(pid):
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"):
                found.append(int(fd))
    return found


@mostly_waits
def t_connections_are_bounded():
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    silent = [connected(s) for _ in range(400)]
    half = connected(s)
    half.sendall(b"GET /metrics HTTP/1.1\r\nHo")
    bodiless = connected(s)
    bodiless.sendall(b"POST /marks HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n")

    def held():
        return len(sockets_of(s.process.pid))
    assert value(s.metrics(), "memtop_up", pid) == 1  # in spite of them
    assert 200 < held() < 280, held()
    assert value(s.metrics(), "memtop_up", pid) == 1
    for c in (silent[0], silent[-1], half, bodiless):
        c.settimeout(30 * PATIENCE)
        with contextlib.suppress(ConnectionError):
            assert c.recv(1) == b""
    wait_for(lambda: held() < 20, 20, "the end of all")
    assert s.up(pid)


@mostly_waits
def t_who_reads_nothing_shuts_nobody_out():
    """300 connections that ask again and again, and read nothing: without the token, and where none is needed."""
    pid = str(phases().pid)
    path = temporary_folder() + "/token"
    token = secrets.token_hex(16)
    with open(path, "w", encoding="utf-8") as f:
        f.write(token)
    for more in ({}, {"token": token}):
        s = Server("-p", pid, *(["--token-file", path] if more else []), **more)
        wait_for(lambda: s.up(pid), 20, "the state")
        at = urllib.parse.urlsplit(s.address)
        for _ in range(300):
            c = socket.socket()
            at_end(c.close)
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
            c.settimeout(0.2)
            with contextlib.suppress(OSError):  # the server has closed it, or takes no more
                c.connect((at.hostname, at.port))
                c.sendall((b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n") * 300)
        for _ in range(20):
            assert s.up(pid)


def state(pid):
    """X: it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


@mostly_waits
def t_a_writer_holds_no_socket():
    need("python3")
    process = target("/usr/bin/python3", "-c", "import ssl, sqlite3, asyncio, time; time.sleep(600)", PYTHONMALLOC="malloc")
    s = Server("-p", str(process.pid))
    wait_for(lambda: s.up(process.pid), 30, "the state")

    def stopped():
        c = connected(s)
        c.sendall(b"GET /report.html HTTP/1.1\r\n" + HOST + b"\r\n")
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for child in children(s.process.pid):
                with contextlib.suppress(OSError):
                    os.kill(child, signal.SIGSTOP)
                    wait_for(lambda: state(child) in "TZX", 5, "its stop")
                    if not [fd for fd in sockets_of(child) if fd > 2]:
                        return child, c
                    os.kill(child, signal.SIGCONT)
        return None
    child, c = wait_for(stopped, 20, "a writer without sockets")
    s.process.kill()
    s.process.wait()
    assert c.recv(1) == b"", "the client sees the end"
    wait_for(lambda: state(child) in "ZX", 10, "the writer's end with its server")  # init may reap it later
    with socket.create_server(("127.0.0.1", urllib.parse.urlsplit(s.address).port)):
        pass


@mostly_waits
def t_a_client_that_ends_its_side_is_answered():
    """As nc -N does: the report takes a while, and comes whole."""
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    c = connected(s)
    c.sendall(b"GET /report.json HTTP/1.1\r\n" + HOST + b"\r\n")
    c.shutdown(socket.SHUT_WR)
    said = b""
    while part := c.recv(65536):
        said += part
    assert said.startswith(b"HTTP/1.1 200 ") and b"Connection: close" in said, said[:300]
    json.loads(said.split(b"\r\n\r\n", 1)[1])


@test
def t_answers_are_packed_when_asked():
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    for path in ("/metrics", "/report.json", "/report.html"):
        for accept, zipped in (("gzip", True), ("deflate, GZIP;q=0.5", True), ("gzip;q=0", False), ("gzip; q=0.000, br", False), ("gzipped", False),
                               ("identity", False), ("", False)):
            status, headers, body = s.ask(path, Accept_Encoding=accept)
            assert status == 200 and (headers["Content-Encoding"] == "gzip") == zipped and headers["Vary"] == "Accept-Encoding", (path, accept, headers)
            data = body.encode("utf-8", "surrogateescape")
            text = gzip.decompress(data) if zipped else data
            assert text.rstrip().endswith((b"# EOF", b"}", b"</html>")), (path, accept, text[-100:])
            assert len(data) == int(headers["Content-Length"]) and (not zipped or len(data) < len(text)), (path, accept)
    assert s.ask("/nothing", Accept_Encoding="gzip")[1]["Content-Encoding"] is None, "too short to gain"
    profile = s.ask("/debug/pprof/heap", Accept_Encoding="gzip")
    assert profile[1]["Content-Encoding"] is None and gzip.decompress(profile[2].encode("utf-8", "surrogateescape")), "compressed once"


@test
def t_instants_and_values():
    process = phases()
    pid = process.pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    assert s.ask("/marks", "POST", '{"name": "before"}', **JSON)[0] == 201
    process.send_signal(signal.SIGUSR1)
    wait_for(lambda: value(s.metrics(), "memtop_live_blocks", pid) == 400, 20, "the second phase")

    def totals(query):
        status, _, body = s.ask("/report.json" + query)
        assert status == 200, (query, status, body)
        return json.loads(body)
    now, then = totals(""), totals("?at=before")
    assert (now["totals"]["live_blocks"], then["totals"]["live_blocks"]) == (400, 100)
    assert then["totals"]["live_bytes"] == 100 * 65536 and sum(o["live_bytes"] for o in then["libraries"]) == 100 * 65536
    assert any("mark before the live figures are exact" in w for w in then["warnings"]), then["warnings"]
    assert totals("?at=m1")["totals"] == then["totals"] and totals("?at=now")["totals"]["live_blocks"] == 400
    wait_for(lambda: s.ask("/report.json?at=peak")[0] == 200 and totals("?at=peak")["totals"]["live_blocks"] > 390, 20, "the agent's record of the peak")
    peak = totals("?at=peak")["totals"]
    assert peak == report(f"@memtop.{pid}", arguments=("--at", "peak"))["totals"] and peak["live_bytes"] > 0.99 * peak["peak_bytes"], peak
    assert value(s.metrics(), "memtop_live_blocks", pid) == 400, "the server stays in the present"
    (change,) = [c for c in totals("?since=before")["changes"] if c["net_blocks"]]
    assert change["net_blocks"] == 300 and totals("")["changes"] == []
    since_peak = totals("?since=peak")["totals"], sum(c["net_bytes"] for c in totals("?since=peak")["changes"])
    assert since_peak[0] == totals("")["totals"] and since_peak[1] == since_peak[0]["live_bytes"] - peak["live_bytes"], since_peak
    for path, at, blocks in (("/report.folded?value=blocks", "", 400), ("/report.folded?value=blocks", "&at=before", 100),
                             ("/report.folded?value=allocations", "", 400), ("/report.folded?since=before", "", None)):
        status, headers, body = s.ask(path + at)
        assert status == 200 and headers["Content-Type"].startswith("text/plain"), (path, status, body)
        total = sum(int(line.rsplit(" ", 1)[1]) for line in body.splitlines())
        assert total == blocks or blocks is None and total == 400 * 65536, (path, total, body)
    for path, word in (("/report.txt?since=zz", "?since=zz: no such instant"), ("/debug/pprof/heap?since=zz", "no such instant"),
                       ("/report.txt?since=99:00:00", "lies outside"), ("/report.txt?since=0:00:00.1", "its past is unknown"),
                       ("/report.json?at=zz", "?at=zz: no such instant"), ("/report.json?at=", "no such instant"),
                       ("/report.json?at=" + "9" * 500, "no such instant"), ("/debug/pprof/allocs?at=0:00:00", "its past is unknown"),
                       ("/report.json?value=live", "only with folded"), ("/report.folded?value=zz", "zz")):
        status, headers, body = s.ask(path)
        assert status == 400 and word in body and body.count("\n") == 1 and headers["Content-Type"].startswith("text/plain"), (path, status, body)
    for ending in ("html", "csv", "dot", "massif", "speedscope.json", "pb.gz"):
        status, headers, body = s.ask(f"/report.{ending}")
        assert status == 200 and body, (ending, status, body)
    need("go")
    for query, size in (("", 400), ("?at=before", 100), ("?at=peak", peak["live_blocks"])):
        done = run(["go", "tool", "pprof", "-top", "-sample_index=inuse_objects", f"{s.address}debug/pprof/heap{query}"],
                   env={**os.environ, "HOME": temporary_folder()})
        assert done.returncode == 0 and f" of {size} total" in done.stdout, (query, size, done)


main()
