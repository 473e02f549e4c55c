/* SPDX-License-Identifier: MIT
 *
 * names.c - see owners/names.h. Functions and libs keep their numbers (rows are keyed by them); the
 * data of locations is cleared with the model.
 *
 * A location's name is requested on first use, and again when the symbols report its answer: some
 * ten thousand may wait while a large binary is read. When the symbols do not know which answers
 * came, all names are requested again.
 */
#include "owners/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct names {
	const struct model *m;
	struct symbols *s;
	uint64_t resets, generation, version;

	struct name_fn *fns;
	size_t fn_count, fn_room;
	struct map fn_map;
	struct name_loc *locs;
	size_t loc_count, loc_room;
	struct name_lib *libs;
	size_t lib_count, lib_room;
	uint32_t *lib_of_module; /* + 1 */
	size_t module_room;
	uint32_t all_asked; /* names_ask_all(): those below it */

	struct heap_names *taken; /* of `taken_at`; NULL: none */
	uint64_t taken_at, modules;
	uint32_t *renamed; /* locations that are others since */
	size_t renamed_count, renamed_room;
	uint64_t base; /* moves when news of before fit no more */
};

struct names *names_new(const struct model *m, struct symbols *s)
{
	struct names *n = xcalloc(1, sizeof *n);

	n->m = m;
	n->s = s;
	n->resets = model_resets(m);
	return n;
}

/* What is taken next has all of it. */
static void forget_taken(struct names *n)
{
	heap_names_drop(n->taken);
	n->taken = NULL;
	n->base++;
	for (size_t i = 0; i < n->renamed_count; i++)
		n->locs[n->renamed[i]].renamed = false;
	n->renamed_count = 0;
}

static void forget_locations(struct names *n)
{
	forget_taken(n);
	for (size_t i = 0; i < n->loc_count; i++)
		free(n->locs[i].frames);
	n->loc_count = n->all_asked = 0;
	if (n->module_room)
		memset(n->lib_of_module, 0, n->module_room * sizeof *n->lib_of_module);
}

void names_free(struct names *n)
{
	if (!n)
		return;
	forget_locations(n);
	for (size_t i = 0; i < n->fn_count; i++)
		free(n->fns[i].built);
	for (size_t i = 0; i < n->lib_count; i++) {
		free(n->libs[i].path);
		free(n->libs[i].name);
	}
	map_release(&n->fn_map);
	free(n->fns);
	free(n->locs);
	free(n->libs);
	free(n->lib_of_module);
	free(n->renamed);
	free(n);
}

uint32_t names_lib_of(struct names *n, uint32_t module)
{
	const struct module *x = module == NO_ID ? NULL : model_module(n->m, module);
	uint32_t lib = 0;

	if (!x || !x->known)
		return NO_ID;
	GROW(n->lib_of_module, n->module_room, (size_t)module + 1);
	if (n->lib_of_module[module])
		return n->lib_of_module[module] - 1;
	while (lib < n->lib_count &&
	       (strcmp(n->libs[lib].path, x->path) || strcmp(n->libs[lib].name, x->name)))
		lib++;
	if (lib == n->lib_count) {
		GROW(n->libs, n->lib_room, n->lib_count + 1);
		n->lib_count++;
		n->libs[lib].path = xstrdup(x->path);
		n->libs[lib].name = xstrdup(x->name);
	}
	n->libs[lib].newest = module;
	n->libs[lib].flags = x->flags;
	n->lib_of_module[module] = lib + 1;
	return lib;
}

const struct name_lib *names_lib(const struct names *n, uint32_t lib)
{
	return &n->libs[lib];
}

bool names_tells(const struct names *n, uint32_t fn)
{
	const struct name_fn *f = &n->fns[fn];

	return !f->wrapper || !f->function || (n->libs[f->lib].flags & MTW_MODULE_LIBC);
}

static bool judge(const struct names *n, const struct name_fn *f)
{
	uint32_t flags = f->lib == NO_ID ? 0 : n->libs[f->lib].flags;

	return f->lib != NO_ID && wrappers_match(flags, f->function);
}

/* key: the full name; for a nameless location, the built one. */
static uint32_t fn_of(struct names *n, uint32_t lib, uint8_t kind, const char *function,
		      const char *name, char *built)
{
	const char *key = function ? function : name;
	uint64_t hash = hash_string(key, (uint64_t)lib * 2 + !function + 0xcbf29ce484222325ull);
	uint32_t head = map_get(&n->fn_map, hash, NO_ID);

	for (uint32_t i = head; i != NO_ID; i = n->fns[i].next) {
		const struct name_fn *f = &n->fns[i];
		if (f->lib == lib && !f->function == !function &&
		    !strcmp(f->function ? f->function : f->name, key)) {
			free(built);
			return i;
		}
	}
	GROW(n->fns, n->fn_room, n->fn_count + 1);
	struct name_fn *f = &n->fns[n->fn_count];
	*f = (struct name_fn){ function, name, built, lib, head, kind, false };
	f->wrapper = judge(n, f);
	map_set(&n->fn_map, hash, (uint32_t)n->fn_count);
	return (uint32_t)n->fn_count++;
}

static uint32_t nameless(struct names *n, const struct name_loc *l, const struct symbol_frame *f)
{
	uint32_t lib = names_lib_of(n, l->module);

	if (lib == NO_ID) {
		/* Truncations and unknown generated code: the symbols describe them. */
		char *text =
			f && f->name ? xstrdup(f->name) : xasprintf("[0x%" PRIx64 "]", l->offset);
		return fn_of(n, NO_ID, l->kind, NULL, text, text);
	}
	char *text = xasprintf("%s+0x%" PRIx64, n->libs[lib].name, l->offset);
	return fn_of(n, lib, l->kind, NULL, text, text);
}

static bool same_frames(const struct name_frame *a, size_t na, const struct name_frame *b,
			size_t nb)
{
	if (na != nb)
		return false;
	for (size_t i = 0; i < na; i++)
		if (a[i].fn != b[i].fn || a[i].line != b[i].line || a[i].file != b[i].file ||
		    a[i].inlined != b[i].inlined)
			return false;
	return true;
}

/* Snapshots have it otherwise. */
static void tell_of(struct names *n, uint32_t loc)
{
	if (n->locs[loc].renamed)
		return;
	n->locs[loc].renamed = true;
	GROW(n->renamed, n->renamed_room, n->renamed_count + 1);
	n->renamed[n->renamed_count++] = loc;
}

/* True when the frames changed. */
static bool fetch(struct names *n, uint32_t loc)
{
	struct name_loc *l = &n->locs[loc];

	tell_of(n, loc);
	const struct symbol *s = symbols_of_location(n->s, loc);
	size_t count = s->source == SYMBOL_PENDING || !s->count ? 1 : s->count;
	struct name_frame *frames = xcalloc(count, sizeof *frames);
	bool wrapper = true;
	for (size_t i = 0; i < count; i++) {
		const struct symbol_frame *f = i < s->count ? &s->frames[i] : NULL;
		bool named = f && f->function && s->source != SYMBOL_PENDING;
		frames[i].fn = named ? fn_of(n, names_lib_of(n, l->module), l->kind, f->function,
					     f->name ? f->name : f->function, NULL)
				     : nameless(n, l, f);
		if (f && s->source != SYMBOL_PENDING) {
			frames[i].file = f->file;
			frames[i].line = f->line;
			frames[i].inlined = f->inlined;
		}
		wrapper &= n->fns[frames[i].fn].wrapper;
	}
	bool changed = l->source != s->source || !same_frames(l->frames, l->count, frames, count);
	l->source = s->source;
	l->wrapper = wrapper;
	if (same_frames(l->frames, l->count, frames, count)) {
		free(frames);
		return changed;
	}
	free(l->frames);
	l->frames = frames;
	l->count = (uint32_t)count;
	return changed;
}

const struct name_loc *names_loc(struct names *n, uint32_t loc)
{
	struct name_loc *l = &n->locs[loc];

	if (!l->asked) {
		l->asked = true;
		n->version += fetch(n, loc);
	}
	return l;
}

bool names_ask_all(struct names *n, uint32_t most)
{
	names_refresh(n);
	for (; n->all_asked < n->loc_count && most; n->all_asked++, most--)
		names_loc(n, n->all_asked);
	return n->all_asked == n->loc_count;
}

/* A location whose name nobody asked for yet. */
static void add_location(struct names *n, const struct location *at)
{
	struct name_loc *l = &n->locs[n->loc_count++];

	*l = (struct name_loc){ .module = at->module,
				.kind = at->kind,
				.offset = at->offset,
				.source = SYMBOL_PENDING,
				.count = 1 };
	tell_of(n, (uint32_t)n->loc_count - 1);
	if (l->kind == MTW_NODE_TRUNCATED) { /* the symbols say why at once */
		l->asked = true;
		l->count = 0;
		fetch(n, (uint32_t)n->loc_count - 1);
		return;
	}
	l->frames = xcalloc(1, sizeof *l->frames);
	l->frames[0].fn = nameless(n, l, NULL);
}

static void take_locations(struct names *n)
{
	uint32_t count = model_location_count(n->m);

	if (n->resets != model_resets(n->m)) {
		forget_locations(n);
		n->resets = model_resets(n->m);
		n->version++;
	}
	n->version += n->loc_count < count;
	GROW(n->locs, n->loc_room, count);
	while (n->loc_count < count)
		add_location(n, model_location(n->m, (uint32_t)n->loc_count));
}

static void look_again(struct names *n, uint32_t loc)
{
	const struct name_loc *l = &n->locs[loc];

	if (l->asked && l->source != SYMBOL_DWARF && l->kind != MTW_NODE_TRUNCATED)
		n->version += fetch(n, loc);
}

void names_refresh(struct names *n)
{
	uint64_t now = symbols_generation(n->s);
	struct symbol_place p;
	uint32_t loc;

	take_locations(n);
	for (; n->generation < now && symbols_answered(n->s, n->generation + 1, &p);
	     n->generation++)
		if ((loc = model_location_find(n->m, p.module, p.offset, p.kind)) < n->loc_count)
			look_again(n, loc);
	for (loc = 0; n->generation < now && loc < n->loc_count; loc++)
		look_again(n, loc);
	n->generation = now;
}

uint64_t names_version(const struct names *n)
{
	return n->version;
}

static uint32_t loc_count(const struct names *n)
{
	return (uint32_t)n->loc_count;
}

static void put_frames(struct names *n, struct heap_news *to, struct heap_renamed *x,
		       const struct name_loc *l)
{
	GROW(to->frames, to->frame_room, to->frame_count + l->count);
	x->frames = to->frame_count;
	x->count = l->count;
	x->site = NO_ID;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct name_frame *f = &l->frames[i];

		to->frames[to->frame_count++] =
			(struct heap_frame){ f->fn, f->line, f->file, f->inlined };
		if (x->site == NO_ID && !l->wrapper && !n->fns[f->fn].wrapper)
			x->site = i;
	}
}

static void put_location(struct names *n, struct heap_news *to, uint32_t location)
{
	const struct name_loc *l = &n->locs[location];
	const struct module *x = l->module == NO_ID ? NULL : model_module(n->m, l->module);
	struct heap_renamed one = {
		.location = location,
		.place = {
			.module = l->module,
			.lib = names_lib_of(n, l->module),
			.kind = l->kind,
			.asked = l->asked,
			.pending = l->source == SYMBOL_PENDING && l->kind != MTW_NODE_TRUNCATED,
			.agent = x && (x->flags & MTW_MODULE_AGENT),
		},
	};

	put_frames(n, to, &one, l);
	GROW(to->list, to->room, to->count + 1);
	to->list[to->count++] = one;
}

/* All functions from that one on. */
static void put_functions(const struct names *n, struct heap_news *to, uint32_t from)
{
	to->first_function = from;
	GROW(to->functions, to->function_room, n->fn_count - from + 1);
	for (uint32_t i = from; i < n->fn_count; i++) {
		const struct name_fn *f = &n->fns[i];

		to->functions[to->function_count++] =
			(struct heap_function){ f->name, f->function, f->lib,
						f->kind, f->wrapper,  names_tells(n, i) };
	}
}

static void put_all(struct names *n, struct heap_news *to)
{
	for (uint32_t l = 0; l < n->loc_count; l++)
		put_location(n, to, l);
	put_functions(n, to, 0);
	to->locations = loc_count(n);
	to->libs = (uint32_t)n->lib_count;
}

static void put_renamed(struct names *n, struct heap_news *to)
{
	for (size_t i = 0; i < n->renamed_count; i++)
		put_location(n, to, n->renamed[i]);
	put_functions(n, to, n->taken->functions);
	to->locations = loc_count(n);
	to->libs = (uint32_t)n->lib_count;
}

struct heap_names *names_take(struct names *n)
{
	struct heap_news all = { 0 };

	put_all(n, &all);
	struct heap_names *to = heap_names_new(NULL, &all);
	heap_news_release(&all);
	return to;
}

void names_copy_begin(struct names *n, struct names_copy *x)
{
	names_refresh(n);
	if (n->modules != model_module_changes(n->m))
		forget_taken(n);
	n->modules = model_module_changes(n->m);
	x->version = n->version;
	x->base = n->base;
	if (n->taken && n->taken_at == n->version) {
		x->made = heap_names_hold(n->taken);
		return;
	}
	x->from = n->taken ? heap_names_hold(n->taken) : NULL;
	if (n->taken)
		put_renamed(n, &x->news);
	else
		put_all(n, &x->news);
	for (size_t i = 0; i < n->renamed_count; i++)
		n->locs[n->renamed[i]].renamed = false;
	n->renamed_count = 0;
}

void names_copy_make(struct names_copy *x)
{
	if (!x->made)
		x->made = heap_names_new(x->from, &x->news);
}

void names_copy_end(struct names *n, struct names_copy *x)
{
	if (x->made && x->made != n->taken && x->base == n->base) {
		heap_names_drop(n->taken);
		n->taken = heap_names_hold(x->made);
		n->taken_at = x->version;
	}
	heap_names_drop(x->from);
	heap_names_drop(x->made);
	heap_news_release(&x->news);
	*x = (struct names_copy){ 0 };
}

void names_forked(struct names *n)
{
	forget_taken(n);
}

struct heap_names *names_taken(struct names *n)
{
	struct names_copy x = { 0 };

	names_copy_begin(n, &x);
	names_copy_make(&x);
	names_copy_end(n, &x);
	return n->taken;
}
