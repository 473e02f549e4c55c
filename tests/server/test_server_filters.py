#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""The agent under an earlier seccomp filter that kills: the program lives, and one line says why it
cannot be watched."""
import os

from harness import AGENT, BUILD, LIB, main, run, test
from obedient import PROGRAM

LINE = "memtop: a filter of system calls would end the agent's server; nobody can watch this process\n"


def under(*calls, more=""):
    """s_server, which ends when its input does, under a filter that kills for these."""
    command = [os.path.join(LIB, "refuse.py"), "kill", *calls, "--", "/usr/bin/env"]
    agent = [f"LD_PRELOAD={AGENT}{more}", "MEMTOP_OPTIONS=listen=@memtop-test.%p"]
    plain, watched = [run(["/usr/bin/python3", *command, *e, PROGRAM]) for e in ([], agent)]
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, "ready\n", ""), plain
    return watched


@test
def t_killed_for_what_a_server_calls():
    """Each would end it later: when it listens, when somebody connects, when it looks at the target."""
    for call in ("socket", "accept4", "signalfd4", "setsid", "kcmp", "pidfd_open", "tgkill"):
        done = under(call)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", LINE), (call, done)


@test
def t_served_where_no_user_may_be_changed():
    """Every app of Android's lives under such a filter."""
    done = under("setgroups", "setresgid", "setresuid")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", ""), done


@test
def t_old_kernels_end_all_that_share_memory():
    """There a process that shares the program's memory must not die by a signal that dumps core. As on those, the program ends
    here when such a process is made (a filter kills for it), unless another one has tried the calls before."""
    done = under("accept4", "clone:0x100", more=f":{BUILD}/tests/lib/old_kernel.so")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", LINE), done


@test
def t_old_kernels_serve():
    """The forked process finds nothing amiss: the server starts."""
    done = under("ptrace", more=f":{BUILD}/tests/lib/old_kernel.so")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", ""), done


main()
