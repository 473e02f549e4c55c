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
 * Its frames must match the innermost ones of a stack; what follows outwards may be anything. The
 * innermost frame of valgrind's stacks is the allocation function, which memtop's do not have: a
 * rule that begins with one, or with what may stand for it, is compared with such a frame in front.
 *
 * valgrind knows a function by its mangled name, and an inlined one by its name in DWARF:
 * `_M_allocate`, `clone<std::vector<int> >`, without namespaces, parameters and default arguments
 * of templates. memtop has demangled names alone, so a mangled pattern is demangled, and of an
 * inlined function the last part of its name counts, without template arguments.
 */
#include "check/rules.h"

#include "base/name.h"
#include "check/pattern.h"
#include "symbols/demangle.h"

#include <stdlib.h>
#include <string.h>

void rule_release(struct rule *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->items[i].pattern);
		free(r->items[i].name);
	}
	free(r->items);
	free(r->name);
	free(r->place);
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

/* What valgrind's stacks begin with. */
static const char *const allocators[] = {
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"memalign",
	"aligned_alloc",
	"posix_memalign",
	"valloc",
	"pvalloc",
	"_Znwm",
	"_Znwj",
	"_Znam",
	"_Znaj",
	"_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t",
	"_ZnwmSt11align_val_t",
	"_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t",
	"operator new",
	"operator new[]",
	"operator new(unsigned long)",
	"operator new[](unsigned long)",
};
#define ALLOCATORS_OBJECT "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so"

static bool may_be_allocator(const struct rule_item *item)
{
	if (item->kind == ITEM_OBJECT)
		return pattern_matches(item->pattern, ALLOCATORS_OBJECT, true);
	for (size_t i = 0;
	     item->kind == ITEM_FUNCTION && i < sizeof allocators / sizeof *allocators; i++)
		if (pattern_matches(item->pattern, allocators[i], true))
			return true;
	return item->kind == ITEM_ANY_FRAMES;
}

/* A mangled pattern with wildcards is compared with demangled names if it is the begin of one:
 * false, unless it is an allocation function's. */
static bool read_function(struct rule_item *item, const char *text)
{
	bool mangled = !strncmp(text, "_Z", 2);

	item->kind = ITEM_FUNCTION;
	item->pattern = xstrdup(text);
	if (mangled && strpbrk(text, "*?"))
		return may_be_allocator(item) || (item->begin = mangled_prefix(text));
	item->name = mangled ? demangle(text) : NULL;
	char *clone = mangled ? strstr(item->name, " [clone ") : NULL;
	if (clone)
		*clone = '\0';
	return true;
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

static bool read_words(struct rule_item *item, const char *line)
{
	if (!strncmp(line, "fun:", 4) && line[4])
		return read_function(item, line + 4);
	if (!strncmp(line, "obj:", 4) && line[4]) {
		item->kind = ITEM_OBJECT;
		item->pattern = xstrdup(line + 4);
		return true;
	}
	if (!strncmp(line, "src:", 4) && line[4]) {
		item->kind = ITEM_SOURCE;
		read_source(item, line + 4);
		return true;
	}
	return !strcmp(line, "...");
}

static int read_item(struct rule *r, const char *line)
{
	if (r->count == RULE_ITEMS_MAX)
		return -1;
	GROW(r->items, r->room, r->count + 1);
	struct rule_item *item = &r->items[r->count++];
	*item = (struct rule_item){ .kind = ITEM_ANY_FRAMES };
	return read_words(item, line) ? 0 : -1;
}

/* 1: whole; -1: a rule that would match every stack, or no frame. */
static int finish(const struct rule *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->items[i].kind != ITEM_ANY_FRAMES)
			return 1;
	return -1;
}

static int end_rule(struct valgrind_reader *v)
{
	int rc = v->at < 3 ? -1 : !v->leak || v->broken ? 0 : finish(&v->rule);

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
	} else if (v->leak && strncmp(line, "match-leak-kinds:", 17) && read_item(&v->rule, line)) {
		return wrong(v);
	}
	return 0;
}

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

/* The last part of a short name: "app::Row::Row" -> "Row". */
static const char *last_name(const char *brief)
{
	const char *last = brief;

	for (const char *at; (at = strstr(last, "::")) && at[2];)
		last = at + 2;
	return last;
}

/* An inlined function, whose name in DWARF is the pattern. */
static bool matches_inlined(const char *pattern, const char *brief)
{
	char *name = name_brief(pattern);
	bool hit = pattern_matches(name, last_name(brief), true);

	free(name);
	return hit;
}

/* A function that DWARF gives no mangled name, because no other unit can call it: "go" is
 * "app::(anonymous namespace)::Anon::go()". */
static bool is_bare(const char *function, const char *brief)
{
	return !strstr(brief, "::") &&
	       (function[strlen(function) - 1] == '>' || !strcmp(function, brief));
}

static bool matches_bare(const char *demangled, const char *brief)
{
	char *name = name_brief(demangled);
	bool hit = !strcmp(last_name(name), brief);

	free(name);
	return hit;
}

static bool matches_function(const struct rule_item *item, const struct rule_frame *f)
{
	const char *pattern = item->name ? item->name : item->pattern;

	if (!f->function)
		return pattern_matches(pattern, "???", false) || !strcmp(pattern, "*");
	if (item->begin)
		return !f->inlined && mangled_matches(item->pattern, f->function);
	if (pattern_matches(pattern, f->function, true))
		return true;
	if (f->libc && libc_alias(pattern, f->function))
		return true;
	char *brief = name_brief(f->function);
	bool hit = pattern_matches(pattern, brief, true) ||
		   (item->name ? !f->inlined && is_bare(f->function, brief) &&
					 matches_bare(item->name, brief)
			       : f->inlined && matches_inlined(pattern, brief));
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

/* f NULL: the allocation function */
static bool matches_item(const struct rule_item *item, const struct rule_frame *f)
{
	if (!f)
		return may_be_allocator(item);
	switch (item->kind) {
	case ITEM_FUNCTION: return matches_function(item, f);
	case ITEM_OBJECT: return either(item->pattern, f->path, f->module);
	case ITEM_SOURCE:
		return (!item->line || item->line == f->line) &&
		       either(item->pattern, f->file, last_part(f->file));
	case ITEM_ANY_FRAMES: break;
	}
	return true;
}

/* As in pattern_matches(), a mismatch goes back to the last `...` alone. A rule that valgrind
 * itself could never match, because it begins behind the allocation function, is compared from
 * there. */
bool valgrind_matches(const struct rule *r, const struct rule_frame *frames, size_t count)
{
	size_t hidden = may_be_allocator(&r->items[0]), n = hidden + count;
	size_t i = 0, f = 0, after = SIZE_MAX, from = 0;

	while (i < r->count) {
		if (r->items[i].kind == ITEM_ANY_FRAMES) {
			after = ++i;
			from = f;
		} else if (f < n &&
			   matches_item(&r->items[i], f < hidden ? NULL : &frames[f - hidden])) {
			i++;
			f++;
		} else if (after != SIZE_MAX && from < n) {
			i = after;
			f = ++from;
		} else {
			return false;
		}
	}
	return true;
}
