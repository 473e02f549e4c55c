/* SPDX-License-Identifier: MIT
 *
 * valgrind.c - valgrind's suppressions. One is
 *
 *   {
 *      NAME
 *      Memcheck:Leak
 *      match-leak-kinds: definite
 *      fun:malloc
 *      fun:parse_*
 *      ...
 *      obj:*libfoo.so*
 *   }
 *
 * Its frames must match the innermost ones of a stack; what follows outwards may be anything. A
 * mangled name without wildcards is demangled, since memtop's names are.
 */
#include "check/internal.h"

#include "check/pattern.h"
#include "symbols/demangle.h"

#include <stdlib.h>
#include <string.h>

/* --- reading */

void rule_release(struct rule *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->items[i].pattern);
	free(r->items);
	free(r->name);
	free(r->pattern);
	*r = (struct rule){ 0 };
}

/* Is `Memcheck,Helgrind:Leak` a leak of Memcheck? */
static bool is_leak(const char *line)
{
	const char *colon = strchr(line, ':'), *tool = strstr(line, "Memcheck");

	return colon && tool && tool < colon && !strcmp(colon + 1, "Leak");
}

static bool is_tool(const char *line)
{
	const char *colon = strchr(line, ':');

	return colon && colon != line && colon[1];
}

/* A mangled pattern with wildcards cannot be compared with demangled names. */
static char *name_pattern(const char *text)
{
	if (strncmp(text, "_Z", 2))
		return xstrdup(text);
	return strpbrk(text, "*?") ? NULL : demangle(text);
}

static void read_source(struct rule_item *item, const char *text)
{
	const char *colon = strrchr(text, ':');
	char *end = NULL;

	item->line = colon ? (uint32_t)strtoul(colon + 1, &end, 10) : 0;
	if (end && (*end || end == colon + 1))
		colon = NULL;
	item->pattern = colon ? xstrndup(text, (size_t)(colon - text)) : xstrdup(text);
}

static int read_item(struct rule *r, const char *line)
{
	struct rule_item item = { 0 };

	if (r->count == RULE_ITEMS_MAX)
		return -1;
	if (!strncmp(line, "fun:", 4) && line[4]) {
		item.kind = ITEM_FUNCTION;
		item.pattern = name_pattern(line + 4);
	} else if (!strncmp(line, "obj:", 4) && line[4]) {
		item.kind = ITEM_OBJECT;
		item.pattern = xstrdup(line + 4);
	} else if (!strncmp(line, "src:", 4) && line[4]) {
		item.kind = ITEM_SOURCE;
		read_source(&item, line + 4);
	} else if (strcmp(line, "...")) {
		return -1;
	}
	if (item.kind != ITEM_ANY_FRAMES && !item.pattern)
		return -1;
	GROW(r->items, r->room, r->count + 1);
	r->items[r->count++] = item;
	return 0;
}

static const char *const allocators[] = {
	"malloc",        "calloc",         "realloc", "reallocarray", "memalign",
	"aligned_alloc", "posix_memalign", "valloc",  "pvalloc",
};

static bool is_allocator(const char *pattern)
{
	if (!strncmp(pattern, "operator new", 12))
		return true;
	for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++)
		if (strcmp(pattern, "*") && pattern_matches(pattern, allocators[i], true))
			return true;
	return false;
}

static void drop_first(struct rule *r)
{
	free(r->items[0].pattern);
	memmove(r->items, r->items + 1, --r->count * sizeof *r->items);
}

/* 1: whole; -1: a rule that would match every stack, or no frame. */
static int finish(struct valgrind_reader *v)
{
	struct rule *r = &v->rule;
	bool tells = false;

	for (size_t i = 0; i < r->count; i++)
		tells |= r->items[i].kind != ITEM_ANY_FRAMES;
	if (!tells)
		return -1;
	if (r->items[0].kind == ITEM_FUNCTION && is_allocator(r->items[0].pattern))
		drop_first(r);
	return 1;
}

static int end_rule(struct valgrind_reader *v)
{
	int rc = v->at < 3 ? -1 : !v->leak || v->broken ? 0 : finish(v);

	if (rc != 1)
		rule_release(&v->rule);
	v->at = 0;
	return rc;
}

/* Once a line of a rule was wrong, the rest of it is skipped: without the line it would match
 * more. */
static int wrong(struct valgrind_reader *v)
{
	bool first = !v->broken;

	v->broken = true;
	return first ? -1 : 0;
}

int valgrind_read(struct valgrind_reader *v, const char *line)
{
	if (!*line || *line == '#')
		return 0;
	if (!v->at) {
		bool opens = !strcmp(line, "{");
		*v = (struct valgrind_reader){ .at = opens };
		return opens ? 0 : -1;
	}
	if (!strcmp(line, "}"))
		return end_rule(v);
	v->at++;
	if (v->at == 2) {
		v->rule.name = xstrdup(line);
	} else if (v->at == 3) {
		v->leak = is_leak(line);
		if (!is_tool(line))
			return wrong(v);
	} else if (v->leak && strncmp(line, "match-leak-kinds:", 17)) {
		/* _Znwm and its kin: allocation functions, too */
		bool skipped = !v->rule.count && !strncmp(line, "fun:_Zn", 7);
		if (!skipped && read_item(&v->rule, line))
			return wrong(v);
	}
	return 0;
}

/* --- matching */

/* libc's own names of a function, as debug information has them: __GI___strdup is strdup. */
static bool libc_alias(const char *pattern, const char *function)
{
	if (!strncmp(function, "__GI_", 5))
		function += 5;
	for (; *function; function++)
		if (pattern_matches(pattern, function, true))
			return true;
		else if (*function != '_')
			return false;
	return false;
}

static bool matches_function(const char *pattern, const struct rule_frame *f)
{
	if (!f->function)
		return pattern_matches(pattern, "???", false) || !strcmp(pattern, "*");
	if (pattern_matches(pattern, f->function, true))
		return true;
	if (f->libc && libc_alias(pattern, f->function))
		return true;
	if (!strpbrk(f->function, "(<"))
		return false;
	char *brief = demangle_short(f->function);
	bool hit = pattern_matches(pattern, brief, true);
	free(brief);
	return hit;
}

static bool either(const char *pattern, const char *a, const char *b)
{
	return (a && pattern_matches(pattern, a, true)) || (b && pattern_matches(pattern, b, true));
}

static const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static bool matches_item(const struct rule_item *item, const struct rule_frame *f)
{
	switch (item->kind) {
	case ITEM_FUNCTION: return matches_function(item->pattern, f);
	case ITEM_OBJECT: return either(item->pattern, f->path, f->module);
	case ITEM_SOURCE:
		return (!item->line || item->line == f->line) &&
		       either(item->pattern, f->file, last_part(f->file));
	case ITEM_ANY_FRAMES: break;
	}
	return true;
}

/* As in pattern_matches(), a mismatch goes back to the last `...` alone. */
bool valgrind_matches(const struct rule *r, const struct rule_frame *frames, size_t count)
{
	size_t i = 0, f = 0, after = SIZE_MAX, from = 0;

	while (i < r->count) {
		if (r->items[i].kind == ITEM_ANY_FRAMES) {
			after = ++i;
			from = f;
		} else if (f < count && matches_item(&r->items[i], &frames[f])) {
			i++;
			f++;
		} else if (after != SIZE_MAX && from < count) {
			i = after;
			f = ++from;
		} else {
			return false;
		}
	}
	return true;
}
