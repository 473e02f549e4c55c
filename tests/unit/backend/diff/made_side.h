/* SPDX-License-Identifier: MIT
 *
 * made_side.h - sides of a diff made by hand. Include it once, after check.h.
 *
 * A stack is a text, outermost frame first: "main;load>read+20;malloc@libc.so.6". '>' leads to a
 * function that is inlined, '@' names the module (else the main program), '+' the offset in
 * hexadecimal. "?" is a frame without a name.
 */
#ifndef MADE_SIDE_H
#define MADE_SIDE_H

#include "diff/diff.h"
#include "diff/plain.h"

#define MADE_FRAMES 1000u /* of a side */

static struct string_pool made_pool;
static const char *made_file; /* of all frames with a name that follow */

static const char *made_keep(const char *text)
{
	return string_pool_keep(&made_pool, text);
}

struct made_side {
	struct side side; /* first */
	struct columns columns;
};

static inline struct heap_names *made_names(void)
{
	struct heap_names *n = xcalloc(1, sizeof *n);

	atomic_init(&n->users, 1);
	n->first = xcalloc(MADE_FRAMES + 1, sizeof *n->first);
	n->frames = xcalloc(MADE_FRAMES, sizeof *n->frames);
	n->function = xcalloc(MADE_FRAMES, sizeof *n->function);
	return n;
}

/* side_free() frees it. */
static inline struct side *made_side(uint32_t pid)
{
	struct made_side *made = xcalloc(1, sizeof *made);
	struct side *s = &made->side;

	s->label = s->program = made_keep("prog");
	s->pid = pid;
	s->start_unix_ns = 1000 + pid;
	s->modules = xcalloc(16, sizeof *s->modules);
	s->locations = xcalloc(MADE_FRAMES, sizeof *s->locations);
	s->functions = xcalloc(MADE_FRAMES, sizeof *s->functions);
	s->stacks = xcalloc(MADE_FRAMES, sizeof *s->stacks);
	s->names = made_names();
	columns_init(&made->columns);
	s->heap = heap_new(&made->columns, NULL);
	return s;
}

/* The module of this name; build: its build-id, NULL leaves it. */
static uint32_t made_module(struct side *s, const char *name, const char *build)
{
	uint32_t i = 0;
	char *role = plain_module(name, strcmp(name, "prog") ? 0 : MTW_MODULE_MAIN);

	while (i < s->module_count && s->modules[i].name != made_keep(name))
		i++;
	if (i == s->module_count)
		s->modules[s->module_count++] = (struct side_module){ .name = made_keep(name),
								      .role = made_keep(role),
								      .named = true,
								      .lines = true };
	if (build)
		s->modules[i].build = made_keep(build);
	free(role);
	return i;
}

static inline void made_function(struct side *s, const char *function, bool inlined)
{
	struct heap_names *n = s->names;
	struct heap_frame *f = &n->frames[n->first[n->locations + 1]++];
	char *plain = plain_function(function);

	*f = (struct heap_frame){ .function = n->functions++, .inlined = inlined };
	n->function[f->function] = (struct heap_function){ .name = made_keep(function) };
	s->functions[f->function].tells = true;
	if (strcmp(function, "?")) {
		n->function[f->function].function = made_keep(function);
		s->functions[f->function].plain = made_keep(plain);
		f->file = made_file;
	}
	free(plain);
}

/* One frame of a text, cut to pieces: its functions, innermost first. Returns the location. */
static inline uint32_t made_location(struct side *s, char *text)
{
	struct heap_names *n = s->names;
	struct location *l = &s->locations[n->locations];
	char *module = strchr(text, '@'), *offset = strchr(text, '+'), *inner;

	n->first[n->locations + 1] = n->first[n->locations];
	if (offset) {
		*offset = '\0';
		l->offset = strtoull(offset + 1, NULL, 16);
	}
	if (module)
		*module = '\0';
	l->module = made_module(s, module ? module + 1 : "prog", NULL);
	while ((inner = strrchr(text, '>'))) {
		made_function(s, inner + 1, true);
		*inner = '\0';
	}
	made_function(s, text, false);
	return n->locations++;
}

/* The frame that was made last: the outermost of the last stack's last location. */
static inline struct heap_frame *made_last(struct side *s)
{
	return &s->names->frames[s->names->first[s->names->locations] - 1];
}

/* Where the slot's stack is in the heap. */
static inline uint32_t made_number(const struct columns *c, uint32_t slot)
{
	uint32_t stack = 0;

	while (c->first[stack + 1] <= c->place_of[slot])
		stack++;
	return stack;
}

/* Stacks share no nodes: each is a path of its own. */
static inline void made_stack(struct side *s, const char *text, uint64_t blocks, uint64_t bytes)
{
	struct columns *c = &((struct made_side *)s)->columns;
	char *copy = xstrdup(text);
	uint32_t node = 0, location = 0;

	for (char *save = NULL, *w = strtok_r(copy, ";", &save); w;
	     w = strtok_r(NULL, ";", &save)) {
		location = made_location(s, w);
		node = columns_add_node(c, node, location, location + 1, false);
	}
	uint32_t slot = columns_add_slot(c, node, 1, 1);
	struct tally sum = { .alloc_blocks = blocks, .alloc_bytes = bytes };
	columns_settle(c);
	columns_put(c, slot, &sum);
	heap_drop(s->heap);
	s->heap = heap_new(c, NULL);
	const struct side_module *m = &s->modules[s->locations[location].module];
	s->stacks[s->stack_count++] = (struct side_stack){ .owner = m->name, .owner_key = m->role };
	for (uint32_t i = 0; i < s->stack_count; i++) {
		s->stacks[i].number = made_number(c, i);
		s->stacks[i].site = side_node(s, i);
	}
	tally_add(&s->totals, &sum);
	free(copy);
}

static inline struct diff *made_diff(struct side *a, struct side *b)
{
	static const struct side *sides[2];

	sides[0] = a;
	sides[1] = b;
	return diff_new(sides, 1, 2, DIFF_LIVE);
}

#endif
