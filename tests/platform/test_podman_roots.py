#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_podman_roots.py - containers of other systems, by podman with runc and its default filter, watched from outside.

Debian 11 and 12 come by debootstrap from the mirror that apt uses. Debian has no Alpine: a root of its packages of musl and a
static busybox stands in. Where ROOTS=FOLDER has folders whose names begin with "alpine" (a minirootfs, unpacked), these are
used, too; it also keeps the other roots between runs. LONG=1 alone runs this: it downloads 200 MB.
"""
import glob
import os
import re
import shutil
import signal

from harness import (AGENT, BUILD, LONG, MEMTOP, ROOT, Skip, environment, main, mostly_waits, need, recorded, report,
                     run, temporary_folder, wait_for)
from podman import Podman
from roots import for_all_versions, kept, mirror_of_apt

BLOCK = 65536  # of s_phases
DEBIAN = {"bullseye": "11", "bookworm": "12"}


def memtop(*arguments):
    """It finds the agent of each C library by itself."""
    env = environment()
    del env["MEMTOP_AGENT"]
    return run([MEMTOP, *map(str, arguments)], env=env)


def debian(suite):
    folder, new = kept(suite)
    if new:
        need("debootstrap")
        done = run(["debootstrap", "--variant=minbase", suite, folder, mirror_of_apt()], 1200)
        if done.returncode:
            shutil.rmtree(folder)
            raise Skip(f"no root of {suite}: {(done.stdout.strip() or done.stderr.strip()).splitlines()[-1]}")
    return folder


def musl_of_debian():
    folder, new = kept("musl")
    if new:
        done = run([f"{ROOT}/tests/foreign-root.sh", "amd64", folder, "musl", "busybox-static"], 600)
        if done.returncode:
            raise Skip(f"no packages: {done.stderr.strip()}")
        os.symlink("busybox", f"{folder}/bin/sh")
        for name in ("proc", "sys", "dev", "tmp", "etc", "run"):
            os.makedirs(f"{folder}/{name}", exist_ok=True)
    return folder


class Container:
    """A program in a container of that root: process 1 with the agent mounted and preloaded, or a shell's child without it."""

    def __init__(self, p, root, agent, program, preloaded):
        self.p = p
        mounts = ["-v", f"{os.path.dirname(program)}:/opt:ro"]
        if preloaded:
            mounts += ["-v", f"{agent}:/memtop/libmemtop-agent.so:ro", "-e", "LD_PRELOAD=/memtop/libmemtop-agent.so"]
            command = ["/opt/s_phases", "wait"]
        else:
            command = ["/bin/sh", "-c", "/opt/s_phases wait; exit $?"]
        self.id = p.must("run", "-d", "--network", "none", *mounts, "--rootfs", root, *command)
        top = p.inspect(self.id)["State"]["Pid"]
        self.pid = wait_for(lambda: standing(top), 30, "the program, standing still")

    def next_phase(self):
        os.kill(self.pid, signal.SIGUSR1)

    def ends(self):
        self.next_phase()
        return self.p.must("wait", self.id)


def standing(pid):
    """The pid of s_phases, that one or a child of it, once it waits for a signal; its server is no child of its."""
    for each in [str(pid), *children(pid)]:
        try:
            with open(f"/proc/{each}/comm", encoding="utf-8", errors="replace") as f, open(f"/proc/{each}/syscall", encoding="utf-8") as g:
                if f.read() == "s_phases\n" and g.read().startswith("128 "):  # rt_sigtimedwait
                    return int(each)
        except OSError:
            pass
    return None


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return f.read().split()
    except OSError:
        return []


def has(c, r, early, later):
    """The report has the blocks of both phases, by name, and misses no file."""
    assert (r["totals"]["live_blocks"], r["totals"]["live_bytes"]) == (early + later, (early + later) * BLOCK), r["totals"]
    by_name = {s["frames"][0]["function"]: s["live_blocks"] for s in r["stacks"] if s["live_blocks"]}
    assert by_name == {n: k for n, k in (("early_phase", early), ("later_phase", later)) if k}, (c.pid, r["stacks"])
    assert not any("names unknown" in w for w in r["warnings"]), r["warnings"]


def row(pid):
    return next((line for line in memtop("list").stdout.splitlines() if line.split()[0] == str(pid)), None)


def in_session(c, blocks):
    session = recorded(arguments=["--for", "0.2", "-p", c.pid])
    assert not session.stderr, session.stderr
    r = report(session)
    has(c, r, *blocks)
    assert [m["name"] for m in r["marks"]] == ["here"], r["marks"]


def watched(p, root, agent, program, preloaded):
    c = Container(p, root, agent, program, preloaded)
    early = 100 if preloaded else 0
    if not preloaded:
        done = memtop("attach", "--no-view", c.pid)
        assert done.returncode == 0 and done.stdout.endswith(f"watch it with memtop -p {c.pid}\n"), done
        assert re.fullmatch(r"memtop: .* runs under a seccomp filter: the agent is loaded, .*\n", done.stderr), done
    inside = "@memtop.1" if preloaded else r"unix:/tmp/memtop-\d+.sock"
    line = wait_for(lambda: row(c.pid), 20, "its row in the list")
    assert re.fullmatch(rf" *{c.pid}  s_phases +[\d?]+ +-p {c.pid} \(inside: {inside}\)", line), line
    has(c, report(f"-p{c.pid}"), early, 0)
    assert memtop("mark", "-p", c.pid, "here").returncode == 0
    c.next_phase()
    wait_for(lambda: standing(c.pid) and report(f"-p{c.pid}")["totals"]["allocated_blocks"] == early + 300, 20, "the second phase")
    in_session(c, (early, 300))
    done = memtop("detach", c.pid)
    if preloaded:
        assert done.returncode == 3 and "the agent stays" in done.stderr, done
    else:
        assert done.returncode == 0 and "the agent is out of" in done.stdout, done
        wait_for(lambda: not row(c.pid), 20, "its end in the list")
    c.next_phase()
    wait_for(lambda: standing(c.pid), 20, "the third phase")
    assert c.ends() == "0", p.do("logs", c.id)


def every_way(root, agent, program):
    if not os.path.exists(agent):
        raise Skip(f"{agent} is not built")
    p = Podman()
    for preloaded in (True, False):
        watched(p, root, agent, program, preloaded)


def unless_long():
    if not LONG:
        raise Skip("LONG=1 only")


def in_debian(suite):
    unless_long()
    root = debian(suite)
    program = f"{temporary_folder()}/s_phases"
    os.chmod(os.path.dirname(program), 0o755)
    for_all_versions(f"{ROOT}/tests/targets/s_phases.c", program, "-g", f"-I{ROOT}/tests")
    every_way(root, AGENT, program)


def in_musl(root):
    folder = temporary_folder()
    os.chmod(folder, 0o755)
    shutil.copy(f"{BUILD}/tests/musl/s_phases", folder)
    every_way(root, f"{BUILD}/musl/libmemtop-agent.so", f"{folder}/s_phases")


def define(name, function, *arguments):
    def case():
        function(*arguments)
    case.__name__ = f"t_in_{name}"
    mostly_waits(case)


def of_packages():
    unless_long()
    in_musl(musl_of_debian())


def of_alpine():
    found = sorted(glob.glob(f"{os.environ.get('ROOTS', '/nowhere')}/alpine*"))
    if not found:
        raise Skip("ROOTS=FOLDER has no alpine*")
    for root in found:
        in_musl(root)


for each, number in DEBIAN.items():
    define(f"debian_{number}", in_debian, each)
define("a_musl_root_of_debians_packages_in_place_of_alpine", of_packages)
define("alpines_own_roots", of_alpine)
main()
