#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_old_libcs.py - one build of the agent for all versions of the C library.

The agent asks for no symbol and no version. Programs run in roots of older and newer releases of Debian, from the mirror that
apt uses: started, followed as children, attached and detached. A root that cannot be had is skipped with the reason;
ROOTS=FOLDER keeps the roots between runs. The release that changes every day comes with LONG=1.
"""
import glob
import os
import subprocess

from attaching import attached, detached
from harness import (AGENT, BUILD, LONG, MEMTOP, Skip, environment, main, mostly_waits, need, recorded, report, run,
                     start, test)
from roots import for_all_versions, kept, mirror_of_apt

ROOTS = {"bullseye": "2.31", "bookworm": "2.36", "trixie": "2.41", "sid": "the newest"}
OTHERS = ("musl", "arm64", "armhf", "android/x86_64", "android/arm64-v8a")
# libgcc's unwinder of 32-bit ARM would take them of a C++ library
WEAK = {"__cxa_begin_cleanup", "__cxa_call_unexpected", "__cxa_type_match"}

PROGRAM = r"""
void *malloc(unsigned long);
void free(void *);
int fork(void), waitpid(int, int *, int), execv(const char *, char *const *);
long read(int, void *, unsigned long), write(int, const void *, unsigned long);
void *kept;
int main(int argc, char **argv)
{
    char byte;
    for (int i = 0; i < 100; i++) {
        kept = malloc(100 + i);
        if (i % 2)
            free(kept);
    }
    if (argc == 2 && !fork()) {
        char *const none[] = { "child", 0 };
        execv("/program", none);
    }
    if (argc == 2)
        waitpid(-1, 0, 0);
    while (argc == 3 && read(0, &byte, 1) == 1) {
        for (int i = 0; i < 100; i++)
            free(malloc(10));
        write(1, &byte, 1);
    }
    return argc == 2 ? 3 : 0;
}
"""


def undefined(path):
    done = run(["nm", "-D", "--undefined-only", path])
    assert done.returncode == 0, done.stderr
    return {line.split()[-1] for line in done.stdout.splitlines() if line.strip()}


@test
def t_the_agent_asks_for_no_symbol():
    for name in ("", *OTHERS):
        path = os.path.join(BUILD, name, "libmemtop-agent.so")
        if not os.path.exists(path) and name:
            continue
        names = undefined(path) - (WEAK if name == "armhf" else set())
        assert not names, (path, names)
        versions = [line for line in run(["objdump", "-p", path]).stdout.splitlines() if "GLIBC_" in line]
        assert not versions, (path, versions)


def program(folder):
    with open(f"{folder}/program.c", "w", encoding="ascii") as f:
        f.write(PROGRAM)
    for_all_versions(f"{folder}/program.c", f"{folder}/program", "-fno-builtin")


def unpacked(suite, folder):
    """libc6 of that suite as a root in the folder."""
    need("apt-get", "dpkg")
    mirror = mirror_of_apt()
    if not glob.glob(f"{folder}/**/libc.so.6", recursive=True):
        apt = f"{folder}/apt"
        for part in ("state/lists/partial", "cache/archives/partial", "parts"):
            os.makedirs(f"{apt}/{part}", exist_ok=True)
        open(f"{apt}/status", "w", encoding="ascii").close()
        with open(f"{apt}/list", "w", encoding="ascii") as f:
            f.write(f"deb [trusted=yes] {mirror} {suite} main\n")
        options = {"Dir::Etc::sourcelist": f"{apt}/list", "Dir::Etc::sourceparts": f"{apt}/parts", "Dir::State": f"{apt}/state",
                   "Dir::State::status": f"{apt}/status", "Dir::Cache": f"{apt}/cache", "APT::Sandbox::User": "", "Debug::NoLocking": "1",
                   "APT::Architecture": "amd64", "APT::Architectures": "amd64"}
        command = ["apt-get", "-q", *(word for k, v in options.items() for word in ("-o", f"{k}={v}"))]
        for verb in (["update"], ["download", "libc6"]):
            done = run([*command, *verb], 120, cwd=apt)
            if done.returncode:
                raise Skip(f"no libc6 of {suite}: {(done.stderr.splitlines() or ['?'])[-1]}")
        for package in glob.glob(f"{apt}/*.deb"):
            assert run(["dpkg", "-x", package, folder]).returncode == 0
    libraries = os.path.dirname(sorted(glob.glob(f"{folder}/**/x86_64-linux-gnu/libc.so.6", recursive=True))[0])
    loader = f"{folder}/lib64/ld-linux-x86-64.so.2"
    if not os.path.lexists(loader):  # where /lib64 is a link to /usr/lib64, which the package does not bring
        os.makedirs(os.path.dirname(loader), exist_ok=True)
        os.symlink(os.path.relpath(f"{libraries}/ld-linux-x86-64.so.2", os.path.dirname(loader)), loader)
    if not os.path.lexists(f"{folder}/lib"):
        os.symlink("usr/lib", f"{folder}/lib")
    return folder


def in_root(suite):
    if os.geteuid():
        raise Skip("needs root, for chroot")
    if suite == "sid" and not LONG:
        raise Skip("LONG=1 only")
    folder, _ = kept(f"libc-{suite}")
    unpacked(suite, folder)
    program(folder)
    agent = os.path.dirname(AGENT)
    os.makedirs(folder + agent, exist_ok=True)
    done = run(["cp", AGENT, folder + agent])
    assert done.returncode == 0, done
    for name in ("proc", "dev", "tmp", "run"):
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    return folder


def in_chroot(folder, *command):
    """... with /proc, in a mount namespace of its own, which ends with it."""
    return ["unshare", "-m", "sh", "-c", 'mount -t proc proc "$0/proc"; mount --bind /tmp "$0/tmp"; exec chroot "$0" "$@"', folder, *command]


def runs_in(suite):
    folder = in_root(suite)
    plain = run(in_chroot(folder, "/program", "one"), env=environment())
    if plain.returncode != 3:
        raise Skip(f"{suite}: the root does not run: {plain.stderr}")
    session = recorded(*in_chroot(folder, "/program", "one"), status=3)
    assert session.stderr == "", session.stderr
    rows = run([MEMTOP, "report", session], env=environment()).stdout
    assert " program [" in rows and " child [" in rows and "not followed" not in rows, rows
    totals = report(session)["totals"]
    assert totals["allocated_blocks"] == 100 and totals["live_blocks"] == 50, (totals, rows)
    with start(in_chroot(folder, "/program", "a", "round"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=environment()) as process:
        process.stdin.write(b"a")
        process.stdout.read(1)
        attached(process.pid)
        process.stdin.write(b"b")
        process.stdout.read(1)
        target = f"@memtop.{process.pid}"
        assert report(target)["totals"]["allocated_blocks"] == 100, report(target)["totals"]
        detached(target)
        process.stdin.close()
        assert process.wait() == 0


def define(suite):
    def of_suite():
        runs_in(suite)
    of_suite.__name__ = f"t_in_a_root_of_{suite}_with_glibc_{ROOTS[suite].replace('.', '_').replace(' ', '_')}"
    mostly_waits(of_suite)


for each in ROOTS:
    define(each)

if __name__ == "__main__":
    main()
