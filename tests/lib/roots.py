# SPDX-License-Identifier: MIT
"""roots.py - root folders of other C libraries, from the mirror that apt uses, and programs that run in all of them."""
import os

from harness import Skip, run, temporary_folder

# main is started by the __libc_start_main of glibc 2.2.5.
START = r"""
.globl _start
_start: .cfi_startproc
    .cfi_undefined rip
    xor %ebp, %ebp
    mov %rdx, %r9
    pop %rsi
    mov %rsp, %rdx
    and $-16, %rsp
    push %rax
    push %rsp
    xor %r8d, %r8d
    xor %ecx, %ecx
    mov main@GOTPCREL(%rip), %rdi
    call *old_start@GOTPCREL(%rip)
    hlt
    .cfi_endproc
.symver old_start, __libc_start_main@GLIBC_2.2.5
.section .note.GNU-stack, "", @progbits
"""


def for_all_versions(source, program, *flags):
    """Builds a program of C that needs nothing but what glibc 2.2.5 has."""
    start = f"{temporary_folder()}/start.S"
    with open(start, "w", encoding="ascii") as f:
        f.write(START)
    done = run(["gcc", "-w", "-O1", "-fno-stack-protector", "-no-pie", "-nostartfiles", *flags, "-o", program, source, start])
    assert done.returncode == 0, done.stderr
    versions = run(["objdump", "-p", program]).stdout
    assert "GLIBC_2.2.5" in versions and "GLIBC_2.3" not in versions, versions


def mirror_of_apt():
    done = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"])
    if done.returncode or not done.stdout:
        raise Skip("apt knows no mirror of Debian")
    return done.stdout.split()[0]


def kept(name):
    """(folder, is it new?): ROOTS=FOLDER in the environment keeps roots between runs."""
    folder = f"{os.environ['ROOTS']}/{name}" if os.environ.get("ROOTS") else f"{temporary_folder()}/{name}"
    new = not os.path.exists(folder)
    os.makedirs(folder, exist_ok=True)
    return folder, new
