#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_mcp.py - memtop mcp: a conversation as a client has it, every tool against the JSON report,
bounded answers, and hostile input."""
import json
import os
import random
import signal
import subprocess

from cli import memtop, recorded
from harness import AGENT, BUILD, MEMTOP, at_end, environment, main, report, start, test, wait_for

TOOLS = ["list_processes", "verdict", "owners", "call_sites", "top_of_tree", "diff_marks", "set_mark", "report"]


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
        assert self.process.wait(20) == 0
        assert self.process.stdout.read() == b""


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
        assert ("target" in schema["properties"]) == (tool["name"] != "list_processes"), tool
    c.end()
    for asked, given in (("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-06-18")):
        assert start_up(Client(), asked)["protocolVersion"] == given
    assert memtop("mcp", stdin=subprocess.DEVNULL).returncode == 0


@test
def t_tools_say_what_the_report_says():
    process = phases()
    pid = process.pid
    c = Client("-p", str(pid))
    start_up(c)
    assert f"{pid} s_phases\n" in c.call("list_processes")
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
def t_session_files():
    path = recorded(f"{BUILD}/tests/targets/s_phases")
    c = Client(path)
    start_up(c)
    assert "22937600 bytes" in c.call("verdict") and "EXITED" in c.call("verdict")
    assert "later_phase" in c.call("call_sites")
    assert "only one process" in c.call("owners", failed=True, process="x")
    assert "does not run" in c.call("set_mark", failed=True)
    c.end()


@test
def t_answers_are_bounded():
    path = recorded("/bin/bash", "-c", "declare -A a; for i in {1..300}; do a[k$i]=$i; done")
    c = Client(path)
    start_up(c)
    parts, at = [], 0
    while True:
        text = c.call("report", format="json", max_bytes=5000, offset=at)
        assert len(text.encode()) < 5200, len(text)
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


main()
