#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_gaps.py - programs and libraries with gaps between their LOAD segments: linked for pages of 16 KiB, 64 KiB or 2 MiB and
run on pages of 4 KiB.

Every stack must be whole and equal the program's own account (gaps.c), also under unwind=libunwind.
One file is one module, and code in a gap belongs to no module.
"""
import itertools
import os
import re
import subprocess

from harness import (BUILD, MEMTOP, Skip, environment, main, need, recorded, report, run, start, temporary_folder,
                     test, wait_for)

SOURCES = "tests/targets/gaps"
PAGES = (16384, 65536, 2097152)
KINDS = {"pie": ["-pie", "-fPIE"], "no-pie": ["-no-pie", "-fno-pie"]}
LINKERS = {"bfd": ["-fuse-ld=bfd"], "lld": ["-fuse-ld=lld"]}
LAYOUTS = {"bfd": ["separate-code", "noseparate-code"],
           "lld": ["separate-code", "noseparate-code", "separate-loadable-segments"]}


def build(name, source, *flags, compiler="gcc"):
    path = f"{temporary_folder()}/{name}"
    done = run([compiler, "-O1", "-g", "-fno-builtin", "-D_GNU_SOURCE", "-fno-omit-frame-pointer", "-I", SOURCES, *flags, "-o", path,
                f"{SOURCES}/{source}"])
    assert done.returncode == 0, f"{flags}: {done.stderr}"
    return path


def page(size):
    return [f"-Wl,-z,max-page-size={size}"]


def library(linker, size, layout="separate-code"):
    return build(f"libgap-{linker}-{size}.so", "gap_lib.c", "-shared", "-fPIC", *LINKERS[linker], *page(size), f"-Wl,-z,{layout}")


def program(linker, kind, size, layout, *more):
    return build(f"gaps-{linker}-{kind}", "gaps.c", *KINDS[kind], *LINKERS[linker], *page(size), f"-Wl,-z,{layout}", *more, "-ldl")


def report_and_gaps(command, *arguments):
    """The report, and where the code in each gap returns to, as the program says."""
    session = recorded(*command, arguments=arguments)
    gaps = {}
    for line in session.stdout.splitlines():
        whose, where = line.split(": ")
        gaps.setdefault(whose, []).append(None if where == "no gap" else int(where, 16))
    return report(session), gaps


def stack_of(r, size, at=0):
    found = [s for s in r["stacks"] if s["live_blocks"] and s["live_bytes"] == size * s["live_blocks"]]
    assert len(found) > at, f"no stack holds blocks of {size} bytes"
    return found[at]


def names(stack):
    return [f["function"] for f in stack["frames"]]


def check_whole(r, size, *functions):
    s = stack_of(r, size)
    assert not s["truncated"], f"the stack of {size} bytes: {s['truncated']}: {names(s)}"
    assert names(s)[:len(functions)] == list(functions), f"the stack of {size} bytes: {names(s)}"
    return s


def check_of_gap(r, size, where):
    """The call came from code that is no module's."""
    for i, at in enumerate(where):
        found = [s for s in r["stacks"] if s["live_bytes"] == size * s["live_blocks"] and s["live_blocks"] and
                 len(s["frames"]) > 2 and s["frames"][2]["address"] == at]
        assert len(found) == 1, f"{size} bytes, number {i}: no stack has {at:#x} in its third frame"
        f = found[0]["frames"][2]
        assert names(found[0])[:2] == ["keep", "leaf_of_gap"] and f["module"] == "[generated code]", found[0]


def check_modules(r, path):
    rows = [m for m in r["modules"] if m["path"] == path]
    assert len(rows) == 1, f"{len(rows)} modules are {path}: {rows}"
    assert not path.startswith("/tmp") or rows[0]["build_id"], rows


def check(r, gaps, command):
    s = check_whole(r, 1001, "keep", "leaf", "middle", "outer", "main")
    assert names(s)[-1] == "_start", names(s)
    check_whole(r, 6006, "keep", "leaf", "middle", "outer", "main")
    check_of_gap(r, 2002, gaps["program"])
    check_modules(r, os.path.realpath(command[0]))
    for i, path in enumerate(command[1:]):
        check_whole(r, 3003, "keep", "inner", "gap_lib_run", "load", "main")
        check_whole(r, 5005, "keep", "inner", "gap_lib_run", "load", "main")
        check_of_gap(r, 4004, gaps["library"][i:i + 1])
    # What an engine steps over without a table is the stacks' in gaps; all others are whole.
    cut = [s for s in r["stacks"] if s["truncated"] and "leaf_of_gap" not in names(s)]
    assert not cut, f"{len(cut)} stacks end early, one by {cut[0]['truncated']}: {names(cut[0])}"


def places(r):
    """The program's stacks; without those of code in gaps (the reference guesses the outer part), and of dlopen (it loads libunwind)."""
    return sorted((s["live_bytes"], s["allocated_blocks"], [(f["module"], f["offset"]) for f in s["frames"] if not f["inlined"]])
                  for s in r["stacks"] if "main" in names(s) and names(s)[0] == "keep" and "leaf_of_gap" not in names(s))


def check_reference(command):
    mine, judged = (places(report_and_gaps(command, "--options", f"unwind={engine}")[0]) for engine in ("cfi", "libunwind"))
    assert len(mine) > 3 and mine == judged, f"{[s for s in mine if s not in judged]}\nlibunwind: {[s for s in judged if s not in mine]}"


def check_linkings(linker):
    need({"bfd": "ld.bfd", "lld": "ld.lld"}[linker])
    wrong = []
    for kind, size, layout in itertools.product(KINDS, PAGES, LAYOUTS[linker]):
        if kind == "no-pie" and size > 65536 and layout != "separate-code":
            continue
        command = [program(linker, kind, size, layout), library(linker, size, layout)]
        try:
            r, gaps = report_and_gaps(command)
            assert all(gaps["program"] + gaps["library"]), f"linked without a gap: {gaps}"
            check(r, gaps, command)
        except AssertionError as why:
            wrong.append(f"{linker} {kind} {size} {layout}: {why}")
    assert not wrong, f"{len(wrong)} ways to link\n" + "\n".join(wrong)


@test
def t_linked_by_bfd():
    check_linkings("bfd")


@test
def t_linked_by_lld():
    check_linkings("lld")


@test
def t_as_the_reference_says():
    need("ld.lld")
    for kind in KINDS:
        check_reference([program("bfd", kind, 65536, "separate-code"), library("lld", 16384)])
        check_reference([program("lld", kind, 16384, "separate-code"), library("bfd", 65536)])


@test
def t_by_frame_pointers():
    """Without tables: it rests on the modules alone."""
    for kind in KINDS:
        command = [program("bfd", kind, 65536, "separate-code"), library("bfd", 65536)]
        r, gaps = report_and_gaps(command, "--options", "unwind=fp")
        for size, *functions in ((1001, "keep", "leaf", "middle", "outer", "main"), (5005, "keep", "inner", "gap_lib_run", "load")):
            assert names(stack_of(r, size))[:len(functions)] == functions, names(stack_of(r, size))
        check_modules(r, command[0])


@test
def t_loaded_by_the_loader():
    """`ld.so PROGRAM`: the loader maps the program, and the gaps with it."""
    path = program("bfd", "pie", 65536, "separate-code")
    with open(path, "rb") as f:
        loader = re.search(rb"/lib[^\0]*/ld-[^\0]*", f.read()).group(0).decode()
    command = ["/bin/sh", "-c", f"exec {loader} {path} {library('bfd', 65536)}"]
    r = report(recorded(*command))
    check_whole(r, 1001, "keep", "leaf", "middle", "outer", "main")
    check_whole(r, 5005, "keep", "inner", "gap_lib_run", "load", "main")


@test
def t_gaps_of_a_static_program():
    """Static programs have the agent linked in; their bounds are in no loader's list."""
    for kind in ("-static", "-static-pie"):
        path = build("gaps" + kind, "gaps.c", kind, *page(65536), f"@{BUILD}/wrap.flags", f"{BUILD}/libmemtop-wrap.a")
        r, gaps = report_and_gaps([path])
        assert all(gaps["program"]), gaps
        check_whole(r, 1001, "keep", "leaf", "middle", "outer", "main")
        check_of_gap(r, 2002, gaps["program"])


def mapped(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as f:
        return f.read()


@test
def t_attached_and_detached():
    """The slots of a program with gaps are hooked, and restored: it calls as it did before."""
    for kind in KINDS:
        process = start([program("bfd", kind, 65536, "separate-code", "-Wl,-z,lazy")], env=environment(GAPS_WAIT="1"),
                        stdout=subprocess.DEVNULL)
        wait_for(lambda: "libc.so" in mapped(process.pid), 10, "the loader's work")  # start() returns in the middle of exec
        target = f"@memtop.{process.pid}"
        for _ in range(3):
            done = run([MEMTOP, "attach", "--no-view", str(process.pid)], env=environment())
            assert done.returncode == 0, done
            wait_for(lambda: report(target)["totals"]["allocated_blocks"] > 10, 20, "blocks")
            r = report(target)
            hooks = {m["name"]: m["hooks"] for m in r["modules"]}
            assert hooks[os.path.basename(process.args[0])] == "hooked", hooks
            own = [s for s in r["stacks"] if "main" in names(s)]
            assert own and not [s for s in own if s["truncated"]], [names(s) for s in r["stacks"]]
            done = run([MEMTOP, "detach", str(process.pid)], env=environment())
            assert done.returncode == 0 and "the agent is out of" in done.stdout and not done.stderr, done
        assert process.poll() is None, process.returncode


@test
def t_of_another_libc():
    """musl tells no bounds: they come from headers, also of a program that is not position-independent."""
    agent = f"{BUILD}/musl/libmemtop-agent.so"
    if not os.path.exists(agent):
        raise Skip(f"{agent} is not built: make musl")
    need("musl-gcc")
    for kind, size in itertools.product(KINDS, (4096, 65536)):
        path = build(f"gaps-{kind}", "gaps.c", *KINDS[kind], *page(size), "-Wl,--eh-frame-hdr,--build-id", compiler="musl-gcc")
        r, gaps = report_and_gaps([path], "--agent", agent)
        assert names(stack_of(r, 1001))[:5] == ["keep", "leaf", "middle", "outer", "main"], f"{kind} {size}: {names(stack_of(r, 1001))}"
        if size > 4096:
            check_of_gap(r, 2002, gaps["program"])
        check_modules(r, path)


main()
