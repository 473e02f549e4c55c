#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_unharmed.py - real programs behave the same with the agent as without: status, output, errors.

Each program runs plainly and under the agent; stdout, stderr and status must be equal. Its own
clients drive a server.
"""
import os
import re
import signal
import socket
import subprocess
import urllib.request

import container
import forward
import harness
from cli import compiled
from harness import AGENT, Skip, environment, main, need, recorded, run, start, temporary_folder, test, wait_for


def plain_environment(**more):
    """Nothing of memtop's in it: the agent would take that out, too."""
    return {k: v for k, v in environment(**more).items() if not k.startswith("MEMTOP")}


def under_agent(env, options="listen=@memtop.%p"):
    return {**env, "LD_PRELOAD": AGENT, "MEMTOP_OPTIONS": options}


def same(command, seconds=60, options="listen=@memtop.%p", cwd=None, expect=0, **variables):
    """Run it both ways; status, stdout and stderr must agree. Returns the plain result."""
    env = plain_environment(**variables)
    plain = run(container.contained(command), seconds, env=env, cwd=cwd)
    watched = run(container.contained(command), seconds, env=under_agent(env, options), cwd=cwd)
    what = " ".join(command)[:60]
    # process 1 takes no signal that it does not handle, and an init ends with a status where its child ended by a signal
    assert plain.returncode == expect or (container.OWN_PIDS and expect < 0), \
        f"{what}: plainly it ends with {plain.returncode}: {plain.stderr[-500:]}"
    for field in ("returncode", "stdout", "stderr"):
        a, b = getattr(plain, field), getattr(watched, field)
        assert a == b, f"{what}: {field} differs\nplain   {str(a)[-600:]!r}\nwatched {str(b)[-600:]!r}"
    return plain


AUXV = """
#include <elf.h>
#include <stdio.h>
#include <unistd.h>
/* As Go's runtime: what follows the environment; an empty one has it ask /proc, one without the page's size ends it. */
int main(int argc, char **argv)
{
	unsigned long *at = (unsigned long *)(argv + argc + 1), page = 0;
	while (*at++)
		;
	int empty = !*at;
	for (; *at; at += 2)
		if (*at == AT_PAGESZ)
			page = at[1];
	puts(empty || page == (unsigned long)sysconf(_SC_PAGESIZE) ? "known" : "failed to get system page size");
	return 0;
}
"""
CGO = """
package main
// #include <stdlib.h>
import "C"
import ("fmt"; "os"; "runtime")
func main() {
	defer C.free(C.malloc(1000))
	kept := make([][]byte, 0)
	for i := 0; i < 1000; i++ { kept = append(kept, make([]byte, 10000)) }
	runtime.GC()
	fmt.Println(len(kept), os.Getpagesize(), len(os.Args))
}
"""


@test
def t_what_follows_the_environment():
    """The agent takes its entries out; how many there are is memtop's business, one to four here."""
    program = compiled(AUXV)
    for more in range(4):
        assert same([program], **{f"A_{i}": "1" for i in range(more)}).stdout == "known\n"
        env = {**plain_environment(), "LD_PRELOAD": AGENT, **{f"MEMTOP_{i}": "1" for i in range(more)}}
        done = run([program], env=env)
        assert (done.stdout, done.returncode) == ("known\n", 0), (more, done)
    session = recorded(program)
    assert (session.stdout, session.stderr) == ("known\n", ""), (session.stdout, session.stderr)


@test
def t_go_that_calls_c():
    need("go")
    folder = temporary_folder()
    with open(folder + "/main.go", "w", encoding="ascii") as f:
        f.write(CGO)
    env = environment(GO111MODULE="off", GOCACHE=folder + "/cache", GOFLAGS="", CGO_ENABLED="1", HOME=folder)
    done = run(["go", "build", "-o", "a", "main.go"], 300, env=env, cwd=folder)
    assert done.returncode == 0, done
    assert same([folder + "/a"]).stdout.startswith("1000 ")
    session = recorded(folder + "/a")
    assert (session.stdout.split()[0], session.stderr) == ("1000", ""), (session.stdout, session.stderr)


@test
def t_bash_forks():
    script = ("for i in $(seq 150); do x=$(echo $((i * i)) | tr 0-9 a-j); y+=$x; ( exit $((i % 7)) ); s=$((s + $?)); done;"
              " wait; echo $y | md5sum; echo $s; cat <(echo one) <(echo two); kill -USR1 $$ 2>/dev/null; echo unreached")
    same(["/bin/bash", "-c", script], expect=-signal.SIGUSR1)


@test
def t_shell_pipes_and_jobs():
    same(["/bin/sh", "-c", "yes | head -n 1000 | sort | uniq -c; sleep 0 & wait $!; echo $?; (trap 'echo term' TERM;"
          " kill -TERM $(exec sh -c 'echo $PPID')); echo done"])


@test
def t_python_imports_extension_modules():
    script = """
import sys, importlib
names = ["_json", "_csv", "_struct", "_random", "_bisect", "_heapq", "_decimal", "_ctypes", "_sqlite3", "_ssl", "_hashlib",
         "_multiprocessing", "_elementtree", "pyexpat", "unicodedata", "zlib", "_bz2", "_lzma", "_curses", "readline"]
for turn in range(5):
    for name in names:
        try:
            m = importlib.import_module(name)
            print(turn, name, len(dir(m)))
        except ImportError as why:
            print(turn, name, why)
        if name not in ("_curses", "readline"):
            sys.modules.pop(name, None)
import ctypes
for i in range(50):
    h = ctypes.CDLL("libbz2.so.1.0")
    import _ctypes
    _ctypes.dlclose(h._handle)
print("done")
"""
    same(["/usr/bin/python3", "-c", script], PYTHONHASHSEED="0")


@test
def t_python_threads_and_processes():
    script = """
import threading, subprocess, os, multiprocessing
def work(n): return sum(len(str(i)) for i in range(n))
ts = [threading.Thread(target=work, args=(2000,)) for _ in range(30)]
[t.start() for t in ts]; [t.join() for t in ts]
with multiprocessing.get_context("fork").Pool(3) as p: print(p.map(work, [100, 200, 300]))
print(subprocess.run(["/bin/echo", "child"], capture_output=True).stdout)
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(w, b"x" * 10); os._exit(7)
os.close(w)
print(os.read(r, 100), os.read(r, 100), os.waitpid(pid, 0)[1])
try: os.waitpid(-1, 0)
except ChildProcessError as e: print(e)
"""
    same(["/usr/bin/python3", "-c", script])


@test
def t_a_threaded_cxx_program_is_unharmed():
    path = f"{harness.TARGETS}/s_inline"
    same([path])
    folder = temporary_folder()
    source = f"{folder}/t.cc"
    with open(source, "w", encoding="utf-8") as f:
        f.write("int main() {}\n#include <vector>\n#include <string>\n" + "".join(
            f"std::vector<std::string> f{i}() {{ return {{std::to_string({i})}}; }}\n" for i in range(5)))
    # a compiler: driver, cc1plus, as, ld through collect2
    same(["g++", "-O1", "-o", f"{folder}/t", source])
    same(["/usr/bin/xz", "-T2", "-k", "-c", "--check=crc32", "/usr/bin/xz"])


@test
def t_sqlite3_is_unharmed():
    need("sqlite3")
    same(["/usr/bin/sqlite3", ":memory:", "create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n"
          " where i<20000) insert into t select i, i*i%997 from n; select count(*), sum(b), max(a) from t;"
          " select b, count(*) from t group by b order by 2 desc, 1 limit 5;"])
    same(["/usr/bin/sqlite3", ":memory:", "select * from nowhere"], expect=1)


@test
def t_make_is_unharmed():
    folder = temporary_folder()
    with open(f"{folder}/Makefile", "w", encoding="utf-8") as f:
        f.write("all: " + " ".join(f"t{i}" for i in range(30)) + "\nt%:\n\t@test $* -lt 100 && : $(shell echo $*)\n"
                "fail:\n\t@exit 3\n")
    same(["make", "-j2", "--no-print-directory"], cwd=folder)
    same(["make", "fail"], cwd=folder, expect=2)


@test
def t_git_is_unharmed():
    need("git")
    script = """set -e
rm -rf w && git init -q -b main w && cd w
for i in 1 2 3 4 5 6 7 8; do seq $((i * 100)) > f$((i % 3)); git add .; git commit -qm "c$i"; done
git log --format=%H%s; git repack -adq; git fsck --full; git diff HEAD~3 --stat; git grep -c 7; git bisect start HEAD HEAD~6
git bisect run sh -c 'test $(wc -l < f0) -lt 500'; git status --porcelain; git archive HEAD | tar t
git clone -q . ../w2 && git -C ../w2 rev-parse HEAD; rm -rf ../w2
"""
    who = {f"GIT_{w}_{k}": v for w in ("AUTHOR", "COMMITTER")
           for k, v in (("NAME", "A"), ("EMAIL", "a@b.c"), ("DATE", "2020-01-01T00:00:00Z"))}
    same(["/bin/sh", "-c", script], cwd=temporary_folder(), **who)


def free_of_children(pid):
    """Pids whose parent is pid."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    if int(f.read().rpartition(")")[2].split()[1]) == pid:
                        found.append(int(name))
            except OSError:
                pass
    return found


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


@test
def t_redis_is_unharmed():
    need("redis-server", "redis-cli", "redis-benchmark")

    def session(env):
        port = forward.free_port()
        folder = temporary_folder()
        server = start(container.contained(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
                                            "--save", ""]), env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wait_for(lambda: answers(port), 15, "redis")
        plain = environment()
        def cli(*words):
            return run(["redis-cli", "-p", str(port), *words], 30, env=plain).stdout
        text = cli("mset", *(f"k{i % 50}" if i % 2 == 0 else "v" * i for i in range(100)))
        text += cli("eval", "for i = 1, 2000 do redis.call('rpush', 'list' .. i % 7, i) end return redis.call('llen', 'list1')", "0")
        done = run(["redis-benchmark", "-p", str(port), "-q", "-n", "3000", "-P", "16", "-t", "set,get,lpush,hset"], 60, env=plain)
        assert done.returncode == 0, done.stderr
        text += cli("debug", "sleep", "0") + cli("save") + cli("bgsave")
        wait_for(lambda: "rdb_bgsave_in_progress:0" in cli("info", "persistence"), 20, "background save")
        text += cli("lrange", "list3", "0", "5") + cli("dbsize") + cli("config", "get", "maxmemory")
        text += "".join(x for x in cli("info", "persistence").splitlines() if x.startswith("rdb_last_bgsave_status"))
        cli("shutdown", "nosave")
        return text, server.wait(60)
    plain = session(plain_environment())
    watched = session(under_agent(plain_environment()))
    assert plain[1] == 0, plain
    assert plain == watched, f"plain {plain}\nwatched {watched}"


@test
def t_nginx_is_unharmed():
    need("/usr/sbin/nginx")
    container.unless_own_pids("the daemon's first process takes the namespace with it when it ends")
    container.unless_user("the master cannot change to its workers' user")

    def session(env):
        folder, port = temporary_folder(), forward.free_port()
        with open(f"{folder}/index.html", "w", encoding="utf-8") as f:
            f.write("hello " * 2000)
        os.chmod(folder, 0o755)
        with open(f"{folder}/nginx.conf", "w", encoding="utf-8") as f:
            f.write(f"{'user root;' if os.getuid() == 0 else ''} worker_processes 2; pid {folder}/pid; error_log {folder}/error.log;"
                    " events {} http { access_log off;"
                    + "".join(f" {k}_temp_path {folder}/{k};" for k in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                    + f" gzip on; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n")
        # a daemon: forks twice, its parent exits; master and workers go on
        done = run(container.contained(["/usr/sbin/nginx", "-c", f"{folder}/nginx.conf", "-p", folder]), 20, env=env)
        wait_for(lambda: os.path.exists(f"{folder}/pid") and open(f"{folder}/pid", encoding="utf-8").read().strip(), 10, "nginx")
        with open(f"{folder}/pid", encoding="utf-8") as f:
            master = int(f.read())
        try:
            wait_for(lambda: answers(port), 10, "nginx's port")
            sizes = [len(urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read()) for _ in range(60)]
            missing = run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{port}/none"], 10).stdout
            before = set(wait_for(lambda: len(free_of_children(master)) == 2 and free_of_children(master), 10, "two workers"))
            os.kill(master, signal.SIGHUP)  # new workers, the old ones end
            wait_for(lambda: (now := set(free_of_children(master))) and len(now) == 2 and not now & before, 20, "new workers")
            wait_for(lambda: answers(port), 10, "the port after a reload")
            sizes += [len(urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read()) for _ in range(20)]
        finally:
            os.kill(master, signal.SIGQUIT)
            wait_for(lambda: not os.path.exists(f"/proc/{master}"), 20, "nginx's end")
        with open(f"{folder}/error.log", encoding="utf-8") as f:
            errors = [re.sub(r"^\S+ \S+ |\d+#\d+: |\*\d+ |memtop-test-\w+|:\d+", "", line) for line in f]
        return done.returncode, done.stdout, done.stderr, sizes, missing, errors
    plain = session(plain_environment())
    watched = session(under_agent(plain_environment()))
    assert plain[:2] == (0, "") and plain[3] == [12000] * 80, plain
    assert plain == watched, f"plain {plain}\nwatched {watched}"


@test
def t_i386_children():
    """system() of a 32-bit program: the loader has nothing to say about a library of the wrong class."""
    folder = temporary_folder()
    program = f"{folder}/tiny"
    # no 32-bit libc is needed: exit(5) as 32-bit code; a dynamic one would print the loader's complaint
    source = f"{folder}/tiny.s"
    with open(source, "w", encoding="utf-8") as f:
        f.write(".globl _start\n_start:\n\tmovl $1, %eax\n\tmovl $5, %ebx\n\tint $0x80\n")
    made = run(["sh", "-c", f"as --32 -o {folder}/tiny.o {source} && ld -m elf_i386 -o {program} {folder}/tiny.o"])
    assert made.returncode == 0, made.stderr
    if run([program]).returncode != 5:
        raise Skip("this kernel does not run 32-bit programs")
    same(["/usr/bin/perl", "-e", f"system('{program}'); print $? >> 8, qq(\\n); print `/bin/echo child`;"
          f" system('sh', '-c', 'env | grep -c -e LD_PRELOAD -e MEMTOP'); exec '{program}'"], expect=5)


@test
def t_environment_is_the_programs_own():
    """A program and its children see no memtop variable, and the user's own LD_PRELOAD to the
    byte."""
    env = plain_environment()
    show = ["/usr/bin/python3", "-c", "import os; print(sorted(os.environ.items())); os.system('env | sort')"]
    plain = run(show, env=env).stdout
    watched = run(show, env=under_agent(env)).stdout
    assert watched == plain, f"plain {plain}\nwatched {watched}"
    own = "/lib/x86_64-linux-gnu/libm.so.6:libz.so.1"
    if not os.path.exists("/lib/x86_64-linux-gnu/libm.so.6"):
        raise Skip("another multiarch folder")
    mine = {**env, "LD_PRELOAD": own}
    done = run(show, env={**mine, "LD_PRELOAD": f"{AGENT}:{own}", "MEMTOP_OPTIONS": "listen=@memtop.%p"})
    assert done.stdout == run(show, env=mine).stdout


@test
def t_bad_options_name_themselves_once():
    """One line on stderr that names the option; the program runs as it would."""
    env = plain_environment()
    command = ["/usr/bin/perl", "-e", "print 'ran', qq(\\n); exit 9"]
    for options, named in (("nonsense=1", "nonsense"), ("depth=many", "depth"), ('listen="@x', "quote"), ("=", "="),
                           ("unwind=guess", "unwind"), ("x" * 5000, "too long"), ("listen=tcp:1", "listen")):
        done = run(command, env=under_agent(env, options))
        assert (done.returncode, done.stdout) == (9, "ran\n"), f"{options[:40]}: {done}"
        lines = done.stderr.splitlines()
        assert len(lines) == 1 and named in lines[0] and "memtop" in lines[0], f"{options[:40]}: {done.stderr[:300]!r}"


@test
def t_output_of_record_is_the_programs():
    """memtop record passes on status and output; its own words are on stderr."""
    session = recorded("/bin/sh", "-c", "echo out; echo err >&2; exit 3", status=3)
    assert session.stdout == "out\n" and "err\n" in session.stderr, (session.stdout, session.stderr)
    recorded("/bin/sh", "-c", "kill -TERM $$", status=128 + signal.SIGTERM)


main()
