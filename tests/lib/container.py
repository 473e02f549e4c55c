# SPDX-License-Identifier: MIT
"""container.py - runs targets as a container engine would, when CONTAIN is set.

CONTAIN, in the environment, holds flags of tests/targets/contain.c; empty: targets run plainly.
platform/test_contained.py thus repeats scripts that start targets through contained() for each kind
of container.
"""
import os

import harness
from harness import Skip, children, wait_for

FLAGS = os.environ.get("CONTAIN", "").split()
AS_ONE = "--pid1" in FLAGS            # the target is process 1
OWN_PIDS = AS_ONE or "--init" in FLAGS  # its pids are those of a namespace of its own
AS_USER = "--uid" in FLAGS


def contained(command):
    """The command that runs `command` in the container. What LD_PRELOAD names is loaded into `command` alone."""
    return [os.path.join(harness.TARGETS, "contain"), *FLAGS, "--", *command] if FLAGS else list(command)


def need_place(*command):
    """Skip where no program runs behind `command`, which makes namespaces: a kernel or a chroot may refuse them."""
    done = harness.run([*command, "/bin/true"])
    if done.returncode:
        raise Skip(f"no namespace may be made here: {done.stderr.strip()}")


def unless_one(why):
    """Skip where the target is process 1."""
    if AS_ONE:
        raise Skip(f"as process 1 {why}")


def unless_own_pids(why):
    if OWN_PIDS:
        raise Skip(f"in a pid namespace of its own {why}")


def unless_user(why):
    if AS_USER:
        raise Skip(f"as a user without rights {why}")


def ended_by(number):
    """Popen's status of a target that a signal ended: an init can only exit with one."""
    return 128 + number if "--init" in FLAGS else -number


def _is_contain(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe").endswith("/contain")
    except OSError:
        return True


def target_of(outer):
    """The pid, as the tests see it, of what runs behind the contain that was started as `outer`."""
    def found():
        pid = outer
        for _ in range(AS_ONE + 2 * ("--init" in FLAGS)):
            below = children(pid)
            if not below:
                return None
            pid = below[0]
        return None if _is_contain(pid) else pid
    return wait_for(found, 10, "the program in its container") if OWN_PIDS else outer


def inner_pid(pid):
    """The same process' pid as itself sees it."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[-1]) for line in f if line.startswith("NSpid:"))
