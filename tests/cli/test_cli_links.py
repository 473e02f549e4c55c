#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_cli_links.py - the command line: memtop's messages when no agent, or another agent,
answers."""
import contextlib
import os
import pty
import signal
import socket
import threading

from cli import memtop, one_line
from forward import free_port
from harness import (AGENT, MEMTOP, Synthetic, at_end, environment, main, mostly_waits, report, run, start, temporary_folder, test, wait_for)
from servers import server_of
import wire


@test
def t_nobody_listens():
    port = free_port()
    for words in (["report", f":{port}"], ["mark", f":{port}"], ["record", "-o", temporary_folder() + "/a.mtop", f":{port}"]):
        one_line(memtop(*words), 3, f":{port}")
    one_line(memtop("report", "@memtop.no.such.agent"), 3, "@memtop.no.such.agent")
    one_line(memtop("report", "unix:/nonexistent/x.sock"), 3, "unix:/nonexistent/x.sock")


@test
def t_process_without_agent():
    sleeper = start(["/bin/sleep", "60"])
    one_line(memtop("report", "-p", str(sleeper.pid)), 3, str(sleeper.pid), f"memtop attach {sleeper.pid}")


def serve(handle):
    """A TCP server for one test; handle(connection) runs in a thread for each client."""
    listener = socket.create_server(("127.0.0.1", 0))
    at_end(listener.close)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=one, args=(client,), daemon=True).start()

    def one(client):
        with client, contextlib.suppress(OSError):
            handle(client)

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


@test
def t_something_else_listens():
    def http(client):
        client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        client.recv(1000)

    def zeros(client):
        while True:
            client.sendall(bytes(65536))

    for handle in (http, zeros):
        port = serve(handle)
        one_line(memtop("report", f":{port}", seconds=20), 3, f":{port}")


@test
def t_forward_to_nobody():
    """connect succeeds, then the end of the stream before a greeting: what adb and ssh do."""
    port = serve(lambda client: None)
    one_line(memtop("report", f":{port}", seconds=20), 3, f":{port}")


@test
def t_other_protocol_version():
    agent = Synthetic("--version", "9")
    one_line(memtop("report", agent.address, seconds=20), 3, "9")


@test
def t_wrong_token():
    token = os.urandom(24).hex()
    port = free_port()
    env = environment(MEMTOP_TOKEN=token)
    start(["/bin/sleep", "60"], env={**env, "LD_PRELOAD": AGENT, "MEMTOP_OPTIONS": f"listen=tcp:{port}"})
    wait_for(lambda: memtop("report", f":{port}", env=env).returncode == 0, 20, "the agent on its port")
    for wrong, words in ((environment(MEMTOP_TOKEN=token[:-1] + "x"), "the token is wrong, or another process holds the port"),
                         (environment(), "its agent asks for a token; set MEMTOP_TOKEN")):
        done = memtop("report", f":{port}", env=wrong)
        one_line(done, 3, words, "set MEMTOP_TOKEN")
        assert done.stderr.count(";") == 1, done.stderr


@test
def t_a_stopped_one_on_tcp():
    """The kernel names no process there: the one that listens on the port is looked for."""
    token = os.urandom(24).hex()
    port = free_port()
    env = environment(MEMTOP_TOKEN=token)
    program = start(["/bin/sleep", "60"], env={**env, "LD_PRELOAD": AGENT, "MEMTOP_OPTIONS": f"listen=tcp:{port}"})
    wait_for(lambda: memtop("report", f":{port}", env=env).returncode == 0, 20, "the agent on its port")
    server = server_of(program.pid)
    os.kill(server, signal.SIGSTOP)
    at_end(os.kill, server, signal.SIGCONT)
    for address in (f":{port}", f"localhost:{port}"):
        one_line(memtop("report", address, env=env, seconds=60), 3,
                 f"its agent is stopped (SIGSTOP or a debugger); continue it: kill -CONT {server}")
    silent = socket.create_server(("127.0.0.1", 0))  # nor does this one say a word
    at_end(silent.close)
    one_line(memtop("report", f":{silent.getsockname()[1]}", seconds=60), 3,
             f"connected, but no greeting comes from {own_name()} [{os.getpid()}], which listens there")


def own_name():
    with open("/proc/self/comm", encoding="utf-8") as f:
        return f.read().strip()


@test
def t_token_is_shown_to_nobody():
    """Whoever took the port greets as an agent does: of any version, with a challenge, with our own words sent back."""
    token = "0123456789abcdefghijklmnopqrstuv"
    heard = []

    def until_silent(client):
        data = b""
        client.settimeout(3)
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while more := client.recv(65536):
                data += more
                client.settimeout(0.3)
        heard.append(data)
        return data

    def older(client):
        client.sendall(wire.greeting(1, 1))
        until_silent(client)

    def newer_without_proof(client):
        client.sendall(wire.greeting(2, 1))
        until_silent(client)

    def challenges(client):
        client.sendall(wire.greeting(2, 2) + wire.frame(wire.CHALLENGE, nonce=bytes(32)))
        until_silent(client)
        client.sendall(wire.frame(wire.PROOF, proof=bytes(32)))
        until_silent(client)

    def mirrors(client):
        client.sendall(wire.greeting(2, 2) + wire.frame(wire.CHALLENGE, nonce=bytes(32)))
        client.sendall(wire.frame(wire.PROOF, proof=until_silent(client)[-32:]))
        until_silent(client)

    for handle, words in ((older, "unset MEMTOP_TOKEN"), (newer_without_proof, "unset MEMTOP_TOKEN"), (challenges, "ss -ltp"),
                          (mirrors, "ss -ltp")):
        heard.clear()
        port = serve(handle)
        done = memtop("report", f":{port}", env=environment(MEMTOP_TOKEN=token), seconds=20)
        assert not any(token.encode() in data for data in heard), f"{handle.__name__} has got {b''.join(heard)}"
        one_line(done, 3, f":{port}: the other end does not prove that it knows the token", words)


@mostly_waits
def t_a_detach_waits_while_the_agent_moves():
    """Longer than for an agent that is silent, and no tick comes; who sits there sees how far it is."""
    agent = Synthetic("--last-walk", "12")
    master, slave = pty.openpty()
    done = run([MEMTOP, "detach", agent.address], env=environment(), stderr=slave)
    assert done.returncode == 0 and "the agent is out" in done.stdout, done
    told = os.read(master, 4096).decode()
    assert "the agent reads its blocks for the last time: 50 %" in told, told


if __name__ == "__main__":
    main()
