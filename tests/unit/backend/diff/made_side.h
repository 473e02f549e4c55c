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

static struct string_pool made_pool;
static const char *made_file; /* of all frames with a name that follow */

static const char *made_keep(const char *text)
{
	return string_pool_keep(&made_pool, text);
}

static inline struct side *made_side(uint32_t pid)
{
	struct side *s = xcalloc(1, sizeof *s);

	s->label = s->program = made_keep("prog");
	s->pid = pid;
	s->start_unix_ns = 1000 + pid;
	s->modules = xcalloc(16, sizeof *s->modules);
	s->places = xcalloc(1000, sizeof *s->places);
	s->frames = xcalloc(1000, sizeof *s->frames);
	s->nodes = xcalloc(1000, sizeof *s->nodes);
	s->stacks = xcalloc(100, sizeof *s->stacks);
	s->node_count = 1;
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

static inline void made_frame(struct side *s, const char *function, bool inlined)
{
	struct side_frame *f = &s->frames[s->frame_count++];
	char *plain = plain_function(function);

	*f = (struct side_frame){ .name = made_keep(function), .inlined = inlined, .tells = true };
	if (strcmp(function, "?")) {
		f->function = made_keep(function);
		f->plain = made_keep(plain);
		f->file = made_file;
	}
	free(plain);
}

/* One frame of a text, cut to pieces: its functions, innermost first. */
static inline void made_place(struct side *s, char *text)
{
	struct side_place *p = &s->places[s->place_count++];
	char *module = strchr(text, '@'), *offset = strchr(text, '+'), *inner;

	p->first = (uint32_t)s->frame_count;
	if (offset) {
		*offset = '\0';
		p->offset = strtoull(offset + 1, NULL, 16);
	}
	if (module)
		*module = '\0';
	p->module = made_module(s, module ? module + 1 : "prog", NULL);
	while ((inner = strrchr(text, '>'))) {
		made_frame(s, inner + 1, true);
		*inner = '\0';
	}
	made_frame(s, text, false);
	p->count = (uint32_t)s->frame_count - p->first;
}

static inline void made_stack(struct side *s, const char *text, uint64_t blocks, uint64_t bytes)
{
	char *copy = xstrdup(text);
	uint32_t parent = 0;
	struct side_stack *k = &s->stacks[s->stack_count++];

	for (char *save = NULL, *w = strtok_r(copy, ";", &save); w;
	     w = strtok_r(NULL, ";", &save)) {
		made_place(s, w);
		s->nodes[s->node_count] =
			(struct side_node){ parent, (uint32_t)s->place_count - 1 };
		parent = (uint32_t)s->node_count++;
	}
	const struct side_module *m = &s->modules[s->places[s->place_count - 1].module];
	*k = (struct side_stack){
		.node = parent, .site = parent, .owner = m->name, .owner_key = m->role
	};
	k->sum.alloc_blocks = blocks;
	k->sum.alloc_bytes = bytes;
	tally_add(&s->totals, &k->sum);
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
