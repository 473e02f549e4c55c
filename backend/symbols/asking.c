/* SPDX-License-Identifier: MIT
 *
 * asking.c - turns a location into an entry, and an entry into a job of the symbolizer.
 */
#include "symbols/book.h"

#include <string.h>

static struct symbolizer_file *file_of(struct symbols *s, uint32_t id)
{
	const struct module *m = model_module(s->model, id);
	const struct program *p = model_program(s->model);

	if (!m || !m->known)
		return NULL;
	GROW(s->files, s->files_room, (size_t)id + 1);
	/* The agent may send a module again, with its path or build-id. */
	if (s->files[id].file && s->files[id].path == m->path &&
	    s->files[id].build_id_len == m->build_id_len)
		return s->files[id].file;
	struct code_where where = { .path = m->path ? m->path : "",
				    .build_id = m->build_id,
				    .build_id_len = m->build_id_len,
				    .low = m->start - m->bias,
				    .high = m->end ? m->end - m->bias : 0,
				    .vdso = (m->flags & MTW_MODULE_VDSO) != 0,
				    .pids = { s->process.pid, s->process.server, p ? p->pid : 0 } };
	s->files[id].file = symbolizer_file_new(s->worker, &where);
	s->files[id].path = m->path;
	s->files[id].build_id_len = m->build_id_len;
	return s->files[id].file;
}

/* An address where the program maps a file: the agent's if known, as the most reliable. */
static uint64_t mapped_at(const struct model *m)
{
	uint64_t found = 0;

	for (uint32_t id = 0; id < model_module_count(m); id++) {
		const struct module *x = model_module(m, id);
		if (!x || !x->known || !x->start ||
		    x->flags & (MTW_MODULE_GONE | MTW_MODULE_VDSO | MTW_MODULE_HEAP))
			continue;
		if (x->flags & MTW_MODULE_AGENT)
			return x->start;
		if (!found || x->flags & MTW_MODULE_LIBC)
			found = x->start;
	}
	return found;
}

static struct symbolizer_file *generated_file(struct symbols *s)
{
	const struct program *p = model_program(s->model);

	if (s->generated || !p || !p->pid)
		return s->generated;
	struct perfmap_where where = { .pid = p->pid,
				       .uid = p->uid,
				       .start_unix_ns = p->start_unix_ns };
	if (s->local) {
		where.here[0] = s->process.pid;
		where.here[1] = p->pid;
		where.server = s->process.server;
		where.child = s->process.child;
		where.mapped = mapped_at(s->model);
	}
	return s->generated = symbolizer_generated_new(s->worker, &where);
}

void symbols_local(struct symbols *s, const struct symbol_process *p)
{
	s->process = *p;
	s->local = true;
}

/* A session's own names are final, unless better ones are likely. */
static bool worth_asking(const struct symbols *s, const struct entry *e)
{
	if (e->asked)
		return false;
	return e->sym.source <= SYMBOL_NONE ||
	       (e->sym.source < SYMBOL_DWARF && (s->sysroot || s->places.dir_count || s->debug));
}

void symbols_send(struct symbols *s, struct entry *e, struct symbolizer_job job)
{
	s->sent++;
	e->job = xcalloc(1, sizeof *e->job);
	*e->job = job;
	/* A return address points behind its call. Generated code: the worker knows. */
	e->job->pc = e->module == NO_ID ? e->offset : e->offset - !e->signal;
	e->job->owner = e;
	symbolizer_ask(s->worker, e->job);
}

static void ask(struct symbols *s, struct entry *e)
{
	struct symbolizer_file *file;

	if (s->frozen)
		return;
	if (e->job) {
		symbolizer_hurry(s->worker, e->job);
		return;
	}
	if (!worth_asking(s, e) ||
	    !(file = e->module == NO_ID ? generated_file(s) : file_of(s, e->module)))
		return;
	e->asked = true;
	s->asked++;
	symbols_send(s, e, (struct symbolizer_job){ .file = file });
}

const struct symbol *symbols_get(struct symbols *s, uint32_t module, uint64_t offset, uint8_t kind)
{
	struct entry *e = entries_get(s, module, offset, kind == MTW_NODE_SIGNAL);

	ask(s, e);
	return &e->sym;
}

static const struct symbol *special(struct symbols *s, unsigned which)
{
	static const char *const names[MTW_TRUNC_COUNT] = {
		[MTW_TRUNC_NONE] = "[cut off]",
		[MTW_TRUNC_NO_CFI] = "[cut off: no unwind table]",
		[MTW_TRUNC_BAD_CFI] = "[cut off: a wrong unwind table]",
		[MTW_TRUNC_DEPTH] = "[cut off: depth limit]",
		[MTW_TRUNC_NODES] = "[cut off: memory limit of stacks]",
		[MTW_TRUNC_REENTRY] = "[cut off: in a signal handler]",
		[MTW_TRUNC_SWITCHED] = "[cut off: a stack without an end]",
		[MTW_TRUNC_EARLY] = "[cut off: before the agent was ready]",
	};
	struct entry *e = &s->special[which];

	if (!e->sym.frames) {
		e->placeholder.name = names[which];
		e->sym = (struct symbol){ SYMBOL_NONE, 1, &e->placeholder };
	}
	return &e->sym;
}

const struct symbol *symbols_of_location(struct symbols *s, uint32_t number)
{
	const struct location *l = model_location(s->model, number);

	if (number >= model_location_count(s->model))
		return special(s, MTW_TRUNC_NONE);
	if (l->kind == MTW_NODE_TRUNCATED)
		return special(s,
			       l->offset < MTW_TRUNC_COUNT ? (unsigned)l->offset : MTW_TRUNC_NONE);
	if (l->kind == MTW_NODE_NOWHERE)
		return symbols_get(s, NO_ID, l->offset, l->kind);
	return symbols_get(s, l->module, l->offset, l->kind);
}

struct entry *symbols_entry(struct symbols *s, uint32_t number)
{
	const struct location *l =
		number < model_location_count(s->model) ? model_location(s->model, number) : NULL;

	if (!l || l->kind == MTW_NODE_TRUNCATED || l->kind == MTW_NODE_NOWHERE)
		return NULL;
	return entries_get(s, l->module, l->offset, l->kind == MTW_NODE_SIGNAL);
}

void symbols_warn(struct symbols *s, const char *text)
{
	for (size_t i = 0; i < s->warning_count; i++)
		if (!strcmp(s->warnings[i], text))
			return;
	GROW(s->warnings, s->warning_room, s->warning_count + 1);
	s->warnings[s->warning_count++] = xstrdup(text);
}
