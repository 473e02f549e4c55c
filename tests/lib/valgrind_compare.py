#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""valgrind_compare.py - one program three times: under valgrind memcheck, memtop and a plain counter.

    valgrind_compare.py [--twice] -- PROG ARGS...      prints the figures side by side

These measures make the comparison exact to the last byte:

  - Same argv, same folder, stdin /dev/null, output to a file, no address randomisation (setarch -R),
    and an environment that main sees byte for byte the same. valgrind puts its two libraries in front
    of LD_PRELOAD; the other runs get the same text there (the libraries do nothing outside
    valgrind). valgrind.bin is called rather than Debian's wrapper, which adds variables.
  - The loader's own tables weigh the same. The agent is one more module in the process, and one with
    thread-local storage; both can be seen in the counts: pthread_create calls _dl_allocate_tls, whose
    allocate_dtv calls calloc(dl_tls_max_dtv_idx + DTV_SURPLUS + 2, 16), 16 bytes more for each loaded
    module with TLS; dlopen(RTLD_GLOBAL) calls malloc in add_to_global_resize with the number of modules.
    So every run preloads FOLDER/stand-in.so: valgrind's is a library with one thread-local variable,
    the counter's is the counter itself, and memtop's, where the agent is that module, a link to a
    library that is loaded already: the loader knows it by its inode and adds nothing.
  - Python makes integers of addresses, and their size depends on the address: with preload "high_heap"
    all runs have libraries, heap and threads above 4 GiB (and valgrind gets --aspace-minaddr). libxml2
    seeds its tables with the time of day: with "fixed_time" it stands still. gcc has tables for each 16 MiB in
    which it mapped a page: with "placed_maps" these lie where they always lie.
  - A program whose own totals vary between two runs of the same kind is no reference: Varies is raised.
  - bash keeps pids as text: runs whose pids differ in their number of digits are made again.

compare() returns all differences, without a tolerance or a constant.
"""
import argparse
import fcntl
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

VALGRIND = "/usr/bin/valgrind.bin"
PRELOADS = [f"/usr/libexec/valgrind/vgpreload_{part}-amd64-linux.so" for part in ("core", "memcheck")]
FIELDS = ("allocs", "frees", "bytes", "live_bytes", "live_blocks")
BASE_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "TERM": "dumb", "PYTHONHASHSEED": "0",
                    "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0", "PYTHONMALLOC": "malloc",
                    "PYTHONDONTWRITEBYTECODE": "1", "GIT_CONFIG_NOSYSTEM": "1"}


class Varies(Exception):
    """Two runs of the same kind differ: the program is no reference."""


class Compared:
    """One program in one folder. figures() of each run is a dict of FIELDS."""

    def __init__(self, argv, folder, cwd=None, environment=None, seconds=120, preload=()):
        self.argv, self.folder, self.cwd, self.seconds = list(map(str, argv)), folder, cwd, seconds
        if not cwd:  # an empty one: python reads the names in it
            self.cwd = os.path.join(folder, "empty")
            os.makedirs(self.cwd, exist_ok=True)
        self.valgrind_options = ["--aspace-minaddr=0x100000000"] if "high_heap" in preload else []
        self.preload = [os.path.join(harness.BUILD, f"tests/lib/{name}.so") for name in preload]
        self.extra = environment or {}
        self.stand_in = os.path.join(folder, "stand-in.so")
        self.status = {}
        self.report = None
        os.makedirs(folder, exist_ok=True)

    def _environment(self, *preload):
        return {**BASE_ENVIRONMENT, "HOME": self.folder, "LD_PRELOAD": ":".join(preload), **self.extra}

    def _stand_in(self, library):
        if os.path.lexists(self.stand_in):
            os.unlink(self.stand_in)
        os.symlink(library, self.stand_in)

    def _run(self, kind, command, env, keep=()):
        # every command has a shell in it: the program's parent is a fresh process with a pid near its own
        path = os.path.join(self.folder, kind)
        with open(path + ".out", "wb") as out, open(path + ".err", "wb") as err:
            done = subprocess.run(command, cwd=self.cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                  timeout=self.seconds, check=False, pass_fds=keep)
        self.status[kind] = done.returncode
        return done.returncode

    def output(self, kind, stream="out"):
        with open(os.path.join(self.folder, f"{kind}.{stream}"), "rb") as f:
            return f.read()

    def valgrind(self):
        self._stand_in(os.path.join(harness.BUILD, "tests/lib/one_tls.so"))
        # by a high descriptor: --log-file leaves a low one open in the program (bash's tables show it), and text
        # on stderr moves its position (python asks)
        path = os.path.join(self.folder, "valgrind.log")
        with open(path, "wb") as log:
            number = fcntl.fcntl(log.fileno(), fcntl.F_DUPFD, 500)
            inner = shlex.join(["/usr/bin/setarch", "-R", VALGRIND, "--run-libc-freeres=no", "--run-cxx-freeres=no",
                                "--leak-check=no", "--child-silent-after-fork=yes", f"--log-fd={number}",
                                *self.valgrind_options, *self.argv])
            try:
                self._run("valgrind", ["/bin/sh", "-c", inner + "; exit $?"],
                          self._environment(self.stand_in, *self.preload), [number])
            finally:
                os.close(number)
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read().replace(",", "")
        use = re.search(r"in use at exit: (\d+) bytes in (\d+) blocks", text)
        total = re.search(r"total heap usage: (\d+) allocs (\d+) frees (\d+) bytes", text)
        if "during signal delivery" in text:
            raise Varies("valgrind cannot deliver its signals: " + re.search(r"Can't extend stack.*", text).group(0))
        if not use or not total:
            raise Varies("valgrind wrote no heap summary: " + " ".join(text.split())[-300:])
        self.valgrind_pid = int(re.search(r"^==(\d+)== HEAP", text, re.M).group(1))
        return dict(zip(FIELDS, map(int, (*total.groups(), *use.groups()))))

    def memtop(self):
        self._stand_in(PRELOADS[0])
        session = os.path.join(self.folder, "session.mtop")
        if os.path.exists(session):
            os.unlink(session)
        env = self._environment(*PRELOADS, self.stand_in, *self.preload)
        inner = shlex.join([harness.MEMTOP, "record", "--agent", harness.AGENT, "-o", session, "--", *self.argv])
        self._run("memtop", ["/usr/bin/setarch", "-R", "/bin/sh", "-c", "exec " + inner], env)
        if not os.path.exists(session):
            raise AssertionError(f"memtop record: status {self.status['memtop']}: "
                                 + self.output("memtop", "err").decode(errors="replace")[-300:])
        self.report = harness.report(session, env={"HOME": self.folder, "PATH": "/usr/bin:/bin",
                                                   "XDG_STATE_HOME": self.folder})
        t = self.report["totals"]
        return dict(allocs=t["allocated_blocks"], frees=t["freed_blocks"], bytes=t["allocated_bytes"],
                    live_bytes=t["live_bytes"], live_blocks=t["live_blocks"])

    def counter(self, shift_mib=0):
        """allocs, frees, bytes of the forwarding counter; shift_mib moves the mappings (by the stack limit)."""
        self._stand_in(os.path.join(harness.BUILD, "tests/lib/count_preload.so"))
        # the counter writes beside the name that the loader has for it
        path = os.path.join(self.folder, "counts")
        if os.path.exists(path):
            os.unlink(path)
        # only the program itself may meet it first: env(1) fills the variable in at its own place
        env = self._environment()
        preload = ":".join([*PRELOADS, self.stand_in, *self.preload])
        limit = ["/usr/bin/prlimit", f"--stack={(128 + shift_mib) << 20}:"] if shift_mib else []
        inner = shlex.join([*limit, "/usr/bin/env", f"LD_PRELOAD={preload}", *self.argv])
        self._run("counter", ["/usr/bin/setarch", "-R", "/bin/sh", "-c", inner + "; exit $?"], env)
        with open(path, "rb") as f:
            allocs, frees, size = struct.unpack("=3Q", f.read(24))
        return dict(allocs=allocs, frees=frees, bytes=size, live_blocks=allocs - frees)

    def digits(self):
        return len(str(self.valgrind_pid)), len(str(self.report["program"]["pid"]))

    def layouts(self):
        """The counter's different results when only the place of the mappings differs."""
        found = []
        for shift in range(4, 24, 4):
            count = self.counter(shift)
            if count not in found:
                found.append(count)
        return found

    def steady(self, run):
        """run() twice; Varies when they differ."""
        first, second = run(), run()
        if first != second:
            what = ", ".join(f"{k} {first[k]} and {second[k]}" for k in first if first[k] != second[k])
            raise Varies(f"two {run.__name__} runs differ: {what}")
        return first

    def compare(self, thorough=False):
        """[] or the differences as sentences. Varies when the program is no reference."""
        for _ in range(3):
            count = self.steady(self.counter)
            valgrind = self.steady(self.valgrind) if thorough else self.valgrind()
            memtop = self.memtop()
            # pids as text: seen when the kernel's counter passes a power of ten in between
            if len(set(self.digits())) == 1:
                break
        if any(valgrind[f] != v for f, v in count.items()):
            self._by_layout(memtop)
        wrong = [f"{f}: valgrind {valgrind[f]}, memtop {memtop[f]}" for f in FIELDS if valgrind[f] != memtop[f]]
        wrong += [f"{f}: counter {v}, memtop {memtop[f]}" for f, v in count.items() if v != memtop[f]]
        if self.status["valgrind"] != self.status["memtop"]:
            wrong.append(f"exit status: valgrind {self.status['valgrind']}, memtop {self.status['memtop']}")
        self.figures = dict(valgrind=valgrind, memtop=memtop, counter=count)
        return wrong


    def _by_layout(self, memtop):
        """The oracles disagree: Varies when the program's totals hang on where its memory lies."""
        found = self.layouts()
        if len(found) == 1:
            return
        equal = any(all(memtop[f] == v for f, v in count.items()) for count in found)
        raise Varies(f"plain runs whose mappings lie elsewhere differ (memtop equals {'one' if equal else 'none'} of those tried): "
                     + " and ".join(f"{c['allocs']} allocs, {c['bytes']} bytes" for c in found))


def main():
    a = argparse.ArgumentParser(description="one program under valgrind, memtop and a counter")
    a.add_argument("--twice", action="store_true", help="two valgrind runs, to see whether it varies")
    a.add_argument("--oracles", action="store_true", help="valgrind and the counter only")
    a.add_argument("--preload", action="append", default=[], help="high_heap, fixed_time: in all runs")
    a.add_argument("--keep", help="folder that stays")
    a.add_argument("argv", nargs="+")
    args = a.parse_args()
    folder = args.keep or os.path.join("/tmp", f"memtop-compare-{os.getpid()}")
    run = Compared(args.argv, folder, preload=args.preload)
    try:
        if args.oracles:
            print("valgrind", run.steady(run.valgrind) if args.twice else run.valgrind())
            print("counter ", run.steady(run.counter))
            return 0
        wrong = run.compare(args.twice)
        for kind, figures in run.figures.items():
            print(f"{kind:9}", figures)
        print("\n".join(wrong) or "equal")
        return 1 if wrong else 0
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
