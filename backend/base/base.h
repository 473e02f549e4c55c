/* SPDX-License-Identifier: MIT
 *
 * base.h - errors, allocation that does not fail, debug log. Any thread.
 *
 * A function that can fail for the user takes `struct err *` last: untouched on success, on failure
 * a complete clause "WHAT: WHY; what to do" without the program's name or a newline. The library
 * ends its program in two cases only: memory runs out (base_out_of_memory()), or memtop has a bug
 * (BUG()).
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err {
	int status; /* exit status: 2 usage, 3 cannot connect or read, 125 ... */
	char text[1024];
};

#define PRINTF(a, b) __attribute__((format(printf, a, b)))

/* returns -1; err may be NULL */
int err_set(struct err *err, int status, const char *format, ...) PRINTF(3, 4);

/* One line for a person, sanitized. A line longer than `size` loses its middle. */
void err_line(char *text, size_t size, const char *format, va_list args);

#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
void bug_at(const char *file, int line, const char *format, ...) PRINTF(3, 4)
	__attribute__((noreturn));

/* Called before BUG() prints, NULL = nothing: curses restores the terminal. */
extern void (*bug_restore)(void);

/* Called by the x functions and GROW(): prints a line on stderr and exits with status 125, or calls
 * memory_end. Callers bound sizes that a peer decides. */
void base_out_of_memory(void) __attribute__((noreturn));

/* NULL = nothing; does not return: base/child.h. */
extern void (*memory_end)(void);

void *xmalloc(size_t bytes);
void *xcalloc(size_t n, size_t bytes);
void *xrealloc(void *p, size_t bytes);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len);
char *xasprintf(const char *format, ...) PRINTF(1, 2);

/* MEMTOP_DEBUG=conn:2,sym : a log file, never the screen. */
void debug_log(const char *domain, int level, const char *format, ...) PRINTF(3, 4);

uint64_t now_ns(void);      /* CLOCK_MONOTONIC */
uint64_t unix_now_ns(void); /* CLOCK_REALTIME */

/* For a function that only fetches memory (__builtin_prefetch()): gcc takes it for one without any
 * effect, and drops its calls, unless it is a part of its caller. */
#define FETCHES static inline __attribute__((always_inline)) void

/* Growing array: GROW(ptr, have, need) keeps *ptr with room for `need` elements, new ones
 * zeroed. */
#define GROW(ptr, have, need)                                                                      \
	((need) > (have) ? grow_array((void **)&(ptr), &(have), (need), sizeof *(ptr)) : (void)0)
void grow_array(void **ptr, size_t *have, size_t need, size_t size);

/* Elements of `size` bytes begin with a uint64_t and are sorted by it: how many have one at `key`
 * or below. */
size_t count_up_to(const void *elements, size_t count, size_t size, uint64_t key);

#endif
