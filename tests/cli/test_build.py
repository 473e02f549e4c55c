#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_build.py - the build's guarantees: the agent exports agent.map and needs libc only, its
sources compile for arm64, the backend links without curses, every header compiles alone, sources
match `make format`, and `make install` installs everything, which `make uninstall` removes.
"""
import contextlib
import glob
import os
import re
import shutil
import subprocess

import harness
import manual
from harness import AGENT, BUILD, Skip, main, need, run, temporary_folder, test

BACKEND_LIBS = "-levent -ldw -lelf -lzstd -lz -liberty -ljansson -lpthread -ldl -lutil".split()


def output(*command):
    done = run(command)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


def make(*arguments, seconds=280):
    # not a part of the make that runs the tests: its job server is not ours
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD")}
    done = run(["make", "--no-print-directory", *arguments], seconds, env=env)
    assert done.returncode == 0, f"make {' '.join(arguments)}: status {done.returncode}\n{done.stderr[-3000:]}"
    return done.stdout


@test
def t_agent_exports_its_map():
    with open(f"{BUILD}/agent.map", encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    listed = set(re.search(r"global:(.*)local:", text, re.S).group(1).replace(";", " ").split())
    wildcards = {w for w in listed if w.endswith("*")}
    assert wildcards <= {"memtop_*"}, wildcards
    lines = output("nm", "-D", "--defined-only", AGENT).splitlines()
    exported = {line.split()[-1] for line in lines}
    public = {name for name in exported if name.startswith("memtop_")}
    missing, extra = listed - wildcards - exported, exported - listed - public
    assert not missing and not extra, f"missing {sorted(missing)}, not in the map {sorted(extra)}"
    header = "include/memtop/memtop.h"
    assert os.path.exists(header) or not public, f"{sorted(public)} without {header}"
    if public:
        with open(header, encoding="utf-8") as f:
            declared = set(re.findall(r"\bmemtop_\w+", f.read()))
        assert public <= declared, f"not declared in {header}: {sorted(public - declared)}"
    assert not [line for line in lines if "@" in line], "versioned symbols would not bind malloc@GLIBC_2.2.5"


@test
def t_agent_needs_libc_only():
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", AGENT)))
    assert needed <= {"libc.so.6", "ld-linux-x86-64.so.2"} and "libc.so.6" in needed, needed


@test
def t_agent_tls_is_static_and_small():
    text = output("readelf", "-lW", AGENT)
    size = re.search(r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(0x[0-9a-f]+)", text, re.M)
    assert size is None or int(size.group(1), 16) <= 64, f"TLS of {size.group(1)} bytes"
    assert "__tls_get_addr" not in output("nm", "-D", AGENT)


@test
def t_agent_compiles_for_arm64():
    need("aarch64-linux-gnu-gcc")
    folder = f"{BUILD}/arm64"  # where make arm64 has them
    objects = [f"{folder}/{os.path.splitext(c)[0]}.o" for c in sorted(glob.glob("agent/*/*.c")) if not c.startswith("agent/linked/")]
    make("-j2", f"B={folder}", "CC=aarch64-linux-gnu-gcc", "WERROR=1", *objects)
    machine = output("readelf", "-h", objects[0])
    assert "AArch64" in machine, machine


@test
def t_warnings_stop_only_where_asked():
    """A user's newer compiler warns of more; its warnings end no build and no check."""
    folder = temporary_folder()
    with open(f"{folder}/new.h", "w", encoding="ascii") as f:
        f.write("#warning of a newer compiler\n")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD", "WERROR")}
    for words, passes in (((), True), (("WERROR=1",), False)):
        done = run(["make", f"B={folder}/{passes}", f"CFLAGS=-include {folder}/new.h", *words, f"{folder}/{passes}/backend/base/format.o"], env=env)
        assert (done.returncode == 0) == passes and "of a newer compiler" in done.stderr, done
    said = run(["make", "-n", f"B={folder}/check", "check"], env=env).stdout
    assert " -Wall " in said and "-Werror" not in said, said[-2000:]
    with open(".ci/run", encoding="utf-8") as f:
        assert re.search(r"^export WERROR=1$", f.read(), re.M)


@test
def t_backend_needs_no_curses():
    folder = temporary_folder()
    with open(f"{folder}/third.c", "w", encoding="utf-8") as f:
        f.write('#include "model/model.h"\nint main(void)\n{\n\tstruct model *m = model_new();\n\tmodel_free(m);\n'
                "\treturn 0;\n}\n")
    done = run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-Iinclude", "-Ibackend", "-o", f"{folder}/third",
                f"{folder}/third.c", "-Wl,--whole-archive", f"{BUILD}/libmemtop.a", "-Wl,--no-whole-archive",
                *BACKEND_LIBS])
    assert done.returncode == 0, done.stderr[-2000:]
    assert run([f"{folder}/third"]).returncode == 0
    text = output("ldd", f"{folder}/third")
    assert "curses" not in text and "tinfo" not in text, text


@test
def t_headers_stand_alone():
    bad = []
    for header in sorted(h for part in ("agent", "backend", "tui", "include") for h in glob.glob(f"{part}/**/*.h", recursive=True)):
        part, name = header.split("/", 1)
        include = ["-Iinclude", f"-I{part}", *(["-Ibackend"] if part == "tui" else [])]
        name = f"<{name}>" if part == "include" else f'"{name}"'
        done = subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", *include, "-x", "c", "-"],
                              input=f"#include {name}\n", capture_output=True, text=True, check=False)
        if done.returncode:
            bad.append(f"{header}: {done.stderr.splitlines()[0]}")
    assert not bad, "\n".join([f"{len(bad)} headers need others before them", *bad])


@test
def t_sources_are_formatted():
    need("clang-format")
    version = re.search(r"version (\d+)", output("clang-format", "--version")).group(1)
    if version != "14":
        raise Skip(f"clang-format {version} formats differently: the sources are by 14")
    sources = make("formatted-list").split()
    done = run(["clang-format", "--dry-run", "--Werror", *sources], 280)
    bad = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.M)))
    assert done.returncode == 0, f"{len(bad)} files differ from what make format makes of them: {', '.join(bad[:10])}"
    long = []
    for path in sources:
        with open(path, encoding="utf-8") as f:
            long += [f"{path}:{n}" for n, line in enumerate(f, 1) if len(line.rstrip("\n").expandtabs(8)) > 100]
    assert not long, f"{len(long)} lines are longer than 100 columns: {', '.join(long[:10])}"


@test
def t_the_top_level_has_nothing_stray():
    """The output of a redirect was committed there once. A new name is a decision: it is written down here."""
    need("git")
    done = run(["git", "ls-files"])
    if done.returncode:
        raise Skip("no clone of git")
    names = {path.partition("/")[0] for path in done.stdout.split("\n") if path}
    expected = {".ci", ".clang-format", ".gitattributes", ".gitignore", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md",
                "agent", "backend", "include", "packaging", "tests", "themes", "tui"}
    assert names == expected, sorted(names ^ expected)


# Messages whose number is at least two, or a constant.
PLURAL = {"OPEN_ALL_MAX", "names resolved", "names slot", "threads hardly", "threads is inside", "threads are stepped",
          "lines and"}


@test
def t_words_agree_with_their_number():
    """ "1 blocks": format_s() and text_blocks() make the word."""
    nouns = "allocations|blocks|findings|frames|libraries|lines|marks|names|rows|sites|stacks|threads"
    counted = re.compile(rf"%(?:s|d|u|ld|lu|llu|zu)(?:%s)? (?:(?:more|older) )?(?:{nouns})\\b[^\n]*")
    wrong = [f"{path}: {m.group(0)}" for part in ("backend", "tui")
             for path in sorted(glob.glob(f"{part}/**/*.c", recursive=True))
             for m in counted.finditer(open(path, encoding="utf-8").read())
             if not any(p in m.group(0) for p in PLURAL)]
    assert not wrong, "\n".join(wrong)


@test
def t_flags_of_the_caller_count():
    """Each compiler call has CPPFLAGS and CFLAGS, each link LDFLAGS; the agent's own objects stay without LTO and checks."""
    text = make("-n", "V=1", f"B={temporary_folder()}", "CC=some-cc", "CPPFLAGS=-DSAID", "CFLAGS=-flto", "LDFLAGS=-Wl,--said", "all")
    compiled = re.findall(r"^some-cc .* -c -o (\S+) .*$", text, re.M)
    parts = {re.search(r"/(agent|backend|tui)/", name).group(1) for name in compiled}
    assert parts == {"agent", "backend", "tui"}, parts
    for line in re.findall(r"^some-cc .* -c -o .*$", text, re.M):
        assert "-DSAID" in line and "-flto" in line, line
        own = line.partition("-flto")[2]
        assert "-Iagent" not in line or ("-fno-lto" in own and "-U_FORTIFY_SOURCE" in own), line
    linked = re.findall(r"^some-cc .*-o \S+/(memtop|libmemtop-agent\.so) .*$", text, re.M)
    assert sorted(linked) == ["libmemtop-agent.so", "memtop"], linked
    for line in re.findall(r"^some-cc .*-o \S+/(?:memtop|libmemtop-agent\.so) .*$", text, re.M):
        assert "-Wl,--said" in line, line


def mark_of(path):
    """The version in an object or a program."""
    with open(path, "rb") as f:
        return re.search(rb"\b0\.\d+\.\d+[+\w.-]*", f.read()).group(0).decode()


@test
def t_each_build_has_its_mark():
    """The commit, from git or from its archive; a release's tag alone has none, and no build needs git."""
    need("git")
    tree, built = f"{temporary_folder()}/two words", "out/backend/base/build.o"
    for part in ("Makefile", ".gitattributes", *glob.glob("tests/*.mk"), "tests/deps.sh", *glob.glob("tests/*/*.mk")):
        os.makedirs(os.path.dirname(f"{tree}/{part}"), exist_ok=True)
        shutil.copy2(part, f"{tree}/{part}")
    for part in ("agent", "backend", "include", "tui"):
        shutil.copytree(part, f"{tree}/{part}")
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") and k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD", "MARK")}
    env.update(HOME=tree, GIT_CEILING_DIRECTORIES=os.path.dirname(tree))

    def call(*command, at=tree):
        done = run(command, 280, env=env, cwd=at)
        assert done.returncode == 0, f"{command}: {done.stdout[-1000:]} {done.stderr[-3000:]}"
        return done.stdout

    def build(at=tree):
        said = call("make", "--no-print-directory", "B=out", "WERROR=1", built, "out/agent/base/version.o", "out/backend/base/format.o", at=at)
        marks = {mark_of(f"{at}/{built}"), mark_of(f"{at}/out/agent/base/version.o")}
        assert len(marks) == 1, marks
        return marks.pop(), {line.split()[-1] for line in said.splitlines() if line.startswith("CC ")}

    def git(*arguments):
        return call("git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main", *arguments).strip()

    number, compiled = build()
    assert re.fullmatch(r"\d+\.\d+\.\d+", number) and len(compiled) == 3, (number, compiled)
    assert build() == (number, set())
    both = {"out/agent/base/version.o", built}
    git("init", "-q")
    git("add", ".gitattributes", "Makefile", "agent", "backend", "include", "tests", "tui")
    git("commit", "-q", "-m", "one")
    assert build() == (f"{number}+{git('rev-parse', '--short=8', 'HEAD')}", both)
    with open(f"{tree}/tests/deps.sh", "a", encoding="utf-8") as f:
        f.write("# changed\n")
    assert build()[0].endswith("-dirty")
    git("commit", "-q", "-a", "-m", "two")
    commit = git("rev-parse", "--short=8", "HEAD")
    assert build() == (f"{number}+{commit}", both)
    os.makedirs(f"{tree}/out/shallow")
    call("git", "clone", "-q", "--depth=1", f"file://{tree}", "out/shallow")
    assert build(f"{tree}/out/shallow")[0] == f"{number}+{commit}"
    # a tarball, which lies in the clone: git's answers there are not of it
    os.makedirs(f"{tree}/out/tarball")
    call("sh", "-c", "git archive HEAD | tar x -C out/tarball")
    got = build(f"{tree}/out/tarball")[0]
    assert got.startswith(f"{number}+") and commit.startswith(got.partition("+")[2][:7]), got
    git("tag", f"v{number}")
    assert build() == (number, both)
    git("commit", "-q", "--allow-empty", "-m", "three")
    assert build()[0] == f"{number}+1-g{git('rev-parse', '--short=8', 'HEAD')}"
    assert call("make", "--no-print-directory", "B=out", "MARK=deb12", built) and mark_of(f"{tree}/{built}") == f"{number}+deb12"


@test
def t_mark_and_prefix_relink_what_carries_them():
    """And compile two files: no test is built again for a commit; memtop knows a new PREFIX."""
    above = temporary_folder()
    output("cp", "-as", f"{BUILD}/.", above)

    def remade(*words):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{above}/build-says")
        shutil.copy2(f"{BUILD}/build-says", above)
        said = make("-n", f"B={above}", *words, "all", f"{above}/tests/unit/backend/base/test_base", f"{above}/tests/unit/agent/base/test_conf",
                    f"{above}/tests/unit/tui/screen/test_text")
        return {os.path.relpath(name, above) for name in re.findall(r" (?:-o|ar qcs) (\S+)", said)}

    with open(f"{BUILD}/build-says", encoding="utf-8") as f:
        says = re.fullmatch(r"[\d.]+\+?(\S*) (.*)\n", f.read())
    same = f"MARK={says.group(1)}", f"PREFIX={says.group(2)}"
    before = remade(*same)
    carry = {"agent/base/version.o", "backend/base/build.o", "libmemtop.a", "memtop", "libmemtop-agent.so", "libmemtop-agent.a.o",
             "libmemtop-wrap.a.o", "agent/inner.a"}
    assert not before & {"memtop", "libmemtop-agent.so"}, f"built again without a reason: {before}"
    assert remade(same[0] + "x", same[1]) - before == carry - before
    assert remade(same[0], "PREFIX=/else") - before == carry - before


@test
def t_the_manual_has_each_option_of_the_table():
    """include/memtop/options.h is the list; wait_for= is memtop's own."""
    with open("include/memtop/options.h", encoding="utf-8") as f:
        table = set(re.findall(r"^\tX\((\w+), \w+, MTW_", f.read(), re.M))
    with open("tui/man/memtop-agent.7", encoding="utf-8") as f:
        heads = "\n".join(line for line in f if line.startswith("\\fB"))
    described = set(re.findall(r"(?:\\fB|[ ,])([a-z_]+)=", heads))
    assert len(table) > 20 and described == table - {"wait_for"}, described ^ (table - {"wait_for"})


@test
def t_the_number_stands_once():
    """A release changes one line of the Makefile."""
    with open("Makefile", encoding="utf-8") as f:
        number = re.search(r"^VERSION := (\d+\.\d+\.\d+)$", f.read(), re.M).group(1)
    wrong = []
    for path in (*manual.PAGES, "README.md", "CONTRIBUTING.md", *glob.glob("backend/**/*", recursive=True), *glob.glob("agent/**/*", recursive=True),
                 *glob.glob("tui/**/*", recursive=True), *glob.glob("include/**/*", recursive=True)):
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as f:
                wrong += [f"{path}:{n}" for n, line in enumerate(f, 1) if re.search(rf"memtop\W{re.escape(number)}\b", line)]
    assert not wrong, wrong


@test
def t_flags_of_the_caller_count_for_other_targets():
    for words, compiler in (("CC=some-cc", "clang"), ("CC=some-clang-99", "some-clang-99")):
        folder = temporary_folder()
        files = [f"{folder}/{name}" for name in ("musl/libmemtop-agent.so", "android/x86_64/libmemtop-agent.so", "android/x86_64/memtop-attach")]
        text = make("-n", "V=1", f"B={folder}", words, "CPPFLAGS=-DSAID", "CFLAGS=-Dtoo", "LDFLAGS=-Wl,--said", *files)
        lines = [line for line in text.splitlines() if " -o " in line]
        for target in ("musl", "android/x86_64"):
            mine = [line for line in lines if f" -o {folder}/{target}/" in line]
            compiled = [line for line in mine if " -c " in line]
            assert len(compiled) > 50 and all("-DSAID" in line and "-Dtoo" in line for line in compiled), (target, compiled[:2])
            linked = [line for line in mine if " -c " not in line]
            assert len(linked) == (1 if target == "musl" else 2) and all("-Wl,--said" in line for line in linked), (target, linked)
        agent = next(line for line in lines if line.endswith("-lc -ldl") and "android" in line)
        assert agent.startswith(f"{compiler} --target=x86_64-linux-android"), agent
        musl = next(line for line in lines if f" -o {folder}/musl/" in line)
        assert musl.startswith("REALGCC=some-cc musl-gcc" if compiler == "clang" else "musl-gcc"), musl


@test
def t_install():
    folder = f"{temporary_folder()}/two words"
    make(f"B={BUILD}", "-o", "all", "install", f"DESTDIR={folder}", "PREFIX=/usr/local")
    root = f"{folder}/usr/local"
    expected = ["bin/memtop", "lib/memtop/libmemtop-agent.so", "lib/memtop/libmemtop-agent.a",
                "lib/memtop/libmemtop-wrap.a", "lib/memtop/wrap.flags", "lib/memtop/wrap-jemalloc.flags",
                "include/memtop/wire.h", "share/memtop/themes/dark.theme", "share/memtop/serve/memtop.rules.yml", "share/memtop/report.schema.json",
                "share/bash-completion/completions/memtop", "share/zsh/site-functions/_memtop", "share/fish/vendor_completions.d/memtop.fish",
                *(f"share/man/man{page[-1]}/{os.path.basename(page)}" for page in manual.PAGES)]
    missing = [e for e in expected if not os.path.exists(f"{root}/{e}")]
    assert not missing and len(manual.PAGES) == 5, f"not installed: {missing}; pages: {manual.PAGES}"
    for header in glob.glob("include/memtop/*.h"):
        assert os.path.exists(f"{root}/{header}"), f"{header} is not installed"
    done = run([f"{root}/bin/memtop", "--version"], env=harness.environment())
    assert done.returncode == 0 and "memtop" in done.stdout, f"{done.returncode} {done.stdout} {done.stderr}"


@test
def t_uninstall_removes_what_install_put():
    """With spaces in both folders: whole files, no temporary ones, and afterwards the user's own file and shared folders alone."""
    above = temporary_folder()
    folder, prefix = f"{above}/a stage", "/opt/my memtop"
    where = (f"B={BUILD}", f"DESTDIR={folder}", f"PREFIX={prefix}")
    own = f"{folder}{prefix}/lib/memtop/of the user"
    os.makedirs(os.path.dirname(own))
    with open(own, "w", encoding="utf-8") as f:
        f.write("stays")
    make(*where, "-o", "all", "install")
    files = [name for _, _, names in os.walk(folder) for name in names]
    assert {"memtop", "libmemtop-agent.so", "memtop.1", "memtop.h"} <= set(files), files
    assert not [name for name in files if ".new" in name], files
    assert open(f"{folder}{prefix}/bin/memtop", "rb").read() == open(harness.MEMTOP, "rb").read()
    assert os.access(f"{folder}{prefix}/bin/memtop", os.X_OK)
    make(*where, "uninstall")
    left = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    assert left == [own], left
    os.remove(own)
    make(*where, "uninstall")
    kept = [at for at, _, _ in os.walk(f"{folder}{prefix}") if os.path.basename(at) == "memtop"]
    assert not kept and os.path.isdir(f"{folder}{prefix}/bin"), kept


MARKS = ('#include <stdlib.h>\n#include <memtop/memtop.h>\nvoid *volatile p;\n'
         'int main(void)\n{\n\tp = malloc(99);\n\treturn memtop_set_mark("here") ? 7 : 0;\n}\n')


@test
def t_pkg_config_finds_header_and_agent():
    """A program against the installed files: unwatched by the header alone, with marks when the agent is linked in."""
    need("pkg-config")
    prefix = temporary_folder()
    make(f"B={BUILD}", "DESTDIR=", f"PREFIX={prefix}", "-o", "all", "install")
    source = f"{prefix}/marks.c"
    with open(source, "w", encoding="utf-8") as f:
        f.write(MARKS)
    env = {**harness.environment(), "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}

    def ask(what):
        done = run(["pkg-config", what, "memtop"], env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    for more, status in (([], 0), (ask("--variable=agent"), 7), (ask("--variable=wrap"), 7)):
        for flags in ("-O2",), ("-O2", "-flto"):
            output("gcc", *flags, *ask("--cflags"), "-o", f"{prefix}/marks", source, *more)
            done = run([f"{prefix}/marks"], env=env)
            assert done.returncode == status, f"{flags} {more}: {done.returncode} {done.stderr}"


CMAKE = """cmake_minimum_required(VERSION 3.13)
project(marks C)
find_package(memtop 0.1 REQUIRED)
foreach(how memtop agent wrap)
  add_executable(${how} marks.c)
  target_link_libraries(${how} PRIVATE memtop::${how})
endforeach()
"""


@test
def t_cmake_finds_header_and_agent():
    """In a folder with a space, as pkg-config does it; a version that is to come is refused."""
    need("cmake")
    folder = temporary_folder()
    prefix = f"{folder}/my tools"
    make(f"B={BUILD}", "DESTDIR=", f"PREFIX={prefix}", "-o", "all", "install")
    with open(f"{folder}/marks.c", "w", encoding="utf-8") as f:
        f.write(MARKS)
    env = {**harness.environment(), "CMAKE_PREFIX_PATH": prefix}
    for text, works in ((CMAKE.replace("0.1", "77"), False), (CMAKE, True)):
        with open(f"{folder}/CMakeLists.txt", "w", encoding="utf-8") as f:
            f.write(text)
        done = run(["cmake", "-S", folder, "-B", f"{folder}/{works}"], env=env)
        assert (done.returncode == 0) == works, done
    output("cmake", "--build", f"{folder}/True")
    for how, status in (("memtop", 0), ("agent", 7), ("wrap", 7)):
        done = run([f"{folder}/True/{how}"], env=env)
        assert done.returncode == status, f"{how}: {done.returncode} {done.stderr}"


@test
def t_debian_package():
    """Its control file, and what it installs: whole, stripped, and a memtop that finds its agent."""
    need("dpkg-deb", "dpkg-shlibdeps")
    folder = temporary_folder()
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD")}
    done = run(["packaging/deb", "pack", BUILD, folder], 280, env={**env, "DPKG_DEB_COMPRESSOR_TYPE": "none", "DEBFULLNAME": "A B", "DEBEMAIL": "a@b.org"})
    assert done.returncode == 0, done.stderr
    deb, = glob.glob(f"{folder}/memtop_*.deb")
    fields = dict(line.split(": ", 1) for line in output("dpkg-deb", "-f", deb).splitlines() if ": " in line and line[0] != " ")
    assert fields["Maintainer"] == "A B <a@b.org>" and fields["Package"] == "memtop", fields
    # trixie's libraries whose time_t became wider on other machines are called ...t64
    assert {"libc6", "libdw1", "libzstd1"} <= {word.split()[0].removesuffix("t64") for word in re.split(r"[,|] *", fields["Depends"])}, fields
    output("dpkg-deb", "-R", deb, f"{folder}/root")
    output("sh", "-c", f"cd {folder}/root && md5sum --quiet -c DEBIAN/md5sums")
    names = [os.path.relpath(os.path.join(at, name), f"{folder}/root") for at, _, files in os.walk(f"{folder}/root") for name in files]
    outside = [name for name in names if not name.startswith(("usr/", "DEBIAN/")) or name.startswith("usr/local/")]
    assert not outside, outside
    for page in manual.PAGES:
        assert f"usr/share/man/man{page[-1]}/{os.path.basename(page)}.gz" in names, page
    with open(f"{folder}/root/usr/share/doc/memtop/copyright", encoding="utf-8") as f, open("LICENSE", encoding="utf-8") as licence:
        text = f.read()
        missing = [line for line in licence.read().splitlines()[2:] if line.removeprefix("Copyright (c) ") not in text]
    assert not missing, missing
    for file in "bin/memtop", "lib/memtop/libmemtop-agent.so":
        assert ".symtab" not in output("readelf", "-SW", f"{folder}/root/usr/{file}"), file
    assert not os.access(f"{folder}/root/usr/lib/memtop/libmemtop-agent.so", os.X_OK)
    done = run([f"{folder}/root/usr/bin/memtop", "record", "--agent", f"{folder}/root/usr/lib/memtop/libmemtop-agent.so", "-o",
                f"{folder}/a.mtop", "--", "/bin/sh", "-c", ":"], env=harness.environment())
    assert done.returncode == 0, done
    assert harness.report(f"{folder}/a.mtop")["totals"]["allocated_blocks"] > 0


@test
def t_man_pages_are_clean():
    """No warning by mandoc, and no page that names one that does not exist."""
    need("mandoc")
    done = run(["mandoc", "-T", "lint", "-W", "warning", *manual.PAGES])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stdout + done.stderr
    names = {os.path.basename(page) for page in manual.PAGES}
    for page in manual.PAGES:
        with open(page, encoding="utf-8") as f:
            named = re.findall(r"(memtop(?:\\-\w+)?)(?:\\fP| )?\((\d)\)", f.read())
        assert named, page
        missing = {f"{name}.{number}".replace("\\-", "-") for name, number in named} - names
        assert not missing, f"{page} names {missing}"


@test
def t_readme_and_ci_give_one_command():
    with open(".ci/run", encoding="utf-8") as f:
        command = re.search(r"\bexec (.*)$", f.read(), re.M).group(1)
    with open("README.md", encoding="utf-8") as f:
        text = f.read()
    assert re.search(rf"^    {command}(  +#.*)?$", text, re.M), f"README.md does not give {command}"
    assert len(text.splitlines()) <= 150, "README.md is the door: more belongs into tui/man/"


@test
def t_what_has_no_package_is_a_skip():
    """Of a|b what there is; a test's package that there is not, or that apt cannot install, keeps none of the others out."""
    folder = temporary_folder()
    for name, does in {"dpkg-query": 'printf "installed %s\\n" gcc jdk-17', "id": "echo 0",
                       "apt-cache": 'case "$2" in gone*) exit 1; esac',
                       "apt-get": f'echo "$*" >>{folder}/asked; case "$*" in *broken*) echo "E: it is broken"; exit 100; esac'}.items():
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\n{does}\n")
        os.chmod(f.name, 0o755)

    def asked(*arguments):
        done = run(["tests/deps.sh", "--if-missing", *arguments], env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        if not os.path.exists(f"{folder}/asked"):
            return done.returncode, [], done.stderr
        with open(f"{folder}/asked", encoding="ascii") as f:
            lines = [line.split() for line in f if "install" in line]
        os.remove(f.name)
        return done.returncode, [" ".join(w for w in line[1:] if w[0] != "-") for line in lines], done.stderr

    assert asked("gcc", "--tests", "jdk|jdk-17") == (0, [], "")
    assert asked("make|gone", "--tests", "gone-a|b") == (0, ["make b"], "")
    assert asked("gcc", "--tests", "gone-a|gone-b") == (0, [], "memtop: apt knows no package gone-a|gone-b: tests that need it are skipped\n")
    status, lines, said = asked("make", "--tests", "broken", "b")
    assert (status, lines) == (0, ["make broken b"] * 2 + ["make", "broken", "b"]), lines
    assert said == "memtop: apt-get could not install broken: tests that need it are skipped (E: it is broken)\n", said
    status, _, said = asked("broken", "--tests", "b")
    assert status == 1 and "memtop: apt-get could not install the packages; run: " in said, said


main()
