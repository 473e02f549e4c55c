/* SPDX-License-Identifier: MIT
 *
 * adb.c - the user's own adb client, one command at a time.
 *
 * The client is used rather than its protocol: it finds devices, holds keys, starts its server, and is what the user has
 * set up. Each command is a process in a group of its own, so that ^C is for memtop alone, which ends it and cleans
 * up. A command has ended when its process has: a server that it started may hold its pipes open.
 *
 * Daemons without shell_v2 (before Android 7) know neither a status nor stderr, and end lines with CR LF: the script
 * says its status itself, last, and CRs before LFs are dropped.
 */
#include "adb.h"

#include "foreign.h"

#include <ctype.h>
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
#define LOOK_MS 50            /* how often an ended process is looked for whose pipes somebody holds */
#define PUSH_MS 300000

extern char **environ;

struct pipe_end {
	int fd;              /* -1 = at its end */
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
	return err_set(err, ADB_STOPPED, "adb: interrupted: what was begun is taken back; run it again");
}

int adb_pause(const struct adb *a, int ms, struct err *err)
{
	struct pollfd p = { .fd = a->stop_fd, .events = POLLIN };

	return poll(&p, 1, ms) > 0 ? adb_stopped(err) : 0;
}

static bool runs(const char *folder, size_t len, const char *rest, char *path, size_t size)
{
	return folder && len && (size_t)snprintf(path, size, "%.*s%s", (int)len, folder, rest) < size && access(path, X_OK) == 0;
}

int adb_open(struct adb *a, const char *given, int stop_fd, struct err *err)
{
	static const char *const homes[] = { "ANDROID_HOME", "ANDROID_SDK_ROOT" };
	const char *serial = getenv("ANDROID_SERIAL"), *dirs = getenv("PATH");

	*a = (struct adb){ .stop_fd = stop_fd };
	if (serial && strlen(serial) < sizeof a->serial)
		snprintf(a->serial, sizeof a->serial, "%s", serial);
	if (given && !runs(given, strlen(given), "", a->program, sizeof a->program))
		return err_set(err, 3, "%s: no adb there that can be run: %s; give the path of the client with --adb", given, strerror(errno));
	if (given)
		return 0;
	for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
		const char *home = getenv(homes[i]);
		if (runs(home, home ? strlen(home) : 0, "/platform-tools/adb", a->program, sizeof a->program))
			return 0;
	}
	for (const char *d = dirs ? dirs : ""; *d; d += strcspn(d, ":"), d += *d == ':')
		if (runs(d, strcspn(d, ":"), "/adb", a->program, sizeof a->program))
			return 0;
	return err_set(err, 3, "adb: not found in ANDROID_HOME/platform-tools, nor in PATH; install it (apt install adb, or Android's "
		       "platform-tools), or name it with --adb");
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
		return err_set(err, 3, "adb: no pipe: %s; close other programs and try again", strerror(rc));
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
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
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
	return err_set(err, 3, "%s: cannot be started: %s; name another client with --adb", argv[0], strerror(rc));
}

/* What is there now; -1 at the end. */
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

/* Whatever is in the pipes of an ended process: nobody else's writing is waited for. */
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

/* Until it ends. 0; -1 and *err; a quiet one (quiet_ms > 0) is as good as ended. */
static int follow(const struct adb *a, struct command *c, const char *what, int limit_ms, int quiet_ms, struct err *err)
{
	uint64_t end = now_ns() + (uint64_t)limit_ms * 1000000, heard = 0;

	for (;;) {
		struct pollfd p[] = { { .fd = a->stop_fd, .events = POLLIN }, { .fd = c->out.fd, .events = POLLIN },
				      { .fd = c->said.fd, .events = POLLIN } };
		if (waitpid(c->pid, &c->status, WNOHANG) == c->pid) {
			c->ended = true;
			drain(c);
			return 0;
		}
		poll(p, 3, LOOK_MS);
		if (p[0].revents)
			return adb_stopped(err);
		if (p[1].revents && take(&c->out) > 0)
			heard = now_ns();
		if (p[2].revents)
			take(&c->said);
		if (c->out.fd < 0 && c->said.fd < 0)
			adb_pause(&(struct adb){ .stop_fd = -1 }, 1, NULL);
		uint64_t now = now_ns();
		if (quiet_ms && ((heard && now - heard > (uint64_t)quiet_ms * 1000000) || now > end))
			return 0;
		if (now > end)
			return err_set(err, 3, "adb %s: no end after %d s; see whether the device answers: adb devices", what, limit_ms / 1000);
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

static int run(const struct adb *a, const char *const *words, int limit_ms, int quiet_ms, struct adb_answer *r, struct err *err)
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
	r->status = !c.ended ? 0 : WIFEXITED(c.status) ? WEXITSTATUS(c.status) : 128 + WTERMSIG(c.status);
	debug_log("adb", 1, "%s %s: rc %d, status %d, out %zu bytes, said %s", words[0], words[1] ? words[1] : "", rc, r->status, r->length,
		  r->said);
	return rc;
}

int adb_run(const struct adb *a, const char *const *words, int limit_ms, struct adb_answer *r, struct err *err)
{
	return run(a, words, limit_ms, 0, r, err);
}

int adb_listen(const struct adb *a, const char *const *words, int limit_ms, struct adb_answer *r, struct err *err)
{
	return run(a, words, limit_ms, QUIET_MS, r, err);
}

void adb_answer_release(struct adb_answer *r)
{
	free(r->out);
	free(r->said);
	*r = (struct adb_answer){ .status = 0 };
}

/* "SERIAL  STATE product:x model:y ...", or "SERIAL  no permissions (...); see [...]". */
static bool parse_device(char *line, struct adb_device *d)
{
	size_t len = strcspn(line, " \t");
	char *state = line + len + strspn(line + len, " \t");
	char *model = strstr(state, " model:");

	if (!len || len >= sizeof d->serial || !*state)
		return false;
	*d = (struct adb_device){ .state = "" };
	memcpy(d->serial, line, len);
	if (model) {
		model[7 + strcspn(model + 7, " ")] = '\0';
		foreign_clean(d->model, sizeof d->model, model + 7);
	}
	size_t word = strncmp(state, "no permissions", 14) ? strcspn(state, " ") : 14;
	state[word] = '\0';
	foreign_clean(d->state, sizeof d->state, state);
	return true;
}

int adb_devices(const struct adb *a, struct adb_device **list, size_t *count, struct err *err)
{
	static const char *const words[] = { "devices", "-l", NULL };
	struct adb everywhere = *a;
	struct adb_answer r;
	size_t room = 0;

	*list = NULL;
	*count = 0;
	everywhere.serial[0] = '\0';
	int rc = adb_run(&everywhere, words, ADB_SLOW_MS, &r, err);
	if (rc == 0 && r.status)
		rc = adb_explain("adb devices", *r.said ? r.said : r.out, err);
	char *at = rc ? NULL : strstr(r.out, "List of devices");
	for (char *line = at ? strtok_r(at, "\r\n", &at) : NULL; line; line = strtok_r(NULL, "\r\n", &at)) {
		GROW(*list, room, *count + 1);
		if (strncmp(line, "List of devices", 15) && parse_device(line, &(*list)[*count]))
			++*count;
	}
	adb_answer_release(&r);
	return rc;
}

bool adb_usable(const struct adb_device *d)
{
	return !strcmp(d->state, "device");
}

char *adb_quote(const char *text)
{
	char *quoted = xmalloc(strlen(text) * 4 + 3), *to = quoted;

	*to++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = *text;
	}
	stpcpy(to, "'");
	return quoted;
}

/* CR LF to LF; returns the new length. */
static size_t drop_returns(char *text, size_t length)
{
	size_t to = 0;

	for (size_t i = 0; i < length; i++)
		if (text[i] != '\r' || (text[i + 1] != '\n' && text[i + 1] != '\r'))
			text[to++] = text[i];
	text[to] = '\0';
	return to;
}

/* The script's own last line, "rc=N", cut off. */
static bool take_status(struct adb_answer *r)
{
	size_t at = r->length;

	while (at && r->out[at - 1] == '\n')
		at--;
	r->out[at] = '\0';
	while (at && r->out[at - 1] != '\n')
		at--;
	char *end;
	if (strncmp(r->out + at, "rc=", 3) || !isdigit((unsigned char)r->out[at + 3]))
		return false;
	r->status = (int)strtol(r->out + at + 3, &end, 10);
	if (*end)
		return false;
	r->out[at] = '\0';
	r->length = at;
	return true;
}

int adb_shell(const struct adb *a, const char *script, int limit_ms, struct adb_answer *r, struct err *err)
{
	char *line = xasprintf("( %s\n); r=$?; echo; echo rc=$r", script);
	const char *const words[] = { "shell", line, NULL };

	int rc = adb_run(a, words, limit_ms, r, err);
	free(line);
	r->length = drop_returns(r->out, r->length);
	if (rc == 0 && !take_status(r))
		rc = adb_explain(a->serial, *r->said ? r->said : r->out, err);
	return rc;
}

int adb_push(const struct adb *a, const char *file, const char *remote, struct err *err)
{
	const char *const words[] = { "push", file, remote, NULL };
	struct adb_answer r;

	int rc = adb_run(a, words, PUSH_MS, &r, err);
	if (rc == 0 && r.status)
		rc = adb_explain("push to the device", *r.said ? r.said : r.out, err);
	adb_answer_release(&r);
	return rc;
}

int adb_forward(const struct adb *a, const char *remote, int *port, struct err *err)
{
	const char *const words[] = { "forward", "tcp:0", remote, NULL };
	struct adb_answer r;

	*port = 0;
	int rc = adb_run(a, words, ADB_SLOW_MS, &r, err);
	if (rc == 0 && r.status)
		rc = adb_explain("adb forward", *r.said ? r.said : r.out, err);
	else if (rc == 0 && (*port = atoi(r.out)) <= 0)
		rc = err_set(err, 3, "adb forward: it says no port for tcp:0: %s is too old; use a newer client (--adb)", a->program);
	adb_answer_release(&r);
	return rc;
}

void adb_unforward(const struct adb *a, int port)
{
	char name[32];
	const char *const words[] = { "forward", "--remove", name, NULL };
	struct adb_answer r;

	if (!port)
		return;
	snprintf(name, sizeof name, "tcp:%d", port);
	adb_run(a, words, ADB_LAST_MS, &r, NULL);
	adb_answer_release(&r);
}
