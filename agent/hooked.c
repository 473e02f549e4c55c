/* SPDX-License-Identifier: MIT
 *
 * hooked.c - of which modules does an attached agent see the calls? Said of each, so that nobody wonders about one
 * that has no blocks.
 *
 * Asked once of each module, by the server, at the first tick that finds it; the answer is a flag of the module.
 * It is read off its slots, as they are: one that holds a hook is hooked, and so is a lazy one that is not bound
 * yet, for its name leads to the hook, where no other is bound elsewhere. A stand-in in the program itself (no PIE) is hooked by the program's
 * own slot. Anything else is another allocator's: a library's own (hidden or linked in), one that comes first in
 * its scope (RTLD_DEEPBIND), or another namespace's libc.
 *
 * No library is unloaded while its tables are read: the caller sees to that. One that is being loaded is asked later.
 */
#include "hooks.h"
#include "maps.h"
#include "object.h"
#include "server.h"

#include <sys/auxv.h>

struct tale {
	const struct object *o;
	const struct module *program;
	uint32_t hooked, lazy, own, elsewhere; /* slots */
};

static bool allocates(const char *name)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "free", "reallocarray", "posix_memalign",
					     "aligned_alloc", "memalign", "valloc", "pvalloc", "mallocx", "rallocx" };

	if (name[0] == '_' && name[1] == 'Z')
		return !strncmp(name, "_Zn", 3) || !strncmp(name, "_Zd", 3);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void found(void *arg, ElfW(Sym) *s)
{
	(void)s;
	*(bool *)arg = true;
}

static void look_at_slot(void *arg, const char *name, void **slot)
{
	struct tale *t = arg;
	void *is = __atomic_load_n(slot, __ATOMIC_RELAXED);
	bool defines = false;

	if (!is || !allocates(name))
		return; /* a weak one that nobody has */
	if (mt_object_holds(t->o, is))
		mt_object_each_symbol(t->o, name, found, &defines);
	bool stand_in = t->program && (uintptr_t)is >= t->program->start && (uintptr_t)is < t->program->end;
	if (defines)
		t->own++;
	else if (mt_object_holds(t->o, is))
		t->lazy++;
	else if (mt_attach_is_hook(is) || stand_in)
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

/* A libc that is not hooked is another namespace's; the allocator in use calls itself. */
static uint32_t status_of(const struct module *m, const struct module *program)
{
	uint32_t flags = atomic_load_explicit(&m->xflags, memory_order_relaxed);
	struct object o;
	size_t headers;

	if (flags & (MTW_MODULE_AGENT | MTW_MODULE_VDSO) || m->start == mt_maps_loader_start)
		return MTW_MODULE_SPARED;
	const ElfW(Phdr) *ph = mt_maps_headers(m, &headers);
	if (!ph || !mt_object_read_headers(&o, m->bias, ph, headers))
		return MTW_MODULE_CALLS_NONE;
	struct tale t = { .o = &o, .program = program };
	mt_object_each_slot(&o, look_at_slot, &t);
	if (t.elsewhere) /* if only in part */
		return MTW_MODULE_ELSEWHERE;
	if (t.hooked)
		return MTW_MODULE_HOOKED;
	if (t.lazy && !t.own)
		return MTW_MODULE_HOOKED;
	if (t.own || (defines_malloc(&o) && !(flags & MTW_MODULE_ALLOC)))
		return flags & MTW_MODULE_LIBC ? MTW_MODULE_ELSEWHERE : MTW_MODULE_OWN;
	return MTW_MODULE_CALLS_NONE;
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

void hooked_look(void)
{
	if (!mt_attach_is() || atomic_load(&mt_state) != AGENT_ON)
		return;
	const struct module *program = find_program();
	for (uint32_t id = 0, n = mt_maps_count(); id < n; id++) {
		struct module *m = mt_maps_module(id);
		if (!m || atomic_load(&m->xflags) & (MTW_MODULE_HOOKS | MTW_MODULE_GONE | MTW_MODULE_HEAP))
			continue;
		if (mt_maps_whole())
			atomic_fetch_or(&m->xflags, status_of(m, program));
	}
}
