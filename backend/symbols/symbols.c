/* SPDX-License-Identifier: MIT
 *
 * symbols.c - the main thread's book of names: what is known, what was asked for.
 *
 *   entry = (module, offset, signal?) -> symbol; made when first asked for, kept until
 *           symbols_clear(); generated code: (NO_ID, pc)
 *   an entry with a job waits for a better answer; asked = entries that had a job, done = final
 *   answers
 *
 * Until something is known a location is shown as MODULE+0xOFFSET, which tells it from others.
 * Answers are taken in slices of ANSWERS_MAX, between the loop's other work.
 */
#include "symbols/internal.h"

#include "symbols/demangle.h"
#include "base/loop.h"

#include <stdlib.h>
#include <string.h>

#define ANSWERS_MAX 400 /* one slice: under a millisecond */
#define AGAIN_MS 2000   /* what a program's map did not name may be in it by now */

/* --- entries */

static const char *intern_short(struct symbols *s, const char *function)
{
	char *brief = demangle_short(function);
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

/* What is shown while nothing is known. */
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
	if (m && m->known && m->flags & MTW_MODULE_HEAP) { /* has no file to look into */
		e->placeholder.name = e->placeholder.function =
			string_pool_keep(&s->texts, m->name);
		e->sym.source = SYMBOL_DWARF;
	}
	free(name);
}

static struct entry *entry_of(struct symbols *s, uint32_t module, uint64_t offset, unsigned signal)
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

static void free_frames(struct entry *e)
{
	if (e->sym.frames != &e->placeholder)
		free((void *)e->sym.frames);
}

/* memtop.h's own functions are no part of the program's stack. */
static size_t skip_reports(const struct symdw_frame *from, size_t count)
{
	size_t n = 0;

	while (n + 1 < count && from[n].inlined && from[n].function &&
	       !strncmp(from[n].function, "memtop_report_", 14))
		n++;
	return n;
}

static void set_frames(struct symbols *s, struct entry *e, int source,
		       const struct symdw_frame *from, size_t count)
{
	size_t skipped = skip_reports(from, count);

	from += skipped;
	count -= skipped;
	struct symbol_frame *frames = xcalloc(count ? count : 1, sizeof *frames);

	for (size_t i = 0; i < count; i++) {
		frames[i].function = string_pool_keep(&s->texts, from[i].function);
		if (!from[i].function)
			frames[i].name = e->placeholder.name;
		else /* a script's names have brackets and blanks that mean something else */
			frames[i].name = e->module == NO_ID ? frames[i].function
							    : intern_short(s, frames[i].function);
		frames[i].file = string_pool_keep(&s->texts, from[i].file);
		frames[i].line = from[i].line;
		frames[i].inlined = from[i].inlined && i + 1 < count;
	}
	free_frames(e);
	e->sym = (struct symbol){ source, (uint32_t)count, frames };
}

/* --- asking */

static struct sym_file *file_of(struct symbols *s, uint32_t id)
{
	const struct module *m = model_module(s->model, id);
	const struct program *p = model_program(s->model);

	if (!m || !m->known)
		return NULL;
	GROW(s->files, s->files_room, (size_t)id + 1);
	/* A module may be told again, with its path or build-id. */
	if (s->files[id].file && s->files[id].path == m->path &&
	    s->files[id].build_id_len == m->build_id_len)
		return s->files[id].file;
	struct symdw_where where = { m->path ? m->path : "",
				     m->build_id,
				     m->build_id_len,
				     (m->flags & MTW_MODULE_VDSO) != 0,
				     { s->process.pid, s->process.server, p ? p->pid : 0 } };
	s->files[id].file = sym_file_new(s->worker, &where);
	s->files[id].path = m->path;
	s->files[id].build_id_len = m->build_id_len;
	return s->files[id].file;
}

/* An address where the program has mapped a file: of the agent, when that is known, for it is the
 * surest. */
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

static struct sym_file *generated_file(struct symbols *s)
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
	return s->generated = sym_generated_new(s->worker, &where);
}

void symbols_local(struct symbols *s, const struct symbol_process *p)
{
	s->process = *p;
	s->local = true;
}

/* Names that a session brought are taken as they are, unless there is reason to hope for more. */
static bool worth_asking(const struct symbols *s, const struct entry *e)
{
	if (e->asked)
		return false;
	return e->sym.source <= SYMBOL_NONE ||
	       (e->sym.source < SYMBOL_DWARF && (s->sysroot || s->places.dir_count || s->debug));
}

void symbols_send(struct symbols *s, struct entry *e, struct sym_job job)
{
	s->sent++;
	e->job = xcalloc(1, sizeof *e->job);
	*e->job = job;
	/* A return address points behind its call. Generated code: the worker knows. */
	e->job->pc = e->module == NO_ID ? e->offset : e->offset - !e->signal;
	e->job->owner = e;
	sym_ask(s->worker, e->job);
}

static void ask(struct symbols *s, struct entry *e)
{
	struct sym_file *file;

	if (s->frozen)
		return;
	if (e->job) {
		sym_hurry(s->worker, e->job);
		return;
	}
	if (!worth_asking(s, e) ||
	    !(file = e->module == NO_ID ? generated_file(s) : file_of(s, e->module)))
		return;
	e->asked = true;
	s->asked++;
	symbols_send(s, e, (struct sym_job){ .file = file });
}

/* Generated code whose name may have come. Not counted as asked for: nobody waits for it. */
static void ask_again(struct symbols *s, struct entry *e, bool look)
{
	if (!e->job)
		symbols_send(s, e,
			     (struct sym_job){ .file = s->generated, .look = look, .again = true });
}

/* One asks for all: when the map has changed, take() asks for the others. */
static void look_again(struct symbols *s)
{
	if (s->unknown_count && !s->frozen)
		ask_again(s, s->unknown[0], true);
}

static void on_again(void *arg)
{
	struct symbols *s = arg;

	loop_remove(s->again);
	s->again = NULL;
	look_again(s);
}

const struct symbol *symbols_get(struct symbols *s, uint32_t module, uint64_t offset, uint8_t kind)
{
	struct entry *e = entry_of(s, module, offset, kind == MTW_NODE_SIGNAL);

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
	return entry_of(s, l->module, l->offset, l->kind == MTW_NODE_SIGNAL);
}

/* --- answers */

static uint8_t kind_of(const struct entry *e)
{
	return e->module == NO_ID ? MTW_NODE_NOWHERE : e->signal ? MTW_NODE_SIGNAL : MTW_NODE_CODE;
}

static void moved(struct symbols *s, const struct entry *e)
{
	s->generation++;
	s->answered[s->generation % ANSWERED_MAX] =
		(struct symbol_place){ e->offset, e->module, kind_of(e) };
}

void symbols_warn(struct symbols *s, const char *text)
{
	for (size_t i = 0; i < s->warning_count; i++)
		if (!strcmp(s->warnings[i], text))
			return;
	GROW(s->warnings, s->warning_room, s->warning_count + 1);
	s->warnings[s->warning_count++] = xstrdup(text);
}

/* Generated code that the map does not name: it may later. */
static void take_unknown(struct symbols *s, struct entry *e, bool again)
{
	if (!again) {
		GROW(s->unknown, s->unknown_room, s->unknown_count + 1);
		s->unknown[s->unknown_count++] = e;
	}
	if (s->loop && s->local && !s->again)
		s->again = loop_timer(s->loop, AGAIN_MS, false, on_again, s);
}

/* The map has new lines: asks again for unknown pcs, and drops those that have a name by now. */
static void map_changed(struct symbols *s, uint64_t version)
{
	size_t kept = 0;

	s->map_version = version;
	for (size_t i = 0; i < s->unknown_count; i++) {
		struct entry *e = s->unknown[i];
		if (e->sym.source > SYMBOL_NONE)
			continue;
		s->unknown[kept++] = e;
		if (e->version != version)
			ask_again(s, e, false);
	}
	s->unknown_count = kept;
}

static void take(struct symbols *s, struct sym_answer *a)
{
	struct entry *e = a->job->owner;
	bool again = a->job->again;
	int before;

	if (a->final && !again)
		s->done++;
	if (!e) { /* forgotten meanwhile */
		if (a->final)
			free(a->job);
		sym_answer_free(a);
		return;
	}
	before = e->sym.source;
	if (a->problem && before <= SYMBOL_NONE)
		symbols_warn(s, a->problem);
	if (a->count && a->source > before)
		set_frames(s, e, a->source, a->frames, a->count);
	if (a->final) {
		a->job->file->no_dwarf = a->no_dwarf;
		free(a->job);
		e->job = NULL;
		if (e->sym.source == SYMBOL_PENDING)
			e->sym.source = SYMBOL_NONE;
	}
	if (e->shown)
		symbols_debug_want(s, e);
	if (e->sym.source != before) {
		moved(s, e);
		if (s->on_answer)
			s->on_answer(s->on_answer_arg, e->module, e->offset, kind_of(e), &e->sym);
	}
	if (e->module == NO_ID) {
		e->version = a->version;
		if (e->sym.source <= SYMBOL_NONE)
			take_unknown(s, e, again);
		if (a->version > s->map_version)
			map_changed(s, a->version);
		else if (a->version < s->map_version &&
			 e->sym.source <= SYMBOL_NONE) /* another's answer overtook it */
			ask_again(s, e, false);
	}
	sym_answer_free(a);
}

static void on_mail(void *arg)
{
	struct mail *mail = arg;
	struct symbols *s = mail->book;
	int left = __atomic_sub_fetch(&mail->in_flight, 1, __ATOMIC_ACQ_REL);
	struct sym_answer *a;

	if (!s) {
		if (!left)
			free(mail);
		return;
	}
	for (int n = 0; n < ANSWERS_MAX; n++) {
		a = sym_take(s->worker, false);
		if (!a)
			return;
		take(s, a);
	}
	__atomic_add_fetch(&mail->in_flight, 1, __ATOMIC_ACQ_REL);
	loop_post(s->loop, on_mail, mail);
}

/* The symbolizer's thread. */
static void wake(void *arg)
{
	struct mail *mail = arg;

	if (!mail->loop)
		return;
	__atomic_add_fetch(&mail->in_flight, 1, __ATOMIC_ACQ_REL);
	loop_post(mail->loop, on_mail, mail);
}

void symbols_wait(struct symbols *s)
{
	struct sym_answer *a;
	uint64_t before;

	if (s->local)
		look_again(s);
	do {
		before = s->sent;
		while (!s->frozen && (a = sym_take(s->worker, true)))
			take(s, a);
		symbols_debug_wait(s);
	} while (s->sent != before);
}

void symbols_freeze(struct symbols *s)
{
	s->frozen = true;
}

void symbols_put(struct symbols *s, uint32_t module, uint64_t offset, uint8_t kind,
		 const struct symbol *sym)
{
	struct entry *e = entry_of(s, module, offset, kind == MTW_NODE_SIGNAL);
	struct symdw_frame frames[SYMDW_FRAMES_MAX];
	size_t n = sym->count < SYMDW_FRAMES_MAX ? sym->count : SYMDW_FRAMES_MAX;

	if (sym->source < e->sym.source)
		return;
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct symdw_frame){ (char *)sym->frames[i].function,
						  (char *)sym->frames[i].file, sym->frames[i].line,
						  sym->frames[i].inlined };
	if (n && sym->source > SYMBOL_NONE)
		set_frames(s, e, sym->source, frames, n);
	moved(s, e);
}

/* --- life */

struct symbols *symbols_new(struct loop *loop, const struct model *m,
			    const struct symbol_options *o, struct err *err)
{
	struct symbols *s = xcalloc(1, sizeof *s);

	s->loop = loop;
	s->model = m;
	s->sysroot = o->sysroot ? xstrdup(o->sysroot) : NULL;
	s->dirs = xcalloc(o->dir_count, sizeof *s->dirs);
	for (size_t i = 0; i < o->dir_count; i++)
		s->dirs[i] = xstrdup(o->dirs[i]);
	s->places = (struct symdw_places){ s->sysroot, (const char *const *)s->dirs, o->dir_count };
	s->mail = xcalloc(1, sizeof *s->mail);
	s->mail->loop = loop;
	s->mail->book = s;
	s->worker =
		sym_worker_new(&s->places, getenv("MEMTOP_TEST_SYMBOLS_GATE"), wake, s->mail, err);
	if (!s->worker) {
		symbols_free(s);
		return NULL;
	}
	symbols_debug_new(s);
	return s;
}

void symbols_look_at(struct symbols *s, const struct model *m)
{
	s->model = m;
}

void symbols_clear(struct symbols *s)
{
	for (size_t i = 0; i < s->room; i++) {
		struct entry *e = s->table[i];
		if (!e)
			continue;
		if (e->job)
			e->job->owner = NULL; /* its answer is dropped when it comes */
		free_frames(e);
		free(e);
	}
	free(s->table);
	free(s->files);
	free(s->unknown);
	loop_remove(s->again);
	s->table = NULL;
	s->files = NULL;
	s->unknown = NULL;
	s->unknown_count = s->unknown_room = 0;
	s->again = NULL;
	s->generated = NULL;
	s->map_version = 0;
	s->local = false;
	s->process = (struct symbol_process){ 0 };
	s->room = s->used = s->files_room = 0;
	s->cleared = ++s->generation;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	symbols_clear(s);
	debuginfod_free(s->debug);
	sym_worker_free(s->worker); /* from here on nobody posts */
	s->mail->book = NULL;
	if (!__atomic_load_n(&s->mail->in_flight, __ATOMIC_ACQUIRE))
		free(s->mail);
	string_pool_release(&s->texts);
	for (size_t i = 0; i < s->warning_count; i++)
		free(s->warnings[i]);
	for (size_t i = 0; i < s->places.dir_count; i++)
		free(s->dirs[i]);
	free(s->warnings);
	free(s->dirs);
	free(s->sysroot);
	free(s);
}

uint64_t symbols_generation(const struct symbols *s)
{
	return s->generation;
}

bool symbols_answered(const struct symbols *s, uint64_t generation, struct symbol_place *p)
{
	if (generation <= s->cleared || generation > s->generation ||
	    s->generation - generation >= ANSWERED_MAX)
		return false;
	*p = s->answered[generation % ANSWERED_MAX];
	return true;
}

void symbols_progress(const struct symbols *s, uint64_t *done, uint64_t *asked)
{
	*done = s->done;
	*asked = s->asked;
}

void symbols_on_answer(struct symbols *s,
		       void (*fn)(void *arg, uint32_t module, uint64_t offset, uint8_t kind,
				  const struct symbol *sym),
		       void *arg)
{
	s->on_answer = fn;
	s->on_answer_arg = arg;
}

size_t symbols_warnings(const struct symbols *s, const char *const **sentences)
{
	*sentences = (const char *const *)s->warnings;
	return s->warning_count;
}
