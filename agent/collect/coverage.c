/* SPDX-License-Identifier: MIT
 *
 * coverage.c - reports, per module, whether its allocator calls are hooked by an attached agent: a
 * module without blocks must not be mistaken for one that is not watched.
 *
 * The server looks at each module once, at the first tick that finds it, and again when a filter
 * has changed. A flag of the module holds the result.
 *
 * Where libs= or exclude= leave out a module's memory, its calls of allocating functions go
 * straight to the real ones and cost nothing. Its other hooks stay (it may free another module's
 * blocks), and so do addresses that it may pass on. A function of such a module that ends in a jump
 * to malloc appears in no stack. A preloaded agent would count that allocation for the wanted
 * module that called it; here it is not counted.
 *
 * The module's slots show the answer. A slot that holds a hook is hooked. So is a lazy slot that is
 * not bound yet, because its name leads to the hook, where no other of its slots is bound
 * elsewhere. A stand-in in the program itself (no PIE) is hooked by the program's own slot.
 * Anything else belongs to another allocator: a library's own (hidden or linked in), one that comes
 * first in its scope (RTLD_DEEPBIND), or another namespace's libc.
 *
 * The caller keeps libraries from being unloaded while their tables are read. A module that is
 * still being loaded is checked later.
 */
#include "collect/coverage.h"
#include "base/state.h"
#include "base/types.h"
#include "modules/hook_list.h"
#include "modules/loader.h"
#include "modules/maps.h"
#include "modules/object.h"
#include "modules/rebind.h"
#include "modules/segments.h"
#include "record/filter.h"

#include <memtop/wire.h>

struct tale {
	const struct object *o;
	const struct module *program;
	bool in_use;                           /* the real malloc is its own */
	uint32_t hooked, lazy, own, elsewhere; /* slots */
};

static bool concerns_us(const char *name)
{
	static const char *const others[] = { "realloc", "free", "reallocarray", "rallocx" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i]))
			return true;
	return !strncmp(name, "_Zd", 3) || mt_rebind_allocates(name);
}

static void found(void *arg, ElfW(Sym) * s)
{
	(void)s;
	*(bool *)arg = true;
}

static void look_at_slot(void *arg, const char *name, void **slot)
{
	struct tale *t = arg;
	void *is = __atomic_load_n(slot, __ATOMIC_RELAXED);
	bool defines = false;

	if (!is || !concerns_us(name))
		return; /* a weak one that nobody has */
	if (!t->in_use && mt_object_holds(t->o, is))
		mt_object_each_symbol(t->o, name, found, &defines);
	bool stand_in = t->program && mt_maps_holds(t->program, (uintptr_t)is);
	if (defines)
		t->own++;
	else if (mt_object_holds(t->o, is))
		t->lazy++;
	else if (mt_hooks_have(is) || stand_in)
		t->hooked++;
	else
		t->elsewhere++;
}

static bool defines_malloc(const struct object *o)
{
	bool defines = false;

	mt_object_each_symbol(o, "malloc", found, &defines);
	return defines;
}

/* The allocator in use calls itself. A C library that is in use calls malloc for others, too
 * (strdup), through slots of its own; musl before 1.1.20 has none. */
static uint32_t status_of(const struct module *m, const struct object *o,
			  const struct module *program)
{
	uint32_t flags = atomic_load_explicit(&m->xflags, memory_order_relaxed);
	struct tale t = { .o = o, .program = program, .in_use = flags & MTW_MODULE_ALLOC };

	mt_object_each_slot(o, look_at_slot, &t);
	if (t.elsewhere) /* if only in part */
		return MTW_MODULE_ELSEWHERE;
	if (t.hooked || (t.lazy && !t.own))
		return mt_filter_module_wanted(m) ? MTW_MODULE_HOOKED : MTW_MODULE_UNMATCHED;
	if (t.own || (defines_malloc(o) && !t.in_use))
		return flags & MTW_MODULE_LIBC ? MTW_MODULE_ELSEWHERE : MTW_MODULE_OWN;
	return t.in_use && flags & MTW_MODULE_LIBC ? MTW_MODULE_OWN : MTW_MODULE_CALLS_NONE;
}

/* Under a preloaded agent all modules are bound to its hooks, but for a C library that binds
 * itself. */
static uint32_t look_at_libc(const struct module *m)
{
	const uint32_t libc = MTW_MODULE_LIBC | MTW_MODULE_ALLOC;
	static const struct module *seen;
	struct object o;

	if (m == seen || (atomic_load(&m->xflags) & libc) != libc || !m->headers)
		return 0;
	seen = m;
	return mt_object_read_headers(&o, m->bias, m->headers, m->header_count) &&
			       status_of(m, &o, NULL) == MTW_MODULE_OWN
		       ? MTW_MODULE_OWN
		       : 0;
}

/* Its calls first: hooked again, where the last filter had left them out. */
static uint32_t settle(const struct module *m, const struct module *program)
{
	uint32_t flags = atomic_load_explicit(&m->xflags, memory_order_relaxed);
	struct object o;

	if (flags & (MTW_MODULE_AGENT | MTW_MODULE_VDSO) || m->start == mt_maps_loader_start)
		return MTW_MODULE_SPARED;
	if (!m->headers || !mt_object_read_headers(&o, m->bias, m->headers, m->header_count))
		return MTW_MODULE_CALLS_NONE;
	mt_hooks_calls(&o, true);
	uint32_t status = status_of(m, &o, program);
	if (status == MTW_MODULE_UNMATCHED)
		mt_hooks_calls(&o, false);
	return status;
}

static const struct module *find_program(void)
{
	for (uint32_t id = 0; id < mt_maps_count(); id++) {
		const struct module *m = mt_maps_module(id);
		if (m && atomic_load(&m->xflags) & MTW_MODULE_MAIN)
			return m;
	}
	return NULL;
}

/* Under another filter than at the last look, all are asked again. */
static void ask_again(void)
{
	static uint32_t seen;
	uint32_t on = atomic_load_explicit(&mt_filter_on, memory_order_acquire);

	for (uint32_t id = 0, n = mt_maps_count(); on != seen && id < n; id++) {
		struct module *m = mt_maps_module(id);
		if (m)
			atomic_fetch_and(&m->xflags, ~(MTW_MODULE_HOOKS & ~MTW_MODULE_APART));
	}
	seen = on;
}

void coverage_look(void)
{
	if (atomic_load(&mt_state) != AGENT_ON)
		return;
	bool attached = mt_state_attached();
	const struct module *program = attached ? find_program() : NULL;
	if (attached)
		ask_again();
	for (uint32_t id = 0, n = mt_maps_count(); id < n; id++) {
		struct module *m = mt_maps_module(id);
		if (!m || atomic_load(&m->xflags) &
				  (MTW_MODULE_HOOKS | MTW_MODULE_GONE | MTW_MODULE_HEAP))
			continue;
		if (mt_loader_consistent())
			atomic_fetch_or(&m->xflags,
					attached ? settle(m, program) : look_at_libc(m));
	}
}
