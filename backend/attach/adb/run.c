/* SPDX-License-Identifier: MIT
 *
 * run.c - runs one command of the adb client as a process, with a limit. Declared in
 * attach/adb/adb.h.
 *
 * Each process has its own process group, so that ^C reaches memtop alone, which ends the process
 * and cleans up. A command has ended when its process has: a server that it started may keep its
 * pipes open.
 */
#include "attach/adb/run.h"
#include "attach/adb/adb.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX (4u << 20) /* of one command; more is dropped */
#define QUIET_MS 300
#define LOOK_MS 50 /* how often to check for an ended process whose pipes another one holds */

extern char **environ;

struct pipe_end {
	int fd; /* -1 = at its end */
	char *text;
	size_t length, room;
};

struct command {
	pid_t pid;
	struct pipe_end out, said;
	int status;
	bool ended;
};

int adb_stopped(struct err *err)
{
	return err_set(err, ADB_STOPPED, "adb: interrupted: everything is undone; run it again");
}

int adb_pause(const struct adb *a, int ms, struct err *err)
{
	struct pollfd p = { .fd = a->stop_fd, .events = POLLIN };

	return poll(&p, 1, ms) > 0 ? adb_stopped(err) : 0;
}

static int spawn(struct command *c, char *const *argv, struct err *err)
{
	int out[2] = { -1, -1 }, said[2] = { -1, -1 }, rc;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none, all;

	if (pipe2(out, O_CLOEXEC) || pipe2(said, O_CLOEXEC)) {
		rc = errno;
		if (out[0] >= 0)
			close(out[0]), close(out[1]);
		return err_set(err, 3, "adb: no pipe: %s; close other programs and try again",
			       strerror(rc));
	}
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out[1], 1);
	posix_spawn_file_actions_adddup2(&files, said[1], 2);
	posix_spawnattr_init(&how);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setsigdefault(&how, &all);
	posix_spawnattr_setpgroup(&how, 0);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
					       POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn(&c->pid, argv[0], &files, &how, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	close(out[1]);
	close(said[1]);
	c->out.fd = out[0];
	c->said.fd = said[0];
	if (rc == 0)
		return 0;
	close(out[0]);
	close(said[0]);
	return err_set(err, 3, "%s: cannot be started: %s; name another client with --adb", argv[0],
		       strerror(rc));
}

/* Reads the available bytes; -1 at the end. */
static ssize_t take(struct pipe_end *p)
{
	char dropped[4096];
	ssize_t n;

	if (p->length >= OUTPUT_MAX) {
		n = read(p->fd, dropped, sizeof dropped);
	} else {
		GROW(p->text, p->room, p->length + 4097);
		n = read(p->fd, p->text + p->length, 4096);
		if (n > 0)
			p->length += (size_t)n;
	}
	if (n == 0 || (n < 0 && errno != EINTR)) {
		close(p->fd);
		p->fd = -1;
		return -1;
	}
	return n;
}

/* Empties the pipes of an ended process, without waiting for other writers. */
static void drain(struct command *c)
{
	struct pipe_end *ends[] = { &c->out, &c->said };

	for (size_t i = 0; i < 2; i++)
		while (ends[i]->fd >= 0) {
			struct pollfd p = { .fd = ends[i]->fd, .events = POLLIN };
			if (poll(&p, 1, 0) <= 0 || take(ends[i]) < 0)
				break;
		}
}

/* Waits until it ends. 0; -1 and *err; silence for quiet_ms (> 0) counts as its end. */
static int follow(const struct adb *a, struct command *c, const char *what, int limit_ms,
		  int quiet_ms, struct err *err)
{
	uint64_t end = now_ns() + (uint64_t)limit_ms * 1000000, heard = 0;

	for (;;) {
		struct pollfd p[] = { { .fd = a->stop_fd, .events = POLLIN },
				      { .fd = c->out.fd, .events = POLLIN },
				      { .fd = c->said.fd, .events = POLLIN } };
		if (waitpid(c->pid, &c->status, WNOHANG) == c->pid) {
			c->ended = true;
			drain(c);
			return 0;
		}
		poll(p, 3, c->out.fd < 0 && c->said.fd < 0 ? 1 : LOOK_MS);
		if (p[0].revents)
			return adb_stopped(err);
		if (p[1].revents && take(&c->out) > 0)
			heard = now_ns();
		if (p[2].revents)
			take(&c->said);
		uint64_t now = now_ns();
		if (quiet_ms &&
		    ((heard && now - heard > (uint64_t)quiet_ms * 1000000) || now > end))
			return 0;
		if (now > end)
			return err_set(err, 3,
				       "adb %s: not finished after %d s; check that the device "
				       "answers: adb devices",
				       what, limit_ms / 1000);
	}
}

/* Lines about its server, which say nothing about the command: "* daemon started successfully". */
static void drop_chatter(char *text)
{
	char *to = text;

	for (char *line = text, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		if (!strncmp(line, "* daemon", 8) || !strncmp(line, "adb server version", 18))
			continue;
		memmove(to, line, (size_t)(next - line));
		to += next - line;
	}
	*to = '\0';
}

static char *text_of(struct pipe_end *p)
{
	if (p->fd >= 0)
		close(p->fd);
	GROW(p->text, p->room, p->length + 1);
	p->text[p->length] = '\0';
	return p->text;
}

static int run(const struct adb *a, const char *const *words, int limit_ms, int quiet_ms,
	       struct adb_answer *r, struct err *err)
{
	const char *argv[16] = { a->program };
	size_t n = 1;
	struct command c = { .pid = -1 };

	*r = (struct adb_answer){ .out = xstrdup(""), .said = xstrdup("") };
	if (*a->serial) {
		argv[n++] = "-s";
		argv[n++] = a->serial;
	}
	for (size_t i = 0; words[i] && n + 1 < sizeof argv / sizeof *argv; i++)
		argv[n++] = words[i];
	if (spawn(&c, (char *const *)(uintptr_t)argv, err))
		return -1;
	int rc = follow(a, &c, words[0], limit_ms, quiet_ms, err);
	if (!c.ended) {
		kill(c.pid, SIGKILL);
		waitpid(c.pid, &c.status, 0);
	}
	free(r->out);
	free(r->said);
	r->out = text_of(&c.out);
	r->length = c.out.length;
	r->said = text_of(&c.said);
	drop_chatter(r->said);
	r->status = !c.ended              ? 0
		    : WIFEXITED(c.status) ? WEXITSTATUS(c.status)
					  : 128 + WTERMSIG(c.status);
	debug_log("adb", 1, "%s %s: rc %d, status %d, out %zu bytes, said %s", words[0],
		  words[1] ? words[1] : "", rc, r->status, r->length, r->said);
	return rc;
}

int adb_run(const struct adb *a, const char *const *words, int limit_ms, struct adb_answer *r,
	    struct err *err)
{
	return run(a, words, limit_ms, 0, r, err);
}

int adb_listen(const struct adb *a, const char *const *words, int limit_ms, struct adb_answer *r,
	       struct err *err)
{
	return run(a, words, limit_ms, QUIET_MS, r, err);
}

void adb_answer_release(struct adb_answer *r)
{
	free(r->out);
	free(r->said);
	*r = (struct adb_answer){ .status = 0 };
}
