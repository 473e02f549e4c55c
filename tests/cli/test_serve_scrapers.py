#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_serve_scrapers.py - memtop serve for servers that collect profiles: Parca and Pyroscope.

Neither is a package of Debian or npm. So the example of each is read as its program reads it, the
profiles are asked for as it asks, and held against what it demands: Parca's check of a profile, and
the differences that Pyroscope's collector makes.
"""
import gzip
import json
import re
import signal

from cli import memtop
from harness import ROOT, Skip, at_end, main, need, run, temporary_folder, test, wait_for
from protobuf import fields, varints
from served import Server, target

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


@test
def t_other_profiles_are_not_there():
    """Scrapers ask for all profiles of a Go program: the answer is a plain 404."""
    _, s = serving()
    for name in ("profile", "block", "goroutine", "mutex", ""):
        assert s.ask(f"/debug/pprof/{name}?seconds=9")[0] == 404, name
    assert "/debug/pprof" in memtop("serve", "--help").stdout


main()
