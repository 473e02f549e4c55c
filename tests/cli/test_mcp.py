#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_mcp.py - memtop mcp: a conversation as a client has it, every tool against the JSON report,
bounded answers, and hostile input."""
import collections
import json
import os
import random
import re
import signal
import subprocess

from cli import memtop
from harness import (AGENT, BUILD, LONG, MEMTOP, Synthetic, at_end, environment, main, mostly_waits, recorded, report, start,
                     temporary_folder, test, wait_for)
from servers import server_of

TOOLS = ["list_processes", "verdict", "owners", "call_sites", "top_of_tree", "diff_marks", "set_mark", "report", "site_stacks",
         "diff_sessions", "check"]
CONTROL = ["record", "attach", "detach"]


def phases():
    process = start([f"{BUILD}/tests/targets/s_phases", "wait"], env=environment(LD_PRELOAD=AGENT))
    at_end(process.kill)
    wait_for(lambda: f"@memtop.{process.pid}\n" in open("/proc/net/unix", encoding="utf-8", errors="replace").read(), 20,
             "the agent's socket")
    return process


class Client:
    def __init__(self, *arguments):
        self.process = start([MEMTOP, "mcp", *arguments], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0

    def send(self, text):
        self.process.stdin.write(text if isinstance(text, bytes) else text.encode())
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, params=None):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method}
        self.send(json.dumps({**message, "params": params} if params is not None else message))
        answer = self.hear()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.last, answer
        return answer

    def call(self, tool, failed=False, **arguments):
        """The text of a tool's answer."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        (content,) = result["content"]
        assert content["type"] == "text" and result["isError"] is failed, result
        return content["text"]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        assert self.process.stdout.read() == b""


@mostly_waits
def t_all_processes_of_a_session():
    """process all: the sums of the tree, as report --process all has them; of one process there is no All."""
    target = f"{BUILD}/tests/targets/s_phases"
    session = recorded("/bin/sh", "-c", f"{target} & {target}; wait", path=temporary_folder() + "/tree.mtop")
    all_of = json.loads(memtop("report", "--process", "all", "--format", "json", session).stdout)
    c = Client()
    start_up(c)
    r = json.loads(c.call("report", target=session, process="all", format="json"))
    assert r["totals"] == all_of["totals"] and r["libraries"] == all_of["libraries"], (r["totals"], all_of["totals"])
    owners = c.call("owners", target=session, process="all")
    assert c.call("owners", target=session) == owners, "the shell only starts others"
    assert c.call("owners", target=session, process="s_phases") != owners
    assert json.loads(memtop("report", "--format", "json", session).stdout)["totals"] == all_of["totals"]
    assert "All of sh" in memtop("diff", session, session).stdout + memtop("report", session).stdout
    assert "EXITED (status 0)" in c.call("verdict", target=session, process="all")
    alone = recorded(target, path=temporary_folder() + "/alone.mtop")
    assert "only one process" in c.call("verdict", failed=True, target=alone, process="all")
    c.end()


def start_up(client, version="2025-06-18"):
    result = client.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
    client.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return result["result"]


@test
def t_start_and_end():
    c = Client()
    result = start_up(c)
    assert result["protocolVersion"] == "2025-06-18" and result["serverInfo"]["name"] == "memtop", result
    assert result["capabilities"] == {"tools": {"listChanged": False}}, result
    assert c.ask("ping")["result"] == {}
    tools = c.ask("tools/list")["result"]["tools"]
    assert [t["name"] for t in tools] == TOOLS, tools
    for tool in tools:
        schema = tool["inputSchema"]
        assert schema["type"] == "object" and schema["additionalProperties"] is False and tool["description"], tool
        assert ("target" in schema["properties"]) == (tool["name"] not in ("list_processes", "diff_sessions")), tool
        assert tool["annotations"]["readOnlyHint"] == (tool["name"] != "set_mark"), tool
    c.end()
    for asked, given in (("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-06-18")):
        assert start_up(Client(), asked)["protocolVersion"] == given
    assert memtop("mcp", stdin=subprocess.DEVNULL).returncode == 0


@test
def t_questions_from_a_file():
    """More than one read, and the end after the last."""
    path = temporary_folder() + "/asked"
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": "ping"}) + "\n" for i in range(2000)))
    with open(path, encoding="utf-8") as f:
        done = memtop("mcp", stdin=f)
    assert done.returncode == 0 and [json.loads(line)["id"] for line in done.stdout.splitlines()] == list(range(2000))


@test
def t_tools_say_what_the_report_says():
    process = phases()
    pid = process.pid
    c = Client("-p", str(pid))
    start_up(c)

    def listed():
        """Once two looks judge alike: a sample may come between them."""
        text = c.call("list_processes")
        command, amounts, verdict = text[text.index(f"{pid} "):].splitlines()[:3]
        assert command == f"{pid} {BUILD}/tests/targets/s_phases wait", text
        assert amounts.startswith("  live 6.2M, peak 6.2M, resident "), text
        return verdict.strip().split()[0] == c.call("verdict").splitlines()[1].split()[0]
    wait_for(listed, 30, "the same verdict in the list")
    assert "6.2M (6553600 bytes) in 100 blocks" in c.call("verdict", target=pid)
    assert c.call("verdict") == c.call("verdict", target=str(pid)) or "after" in c.call("verdict")
    assert c.call("owners").splitlines()[1].split() == ["6.2M", "100", "6.2M", "s_phases"], c.call("owners")
    sites = c.call("call_sites", sort="growth", limit=5)
    assert "early_phase < main" in sites and "s_phases.c:" in sites, sites
    assert "early_phase" in c.call("top_of_tree", depth=20) and "early_phase" in c.call("top_of_tree", inverted=True)
    assert c.call("set_mark", name="before") == "m1 before\n"
    process.send_signal(signal.SIGUSR1)
    wait_for(lambda: "400 blocks" in c.call("verdict"), 20, "the second phase")
    diff = c.call("diff_marks", **{"from": "before"})
    assert "later_phase" in diff and "+18.8M" in diff and "early_phase" not in diff, diff
    c.call("set_mark", name="after")
    assert "+18.8M" in c.call("diff_marks", **{"from": "m1", "to": "after"})
    whole = json.loads(c.call("report", format="json", max_bytes=262144))
    assert whole["totals"] == report(f"@memtop.{pid}")["totals"], whole["totals"]
    assert [m["name"] for m in whole["marks"]] == ["before", "after"]
    process.kill()
    process.wait()
    wait_for(lambda: "KILLED" in c.call("verdict"), 20, "the end of the program")
    c.end()


@test
def t_processes_that_do_not_answer():
    """All are asked side by side: many that cannot answer keep the others' figures from nobody. A stopped program is listed so."""
    stopped, asleep = [phases() for _ in range(12)], phases()
    for process in stopped:
        server = server_of(process.pid)
        os.kill(server, signal.SIGSTOP)
        at_end(os.kill, server, signal.SIGCONT)
    asleep.send_signal(signal.SIGSTOP)
    c = Client()
    start_up(c)
    name = f"{BUILD}/tests/targets/s_phases wait"

    def listed():
        text = c.call("list_processes")
        _, amounts, _ = text[text.index(f"{asleep.pid} {name}"):].splitlines()[:3]
        return text if re.search(r", STOPPED .*\d+.* by a signal", amounts) else None
    text = wait_for(listed, 30, "the stop that its agent has seen")
    last = text.splitlines()[-1]
    without = re.fullmatch(r"no figures of (\d+) of (\d+):((?:,? \d+)+)", last)
    assert without and {p.pid for p in stopped} <= set(map(int, re.findall(r"\d+", without[3]))), text
    assert asleep.pid not in map(int, re.findall(r"\d+", without[3])), text
    for process in stopped:
        server = server_of(process.pid)
        lines = text[text.index(f"{process.pid} s_phases"):].splitlines()
        assert lines[1] == f"  -p {process.pid}: its agent is stopped (SIGSTOP or a debugger); continue it: kill -CONT {server}", lines[:2]
    c.end()


@test
def t_questions_about_a_session_file():
    path = recorded(f"{BUILD}/tests/targets/s_phases")
    c = Client(path)
    start_up(c)
    assert "22937600 bytes" in c.call("verdict") and "EXITED" in c.call("verdict")
    agent = Synthetic("--past", "60", "--ended")
    leak = recorded(arguments=["--for", "1", agent.address])
    agent.stop()
    lines = c.call("verdict", target=leak).splitlines()
    assert lines[1].startswith("EXITED, GROWING +") and lines[2].startswith("live"), lines
    assert "--no-growing: GROWING +" in c.call("check", target=leak, no_growing=True)
    assert "later_phase" in c.call("call_sites")
    assert "only one process" in c.call("owners", failed=True, process="x")
    assert "does not run" in c.call("set_mark", failed=True)
    c.end()


@test
def t_tools_that_are_verbs():
    """What the verb prints is the answer, and what it refuses is the error."""
    a, b = recorded(f"{BUILD}/tests/targets/s_phases"), recorded("/bin/bash", "-c", "a=(1 2 3)")
    c = Client()
    start_up(c)
    for arguments, command in (({"a": a + "@peak", "b": a}, [a + "@peak", "--", a]), ({"a": a, "b": [b, b]}, [a, "--", b, b]),
                               ({"a": a, "b": b, "value": "blocks", "format": "json"}, ["--value=blocks", "--format=json", a, b])):
        done = memtop("diff", *command)
        assert done.returncode == 0 and c.call("diff_sessions", max_bytes=262144, **arguments) == done.stdout, arguments
    for arguments, command in (({"max_leaked": "1K"}, ["--max-leaked", "1K"]), ({"max_live": ["1G", "lib:s_*=1G"]}, ["--max-live", "1G", "--max-live", "lib:s_*=1G"]),
                               ({"baseline": b, "format": "json"}, ["--baseline", b, "--format", "json"])):
        done = memtop("check", *command, a)
        assert done.returncode in (0, 1) and c.call("check", target=a, max_bytes=262144, **arguments) == done.stdout, arguments
    for at in ("peak", "end", "now"):
        done = memtop("report", "--format", "json", "--at", at, a)
        if done.returncode:
            assert c.call("report", failed=True, target=a, at=at, format="json") in done.stderr, done
            continue
        said = json.loads(c.call("report", target=a, at=at, format="json", max_bytes=262144))
        assert said["totals"] == json.loads(done.stdout)["totals"], at
    assert "later_phase" in c.call("site_stacks", target=a, site="later_phase") and "no such call site" in c.call("site_stacks", True, target=a, site="x")
    assert "early_phase" not in c.call("site_stacks", target=a, site="later_phase")
    # nothing that a verb would start, or take for an option
    for tool, arguments in (("check", {"target": "/bin/true", "max_live": "0"}), ("check", {"target": "-x.mtop", "max_live": "0"}), ("check", {"target": a}),
                            ("diff_sessions", {"a": "--help", "b": a}), ("diff_sessions", {"a": a, "b": ["-o", a]}), ("diff_sessions", {"a": a}),
                            ("diff_sessions", {"a": [a] * 2000, "b": a}), ("check", {"target": a, "max_live": [5]}), ("check", {"target": a, "output": "x"})):
        assert c.call(tool, failed=True, **arguments), (tool, arguments)
    c.end()


@test
def t_control_is_asked_for():
    c = Client()
    start_up(c)
    for tool in CONTROL:
        assert c.ask("tools/call", {"name": tool, "arguments": {"pid": 1}})["error"]["code"] == -32602, tool
    c.end()
    c = Client("--allow-control")
    start_up(c)
    tools = {t["name"]: t["annotations"] for t in c.ask("tools/list")["result"]["tools"]}
    assert list(tools) == TOOLS + CONTROL and all(tools[t]["destructiveHint"] for t in CONTROL), tools
    path = temporary_folder() + "/a.mtop"
    said = c.call("record", command=["/bin/sh", "-c", "echo out; echo error >&2; exit 3"], output=path)
    assert said == f"error\nstatus 3; the session is in {path}\n", said
    assert "EXITED (status 3)" in c.call("verdict", target=path)
    assert "not found" in c.call("record", failed=True, command=["/nowhere/x"], output=path)
    for arguments in ({"command": ["true"], "output": path + ".txt"}, {"command": [], "output": path}, {"command": ["true"]},
                      {"command": ["true"], "target": 1, "output": path}, {"command": ["true"], "output": path, "seconds": 0}):
        assert c.call("record", failed=True, **arguments), arguments
    program = start(["/bin/sh", "-c", "read x"], env=environment(), stdin=subprocess.PIPE)
    at_end(program.kill)
    assert str(program.pid) in c.call("attach", pid=program.pid)
    assert c.call("verdict", target=program.pid)
    assert c.call("record", target=program.pid, output=path, seconds=1).endswith(f"status 0; the session is in {path}\n")
    assert c.call("attach", failed=True, pid=program.pid)
    c.call("detach", pid=program.pid)
    assert program.poll() is None
    c.end()


@test
def t_answers_are_bounded():
    path = recorded("/bin/bash", "-c", "declare -A a; for i in {1..300}; do a[k$i]=$i; done")
    c = Client(path)
    start_up(c)
    parts, at = [], 0
    while True:
        text = c.call("report", format="json", max_bytes=5000, offset=at)
        assert len(text.encode()) <= 5000, len(text)
        body, _, rest = text.rpartition("[truncated: ")
        if not rest:
            parts.append(text)
            break
        parts.append(body)
        after = int(rest.split("offset=")[1].split()[0])
        if not after:
            break
        at = after
    assert json.loads("".join(parts))["totals"] == report(path)["totals"]
    for most in (256, 257, 300, 1000):
        for at in (0, 1, 3000, 10**9):
            text = c.call("report", max_bytes=most, offset=at)
            assert len(text.encode()) <= most and text.count("[truncated: ") == 1, (most, at, text)
    assert "ask with a larger limit" in c.call("call_sites", limit=1)
    c.end()


@test
def t_wrong_arguments_are_told():
    c = Client()
    start_up(c)
    for arguments in ({"target": "nowhere"}, {"target": [1]}, {"target": 0}, {"target": 2**40}, {"target": ""}, {"limit": 0}, {"limit": "5"},
                      {"nothing": 1}, {"max_bytes": 1}, {"max_bytes": 10**9}, {"offset": -1}, {"target": "x" * 5000}, {"process": 5}):
        assert c.call("owners", failed=True, **arguments), arguments
    for params in ({"name": "nothing"}, {}, {"name": 5}, {"name": "owners", "arguments": []}):
        assert c.ask("tools/call", params)["error"]["code"] == -32602, params
    assert c.ask("nothing")["error"]["code"] == -32601
    assert c.ask("initialize", {})["error"]["code"] == -32602
    c.end()


@test
def t_hostile_input():
    c = Client()
    for line, code in ((b"{", -32700), (b"\xff\xfe", -32700), (b"nul\0", -32700), (b'"text"', -32600), (b"5", -32600), (b"null", -32600),
                       (b"{}", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1}', -32600),
                       (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                       (b"[" * 100000, -32700), (b'{"a":' * 100000, -32700), (b"x" * (5 << 20), -32700)):
        c.send(line)
        answer = c.hear()
        assert answer["error"]["code"] == code, (line[:60], answer)
    for silent in (b"", b"   ", b'{"jsonrpc":"2.0","method":"nothing"}', b'{"jsonrpc":"2.0","id":9,"result":{}}'):
        c.send(silent)
    c.send('[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"x"},5]')
    batch = c.hear()
    assert [m.get("id") for m in batch] == ["a", None] and batch[1]["error"]["code"] == -32600, batch
    c.send("[" + ",".join(['{"jsonrpc":"2.0","id":1,"method":"ping"}'] * 17) + "]")
    many = c.hear()
    assert len(many) == 1 and many[0]["error"]["code"] == -32600, many
    assert c.ask("ping")["result"] == {}
    c.end()
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    chance = random.Random(seed)
    good = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"owners","arguments":{"target":"nowhere","limit":5}}}\n'
    data = bytearray()
    for _ in range(500):
        line = bytearray(good)
        for _ in range(chance.randrange(6)):
            line[chance.randrange(len(line))] = chance.randrange(256)
        data += line
    done = subprocess.run([MEMTOP, "mcp"], input=bytes(data), env=environment(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, f"seed {seed}: {done}"
    for line in done.stdout.splitlines():
        json.loads(line)


NUMBERS = [0, -1, 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, -2**63 - 1, 10**400, 0.5, -0.0, 1e308]
TEXTS = ["", "m1", "start", "now", "peak", "text", "json", "html", "pprof", "csv", "folded", "\0", "a\0b", "\x1b[31m", "\n" * 50, "\ud800", "é" * 40,
         "x" * 70, "x" * 100000, "../../etc/passwd", "/dev/zero", "/dev/stdin", "unix:/nowhere", ":1", "%s%n%n", "\u202e", "👀" * 20]


def value(chance, depth=0):
    kind = chance.randrange(8)
    if kind < 2:
        return chance.choice(NUMBERS)
    if kind < 5:
        return chance.choice(TEXTS)
    if kind < 6 or depth > 3:
        return chance.choice([None, True, False, [], {}])
    if kind < 7:
        return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {str(value(chance, 9)): value(chance, depth + 1) for _ in range(chance.randrange(4))}


ARGUMENTS = {"target": ["nowhere", 1, "SESSION"], "process": ["", "x"], "limit": [1, 20, 1000], "max_bytes": [256, 16384, 262144], "offset": [0, 5, 10**6],
             "sort": ["live", "growth"], "depth": [1, 64], "min_percent": [0, 100], "inverted": [True], "from": ["start", "one"], "to": ["now"],
             "name": ["a"], "format": ["text", "json"], "since": ["one"], "nothing": [1], "at": ["peak", "0:00"], "between": ["a..b"], "site": ["main"],
             "a": ["SESSION"], "b": ["SESSION", ["-x"]], "max_live": ["0", ["1K", "2K"]], "baseline": ["/dev/null"]}


def request(chance, number, session):
    """One message and its id; None: it is not answered by that id."""
    arguments = {}
    for name in chance.sample(sorted(ARGUMENTS), chance.randrange(4)):
        arguments[name] = chance.choice(ARGUMENTS[name]) if chance.random() < 0.7 else value(chance)
        if arguments[name] == "SESSION":
            arguments[name] = session
    params = {"name": chance.choice(TOOLS), "arguments": arguments} if chance.random() < 0.9 else value(chance)
    method = chance.choice(["tools/call"] * 6 + ["initialize", "tools/list", "ping", "nothing", value(chance)])
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    if chance.random() < 0.1:
        del message[chance.choice(sorted(message))]
    if chance.random() < 0.1:
        message[chance.choice(sorted(message))] = value(chance)
    known = message.get("id") == number and message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    return message, number if known else None


def mutated(chance, line):
    """The line with some bytes changed, cut out or repeated, or wrapped deeply."""
    line = bytearray(line)
    for _ in range(chance.randrange(1, 5)):
        at, kind = chance.randrange(len(line)), chance.randrange(4)
        if kind == 0:
            line[at] = chance.randrange(256)
        elif kind == 1:
            del line[at:at + chance.randrange(1, 9)]
        elif kind == 2:
            line[at:at] = line[at:at + chance.randrange(1, 40)] * chance.randrange(1, 4)
        else:
            deep = chance.choice([10, 1000, 2047, 2048, 5000])
            line[at:at] = chance.choice([b"[" * deep, b'{"a":' * deep, b"[" * deep + b"]" * deep, b"9" * deep, b'"\\ud800"', b"\\u0000", b"\xc0\x80", b"1e999"])
        line = line or bytearray(b"x")
    return bytes(line).replace(b"\n", b" ")


@mostly_waits
def t_thousands_of_hostile_messages():
    """Each request has one answer with its id, each answer is bounded JSON, and memory stays where it was."""
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    chance = random.Random(seed)
    session = recorded(f"{BUILD}/tests/targets/s_phases")
    lines, awaited, number = [], set(), 0
    for _ in range(40000 if LONG else 3000):
        batch, ids, changed = [], [], chance.random() < 0.2
        for _ in range(1 if chance.random() < 0.9 else chance.choice([0, 2, 16, 17])):
            number += 1
            message, known = request(chance, f"{'changed' if changed else 'as it is'} {number}", session)
            batch.append(message)
            ids.append(known)
        line = json.dumps(batch[0] if len(batch) == 1 else batch, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
        whole = "\\ud800" not in str(line) and b"\xed\xa0" not in line and b"\\u0000" not in line and b"9007199254740993" not in line
        if changed:
            line, whole = mutated(chance, line), False
        # numbers that JSON readers refuse make the whole line no message
        if whole and len(batch) <= 16 and not any(n in line for n in (b"9223372036854775808", b"-9223372036854775809", b"10000000000000000")):
            awaited |= {i for i in ids if i}
        lines.append(line)
    lines.append(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
    done = subprocess.run([MEMTOP, "mcp", session], input=b"\n".join(lines) + b"\n", env=environment(), capture_output=True, timeout=600, check=False)
    assert done.returncode == 0 and not done.stderr, f"seed {seed}: {done.returncode} {done.stderr[-3000:]}"
    seen = []
    for line in done.stdout.splitlines():
        assert len(line) < 17 * 262144 * 6, f"seed {seed}: {len(line)} bytes"
        answer = json.loads(line)
        for one in answer if isinstance(answer, list) else [answer]:
            assert one["jsonrpc"] == "2.0" and ("result" in one) != ("error" in one), f"seed {seed}: {one}"
            seen.append(one["id"])
    assert seen[-1] == "last", f"seed {seed}"
    count = collections.Counter(i for i in seen if isinstance(i, str))
    wrong = [(i, count[i]) for i in sorted(awaited) if count[i] != 1]
    assert len(awaited) > 1000 and not wrong, f"seed {seed}: not one answer each: {wrong[:5]} of {len(awaited)}"


main()
