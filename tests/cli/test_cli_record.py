#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_cli_record.py - the command line: recording, its file, and the program's status."""
import json
import os
import re
import shlex
import signal
import stat
import struct
import subprocess

from cli import memtop, one_line, compiled
from harness import (AGENT, BUILD, TARGETS, Skip, at_end, at_once, check_invariants, environment, kill, main,
                     mostly_waits, recorded, recording, report, run, start, temporary_folder, test, wait_for,
                     wait_for_session)


@test
def t_unwritable_output():
    one_line(memtop("record", "-o", "/nonexistent/a.mtop", "--", "/bin/true"), 125, "/nonexistent/a.mtop")
    one_line(memtop("record", "-o", temporary_folder(), "--", "/bin/true"), 125, "-o")
    session = recorded("/bin/true")
    one_line(memtop("report", "-o", "/nonexistent/a.json", session), 3, "/nonexistent/a.json")


@test
def t_output_that_would_destroy():
    """Neither a program, a text nor a session is written over by a slip; a pipe is no place for a session."""
    folder = temporary_folder()
    script = folder + "/script"
    with open(script, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nexit 5\n")
    os.chmod(script, 0o755)
    one_line(memtop("record", "-o", script, "--", script), 125, script, "choose another -o")
    assert open(script, encoding="utf-8").read() == "#!/bin/sh\nexit 5\n"
    os.mkfifo(folder + "/pipe")
    one_line(memtop("record", "-o", folder + "/pipe", "--", script, seconds=20), 125, "pipe", "choose another -o")
    session = folder + "/a.mtop"
    assert memtop("record", "-o", session, "--", script).returncode == 5
    first = open(session, "rb").read()
    again = memtop("record", "-o", session, "--", script)
    assert (again.returncode, again.stderr) == (5, ""), "a script that named its file needs a clean stderr"
    whole = open(session, "rb").read()
    assert open(session + ".old", "rb").read() == first and whole != first
    assert memtop("record", "-o", session, "--", "/nowhere/prog").returncode == 127
    assert open(session, "rb").read() == whole and not os.path.exists(session + ".old"), "nothing was recorded"
    one_line(memtop("report", "-o", session, session), 2, session, "not a session")
    os.link(session, folder + "/a.txt")
    one_line(memtop("report", "-o", folder + "/a.txt", session), 2, "a.txt", "not a session")
    one_line(memtop("report", "-o", folder + "/b.mtop", session), 2, "memtop record -o")
    assert open(session, "rb").read() == whole and not os.path.exists(folder + "/b.mtop")


@mostly_waits
def t_wrong_options_start_no_program_and_leave_no_file():
    """A wrong option ends before the program starts, and no empty file passes for a recording."""
    folder = temporary_folder()

    def record(number, program, words, env):
        return memtop("record", *words, "-o", f"{folder}/{number}.mtop", "--", *program, env=env)
    path = compiled("int main(void) { return 0; }")
    with open(path, "r+b") as f:
        f.truncate(4000)  # the kernel takes it, and it dies at once
    cases = [(["/bin/sh", "-c", f"echo ran; exit {status}"], *how) for options in ("nonsense=1", "depth=x", 'x"', "libs=(", "unwind=cfi,depth")
             for status in (0, 6) for how in (([], environment(MEMTOP_OPTIONS=options)), (["--options", options], environment()))]
    cases.append(([path], [], environment()))
    answers = at_once(record, [(i, *case) for i, case in enumerate(cases)])
    one_line(answers.pop(), 139, "nothing was recorded", "never answered")
    for case, done in zip(cases, answers):
        one_line(done, 125, "--options: " if case[1] else "MEMTOP_OPTIONS: ", "man memtop-agent")
    assert not os.listdir(folder), os.listdir(folder)


def older(*changes):
    """An agent that differs in some words, as one of another version does."""
    path = temporary_folder() + "/libmemtop-agent.so"
    with open(AGENT, "rb") as f:
        whole = f.read()
    for was, now in changes:
        assert len(was) == len(now) and was in whole, was
        whole = whole.replace(was, now)
    with open(path, "wb") as f:
        f.write(whole)
    return path


@test
def t_an_agent_of_another_version():
    """What memtop itself says is skipped by an agent that does not know it; what the user wrote is checked against that agent."""
    path = temporary_folder() + "/a.mtop"
    version = memtop("--version").stdout.split()[1].encode()

    def record(agent, *words):
        return memtop("record", "--agent", agent, *words, "-o", path, "--", "/bin/sh", "-c", "echo ran")
    for agent in (older((b"wait_for", b"wait_xyz")), older((b"MEMTOP_START", b"MEMTOP_SPART"))):
        done = record(agent)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", ""), done
        assert report(path)["totals"]["allocated_blocks"]
    newer = version[:-1] + b"9"
    one_line(record(older((b"dump_to", b"dump_by"), (version + b" 1 2 ", newer + b" 1 2 ")), "--options", "dump_to=x"), 125,
             f'version {newer.decode()}, has no option "dump_to", which memtop {version.decode()} has')
    # one that does not describe itself has its words all the same
    unnamed = older((b"memtop\0\0" + version, b"memtap\0\0" + version), (b"\0dump_to\0", b"\0dump_by\0"))
    one_line(record(unnamed, "--options", "dump_to=x"), 125, "version 0.1.0 or older", '"dump_to"')
    assert record(unnamed, "--options", "depth=9").returncode == 0
    assert report(path)["totals"]["allocated_blocks"]
    one_line(record(older((version + b" 1 2 ", version + b" 0 0 "))), 125, f"version {version.decode()} is too old for memtop {version.decode()}")
    one_line(record(older((version + b" 1 2 ", version + b" 7 9 "))), 125, "too new")


@test
def t_links_and_disks():
    """What is no file of record's own stays: a link that leads nowhere, a disk's node."""
    folder = temporary_folder()
    os.symlink(folder + "/to", folder + "/link.mtop")
    one_line(memtop("record", "-o", folder + "/link.mtop", "--", "/nowhere/prog"), 127, "/nowhere/prog")
    assert os.path.islink(folder + "/link.mtop"), "the link is gone"
    if os.geteuid():
        raise Skip("needs root to make a disk's node")
    try:
        os.mknod(folder + "/disk", stat.S_IFBLK | 0o600, os.makedev(240, 0)) # a number that no disk has
    except OSError as e:
        raise Skip(f"no device nodes here: {e}") from e
    one_line(memtop("record", "-o", folder + "/disk", "--", "/bin/true"), 125, "not overwritten: it is a disk")


@test
def t_two_recorders_with_one_name():
    """The second one is refused before its program starts, and the first one's file stays whole."""
    folder = temporary_folder()
    first = recording("sh", "-c", f"read x; exec {TARGETS}/s_alloc", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                      stderr=subprocess.PIPE, text=True)
    path = first.session
    wait_for_session(path)
    size = os.path.getsize(path)
    one_line(memtop("record", "-o", path, "--", "touch", folder + "/started"), 125, path, "another memtop is writing to it")
    one_line(memtop("record", "-o", path, "@memtop.nobody"), 125, path, "another memtop is writing to it")
    assert not os.path.exists(folder + "/started") and os.path.getsize(path) >= size
    _, said = first.communicate("\n", timeout=60)
    assert first.returncode == 0 and said == "", (first.returncode, said)
    r = json.loads(memtop("report", "--format", "json", path).stdout)
    assert r["program"]["state"] == "exited" and r["totals"]["allocated_blocks"] > 0, r["program"]
    assert memtop("record", "-o", path, "--", "/bin/true").returncode == 0, "the name stays taken"


@test
def t_a_full_disk_gives_one_line_and_the_programs_failure():
    """A full disk gives one line with the saved part; the program's own failure still takes
    precedence."""
    def shell(status):
        return memtop("record", "-o", "/dev/full", "--", "/bin/sh", "-c", f"exit {status}")
    fine, failed = at_once(shell, [(0,), (7,)])
    one_line(fine, 125, "/dev/full", "No space left")
    one_line(failed, 7, "/dev/full")
    session = recorded("/bin/true")
    one_line(memtop("report", "-o", "/dev/full", session), 3, "No space left")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = memtop("report", session, stdout=full)
    assert done.returncode == 3 and "No space left" in done.stderr, done


@mostly_waits
def t_full_small_disk():
    """The file system is full after a second or two. memtop says how much it saved, and that file opens."""
    program = [BUILD + "/demo/mapd", "3"]
    folder = temporary_folder()
    whole = open(recorded(*program), "rb").read()
    first = 16 + 32 + struct.unpack_from("<I", whole, 20)[0]
    room = first // 4096 * 4096 + 4096
    assert room < len(whole) - 100, f"a first block of {first} bytes, {len(whole)} in all"
    os.mkdir(folder + "/small")
    if run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", folder + "/small"]).returncode:
        raise Skip("mounting a tmpfs needs rights")
    at_end(run, ["umount", "-l", folder + "/small"])
    path = recorded(*program, path=folder + "/small/a.mtop", status=125)
    assert re.fullmatch(r"memtop: [^\n]+No space left[^\n]+; [^\n]+\n", path.stderr) and "saved" in path.stderr, path.stderr
    after = memtop("report", "--format", "json", path)
    assert after.returncode == 0, f"what was saved does not open: {after}"
    saved = json.loads(after.stdout)
    assert saved["program"]["state"] == "cut" and 0 < saved["program"]["duration_s"] < 3, saved["program"]
    check_invariants(saved)


@test
def t_for_seconds_of_a_program():
    """memtop closes the file and says that the program runs on."""
    folder = temporary_folder()
    path = folder + "/a.mtop"
    with open(folder + "/said", "w+", encoding="utf-8") as said:  # the program keeps it open
        p = recording("/bin/sleep", "60", arguments=["--for", "0.7"], path=path, stdout=subprocess.DEVNULL, stderr=said)
        assert p.wait(60) == 0, p
        said.seek(0)
        words = said.read()
    found = re.search(r"recorded for 0\.7 s; it runs on as process (\d+), kill \1 ends it", words)
    assert found, words
    pid = int(found[1])
    with open(f"/proc/{pid}/cmdline", encoding="ascii") as f:
        assert f.read() == "/bin/sleep\0" + "60\0", "another process than the program"
    at_end(kill, pid)
    r = json.loads(memtop("report", "--format", "json", path).stdout)
    assert r["program"]["state"] == "running" and not [w for w in r["warnings"] if "missing" in w], (r["program"], r["warnings"])
    session = recorded("/bin/sh", "-c", "exit 3", arguments=["--for", "60"], status=3)
    assert session.stderr == "", session.stderr
    late = environment(LD_PRELOAD=f"{BUILD}/tests/lib/slow_agent.so", SLOW_AGENT="1500")  # slower than --for
    p = recording("/bin/sleep", "60", arguments=["--for", "0.2"], path=path, env=late, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert p.wait(60) == 0, p
    r = json.loads(memtop("report", "--format", "json", path).stdout)
    at_end(kill, r["program"]["pid"])
    assert r["program"]["state"] == "running", r
    for wrong in ("soon", "0", "-1", "1e3", "5x"):
        done = memtop("record", "--for", wrong, "--", "/bin/true")
        assert done.returncode == 2 and f"--for {wrong}: not a time" in done.stderr, done


@test
def t_report_of_no_known_ending():
    folder = temporary_folder()
    path = recorded("/bin/true")
    done = memtop("report", "-o", folder + "/a.xml", path)
    assert done.returncode == 2 and not os.path.exists(folder + "/a.xml"), done
    assert re.match(r"memtop: [^\n]+a\.xml: no format ends in \.xml; [^\n]+\n  text ", done.stderr), done.stderr
    for name, more in (("a.json", ()), ("a", ()), ("a.txt", ()), ("b.xml", ("--format", "text"))):
        assert memtop("report", "-o", f"{folder}/{name}", *more, path).returncode == 0, name


@test
def t_a_session_has_any_name():
    """What record wrote, every verb that takes a session reads, whatever it is called."""
    folder = temporary_folder()
    assert memtop("record", "-o", "x.mt", "--", "/bin/true", cwd=folder).returncode == 0
    os.rename(folder + "/x.mt", folder + "/a:1")
    os.symlink("a:1", folder + "/none")
    for name in ("a:1", "./a:1", "none", folder + "/none"):
        done = memtop("report", name, cwd=folder)
        assert done.returncode == 0 and "command: /bin/true" in done.stdout, done
    one_line(memtop("open", "none", cwd=folder), 2, "not a terminal")
    one_line(memtop("none", cwd=folder), 2, "not a terminal")
    with open(folder + "/text", "w", encoding="utf-8") as f:
        f.write("MTOP")
    one_line(memtop("report", "text", cwd=folder), 2, "text: a file, but not a session")
    one_line(memtop("open", "text", cwd=folder), 2, "not a terminal")
    os.mkfifo(folder + "/fifo")
    one_line(memtop("report", "fifo", cwd=folder), 2, "fifo: not a target")


@test
def t_status_is_passed_on():
    env = environment()
    for status in (0, 1, 42, 255):
        session = recorded("/bin/sh", "-c", f"exit {status}", env=env, status=status)
        assert session.stderr == "", session.stderr
    for name in ("TERM", "KILL", "SEGV", "ABRT", "INT"):
        recorded("/bin/sh", "-c", f"ulimit -c 0; kill -{name} $$", env=env, status=128 + getattr(signal, "SIG" + name))


@test
def t_record_is_transparent():
    """Input, output, arguments and environment of the program are as without memtop."""
    env = environment()
    del env["MEMTOP_AGENT"]  # ours, and taken out as such; the agent beside memtop is found
    p = recording("/usr/bin/python3", "-c", "import sys; print(sys.stdin.read()); print(sys.argv[1:]); print('e', file=sys.stderr)",
                  "-o", "--", "a b", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    out, err = p.communicate("some input", timeout=60)
    assert (out, err, p.returncode) == ("some input\n['-o', '--', 'a b']\n", "e\n", 0), (out, err, p.returncode)
    plain = run(["/usr/bin/env"], env=env).stdout
    seen = recorded("/usr/bin/env", env=env).stdout
    assert seen == plain, f"the environment differs\n{seen}"


@test
def t_command_is_one_that_a_shell_takes():
    words = ["-c", "exit 0", "", "it's", "a=b", "two  words", "$HOME"]
    path = recorded("/bin/sh", *words)
    line = re.search("^command: (.*)$", memtop("report", path).stdout, re.M).group(1)
    assert shlex.split(line)[1:] == words and "-c 'exit 0' ''" in line and " a=b " in line, line


@test
def t_record_default_name():
    folder = temporary_folder()
    done = memtop("record", "/bin/sh", "-c", "exit 3", cwd=folder)
    made = os.listdir(folder)
    assert done.returncode == 3 and len(made) == 1, (done, made)
    assert re.fullmatch(r"sh\.\d{8}-\d{6}\.mtop", made[0]), made
    assert made[0] in done.stderr, done.stderr


@mostly_waits
def t_record_interrupted():
    """SIGINT and SIGQUIT at memtop are the program's business; SIGTERM ends the recording, not the program."""
    folder = temporary_folder()
    path = folder + "/a.mtop"
    script = f"echo $$ >{folder}/pid; read line <{folder}/go; exit 9"
    os.mkfifo(folder + "/go")
    p = recording("/bin/sh", "-c", script, path=path, stderr=subprocess.PIPE)
    wait_for(lambda: os.path.exists(folder + "/pid") and open(folder + "/pid", encoding="utf-8").read().strip(), 20)
    wait_for_session(path)
    p.send_signal(signal.SIGINT)
    p.send_signal(signal.SIGQUIT)
    with open(folder + "/go", "w", encoding="utf-8") as go:
        go.write("\n")
    assert p.wait(60) == 9, p.returncode
    os.unlink(folder + "/pid")
    os.unlink(path)

    p = recording("/bin/sh", "-c", script, path=path, stderr=subprocess.PIPE)
    pid = int(wait_for(lambda: os.path.exists(folder + "/pid") and open(folder + "/pid", encoding="utf-8").read().strip(), 20))
    wait_for_session(path)
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) == 0, p.returncode
    os.kill(pid, 0)
    with open(folder + "/go", "w", encoding="utf-8") as go:
        go.write("\n")
    check_invariants(report(path))


@mostly_waits
def t_record_of_a_target():
    """For a time, until ^C, and to the target's end; the target does not notice."""
    folder = temporary_folder()
    os.mkfifo(folder + "/go")
    env = environment()
    target = start(["/bin/cat", folder + "/go"], env={**env, "LD_PRELOAD": AGENT}, stdout=subprocess.DEVNULL)
    name = f"@memtop.{target.pid}"
    wait_for(lambda: memtop("list", env=env).stdout.count(name), 20, "the agent in the list")
    session = recorded(arguments=["--for", "0.5", name], env=env)
    assert session.stderr == "", session.stderr
    assert report(session)["program"]["state"] == "running"

    p = recording(arguments=[name], env=env, stderr=subprocess.DEVNULL)
    wait_for_session(p.session)
    p.send_signal(signal.SIGINT)
    assert p.wait(60) == 0, p.returncode
    assert report(p.session)["program"]["state"] == "running" and target.poll() is None

    p = recording(arguments=["-p", str(target.pid)], env=env, stderr=subprocess.DEVNULL)
    wait_for_session(p.session)
    with open(folder + "/go", "w", encoding="utf-8") as go:
        go.write("x")
    assert target.wait(60) == 0
    assert p.wait(60) == 0, p.returncode
    r = report(p.session)
    assert (r["program"]["state"], r["program"]["status"]) == ("exited", 0), r["program"]


@test
def t_session_file_cut_empty_random():
    session = recorded("/bin/sh", "-c", "exit 0")
    folder = temporary_folder()
    whole = open(session, "rb").read()
    bad = folder + "/bad.mtop"

    def put(data):
        with open(bad, "wb") as f:
            f.write(data)

    put(b"")
    one_line(memtop("report", bad), 3, bad, "empty")
    put(os.urandom(5000))
    one_line(memtop("report", bad), 3, bad)
    one_line(memtop("report", folder + "/none.mtop"), 3, "none.mtop", "No such file")
    put(whole[:16] + whole[20:])
    one_line(memtop("report", bad), 3, bad, "damaged at byte 16", "record it again")
    os.mkfifo(folder + "/pipe.mtop")
    one_line(memtop("report", folder + "/pipe.mtop", seconds=20), 3, "not a plain file")
    os.mkdir(folder + "/dir.mtop")
    one_line(memtop("report", folder + "/dir.mtop"), 3, "dir.mtop")
    for cut in sorted({1, 7, 12, 15, 16, 30, len(whole) // 2, len(whole) - 17, len(whole) - 1}):
        put(whole[:cut])
        done = memtop("report", "--format", "json", bad)
        if done.returncode == 3:
            one_line(done, 3, bad)
            continue
        assert done.returncode == 0, f"cut at {cut}: {done}"
        assert re.fullmatch(r"memtop: [^\n]+; [^\n]+\n", done.stderr), f"cut at {cut} is not said: {done.stderr!r}"
        value = json.loads(done.stdout)
        assert value["warnings"], f"cut at {cut}: no warning in the report"


if __name__ == "__main__":
    main()
