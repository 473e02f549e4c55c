#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_old_kernels.py - the agent without later system calls, as s_old simulates Linux 3.10, 4.4,
4.9 and 5.4.

Whole tests of other scripts run under such a filter, the script included. Left out are tests that
need later kernels: only a pidfd of 6.15 tells the status of a process that its parent reaps at
once.
"""
import json
import glob
import os
import signal
import subprocess

from client import Client
from harness import AGENT, ROOT, TARGETS, Skip, environment, main, run, start, test

OLD = os.path.join(TARGETS, "s_old")
HOOKS = ("malloc_contract", "children_of_every_kind", "no_system_call_that_an_allocator_does_not_make",
         "exec_stays_watched", "children_are_left_alone", "daemon_becomes_a_session", "workers_become_sessions",
         "children_that_only_wait_become_sessions", "woken_child_takes_the_agent_through_exec",
         "names_of_threads_follow_their_renames")
SERVER = ("a_viewer_gets_the_whole_state_first", "changes_are_told_exactly", "a_deep_stack_has_all_its_frames",
          "viewers_marks_reach_all_viewers", "the_programs_marks_are_told", "two_viewers_and_reconnect",
          "options_at_run_time", "scans_answer_threads_and_ages", "threads_and_their_names_are_told",
          "children_are_counted", "each_exit_code_is_told", "memory_of_the_dead_is_given_back",
          "exec_ends_the_session_and_frees_the_name", "exec_of_itself_is_watched_again", "nothing_is_left")
UNSEEN = ("wait_says_no_child", "no_sigchld_no_children_in_proc", "the_program_finds_its_descriptors_as_they_were",
          "the_server_holds_no_pipe_open", "unshare_answers_as_without_the_agent", "setuid_takes_the_server_along",
          "server_killed_target_lives")
FORKED = ("a_child_of_a_raw_fork_does_not_wait_for_the_loader", "nothing_is_looked_up_after_the_start",
          "exec_does_what_it_does_without_the_agent")
UNHARMED = ("bash_forks", "shell_pipes_and_jobs", "python_threads_and_processes", "redis_is_unharmed")

PROBE = """
import ctypes, errno, json, mmap, platform
libc, page = ctypes.CDLL(None, use_errno=True), mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
at = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page)))
def ask(*args):
    return "yes" if libc.syscall(*args) >= 0 else errno.errorcode[ctypes.get_errno()]
print(json.dumps([ask(CALLS["madvise"], at, 4096, 18), ask(CALLS["madvise"], at, 4096, 4), ask(CALLS["membarrier"], 16, 0),
                  ask(CALLS["membarrier"], 0, 0), ask(CALLS["getrandom"], at, 4, 0), ask(436, 4000, 4000, 0)]))
"""
CALLS = {"x86_64": {"madvise": 28, "membarrier": 324, "getrandom": 318}, "aarch64": {"madvise": 233, "membarrier": 283, "getrandom": 278}}


def under(version, script, names):
    """These tests of another script, each of which must pass."""
    done = run([OLD, version, *glob.glob(f"{ROOT}/tests/*/test_{script}.py"), *names], 280)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("PASS ", "FAIL ", "SKIP "))]
    bad = [line for line in lines if line.startswith("FAIL ")]
    assert not bad and done.returncode == 0, f"Linux {version}, {script}: {bad or done}"
    assert len(lines) == len(names), (version, script, lines)
    skipped = [line for line in lines if line.startswith("SKIP ")]
    if skipped:
        raise Skip(f"Linux {version}, {script}: {skipped}")


@test
def t_it_does_seem_older():
    """The filter's answers, and this kernel's own without it."""
    if os.uname().machine not in CALLS:
        raise Skip("numbers of another machine")
    code = f"CALLS = {CALLS[os.uname().machine]}" + PROBE
    expected = {"3.10": ["EINVAL", "yes", "ENOSYS", "ENOSYS", "ENOSYS", "ENOSYS"], "4.4": ["EINVAL", "yes", "EINVAL", "yes", "yes", "ENOSYS"],
                "4.9": ["EINVAL", "yes", "EINVAL", "yes", "yes", "ENOSYS"], "5.4": ["yes"] * 5 + ["ENOSYS"],
                "4.4+eperm": ["EINVAL", "yes", "EINVAL", "yes", "yes", "EPERM"]}
    for version, answers in expected.items():
        done = run([OLD, version, "/usr/bin/python3", "-c", code])
        assert done.returncode == 0 and json.loads(done.stdout) == answers, (version, done)


@test
def t_hooks_and_children():
    under("4.4", "hooks", HOOKS)
    under("3.10", "hooks", [h for h in HOOKS if h != "exec_stays_watched"])  # its program calls execveat itself


@test
def t_the_server_works_on_old_kernels():
    under("3.10", "server", SERVER)
    under("4.4", "server", SERVER)
    under("5.4", "server", SERVER)


@test
def t_the_server_is_unseen_on_old_kernels():
    under("3.10", "server_unseen", UNSEEN)
    under("4.9", "server_unseen", UNSEEN)


@test
def t_forked_children_on_old_kernels():
    under("4.4", "forked", FORKED)


@test
def t_exec_without_execveat():
    under("3.10", "forked", FORKED[2:])


@test
def t_real_programs_are_unharmed_on_old_kernels():
    under("3.10", "unharmed", UNHARMED)
    under("4.4", "unharmed", UNHARMED[:3])


@test
def t_memory_is_given_back():
    """By the barrier of 4.3, which the one of 4.14 is quicker than."""
    under("4.4", "ebb", ["memory_for_blocks_that_are_gone_is_given_back"])


@test
def t_attach_and_detach():
    under("4.4", "late", ["exact_in_a_program_of_full_relro", "everything_freed_is_everything_seen", "slots_and_pages_are_as_before"])
    under("3.10", "late", ["exact_in_a_lazy_program_that_is_no_pie"])


@test
def t_calls_that_are_refused():
    """A container of that time answers unknown system calls with EPERM."""
    for version in ("3.10+eperm", "4.4+eperm", "5.4+eperm"):
        p = start([OLD, version, "env", f"LD_PRELOAD={AGENT}", "MEMTOP_OPTIONS=", os.path.join(TARGETS, "s_phases"), "wait"],
                  env=environment(), stdin=subprocess.PIPE)
        c = Client(f"@memtop.{p.pid}").until_complete()
        c.until(lambda: c.live() == (100, 6553600), f"{version}: the early blocks")
        os.kill(p.pid, signal.SIGUSR1)
        c.until(lambda: c.live() == (400, 26214400), f"{version}: the later blocks")


if __name__ == "__main__":
    main()
