#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_cli.py - the command line: verbs, options, statuses, and one clear line for each error."""
import json
import os
import re
import shutil
import signal
import subprocess
import unicodedata

import manual
from cli import memtop, one_line
from client import preload
from harness import (MEMTOP, check_invariants, child_of, environment, main, need, recorded, recording, report, run,
                     start, temporary_folder, test, wait_for)


VERBS = ("run", "attach", "adb", "record", "open", "report", "diff", "check", "mark", "detach", "list", "serve", "mcp")


@test
def t_help_of_every_verb():
    done = memtop("--help")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    listed = re.findall(r"^  ([a-z]+) ", done.stdout, re.M)
    assert listed == list(VERBS), listed
    for verb in VERBS:
        for word in ("--help", "-h"):
            done = memtop(verb, word)
            assert done.returncode == 0 and done.stderr == "", f"{verb}: {done}"
            assert done.stdout.startswith(f"usage: memtop {verb}"), done.stdout


@test
def t_help_names_only_what_exists():
    """Every option on a help page is taken; every verb that a page names has a page."""
    for verb in VERBS:
        page = memtop(verb, "--help").stdout
        for option, value in re.findall(r"^  (?:-\w, |    )(--[a-z-]+)(?: ([A-Z.]+))? ", page, re.M):
            if option == "--help":
                continue
            done = memtop(verb, option + ("=1" if value else ""), "--no-such-option")
            one_line(done, 2, "--no-such-option", "unknown option")
    for word in set(re.findall(r"(?:usage:|^  |;) +memtop ([a-z]+)", memtop("--help").stdout + "".join(
            memtop(v, "--help").stdout for v in VERBS), re.M)):
        assert word in VERBS, f"a help page names memtop {word}"


@test
def t_version():
    done = memtop("--version")
    assert done.returncode == 0 and re.fullmatch(r"memtop \d+\.\d+\.\d+(\+\S+)?\n", done.stdout), done


@test
def t_unknown_option():
    one_line(memtop("--frobnicate"), 2, "--frobnicate: unknown option", "memtop --help")
    for verb in VERBS:
        one_line(memtop(verb, "--frobnicate"), 2, "--frobnicate: unknown option", f"memtop {verb} --help")
        one_line(memtop(verb, "-Z"), 2, "-Z: unknown option")
    one_line(memtop("attach", "4121", "-o", "x.mtop"), 2, "-o: unknown option", "memtop attach --help")
    one_line(memtop("report", "-o"), 2, "-o: a value is missing")
    one_line(memtop("open", "--last=1"), 2, "takes no value")


@test
def t_missing_and_surplus_operands():
    one_line(memtop("report"), 2, "no target given", ":PORT")
    one_line(memtop("report", ":1", ":2"), 2, ":2: only one target can be given")
    one_line(memtop("report", "-p", "1", ":2"), 2, ":2: only one target can be given")
    one_line(memtop("run"), 2, "no program given")
    one_line(memtop("record"), 2)
    one_line(memtop("record", "--"), 2)
    one_line(memtop("check"), 2, "no limit given")
    one_line(memtop("open"), 2, "--last")
    one_line(memtop("mark"), 2, "no target given")
    one_line(memtop("list", "x"), 2, "x: ")


@test
def t_an_amount_that_is_none_is_one_line():
    program, folder = ["--", "/bin/true"], temporary_folder()
    for verb, option, rest in (
            ("check", "--max-live", program), ("check", "--max-growth", program), ("check", "--max-blocks", program),
            ("record", "--for", program), ("record", "--mark-every", program), ("record", "--mark-on-growth", program),
            ("report", "--stacks", ["-f", "csv", ":1"]), ("attach", "--timeout", ["--jdwp", "5005"]),
            ("serve", "--top", [":1"]), ("record", "--options", program)):
        of_agent = option == "--options"
        for bad in ("x", "-1", "1,5k", "1 k", "0x10", "1e3", "99999999999999999999", "1Q"):
            if of_agent and not bad.isalnum():
                continue  # two options
            done = memtop(verb, option, "sample=" + bad if of_agent else bad, *rest, cwd=folder)
            one_line(done, 125 if of_agent else 2, option)
            named = {f"{option} {bad}: ", f"{option}: {bad}: ", f'"sample={bad}"'}
            assert any(words in done.stderr for words in named), f"{bad!r} is not named: {done.stderr}"


@test
def t_a_number_alone_is_no_target():
    for words in (["4121"], ["report", "4121"], ["record", "4121"], ["mark", "4121"]):
        one_line(memtop(*words), 2, "memtop: 4121: a port or a process?; use :4121 or -p 4121\n")


@test
def t_a_program_without_a_verb_gets_advice():
    one_line(memtop("/bin/true"), 2, "/bin/true: ", "; use memtop run /bin/true\n")
    folder = temporary_folder()
    os.symlink("/bin/true", folder + "/server")
    one_line(memtop("./server", cwd=folder), 2, "./server: ", "; use memtop run ./server\n")
    one_line(memtop("sleep"), 2, "sleep: ", "; use memtop run sleep\n")


@test
def t_targets_that_cannot_be_are_named():
    for word in (":0", ":70000", ":x", "host:99999", "unix:", "@"):
        one_line(memtop("report", word), 2, word)
    for pid in ("0", "-5", "x", "99999999999999999999"):
        one_line(memtop("report", "-p", pid), 2, pid)
    for word, advice in (("host:", "host:9001"), ("::1:9001", "[::1]:9001"), ("[::1]", "[::1]:9001"), (":", ":9001"),
                         ("@" + "x" * 200, "107 bytes"), ("unix:/" + "x" * 200, "107 bytes"),
                         ("x" * 5000, "use a shorter path"), ("a\nb\033[31m", "not a target"), ("frob", "memtop --help")):
        one_line(memtop("report", word), 2, advice)


@test
def t_empty_arguments_are_errors():
    one_line(memtop(""), 2, '"": an argument is empty')
    for verb in VERBS[:-1]:
        one_line(memtop(verb, ""), 2, '"": an argument is empty', f"memtop {verb} --help")
    one_line(memtop("record", "-o", "", "--", "/bin/true"), 2, "--output: its value is empty")
    one_line(memtop("report", "--format=", ":1"), 2, "--format: its value is empty")
    one_line(memtop("report", "-p", "", ":1"), 2, "--pid: its value is empty")
    assert memtop("record", "--options", "", "-o", temporary_folder() + "/a.mtop", "--", "/bin/true").returncode == 0


@test
def t_program_where_a_target_belongs():
    """Its own options come behind it: the mistake is the missing verb, not they."""
    for words in (["/bin/ls", "-Z"], ["sleep", "60"], ["/bin/sh", "-c", "exit 0"]):
        one_line(memtop(*words), 2, f"{words[0]}: a program, not a target; use memtop run {words[0]}")
    one_line(memtop("frobnicate", "x"), 2, "frobnicate: not a target", "memtop --help")


@test
def t_no_such_symbol_folder():
    session = recorded("/bin/true")
    for option in ("--symbols", "--sysroot"):
        one_line(memtop("report", option, "/nonexistent", session), 2, f"/nonexistent: no such folder for {option}")


@test
def t_long_words_keep_the_advice():
    """A sentence that is too long loses its middle, never what to do."""
    path = "/" + "x/" * 2000
    one_line(memtop("record", "-o", path, "--", "/bin/true"), 125, "memtop: /x/x/", "choose another -o")


@test
def t_closed_standard_descriptors():
    """No file of memtop's gets the number of a closed one, and a program finds them closed."""
    folder = temporary_folder()
    path = folder + "/a.mtop"
    session = recorded("/bin/true")

    def shell(line):
        return run(["/bin/sh", "-c", line, MEMTOP, session, path], env=environment())

    one_line(shell('"$0" report "$1" >&-'), 3, "cannot be written", "Bad file descriptor")
    one_line(shell('"$0" --help >&-'), 3, "standard output", "Bad file descriptor")
    one_line(shell('"$0" report --format json "$1" 0>&- >/dev/full'), 3, "No space left")
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = shell(f'"$0" record -o "$2" -- /bin/sh -c "ls /proc/\\$\\$/fd >{folder}/fds; exit 7" {closed}')
        assert done.returncode == 7, f"{closed}: {done}"
        check_invariants(report(path))
        seen = set(open(folder + "/fds", encoding="ascii").read().split())
        shell(f'exec /bin/sh -c "ls /proc/\\$\\$/fd >{folder}/fds; exit 7" {closed}')
        plain = set(open(folder + "/fds", encoding="ascii").read().split())
        assert seen == plain, f"{closed}: the program has {seen}, without memtop {plain}"
    done = shell('"$0" record -o "$2" -- /no/such/program 2>&-')
    assert done.returncode == 127 and not os.path.exists(path + ".new"), done


@test
def t_reader_goes_away():
    session = recorded("/bin/true")
    for words in (["report", session], ["report", "--format", "json", session], ["--help"]):
        read, write = os.pipe()
        os.close(read)
        done = memtop(*words, stdout=write)
        assert done.returncode == -signal.SIGPIPE and done.stderr == "", done
        done = memtop(*words, stdout=write, restore_signals=False)  # ignored, as under some shells
        os.close(write)
        assert done.returncode == 3 and re.fullmatch(r"memtop: [^\n]+: [^\n]*Broken pipe; [^\n]+\n", done.stderr), done


@test
def t_synopsis_options_and_keys_are_those_of_the_man_page():
    """They come from the tables of verbs and requests: what --man prints stands in memtop.1 (make man puts it there)."""
    printed = memtop("--keys")
    assert printed.returncode == 0 and "  s                  :mark           mark a snapshot now\n" in printed.stdout, printed
    parts = memtop("--man").stdout.split('.\\" made by make man: ')[1:]
    assert [part.split("\n")[0] for part in parts] == ["synopsis", "options", "keys"], parts
    with open(f"{manual.FOLDER}/memtop.1", encoding="utf-8") as f:
        page = f.read()
    for part in parts:
        assert f'.\\" made by make man: {part}.\\" end\n' in page, f"{part.split()[0]}: make man"


@test
def t_the_view_needs_a_terminal():
    folder = temporary_folder()
    one_line(memtop("run", "/bin/sh", "-c", f"touch {folder}/ran"), 125, "not a terminal", "memtop record")
    assert not os.listdir(folder), "the program was started"
    one_line(memtop(":9001"), 2, "not a terminal", "memtop report")
    one_line(memtop(), 2, "not a terminal", "memtop list")
    one_line(memtop("open", recorded("/bin/true")), 2, "not a terminal", "memtop report")


@test
def t_a_terminal_of_unknown_kind_is_refused():
    need("script")
    env = environment()
    for term in (None, "no-such-terminal"):
        env.pop("TERM", None)
        if term:
            env["TERM"] = term
        log = temporary_folder() + "/typed"
        done = run(["script", "-qec", f"{MEMTOP} run /bin/true", log], env=env, seconds=20)
        assert done.returncode == 125, done
        text = open(log, encoding="utf-8", errors="replace").read()
        lines = [line for line in text.replace("\r", "").split("\n") if line and not line.startswith("Script ")]
        assert len(lines) == 1 and "TERM" in lines[0] or "terminal" in lines[0], text


@test
def t_open_last_without_sessions():
    one_line(memtop("open", "--last"), 3, "--last", "no session")
    env = environment()
    folder = env["XDG_STATE_HOME"] + "/memtop"
    os.makedirs(folder + "/x-1-20260101T000000.mtop")
    os.symlink("/etc/passwd", folder + "/y-1-20260101T000000.mtop")
    with open(folder + "/mine.mtop", "w", encoding="ascii") as f:
        f.write("what a user put there")
    one_line(memtop("open", "--last", env=env), 3, "--last", f"no session is saved in {folder};")
    for name, value in (("XDG_STATE_HOME", ""), ("HOME", ""), ("HOME", "relative")):
        env[name] = value
    for verb in ("open", "report"):
        one_line(memtop(verb, "--last", env=env), 3, "--last", "set HOME or XDG_STATE_HOME")
    one_line(memtop("report", "--last", "-p", "1"), 2, "--last", "-p")
    one_line(memtop("report", "--last", "a", "b"), 2, "--last", "leave out b")
    one_line(memtop("open", "--list", "a"), 2, "--list", "alone")
    for wrong in ("0", "-1", "many", "1k"):
        one_line(memtop("run", "--keep", wrong, "/bin/true"), 2, f"--keep {wrong}")


@test
def t_last_passes_over_what_cannot_be_opened():
    """An empty file, and one that was cut before its first block, as a full disk leaves them."""
    env = environment()
    folder = env["XDG_STATE_HOME"] + "/memtop"
    with open(recorded("/bin/true"), "rb") as f:
        whole = f.read()

    def written(name, content, age):
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/{name}", "wb") as f:
            f.write(content)
        os.utime(f"{folder}/{name}", (1_700_000_000 - age,) * 2)

    written("c-3-20260101T000003.mtop", b"", 0)
    one_line(memtop("report", "--last", env=env), 3, "c-3-", "it is empty")
    written("b-2-20260101T000002.mtop", whole[:16], 1)
    one_line(memtop("report", "--last", env=env), 3, "c-3-", "it is empty")
    written("a-1-20260101T000001.mtop", whole, 2)
    done = memtop("report", "--last", "--format", "json", env=env)
    assert done.returncode == 0 and json.loads(done.stdout)["program"]["state"] == "exited", done
    assert done.stderr == f"memtop: --last: 2 newer sessions cannot be opened; this is {folder}/a-1-20260101T000001.mtop\n", done
    listed = memtop("open", "--list", env=env)
    assert listed.returncode == 0 and listed.stderr == "", listed
    rows = [line.split() for line in listed.stdout.splitlines()]
    assert rows[0] == "TIME PROGRAM PID LENGTH SIZE IN USE FILE".split(), rows
    assert [(r[2], r[3], r[-2], r[-1][len(folder) + 1:]) for r in rows[1:]] == [
        (n[0], n[2], "-", n) for n in ("c-3-20260101T000003.mtop", "b-2-20260101T000002.mtop", "a-1-20260101T000001.mtop")], rows
    os.remove(f"{folder}/c-3-20260101T000003.mtop")
    os.remove(f"{folder}/b-2-20260101T000002.mtop")
    done = memtop("report", "--last", env=env)
    assert done.returncode == 0 and done.stderr == "", done


@test
def t_list_empty_and_full():
    done = memtop("list")
    assert done.returncode == 0, done
    folder = temporary_folder()
    os.mkfifo(folder + "/go")
    p = recording("/bin/cat", folder + "/go", stderr=subprocess.DEVNULL)
    child = str(child_of(p.pid))
    wait_for(lambda: child in memtop("list").stdout.split(), 20, "the process in the list")
    with open(folder + "/go", "w", encoding="utf-8") as go:
        go.write("\n")
    assert p.wait(60) == 0


@test
def t_list_pads_by_columns_of_the_screen():
    """A name of wide and of accented letters: the sockets stand in one column."""
    folder = temporary_folder()
    os.mkfifo(folder + "/go")
    programs = [start([shutil.copy("/bin/cat", f"{folder}/{name}"), folder + "/go"], env=preload())
                for name in ("\u8868\u793a", "\xe9t\xe9", "plain")]

    def rows():
        lines = memtop("list", env={**environment(), "LC_ALL": "C.UTF-8"}).stdout.splitlines()
        own = [line for line in lines if line.split()[0] in [str(p.pid) for p in programs] + ["PID"]]
        return own if len(own) == 4 else None

    columns = {sum(2 if unicodedata.east_asian_width(c) == "W" else 1 for c in re.match(r" *\w+ +\S+ +\S+ +", row).group())
               for row in wait_for(rows, 20, "the processes in the list")}
    assert len(columns) == 1, columns
    with open(folder + "/go", "w", encoding="utf-8") as go:
        go.write("\n")


@test
def t_list_has_every_kind_of_socket():
    """A path, one with a space in it, and a name that says nothing of the process: all are listed, and found by pid."""
    folder = temporary_folder()
    os.mkfifo(folder + "/go")
    for address in (f"unix:{folder}/a.sock", f"unix:{folder}/%p b.sock", f"@{folder[1:]}"):
        p = start(["/bin/sh", "-c", f"read -r x <{folder}/go; :"], env=preload(f'"listen={address}"'))
        line = f"{p.pid:8}  {'sh':20} {0:7}  {address.replace('%p', str(p.pid))}"
        wait_for(lambda: line in memtop("list").stdout.splitlines(), 20, f"in the list: {line}")
        done = memtop("report", "-p", str(p.pid), "--format", "json")
        assert done.returncode == 0 and json.loads(done.stdout)["program"]["pid"] == p.pid, done
        with open(folder + "/go", "w", encoding="utf-8") as go:
            go.write("\n")
        assert p.wait(60) == 0


@test
def t_why_an_agent_listens_nowhere():
    """The agent tries for two seconds, with its stderr unread; a later request for the process gets
    the reason."""
    folder = temporary_folder()
    os.mkfifo(folder + "/go")
    taken = [f"{folder}/a.sock{suffix}" for suffix in ("", *(f".{n}" for n in range(2, 20)))]
    for path in taken:
        os.mkdir(path)
    for address, why in ((taken[0], "the address is taken"), (f"{folder}/none/a.sock", "there is no such folder")):
        p = start(["/bin/sh", "-c", f"read -r x <{folder}/go; :"], env=preload(f"listen=unix:{address}"))
        line = f"{p.pid}: sh has the agent, but no session: listen=unix:{address}: {why}"
        wait_for(lambda: line in memtop("list").stderr, 20, f"in the list: {line}")
        one_line(memtop("report", "-p", str(p.pid)), 3, f"sh has the agent, but no session: listen=unix:{address}: {why}")
        with open(folder + "/go", "w", encoding="utf-8") as go:
            go.write("\n")
        assert p.wait(60) == 0


@test
def t_bad_report_options():
    session = recorded("/bin/true")
    one_line(memtop("report", "--since", "nothing", session), 2, "nothing: no mark")
    one_line(memtop("report", "--between", "m1", session), 2, "m1: no mark")
    one_line(memtop("report", "--between", "m1..", session), 2, "m1..: two marks")
    one_line(memtop("report", "--since", "m1", "--between", "m1..m2", session), 2, "--since")
    one_line(memtop("mark", session), 2, "session file")
    one_line(memtop("record", session), 2, "session file")
    for seconds in ("x", "0", "-1", "1x", "0x10", "nan", "inf", "1e99", "9" * 30):
        one_line(memtop("record", f"--for={seconds}", ":1"), 2, "seconds")


if __name__ == "__main__":
    main()
