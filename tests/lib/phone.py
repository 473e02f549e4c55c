# SPDX-License-Identifier: MIT
"""phone.py - a device for `memtop adb`: tests/lib/adbd.py with files, properties and apps that are real processes here."""
import os
import re
import shutil
import tempfile

import harness
from forward import Adb, free_port
from harness import LIB, MEMTOP, Skip, environment, kill, run, wait_for
from java import CLASSES, LIGHT

COMMANDS = ("getprop", "setprop", "id", "pm", "dumpsys", "pidof", "cmd", "run-as", "am", "app_process", "su", "getenforce", "logcat", "dmesg")
PROPERTIES = {"ro.product.cpu.abi": "x86_64", "ro.build.version.sdk": "34", "ro.build.version.release": "14"}


class Phone:
    """One device, connected to an adb server of its own (or to that of another phone)."""

    def __init__(self, *arguments, server=None, connect=True):
        self.root = tempfile.mkdtemp(prefix="mt-")  # a property's value is short
        harness.at_end(shutil.rmtree, self.root, ignore_errors=True)
        for folder in ("bin", "props", "packages", "data/local/tmp", "data/user/0"):
            os.makedirs(f"{self.root}/{folder}")
        os.symlink(f"{self.root}/data/user/0", f"{self.root}/data/data")
        for name in COMMANDS:
            os.symlink(f"{LIB}/phone.sh", f"{self.root}/bin/{name}")
        for name, value in PROPERTIES.items():
            self.write(f"props/{name}", value)
        self.adb = Adb("--root", self.root, *arguments, server=server, connect=connect)
        self.serial = self.adb.serial

    def write(self, path, text=""):
        os.makedirs(os.path.dirname(f"{self.root}/{path}"), exist_ok=True)
        with open(f"{self.root}/{path}", "w", encoding="utf-8") as f:
            f.write(text + "\n" if text else "")

    def read(self, path):
        with open(f"{self.root}/{path}", encoding="utf-8") as f:
            return f.read()

    def install(self, package, command=None, debuggable=True, activity=".Main", port=None):
        """An app; `command` (shell words) is its process."""
        folder = f"packages/{package}"
        os.makedirs(f"{self.root}/data/user/0/{package}/code_cache")
        self.write(f"{folder}/activity", f"priority=0 preferredOrder=0\n{package}/{activity}")
        self.write(f"{folder}/dump", f"    primaryCpuAbi=null\n    legacyNativeLibraryDir={self.root}/data/app/{package}/lib")
        if debuggable:
            self.write(f"{folder}/debuggable")
        if command:
            self.write(f"{folder}/run", command)
        if port:
            self.write(f"{folder}/debug", str(port))
        harness.at_end(self.end, package)

    def install_java(self, package, name, **named):
        """A program of tests/targets/java as an app, with its debug port; say() writes to its stdin."""
        if not os.path.exists(f"{CLASSES}/{name}.class"):
            raise Skip(f"{CLASSES}/{name}.class is not built: make test-programs")
        port = free_port()
        fifo = f"{self.root}/{package}.stdin"
        os.mkfifo(fifo)
        self.install(package, f"java {' '.join(LIGHT)} -XX:ErrorFile={self.root}/crash "
                     f"-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:{port} "
                     f"-cp {CLASSES} {name} <>{fifo}", port=port, **named)

    def say(self, package, line):
        """To a Java app (Sleeper); its answer."""
        begun = len(self.said(package))
        with open(f"{self.root}/{package}.stdin", "w", encoding="utf-8") as f:
            f.write(line + "\n")
        return wait_for(lambda: re.search(r"^direct .*$", self.said(package)[begun:], re.M), 60, f"{package}'s answer")[0]

    def said(self, package):
        return self.read(f"packages/{package}/out")

    def launch_java(self, package):
        pid = self.launch(package)
        wait_for(lambda: "ready" in self.said(package), 60, f"{package} to be ready")
        return pid

    def launch(self, package):
        """As by a tap on its icon; its pid."""
        self.adb.call("-s", self.serial, "shell", f"am start -n {package}/.Main")
        return self.pid(package)

    def pid(self, package):
        return int(self.read(f"packages/{package}/pid"))

    def end(self, package):
        try:
            kill(self.pid(package))
        except (OSError, ValueError):
            pass

    def left(self):
        """What memtop left on it and on this side."""
        found = [os.path.join(at, f) for at, _, files in os.walk(f"{self.root}/data") for f in files if f.startswith("memtop")]
        found += [p for p in os.listdir(f"{self.root}/props") if p.startswith("wrap.") and self.read(f"props/{p}").strip()]
        return found + self.adb.call("forward", "--list").split()

    def environment(self, **more):
        return environment(**{k: self.adb.env[k] for k in ("HOME", "ANDROID_ADB_SERVER_PORT", "ADB_MDNS")}, **more)

    def memtop(self, *arguments, program=MEMTOP, seconds=120, **named):
        return run([program, "adb", *map(str, arguments)], seconds, env=named.pop("env", None) or self.environment(), **named)
