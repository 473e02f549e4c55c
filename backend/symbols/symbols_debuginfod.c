/* SPDX-License-Identifier: MIT
 *
 * symbols_debuginfod.c - loads lines and inlined frames of modules without a local debug file from
 * debuginfod's servers.
 *
 * The servers are asked for modules on screen or in a report, once per module, when its final
 * answer was that there is no DWARF. Names and all other modules continue meanwhile. After a
 * download all entries of that module are requested again.
 */
#include "symbols/book.h"

#include <stdlib.h>
#include <string.h>

static struct symbolizer_file *file_of(const struct symbols *s, const struct entry *e)
{
	return e->module < s->files_room ? s->files[e->module].file : NULL;
}

void symbols_debug_want(struct symbols *s, struct entry *e)
{
	struct symbolizer_file *file = file_of(s, e);

	if (!e->asked || e->job || e->sym.source == SYMBOL_DWARF || s->frozen || !file ||
	    file->vdso || !file->build_id_len)
		return;
	if (file->given && !e->given) {
		e->given = true;
		symbols_send(s, e,
			     (struct symbolizer_job){ .file = file, .again = true, .given = true });
	} else if (file->no_dwarf && !file->wanted) {
		const char *slash = strrchr(file->path, '/');
		file->wanted = true;
		debuginfod_ask(s->debug, slash ? slash + 1 : file->path, file->build_id,
			       file->build_id_len, file);
	}
}

/* Requests files for entries answered without lines. */
static void want_all(struct symbols *s, const struct symbolizer_file *only)
{
	for (size_t i = 0; i < s->room; i++) {
		struct entry *e = s->table[i];
		if (e && (!only || file_of(s, e) == only))
			symbols_debug_want(s, e);
	}
}

const struct symbol *symbols_shown(struct symbols *s, uint32_t number)
{
	const struct symbol *sym = symbols_of_location(s, number);
	struct entry *e = s->debug ? symbols_entry(s, number) : NULL;

	if (e) {
		e->shown = true;
		symbols_debug_want(s, e);
	}
	return sym;
}

void symbols_debug_wait(struct symbols *s)
{
	if (!s->debug || s->frozen)
		return;
	want_all(s, NULL);
	debuginfod_wait(s->debug);
}

static void on_ended(void *arg, const struct debuginfod_file *f)
{
	struct symbols *s = arg;

	if (f->state == DEBUGINFOD_FAILED && !s->warned) {
		s->warned = true;
		char *text = xasprintf("%s: lines unknown: debuginfod: %s; check that "
				       "DEBUGINFOD_URLS names the right server",
				       f->name, f->why);
		symbols_warn(s, text);
		free(text);
	}
	if (f->state != DEBUGINFOD_GOT)
		return;
	symbolizer_file_give(f->owner, xstrdup(f->path));
	want_all(s, f->owner);
}

void symbols_debug_new(struct symbols *s)
{
	if (debuginfod_has_servers())
		s->debug = debuginfod_new(s->loop, on_ended, s);
}

const struct debuginfod *symbols_debuginfod(const struct symbols *s)
{
	return s->debug;
}
