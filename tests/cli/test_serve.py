#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_serve.py - memtop serve: its figures against the JSON report, many scrapes at once, targets
that come and go, marks, and the files for Prometheus and Grafana."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.parse

from cli import compiled, memtop, one_line
from harness import (AGENT, ROOT, TARGETS, Skip, at_end, children, environment, kill, main, mostly_waits, need, recording, report, run,
                     start, temporary_folder, test, wait_for, wait_for_session)
from served import SAMPLE, Server, parsed, phases, target, value
from servers import server_of

EXAMPLES = f"{ROOT}/backend/serve/examples"


@test
def t_metrics_equal_the_report():
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    m, r = s.metrics(), report("@memtop.%d" % pid)
    totals = r["totals"]
    for name, key in (("live_bytes", "live_bytes"), ("live_blocks", "live_blocks"), ("allocated_bytes_total", "allocated_bytes"),
                      ("allocated_blocks_total", "allocated_blocks"), ("freed_bytes_total", "freed_bytes"),
                      ("freed_blocks_total", "freed_blocks"), ("peak_bytes", "peak_bytes")):
        assert value(m, "memtop_" + name, pid) == totals[key], (name, m["memtop_" + name, str(pid)], totals)
    assert totals["live_bytes"] == 100 * 65536, totals
    owners = {x["owner"]: v for x, v in m["memtop_owner_live_bytes", str(pid)]}
    assert owners == {"other": 0, **{o["name"]: o["live_bytes"] for o in r["libraries"]}}, owners
    assert sum(v for _, v in m["memtop_verdict", str(pid)]) == 1, m["memtop_verdict", str(pid)]
    assert {x["part"] for x, _ in m["memtop_resident_part_bytes", str(pid)]} == \
        {"live", "rounding", "free", "file", "shared", "stack", "agent", "other"}
    status, headers, body = s.ask("/report.json")
    assert status == 200 and headers["Content-Type"] == "application/json", (status, body[:300])
    assert json.loads(body)["totals"]["live_bytes"] == totals["live_bytes"]
    status, _, body = s.ask("/report.txt")
    assert status == 200 and f"s_phases [{pid}]" in body, body[:300]


# 10 MB before two forks, 1 MB in each
FORKS = r"""
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *early(void) { return malloc(10000000); }
__attribute__((noinline)) void *late(void) { return malloc(1000000); }
static void *volatile kept[2];
int main(void)
{
	kept[0] = early();
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			kept[1] = late();
			for (;;) /* a fork's agent begins with what the fork does */
				free(malloc(16)), usleep(20000);
		}
	for (;;)
		sleep(100);
}
"""


@mostly_waits
def t_all_as_one_heap():
    """?pid=all: the same code is one row, and what the forks inherited counts once."""
    process = target(compiled(FORKS))
    forks = wait_for(lambda: (lambda c: c if len(c) == 2 else None)(children(process.pid)), 20, "its forks")
    pids = [process.pid, *forks]
    at_end(lambda: [kill(pid) for pid in pids])
    s = Server(*(f"@memtop.{pid}" for pid in pids))
    wait_for(lambda: all(s.up(pid) for pid in pids), 30, "the states")
    status, _, body = s.ask("/report.json?pid=all")
    assert status == 200, body
    r = json.loads(body)
    assert r["all"] is True and r["totals"]["live_bytes"] == 12000000 == r["tree"]["live_bytes"], (r["totals"], r["tree"])
    held = {}
    for x in r["stacks"]:
        name = next(r["frames"][f]["function"] for f in x["frames"] if r["frames"][f]["function"] in ("early", "late"))
        held[name] = (x["live_bytes"], x["processes"])
    assert held == {"early": (10000000, 1), "late": (2000000, 2)}, held
    assert {p["pid"]: p["live_bytes"] for p in r["processes"]} == {pids[0]: 10000000, pids[1]: 11000000, pids[2]: 11000000}, r["processes"]
    status, _, body = s.ask("/report.txt?pid=all")
    assert status == 200 and re.search(rf"^All of prog \[{process.pid}\]: 3 processes", body, re.M), body[:800]
    assert s.ask("/report.txt?pid=all&at=nothing")[0] == 400
    status, _, body = s.ask("/report.txt")
    assert status == 400 and "?pid=all" in body, body
    assert "pid=all" in s.ask("/")[2]


@test
def t_profiles_equal_the_report():
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    for what, kinds in (("heap", ("inuse_space", "alloc_space")), ("allocs", ("alloc_space",)), ("growth", ("growth_space",))):
        status, headers, _ = s.ask(f"/debug/pprof/{what}")
        if status == 501:
            raise Skip("this memtop has no format pprof")
        assert status == 200 and headers["Content-Type"] == "application/octet-stream", (status, headers)
        need("go")
        for kind in kinds:
            done = run(["go", "tool", "pprof", "-top", "-unit=B", f"-sample_index={kind}", f"{s.address}debug/pprof/{what}"],
                       env=environment())
            assert done.returncode == 0 and "6553600B" in done.stdout and "early_phase" in done.stdout, (what, kind, done)


@test
def t_owners_are_bounded():
    need("python3")
    process = target("/usr/bin/python3", "-c", "import ssl, sqlite3, time; sqlite3.connect(':memory:').execute('create table t(a)'); time.sleep(600)",
                     PYTHONMALLOC="malloc")
    pid = str(process.pid)
    all_of = Server("-p", str(process.pid), "--top", "200")
    wait_for(lambda: all_of.up(process.pid), 20, "the state")
    wait_for(lambda: len(all_of.metrics().get(("memtop_owner_live_bytes", pid), [])) > 3, 30, "its owners")
    one = Server("-p", pid, "--top", "1")
    wait_for(lambda: one.up(pid), 20, "the state")
    m = one.metrics()
    few = {x["owner"]: v for x, v in m["memtop_owner_live_bytes", pid]}
    assert len(few) == 2 and few["other"] > 0 and sum(few.values()) == value(m, "memtop_live_bytes", pid), few
    m = all_of.metrics()
    assert sum(v for _, v in m["memtop_owner_live_bytes", pid]) == value(m, "memtop_live_bytes", pid), m


@test
def t_names_are_escaped():
    folder = temporary_folder()
    evil = os.path.join(folder, 'a"b\\c\n{d}\x1b[31m')
    shutil.copy(f"{TARGETS}/s_phases", evil)
    process = target(evil, "wait")
    at_end(process.kill)
    s = Server("-p", str(process.pid))
    wait_for(lambda: s.up(process.pid), 20, "the state")  # parsed() checks each line
    (labels, _), = s.metrics()["memtop_up", str(process.pid)]
    assert labels["name"].startswith('a\\"b\\\\c') and "\x1b" not in labels["name"], labels
    status, _, page = s.ask("/")
    assert status == 200 and "\x1b" not in page and 'a"b' not in page, page


@mostly_waits
def t_fifty_scrapes_at_once():
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    with concurrent.futures.ThreadPoolExecutor(60) as pool:
        scrapes = [pool.submit(s.metrics) for _ in range(50)]
        reports = [pool.submit(s.ask, "/report.json") for _ in range(10)]
        assert {value(m.result(), "memtop_live_bytes", pid) for m in scrapes} == {6553600.0}
        assert all(json.loads(r.result()[2])["totals"]["live_bytes"] == 6553600 for r in reports)


@mostly_waits
def t_processes_come_and_go():
    first = phases()
    s = Server("--all")
    wait_for(lambda: s.up(first.pid), 30, "the first process")
    second = phases()
    wait_for(lambda: s.up(second.pid), 30, "a new process")
    assert s.ask("/report.txt")[0] == 400, "of several processes one is asked for"
    first.kill()
    first.wait()
    wait_for(lambda: not s.up(first.pid), 20, "the end of one")
    m = s.metrics()
    assert ("memtop_live_bytes", str(first.pid)) not in m and m["memtop_allocated_bytes_total", str(first.pid)][0][1] == 6553600
    assert [x["memtop_verdict"] for x, v in m["memtop_verdict", str(first.pid)] if v] == ["ended"], m["memtop_verdict", str(first.pid)]
    assert s.up(second.pid)


@mostly_waits
def t_a_target_that_starts_later_and_again():
    folder = temporary_folder()
    options = f"listen=unix:{folder}/agent"
    s = Server(f"unix:{folder}/agent")
    assert [v for name, v in s.metrics().items() if name[0] == "memtop_up"][0][0][1] == 0
    for _ in range(2):
        process = start([f"{TARGETS}/s_phases", "wait"], env=environment(LD_PRELOAD=AGENT, MEMTOP_OPTIONS=options))
        wait_for(lambda: s.up(process.pid), 30, "the program")
        process.kill()
        process.wait()
        wait_for(lambda: not s.up(process.pid), 20, "its end")


@test
def t_marks_are_set_and_told_over_http():
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    recorder = recording(arguments=["-p", str(pid)])
    path = recorder.session
    wait_for_session(path)
    as_json = {"Content_Type": "application/json"}
    status, _, body = s.ask("/marks", "POST", '{"name": "over http"}', **as_json)
    assert status == 201 and json.loads(body) == {"marks": [{"pid": pid, "id": 1, "name": "over http"}]}, (status, body)
    for status, sent, headers in ((415, '{"name": "a"}', {}), (415, "name=a", {"Content_Type": "application/x-www-form-urlencoded"}),
                                  (415, '{"name": "a"}', {"Content_Type": "text/plain"}), (400, "[", as_json), (400, '{"name": 1}', as_json),
                                  (400, json.dumps({"name": "x" * 65}), as_json), (400, "[]", as_json),
                                  (403, '{"name": "a"}', {**as_json, "Origin": "http://evil.org"}),
                                  (403, '{"name": "a"}', {**as_json, "Origin": "null"}),
                                  (403, '{"name": "a"}', {**as_json, "Sec_Fetch_Site": "cross-site"})):
        got = s.ask("/marks", "POST", sent, **headers)
        assert got[0] == status, (sent, headers, got[0], got[2])
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        several = [pool.submit(s.ask, "/marks", "POST", json.dumps({"name": f"n{i}"}), **as_json) for i in range(5)]
        given = {json.loads(r.result()[2])["marks"][0]["name"] for r in several}
    assert given == {f"n{i}" for i in range(5)}, given
    (listed,) = json.loads(s.ask("/marks")[2])["processes"]
    assert listed["pid"] == pid and [m["name"] for m in listed["marks"]][0] == "over http" and len(listed["marks"]) == 6, listed
    assert s.ask("/report.txt?since=m1")[0] == 200
    recorder.send_signal(signal.SIGINT)
    recorder.wait(60)
    assert "over http" in [m["name"] for m in report(path)["marks"]]


@test
def t_wrong_command_lines_of_serve():
    one_line(memtop("serve"), 2, "--all")
    one_line(memtop("serve", "--all", "-p", "1"), 2, "-p")
    for wrong in ("9091", "1.2.3.4", "::1:9091", ":99999", "unix:", ":x"):
        one_line(memtop("serve", "--all", "--listen", wrong), 2, "--listen")
    one_line(memtop("serve", "--all", "--top", "0"), 2, "--top")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        one_line(memtop("serve", "--all", "--listen", f":{taken.getsockname()[1]}"), 3, "in use")
    file = temporary_folder() + "/notes.txt"
    with open(file, "w", encoding="utf-8") as f:
        f.write("notes\n")
    one_line(memtop("serve", "--all", "--listen", f"unix:{file}"), 3, "another path")
    assert open(file, encoding="utf-8").read() == "notes\n", "a file that is no socket is gone"


def names_used(text):
    return set(re.findall(r"\bmemtop_[a-z_]+", text)) - {"memtop_verdict="}


@test
def t_examples_name_metrics_that_exist():
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    text = s.ask("/metrics")[2]
    exist = {m[1] for m in map(SAMPLE.match, text.splitlines()) if m} | set(re.findall(r"# TYPE (\S+) gauge", text))
    with open(f"{EXAMPLES}/grafana-dashboard.json", encoding="utf-8") as f:
        board = json.load(f)
    ids = [p["id"] for p in board["panels"]]
    assert len(ids) == len(set(ids)) and board["uid"] and board["schemaVersion"] >= 30
    for query in [t["expr"] for p in board["panels"] for t in p["targets"]] + [v["query"] for v in board["templating"]["list"]]:
        assert names_used(query) <= exist, (query, names_used(query) - exist)
    with open(f"{EXAMPLES}/memtop.rules.yml", encoding="utf-8") as f:
        rules = f.read()
    for line in re.findall(r"expr: (.*)", rules):
        assert names_used(line) and names_used(line) <= exist, (line, names_used(line) - exist)
    states = {x["memtop_verdict"] for x, _ in parsed(text)["memtop_verdict", str(pid)]}
    assert set(re.findall(r'memtop_verdict="([a-z_]+)"', rules)) <= states


@test
def t_the_side_car_parses():
    try:
        import yaml
    except ImportError as why:
        raise Skip("python3-yaml is not installed") from why
    with open(f"{EXAMPLES}/kubernetes-sidecar.yml", encoding="utf-8") as f:
        pod = yaml.safe_load(f)
    side = next(c for c in pod["spec"]["containers"] if c["name"] == "memtop")
    assert side["args"][:2] == ["memtop", "serve"] and pod["spec"]["shareProcessNamespace"], "else reports have no names"
    done = memtop("serve", "--help").stdout
    for option in [a for a in side["args"] if a.startswith("--")]:
        assert option in done, option
    volumes = {v["name"] for v in pod["spec"]["volumes"]}
    assert {m["name"] for c in pod["spec"]["containers"] for m in c["volumeMounts"]} == volumes
    with open(f"{EXAMPLES}/prometheus.yml", encoding="utf-8") as f:
        assert yaml.safe_load(f)["scrape_configs"][0]["static_configs"]


@mostly_waits
def t_kubernetes_knows_its_fields():
    """By the types and schemas of npm's kubernetes-models: a field that there is not is an error, too."""
    need("npm", "node")
    try:
        import yaml
    except ImportError as why:
        raise Skip("python3-yaml is not installed") from why
    folder = temporary_folder()
    done = run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "kubernetes-models@4.5.1", "typescript@7.0.2"], 120,
               cwd=folder, env={**os.environ, "HOME": folder})
    if done.returncode:
        raise Skip(f"npm cannot install kubernetes-models: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    with open(f"{EXAMPLES}/kubernetes-sidecar.yml", encoding="utf-8") as f:
        text = f.read()

    def problems(text):
        with open(f"{folder}/pod.ts", "w", encoding="utf-8") as f:
            f.write(f'import {{ IPod, Pod }} from "kubernetes-models/v1/Pod";\nconst pod: IPod = {json.dumps(yaml.safe_load(text))};\n'
                    "new Pod(pod).validate();\n")
        types = run(["node_modules/.bin/tsc", "--strict", "--skipLibCheck", "--module", "commonjs", "pod.ts"], cwd=folder)
        return types.stdout + types.stderr or run(["node", "pod.js"], cwd=folder).stderr
    assert problems(text) == "", problems(text)
    for good, bad in (("shareProcessNamespace", "shareProcesNamespace"), ("cpu: 10m", "cpu: 10q")):
        assert problems(text.replace(good, bad)), f"{bad} is not noticed"


@test
def t_promtool_accepts_it():
    need("promtool")
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    status, headers, text = s.ask("/metrics", Accept="text/plain")
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), headers
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    done = run(["promtool", "check", "rules", f"{EXAMPLES}/memtop.rules.yml"])
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(["promtool", "check", "config", f"{EXAMPLES}/prometheus.yml"])
    assert done.returncode == 0, done.stdout + done.stderr


def verdict_of(metrics, pid):
    return [x["memtop_verdict"] for x, v in metrics.get(("memtop_verdict", str(pid)), []) if v]


@test
def t_an_agent_that_is_gone():
    """The rules on series as they come: up 0 stays for a minute, whatever the interval of scrapes."""
    gone, ended = phases(), phases()
    s = Server("--all")
    wait_for(lambda: s.up(gone.pid) and s.up(ended.pid), 30, "both")
    wait_for(lambda: verdict_of(s.metrics(), gone.pid) and verdict_of(s.metrics(), ended.pid), 30, "verdicts")
    os.kill(server_of(gone.pid), signal.SIGKILL)
    ended.kill()
    ended.wait()
    wait_for(lambda: not s.up(gone.pid) and not s.up(ended.pid), 30, "the end of both agents")
    m = s.metrics()
    assert gone.poll() is None and verdict_of(m, gone.pid) != ["ended"] and verdict_of(m, ended.pid) == ["ended"], m
    need("promtool")
    folder = temporary_folder()
    for interval, zeros in (("15s", 4), ("1m", 1)):
        ups = "1 1 " + "0 " * zeros + "_x40"
        ends = "0 0 " + "1 " * zeros + "_x40"
        series = [(f'memtop_up{{pid="{pid}",name="s"}}', ups) for pid in (1, 2)] + \
            [(f'memtop_verdict{{pid="{pid}",name="s",memtop_verdict="ended"}}', ends if pid == 2 else "0x9 _x40") for pid in (1, 2)]
        expected = [{"exp_labels": {"severity": "info", "pid": "1", "name": "s"},
                     "exp_annotations": {"summary": "s [1]: its agent does not answer"}}]
        for late, alerts in (("30s", []), ("4m", expected), ("10m", [])):
            with open(f"{folder}/test.yml", "w", encoding="utf-8") as f:
                json.dump({"rule_files": [f"{EXAMPLES}/memtop.rules.yml"], "evaluation_interval": "15s", "tests": [
                    {"interval": interval, "input_series": [{"series": a, "values": b} for a, b in series],
                     "alert_rule_test": [{"eval_time": late, "alertname": "MemtopAgentGone", "exp_alerts": alerts}]}]}, f)
            done = run(["promtool", "test", "rules", f"{folder}/test.yml"])
            assert done.returncode == 0, (interval, late, done.stdout + done.stderr)


@mostly_waits
def t_the_cost_to_an_idle_program_is_no_alarm():
    """The server ticks beside a program that sleeps, or takes an eighth of a core: a large part of little."""
    need("promtool")
    #        hooks and server in seconds a minute, and the ratio
    costs = {1: ("0+0x40", "0+0.6x40", "0.09x40"), 2: ("0+0x40", "0+1.2x40", "0.14x40"), 3: ("0+12x40", "0+1x40", "0.25x40")}
    series = [(f'{name}{{pid="{pid}",name="s"}}', values) for pid, cost in costs.items() for name, values in
              zip(("memtop_agent_hook_cpu_seconds_total", "memtop_agent_server_cpu_seconds_total", "memtop_agent_overhead_ratio"), cost)]
    folder = temporary_folder()
    with open(f"{folder}/test.yml", "w", encoding="utf-8") as f:
        json.dump({"rule_files": [f"{EXAMPLES}/memtop.rules.yml"], "evaluation_interval": "15s", "tests": [
            {"interval": "1m", "input_series": [{"series": a, "values": b} for a, b in series],
             "alert_rule_test": [{"eval_time": "30m", "alertname": "MemtopOverhead", "exp_alerts": [
                 {"exp_labels": {"severity": "info", "pid": "3", "name": "s"},
                  "exp_annotations": {"summary": "s [3]: the agent takes over a tenth of a core; sample instead"}}]}]}]}, f)
    done = run(["promtool", "test", "rules", f"{folder}/test.yml"])
    assert done.returncode == 0, done.stdout + done.stderr


@mostly_waits
def t_one_that_ended_before_a_scrape():
    """Nobody had asked for its names, which its verdict needs; it is no agent that is gone."""
    s = Server("--all")
    process = phases()
    wait_for(lambda: str(process.pid) in s.ask("/marks")[2], 30, "the process")
    process.kill()
    process.wait()
    wait_for(lambda: "KILLED" in s.ask(f"/report.txt?pid={process.pid}")[2], 30, "its end")
    m = s.metrics()
    assert verdict_of(m, process.pid) == ["ended"], m


@test
def t_the_strict_parser_accepts_it():
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError as why:
        raise Skip("python3-prometheus-client is not installed") from why
    pid = phases().pid
    s = Server("-p", str(pid))
    wait_for(lambda: s.up(pid), 20, "the state")
    families = {f.name: f for f in text_string_to_metric_families(s.ask("/metrics")[2])}
    assert families["memtop_verdict"].type == "stateset" and families["memtop_allocated_bytes"].type == "counter"


@mostly_waits
def t_prometheus_scrapes_and_alerts():
    """The real Prometheus, on a program that leaks: the verdict takes some 20 s."""
    need("prometheus", "promtool")
    folder = temporary_folder()
    leak = os.path.join(folder, "leak")
    with open(leak + ".c", "w", encoding="utf-8") as f:
        f.write("#include <stdlib.h>\n#include <unistd.h>\nint main(void) { for (;;) { if (!malloc(10000)) return 1; usleep(5000); } }\n")
    assert run(["gcc", "-O0", "-g", "-o", leak, leak + ".c"]).returncode == 0
    process = target(leak)
    s = Server("-p", str(process.pid))
    with open(f"{EXAMPLES}/memtop.rules.yml", encoding="utf-8") as f:
        rules = f.read()
    assert "for: 5m" in rules
    with open(f"{folder}/memtop.rules.yml", "w", encoding="utf-8") as f:
        f.write(re.sub(r"for: \d+m", "for: 1s", rules))
    with open(f"{EXAMPLES}/prometheus.yml", encoding="utf-8") as f:
        config = f.read().replace("127.0.0.1:9091", urllib.parse.urlsplit(s.address).netloc).replace("15s", "1s")
    with open(f"{folder}/prometheus.yml", "w", encoding="utf-8") as f:
        f.write(config)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    start(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
           f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(path):
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            c.request("GET", path)
            return json.loads(c.getresponse().read())["data"]
        return {}

    wait_for(lambda: [t["health"] for t in ask("/api/v1/targets").get("activeTargets", [])] == ["up"], 60, "a scrape")
    wait_for(lambda: any(a["labels"]["alertname"] == "MemtopHeapGrows" and a["labels"]["pid"] == str(process.pid) and a["state"] == "firing"
                         for a in ask("/api/v1/alerts").get("alerts", [])), 120, "the alert")
    rate = ask("/api/v1/query?query=" + urllib.parse.quote("memtop:allocated_bytes:rate1m"))["result"]
    assert rate and float(rate[0]["value"][1]) > 100000, rate


main()
