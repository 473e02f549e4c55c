#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_engines.py - compares the unwind engines with each other, each within its abilities.

cfi, libunwind and instrument must report the same stacks of one program, frame by frame, with the
same blocks on each: in C with longjmp, signal stacks, coroutines, threads, functions without
instrumentation; in C++ with exceptions. fp and caller are compared with cfi as far as they promise.
"""
import collections
import re

from elsewhere import shown, told
from harness import (BUILD, MEMTOP, TARGETS, Skip, emulator, environment, main, need, recorded, report, run,
                     temporary_folder, test)

FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-g", "-fno-builtin", "-Iinclude", "-Itests"]


def watch(command, options, status=0, env=None):
    """The report of a run with these options, and its session."""
    env = environment(MEMTOP_OPTIONS=options, **(env or {}))
    session = recorded(*command, env=env, status=status, seconds=120)
    return report(session, env=env), session


def frames(stack):
    """(module, offset) per physical frame, innermost first."""
    return tuple((f["module"], f["offset"]) for f in stack["frames"] if not f["inlined"])


def stacks(r, without=()):
    """Counter of blocks and bytes by (frames, truncation); not of stacks that a module is part of."""
    counts = collections.Counter()
    for s in r["stacks"]:
        if not any(m in without for m, _ in frames(s)):
            counts[frames(s), s["truncated"], "blocks"] += s["allocated_blocks"]
            counts[frames(s), s["truncated"], "bytes"] += s["allocated_bytes"]
    return counts


def functions(stack, module):
    """The names of a stack's frames in one module, innermost first, as far as main."""
    return tuple(f["function"] for f in stack["frames"]
                 if f["module"] == module and not f["inlined"] and f["function"] != "_start")


def same(command, first, second, least=20, **named):
    one, two = (watch(command, f"unwind={e}") for e in (first, second))
    for (r, _), engine in ((one, first), (two, second)):
        assert r["agent"]["unwind"] == engine, (r["agent"]["unwind"], engine)
    a, b = stacks(one[0], **named), stacks(two[0], **named)
    assert len(a) >= least, f"only {len(a)} figures to compare"
    only_a, only_b = a - b, b - a
    assert not only_a and not only_b, "\n".join(
        [f"{first} and {second} differ in {len(only_a)} and {len(only_b)} of {len(a)} figures"]
        + [f"only {first}: {v} of {k}" for k, v in list(only_a.items())[:3]]
        + [f"only {second}: {v} of {k}" for k, v in list(only_b.items())[:3]])
    return one[0], two[0]


def build(name, *flags, compiler="gcc"):
    need(compiler)
    out = f"{temporary_folder()}/{name}"
    done = run([compiler, *FLAGS, *flags, "-o", out, f"tests/targets/{name}.c", "-lpthread", "-ldl"])
    assert done.returncode == 0, done.stderr
    return out


def have_libunwind():
    r, done = watch([f"{TARGETS}/s_paths", "3"], "unwind=libunwind")
    if not r["stacks"]:
        raise Skip(f"libunwind is not installed: {done.stderr}")


@test
def t_instrument_equals_cfi():
    same([f"{TARGETS}/s_instrument"], "instrument", "cfi")


@test
def t_instrument_equals_cfi_in_cxx():
    same([f"{TARGETS}/s_instrument_cxx"], "instrument", "cfi")


@test
def t_instrument_equals_cfi_optimised():
    same([build("s_instrument", "-O2", "-finstrument-functions")], "instrument", "cfi")


@test
def t_instrument_equals_cfi_by_clang():
    for how in ("-finstrument-functions", "-finstrument-functions-after-inlining"):
        same([build("s_instrument", "-O2", how, compiler="clang")], "instrument", "cfi")


@test
def t_a_thousand_longjmps_under_instrument():
    """A thousand longjmps: abandoned entries do not pile up, and later stacks are
    right."""
    same([f"{TARGETS}/s_instrument", "jump", "1000"], "instrument", "cfi")


@test
def t_instrument_deeper_than_its_list():
    """100,000 calls are more than are listed: cut stacks for them, and whole ones when they have returned."""
    r, _ = same([f"{TARGETS}/s_instrument", "deep", "100000"], "instrument", "cfi", least=10)
    cut = [s for s in r["stacks"] if s["truncated"]]
    assert cut and all("dig" in functions(s, "s_instrument") for s in cut), cut
    assert any(functions(s, "s_instrument")[-2:] == ("dig", "main") and not s["truncated"] for s in r["stacks"])


@test
def t_instrument_in_odd_programs():
    """Handlers that allocate, coroutines, a timer that interrupts enter and exit, children in its memory, threads."""
    program = build("s_torture", "-O1", "-finstrument-functions")
    for mode in ("handlers", "coroutines", "failing-exec", "clone-vm"):
        same([program, mode], "instrument", "cfi", least=2)
    for mode in (["timer"], ["short", "500"], ["late-ends"]):
        a, b = (watch([program, *mode], f"unwind={e}")[0]["totals"]["allocated_blocks"] for e in ("instrument", "cfi"))
        assert a == b > 500, (mode, a, b)
    watch([program, "storm"], "unwind=instrument")
    watch([program, "limits"], "unwind=instrument")


@test
def t_instrument_without_tables():
    """Where there are no unwind tables the program's own functions are the same, from malloc's caller to main."""
    plain = build("s_instrument", "-O1", "-finstrument-functions")
    bare = build("s_instrument", "-O1", "-finstrument-functions", "-fno-asynchronous-unwind-tables",
                 "-fno-unwind-tables")
    assert ".eh_frame_hdr" in run(["readelf", "-SW", plain]).stdout
    fde = run(["readelf", "--debug-dump=frames", bare]).stdout.partition(".debug_frame section")[0]
    symbols = dict(reversed(line.split()[::2]) for line in run(["nm", bare]).stdout.splitlines()
                   if re.fullmatch(r"[0-9a-f]+ t (leaf|recurse|dig)", line))
    assert len(symbols) == 3 and not any(f"pc={a}" in fde for a in symbols.values()), "it has tables"
    for arguments in ([], ["deep", "20"], ["jump", "60"]):
        a = watch([plain, *arguments], "unwind=cfi")[0]
        b = watch([bare, *arguments], "unwind=instrument")[0]
        names = [collections.Counter(), collections.Counter()]
        for r, count in zip((a, b), names):
            for s in r["stacks"]:
                fs = functions(s, "s_instrument")
                if not {"unseen", "climb", "signals", "turn"} & set(fs):  # see agent/unwind/call_stack.c
                    count[fs] += s["allocated_blocks"]
        assert names[0] == names[1], f"{names[0] - names[1]} against {names[1] - names[0]}"
        # a signal's stack within the frame that it interrupts leads a walk inwards: once
        assert not any(fs.count("signals") > 1 for fs in (functions(s, "s_instrument") for s in b["stacks"]))


@test
def t_stacks_as_the_program_tells_them():
    """Each function that s_stacks says is on the stack, and no other; test_arm64.py, test_armhf.py and test_musl.py have their own."""
    r, done = watch([f"{TARGETS}/s_stacks"], "unwind=cfi")
    want = told(done.stdout)
    got, reasons = shown(r, {name for stack in want for name in stack})
    assert len(want) > 40 and got == want and not any(reasons.values()), (want - got, got - want, reasons)


@test
def t_backtrace_of_the_program_itself():
    """memtop_backtrace() under each engine: the stack of the allocation that follows it."""
    for engine in ("instrument", "cfi", "caller", "fp"):
        r, done = watch([f"{TARGETS}/s_instrument", "own"], f"unwind={engine}")
        wanted = [f"{int(o, 0) if isinstance(o, str) else o:x}" for o in
                  (f["offset"] for s in watch([f"{TARGETS}/s_instrument", "own"], "unwind=cfi")[0]["stacks"]
                   if "compare_own" in functions(s, "s_instrument") and "leaf" in functions(s, "s_instrument")
                   for f in s["frames"] if f["module"] == "s_instrument" and not f["inlined"])]
        got = done.stdout.split()
        assert len(wanted) >= 6 and len(got) > 6, (wanted, got)
        # the allocation is made in leaf, and by another call of the same function
        assert got[1:len(wanted) - 2] == wanted[2:-1], f"{engine}: {got} {wanted}"


@test
def t_backtrace_without_tables():
    """memtop_backtrace() passes code without unwind tables by the functions that were entered."""
    flags = ("-O1", "-finstrument-functions")
    plain, bare = build("s_instrument", *flags), build("s_instrument", *flags, "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    counts = [len(watch([program, "own"], f"unwind={engine}", status=status)[1].stdout.split())
              for program, engine, status in ((plain, "cfi", 0), (bare, "instrument", 0), (bare, "cfi", 1))]
    assert counts[0] == counts[1] > 6 and counts[2] < 5, counts


@test
def t_backtrace_when_nobody_watches():
    done = run([f"{TARGETS}/s_instrument", "own"])
    assert done.returncode == 1 and not done.stdout, done


def twins(machine, triplet, emulator, *flags, engines):
    """The unwinder of that machine, as make has built it, in tests/unwind/twins.c built with these flags."""
    need(emulator, f"{triplet}-gcc")
    parts = ("base/area base/pages base/prim_linux base/msg base/arena base/self base/stretch modules/loader modules/maps modules/maps_file modules/maps_kind modules/segments "
             "unwind/stacks cfi/cfi cfi/records cfi/table cfi/index cfi/outermost unwind/cfi_step cfi/expr unwind/unwind "
             "unwind/incremental unwind/leave unwind/fold unwind/cfi_engine unwind/cache base/stack_bounds unwind/fp unwind/ehabi "
             "unwind/libunwind hooks/instrument unwind/call_stack unwind/backtrace unwind/fp_evidence unwind/epilogue "
             "unwind/insn linked/libc").split()
    objects = [f"{BUILD}/{machine}/agent/{part}.o" for part in parts]
    program = temporary_folder() + "/twins"
    done = run([f"{triplet}-gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O2", *flags, "-Iinclude", "-Iagent", "-Itests/unwind",
                "-o", program, "tests/unwind/twins.c", *objects, "-lpthread"])
    assert done.returncode == 0, done.stderr[-2000:]
    for engine in engines:
        done = run([emulator, "-L", f"/usr/{triplet}", program, engine], seconds=120)
        assert done.returncode == 0 and done.stdout.endswith(" 0 differ\n"), f"{engine} {done.returncode}: {done.stdout}{done.stderr}"


@test
def t_twins_on_arm64():
    """The instrument engine's stacks, and what fp and cfi keep, are the plain walk's; with signed return addresses, too."""
    arm64 = ("arm64", "aarch64-linux-gnu", emulator("aarch64"), "-fno-omit-frame-pointer")
    twins(*arm64, "-finstrument-functions", "-finstrument-functions-exclude-file-list=agent/,fakes.h", engines=["instrument"])
    for protection in ("none", "standard"):
        twins(*arm64, f"-mbranch-protection={protection}", engines=["fp", "cfi"])


@test
def t_twins_on_armhf():
    """What ehabi keeps is the plain walk's: in Thumb and in ARM code, with and without frame pointers."""
    for flags in ("-mthumb", "-mthumb -fno-omit-frame-pointer", "-marm"):
        twins("armhf", "arm-linux-gnueabihf", emulator("arm"), "-funwind-tables", *flags.split(), engines=["ehabi"])


@test
def t_auto_says_what_and_why():
    r, _ = watch([f"{TARGETS}/s_instrument", "deep", "3"], "unwind=auto")
    assert r["agent"]["unwind"] == "instrument", r["agent"]
    assert "-finstrument-functions" in r["agent"]["unwind_why"], r["agent"]
    r, done = watch([f"{TARGETS}/s_paths", "3"], "unwind=auto")
    assert r["agent"]["unwind"] in ("cfi", "fp") and r["agent"]["unwind_why"].startswith("auto: "), r["agent"]
    assert "unwind" not in done.stderr, done.stderr
    r, _ = watch([f"{TARGETS}/s_paths", "3"], "")
    assert r["agent"]["unwind"] in ("cfi", "fp") and r["agent"]["unwind_why"] is None, r["agent"]


@test
def t_instrument_that_cannot_be():
    """Nothing is instrumented, or the program has the hooks itself: one line, and the tables' stacks."""
    r, done = watch([f"{TARGETS}/s_paths", "4"], "unwind=instrument")
    assert r["agent"]["unwind"] == "cfi" and "not built with" in r["agent"]["unwind_why"], r["agent"]
    assert len([line for line in done.stderr.splitlines() if "unwind=instrument" in line]) == 1, done.stderr
    folder = temporary_folder()
    with open(f"{folder}/own.c", "w", encoding="utf-8") as f:
        f.write("""#include <stdlib.h>
#include <stdio.h>
#define NOT __attribute__((no_instrument_function))
static long entered, left;
NOT void __cyg_profile_func_enter(void *f, void *s) { (void)f, (void)s; entered++; }
NOT void __cyg_profile_func_exit(void *f, void *s) { (void)f, (void)s; left++; }
__attribute__((noinline)) static void one(void) { void *volatile p = malloc(9); free(p); }
int main(void) { one(); printf("%ld %ld\\n", entered, left); return 0; }
""")
    done = run(["gcc", "-O1", "-fno-builtin", "-finstrument-functions", "-o", f"{folder}/own", f"{folder}/own.c"])
    assert done.returncode == 0, done.stderr
    for engine in ("instrument", "auto"):
        r, done = watch([f"{folder}/own"], f"unwind={engine}")
        assert done.stdout == "2 1\n", done.stdout
        assert r["agent"]["unwind"] == "cfi", r["agent"]
        if engine == "instrument":
            assert "of its own" in r["agent"]["unwind_why"] and "of its own" in done.stderr, done.stderr
        assert any(functions(s, "own")[:2] == ("one", "main") for s in r["stacks"])


@test
def t_libunwind_equals_cfi():
    have_libunwind()
    same([f"{TARGETS}/s_paths", "6"], "libunwind", "cfi", without=("libunwind.so.8.0.1", "ld-linux-x86-64.so.2"))
    same([f"{TARGETS}/s_cxx"], "libunwind", "cfi", without=("libunwind.so.8.0.1", "ld-linux-x86-64.so.2"))


@test
def t_libunwind_that_is_missing():
    """One line that names it; the program runs as if nobody had asked."""
    folder = temporary_folder()
    done = run(["gcc", "-shared", "-o", f"{folder}/libunwind.so.8", "-x", "c", "/dev/null"])
    assert done.returncode == 0, done.stderr
    env = environment(MEMTOP_OPTIONS="unwind=libunwind", LD_LIBRARY_PATH=folder)
    done = run([MEMTOP, "record", "-o", f"{folder}/a.mtop", "--", "/bin/sh", "-c", "echo unharmed; exit 7"], env=env)
    lines = [line for line in done.stderr.splitlines() if "libunwind" in line]
    assert done.stdout == "unharmed\n" and len(lines) == 1 and "unprofiled" in lines[0], done


@test
def t_fp_where_frame_pointers_are():
    """The program's functions as the tables have them."""
    program = build("s_instrument", "-O1", "-fno-omit-frame-pointer", "-fno-inline")
    for arguments in (["deep", "30"], ["jump", "60"]):
        found = []
        for engine in ("fp", "cfi"):
            r, _ = watch([program, *arguments], f"unwind={engine}")
            count = collections.Counter()
            for s in r["stacks"]:
                names = functions(s, "s_instrument")
                # a function of a library, without a frame pointer, hides the one that calls it
                if names and not any("strdup" in f["function"] for f in s["frames"]):
                    count[names] += s["allocated_blocks"]
            found.append(count)
        assert len(found[0]) >= 4 and found[0] == found[1], f"{found[0] - found[1]} against {found[1] - found[0]}"


@test
def t_fp_through_a_signal():
    program = build("s_instrument", "-O1", "-fno-omit-frame-pointer", "-fno-inline")
    r, _ = watch([program], "unwind=fp")
    through = [s for s in r["stacks"] if "handler" in functions(s, "s_instrument")]
    assert through and all(functions(s, "s_instrument")[:2] == ("leaf", "handler") for s in through)
    assert any(functions(s, "s_instrument")[-1] == "main" for s in through), [functions(s, "s_instrument") for s in through]


@test
def t_fp_where_they_are_not():
    """rbp holds anything: stacks end, say so, and nothing is lost; the program never notices."""
    folder = temporary_folder()
    with open(f"{folder}/odd.c", "w", encoding="utf-8") as f:
        f.write(r"""#include <stdlib.h>
__attribute__((noinline, used)) static void take(void) { void *volatile p = malloc(24); free(p); }
#define WITH(name, set) void name(void); __asm__(".text\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" \
    "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nsub $32, %rsp\n.cfi_def_cfa_offset 48\n" \
    set "\ncall take\nadd $32, %rsp\n.cfi_def_cfa_offset 16\npop %rbp\n.cfi_def_cfa_offset 8\nret\n" \
    ".cfi_endproc\n.size " #name ", .-" #name "\n");
unsigned long fake[4] = { 0x4141414141414141, 0x4242424242424242 };
WITH(one, "mov $1, %ebp")
WITH(odd, "movabs $0x7ffdeadbeef1, %rbp")
WITH(high, "mov $-256, %rbp")
WITH(higher, "mov $-16, %rbp")
WITH(highest, "mov $-8, %rbp")
WITH(text, "lea take(%rip), %rbp")
WITH(data, "lea fake(%rip), %rbp")
WITH(itself, "mov %rsp, (%rsp)\nmovq $1, 8(%rsp)\nmov %rsp, %rbp")
WITH(outwards, "lea 16(%rsp), %rbp\nmov %rbp, (%rbp)\nlea fake(%rip), %rax\nmov %rax, 8(%rbp)")
WITH(beyond, "lea 0x40000000(%rsp), %rbp")
int main(void) {
    for (int i = 0; i < 10; i++) { one(); odd(); high(); higher(); highest(); text(); data(); itself(); outwards(); beyond(); }
    return 0;
}
""")
    done = run(["gcc", "-O2", "-fomit-frame-pointer", "-fno-builtin", "-o", f"{folder}/odd", f"{folder}/odd.c"])
    assert done.returncode == 0, done.stderr
    r, _ = watch([f"{folder}/odd"], "unwind=fp")
    whole = watch([f"{folder}/odd"], "unwind=cfi")[0]
    for key in ("allocated_blocks", "allocated_bytes", "freed_bytes"):
        assert r["totals"][key] == whole["totals"][key], (key, r["totals"], whole["totals"])
    taken = [s for s in r["stacks"] if "take" in functions(s, "odd")]
    assert sum(s["allocated_blocks"] for s in taken) == 100, taken
    assert all(s["truncated"] for s in taken), taken
    same_program = watch(["/usr/bin/python3", "-c", "print(sum(len(str(i)) for i in range(9999)))"], "unwind=fp")
    assert same_program[1].stdout == "38886\n", same_program[1].stdout


@test
def t_cfi_where_rbp_is_something_else():
    """A function that saves rbp, and does not say so, calls malloc with anything in it; its caller's frame begins there."""
    folder = temporary_folder()
    with open(f"{folder}/unsaid.c", "w", encoding="utf-8") as f:
        f.write(r"""#include <stdlib.h>
void *with_rbp(long);
__asm__(".text\n.type with_rbp, @function\nwith_rbp:\n.cfi_startproc\npush %rbp\n.cfi_adjust_cfa_offset 8\nmov %rdi, %rbp\n"
    "mov $4000, %edi\ncall malloc@plt\npop %rbp\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size with_rbp, .-with_rbp\n");
int main(void) {
    for (long i = 0; i < 10; i++)
        for (long rbp = -64; rbp < 0; rbp += 8) free(with_rbp(rbp));
    return 0;
}
""")
    done = run(["gcc", "-O0", "-fno-omit-frame-pointer", "-o", f"{folder}/unsaid", f"{folder}/unsaid.c"])
    assert done.returncode == 0, done.stderr
    r, done = watch([f"{folder}/unsaid"], "unwind=cfi")
    taken = [s for s in r["stacks"] if "with_rbp" in functions(s, "unsaid")]
    assert sum(s["allocated_blocks"] for s in taken) == 80 and all(s["truncated"] for s in taken), taken


@test
def t_cut_stacks_by_module():
    """Where stacks end early: by reason and module, as many as there are."""
    r, _ = watch([f"{TARGETS}/s_paths", "4"], "depth=5")
    cut = r["agent"]["stacks"]["truncated"]
    assert {(c["module"], c["reason"]) for c in cut} == {("s_paths", "the depth limit")}, cut
    of_stacks = [s for s in r["stacks"] if s["truncated"]]
    assert sum(c["stacks"] for c in cut) == len(of_stacks) == r["agent"]["truncated_stacks"] > 0, cut
    assert sum(c["blocks"] for c in cut) == sum(s["allocated_blocks"] for s in of_stacks)


@test
def t_effort_is_told():
    """A stack that repeats is remembered; one that is new is captured, from where it leaves the last one."""
    folder = temporary_folder()
    with open(f"{folder}/again.c", "w", encoding="utf-8") as f:
        f.write("#include <stdlib.h>\nint main(void) { for (int i = 0; i < 50000; i++) free(malloc(20)); return 0; }\n")
    done = run(["gcc", "-O1", "-fno-builtin", "-o", f"{folder}/again", f"{folder}/again.c"])
    assert done.returncode == 0, done.stderr
    efforts = {}
    for engine in ("cfi", "instrument", "caller", "libunwind"):
        program = [f"{folder}/again"] if engine != "instrument" else [f"{TARGETS}/s_instrument", "jump", "300"]
        r, _ = watch(program, f"unwind={engine}")
        e = efforts[engine] = r["agent"]["stacks"]
        assert e["allocations"] == r["totals"]["allocated_blocks"], (engine, e, r["totals"])
        assert e["captures_from_nothing"] <= e["captures"] <= e["allocations"], (engine, e)
        assert e["remembered"] == e["allocations"] - e["captures"], (engine, e)
    assert efforts["cfi"]["remembered"] >= 49000, efforts["cfi"]
    assert efforts["caller"]["remembered"] >= 49000, efforts["caller"]
    assert 1 <= efforts["caller"]["frames_walked"] <= efforts["caller"]["captures"], efforts["caller"]
    assert efforts["libunwind"]["captures"] >= 50000 and efforts["libunwind"]["remembered"] == 0, efforts["libunwind"]
    # the list of entered functions ends nearly every walk: three frames are the rule, not ten
    assert efforts["instrument"]["frames_walked"] < 4 * efforts["instrument"]["captures"], efforts["instrument"]
    e = watch([f"{TARGETS}/s_paths", "10"], "unwind=cfi")[0]["agent"]["stacks"]
    assert e["captures"] >= 1024 and e["captures_from_nothing"] < 50, e
    assert 1024 < e["frames_walked"] < 10 * e["captures"] and e["edge_misses"] >= 1024 and e["pc_misses"] > 5, e


@test
def t_recursion_is_folded():
    """Two call sites that call each other make 1,024 paths of 20 frames; folded they stand on a stack once each."""
    whole, folded = (watch([f"{TARGETS}/s_paths", "10"], f"unwind=cfi{more}")[0] for more in ("", " fold_recursion=on"))
    for key in ("allocated_blocks", "allocated_bytes", "live_bytes", "live_blocks"):
        assert whole["totals"][key] == folded["totals"][key], (key, whole["totals"], folded["totals"])
    for r, least, most in ((whole, 1024, 2000), (folded, 2, 20)):
        own = [s for s in r["stacks"] if s["frames"][0]["function"] == "leaf"]
        assert least <= len(own) <= most and sum(s["allocated_blocks"] for s in own) == 1024, own[:3]
    assert all(len(set(frames(s))) == len(frames(s)) for s in folded["stacks"]), folded["stacks"]
    assert "recursion is folded" in " ".join(folded["warnings"]) and "folded" not in " ".join(whole["warnings"])


@test
def t_caller_names_the_caller():
    a, b = (watch([f"{TARGETS}/s_paths", "5"], f"unwind={e}")[0] for e in ("caller", "cfi"))
    assert all(len(frames(s)) == 1 for s in a["stacks"]), "more than the caller"
    count = [collections.Counter(), collections.Counter()]
    for r, c in zip((a, b), count):
        for s in r["stacks"]:
            c[frames(s)[0]] += s["allocated_blocks"]
    assert count[0] == count[1], f"{count[0] - count[1]} against {count[1] - count[0]}"


main()
