#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_arm64.py - the agent on AArch64, under qemu-user: totals, threads, marks, stacks, signals, forks, ends.

qemu-user refuses the agent a separate process, so its server is a thread of the program, and it
reports that. qemu-user also lacks ptrace, MADV_WIPEONFORK and the host's memory figures: only
native tests cover those.
"""

from elsewhere import Machine, check_cut, shown, tests_of_every_machine, told
from harness import emulator, main, run, temporary_folder, test


def machine():
    return Machine("arm64", emulator("aarch64"), "aarch64-linux-gnu")


tests_of_every_machine(machine, "aarch64", 64)


@test
def t_children_are_not_counted():
    r = machine().check_children()
    assert [f["function"] for f in r["stacks"][0]["frames"]][:3] == ["some", "everything", "main"], r["stacks"]


@test
def t_unit_tests_pass_under_qemu():
    machine().check_units("cohorts", "conf", "history", "record", "call_stack", "stacks")


@test
def t_cfi_is_the_default_engine():
    r, _ = machine().report_and_output("s_mark")
    assert r["agent"]["unwind"] == "cfi", r["agent"]


@test
def t_stacks_by_frame_pointers():
    machine().check_stacks("s_stacks", "fp")


@test
def t_stacks_by_tables():
    machine().check_stacks("s_stacks", "cfi")


@test
def t_stacks_by_the_functions_that_were_entered():
    """Code without unwind tables: a noted function leads to its caller, in the C library, too; a signal's to nowhere, and a
    coroutine's where its libc's code can be left."""
    m = machine()
    for signed in ("none", "standard"):
        program = m.compile("s_stacks", "-finstrument-functions", f"-mbranch-protection={signed}", "-fno-asynchronous-unwind-tables",
                            "-fno-unwind-tables")
        r, said = m.report_and_output(program, options="unwind=instrument")
        want = told(said)
        got, reasons = shown(r, {name for stack in want for name in stack})
        want, got = ({k: v for k, v in count.items() if not {"on_signal", "by_coroutine"} & set(k)} for count in (want, got))
        assert len(want) > 30 and got == want and not any(reasons[k] for k in got), (want, got, reasons)


@test
def t_stacks_with_signed_return_addresses():
    m = machine()
    program = m.compile("s_stacks", "-mbranch-protection=standard")
    for engine in ("fp", "cfi"):
        m.check_stacks(program, engine)


# A coroutine's first function, at the very end of its stack: it was entered with a return address of 0, and signs it. The
# stack is as far from main()'s as a kernel keeps it; qemu-user 10 maps it close below.
BEGINS = """#include <stdlib.h>
#include <sys/mman.h>
void *on_stack(void *);
__asm__(".text\\n.type on_stack, %function\\non_stack:\\n.cfi_startproc\\nstp x29, x30, [sp, -48]!\\n.cfi_def_cfa_offset 48\\n"
    ".cfi_offset 29, -48\\n.cfi_offset 30, -40\\nstp x19, x21, [sp, 16]\\nmov x19, sp\\nmov sp, x0\\nbl begins\\nmov sp, x19\\n"
    "ldp x19, x21, [sp, 16]\\nldp x29, x30, [sp], 48\\nret\\n.cfi_endproc\\n.size on_stack, .-on_stack\\n"
    ".type begins, %function\\nbegins:\\n.cfi_startproc\\nmov x21, x30\\nmov x30, 0\\nhint #25\\n.cfi_negate_ra_state\\n"
    "stp x29, x30, [sp, -16]!\\n.cfi_def_cfa_offset 16\\n.cfi_offset 29, -16\\n.cfi_offset 30, -8\\nmov x0, 4000\\nbl malloc\\n"
    "ldp x29, x30, [sp], 16\\nmov x30, x21\\nret\\n.cfi_endproc\\n.size begins, .-begins\\n");
int main(void) {
    char *far = (char *)(((unsigned long)&far - (1ul << 30)) & ~0xfffful), *stack = mmap(far, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack + (1 << 17), 1 << 17, PROT_NONE);
    for (int i = 0; i < 10; i++) free(on_stack(stack + (1 << 17)));
    return 0;
}
"""


@test
def t_a_stack_that_begins_with_a_signed_nothing():
    m = machine()
    folder = temporary_folder()
    with open(f"{folder}/begins.c", "w", encoding="ascii") as f:
        f.write(BEGINS)
    program = m.compile("begins", folder=folder)
    for engine in ("auto", "cfi", "fp"):
        r, _ = m.report_and_output(program, options=f"unwind={engine}")
        of = [s for s in r["stacks"] if s["allocated_bytes"] == 40000]
        assert [f["function"] for s in of for f in s["frames"]] == ["begins"], (engine, of)


@test
def t_stacks_without_frame_pointers():
    m = machine()
    m.check_stacks(m.compile("s_stacks", "-fomit-frame-pointer", "-O2"), "cfi")


# Code as s_art.c writes it, in a file without a table: what Android's linker lists of an app that was compiled ahead of time.
OAT = """.globl compiled
.type compiled, %function
compiled:
    sub sp, sp, #32
    str x30, [sp, #24]
    mov x9, x1
    mov x1, x2
    mov x2, x3
    blr x9
    ldr x30, [sp, #24]
    add sp, sp, #32
    ret
.size compiled, .-compiled
"""


@test
def t_compiled_code_of_art():
    """It ends a stack, with the reason: its callers are not known, and nobody else is shown in their place."""
    m = machine()
    folder = temporary_folder()
    with open(f"{folder}/boot.s", "w", encoding="ascii") as f:
        f.write(OAT)
    done = run([m.compiler, "-shared", "-nostdlib", "-o", f"{folder}/boot.oat", f"{folder}/boot.s"])
    assert done.returncode == 0, done.stderr
    program = m.compile("s_art", "-Wno-pedantic", "-ldl")
    for engine in ("auto", "cfi", "fp"):
        r, _ = m.report_and_output(program, f"{folder}/boot.oat", options=f"unwind={engine}")
        stacks = {s["allocated_bytes"] // 100: s for s in r["stacks"] if s["allocated_blocks"] == 100}
        for size, name in ((1001, None), (1002, None), (1003, "compiled")):
            s = stacks[size]
            assert [f["function"] for f in s["frames"]] == ["get", name], (engine, size, s["frames"])
            assert s["truncated"] == "no unwind table for the code", (engine, size, s["truncated"])
        assert [f["function"] for f in stacks[1004]["frames"]][:3] == ["get", "call", "main"], stacks[1004]
        assert stacks[1004]["truncated"] is None, stacks[1004]


@test
def t_code_without_records():
    """The fp engine ends a stack at a function whose table says that it keeps no frame pointer; the report gives the reason."""
    m = machine()
    r, said = m.report_and_output(m.compile("s_stacks", "-fomit-frame-pointer", "-O2"), options="unwind=fp")
    want = told(said)
    got, reasons = shown(r, {name for stack in want for name in stack})
    check_cut(want, got, reasons)


@test
def t_code_without_tables():
    """By frame pointers: functions without a table show by their instructions that they keep a record; but not where a
    signal interrupted one."""
    m = machine()
    program = m.compile("s_stacks", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-omit-frame-pointer")
    r, said = m.report_and_output(program, options="unwind=fp")
    want = told(said)
    got, reasons = shown(r, {name for stack in want for name in stack})
    check_cut(want, got, reasons)
    assert {k for k in want if {"on_signal", "by_fault"} <= set(k)} == set(want) - set(got), set(want) ^ set(got)


main()
