/* SPDX-License-Identifier: MIT
 *
 * base.c - errors, allocation that does not fail, debug log.
 *
 * memtop may end when it is out of memory: it is not the program being watched. A caller bounds
 * every size that a peer decides before it calls these functions.
 */
#include "base/base.h"

#include "base/sanitize.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Keeps the advice at the end of the line. */
void err_line(char *text, size_t size, const char *format, va_list args)
{
	char *whole = NULL;
	int n = vasprintf(&whole, format, args);

	if (n < 0)
		whole = NULL;
	if (whole && (size_t)n >= size)
		snprintf(text, size, "%.*s...%s", (int)(size / 2 - 4), whole,
			 whole + (size_t)n - size / 2);
	else
		snprintf(text, size, "%s",
			 whole ? whole
			       : "out of memory: the system has no more; end other programs");
	free(whole);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	sanitize_clean(text, size, text);
}

int err_set(struct err *err, int status, const char *format, ...)
{
	va_list args;

	if (!err)
		return -1;
	err->status = status;
	va_start(args, format);
	err_line(err->text, sizeof err->text, format, args);
	va_end(args);
	return -1;
}

void (*bug_restore)(void);

void bug_at(const char *file, int line, const char *format, ...)
{
	va_list args;

	if (bug_restore)
		bug_restore();
	fprintf(stderr, "memtop: internal error at %s:%d: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("; please report it\n", stderr);
	abort();
}

void (*memory_end)(void);

static void end_with(const char *format, ...) PRINTF(1, 2) __attribute__((noreturn));

static void end_with(const char *format, ...)
{
	va_list args;

	if (memory_end)
		memory_end();
	fputs("memtop: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(125);
}

void base_out_of_memory(void)
{
	end_with("out of memory: the system has no more; end other programs and try again");
}

static void *got(void *p)
{
	if (!p)
		base_out_of_memory();
	return p;
}

void *xmalloc(size_t bytes)
{
	return got(malloc(bytes ? bytes : 1));
}

void *xcalloc(size_t n, size_t bytes)
{
	return got(calloc(n ? n : 1, bytes ? bytes : 1));
}

void *xrealloc(void *p, size_t bytes)
{
	return got(realloc(p, bytes ? bytes : 1));
}

char *xstrdup(const char *s)
{
	return got(strdup(s));
}

char *xstrndup(const char *s, size_t len)
{
	return got(strndup(s, len));
}

char *xasprintf(const char *format, ...)
{
	va_list args;
	char *s = NULL;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		s = NULL;
	va_end(args);
	return got(s);
}

/* The level of `domain` in "conn:2,sym"; 0 when it is not there, 1 without a number. */
static int debug_level(const char *spec, const char *domain)
{
	size_t len = strlen(domain);

	while (spec && *spec) {
		size_t word = strcspn(spec, ",");
		if (word >= len && !strncmp(spec, domain, len) && (word == len || spec[len] == ':'))
			return word == len ? 1 : atoi(spec + len + 1);
		spec += word + (spec[word] == ',');
	}
	return 0;
}

static bool debug_on(const char *domain, int level)
{
	const char *spec = getenv("MEMTOP_DEBUG");

	return spec && debug_level(spec, domain) >= level;
}

void debug_log(const char *domain, int level, const char *format, ...)
{
	static int fd = -1;
	char line[1024];
	va_list args;

	if (!debug_on(domain, level))
		return;
	if (fd < 0) {
		const char *path = getenv("MEMTOP_DEBUG_FILE");
		fd = open(path ? path : "memtop-debug.log",
			  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return;
	}
	int head = snprintf(line, sizeof line, "%.6f %s: ", (double)now_ns() / 1e9, domain);
	va_start(args, format);
	int len = vsnprintf(line + head, sizeof line - (size_t)head - 1, format, args);
	va_end(args);
	size_t end = (size_t)head + (len < 0 ? 0 : (size_t)len);
	if (end > sizeof line - 2)
		end = sizeof line - 2;
	line[end++] = '\n';
	if (write(fd, line, end) < 0) {
		/* A log that cannot be written must not disturb what it logs. */
	}
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t unix_now_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* A large array moves by its pages, without a copy, so it grows in small steps with little spare
 * room. */
#define LARGE (1u << 20)

void grow_array(void **ptr, size_t *have, size_t need, size_t size)
{
	size_t room = *have;

	if (need <= room)
		return;
	room = room + room / (room * size < LARGE ? 2 : 8) + 16;
	if (room < need)
		room = need;
	if (room > SIZE_MAX / 2 / size)
		end_with("out of memory: an array of %zu elements; use a filter or a shorter "
			 "session",
			 room);
	*ptr = xrealloc(*ptr, room * size);
	memset((char *)*ptr + *have * size, 0, (room - *have) * size);
	*have = room;
}

size_t count_up_to(const void *elements, size_t count, size_t size, uint64_t key)
{
	size_t from = 0, to = count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		uint64_t at;
		memcpy(&at, (const char *)elements + middle * size, sizeof at);
		if (at <= key)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}
