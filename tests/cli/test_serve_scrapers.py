#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_serve_scrapers.py - memtop serve for servers that collect profiles: Parca and Pyroscope.

Neither is a package of Debian or npm. So the example of each is read as its program reads it, the
profiles are asked for as it asks, and held against what it demands: Parca's check of a profile, and
the differences that Pyroscope's collector makes.
"""
import gzip
import json
import os
import re
import signal
import urllib.parse

from cli import memtop
from harness import ROOT, TARGETS, Skip, at_end, main, mostly_waits, need, run, temporary_folder, test, wait_for
from protobuf import fields, varints
from served import Server, parsed, phases, target

EXAMPLES = f"{ROOT}/backend/serve/examples"
# what each asks for unless it is told otherwise
DEFAULTS = {"memory": "/debug/pprof/allocs", "block": "/debug/pprof/block", "goroutine": "/debug/pprof/goroutine",
            "mutex": "/debug/pprof/mutex", "process_cpu": "/debug/pprof/profile"}
PROGRAM = """
import signal, threading, time
kept = [bytes(1000000) for _ in range(50)]
def more():
    kept.extend(bytes(1000000) for _ in range(5))
signal.signal(signal.SIGUSR1, lambda *_: threading.Thread(target=more).start())
while True:
    time.sleep(0.05)
"""


def serving():
    need("python3")
    process = target("/usr/bin/python3", "-c", PROGRAM, PYTHONMALLOC="malloc")
    at_end(process.kill)
    s = Server("-p", str(process.pid))
    wait_for(lambda: s.up(process.pid) and s.metrics()["memtop_live_bytes", str(process.pid)][0][1] > 50e6, 30, "the program's blocks")
    return process, s


def scrape(server, path):
    status, headers, body = server.ask(path)
    assert status == 200 and headers["Content-Type"] == "application/octet-stream", (path, status, body[:200])
    data = body.encode("utf-8", "surrogateescape")
    assert data[:2] == b"\x1f\x8b", "gzip"
    return list(fields(gzip.decompress(data)))


def types_of(top):
    strings = [v.decode() for k, v in top if k == 6]
    return [tuple(strings[dict(fields(v))[i]] for i in (1, 2)) for k, v in top if k == 1]


def parca_takes(top):
    """As pkg/normalizer/validate.go of Parca does."""
    strings = [v for k, v in top if k == 6]
    assert strings[0] == b""
    tables = {name: [list(fields(v)) for k, v in top if k == number]
              for name, number in (("mapping", 3), ("location", 4), ("function", 5))}
    for name, table in tables.items():
        assert [dict(x)[1] for x in table] == list(range(1, len(table) + 1)), f"{name} id is not sequential"
    for x in tables["mapping"] + tables["function"]:
        assert all(v < len(strings) for k, v in x if 4 < k < 7 or k in (2, 3) and x in tables["function"]), x
    for x in tables["location"]:
        assert dict(x).get(2, 0) <= len(tables["mapping"])
        assert all(dict(fields(v)).get(1, 0) <= len(tables["function"]) for k, v in x if k == 4)
    for s in [list(fields(v)) for k, v in top if k == 2]:
        assert len(list(varints(dict(s)[2]))) == len(types_of(top))
        assert all(0 < n <= len(tables["location"]) for n, _ in varints(dict(s)[1]))
        for label in [dict(fields(v)) for k, v in s if k == 3]:
            assert 0 < label[1] < len(strings) and label.get(2, 0) < len(strings)


@test
def t_parca():
    try:
        import yaml
    except ImportError as why:
        raise Skip("python3-yaml is not installed") from why
    with open(f"{EXAMPLES}/parca.yml", encoding="utf-8") as f:
        config = yaml.safe_load(f)
    assert set(config) == {"object_storage", "scrape_configs"} and set(config["object_storage"]) == {"bucket"}
    (job,) = config["scrape_configs"]
    profiles = job.pop("profiling_config").pop("pprof_config")
    for name, p in profiles.items():
        assert set(p) <= {"enabled", "path", "delta", "keep_sample_type"}, (name, p)
    _, s = serving()
    asked = {name: path for name, path in DEFAULTS.items() if profiles.get(name, {}).get("enabled", True)}
    assert asked, "nothing is asked for"
    for name, path in asked.items():
        top = scrape(s, profiles[name].get("path", path))
        parca_takes(top)
        # the kinds of Go's heap profile, as its screens name them: memory:inuse_space:bytes:space:bytes
        assert types_of(top) == [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
        period = dict(fields(dict(top)[11]))
        assert [[v for k, v in top if k == 6][period[i]] for i in (1, 2)] == [b"space", b"bytes"]
    need("promtool")
    path = temporary_folder() + "/prometheus.yml"
    for more in ({}, {"params": {"pid": ["4121"]}, "authorization": {"credentials_file": "/dev/null"}}):  # its comments
        with open(path, "w", encoding="utf-8") as f:
            yaml.safe_dump({"scrape_configs": [{**job, **more}]}, f)
        done = run(["promtool", "check", "config", path])
        assert done.returncode == 0, done


def alloy(text):
    """[(name, label, {attribute: value}, [blocks])] of a file in Alloy's syntax, as far as the example uses it."""
    words = re.findall(r'//[^\n]*|"(?:[^"\\]|\\.)*"|[A-Za-z_][\w.]*|[][{}=,]|\n|\S', text)
    words = [w for w in words if not w.startswith("//")]

    def skip():
        while words and words[0] == "\n":
            words.pop(0)

    def value():
        word = words.pop(0)
        if word == "[":
            out = []
            skip()
            while words[0] != "]":
                out.append(value())
                skip()
                assert words[0] in ",]", words[:5]
                if words[0] == ",":
                    words.pop(0)
                skip()
            words.pop(0)
            return out
        if word == "{":
            out = {}
            while words[0] != "}":
                key = json.loads(words.pop(0))
                assert words.pop(0) == "="
                out[key] = value()
                assert words[0] in ",}", words[:5]
                if words[0] == ",":
                    words.pop(0)
            words.pop(0)
            return out
        if word.startswith('"'):
            return json.loads(word)
        assert re.fullmatch(r"true|false|[a-z][\w.]*", word), word
        return {"true": True, "false": False}.get(word, word)

    def body(end):
        attributes, blocks = {}, []
        while True:
            skip()
            if not words or words[0] == end:
                assert bool(words) == bool(end), "a brace is missing"
                if words:
                    words.pop(0)
                return attributes, blocks
            name = words.pop(0)
            assert re.fullmatch(r"[a-z_][\w.]*", name), name
            if words[0] == "=":
                words.pop(0)
                assert name not in attributes, name
                attributes[name] = value()
            else:
                label = json.loads(words.pop(0)) if words[0].startswith('"') else None
                assert words.pop(0) == "{", (name, words[:3])
                blocks.append((name, label, *body("}")))
            assert not words or words[0] in ("\n", end), words[:3]
    return body(None)[1]


def deltas(top, before):
    """As fastdelta of Grafana Alloy does: a sample is known by its addresses and labels. {key: [alloc_objects, alloc_space]}"""
    strings = [v for k, v in top if k == 6]
    addresses = {dict(fields(v))[1]: dict(fields(v)).get(3, 0) for k, v in top if k == 4}
    now, wanted = {}, [types_of(top).index(t) for t in (("alloc_objects", "count"), ("alloc_space", "bytes"))]
    for s in [list(fields(v)) for k, v in top if k == 2]:
        labels = [dict(fields(v)) for k, v in s if k == 3]
        key = (tuple(addresses[n] for n, _ in varints(dict(s)[1])),
               tuple(sorted((strings[x[1]], strings[x.get(2, 0)], x.get(3, 0)) for x in labels)))
        values = [n for n, _ in varints(dict(s)[2])]
        now[key] = [a + values[i] for a, i in zip(now.get(key, [0, 0]), wanted)]
    return now, {k: [a - b for a, b in zip(v, before.get(k, [0, 0]))] for k, v in now.items()}


@test
def t_pyroscope():
    with open(f"{EXAMPLES}/pyroscope.alloy", encoding="utf-8") as f:
        text = f.read()
    plain = alloy(text)
    said = alloy(re.sub(r"^( *)// (?=params|authoriz|  |\})", r"\1", text, flags=re.M))  # with its comments
    for blocks in (plain, said):
        names = {f"{name}.{label}" for name, label, _, _ in blocks}
        (write,) = [b for b in blocks if b[0] == "pyroscope.write"]
        assert write[2] == {} and [(b[0], set(b[2])) for b in write[3]] == [("endpoint", {"url"})], write
        (job,) = [b for b in blocks if b[0] == "pyroscope.scrape"]
        _, _, attributes, inner = job
        assert set(attributes) <= {"targets", "forward_to", "scrape_interval", "params"}, attributes
        assert all(x.endswith(".receiver") and x.removesuffix(".receiver") in names for x in attributes["forward_to"])
        assert all("__address__" in t and "service_name" in t for t in attributes["targets"])
        assert {b[0] for b in inner} <= {"profiling_config", "authorization"}
        for b in inner:
            assert b[0] != "authorization" or set(b[2]) == {"type", "credentials_file"}, b
    assert {b[0] for b in inner} == {"profiling_config", "authorization"} and "params" in attributes
    (profiles,) = [b[3] for b in inner if b[0] == "profiling_config"]
    told = {b[0].removeprefix("profile."): b[2] for b in profiles}
    assert set(told) <= set(DEFAULTS) and all(set(t) <= {"enabled", "path", "delta"} for t in told.values()), told
    asked = [told.get(name, {}).get("path", path) for name, path in DEFAULTS.items() if told.get(name, {}).get("enabled", True)]
    assert asked == ["/debug/pprof/allocs"], asked
    process, s = serving()
    first = scrape(s, asked[0])
    before, _ = deltas(first, {})
    process.send_signal(signal.SIGUSR1)  # five blocks in a thread that begins now
    wait_for(lambda: s.metrics()["memtop_live_bytes", str(process.pid)][0][1] > 55e6, 20, "more blocks")
    now, change = deltas(scrape(s, asked[0]), before)
    assert all(n >= 0 for v in change.values() for n in v), "counters do not shrink"
    assert {k for k, v in before.items() if any(v)} <= set(now), "a sample of before has other labels now"
    assert 5e6 < sum(v[1] for v in change.values()) < 10e6, sum(v[1] for v in change.values())
    # what each profile shows first, as with Go's
    for path, default in (("allocs", b"alloc_space"), ("heap", b"inuse_space"), ("growth", b"growth_space")):
        top = scrape(s, f"/debug/pprof/{path}")
        assert [v for k, v in top if k == 6][dict(top)[14]] == default, path


def sums(top):
    """{(pid, command): inuse_space}"""
    strings = [v.decode() for k, v in top if k == 6]
    found = {}
    for sample in [list(fields(v)) for k, v in top if k == 2]:
        labels = {strings[x[1]]: strings[x[2]] if 2 in x else x.get(3, 0) for x in (dict(fields(v)) for k, v in sample if k == 3)}
        key = labels["pid"], labels["command"]
        found[key] = found.get(key, 0) + [n for n, _ in varints(dict(sample)[2])][types_of(top).index(("inuse_space", "bytes"))]
    return found


@test
def t_one_profile_of_several_processes():
    pids = [phases().pid for _ in range(3)]
    s = Server(*[f"@memtop.{pid}" for pid in pids])
    wait_for(lambda: all(s.up(pid) for pid in pids), 20, "the states")
    command = f"{TARGETS}/s_phases wait"
    for path in ("/debug/pprof/heap", "/report.pb.gz"):
        top = scrape(s, path)
        parca_takes(top)
        assert sums(top) == {(pid, command): 100 * 65536 for pid in pids}, (path, sums(top))
    one = scrape(s, f"/debug/pprof/heap?pid={pids[1]}")
    assert sums(one) == {(pids[1], command): 100 * 65536}, sums(one)
    assert sorted(v for k, v in one if k == 5) == sorted(v for k, v in top if k == 5), "functions are shared"
    status, _, text = s.ask("/debug/pprof/heap?since=zz")
    assert status == 400 and "no such instant of process" in text, text
    assert s.ask("/marks", "POST", '{"name": "all"}', Content_Type="application/json")[0] == 201
    os.kill(pids[0], signal.SIGUSR1)
    wait_for(lambda: s.metrics()["memtop_live_blocks", str(pids[0])][0][1] == 400, 20, "the second phase")
    growth = scrape(s, "/debug/pprof/growth")
    assert sum(next(varints(dict(fields(v))[2]))[0] for k, v in growth if k == 2) == 300, "three hundred blocks of one process"
    status, _, text = s.ask("/report.txt")
    assert status == 400 and all(str(pid) in text for pid in pids), text
    os.kill(pids[0], signal.SIGKILL)
    wait_for(lambda: not s.up(pids[0]), 20, "the end of one")
    assert set(sums(scrape(s, "/debug/pprof/heap"))) == {(pid, command) for pid in pids[1:]}, "those that run"
    os.kill(pids[1], signal.SIGKILL)
    wait_for(lambda: not s.up(pids[1]), 20, "the end of another")
    assert f"[{pids[2]}]" in s.ask("/report.txt")[2], "the only one that runs"


@test
def t_the_list_for_discovery():
    pids = [phases().pid for _ in range(2)]
    s = Server(*[f"@memtop.{pid}" for pid in pids])
    wait_for(lambda: all(s.up(pid) for pid in pids), 20, "the states")
    at = urllib.parse.urlsplit(s.address).netloc
    status, headers, text = s.ask("/targets")
    assert status == 200 and headers["Content-Type"] == "application/json", (status, headers)
    listed = json.loads(text)
    assert all(t["targets"] == [at] and all(isinstance(v, str) for v in t["labels"].values()) for t in listed), listed
    assert [(t["labels"]["__param_pid"], t["labels"]["__meta_memtop_name"]) for t in listed] == [(str(pid), "s_phases") for pid in pids], listed
    for pid in pids:
        text = s.ask(f"/metrics?pid={pid}")[2]
        assert {p for _, p in parsed(text)} == {str(pid), None}, "the metrics of one"
    need("promtool")
    path = temporary_folder() + "/prometheus.yml"
    with open(f"{EXAMPLES}/prometheus.yml", encoding="utf-8") as f:
        config = f.read().replace("127.0.0.1:9091", at)
    with open(path, "w", encoding="utf-8") as f:
        f.write(re.sub(r"^  # (?=- job_name: memtop-processes|  )", "  ", config, flags=re.M).replace("rule_files:\n  - memtop.rules.yml\n", ""))
    done = run(["promtool", "check", "service-discovery", path, "memtop-processes"])
    assert done.returncode == 0, done
    found = json.loads(done.stdout[done.stdout.index("["):])
    assert {(t["labels"]["instance"], t["labels"]["__param_pid"]) for t in found} == {(f"{at}/{pid}", str(pid)) for pid in pids}, found


@mostly_waits
def t_the_first_page():
    """What grows comes first, then what holds most; what ended is last."""
    need("python3")
    leak = target("/usr/bin/python3", "-c", "import time\nk = []\nwhile True:\n    k.append(bytes(9000)); time.sleep(0.01)", PYTHONMALLOC="malloc")
    at_end(leak.kill)
    large = target("/usr/bin/python3", "-c", "import time; k = bytes(300000000); time.sleep(600)", PYTHONMALLOC="malloc")
    at_end(large.kill)
    ended, small = phases(), phases()
    pids = [ended.pid, small.pid, large.pid, leak.pid]
    s = Server(*[f"@memtop.{pid}" for pid in pids])
    wait_for(lambda: all(s.up(pid) for pid in pids), 30, "the states")
    ended.kill()
    ended.wait()

    def rows():
        return re.findall(r'<tr class="(\w*)"><td class="n">(\d+)<td>([^<]*)<td[^>]*>([^<]*)<td.*?PEAK', s.ask("/")[2].replace("<tr", "PEAK<tr").replace("</table", "PEAK"), re.S)
    wait_for(lambda: [int(r[1]) for r in rows()] == [leak.pid, large.pid, small.pid, ended.pid], 60, "the order")
    page = s.ask("/")[2]
    assert [r[0] for r in rows()] == ["bad", "", "", "over"] and 'http-equiv="refresh"' in page and "GROWING" in page, page
    assert "s_phases wait" in page and "&#34;" not in page.split("<table>")[0], page
    for path in re.findall(r'href="([^"]*)"', page):
        assert s.ask(path)[0] == 200, path


@test
def t_other_profiles_are_not_there():
    """Scrapers ask for all profiles of a Go program: the answer is a plain 404."""
    _, s = serving()
    for name in ("profile", "block", "goroutine", "mutex", ""):
        assert s.ask(f"/debug/pprof/{name}?seconds=9")[0] == 404, name
    assert "/debug/pprof" in memtop("serve", "--help").stdout


main()
