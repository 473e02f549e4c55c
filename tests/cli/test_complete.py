#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the shells complete: memtop --complete by itself, then in bash, zsh and fish as a person types."""
import os
import re
import shlex
import shutil

from cli import memtop, one_line
from harness import MEMTOP, ROOT, Skip, main, need, recorded, recording, stop, temporary_folder, test, wait_for
from term import Terminal

SCRIPTS = os.path.join(ROOT, "tui", "completions")


def candidates(*words, at=None, env=None):
    """[(word, about), ...]; what the shell lists itself is ("", "file")."""
    done = memtop("--complete", str(len(words) - 1 if at is None else at), *words, env=env)
    assert done.returncode == 0 and done.stderr == "", done
    return [tuple(line.split("\t", 1)) for line in done.stdout.splitlines()]


def names(*words, **named):
    return [word for word, _ in candidates(*words, **named) if word]


def marked():
    """A session file with the marks ready and after login."""
    return recorded("/bin/sh", "-c", "echo ready; sleep 0.5; echo after login; sleep 0.5", arguments=("--mark-on", "ready|after login"))


@test
def t_verbs_and_their_options():
    assert names("re") == ["record", "report"]
    verbs = names("")
    assert verbs[:3] == ["run", "attach", "adb"] and "--version" not in verbs, verbs
    assert names("--v") == ["--version"] and "--theme" in names("--"), names("--")
    for verb in [verb for verb in verbs if not verb.startswith("@")]:
        offered = dict(candidates(verb, "--"))
        shown = memtop(verb, "--help").stdout.split("Options:\n")[1]
        of_help = [line.split("--")[1].split()[0] for line in shown.splitlines()]
        assert sorted(offered) == sorted(f"--{name}" for name in of_help), (verb, offered)
    assert dict(candidates("report", "--at"))["--at"] == "as of a mark, peak, or 0:12:09 since the start"


@test
def t_values_of_options_are_offered():
    assert names("report", "--format", "j") == ["json"] and names("report", "--format=j") == ["--format=json"]
    assert names("check", "-f", "") == ["text", "junit", "json", "github"]
    assert names("diff", "--value", "") == ["live", "blocks", "allocated"]
    assert {"dark", "light", "mono"} <= set(names("open", "--theme", ""))
    for word in ("--symbols", "--sysroot"):
        assert candidates("report", word, "") == [("", "folder")]
    assert candidates("check", "--baseline", "x") == [("", "file")]
    assert candidates("record", "--for", "") == [], "a number"


@test
def t_a_program_has_a_command_line_of_its_own():
    assert candidates("run", "--stdin", "/dev/null", "ls", "--co") == [("", "command 3")]
    assert candidates("run", "--", "") == [("", "command 2")]
    assert candidates("record", "-o", "a.mtop", "ls", "-") == [("", "command 3")]
    assert ("", "command 1") in candidates("check", "tes")
    assert ("", "command 1") not in candidates("check", "./s.mtop", "--max"), "options of check"


@test
def t_marks_and_instants():
    path = marked()
    assert names("report", "--since", "", path, at=2) == ["ready", "after login", "start"]
    assert names("report", path, "--at", "") == ["ready", "after login", "peak"]
    assert names("report", path, "--between", "a") == ["after login"]
    assert names("report", path, "--between", "ready..") == ["ready..ready", "ready..after login", "ready..now"]
    assert names("diff", f"{path}@p") == [f"{path}@peak"]
    assert names("diff", path, f"{path}@a") == [f"{path}@after login"]
    assert candidates("report", "/no/such/file", "--at", "") == [("peak", "the highest point of the heap")]


@test
def t_processes_and_their_pids_are_offered():
    path = recorded("/bin/sh", "-c", "/bin/true; exit 0")
    assert {"sh", "true"} <= set(names("report", path, "--process", ""))
    child = recording("sleep", "60")
    wait_for(lambda: "sleep" in dict(candidates("detach", "")).values(), what="the agent's process")
    pid, = [pid for pid, about in candidates("detach", "") if about == "sleep"][:1]
    assert pid in names("mark", "-p", pid[:-1]) and f"@memtop.{pid}" in " ".join(names("report", "@")), names("report", "@")
    assert pid not in names("attach", "") and str(os.getpid()) in names("attach", "")
    stop(child)


@test
def t_wrong_command_lines_are_completed_as_far_as_known():
    for words in ([], ["7", "report"], ["-1", "report"], ["x", "report"], ["0"]):
        one_line(memtop("--complete", *words), 2, "--complete")
    assert candidates("report", "--no-such-option", "--fo") == [("--format", "text (default), json, folded, pprof ...; help lists them")]
    assert candidates("report", "--output") != [] and candidates("list", "x") == []


# What is typed, and the line after Tab: the same in each shell.
TYPED = [
    ("memtop repo", "memtop report"),
    ("memtop report --stac", "memtop report --stacks"),
    ("memtop report --format spee", "memtop report --format speedscope"),
    ("memtop report --format=spee", "memtop report --format=speedscope"),
    ("memtop report one.mt", "memtop report one.mtop"),
    ("memtop report --output=one.mt", "memtop report --output=one.mtop"),
    ("memtop open --symbols fol", "memtop open --symbols folder/"),
    ("memtop report one.mtop --at rea", "memtop report one.mtop --at ready"),
    ("memtop report one.mtop --at aft", "memtop report one.mtop --at after\\ login"),
    ("memtop diff one.mtop@pe", "memtop diff one.mtop@peak"),
    ("memtop report one.mtop --since after\\ lo", "memtop report one.mtop --since after\\ login"),
    ("memtop report 'two words.mtop' --at rea", "memtop report 'two words.mtop' --at ready"),
    ("memtop diff two\\ words.mtop@pe", "memtop diff two\\ words.mtop@peak"),
    ("memtop run -- cat one.mt", "memtop run -- cat one.mtop"),
]


def typed_in(shell, *first):
    """Types each line of TYPED in the shell, and Tab."""
    need(shell[0])
    folder = temporary_folder()
    os.rename(marked(), f"{folder}/one.mtop")
    shutil.copy(f"{folder}/one.mtop", f"{folder}/two words.mtop")
    os.mkdir(f"{folder}/folder")
    path = f"PATH={os.path.dirname(os.path.abspath(MEMTOP))}:{os.environ['PATH']}"  # tmux passes on its own PATH alone
    with Terminal(["env", path, f"HOME={folder}", *shell], 100, 30, cwd=folder) as t:
        for line in (*first, "clear"):
            t.type(line + "\n")
        for before, after in TYPED:
            t.keys("C-u", "C-l")
            t.type(before)
            t.wait_for(before)
            t.keys("Tab")
            t.wait_for(lambda lines: any(line.rstrip().endswith(after) for line in lines))
        t.keys("C-u", "C-l")
        t.type("memtop check -f ")
        t.keys("Tab", "Tab")
        t.wait_for(re.compile(r"text.*junit.*json.*github|github.*json.*junit.*text", re.S))


@test
def t_in_bash():
    path = "/usr/share/bash-completion/bash_completion"
    if not os.path.exists(path):
        raise Skip("no bash-completion")
    typed_in(["bash", "--norc", "-i"], "PS1='> '", f". {path}", f". {shlex.quote(SCRIPTS)}/memtop")


@test
def t_in_zsh():
    typed_in(["zsh", "-f", "-i"], "PS1='> '", f"fpath=({shlex.quote(SCRIPTS)} $fpath)", "autoload -U compinit; compinit -u -D")


@test
def t_in_fish():
    typed_in(["fish", "--no-config", "-i"], "function fish_prompt; echo '> '; end", f"source {shlex.quote(SCRIPTS)}/memtop.fish")


main()
