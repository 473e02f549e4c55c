# SPDX-License-Identifier: MIT
"""forward.py - shared ways to reach an agent: a genuine adb, a private sshd, a slow link."""
import contextlib
import os
import random
import socket
import subprocess
import sys
import time

import harness
from harness import LIB, environment, run, start, temporary_folder, wait_for

_ports = []  # names of those that this script uses


def listening(script, *arguments):
    """Start one of tests/lib's servers; (process, port)."""
    process = start([sys.executable, os.path.join(LIB, script), *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert line.startswith("listening tcp:"), f"{script} did not start: {line!r}"
    return process, int(line.split(":")[1])


def free_port():
    """A port for a server that takes no 0. Its name belongs to this script until its end, and the kernel gives it to
    nobody else, as it lies below those for whoever asks for any (net.ipv4.ip_local_port_range)."""
    while True:
        port = random.randrange(10000, 32768)
        name, probe = socket.socket(socket.AF_UNIX), socket.socket()
        with probe, contextlib.suppress(OSError):
            name.bind(f"\0memtop-test-port.{port}")
            probe.bind(("127.0.0.1", port))
            _ports.append(name)
            return port
        name.close()


class Adb:
    """Debian's adb with a server of its own (never port 5037), connected to tests/lib/adbd.py."""

    def __init__(self, *arguments, server=None, connect=True):
        harness.need("adb")
        self.device, port = listening("adbd.py", *arguments)
        self.serial = f"127.0.0.1:{port}"
        self.env = server.env if server else self._environment()
        if connect:
            self.connect("device")

    def _environment(self):
        env = {**os.environ, "HOME": temporary_folder(), "ANDROID_ADB_SERVER_PORT": str(free_port()), "ADB_MDNS": "0"}
        env.pop("ANDROID_SERIAL", None)
        harness.at_end(self.call, "kill-server", check=False)
        return env

    def connect(self, state):
        self.call("connect", self.serial, check=False)
        wait_for(lambda: f"{self.serial} {state}" in " ".join(self.call("devices", check=False).split()), 20, f"adb {state}")

    def call(self, *arguments, check=True):
        done = run(["adb", *arguments], 30, env=self.env)
        assert not check or done.returncode == 0, f"adb {' '.join(arguments)}: {done.stdout} {done.stderr}"
        return done.stdout

    def forward(self, name):
        """adb forward tcp:0 localabstract:NAME; the port on this side."""
        return int(self.call("-s", self.serial, "forward", "tcp:0", f"localabstract:{name}"))


class Sshd:
    """An OpenSSH server on loopback with keys made for it; forward() opens ssh -L to a socket."""

    SSHD = "/usr/sbin/sshd"

    def __init__(self):
        harness.need(self.SSHD, "ssh", "ssh-keygen")
        self.folder = temporary_folder()
        for key in ("host", "user"):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self.folder}/{key}"])
        os.rename(f"{self.folder}/user.pub", f"{self.folder}/authorized")
        self.port = free_port()
        with open(f"{self.folder}/config", "w", encoding="utf-8") as f:
            f.write(f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nPidFile none\n"
                    f"AuthorizedKeysFile {self.folder}/authorized\nPasswordAuthentication no\nUsePAM no\n"
                    "StrictModes no\nAllowStreamLocalForwarding yes\nPermitRootLogin prohibit-password\n")
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.log = f"{self.folder}/sshd.log"
        start([self.SSHD, "-D", "-f", f"{self.folder}/config", "-E", self.log])
        wait_for(self._up, 10, "sshd")

    def _up(self):
        try:
            with open(self.log, encoding="utf-8") as f:
                return "Server listening" in f.read()
        except FileNotFoundError:
            return False

    def forward(self, path):
        """ssh -L PORT:PATH; the port, once it listens."""
        port = free_port()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        ssh = start(["ssh", "-N", "-F", "none", "-p", str(self.port), "-i", f"{self.folder}/user", "-l", user,
                     "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={self.folder}/known",
                     "-o", "ExitOnForwardFailure=yes", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
                     "-L", f"127.0.0.1:{port}:{path}", "127.0.0.1"], stderr=subprocess.PIPE)

        def up():
            assert ssh.poll() is None, f"ssh ended: {ssh.stderr.read().decode()}"
            with open("/proc/net/tcp", encoding="utf-8") as f:
                return f":{port:04X} 00000000:0000 0A" in f.read()
        wait_for(up, 15, "ssh -L")
        return port


def slow_link(where, rate=100_000, delay=0.3):
    """A slow proxy in front of an agent's socket; (process, port)."""
    return listening("slowproxy.py", "--to", where, "--rate", rate, "--delay", delay)


def watched(program, *arguments, listen="@memtop.%p", options="", **named):
    """Start a program under the agent without memtop; returns the process."""
    env = environment(LD_PRELOAD=harness.AGENT, MEMTOP_OPTIONS=f"listen={listen} {options}".strip())
    return start([program, *map(str, arguments)], env=env, **named)


def explained(port):
    """memtop report on a forward to nobody: (seconds, status, stderr)."""
    begin = time.monotonic()
    done = run([harness.MEMTOP, "report", f":{port}"], 30, env=environment())
    return time.monotonic() - begin, done.returncode, done.stderr
