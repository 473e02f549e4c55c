/* SPDX-License-Identifier: MIT
 *
 * target.c - parses the words that name a target; the same for every verb.
 *
 * Declared in target.h. Nothing is guessed: an ambiguous word is refused with both ways to write
 * it, so that a script never watches the wrong target. A session file is recognized by its first
 * bytes. A name that ends in .mtop is always a session file, so that the error names the file's
 * problem.
 */
#include "launch/target.h"

#include "session/session.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define UNIX_MAX (sizeof((struct sockaddr_un *)NULL)->sun_path - 1)

/* The whole of s as a decimal number within 1..max, or -1. */
static long number(const char *s, long max)
{
	long v = 0;

	if (!*s)
		return -1;
	for (; *s; s++) {
		if (!isdigit((unsigned char)*s))
			return -1;
		v = v * 10 + (*s - '0');
		if (v > max)
			return -1;
	}
	return v ? v : -1;
}

static int parse_port(const char *word, const char *digits, struct target *t, struct err *err)
{
	long port = number(digits, 65535);

	if (port < 0 && strchr(digits, ':'))
		return err_set(err, 2,
			       "%s: which colon is the port's?; use :9001, HOST:9001 or [::1]:9001",
			       word);
	if (port < 0)
		return err_set(
			err, 2,
			"%s: not a port: a number from 1 to 65535 follows the colon; use %.*s9001",
			word, (int)(digits - word), word);
	t->kind = TARGET_TCP;
	t->port = (int)port;
	return 0;
}

/* HOST:PORT or [V6]:PORT; colon is the last one in word. */
static int parse_host(const char *word, const char *colon, struct target *t, struct err *err)
{
	const char *host = word;
	size_t len = (size_t)(colon - word);

	if (*host == '[' && len >= 2 && host[len - 1] == ']') {
		host++;
		len -= 2;
	} else if (*host == '[' && word[strlen(word) - 1] == ']') {
		return err_set(err, 2, "%s: its port is missing; use %s:9001", word, word);
	} else if (memchr(host, ':', len)) {
		return err_set(err, 2, "%s: which colon is the port's?; use [%.*s]:%s", word,
			       (int)len, host, colon + 1);
	}
	if (!len || len >= sizeof t->host)
		return err_set(err, 2, "%s: not a host name; use HOST:PORT", word);
	memcpy(t->host, host, len);
	t->host[len] = '\0';
	return parse_port(word, colon + 1, t, err);
}

static bool has_ending(const char *word, const char *ending)
{
	size_t n = strlen(word), e = strlen(ending);

	return n > e && !strcmp(word + n - e, ending);
}

static bool in_path(const char *word)
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX];

	for (const char *d = dirs ? dirs : ""; *d; d += strcspn(d, ":"), d += *d == ':') {
		snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(d, ":"), d, word);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static int refuse(const char *word, struct err *err)
{
	struct stat st;
	bool there = stat(word, &st) == 0;

	if (number(word, INT_MAX) > 0)
		return err_set(err, 2, "%s: a port or a process?; use :%s or -p %s", word, word,
			       word);
	if ((there && S_ISREG(st.st_mode) && (st.st_mode & 0111)) ||
	    (!strchr(word, '/') && *word && in_path(word)))
		return err_set(err, 2, "%s: a program, not a target; use memtop run %s", word,
			       word);
	if (there && S_ISSOCK(st.st_mode))
		return err_set(err, 2, "%s: a socket; use unix:%s", word, word);
	if (there && S_ISREG(st.st_mode))
		return err_set(err, 2,
			       "%s: a file, but not a session; use a file that memtop record wrote",
			       word);
	return err_set(err, 2,
		       "%s: not a target; use :PORT, HOST:PORT, @NAME, unix:PATH, -p PID or "
		       "FILE.mtop (memtop --help lists the verbs)",
		       word);
}

int target_parse(const char *word, struct target *t, struct err *err)
{
	const char *colon = strrchr(word, ':');

	*t = (struct target){ 0 };
	snprintf(t->text, sizeof t->text, "%s", word);
	if (strlen(word) >= sizeof t->name)
		return err_set(err, 2, "%.40s...: too long for a target; use a shorter path", word);
	if (word[0] == ':') {
		snprintf(t->host, sizeof t->host, "127.0.0.1");
		return parse_port(word, word + 1, t, err);
	}
	if (word[0] == '@') {
		if (!word[1] || strlen(word + 1) > UNIX_MAX)
			return err_set(err, 2,
				       "%s: not a socket's name: 1 to %zu bytes follow the @; see "
				       "memtop list",
				       word, UNIX_MAX);
		t->kind = TARGET_ABSTRACT;
		snprintf(t->name, sizeof t->name, "%s", word + 1);
		/* the agent's own naming: whose it must be is known */
		if (!strncmp(t->name, "memtop.", 7))
			t->pid = number(t->name + 7, INT_MAX) > 0 ? atoi(t->name + 7) : 0;
		return 0;
	}
	if (!strncmp(word, "unix:", 5)) {
		if (!word[5] || strlen(word + 5) > UNIX_MAX)
			return err_set(err, 2,
				       "%s: not a socket's path: 1 to %zu bytes follow unix:; use "
				       "unix:/run/user/1000/x.sock or the like",
				       word, UNIX_MAX);
		t->kind = TARGET_PATH;
		snprintf(t->name, sizeof t->name, "%s", word + 5);
		/* whose it must be is known, as above */
		sscanf(t->name, "/proc/%d/root/", &t->pid);
		return 0;
	}
	if (has_ending(word, ".mtop") || session_file(word)) {
		t->kind = TARGET_FILE;
		snprintf(t->name, sizeof t->name, "%s", word);
		return 0;
	}
	if (colon && !strchr(word, '/'))
		return parse_host(word, colon, t, err);
	return refuse(word, err);
}

int target_parse_pid(const char *word, struct target *t, struct err *err)
{
	long pid = number(word, INT_MAX);

	*t = (struct target){ .kind = TARGET_PID, .pid = (int)pid };
	snprintf(t->text, sizeof t->text, "-p %s", word);
	if (pid < 0)
		return err_set(err, 2,
			       "-p %s: not a process id; use the number that memtop list shows",
			       word);
	return 0;
}
