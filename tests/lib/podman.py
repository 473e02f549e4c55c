# SPDX-License-Identifier: MIT
"""podman.py - real containers, for tests: podman with a storage of its own. Nothing is fetched."""
import json
import os
import re
import shutil
import subprocess
import tarfile

from harness import ROOT, Skip, at_end, environment, need, run, temporary_folder

# what may be missing where a container is inside another machine's sandbox
CONFIG = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=500:500"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


class Podman:
    """podman with its own storage, which goes with the test."""

    def __init__(self):
        need("podman")
        if os.geteuid():
            raise Skip("podman is tried as root alone")
        self.folder = temporary_folder()
        os.chmod(self.folder, 0o755)
        config = f"{self.folder}/containers.conf"
        with open(config, "w", encoding="utf-8") as f:
            f.write(CONFIG + ('runtime = "runc"\n' if shutil.which("runc") else ""))
        self.env = {**environment(), "CONTAINERS_CONF": config}
        # a file system for programs of this machine
        self.root = f"{self.folder}/root"
        for name in ("etc", "proc", "sys", "dev", "tmp", "run", "usr", "var"):
            os.makedirs(f"{self.root}/{name}")
        for name in ("bin", "lib", "lib64"):
            os.symlink(f"usr/{name}", f"{self.root}/{name}")
        at_end(self.do, "rm", "-fa", "-t", "0")
        at_end(self.do, "pod", "rm", "-fa", "-t", "0")
        self.unless_refused("podman runs nothing here")

    def unless_refused(self, what, *flags):
        """Skip with podman's reason where it runs no container with these flags."""
        done = self.here("/bin/true", flags=flags)
        if done.returncode:
            raise Skip(f"{what}: {(done.stderr.strip() or str(done)).splitlines()[-1]}")

    def need_init(self):
        """Pods and --init need podman's init (catatonit), which a package of its own holds."""
        self.unless_refused("podman has no init", "--init")

    def do(self, *arguments, **named):
        return run(["podman", "--root", f"{self.folder}/s", "--runroot", f"{self.folder}/r", "--tmpdir", f"{self.folder}/t",
                    "--storage-driver", "vfs", "--log-level", "error", *arguments], 120, env=self.env, **named)

    def must(self, *arguments):
        done = self.do(*arguments)
        assert done.returncode == 0, done
        return done.stdout.strip()

    def here(self, *command, flags=()):
        """A program of this machine in a container."""
        return self.do("run", "--network", "none", "-v", "/usr:/usr:ro", "-v", f"{ROOT}:{ROOT}:ro", *flags, "--rootfs", self.root, *command)

    def image(self, name, files, *changes):
        """files: {path in the image: path here}; the libraries that these need come along."""
        files = dict(files)
        for path in list(files.values()):
            done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
            files.update({lib: os.path.realpath(lib) for lib in re.findall(r"(/\S+) \(0x", done.stdout)})
        path = f"{self.folder}/image.tar"
        with tarfile.open(path, "w") as tar:
            for to, where in files.items():
                tar.add(where, to.lstrip("/"))
        self.must("import", "-q", *[a for c in ("ENV PATH=/usr/local/bin:/usr/bin:/bin", *changes) for a in ("--change", c)], path, name)

    def inspect(self, name):
        (found,) = json.loads(self.must("inspect", name))
        return found
