/* SPDX-License-Identifier: MIT
 *
 * rules.h - rules of other tools that leave stacks out, as check/suppressions.c keeps them.
 */
#ifndef CHECK_RULES_H
#define CHECK_RULES_H

#include "base/base.h"

#define RULE_ITEMS_MAX 64u /* frames of one valgrind suppression */

struct rule_item {
	enum { ITEM_ANY_FRAMES, ITEM_FUNCTION, ITEM_OBJECT, ITEM_SOURCE } kind;
	char *pattern; /* owned; as given; NULL of ITEM_ANY_FRAMES */
	char *name;    /* owned; a mangled pattern, demangled; NULL = it is not */
	bool begin;    /* pattern is the begin of a mangled name */
	uint32_t line; /* ITEM_SOURCE: 0 = any */
};

struct rule {
	char *name;              /* owned */
	char *place;             /* owned; "a.supp:12" */
	char *pattern;           /* LeakSanitizer's; owned; NULL = valgrind's, by its items */
	struct rule_item *items; /* owned */
	size_t count, room;
};

/* A frame as rules see it. */
struct rule_frame {
	const char *function, *file, *module, *path; /* NULL = unknown; path: of the module */
	uint32_t line;
	bool libc, inlined;
};

/* check/lsan.c. */
/* "leak:..." as a rule; false: not one */
bool lsan_read(const char *line, struct rule *r);
bool lsan_matches(const struct rule *r, const struct rule_frame *frames, size_t count);

/* check/valgrind.c. */
void rule_release(struct rule *r);
struct valgrind_reader {
	struct rule rule;  /* the one that is read */
	unsigned at;       /* line within it; 0 = between two */
	bool leak, broken; /* is it a leak of Memcheck? */
};
/* A line, trimmed. 1: the rule is whole, and the caller's; 0: go on; -1: the line is wrong. */
int valgrind_read(struct valgrind_reader *v, const char *line);
bool valgrind_matches(const struct rule *r, const struct rule_frame *frames, size_t count);

/* check/mangled.c. */
bool mangled_prefix(const char *pattern); /* is it the begin of a mangled name, and its rest "*"? */
/* Does it match a function's mangled name? Of a pattern that is one. */
bool mangled_matches(const char *pattern, const char *function);

#endif
