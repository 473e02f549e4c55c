#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_podman.py - in real containers: the side-car of backend/serve/examples as a pod, memtop serve as
process 1, and dumps of a program that is process 1.

Needs podman and root; nothing is fetched: the images are made of this machine's files, and the pods
have no network but their own loopback.
"""
import base64
import json
import os
import re
import secrets

from harness import AGENT, BUILD, MEMTOP, ROOT, Skip, main, need, report, run, test, wait_for
from podman import Podman

EXAMPLE = f"{ROOT}/backend/serve/examples/kubernetes-sidecar.yml"
LEAK = """#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void leaks_here(void) { if (!malloc(10000)) _exit(1); }
int main(void) { for (;;) { leaks_here(); usleep(5000); } }
"""


def the_pod():
    try:
        import yaml
    except ImportError as why:
        raise Skip("python3-yaml is not installed") from why
    with open(EXAMPLE, encoding="utf-8") as f:
        return yaml, yaml.safe_load(f)


def play(p, yaml, what):
    path = f"{p.folder}/{what['kind']}.yml"
    with open(path, "w", encoding="utf-8") as f:
        yaml.safe_dump(what, f)
    p.must("kube", "play", "--network", "none", path)


@test
def t_the_side_car_in_a_pod():
    yaml, pod = the_pod()
    p = Podman()
    p.need_init()
    source = f"{p.folder}/leak.c"
    with open(source, "w", encoding="utf-8") as f:
        f.write(LEAK)
    assert run(["gcc", "-O0", "-g", "-o", f"{p.folder}/leak", source]).returncode == 0
    p.image("server:latest", {"/app/server": f"{p.folder}/leak", "/lib/x86_64-linux-gnu/libgcc_s.so.1": "/lib/x86_64-linux-gnu/libgcc_s.so.1"},
            'CMD ["/app/server"]')
    p.image("memtop:local", {"/usr/local/bin/memtop": MEMTOP, "/usr/local/lib/memtop/libmemtop-agent.so": AGENT, "/usr/bin/cp": "/bin/cp"})
    token = secrets.token_hex(16)
    coded = base64.b64encode(token.encode()).decode()
    play(p, yaml, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "memtop-token"}, "data": {"token": coded}})
    # podman 4 does not wait for an init container's end, and takes a port for one of this machine
    spec = pod["spec"]
    (first,) = spec.pop("initContainers")
    user = f"{spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}"
    p.must("run", "--rm", "--user", user, "--network", "none", "-v", "memtop:/memtop", first["image"], *first["command"])
    for c in spec["containers"]:
        c.pop("ports", None)
    play(p, yaml, pod)
    serve = p.inspect("server-with-memtop-memtop")["State"]["Pid"]

    def ask(path, bearer):
        return run(["nsenter", "-t", str(serve), "-n", "curl", "-s", "-i", "-H", f"Authorization: Bearer {bearer}",
                    f"http://127.0.0.1:9091{path}"]).stdout
    need("nsenter", "curl")
    wait_for(lambda: ask("/metrics", "x" * 32).startswith("HTTP/1.1 401 "), 20, "a refusal")
    # podman 4 gives the secret as it stands in the file
    good = wait_for(lambda: next((t for t in (token, coded) if ask("/", t).startswith("HTTP/1.1 200 ")), None), 20, "an answer")
    text = wait_for(lambda: re.search(r"leaks_here\s.*< main", ask("/report.txt", good), re.S), 20, "the program's names in the report")
    assert text and 'memtop_up{pid="' in ask("/metrics", good)
    assert os.readlink(f"/proc/{serve}/exe").endswith("/memtop")
    # the kubelet starts a program again that ended: its side-car finds it at the same socket
    p.must("restart", "-t", "0", "server-with-memtop-server")
    wait_for(lambda: re.search(r"running after [0-9.]+ s", ask("/report.txt", good)) and "leaks_here" in ask("/report.txt", good), 30,
             "the program that was started again")


@test
def t_serve_is_process_1():
    p = Podman()
    out = f"{p.folder}/out"
    os.mkdir(out)
    p.must("run", "-d", "--name", "program", "--network", "none", "-v", "/usr:/usr:ro", "-v", f"{ROOT}:{ROOT}:ro", "-v", f"{out}:/out",
           "-e", f"LD_PRELOAD={AGENT}", "-e", "MEMTOP_OPTIONS=listen=unix:/out/agent", "--rootfs", p.root, f"{BUILD}/tests/targets/s_phases", "wait")
    p.must("run", "-d", "--name", "serve", "--network", "none", "-v", "/usr:/usr:ro", "-v", f"{ROOT}:{ROOT}:ro", "-v", f"{out}:/out",
           "--rootfs", p.root, MEMTOP, "serve", "unix:/out/agent", "--listen", "unix:/out/http")
    need("curl")

    def page(path):
        return run(["curl", "-s", "--unix-socket", f"{out}/http", f"http://localhost{path}"]).stdout
    wait_for(lambda: 'memtop_live_bytes{pid="1",name="s_phases"} 6553600' in page("/metrics"), 20, "the program's figures")
    # a volume has the program's file at the same place here
    assert json.loads(page("/report.json"))["totals"]["live_bytes"] == 6553600 and "early_phase" in page("/report.txt")
    p.must("stop", "-t", "20", "serve")
    assert p.inspect("serve")["State"]["ExitCode"] == 0, "ended by SIGTERM, not killed"
    assert not os.path.exists(f"{out}/http")


PYTHON = "/usr/bin/python3"


def dumping():
    """podman, a folder for what is dumped, and flags for a container that dumps there."""
    p = Podman()
    need(PYTHON)
    out = f"{p.folder}/out"
    os.mkdir(out)
    os.chmod(out, 0o777)

    def flags(options, *more):
        return ("-v", f"{out}:/out", "-e", f"LD_PRELOAD={AGENT}", "-e", f"MEMTOP_OPTIONS=listen=none,dump_to=/out/{options}", *more)
    return p, out, flags


@test
def t_dumps_of_process_1():
    p, out, flags = dumping()
    for user in ("0", "1000"):
        name = f"exit{user}.mtop"
        done = p.here(PYTHON, "-c", "import sys; x = ['a' * 100000 for _ in range(100)]; sys.exit(3)", flags=flags(f"{name},dump_on_fail=yes", "--user", user))
        assert done.returncode == 3, done
        r = report(f"{out}/{name}")
        assert r["program"]["pid"] == 1 and r["program"]["state"] == "exited" and r["totals"]["peak_bytes"] > 10000000, r["program"]
        assert os.stat(f"{out}/{name}").st_uid == int(user)
    p.must("run", "-d", "--name", "sleeper", "--network", "none", "-v", "/usr:/usr:ro", "-v", f"{ROOT}:{ROOT}:ro",
           *flags("asked.mtop,dump_signal=SIGUSR2"), "--rootfs", p.root, PYTHON, "-c", "import time\nwhile True: time.sleep(1)")

    def dumped():
        p.must("kill", "-s", "SIGUSR2", "sleeper")
        return os.path.exists(f"{out}/asked.mtop")
    pid = p.inspect("sleeper")["State"]["Pid"]
    # before its handler stands, the signal is ignored, as always by process 1
    wait_for(dumped, 20, "the dump")
    assert report(f"{out}/asked.mtop")["program"]["pid"] == 1 and os.path.exists(f"/proc/{pid}")


main()
