#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_android.py - the agent of `make android` uses only what every Android since API level 26
offers; the gate checks it.

ANDROID_SYSTEM=DIR[:DIR...] also runs it there, by tests/android/run on a real system's folder.
"""
import glob
import os
import re
import shutil

from harness import BUILD, ROOT, Skip, environment, main, need, run, temporary_folder, test

ANDROID = os.path.join(ROOT, "tests", "android")
ABIS = ("x86_64", "arm64-v8a")
BUILT = os.path.join(BUILD, "android", "x86_64")
COMPILER = ("clang", "--target=x86_64-linux-android26")
LINK = ("-Wl,-z,max-page-size=16384", "-Wl,-soname,libmemtop-agent.so")


def gate(*libraries):
    return run([ANDROID + "/gate", *libraries], env=environment())


def agent(abi):
    return os.path.join(BUILD, "android", abi, "libmemtop-agent.so")


@test
def t_the_agent_passes():
    for abi in ABIS:
        done = gate(agent(abi))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done


def compiled(folder, source, *flags):
    need("clang", "ld.lld")
    with open(folder + "/more.c", "w", encoding="ascii") as f:
        f.write(source)
    return run([*COMPILER, "-nostdlibinc", "-isystem", ANDROID + "/include", "-isystem", BUILT + "/include", "-O2", "-fPIC", *flags, "-c", "-o",
                folder + "/more.o", folder + "/more.c"])


def said_of(source, *flags, link=LINK, more=(), alone=False):
    """What the gate says of the agent with one more source in it, whatever the linker thinks."""
    folder = temporary_folder()
    done = compiled(folder, source, *flags)
    assert done.returncode == 0, done.stderr
    objects = [] if alone else [f"{BUILT}/{c[:-2]}.o" for c in sorted(glob.glob("agent/*/*.c")) if not c.startswith("agent/linked/")]
    done = run([*COMPILER, "-shared", "-nostdlib", "-fuse-ld=lld", *link, "-Wl,-z,undefs", "-o", folder + "/agent.so", folder + "/more.o", *objects,
                f"-L{BUILT}/stub", "-lc", "-ldl", *more])
    assert done.returncode == 0, done.stderr
    done = gate(folder + "/agent.so")
    lines = done.stderr.splitlines()
    assert done.returncode == (1 if lines else 0), done
    assert all(line.startswith(f"memtop: {folder}/agent.so: ") and "; " in line for line in lines), lines
    return [line.split(": ", 2)[2] for line in lines]


def check(want, *arguments, **named):
    lines = said_of(*arguments, **named)
    assert len(lines) == 1 and want in lines[0], f"not one line with {want!r}: {lines}"


@test
def t_nothing_is_said_of_a_source_that_keeps_to_it():
    lines = said_of("#include <stdlib.h>\nvoid *more(void) { return calloc(1, 2); }\n")
    assert not lines, lines


@test
def t_thread_local_storage_is_caught():
    source = "__thread int more; int *more_at(void) { return &more; }\n"
    check("emulated thread-local storage", source)
    lines = said_of(source, "-fno-emulated-tls")
    assert any("API level 29" in line and "thread-local storage" in line for line in lines), lines


@test
def t_newer_functions_are_caught():
    check("memfd_create is there from API level 30 on, not 26", "int memfd_create(void);\nint more(void) { return memfd_create(); }\n")
    check("on_exit is in no libc", "int on_exit(void);\nint more(void) { return on_exit(); }\n")


@test
def t_reallocarray_is_caught():
    """The agent selects its own by itself; an undeclared function is an error with WERROR=1."""
    source = "void *reallocarray(void *, unsigned long, unsigned long);\nvoid *more(void *p) { return reallocarray(p, 1, 2); }\n"
    check("reallocarray is there from API level 29 on, not 26", source, alone=True)
    for name in ("reallocarray(0, 1, 2)", "memfd_create(0, 0)"):
        done = compiled(temporary_folder(), f"#include <stdlib.h>\n#include <sys/mman.h>\nlong more(void) {{ return (long){name}; }}\n", "-Wall", "-Werror")
        # GCC's and older clang's words, or newer clang's
        assert done.returncode and re.search(r"implicit declaration of function|call to undeclared function", done.stderr), done


@test
def t_destructors_are_caught():
    check("destructors", "__attribute__((destructor)) static void more(void) {}\n")


@test
def t_small_alignment_is_caught():
    check("aligned to 4096 bytes", "int more;\n", link=["-Wl,-z,max-page-size=4096", *LINK[1:]])


@test
def t_other_libraries_are_caught():
    folder = temporary_folder()
    done = run([*COMPILER, "-shared", "-nostdlib", "-fuse-ld=lld", "-Wl,-soname,liblog.so", "-o", folder + "/liblog.so", "-x", "c", "/dev/null"])
    assert done.returncode == 0, done.stderr
    check("it needs liblog.so", "int more;\n", more=["-Wl,--no-as-needed", folder + "/liblog.so"])


@test
def t_relocated_code_and_no_name_are_caught():
    check("its code is relocated", '__asm__(".text\\n.globl more\\nmore: .quad malloc\\n");\n', link=[*LINK, "-Wl,-z,notext"])
    check("it has no soname", "int more;\n", link=LINK[:1])


@test
def t_make_android_refuses_emulated_tls_and_destructors():
    """make android itself, when somebody commits such a source: the linker sees one, the gate the other."""
    folder, library = temporary_folder(), "b/android/x86_64/libmemtop-agent.so"
    for name in ("Makefile", "include", "tests"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    shutil.copytree(ROOT + "/agent", folder + "/agent")
    os.makedirs(folder + "/b/android")
    run(["cp", "-a", BUILT, folder + "/b/android/"])
    for source, why in (("__thread int mt_more;\nint *mt_at(void);\nint *mt_at(void)\n{\n\treturn &mt_more;\n}\n", "__emutls_get_address"),
                        ("__attribute__((destructor)) static void end(void)\n{\n}\n", f"memtop: {library}: it has destructors")):
        with open(folder + "/agent/base/more.c", "w", encoding="ascii") as f:
            f.write(source)
        done = run(["make", "--no-print-directory", "-C", folder, "B=b", library], env=environment())
        assert done.returncode == 2 and why in done.stderr, done
    assert not os.path.exists(os.path.join(folder, library)), "it was left"


@test
def t_on_a_real_android_libc():
    systems = list(filter(None, os.environ.get("ANDROID_SYSTEM", "").split(":")))
    if not systems:
        raise Skip("no Android here: run it with ANDROID_SYSTEM=/path/to/a/system/folder, or tests/android/run FOLDER")
    for system in systems:
        done = run([ANDROID + "/run", system], 300)
        assert done.returncode == 0, f"{system}: {done.stdout}{done.stderr}"


main()
