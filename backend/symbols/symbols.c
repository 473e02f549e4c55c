/* SPDX-License-Identifier: MIT
 *
 * symbols.c - the main thread's book of names: known names and pending requests.
 *
 *   entry = (module, offset, signal?) -> symbol; made when first asked for, kept until
 *           symbols_clear(); generated code: (NO_ID, pc)
 *   an entry with a job waits for a better answer; asked = entries that had a job, done = final
 *   answers
 *
 * Answers are taken in slices of ANSWERS_MAX, between the loop's other work.
 */
#include "symbols/book.h"

#include "base/loop.h"

#include <stdlib.h>

#define ANSWERS_MAX 400 /* one slice: under a millisecond */
#define AGAIN_MS 2000   /* the program's map may have more names by now */

/* Requests generated code whose name may be known by now. Not counted as requested: nothing
 * waits for it. */
static void ask_again(struct symbols *s, struct entry *e, bool look)
{
	if (!e->job)
		symbols_send(s, e,
			     (struct symbolizer_job){
				     .file = s->generated, .look = look, .again = true });
}

/* One request stands for all: when the map has changed, take() requests the others. */
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

/* Notes generated code that the map does not name yet. */
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

/* For a session: it has a name, or its file has none for it. */
static bool is_known(const struct entry *e)
{
	return e->sym.source > SYMBOL_NONE || (e->sym.source == SYMBOL_NONE && e->nameless);
}

static void take(struct symbols *s, struct symbolizer_answer *a)
{
	struct entry *e = a->job->owner;
	bool again = a->job->again;
	int before;

	if (a->final && !again)
		s->done++;
	if (!e) { /* cleared meanwhile */
		if (a->final)
			free(a->job);
		symbolizer_answer_free(a);
		return;
	}
	before = e->sym.source;
	if (a->problem && before <= SYMBOL_NONE && !e->nameless)
		symbols_warn(s, a->problem);
	if (a->count && a->source > before)
		entries_set_frames(s, e, a->source, a->frames, a->count);
	if (a->final) {
		a->job->file->no_dwarf = a->no_dwarf;
		free(a->job);
		e->job = NULL;
		if (e->sym.source == SYMBOL_PENDING)
			e->sym.source = SYMBOL_NONE;
		e->nameless |= e->sym.source == SYMBOL_NONE && e->module != NO_ID && !a->problem;
	}
	if (e->shown)
		symbols_debug_want(s, e);
	if (e->sym.source != before) {
		moved(s, e);
		if (s->on_answer && is_known(e))
			s->on_answer(s->on_answer_arg, e->module, e->offset, kind_of(e), &e->sym);
	}
	if (e->module == NO_ID) {
		e->version = a->version;
		if (e->sym.source <= SYMBOL_NONE)
			take_unknown(s, e, again);
		if (a->version > s->map_version)
			map_changed(s, a->version);
		else if (a->version < s->map_version &&
			 e->sym.source <= SYMBOL_NONE) /* another job's answer came first */
			ask_again(s, e, false);
	}
	symbolizer_answer_free(a);
}

static void on_mail(void *arg)
{
	struct mail *mail = arg;
	struct symbols *s = mail->book;
	int left = __atomic_sub_fetch(&mail->in_flight, 1, __ATOMIC_ACQ_REL);
	struct symbolizer_answer *a;

	if (!s) {
		if (!left)
			free(mail);
		return;
	}
	for (int n = 0; n < ANSWERS_MAX; n++) {
		a = symbolizer_take(s->worker, false);
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
	struct symbolizer_answer *a;
	uint64_t before;

	if (s->local)
		look_again(s);
	do {
		before = s->sent;
		while (!s->frozen && (a = symbolizer_take(s->worker, true)))
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
	struct entry *e = entries_get(s, module, offset, kind == MTW_NODE_SIGNAL);
	struct code_frame frames[CODE_FRAMES_MAX];
	size_t n = sym->count < CODE_FRAMES_MAX ? sym->count : CODE_FRAMES_MAX;

	e->nameless |= sym->source == SYMBOL_NONE;
	if (sym->source < e->sym.source)
		return;
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct code_frame){ (char *)sym->frames[i].function,
						 (char *)sym->frames[i].file, sym->frames[i].line,
						 sym->frames[i].inlined };
	if (n && sym->source > SYMBOL_NONE)
		entries_set_frames(s, e, sym->source, frames, n);
	moved(s, e);
}

void symbols_each(const struct symbols *s,
		  void (*fn)(void *arg, uint32_t module, uint64_t offset, uint8_t kind,
			     const struct symbol *sym),
		  void *arg)
{
	for (size_t i = 0; i < s->room; i++) {
		const struct entry *e = s->table[i];
		if (e && is_known(e))
			fn(arg, e->module, e->offset, kind_of(e), &e->sym);
	}
}

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
	s->places = (struct code_places){ s->sysroot, (const char *const *)s->dirs, o->dir_count };
	s->mail = xcalloc(1, sizeof *s->mail);
	s->mail->loop = loop;
	s->mail->book = s;
	s->worker =
		symbolizer_new(&s->places, getenv("MEMTOP_TEST_SYMBOLS_GATE"), wake, s->mail, err);
	if (!s->worker) {
		symbols_free(s);
		return NULL;
	}
	symbols_debug_new(s);
	return s;
}

void symbols_calm(struct symbols *s)
{
	symbolizer_calm(s->worker);
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
			e->job->owner = NULL; /* drops its answer */
		entries_free_frames(e);
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
	symbolizer_free(s->worker); /* from here on the worker posts nothing */
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
