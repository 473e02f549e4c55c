/* SPDX-License-Identifier: MIT
 *
 * attach.c - a session in a process that already runs.
 *
 * dlopen loaded the agent, so the process's modules are bound to the real malloc. modules/rebind.c
 * therefore writes the hooks over the real functions' addresses. The list of hooks is the agent's
 * own symbol table, which holds the exports of modules/names.h. The instrument hooks are left out:
 * the agent cannot know which functions a thread has already entered.
 *
 * The session is exact from one moment on. While hooks are being written the state is OFF and they
 * forward everything; then the state changes, once, for all threads and modules. The live map does
 * not know a block from before that moment, and the block's free is counted as one of an unknown
 * block (record/record.c). The hot path has no instruction for this: hooks see a closed gate, as in
 * a preloaded agent.
 *
 * A program that replaces this one by exec gets no agent (process/exec.c). A forked child counts in
 * place, as under a preloaded agent.
 *
 *   calls under way at that moment (a malloc that has passed its gate) count as before it;
 *   threads get their state at their first hook, as always, and their names from the server;
 *   the loader's own allocations and frees (it keeps its own pointers to malloc) are not seen;
 *   other namespaces (dlmopen) have their own libc, which the agent does not reach: it reports them
 *   (modules/maps.c).
 *
 * Detach (the server, at a viewer's request): the state becomes OFF at one moment for all threads.
 * The server waits for threads inside a hook, as long as they move (record/thread.c). Then the same
 * walk restores the real addresses. Later frees of the session's blocks go to the real free. The
 * next attach begins a session with counters of 0 and an empty live map, in the memory of the last
 * one; known stacks and modules keep their numbers.
 *
 * The thread-local storage of a library that is loaded late and used without a call comes from the
 * loader's reserve: glibc keeps 512 bytes or more, and the agent needs 48. When the reserve is used
 * up, dlopen itself fails and says so.
 */
#include "base/compiler.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/types.h"
#include "hooks/init.h"
#include "hooks/jemalloc.h"
#include "modules/hook_list.h"
#include "modules/maps.h"
#include "modules/object.h"
#include "modules/real.h"
#include "modules/rebind.h"
#include "record/filter.h"
#include "record/record.h"
#include "record/thread.h"
#include "server/start.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <memtop/memtop.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define WALKS 5
#define OURS 7 /* functions for the program */
#define WALK_PAUSE_NS 2000000

static _Atomic bool xbusy; /* inside memtop_attach() */

static bool is_wanted(const char *name)
{
	static const char *const others[] = { "memtop_", "__cyg_", "JNI_" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	return true;
}

/* Those of hooks/jemalloc_names.c have no value. */
static int list_ours(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object o;
	struct hook_list *l = arg;

	(void)size;
	if (!mt_object_read(info, &o) ||
	    !mt_object_holds(&o, (const void *)(uintptr_t)mt_init_late))
		return 0;
	const ElfW(Sym) *end = mt_object_symbols_end(&o);
	for (ElfW(Sym) *s = o.symbol; s < end && l->count < HOOKS_MAX; s++)
		if (s->st_value && s->st_shndx != SHN_UNDEF && is_wanted(o.string + s->st_name))
			l->hook[l->count++] = (struct rebind){ o.string + s->st_name, NULL,
							       (char *)o.bias + s->st_value };
	return 1;
}

/* A function that does not exist here needs no hook; if it appears later, it calls one of those
 * that do (operator new calls malloc). */
static void list_hooks(void)
{
	struct hook_list *l = &mt_hooks;
	size_t all, kept = 0;

	l->count = 0;
	dl_iterate_phdr(list_ours, l);
	for (all = l->count, l->count = 0; kept < all; kept++) {
		l->hook[l->count] = l->hook[kept];
		l->hook[l->count].real = mt_real_next(l->hook[kept].name);
		l->count += l->hook[l->count].real != NULL;
	}
	if (l->count + JEMALLOC_HOOKS <= HOOKS_MAX)
		l->count += mt_hooks_jemalloc_init(l->hook + l->count);
}

/* Its own calls to a malloc that the program itself has do not go through any slot. */
static bool has_own_allocator(void)
{
	struct module *of = mt_real.malloc ? mt_maps_find((uintptr_t)mt_real.malloc) : NULL;
	uintptr_t entry = getauxval(AT_ENTRY);

	return !of || (entry >= of->start && entry < of->end);
}

static int options_error(const char *options)
{
	mt_msg_forget();
	mt_conf_reset();
	mt_record_restart();
	return mt_conf_parse(options ? options : "") && !mt_filter_update() ? 0
									    : MEMTOP_ATTACH_OPTIONS;
}

/* Runs more than once. The loader may have looked up a name before the agent changed it, and write
 * the slot after the agent's walk (a lazy call's first, a library under way). That window is some
 * hundred instructions, or longer when the thread loses its cpu there. A slot bound even later
 * stays unhooked, and the frees through it are found as unseen ones (live/live.c). */
static struct rebound put_in(void)
{
	struct rebound all = { .slots = 0 };

	for (int walk = 0; walk < WALKS; walk++) {
		struct rebound done = mt_rebind_in(mt_hooks.hook, mt_hooks.count);
		all.slots += done.slots;
		all.names += done.names;
		all.refused += done.refused;
		if (walk && !done.slots)
			break;
		mt_prim_sleep(WALK_PAUSE_NS);
	}
	return all;
}

static int take_over(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct rebind theirs[OURS];
	struct object o;

	(void)size;
	memcpy(theirs, arg, sizeof(theirs));
	if (!mt_object_read(info, &o) || !mt_object_is_agent(&o) ||
	    mt_object_holds(&o, (const void *)(uintptr_t)mt_init_late))
		return 0;
	for (size_t i = 0; i < OURS; i++)
		theirs[i].real = mt_object_symbol(&o, theirs[i].name);
	mt_rebind_in(theirs, OURS);
	return 0;
}

/* Functions that the program looks up as weak symbols, which had no definition. They stay after a
 * detach, which cannot tell which thread has just tested one; without a session they do nothing. */
static void answer(void)
{
	static const struct rebind ours[OURS] = {
		{ "memtop_mark", NULL, (void *)memtop_mark },
		{ "memtop_backtrace", NULL, (void *)memtop_backtrace },
		{ "memtop_heap_alloc", NULL, (void *)memtop_heap_alloc },
		{ "memtop_heap_free", NULL, (void *)memtop_heap_free },
		{ "memtop_heap_realloc", NULL, (void *)memtop_heap_realloc },
		{ "memtop_heap_reset", NULL, (void *)memtop_heap_reset },
		{ "memtop_heap_backing", NULL, (void *)memtop_heap_backing },
	};

	mt_rebind_in(ours, OURS);
	/* bound to them by an agent of another build, which is still there */
	dl_iterate_phdr(take_over, (void *)ours);
}

/* The server first, for it may fail. Until the state is ON it has nothing to show, and takes no
 * detach. */
static int start(void)
{
	if (!mt_server_start())
		return MEMTOP_ATTACH_SERVER;
	if (!mt_server_await()) {
		mt_server_leave();
		return MEMTOP_ATTACH_SERVER;
	}
	mt_init_tell_at_exit();
	struct rebound done = put_in();
	answer();
	atomic_store(&mt_state, AGENT_ON);
	if (done.slots && !done.refused)
		return 0;
	mt_server_leave();
	return MEMTOP_ATTACH_MEMORY;
}

/* All counters are the threads' own, and a server's first pass adds up all of them. */
static int start_again(void)
{
	return mt_server_start() && mt_server_await() ? MEMTOP_ATTACH_AGAIN : MEMTOP_ATTACH_SERVER;
}

static int begin(const char *options)
{
	if (mt_server_lost())
		return start_again();
	if (mt_object_interposes())
		return MEMTOP_ATTACH_PRELOADED;
	if (atomic_load(&mt_state) != AGENT_OFF)
		return MEMTOP_ATTACH_ALREADY;
	if (!mt_server_gone() || !mt_thread_retire_all(0))
		return MEMTOP_ATTACH_LEAVING;
	if (getauxval(AT_SECURE))
		return MEMTOP_ATTACH_SETUID;
	int wrong = options_error(options);
	if (wrong)
		return wrong;
	mt_real_late();
	/* of a static program the loader, the libc's that came with us, lists nothing */
	if (!mt_real_find())
		return MEMTOP_ATTACH_ALLOCATOR;
	if (!mt_init_late())
		return MEMTOP_ATTACH_MEMORY;
	if (has_own_allocator())
		return MEMTOP_ATTACH_ALLOCATOR;
	list_hooks();
	atomic_store(&mt_attached, true);
	return start();
}

static int attach(const char *options)
{
	if (atomic_exchange(&xbusy, true))
		return MEMTOP_ATTACH_ALREADY;
	int kept = errno, rc = begin(options);
	errno = kept;
	atomic_store(&xbusy, false);
	return rc;
}

MT_EXPORT int memtop_attach(const char *options)
{
	return attach(options);
}

/* Only System.load() of a Java program calls it: the session begins with the options in the
 * program's environment. The result is the lowest version of the interface (1.6), which every JVM
 * accepts. */
MT_EXPORT int JNI_OnLoad(void *vm, void *reserved)
{
	(void)vm;
	(void)reserved;
	attach(mt_state_variable("MEMTOP_OPTIONS="));
	return 0x00010006;
}
