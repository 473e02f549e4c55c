#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_adb_words.py - memtop adb before any app: which client, which device, and one clear line for
each error.

A fake client that repeats real ones' states and errors, and Debian's client with devices in such
states.
"""
import os
import re
import signal
import subprocess
from random import Random

from cli import memtop, one_line
from forward import Adb
from harness import MEMTOP, at_once, environment, main, run, start, temporary_folder, test, wait_for
from phone import Phone

HEAD = "List of devices attached\n"
GOOD = HEAD + "R5CT10  device usb:1-1 product:p model:Pixel_6 device:d transport_id:1\n"


class Client:
    """A client of adb's that prints what it was told to."""

    def __init__(self, devices=GOOD, out="", err="", status=0, devices_status=0):
        self.folder = temporary_folder()
        for name, text in (("devices", devices), ("out", out), ("err", err)):
            with open(f"{self.folder}/{name}", "w", encoding="utf-8", errors="surrogateescape") as f:
                f.write(text)
        self.path = f"{self.folder}/adb"
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\ncd {self.folder}\necho "$@" >>log\ncase "$*" in "devices -l") cat devices; exit {devices_status};; esac\n'
                    f"cat out; cat err >&2; exit {status}\n")
        os.chmod(self.path, 0o755)

    def memtop(self, *arguments, env=None):
        return memtop("adb", "--adb", self.path, *arguments, env=env)


@test
def t_each_state_of_a_device_has_its_line():
    """Each of a device's states has its own line."""
    for state, *words in (("unauthorized usb:1-1", "does not trust this computer", "unlock its screen"),
                          ("authorizing", "still asks"),
                          ("offline", "it is offline", "adb reconnect"),
                          ("no permissions (user in plugdev group; are your udev rules wrong?); see [http://x] usb:1-1", "may not open", "udev"),
                          ("recovery", "recovery system", "adb reboot"), ("sideload", "sideload"), ("rescue", "recovery system"),
                          ("bootloader", "fastboot reboot"), ("connecting", "try again"),
                          ("host", '"host"')):
        client = Client(HEAD + f"R5CT10         {state} transport_id:2\n")
        one_line(client.memtop("--no-view", "com.example.app"), 3, "R5CT10: ", *words)
        done = client.memtop("--list")
        assert done.returncode == 3 and not done.stdout and words[0] in done.stderr, done


@test
def t_the_device_must_be_clear():
    one_line(Client(HEAD).memtop("--list"), 3, "no device is connected", "USB debugging")
    one_line(Client(HEAD).memtop("--no-view", "com.example.app"), 3, "no device is connected")
    two = Client(HEAD + "A1  device model:One\nB2  device model:Two\nC3  offline\n")
    one_line(two.memtop("--no-view", "com.example.app"), 3, "3 devices: A1 (device), B2 (device), C3 (offline)", "--serial")
    one_line(two.memtop("--no-view", "-s", "D4", "com.example.app"), 3, "D4: it is not connected")
    one_line(two.memtop("--list", "-s", "D4"), 3, "D4: it is not connected")
    one_line(two.memtop("--no-view", "-s", "C3", "com.example.app"), 3, "C3: it is offline")
    two.memtop("--no-view", "com.example.app", env=environment(ANDROID_SERIAL="B2"))
    two.memtop("--no-view", "--serial", "A1", "com.example.app", env=environment(ANDROID_SERIAL="B2"))
    stale = Client(HEAD + "A1  offline\nB2  device\n")  # only one can be meant
    stale.memtop("--no-view", "com.example.app")
    for client, serials in ((two, ["B2", "A1"]), (stale, ["B2"])):
        with open(f"{client.folder}/log", encoding="utf-8") as f:
            assert re.findall(r"^-s (\S+) shell", f.read(), re.M) == serials


@test
def t_what_adb_complains_of_is_told_in_one_line():
    """What adb says when it fails, at the first command for a device."""
    for said, *words in (("error: device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set", "does not trust"),
                         ("error: device offline", "it is offline"), ("error: device 'R5CT10' not found", "not connected"),
                         ("error: closed", "link to it was lost"), ("error: protocol fault (couldn't read status): Success", "was lost"),
                         ("adb: insufficient permissions for device", "udev"), ("", "without a message"),
                         ("* daemon not running; starting now at tcp:5037\n* daemon started successfully\nerror: closed", "was lost"),
                         ("adb: a new\x1b[2J kind of trouble\nsecond line", "kind of trouble")):
        done = Client(err=said + "\n", status=1).memtop("--no-view", "com.example.app")
        one_line(done, 3, "R5CT10: ", *words)
        assert "\x1b" not in done.stderr and "daemon" not in done.stderr, done.stderr
    one_line(Client("error: cannot connect to daemon at tcp:5037: refused\n", devices_status=1).memtop("--list"), 3, "server does not start")
    one_line(Client(out="rc=0\n").memtop("--no-view", "com.example.app"), 3, "ro.product.cpu.abi", "not Android")


@test
def t_garbage_from_adb_is_one_clean_line():
    """Whatever comes instead of an answer: one line, without anything that a terminal would obey."""
    random = Random(20261122)
    for i in range(20):
        noise = bytes(random.choices(b"\0\n\r =:rc0123\x1b[\xff'$`", k=random.choice((0, 1, 50, 5000)))).decode("utf-8", "surrogateescape")
        ending = random.choice(("", "rc=0\n", "rc=\n", "rc=99999999999999999999\n", "\nrc=0\r\n"))
        for client in (Client(out=noise + ending), Client(devices=HEAD + noise)):
            done = client.memtop("--no-view", "com.example.app")
            assert done.returncode == 3 and done.stderr.count("\n") == 1, (i, done)
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stderr), (i, done.stderr)
    one_line(Client(HEAD + "A1\x1b[2J\u202e  device\n").memtop("--no-view", "com.example.app"), 3, "no device is connected")
    one_line(Client(out="x" * 10_000_000).memtop("--no-view", "com.example.app"), 3, "R5CT10: ")


@test
def t_a_client_that_hangs_or_is_none():
    one_line(memtop("adb", "--list", env=environment(PATH="/nonexistent")), 3, "adb: not found", "--adb")
    one_line(memtop("adb", "--list", "--adb", "/nonexistent/adb"), 3, "/nonexistent/adb: not a usable adb client")
    home = temporary_folder()
    os.makedirs(home + "/platform-tools")
    os.symlink(Client(HEAD + "FROMHOME offline\n").path, home + "/platform-tools/adb")
    done = memtop("adb", "--no-view", "com.example.app", env=environment(ANDROID_HOME=home))
    assert done.returncode == 3, done  # its own folder is another: what counts is that it ran, and not PATH's
    with open(os.path.dirname(os.path.realpath(home + "/platform-tools/adb")) + "/log", encoding="utf-8") as f:
        assert "devices -l" in f.read()
    broken = temporary_folder() + "/adb"
    with open(broken, "w", encoding="utf-8") as f:
        f.write("\x7fELF, but no program")
    os.chmod(broken, 0o755)
    one_line(memtop("adb", "--list", "--adb", broken), 3, "cannot be started")


@test
def t_interrupted_while_the_client_hangs():
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        folder = temporary_folder()
        with open(f"{folder}/adb", "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\necho $$ >{folder}/pid.new && mv {folder}/pid.new {folder}/pid\nexec sleep 1000\n")
        os.chmod(f"{folder}/adb", 0o755)
        process = start([MEMTOP, "adb", "--list", "--adb", f"{folder}/adb"], env=environment(), stderr=subprocess.PIPE, text=True)
        wait_for(lambda: os.path.exists(f"{folder}/pid"), 20, "the client")
        process.send_signal(signum)
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 128 + signum and said.count("\n") == 1 and "interrupted" in said, said
        with open(f"{folder}/pid", encoding="ascii") as f:
            assert not os.path.exists(f"/proc/{int(f.read())}"), "the client goes on"


@test
def t_words_that_are_none():
    for words, *parts in ((("--no-view",), "no app given"), (("--no-view", "a.b", "c.d"), "c.d: only one app can be named"),
                          (("--list", "a.b"), "--list takes no app"), (("--start",), "no package given"),
                          (("--start", "4121"), "4121: not a package name"), (("--no-view", "x"), "x: not a package name"),
                          (("--no-view", "a.b;reboot"), "not a package name"), (("--no-view", "$(reboot).x"), "not a package name"),
                          (("--no-view", "a.b:c d"), "not a package name"), (("--no-view", "0"), "0: not"),
                          (("--no-view", "99999999999"), "not a package name"), (("--activity", "x", "a.b"), "works only with --start"),
                          (("--timeout", "0", "a.b"), "--timeout 0"),
                          (("--timeout", "x", "a.b"), "not a number of seconds"), (("a.b",), "not a terminal", "--no-view"),
                          (("--serial", "x" * 200, "a.b"), "too long"), (("--list", "--serial", ""), "its value is empty")):
        one_line(memtop("adb", *words, env=environment(PATH="/nonexistent")), 2, *parts)


def unauthorized():
    phone = Phone("--state", "unauthorized", connect=False)
    phone.adb.connect("unauthorized")
    one_line(phone.memtop("--no-view", "com.example.app"), 3, phone.serial, "does not trust this computer")


def recovery():
    phone = Phone("--state", "recovery", connect=False)
    phone.adb.connect("recovery")
    one_line(phone.memtop("--no-view", "com.example.app"), 3, phone.serial, "recovery system")


def gone():
    phone = Phone()
    phone.adb.device.kill()
    phone.adb.device.wait()
    done = phone.memtop("--no-view", "com.example.app")
    assert done.returncode == 3 and re.search("offline|not connected|no device", done.stderr), done


def bare():
    """Not Android: no getprop there."""
    adb = Adb()
    done = run([MEMTOP, "adb", "--no-view", "com.example.app"], env=environment(**{k: adb.env[k] for k in ("HOME", "ANDROID_ADB_SERVER_PORT")}))
    one_line(done, 3, adb.serial, "not Android")


@test
def t_states_of_a_real_adb():
    at_once(lambda f: f(), [(f,) for f in (unauthorized, recovery, gone, bare)])


main()
