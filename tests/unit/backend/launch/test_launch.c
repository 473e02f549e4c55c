/* SPDX-License-Identifier: MIT
 *
 * test_launch.c - starting a program: its environment, and the messages for programs that cannot be
 * watched. A shared object without code replaces the agent.
 */
#include "check.h"
#include "launch/agent_server.h"
#include "launch/launch.h"
#include "shell.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

extern char **environ;
static char dir[64], agent[128];

static void enter(void)
{
	strcpy(dir, "/tmp/t_launch.XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	snprintf(agent, sizeof agent, "%s/agent.so", dir);
	sh("cd %s && echo 'const char memtop_none[3][8] = { \"\", \"depth\", \"listen\" };' "
	   ">none.c && gcc -shared -fPIC -Wl,--no-as-needed -o agent.so none.c",
	   dir);
	unsetenv("LD_PRELOAD");
	unsetenv("MEMTOP_OPTIONS");
	unsetenv("MEMTOP_AGENT");
}

static void leave(void)
{
	sh("rm -rf %s", dir);
}

/* Runs a program under the agent; its output, and its pid in *l. */
static char *output_of_program(char *const argv[], struct launch_options *o, struct launched *l)
{
	static char text[65536];
	char path[128];
	struct err err = { 0 };
	int status;

	snprintf(path, sizeof path, "%s/out", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	o->agent = agent;
	o->own_session = true;
	o->output = (int[2]){ fd, fd };
	if (launch_program(argv, o, l, &err))
		printf("  %s\n", err.text);
	CHECK_EQ(err.status, 0);
	CHECK_EQ(waitpid(l->pid, &status, 0), l->pid);
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	CHECK(n >= 0);
	text[n] = '\0';
	close(fd);
	return text;
}

static char *output_of(const char *line, struct launch_options *o, struct launched *l)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)line, NULL };

	return output_of_program(argv, o, l);
}

TEST(the_environment_but_for_memtops_entries)
{
	struct launch_options o = { .options = "depth=9" };
	struct launched l;
	char want[256];

	enter();
	char *mine[] = { (char *)"A=1",
			 (char *)"LD_PRELOAD=/nowhere/x.so:", (char *)"PATH=/usr/bin:/bin",
			 (char *)"Z=\xff= 2", NULL };
	environ = mine;
	char *text = output_of("tr '\\0' '\\n' </proc/$$/environ", &o, &l);
	snprintf(want, sizeof want, "LD_PRELOAD=%s:/nowhere/x.so:\n", agent);
	/* The loader complains of the user's own missing library, as it would without us. */
	char *at = strstr(text, "A=1\n");
	CHECK(at != NULL);
	at += 4;
	CHECK(!strncmp(at, want, strlen(want)));
	at += strlen(want);
	snprintf(want, sizeof want,
		 "PATH=/usr/bin:/bin\nZ=\xff= 2\nMEMTOP_OPTIONS=listen=@memtop.%%p wait=5000 "
		 "depth=9\nMEMTOP_START=wait_for=%d\n",
		 getpid());
	CHECK_STR(at, want);
	setenv("PATH", "/usr/bin:/bin", 1);
	leave();
}

TEST(a_session_and_descriptors_of_its_own)
{
	struct launch_options o = { 0 };
	struct launched l;
	char want[256], line[256];

	enter();
	int extra = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	CHECK(extra >= 0);
	snprintf(line, sizeof line,
		 "readlink /proc/$$/fd/%d; readlink /proc/$$/fd/0; cut -d' ' -f6 /proc/$$/stat; "
		 "echo $$",
		 extra);
	char *text = output_of(line, &o, &l);
	snprintf(want, sizeof want, "/dev/null\n%d\n%d\n", (int)l.pid, (int)l.pid);
	CHECK_STR(text, want);
	snprintf(want, sizeof want, "memtop.%d", (int)l.pid);
	CHECK_STR(l.socket, want);
	leave();
}

static void on_signal(int n)
{
	(void)n;
}

TEST(signals_as_they_were)
{
	struct launch_options o = { 0 };
	struct launched l;
	sigset_t set;
	char *end;

	enter();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* no shell: dash unblocks all */
	char *argv[] = { (char *)"grep", (char *)"Sig", (char *)"/proc/self/status", NULL };
	char *text = output_of_program(argv, &o, &l);
	char *at = strstr(text, "SigBlk:");
	CHECK(at && strtoull(at + 7, &end, 16) == 1ull << (SIGUSR2 - 1));
	at = strstr(text, "SigIgn:");
	CHECK(at && (strtoull(at + 7, &end, 16) &
		     (1ull << (SIGPIPE - 1) | 1ull << (SIGUSR1 - 1))) == 1ull << (SIGPIPE - 1));
	leave();
}

TEST(input_from_a_file)
{
	char path[128];
	struct launch_options o = { .stdin_path = path };
	struct launched l;

	enter();
	snprintf(path, sizeof path, "%s/in", dir);
	sh("echo hello >%s", path);
	CHECK_STR(output_of("cat", &o, &l), "hello\n");
	char *argv[] = { (char *)"true", NULL };
	struct err err = { 0 };
	o.stdin_path = "/nowhere/in";
	CHECK_EQ(launch_program(argv, &o, &l, &err), -1);
	CHECK_EQ(err.status, 125);
	leave();
}

TEST(where_the_agent_listens)
{
	struct launch_options o = { .options = "listen=@app.%p.x" };
	struct launched l;
	char want[64];

	enter();
	output_of("true", &o, &l);
	snprintf(want, sizeof want, "app.%d.x", (int)l.pid);
	CHECK_STR(l.socket, want);
	char *argv[] = { (char *)"true", NULL };
	struct err err = { 0 };
	o.options = "listen=tcp:9001";
	CHECK_EQ(launch_program(argv, &o, &l, &err), -1);
	CHECK_EQ(err.status, 125);
	leave();
}

static void refused(const char *program, int status, const char *part)
{
	struct launch_options o = { .agent = agent, .stdin_path = "-" };
	char *argv[] = { (char *)program, NULL };
	struct launched l;
	struct err err = { 0 };

	CHECK_EQ(launch_program(argv, &o, &l, &err), -1);
	if (err.status != status || !strstr(err.text, part) ||
	    strncmp(err.text, program, strlen(program)))
		printf("  %s\n", err.text);
	CHECK_EQ(err.status, status);
	CHECK(strstr(err.text, part) != NULL);
	CHECK(!strncmp(err.text, program, strlen(program)));
	CHECK(strchr(err.text, '\n') == NULL);
}

static const char *in_dir(const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

TEST(programs_that_cannot_be_watched)
{
	enter();
	sh("cd %s && cp /bin/true plain && chmod 644 plain && mkdir folder && echo 'int main(void) "
	   "{ return 0; }' >a.c && gcc -static -o static a.c && gcc -static-pie -o staticpie a.c "
	   "&& cp /bin/true arm && printf '\\267\\0' | dd of=arm bs=1 seek=18 conv=notrunc "
	   "status=none && cp /bin/true i386 && printf '\\1' | dd of=i386 bs=1 seek=4 conv=notrunc "
	   "status=none && printf '\\3\\0' | dd of=i386 bs=1 seek=18 conv=notrunc status=none && "
	   "gcc -c -o object a.c && chmod +x object && head -c 3000 /dev/urandom >noise && printf "
	   "'\\1\\0\\2' | dd of=noise bs=1 conv=notrunc status=none && chmod +x noise && gcc "
	   "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o musl a.c && printf '#!%%s/static\\n' "
	   "%s >script && printf '#!/nowhere/sh\\n' >orphan && chmod +x script orphan",
	   dir, dir);
	/* as Go's linker marks its programs */
	sh("cd %s && printf '.section .note.go.buildid,\"a\",@note\\n.balign 4\\n.long "
	   "4,4,4\\n.ascii "
	   "\"Go\\\\0\\\\0abcd\"\\n' >go.s && gcc -static -Wl,--build-id=none -o go a.c go.s",
	   dir);
	refused("no-such-program-anywhere", 127, "no such program in PATH");
	refused(in_dir("nothing"), 127, "no such file");
	refused("", 127, "not found");
	if (getuid() != 0) /* to root every file is ... */
		refused(in_dir("plain"), 126, "not executable");
	else /* ... but not without any x bit */
		refused(in_dir("plain"), 126, "not executable: permission denied; chmod +x");
	refused(in_dir("folder"), 126, "directory");
	refused(in_dir("static"), 126, "libmemtop-wrap.a");
	refused(in_dir("go"), 126, "preloaded into it; Go's heap is its own, not malloc's");
	refused(in_dir("staticpie"), 126, "statically linked");
	refused(in_dir("arm"), 126, "built for aarch64");
	refused(in_dir("arm"), 126, "give an agent for that machine with --agent");
	refused(in_dir("i386"), 126, "built for 32-bit i386");
	refused(in_dir("i386"), 126, "memtop has no agent for that machine");
	refused(in_dir("object"), 126, "never linked");
	refused(in_dir("noise"), 126, "neither ELF nor a script");
	refused(in_dir("script"), 126, "statically linked");
	refused(in_dir("orphan"), 126, "its interpreter /nowhere/sh");
	refused(in_dir("musl"), 126, "C library is musl");
	leave();
}

TEST(programs_that_change_their_user)
{
	enter();
	if (getuid() != 0) {
		printf("SKIP programs_that_change_their_user: only root can make one\n");
		return;
	}
	sh("cd %s && cp /bin/true suid && chown nobody suid && chmod 4755 suid && cp /bin/true "
	   "sgid && chgrp nogroup sgid && chmod 2755 sgid && cp /bin/true own && chmod 4755 own",
	   dir);
	refused(in_dir("suid"), 126, "setuid");
	refused(in_dir("sgid"), 126, "setgid");
	/* Already root: nothing changes, and the loader takes the agent. */
	struct launch_options o = { .agent = agent, .stdin_path = "-" };
	char *argv[] = { (char *)in_dir("own"), NULL };
	struct launched l;
	struct err err = { 0 };
	CHECK_EQ(launch_program(argv, &o, &l, &err), 0);
	waitpid(l.pid, NULL, 0);
	leave();
}

TEST(scripts_without_a_first_line)
{
	struct launched l;
	struct err err = { 0 };
	int status = 0;

	enter();
	sh("printf 'exit $1\\n' >%s/plain; chmod +x %s/plain", dir, dir);
	struct launch_options o = { .agent = agent, .stdin_path = "-" };
	char *argv[] = { (char *)in_dir("plain"), (char *)"7", NULL };
	CHECK_EQ(launch_program(argv, &o, &l, &err), 0);
	CHECK_EQ(waitpid(l.pid, &status, 0), l.pid);
	CHECK_EQ(WEXITSTATUS(status), 7);
	leave();
}

TEST(agents_that_are_none)
{
	char path[4096];
	struct err err = { 0 };

	enter();
	CHECK_EQ(launch_find_agent("/nowhere/agent.so", false, path, sizeof path, &err), -1);
	CHECK(err.status == 125 && strstr(err.text, "no agent there"));
	CHECK_EQ(launch_find_agent("/etc/passwd", false, path, sizeof path, &err), -1);
	CHECK(strstr(err.text, "not an agent") != NULL);
	sh("cp %s '%s/a b.so'", agent, dir);
	CHECK_EQ(launch_find_agent(in_dir("a b.so"), false, path, sizeof path, &err), 0);
	CHECK_STR(path, in_dir("a b.so"));
	setenv("MEMTOP_AGENT", agent, 1);
	CHECK_EQ(launch_find_agent(NULL, false, path, sizeof path, &err), 0);
	CHECK_STR(path, agent);
	leave();
}

TEST(who_has_an_agent)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct agent_process *list;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				    (size_t)sprintf(un.sun_path + 1, "memtop.%d", (int)getpid()));
	size_t n, found = 0;

	CHECK(bind(fd, (struct sockaddr *)&un, len) == 0);
	n = launch_list(&list);
	for (size_t i = 0; i < n; i++)
		found += list[i].pid == getpid();
	CHECK_EQ(found, 0); /* bound, not listening */
	free(list);
	CHECK(listen(fd, 1) == 0);
	n = launch_list(&list);
	for (size_t i = 0; i < n; i++)
		found += list[i].pid == getpid();
	CHECK_EQ(found, 0); /* the name alone, and nothing of an agent in the process */
	free(list);
	int file = memfd_create(AGENT_FILE, MFD_CLOEXEC);
	CHECK(ftruncate(file, 4096) == 0);
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	CHECK(p != MAP_FAILED);
	n = launch_list(&list);
	for (size_t i = 0; i < n; i++)
		if (list[i].pid == getpid()) {
			found++;
			CHECK_STR(list[i].socket, un.sun_path + 1);
			CHECK_STR(list[i].name, "test_launch");
		}
	CHECK_EQ(found, 1);
	free(list);
	munmap(p, 4096);
	close(file);
	close(fd);
}
