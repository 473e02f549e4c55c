/* SPDX-License-Identifier: MIT
 *
 * rebind.c - puts hooks in front of functions that modules are already bound to, and removes them.
 *
 * A preloaded agent that finds jemalloc's own functions at start-up uses it for them (mt_rebind).
 * An agent attached to a running process uses it for all its hooks (mt_rebind_in, _out). Both do
 * two things:
 *   1. Later lookups: lazy calls that are not bound yet, dlsym, libraries loaded later with their
 *      constructors. A preloaded agent is found before the real functions: its own names for them
 *      (hooks/jemalloc_names.c) get values. An attached one is not found first: it writes the
 *      hook's address into the symbol table of the object that defines the real function. So no
 *      dlopen has to be watched, and no code runs between a library's mapping and its hooking.
 *   2. Existing bindings: the slots of all loaded objects except the agent and the loader, where
 *      the relocation names the function and the slot holds its address.
 * Removal is the same walk with the two addresses exchanged. So the agent remembers no slots, and
 * it leaves alone a slot that other code has changed, which holds neither address. A lazy slot that
 * was bound meanwhile stays bound, to the real function.
 *
 * A slot with any other address stays untouched. It holds a stand-in for the function (the
 * program's PLT, without PIE), which has a hooked slot of its own, or another allocator
 * (RTLD_DEEPBIND, a library with its own), whose blocks the real functions do not know. Pages that
 * the loader made read-only become so again. A pointer that the program copied elsewhere is not
 * found: allocations through it are not seen, and their frees count as frees of unknown blocks.
 */
#include "modules/names.h"
#include "modules/rebind.h"
#include "base/prim_linux.h"
#include "modules/loader.h"
#include "modules/maps.h"
#include "modules/object.h"
#include "modules/segments.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <memtop/wire.h>

#define LAST_MAX 64
#define LOAD_TRIES 1000 /* half a millisecond apart: for a load to end */

/* One walk, one way. */
struct work {
	const struct rebind *list;
	size_t count;
	const struct object *o;        /* the one that is walked */
	void (*visit)(struct work *w); /* what is done with it */
	const void *spared;            /* the object that holds it is left out; NULL */
	bool out;                      /* hooks go */
	const char *but;               /* all but that one; NULL */
	bool allocating;               /* only those that mt_rebind_allocates() is true of */
	const struct module *program;  /* out: where stand-ins are */
	bool was_hooked;               /* out: this object was, as collect/coverage.c found */
	struct rebound done;
};

static void *from_of(const struct work *w, size_t i)
{
	return w->out ? w->list[i].hook : w->list[i].real;
}

static void *to_of(const struct work *w, size_t i)
{
	return w->out ? w->list[i].real : w->list[i].hook;
}

static bool protect(const void *p, size_t bytes, int how)
{
	uintptr_t page = getauxval(AT_PAGESZ), from = (uintptr_t)p & ~(page - 1);

	return mt_prim_call(SYS_mprotect, (long)from, (long)((uintptr_t)p + bytes - from), how, 0,
			    0, 0) == 0;
}

/* A symbol's value is one word: a concurrent lookup finds the old or the new one. */
static bool set_value(const struct object *o, ElfW(Sym) * s, const void *f)
{
	int was = mt_object_protection(o, s);

	if (!(was & PROT_WRITE) && !protect(s, sizeof(*s), was | PROT_WRITE))
		return false;
	__atomic_store_n(&s->st_value, (uintptr_t)f - o->bias, __ATOMIC_RELEASE);
	if (!(was & PROT_WRITE))
		protect(s, sizeof(*s), was);
	return true;
}

struct naming {
	struct work *w;
	size_t i;
};

static int show_ours(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct work *w = arg;
	struct object o;

	(void)size;
	if (!mt_object_read(info, &o) || !mt_object_holds(&o, (const void *)(uintptr_t)mt_rebind))
		return 0;
	const ElfW(Sym) *end = mt_object_symbols_end(&o);
	for (ElfW(Sym) *s = o.symbol; s < end; s++)
		for (size_t i = 0; i < w->count; i++)
			if (!s->st_value && s->st_shndx != SHN_UNDEF &&
			    !strcmp(o.string + s->st_name, w->list[i].name))
				set_value(&o, s, w->list[i].hook);
	return 1;
}

static void hide(void *arg, ElfW(Sym) * s)
{
	const struct naming *n = arg;

	if ((void *)(n->w->o->bias + s->st_value) == n->w->list[n->i].hook)
		__atomic_store_n(&s->st_value, 0, __ATOMIC_RELEASE);
}

static int hide_ours(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct work w = *(const struct work *)arg;
	struct object o;

	(void)size;
	if (!mt_object_read(info, &o) || !mt_object_holds(&o, (const void *)(uintptr_t)mt_rebind))
		return 0;
	size_t bytes = (size_t)((const char *)mt_object_symbols_end(&o) - (const char *)o.symbol);
	int was = mt_object_protection(&o, o.symbol);
	if (!(was & PROT_WRITE) && !protect(o.symbol, bytes, was | PROT_WRITE))
		return 1;
	w.o = &o;
	for (size_t i = 0; i < w.count; i++)
		mt_object_each_symbol(&o, w.list[i].name, hide, &(struct naming){ &w, i });
	if (!(was & PROT_WRITE))
		protect(o.symbol, bytes, was);
	return 1;
}

/* Another version of the name may be another function: it stays. */
static void name_symbol(void *arg, ElfW(Sym) * s)
{
	const struct naming *n = arg;
	struct work *w = n->w;

	if ((void *)(w->o->bias + s->st_value) != from_of(w, n->i))
		return;
	if (set_value(w->o, s, to_of(w, n->i)))
		w->done.names++;
	else
		w->done.refused++;
}

static void name_object(struct work *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct naming n = { w, i };
		if (mt_object_holds(w->o, w->list[i].real) &&
		    !(w->but && !strcmp(w->list[i].name, w->but)))
			mt_object_each_symbol(w->o, w->list[i].name, name_symbol, &n);
	}
}

static bool bind_slot(const struct object *o, void **slot, void *from, void *to)
{
	bool fixed = (uintptr_t)slot >= o->fixed && (uintptr_t)slot < o->fixed_end;

	if (fixed && !protect(slot, sizeof(*slot), PROT_READ | PROT_WRITE))
		return false;
	/* The loader may bind a lazy one just now: to the same hook, or the program sets it: then
	 * it is the program's. */
	__atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	if (fixed)
		protect(slot, sizeof(*slot), PROT_READ);
	return true;
}

/* Neither real nor a hook, a stub of its own or a stand-in: written by code that came after the
 * agent. */
static bool is_changed(const struct work *w, const char *name, const void *is)
{
	const struct module *p = w->program;

	if (!is || mt_object_holds(w->o, is) || (p && mt_maps_holds(p, (uintptr_t)is)))
		return false;
	for (size_t i = 0; i < w->count; i++)
		if (!strcmp(name, w->list[i].name))
			return is != w->list[i].real && is != w->list[i].hook;
	return false;
}

static void bind_if(void *arg, const char *name, void **slot)
{
	struct work *w = arg;
	void *is = __atomic_load_n(slot, __ATOMIC_RELAXED);

	for (size_t i = 0; i < w->count; i++) {
		if (is != from_of(w, i) || strcmp(name, w->list[i].name) ||
		    (w->but && !strcmp(name, w->but)) ||
		    (w->allocating && !mt_rebind_allocates(name)))
			continue;
		if (bind_slot(w->o, slot, is, to_of(w, i)))
			w->done.slots++;
		else
			w->done.refused++;
		return;
	}
	if (w->was_hooked)
		w->done.changed += is_changed(w, name, is);
}

static bool is_spared(const struct work *w)
{
	return mt_object_holds(w->o, (const void *)(uintptr_t)mt_rebind) ||
	       mt_object_holds(w->o, (const void *)mt_maps_loader_start) ||
	       (w->spared && mt_object_holds(w->o, w->spared));
}

static void bind_object(struct work *w)
{
	mt_object_each_slot(w->o, bind_if, w);
}

static int visit_listed(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct work *w = arg;
	struct object o;

	(void)size;
	w->o = &o;
	if (mt_object_read(info, &o) && !is_spared(w))
		w->visit(w);
	return 0;
}

/* Of the loader's list. */
static void each_listed(struct work *w, void (*visit)(struct work *w))
{
	w->visit = visit;
	dl_iterate_phdr(visit_listed, w);
}

/* The program that we are a part of defines the real functions itself, if any: its names for them
 * lead to us. */
static int name_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct work *w = arg;
	struct object o;

	(void)size;
	w->o = &o;
	if (!mt_object_read(info, &o) || !mt_object_holds(&o, (const void *)(uintptr_t)mt_rebind) ||
	    !mt_object_holds(&o, (const void *)getauxval(AT_ENTRY)))
		return 0;
	name_object(w);
	return 1;
}

void mt_rebind(const struct rebind *list, size_t count)
{
	struct work w = { .list = list, .count = count, .spared = list->real };

	if (!dl_iterate_phdr(name_program, &w))
		dl_iterate_phdr(show_ours, &w);
	each_listed(&w, bind_object);
}

void mt_rebind_hide(const struct rebind *list, size_t count)
{
	struct work w = { .list = list, .count = count };

	dl_iterate_phdr(hide_ours, &w);
}

struct rebound mt_rebind_in(const struct rebind *list, size_t count)
{
	struct work w = { .list = list, .count = count };

	each_listed(&w, name_object);
	each_listed(&w, bind_object);
	return w.done;
}

bool mt_rebind_allocates(const char *name)
{
	static const struct {
		const char *name;
		bool allocates;
	} names[] = {
#define ROW(linked, weak, name, result, parameters, allocates) { #name, allocates },
		HEAP_NAMES(ROW) JEMALLOC_NAMES(ROW)
	};

	if (!strncmp(name, "_Zn", 3))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].allocates && !strcmp(name, names[i].name))
			return true;
	return false;
}

/* Calls alone: any module may call an address that is taken (GLOB_DAT). */
void mt_rebind_calls(const struct object *o, const struct rebind *list, size_t count, bool out)
{
	struct object calls = *o;
	struct work w = {
		.list = list, .count = count, .o = &calls, .out = out, .allocating = true
	};

	calls.table[TABLE_RELA] = calls.table[TABLE_REL] = calls.table[TABLE_PACKED] = NULL;
	mt_object_each_slot(&calls, bind_if, &w);
}

/* Walks the modules that modules/maps.c knows, because the server cannot take the loader's lock. */
static void each_module(struct work *w, void (*visit)(struct work *w))
{
	for (uint32_t id = 0; id < mt_maps_count(); id++) {
		const struct module *m = mt_maps_module(id);
		struct object o;
		if (!m || atomic_load(&m->xflags) &
				  (MTW_MODULE_GONE | MTW_MODULE_AGENT | MTW_MODULE_VDSO))
			continue;
		w->o = &o;
		w->was_hooked = atomic_load(&m->xflags) & MTW_MODULE_HOOKED;
		if (m->headers &&
		    mt_object_read_headers(&o, m->bias, m->headers, m->header_count) &&
		    !is_spared(w))
			visit(w);
	}
}

/* A slot of dlclose, found while it still led to the hook. */
static struct last {
	struct object o;
	void **slot;
} last[LAST_MAX];
static size_t last_count;

static void note_last(void *arg, const char *name, void **slot)
{
	struct work *w = arg;

	if (*slot == w->list->hook && !strcmp(name, w->list->name) && last_count < LAST_MAX)
		last[last_count++] = (struct last){ *w->o, slot };
}

static void note_each_slot(struct work *w)
{
	mt_object_each_slot(w->o, note_last, w);
}

/* dlclose itself: once its first slot is restored, unloads no longer wait. So all its slots are
 * found first, and then written in one go, those of the program at the very end. */
static void bind_last(struct work *w)
{
	uintptr_t entry = getauxval(AT_ENTRY);

	last_count = 0;
	each_module(w, note_each_slot);
	each_module(w, name_object);
	for (int program = 0; program < 2; program++)
		for (size_t i = 0; i < last_count; i++) {
			w->o = &last[i].o;
			if (mt_object_holds(w->o, (const void *)entry) == program)
				bind_if(w, w->list->name, last[i].slot);
		}
}

/* Names first: who is loaded after that is not ours. */
struct rebound mt_rebind_out(const struct rebind *list, size_t count)
{
	struct work w = { .list = list, .count = count, .out = true, .but = "dlclose" };

	mt_maps_refresh();
	for (uint32_t id = 0; !w.program && id < mt_maps_count(); id++)
		if (mt_maps_module(id) &&
		    atomic_load(&mt_maps_module(id)->xflags) & MTW_MODULE_MAIN)
			w.program = mt_maps_module(id);
	each_module(&w, name_object);
	/* A load that is under way has looked its names up before, and is not in the list yet: it
	 * ends soon. */
	for (int i = 0; i < LOAD_TRIES && !mt_loader_consistent(); i++)
		mt_prim_sleep(500000);
	mt_maps_refresh();
	each_module(&w, bind_object);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].name, w.but))
			continue;
		struct work unloads = { .list = &list[i], .count = 1, .out = true, .done = w.done };
		bind_last(&unloads);
		return unloads.done;
	}
	return w.done;
}
