#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_adb_app.py - memtop adb: from Debian's adb to the heap of apps on a simulated device
(tests/lib/phone.py), with nothing left behind."""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

from cli import memtop, one_line
from harness import AGENT, BUILD, MEMTOP, TARGETS, main, mostly_waits, report, run, start, temporary_folder, wait_for
from phone import Phone
from term import Terminal

APP = "com.example.app"
PROGRAM = f"{TARGETS}/s_attach 1 0 0 5"  # with pauses: all tests run at once, and busy apps would starve them
# An app's wrapper: it is there until it was seen.
ENDS = 'exec bash -c "exec -a $2 bash -c \\"until [ -e $PHONE/seen ]; do sleep 0.05; done\\""'
LINE = re.compile(r"(\d+) (\S+): (.+); watch it with memtop :(\d+), then: adb -s \S+ forward --remove tcp:(\d+)\n")


def brought(phone, *arguments, how, app=APP):
    """memtop adb --no-view: (pid, report of the port that it printed). The forwarding is removed."""
    done = phone.memtop("--no-view", "--agent", AGENT, *arguments)
    match = LINE.fullmatch(done.stdout)
    assert done.returncode == 0 and match and match[2] == app and how in match[3], done
    assert phone.left()[-3:] == [phone.serial, f"tcp:{match[4]}", f"localabstract:memtop.{match[1]}"], phone.left()
    r = report(f":{match[4]}")
    assert r["program"]["pid"] == int(match[1]), r["program"]
    phone.adb.call("-s", phone.serial, "forward", "--remove", f"tcp:{match[5]}")
    return int(match[1]), r


def goes_on(pid):
    """The app lives, and no command of memtop's is left."""
    os.kill(pid, 0)


@mostly_waits
def t_the_apps_that_take_a_debugger_are_listed():
    phone = Phone()
    one = phone.memtop("--list")
    assert one.returncode == 0 and not one.stdout and "no process takes a debugger" in one.stderr, one
    phone.install(APP, PROGRAM, port=1)
    phone.install("com.hostile.app", PROGRAM, port=1)
    pid = phone.launch(APP)
    done = phone.memtop()
    assert done.returncode == 0 and not done.stderr, done
    assert done.stdout.splitlines()[1].split() == [phone.serial, str(pid), APP], done.stdout


@mostly_waits
def t_hostile_names():
    """What an app calls itself reaches neither the terminal nor a shell."""
    phone = Phone()
    name = f"a.b;touch {phone.root}/owned;$(reboot)\x1b[2J\u202e\n99 com.bank.app"
    phone.install("com.hostile.app", port=1)
    process = start([name, "-c", "import time; time.sleep(1000)"], executable=sys.executable)
    phone.write("packages/com.hostile.app/pid", str(process.pid))
    done = phone.memtop("--list")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 2 and "\x1b" not in done.stdout and "\u202e" not in done.stdout, done
    one_line(phone.memtop("--no-view", "com.bank.app"), 3, "com.bank.app: no such app")
    one_line(phone.memtop("--no-view", "--agent", AGENT, process.pid), 3, "not an app, so it has no folder")
    assert not os.path.exists(f"{phone.root}/owned") and not phone.left()


@mostly_waits
def t_apps_that_cannot_be():
    phone = Phone()
    phone.install(APP, PROGRAM)
    phone.install("com.example.other", PROGRAM, port=1)
    phone.launch("com.example.other")
    one_line(phone.memtop("--no-view", "com.example.none"), 3, "com.example.none: no such app on " + phone.serial)
    one_line(phone.memtop("--no-view", APP), 3, f"{APP}: installed, but not running", f"memtop adb --start {APP}")
    one_line(phone.memtop("--no-view", APP + ":remote"), 3, "installed, but not running", f"memtop adb --start {APP}\n")
    one_line(phone.memtop("--no-view", "2147483646"), 3, "2147483646: no such process")
    one_line(phone.memtop("--no-view", os.getpid()), 3, "takes no debugger")
    pid = phone.launch(APP)
    one_line(phone.memtop("--no-view", APP), 3, f"{APP}: runs, but takes no debugger", "debug build")
    phone.write("packages/com.example.app/debug", "1")
    phone.write("packages/com.example.app/dump", "    primaryCpuAbi=armeabi-v7a")
    one_line(phone.memtop("--no-view", APP), 3, f"{APP}: a 32-bit process (armeabi-v7a), but the Android agents are 64-bit")
    one_line(phone.memtop("--no-view", "--agent", AGENT, APP), 125, "armeabi-v7a", "x86")
    phone.write("packages/com.example.app/dump", "    primaryCpuAbi=null")
    one_line(phone.memtop("--no-view", "--agent", "/nonexistent", APP), 125, "/nonexistent: no agent there")
    one_line(phone.memtop("--no-view", "--agent", "/etc/passwd", APP), 125, "not an agent")
    phone.write("props/ro.build.version.sdk", "25")
    one_line(phone.memtop("--no-view", "--agent", AGENT, APP), 3, "API 25", "too old")
    goes_on(pid)
    assert not phone.left()


@mostly_waits
def t_a_sanitizers_process():
    """An app that has its sanitizer from its wrapper or its system: its own program says nothing of it."""
    library = temporary_folder() + "/libclang_rt.hwasan-x86_64-android.so"
    assert run(["gcc", "-shared", "-o", library, "-x", "c", "/dev/null"]).returncode == 0
    phone = Phone()
    phone.install(APP, f"bash -c 'LD_PRELOAD={library} exec -a {APP} {PROGRAM}'", port=1)
    pid = phone.launch(APP)
    wait_for(lambda: library in open(f"/proc/{pid}/maps", encoding="utf-8").read(), 20, "the library")
    one_line(phone.memtop("--no-view", "--agent", AGENT, APP), 3, f"{APP}: built with -fsanitize=hwaddress")
    one_line(memtop("attach", "--no-view", str(pid)), 3, "built with -fsanitize=hwaddress")
    assert not phone.left()


@mostly_waits
def t_selinux_says_why():
    """A load that fails, on a device where SELinux enforces: the refusal is in the line."""
    avc = 'avc:  denied  { execute } for  pid=7 comm="app" path="/data/memtop-1.so" scontext=u:r:untrusted_app:s0 tclass=file permissive=0'
    phone = Phone()
    phone.install(APP, PROGRAM)
    phone.write(f"data/app/{APP}/lib/x86_64/wrap.sh", "#!/system/bin/sh")
    phone.write(f"packages/{APP}/wrap.sh", ENDS)
    phone.write("log", f"I am another line\nW app     : type=1400 audit(0.0:1): {avc}\nlast")
    said = phone.memtop("--no-view", "--start", APP)
    one_line(said, 3, "ended before its agent listened")
    assert "SELinux" not in said.stderr, said
    phone.write("enforce", "Enforcing")
    one_line(phone.memtop("--no-view", "--start", APP), 3, "ended before its agent listened", f"(SELinux: Enforcing, {avc}); see adb shell setenforce 0")
    phone.write("log", "nothing")
    one_line(phone.memtop("--no-view", "--start", APP), 3, "(SELinux: Enforcing, no denial in the log); see what adb logcat")


@mostly_waits
def t_the_agent_cannot_get_there():
    """The storage is full; the app is not debuggable for run-as: nothing stays."""
    phone = Phone()
    phone.install(APP, PROGRAM, port=1, debuggable=False)
    pid = phone.launch(APP)
    one_line(phone.memtop("--no-view", "--agent", AGENT, APP), 3, f"{APP}: the app is not debuggable")
    assert not phone.left()
    phone.write("full")
    one_line(phone.memtop("--no-view", "--agent", AGENT, APP), 3, "push to the device: the device's storage is full")
    assert not phone.left()
    os.unlink(f"{phone.root}/full")
    phone.write("short")  # a loader that met it would end the app
    phone.write(f"packages/{APP}/debuggable")
    one_line(phone.memtop("--no-view", "--agent", AGENT, APP), 3, "the copy on the device is not whole")
    phone.write("root")
    os.unlink(f"{phone.root}/packages/{APP}/debuggable")
    one_line(phone.memtop("--no-view", "--agent", AGENT, APP), 3, "the copy on the device is not whole")
    assert not phone.left()
    goes_on(pid)


@mostly_waits
def t_interrupted_in_the_push():
    phone = Phone("--deaf", "sync:")
    phone.install(APP, PROGRAM, port=1)
    pid = phone.launch(APP)
    process = start([MEMTOP, "adb", "--no-view", "--agent", AGENT, APP], env=phone.environment(), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: any("push" in c for c in commands_of(process.pid)), 30, "the push")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and said.count("\n") == 1, said
    goes_on(pid)
    assert not phone.left()


def commands_of(parent, pid=None):
    """Command lines of its children, or of one process."""
    lines = []
    for number in [str(pid)] if pid else filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as f:
                if pid or int(f.read().rsplit(")", 1)[1].split()[1]) == parent:
                    with open(f"/proc/{number}/cmdline", encoding="utf-8", errors="replace") as c:
                        lines.append(c.read().replace("\0", " "))
        except OSError:
            pass
    return [line for line in lines if line]


@mostly_waits
def t_start_by_the_property():
    """Where the property may be set: every block from the start; options reach the agent."""
    phone = Phone()
    phone.write("settable")
    phone.install(APP, PROGRAM)
    old = phone.launch(APP)
    for wrong, why in (("sampel=1", 'no option is called "sampel"'), ("sample=fast", "is not a number")):
        one_line(phone.memtop("--no-view", "--agent", AGENT, "--start", "--options", wrong, APP), 2, "--options", why)
    assert commands_of(None, old) and not phone.left(), "a wrong option ended the app"
    pid, r = brought(phone, "--start", "--options", "exclude=it's.so min_size=16", APP, how="property wrap")
    assert pid != old and not commands_of(None, old), "the old process runs on"
    assert r["program"]["args"][0] == APP and "min_size" in str(r) and "it's.so" in str(r), r["program"]
    assert r["totals"]["live_bytes"] > 0 and not phone.left()
    phone.write("packages/com.example.app/debug", "1")
    assert brought(phone, APP, how="was already loaded")[0] == pid
    one_line(phone.memtop("--no-view", "--agent", AGENT, "--start", "--activity", "a'b", APP), 2, "not an activity's name")
    one_line(phone.memtop("--no-view", "--agent", AGENT, "--start", "com.example.none"), 3, "no such app")
    phone.install("com.x.lib", activity="none")
    phone.write("packages/com.x.lib/activity", "No activity found")
    one_line(phone.memtop("--no-view", "--agent", AGENT, "--start", "com.x.lib"), 3, "no launcher activity", "--activity")
    one_line(phone.memtop("--no-view", "--agent", AGENT, "--start", "--activity", ".Other", "com.x.lib"), 3,
             "com.x.lib/.Other: there is no such activity")
    assert not phone.left()


@mostly_waits
def t_start_by_its_own_script():
    phone = Phone()
    phone.install(APP, PROGRAM)
    phone.write(f"data/app/{APP}/lib/x86_64/wrap.sh", "#!/system/bin/sh")
    phone.write(f"packages/{APP}/wrap.sh", f'LD_PRELOAD={AGENT} exec "$@"')
    brought(phone, "--start", APP, how="its wrap.sh")
    phone.write(f"packages/{APP}/wrap.sh", ENDS)
    one_line(phone.memtop("--no-view", "--start", APP), 3, "ended before its agent listened", "logcat")
    assert not phone.left()
    assert not os.listdir(f"{phone.root}/data/local/tmp")


@mostly_waits
def t_an_old_daemon():
    """Without shell_v2: no status, no stderr, CR LF."""
    phone = Phone("--old")
    phone.write("settable")
    phone.install(APP, PROGRAM, port=1)
    one_line(phone.memtop("--no-view", "com.example.none"), 3, "no such app")
    brought(phone, "--start", APP, how="property wrap")
    phone.install("com.example.other", PROGRAM, port=1, debuggable=False)
    phone.launch("com.example.other")
    one_line(phone.memtop("--no-view", "--agent", AGENT, "com.example.other"), 3, "not debuggable")
    assert not phone.left()


@mostly_waits
def t_the_agent_beside_memtop():
    """android/ABI/libmemtop-agent.so, beside the program or as make install puts it, by the app's ABI."""
    phone = Phone()
    phone.write("settable")
    phone.install(APP, PROGRAM)
    for program, agent in (("memtop", "android/x86_64"), ("bin/memtop", "lib/memtop/android/x86_64")):
        folder = temporary_folder()
        os.makedirs(f"{folder}/{agent}")
        os.makedirs(f"{folder}/bin")
        shutil.copy(MEMTOP, f"{folder}/{program}")
        shutil.copy(AGENT, f"{folder}/{agent}/libmemtop-agent.so")
        done = phone.memtop("--no-view", "--start", APP, program=f"{folder}/{program}")
        assert done.returncode == 0 and "property wrap" in done.stdout, done
    phone.write(f"packages/{APP}/dump", "    primaryCpuAbi=arm64-v8a")
    one_line(phone.memtop("--no-view", "--start", APP, program=f"{folder}/bin/memtop"), 125, "android/arm64-v8a/libmemtop-agent.so")


@mostly_waits
def t_adb_root_reaches_apps_that_run_as_refuses():
    """adb root: an app that run-as refuses."""
    phone = Phone()
    phone.write("root")
    phone.write("settable")
    phone.install(APP, PROGRAM, debuggable=False)
    brought(phone, "--start", APP, how="property wrap")
    assert not phone.left()


def viewed(phone, *arguments):
    return Terminal([MEMTOP, "adb", "--agent", AGENT, *arguments], 120, 30, env=phone.environment(XDG_STATE_HOME=temporary_folder()))


@mostly_waits
def t_view_and_signals():
    """The view opens; however it ends, the forwarded port goes, and the app stays."""
    phone = Phone()
    phone.write("settable")
    phone.install(APP, PROGRAM, port=1)
    with viewed(phone, "--start", APP) as t:
        t.wait_for("[1 Over", 60)
        pid = phone.pid(APP)
        t.wait_for(f"[{pid}]", 20)
        assert phone.left()[1:] and len(phone.left()) == 3, phone.left()
        t.keys("Q")
        assert t.wait_exit(30) == 0
        assert f"process {pid} keeps the agent" in t.tmux("capture-pane", "-p", "-S", "-50")
    assert not phone.left()
    for signum in (signal.SIGTERM, signal.SIGHUP):
        with viewed(phone, APP) as t:
            t.wait_for("[1 Over", 60)
            os.kill(t.pid(), signum)
            assert t.wait_exit(60) == 128 + signum
        assert not phone.left()
    goes_on(pid)


@mostly_waits
def t_device_lost_in_the_view():
    """The view says that it is stale; leaving does not hang."""
    phone = Phone()
    phone.write("settable")
    phone.install(APP, PROGRAM, port=1)
    with viewed(phone, "--start", APP) as t:
        t.wait_for("[1 Over", 60)
        phone.adb.device.kill()
        t.wait_for(re.compile("STALE|lost|no longer|forwarded to nobody"), 60)
        t.keys("Q")
        assert t.wait_exit(60) in (0, 3)
    goes_on(phone.pid(APP))


@mostly_waits
def t_server_gone_in_the_view():
    """adb kill-server by somebody: memtop leaves without starting another."""
    phone = Phone()
    phone.write("settable")
    phone.install(APP, PROGRAM, port=1)
    with viewed(phone, "--start", APP) as t:
        t.wait_for("[1 Over", 60)
        t.wait_for(f"[{phone.pid(APP)}]", 60)
        phone.adb.call("kill-server")
        t.wait_for("STALE", 60)
        t.wait_for("adb forwards it no longer", 60)
        t.keys("Q")
        assert t.wait_exit(60) == 0
    with socket.socket() as s:
        assert s.connect_ex(("127.0.0.1", int(phone.adb.env["ANDROID_ADB_SERVER_PORT"]))), "adb's server was started again"


@contextlib.contextmanager
def left_again(phone):
    """A debugger comes and goes. A JVM's port is closed meanwhile, and open again when it says so; a device's ones always are."""
    said = phone.said(APP).count("Listening")
    yield
    wait_for(lambda: phone.said(APP).count("Listening") > said, 60, "the debug port again")


@mostly_waits
def t_into_a_java_program():
    """Through its debug port: later allocations are counted; a second attach finds the agent; after
    a detach another one works."""
    phone = Phone()
    phone.install_java(APP, "Sleeper")
    pid = phone.launch_java(APP)
    with left_again(phone):
        _, r = brought(phone, APP, how="JDWP")
    before = r["totals"]["live_bytes"]
    _, was, now = phone.say(APP, "50").split()
    direct = int(now) - int(was)
    assert direct > 50 * 100_000
    found, r = brought(phone, APP, how="was already loaded")
    live = r["totals"]["live_bytes"]
    zlib = sum(row["live_bytes"] for row in r["libraries"] if row["name"].startswith("libz.so"))
    assert found == pid and direct <= live - before - zlib < direct + 4_000_000, (before, live, direct, zlib)
    assert zlib > 50 * 200_000, zlib
    with viewed(phone, "--detach", APP) as t:
        t.wait_for("[1 Over", 60)
        t.wait_for(f"[{pid}]", 20)
        t.keys("Q")
        assert t.wait_exit(60) == 0
    assert not phone.left()
    brought(phone, str(pid), how="JDWP")
    assert "ailed" not in phone.said(APP), phone.said(APP)
    assert not phone.left()


@mostly_waits
def t_start_by_the_debugger():
    """No property may be set, no wrap.sh: am start -D."""
    phone = Phone()
    phone.install_java(APP, "Sleeper")
    brought(phone, "--start", APP, how="am start -D")
    assert "start -D -n " + APP in phone.read("am.log"), phone.read("am.log")
    one_line(phone.memtop("--no-view", "--agent", AGENT, "--start", "--options", "sample=1k", APP), 3, "--options")
    assert not phone.left()


@mostly_waits
def t_java_that_lets_nobody_in():
    """No thread comes by; the user does not wait for it; another debugger; System.load fails; the program ends meanwhile. It is unharmed."""
    phone = Phone()
    phone.install_java(APP, "Sleeper")
    pid = phone.launch_java(APP)

    def refused(*arguments, lines=1):
        done = phone.memtop("--no-view", "--agent", AGENT, *arguments)
        assert done.returncode == 3 and done.stderr.count("\n") == lines and not phone.left(), (done, phone.left())
        return done.stderr
    with left_again(phone):
        said = refused("--break", "Sleeper.never", "--timeout", "10", APP, lines=2)
    assert "bring the app to the front" in said and "Sleeper.never" in said, said
    with left_again(phone):
        assert "no class" in refused("--break", "com.none.Such.method", APP)
    with left_again(phone):
        said = refused("--agent", f"{BUILD}/musl/libmemtop-agent.so", APP)  # another libc's
    assert "System.load threw" in said, said

    def waiting():
        p = start([MEMTOP, "adb", "--no-view", "--agent", AGENT, "--break", "Sleeper.never", APP], env=phone.environment(),
                  stderr=subprocess.PIPE, text=True)
        assert "bring the app" in p.stderr.readline()
        return p
    with left_again(phone):
        interrupted = waiting()
        interrupted.send_signal(signal.SIGTERM)
        assert "interrupted" in interrupted.communicate(timeout=60)[1] and interrupted.returncode == 128 + signal.SIGTERM
    assert not phone.left()
    with left_again(phone), socket.create_connection(("127.0.0.1", int(phone.read(f"packages/{APP}/debug")))) as other:
        other.sendall(b"JDWP-Handshake")
        assert other.recv(14, socket.MSG_WAITALL) == b"JDWP-Handshake"
        assert "another debugger" in refused(APP)
    assert phone.say(APP, "5").startswith("direct")
    ending = waiting()
    os.kill(pid, signal.SIGKILL)
    assert "the app ended" in ending.communicate(timeout=60)[1] and ending.returncode == 3
    assert not phone.left()


@mostly_waits
def t_choice_among_two_devices():
    phone = Phone()
    other = Phone(server=phone.adb)
    for p in (phone, other):
        p.write("settable")
        p.install(APP, PROGRAM, port=1)
        brought(p, "--serial", p.serial, "--start", APP, how="property wrap")
    one_line(phone.memtop("--no-view", APP), 3, "2 devices: ", "--serial")
    rows = phone.memtop("--list").stdout.splitlines()[1:]
    assert sorted(r.split()[0] for r in rows) == sorted((phone.serial, other.serial)), rows
    with viewed(phone) as t:
        t.wait_for("Watch which one (1-2, Enter: none)?", 60)
        t.type("3")
        t.keys("Enter")
        t.wait_for(lambda lines: sum("Watch which one" in line for line in lines) == 2, 20)
        t.type("2")
        t.keys("Enter")
        t.wait_for("[1 Over", 60)
        second = next(p for p in (phone, other) if p.serial == rows[1].split()[0])
        t.wait_for(f"[{second.pid(APP)}]", 20)
        t.keys("P")  # its processes; another program: the table again, of both
        t.wait_for("another program")
        t.keys("End", "Enter")
        t.wait_for(lambda lines: sum("Watch which one (1-2" in line for line in lines) == 3, 60)
        t.keys("Enter")
        assert t.wait_exit(30) == 0
    assert not phone.left()
    with viewed(phone) as t:
        t.wait_for("Watch which one", 60)
        t.keys("C-c")
        assert t.wait_exit(30) == 130


main()
