#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""Other tests' guarantees hold in containers: under the default filters of Docker and podman, as
process 1 or not, with or without an init, as root or as a user.

Each case is another script with its targets in one kind of container (tests/targets/contain.c).
LONG=1 runs all kinds; otherwise some, which cover each part at least once.
"""
import os
import threading

from harness import BUILD, LONG, ROOT, TARGETS, Skip, main, mostly_waits, run, say

KINDS = [f"--profile {profile}{place}{user}" for profile in ("docker", "podman") for place in ("", " --pid1", " --init")
         for user in ("", " --uid 1000")] + ["--profile podman --pid1 --userns", "--profile podman --init --userns --uid 1000"]
SCRIPTS = ("unharmed", "server", "server_unseen")
SOME = {"--profile docker --pid1": SCRIPTS, "--profile docker --init --uid 1000": ("unharmed", "server"),
        "--profile podman --pid1 --userns": ("server", "server_unseen"), "--profile podman --uid 1000": ("server_unseen",)}
room = threading.Semaphore(3)  # so many at a time


def reachable():
    """May a user without rights come to where the programs lie?"""
    path = BUILD
    while path != "/":
        if not os.stat(path).st_mode & 0o005 == 0o005:
            return False
        path = os.path.dirname(path)
    return True


def contained(script, kind):
    if "--uid" in kind and not reachable():
        raise Skip(f"{BUILD}: not to be reached by other users")
    p = run([os.path.join(ROOT, "tests", "server", f"test_{script}.py")], 600, env={**os.environ, "CONTAIN": kind})
    lines = p.stdout.splitlines()
    passed, failed, skipped = ([x for x in lines if x.startswith(word)] for word in ("PASS ", "FAIL ", "SKIP "))
    say(f"  | {script} {kind}: {len(passed)} passed, {len(failed)} failed, {len(skipped)} do not apply", *("  | " + x for x in skipped))
    assert p.returncode == 0 and passed and not failed, "\n".join(failed or [p.stdout[-2000:] + p.stderr[-2000:]])


def every_case():
    for kind, scripts in dict.fromkeys(KINDS, SCRIPTS).items() if LONG else SOME.items():
        for script in scripts:
            def case(script=script, kind=kind):
                if os.geteuid() or run([os.path.join(TARGETS, "contain"), "--pid1", "--", "/bin/true"]).returncode:
                    raise Skip("no namespace may be made here")
                with room:
                    contained(script, kind)
            case.__name__ = f"t_{script}{kind.replace('--profile', '').replace(' --', '_').replace(' ', '_')}"
            mostly_waits(case)


every_case()
main()
