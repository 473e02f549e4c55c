/* SPDX-License-Identifier: MIT
 *
 * entries.c - the entries of the book of names: a table by location.
 *
 * A location without a known name is shown as MODULE+0xOFFSET, which is unique.
 */
#include "symbols/book.h"

#include "base/name.h"

#include <stdlib.h>
#include <string.h>

static const char *intern_short(struct symbols *s, const char *function)
{
	char *brief = name_brief(function);
	const char *name = string_pool_keep(&s->texts, brief);

	free(brief);
	return name;
}

static size_t hash_place(uint32_t module, uint64_t offset, unsigned signal)
{
	uint64_t h = (offset * 2 + signal) * 0x9e3779b97f4a7c15u + module * 0xc2b2ae3d27d4eb4fu;

	return (size_t)(h ^ h >> 32);
}

static void table_grow(struct symbols *s)
{
	size_t old_room = s->room;
	struct entry **old = s->table;

	s->room = old_room ? old_room * 2 : 1024;
	s->table = xcalloc(s->room, sizeof *s->table);
	for (size_t i = 0; i < old_room; i++) {
		if (!old[i])
			continue;
		size_t at =
			hash_place(old[i]->module, old[i]->offset, old[i]->signal) & (s->room - 1);
		while (s->table[at])
			at = (at + 1) & (s->room - 1);
		s->table[at] = old[i];
	}
	free(old);
}

/* Sets the frame shown while the name is unknown. */
static void set_placeholder(struct symbols *s, struct entry *e)
{
	const struct module *m = model_module(s->model, e->module);
	char *name;

	if (m && m->known)
		name = xasprintf("%s+0x%llx", m->name && *m->name ? m->name : "[unnamed]",
				 (unsigned long long)e->offset);
	else
		name = xasprintf("0x%llx", (unsigned long long)e->offset);
	if (e->module == NO_ID) {
		free(name);
		name = xstrdup(GENERATED_NAME);
	}
	e->placeholder = (struct symbol_frame){ .name = string_pool_keep(&s->texts, name) };
	e->sym = (struct symbol){ SYMBOL_PENDING, 1, &e->placeholder };
	if (m && m->known && m->flags & MTW_MODULE_HEAP) { /* has no file */
		e->placeholder.name = e->placeholder.function =
			string_pool_keep(&s->texts, m->name);
		e->sym.source = SYMBOL_DWARF;
	}
	free(name);
}

struct entry *entries_get(struct symbols *s, uint32_t module, uint64_t offset, unsigned signal)
{
	if (s->used * 2 >= s->room)
		table_grow(s);
	size_t at = hash_place(module, offset, signal) & (s->room - 1);
	for (; s->table[at]; at = (at + 1) & (s->room - 1)) {
		struct entry *e = s->table[at];
		if (e->module == module && e->offset == offset && e->signal == signal)
			return e;
	}
	struct entry *e = xcalloc(1, sizeof *e);
	e->module = module;
	e->offset = offset;
	e->signal = (uint8_t)signal;
	set_placeholder(s, e);
	s->table[at] = e;
	s->used++;
	return e;
}

void entries_free_frames(struct entry *e)
{
	if (e->sym.frames != &e->placeholder)
		free((void *)e->sym.frames);
}

/* memtop.h's own functions are no part of the program's stack. */
static size_t skip_reports(const struct code_frame *from, size_t count)
{
	size_t n = 0;

	while (n + 1 < count && from[n].inlined && from[n].function &&
	       !strncmp(from[n].function, "memtop_report_", 14))
		n++;
	return n;
}

void entries_set_frames(struct symbols *s, struct entry *e, int source,
			const struct code_frame *from, size_t count)
{
	size_t skipped = skip_reports(from, count);

	from += skipped;
	count -= skipped;
	struct symbol_frame *frames = xcalloc(count ? count : 1, sizeof *frames);

	for (size_t i = 0; i < count; i++) {
		frames[i].function = string_pool_keep(&s->texts, from[i].function);
		if (!from[i].function)
			frames[i].name = e->placeholder.name;
		else /* a script's name may hold brackets and blanks: not shortened */
			frames[i].name = e->module == NO_ID ? frames[i].function
							    : intern_short(s, frames[i].function);
		frames[i].file = string_pool_keep(&s->texts, from[i].file);
		frames[i].line = from[i].line;
		frames[i].inlined = from[i].inlined && i + 1 < count;
	}
	entries_free_frames(e);
	e->sym = (struct symbol){ source, (uint32_t)count, frames };
}
