/* SPDX-License-Identifier: MIT
 *
 * debuginfod.c - the downloads.
 *
 * libdebuginfod brings libcurl along, so it is loaded when there is something to ask. It blocks
 * until a server has answered or its own limit is over (DEBUGINFOD_TIMEOUT, 90 s), also while a
 * name server is silent. So it runs in a forked process, which is killed when memtop ends. That
 * process reports by whole messages in a pipe; the pipe's end tells its exit.
 *
 * A server that cannot be reached, or does not answer, is not asked for the other files. A file
 * that it does not have says nothing about the others.
 */
#include "symbols/debuginfod.h"

#include "base/loop.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <memtop/syscalls.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 4u
#define PATIENCE_MS 10000    /* of debuginfod_wait(), without a byte */
#define TELL_NS 100000000ull /* how often a download says how far it is */
#define LIBRARY "libdebuginfod.so.1"

enum { SAYS_PROGRESS, SAYS_GOT, SAYS_FAILED, SAYS_NO_LIBRARY };
struct message {
	int32_t kind, error; /* error: of errno's numbers */
	uint64_t bytes, whole;
	char path[PIPE_BUF - 24];
};

struct download {
	struct debuginfod_file file;
	struct debuginfod *all;
	uint8_t id[64];
	size_t id_len;
	pid_t pid; /* 0 = not running */
	int fd;
	struct loop_source *source;
};

struct debuginfod {
	struct loop *loop;
	void (*ended)(void *arg, const struct debuginfod_file *f);
	void *arg;
	struct download **list;
	size_t count, room, running;
	char *lost;        /* why no server is asked any more; NULL = they are */
	uint64_t heard_ns; /* when the last one brought something */
};

bool debuginfod_has_servers(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[strspn(urls, " ")];
}

typedef struct debuginfod_client client; /* libdebuginfod's own */
/* Of the forked process, which has one download; memtop itself never uses it. Static, since
 * libdebuginfod's callback has no argument for its caller. */
static struct {
	int to; /* the pipe */
	uint64_t said_ns;
} teller;

static void say(const struct message *m)
{
	if (write(teller.to, m, sizeof *m) != (ssize_t)sizeof *m)
		_exit(1);
}

static int progress(client *c, long bytes, long whole)
{
	(void)c;
	if (whole > 0 && (now_ns() - teller.said_ns > TELL_NS || bytes == whole)) {
		teller.said_ns = now_ns();
		say(&(struct message){ .kind = SAYS_PROGRESS,
				       .bytes = (uint64_t)bytes,
				       .whole = (uint64_t)whole });
	}
	return 0;
}

/* Closes everything of memtop's, including its connections and its terminal. */
static void stand_apart(pid_t parent, int fd)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setsid();
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	teller.to = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (teller.to > 3)
		syscall(SYS_close_range, 3, teller.to - 1, 0);
	syscall(SYS_close_range, teller.to + 1, ~0u, 0);
}

static void load(const uint8_t *id, size_t id_len)
{
	struct message m = { .kind = SAYS_NO_LIBRARY };
	void *lib = dlopen(LIBRARY, RTLD_NOW);
	client *(*begin)(void) = lib ? (client * (*)(void)) dlsym(lib, "debuginfod_begin") : NULL;
	int (*find)(client *, const unsigned char *, int, char **) =
		lib ? (int (*)(client *, const unsigned char *, int, char **))dlsym(
			      lib, "debuginfod_find_debuginfo")
		    : NULL;
	void (*tell)(client *, int (*)(client *, long, long)) =
		lib ? (void (*)(client *, int (*)(client *, long, long)))dlsym(
			      lib, "debuginfod_set_progressfn")
		    : NULL;
	client *c = begin && find && tell ? begin() : NULL;
	char *path = NULL;

	if (c) {
		tell(c, progress);
		int fd = find(c, id, (int)id_len, &path);
		m.kind = fd >= 0 && path && strlen(path) < sizeof m.path ? SAYS_GOT : SAYS_FAILED;
		m.error = fd < 0 ? -fd : ENAMETOOLONG;
		off_t bytes = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
		m.bytes = bytes > 0 ? (uint64_t)bytes : 0;
		if (m.kind == SAYS_GOT)
			snprintf(m.path, sizeof m.path, "%s", path);
	}
	say(&m);
}

static pid_t start(const struct download *l, int *fd)
{
	int ends[2];
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		stand_apart(parent, ends[1]);
		load(l->id, l->id_len);
		_exit(0);
	}
	close(ends[1]);
	*fd = ends[0];
	if (pid < 0)
		close(ends[0]);
	return pid;
}

static void reap(struct download *l)
{
	if (!l->pid)
		return;
	kill(l->pid, SIGKILL);
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	loop_remove(l->source);
	close(l->fd);
	l->source = NULL;
	l->pid = 0;
	l->all->running--;
}

static void next(struct debuginfod *d);

static void end(struct download *l, enum debuginfod_state state, const char *why)
{
	struct debuginfod *d = l->all;

	reap(l);
	l->file.state = state;
	l->file.why = why ? xstrdup(why) : NULL;
	d->heard_ns = now_ns();
	debug_log("sym", 1, "debuginfod: %s: %s", l->file.name,
		  state == DEBUGINFOD_GOT ? l->file.path
		  : why                   ? why
					  : "no server has it");
	d->ended(d->arg, &l->file);
}

/* Is the error about the server and not the file? */
static bool is_the_servers(int error)
{
	static const int its[] = { ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ENETUNREACH,  ETIMEDOUT,
				   ETIME,        EIO,        ENOTCONN,     ECONNABORTED, EPROTO };

	for (size_t i = 0; i < sizeof its / sizeof *its; i++)
		if (error == its[i])
			return true;
	return false;
}

static void fail(struct download *l, int error)
{
	struct debuginfod *d = l->all;
	const char *why = error == ETIME ? "no answer in time" : strerror(error);

	if (is_the_servers(error) && !d->lost)
		d->lost = xasprintf("not asked: the server failed before (%s)", why);
	end(l, error == ENOENT ? DEBUGINFOD_ABSENT : DEBUGINFOD_FAILED,
	    error == ENOENT ? NULL : why);
}

static void take(struct download *l, const struct message *m)
{
	switch (m->kind) {
	case SAYS_PROGRESS:
		if (m->bytes != l->file.bytes)
			l->all->heard_ns = now_ns();
		l->file.state = DEBUGINFOD_LOADING;
		l->file.bytes = m->bytes;
		l->file.whole = m->whole;
		break;
	case SAYS_GOT:
		l->file.bytes = l->file.whole = m->bytes;
		l->file.path = xstrdup(m->path);
		end(l, DEBUGINFOD_GOT, NULL);
		break;
	case SAYS_FAILED: fail(l, m->error); break;
	default:
		end(l, DEBUGINFOD_FAILED, LIBRARY " is not installed (apt install libdebuginfod1)");
	}
}

static void on_message(void *arg, unsigned events)
{
	struct download *l = arg;
	struct debuginfod *d = l->all;
	struct message m;

	(void)events;
	ssize_t n = read(l->fd, &m, sizeof m);
	if (n < 0 && errno == EINTR)
		return;
	m.path[sizeof m.path - 1] = '\0';
	if (n == (ssize_t)sizeof m)
		take(l, &m);
	else
		end(l, DEBUGINFOD_FAILED, "its process ended without a message");
	next(d);
}

/* Starts the downloads that may start. */
static void next(struct debuginfod *d)
{
	for (size_t i = 0; i < d->count && d->running < AT_ONCE; i++) {
		struct download *l = d->list[i];
		if (l->file.state != DEBUGINFOD_WAITS)
			continue;
		if (d->lost) {
			end(l, DEBUGINFOD_FAILED, d->lost);
			continue;
		}
		pid_t pid = start(l, &l->fd);
		if (pid < 0) {
			end(l, DEBUGINFOD_FAILED, "no process could be started");
			continue;
		}
		l->pid = pid;
		l->file.state = DEBUGINFOD_ASKED;
		d->running++;
		d->heard_ns = now_ns();
		if (d->loop)
			l->source = loop_fd(d->loop, l->fd, LOOP_READ, on_message, l);
	}
}

void debuginfod_ask(struct debuginfod *d, const char *name, const uint8_t *id, size_t id_len,
		    void *owner)
{
	struct download *l = xcalloc(1, sizeof *l);

	l->all = d;
	l->file.name = xstrdup(name);
	l->file.owner = owner;
	l->id_len = id_len < sizeof l->id ? id_len : sizeof l->id;
	memcpy(l->id, id, l->id_len);
	GROW(d->list, d->room, d->count + 1);
	d->list[d->count++] = l;
	next(d);
}

static void give_up(struct debuginfod *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->list[i]->file.state < DEBUGINFOD_GOT)
			end(d->list[i], DEBUGINFOD_FAILED, "no answer in time");
}

void debuginfod_wait(struct debuginfod *d)
{
	while (d && d->running) {
		struct pollfd p[AT_ONCE];
		struct download *of[AT_ONCE];
		nfds_t n = 0;

		for (size_t i = 0; i < d->count && n < AT_ONCE; i++)
			if (d->list[i]->pid) {
				of[n] = d->list[i];
				p[n++] = (struct pollfd){ .fd = d->list[i]->fd, .events = POLLIN };
			}
		int ready = poll(p, n, PATIENCE_MS / 10);
		if (ready <= 0 && now_ns() - d->heard_ns > PATIENCE_MS * 1000000ull)
			give_up(d);
		for (nfds_t i = 0; ready > 0 && i < n; i++)
			if (p[i].revents)
				on_message(of[i], LOOP_READ);
	}
}

struct debuginfod *debuginfod_new(struct loop *loop,
				  void (*ended)(void *arg, const struct debuginfod_file *f),
				  void *arg)
{
	struct debuginfod *d = xcalloc(1, sizeof *d);

	d->loop = loop;
	d->ended = ended;
	d->arg = arg;
	return d;
}

void debuginfod_free(struct debuginfod *d)
{
	for (size_t i = 0; d && i < d->count; i++) {
		reap(d->list[i]);
		free(d->list[i]->file.name);
		free(d->list[i]->file.path);
		free(d->list[i]->file.why);
		free(d->list[i]);
	}
	if (d) {
		free(d->list);
		free(d->lost);
	}
	free(d);
}

size_t debuginfod_count(const struct debuginfod *d)
{
	return d ? d->count : 0;
}

const struct debuginfod_file *debuginfod_at(const struct debuginfod *d, size_t i)
{
	return &d->list[i]->file;
}
