/* SPDX-License-Identifier: MIT
 *
 * launch.c - starts a program under the agent.
 *
 * The program must see what it would see without memtop: the same descriptors (memtop's are
 * close-on-exec), the same signal dispositions and mask, and the same environment in the same order
 * except LD_PRELOAD and MEMTOP_..., which the agent removes before main. A pipe
 * that a successful exec closes reports a failed start; the child itself prints nothing.
 *
 *   LD_PRELOAD = agent (unless it is linked in) [":" the user's value]
 *   MEMTOP_OPTIONS = "listen=@memtop.%p wait=..." [" " the user's] [" " --options]: checked before
 *   MEMTOP_START = "wait_for=...": what an older agent, which refuses unknown options, may not know
 *   MEMTOP_BOARD = where the agents of the tree write; without it memtop follows this process alone
 */
#include "launch/launch.h"
#include "base/build.h"
#include "launch/agent_file.h"
#include "launch/plain_path.h"
#include "launch/progcheck.h"

#include <memtop/board.h>
#include <memtop/options.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGENT_NAME "libmemtop-agent.so"
/* the agent's longest wait for memtop's connection, so that short programs are seen whole */
#define WAIT_MS 5000

extern char **environ;

/* Room for the program's environment; only the changed entries are owned. */
struct environment {
	char **entries;
	char *preload, *options, *start, *board;
};

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Checks the agent's file: the loader would report a bad one only on the program's stderr. */
static int accept_agent(const char *found, char *path, size_t size, struct err *err)
{
	struct elf_kind k;
	char *real = realpath(found, NULL);
	int rc = 0;

	if (!real)
		return err_set(err, 125, "%s: no agent there: %s; check --agent and MEMTOP_AGENT",
			       found, strerror(errno));
	if (progcheck_read(real, &k) || !k.elf.abi.bits || k.elf.type != 3 /* ET_DYN */)
		rc = err_set(err, 125, "%s: not an agent: not a shared object; give the path of %s",
			     found, AGENT_NAME);
	else if ((size_t)snprintf(path, size, "%s", real) >= size)
		rc = err_set(err, 125, "%s: its path is too long; move the agent", found);
	free(real);
	return rc;
}

bool launch_installed(const char *name, char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(self, '/');
	if (slash) {
		*slash = '\0';
		snprintf(path, size, "%s/%s", self, name);
		if (is_file(path))
			return true;
		snprintf(path, size, "%s/../lib/memtop/%s", self, name);
		if (is_file(path))
			return true;
	}
	snprintf(path, size, "%s/lib/memtop/%s", build_prefix, name);
	return is_file(path);
}

int launch_find_agent(const char *given, bool musl, char *path, size_t size, struct err *err)
{
	const char *env = getenv("MEMTOP_AGENT"), *name = musl ? "musl/" AGENT_NAME : AGENT_NAME;
	char at[PATH_MAX + 64];

	if (given)
		return accept_agent(given, path, size, err);
	if (env && *env)
		return accept_agent(env, path, size, err);
	if (launch_installed(name, at, sizeof at))
		return accept_agent(at, path, size, err);
	return err_set(err, 125,
		       "%s: not found beside memtop or in %s/lib/memtop; %s it with --agent or "
		       "MEMTOP_AGENT",
		       name, build_prefix, musl ? "build it with make musl, or name" : "name");
}

/* Where the agent will listen: the user's own choice counts when it is an abstract name. */
static int choose_socket(const char *options, char *name, size_t size, struct err *err)
{
	char listen[128];

	agent_file_option(options, "listen", listen, sizeof listen);
	if (!*listen)
		snprintf(listen, sizeof listen, "@memtop.%%p");
	if (listen[0] != '@' || strchr(listen, '"') || strchr(listen, '\\'))
		return err_set(err, 125,
			       "listen=%s: memtop needs an abstract name to connect; use "
			       "listen=@NAME, or start the program with LD_PRELOAD yourself",
			       listen);
	snprintf(name, size, "%.107s", listen + 1);
	return 0;
}

/* name with every %p replaced by the process id. */
static void expand_pid(const char *name, pid_t pid, char *out, size_t size)
{
	size_t used = 0;

	for (out[0] = '\0'; *name && used + 1 < size; name++) {
		if (name[0] == '%' && name[1] == 'p') {
			used += (size_t)snprintf(out + used, size - used, "%d", (int)pid);
			name++;
			continue;
		}
		if (name[0] == '%' && name[1] == '%')
			name++;
		out[used++] = *name;
		out[used] = '\0';
	}
}

/* Replaces the entry in its place, or appends it. */
static void put_entry(char **entries, size_t *count, char *entry)
{
	size_t len = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < *count; i++)
		if (!strncmp(entries[i], entry, len)) {
			entries[i] = entry;
			return;
		}
	entries[(*count)++] = entry;
	entries[*count] = NULL;
}

/* Drops the board of another memtop that started this one. */
static void drop_board(char **entries, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		if (strncmp(entries[i], BOARD_VARIABLE "=", sizeof BOARD_VARIABLE))
			entries[kept++] = entries[i];
	entries[ *count = kept] = NULL;
}

static void environment_make(struct environment *e, const char *agent, const char *extra,
			     const char *board, bool launcher)
{
	const char *preload = getenv("LD_PRELOAD"), *options = getenv("MEMTOP_OPTIONS");
	size_t count = 0;

	while (environ && environ[count])
		count++;
	e->entries = xcalloc(count + 5, sizeof *e->entries);
	if (count)
		memcpy(e->entries, environ, count * sizeof *e->entries);
	if (agent)
		e->preload = xasprintf("LD_PRELOAD=%s%s%s", agent, preload && *preload ? ":" : "",
				       preload ? preload : "");
	e->options = xasprintf("MEMTOP_OPTIONS=listen=@memtop.%%p wait=%d%s%s%s%s", WAIT_MS,
			       options ? " " : "", options ? options : "", extra ? " " : "",
			       extra ? extra : "");
	e->start = xasprintf(MTW_START_VARIABLE "=wait_for=%d", getpid());
	if (e->preload)
		put_entry(e->entries, &count, e->preload);
	put_entry(e->entries, &count, e->options);
	put_entry(e->entries, &count, e->start);
	drop_board(e->entries, &count);
	if (board && *board) {
		e->board = launcher ? xasprintf(BOARD_VARIABLE "=%s%c", board, BOARD_LAUNCHED)
				    : xasprintf(BOARD_VARIABLE "=%s", board);
		put_entry(e->entries, &count, e->board);
	}
}

static void environment_release(struct environment *e)
{
	free(e->entries);
	free(e->preload);
	free(e->options);
	free(e->start);
	free(e->board);
}

struct start {
	const char *path;
	char *const *argv;
	char **env;
	int stdin_fd;      /* -1 = inherit */
	const int *output; /* [2]: stdout, stderr; -1, NULL = inherit */
	bool own_session;
	bool outlives_terminal;
	sigset_t mask;                   /* the program's */
	struct sigaction handlers[NSIG]; /* which of them were ours */
};

/* In the child, after fork: only calls that are safe there. Returns the errno of the failure. */
static int become(const struct start *s)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };

	/* a handler is reset by exec; until then it would run in the child */
	for (int n = 1; n < NSIG; n++)
		if (s->handlers[n].sa_handler != SIG_DFL && s->handlers[n].sa_handler != SIG_IGN)
			sigaction(n, &plain, NULL);
	if (s->own_session)
		setsid();
	if (s->outlives_terminal)
		signal(SIGHUP, SIG_IGN);
	if (s->stdin_fd >= 0 && dup2(s->stdin_fd, 0) < 0)
		return errno;
	for (int i = 0; s->output && i < 2; i++)
		if (s->output[i] >= 0 && dup2(s->output[i], i + 1) < 0)
			return errno;
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
	execve(s->path, s->argv, s->env);
	if (errno == ENOEXEC) { /* a script without "#!": execvp's way */
		char *sh[64] = { (char *)"sh", (char *)s->path };
		size_t n = 0;
		while (s->argv[0] && s->argv[n + 1] && n < 60) {
			sh[n + 2] = s->argv[n + 1];
			n++;
		}
		execve("/bin/sh", sh, s->env);
	}
	return errno;
}

/* The child's pid, or -1 with errno. The pipe closes without data when exec succeeded. */
static pid_t start(struct start *s)
{
	sigset_t all;
	int report[2], why = 0;

	if (pipe2(report, O_CLOEXEC))
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &s->mask);
	for (int n = 1; n < NSIG; n++)
		sigaction(n, NULL, &s->handlers[n]);
	pid_t pid = fork();
	if (pid == 0) {
		why = become(s);
		while (write(report[1], &why, sizeof why) < 0 && errno == EINTR)
			;
		_exit(127);
	}
	int fork_errno = errno;
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
	close(report[1]);
	if (pid > 0) {
		ssize_t n;
		while ((n = read(report[0], &why, sizeof why)) < 0 && errno == EINTR)
			;
		if (n == (ssize_t)sizeof why) {
			waitpid(pid, NULL, 0);
			pid = -1;
			fork_errno = why;
		}
	}
	close(report[0]);
	errno = fork_errno;
	return pid;
}

static bool is_yes(const char *options, const char *name)
{
	char value[16];

	agent_file_option(options, name, value, sizeof value);
	return !strcmp(value, "yes");
}

/* What the agent goes into: the program, or what it launches. */
struct judged {
	const char *name; /* for messages */
	char path[PATH_MAX];
	bool launcher;
	bool unknown; /* a launcher that does not say what it launches */
};

static int judge(char *const argv[], const char *board, const char *options, struct judged *j,
		 char path[PATH_MAX], struct err *err)
{
	if (progcheck_find(argv[0], path, PATH_MAX, err))
		return -1;
	bool may_launch = board && progcheck_static(path);
	j->name = may_launch ? progcheck_launched(argv, j->path) : NULL;
	j->unknown = !j->name && may_launch && is_yes(options, "follow_static");
	j->launcher = j->name || j->unknown;
	if (j->name)
		return 0;
	j->name = argv[0];
	snprintf(j->path, sizeof j->path, "%s", path);
	return 0;
}

static int open_stdin(const struct launch_options *o, struct err *err)
{
	const char *path = o->stdin_path ? o->stdin_path : "/dev/null";
	int fd;

	if (!strcmp(path, "-"))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		err_set(err, 125, "%s: cannot be the program's input: %s; name a readable file",
			path, strerror(errno));
		return -2;
	}
	return fd;
}

int launch_program(char *const argv[], const struct launch_options *o, struct launched *l,
		   struct err *err)
{
	char agent[PATH_MAX], plain[PATH_MAX], path[PATH_MAX], name[108];
	const char *mine = getenv("MEMTOP_OPTIONS");
	struct environment e = { 0 };
	struct judged j;
	char *options = xasprintf("%s %s", mine ? mine : "", o->options ? o->options : "");
	int rc = -1, in = -2;

	*l->folder = *l->note = '\0';
	l->since_ns = now_ns();
	if (judge(argv, o->board, options, &j, path, err))
		goto out;
	l->launcher = j.launcher;
	bool linked = progcheck_linked(j.path);
	if ((!linked &&
	     launch_find_agent(o->agent, progcheck_wants_musl(j.path), agent, sizeof agent, err)) ||
	    (!j.unknown &&
	     progcheck(j.name, j.path, linked ? NULL : agent, l->note, sizeof l->note, err)) ||
	    agent_file_check(linked ? j.path : agent, getenv("MEMTOP_OPTIONS"), o->options, 125,
			     err) ||
	    choose_socket(options, name, sizeof name, err) || (in = open_stdin(o, err)) == -2 ||
	    (!linked && plain_path(agent, plain, sizeof plain, l->folder, sizeof l->folder, err)))
		goto out;
	environment_make(&e, linked ? NULL : plain, o->options, o->board, l->launcher);
	struct start s = { .path = path,
			   .argv = argv,
			   .env = e.entries,
			   .stdin_fd = in,
			   .output = o->output,
			   .own_session = o->own_session,
			   .outlives_terminal = o->outlives_terminal };
	l->pid = start(&s);
	if (l->pid < 0) {
		int why = errno;
		err_set(err,
			why == ENOENT                    ? 127
			: why == EAGAIN || why == ENOMEM ? 125
							 : 126,
			"%s: cannot be started: %s; run it without memtop to compare", argv[0],
			strerror(why));
		goto out;
	}
	*l->socket = '\0';
	if (!l->launcher)
		expand_pid(name, l->pid, l->socket, sizeof l->socket);
	rc = 0;
out:
	if (rc)
		launch_end(l);
	if (in >= 0)
		close(in);
	environment_release(&e);
	free(options);
	return rc;
}

void launch_end(const struct launched *l)
{
	/* /proc counts starts in ticks of 10 ms */
	plain_path_release(l->folder, l->since_ns - 20000000u);
}
