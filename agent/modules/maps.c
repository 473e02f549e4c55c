/* SPDX-License-Identifier: MIT
 *
 * maps.c - loaded objects, each with a permanent number.
 *
 * A module is one load of one file: its number is never used again, even when the same file comes
 * back to the same place. Numbers are dense. The table is insert-only. The first thread that meets
 * a pc in a new object inserts it with a CAS, in allocations and signal handlers alike.
 *
 * On the allocation path the only query of the loader is _dl_find_object, which takes no lock and
 * returns the link_map of what is mapped there now. It is a weak reference, since older libcs and
 * others lack it. Without it the agent learns of modules from a walk of the loader's list: at each
 * tick, and when a thread meets a pc in no module and the list has grown. That walk copies each
 * link_map through mt_prim_readable(). It believes a copy only between two looks at a consistent
 * list; otherwise the next tick repeats it.
 *
 * An object's address range has gaps (modules/maps_file.c), so the loader's answer may cover one
 * segment only. All answers with one link_map are one module, with all segments that its headers
 * name; the memory between them is not the module's.
 *
 * An unload is noticed by checking every module that counts as loaded (mt_maps_settle()): on a
 * suspicion (a dlopen, a dlclose, an allocation by the loader itself, which precedes every load),
 * and at the server's ticks. Only then does the generation change, so a program that loads many
 * libraries does not flush the unwinder's caches for each.
 */
#include "modules/maps.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/stretch.h"
#include "modules/loader.h"
#include "modules/maps_file.h"
#include "modules/maps_kind.h"
#include "modules/real.h"
#include "modules/segments.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include <memtop/wire.h>

#define HINTS 256u     /* power of two; link_map -> id */
#define NAMESPACES 64u /* of dlmopen; glibc has 16 */

#if defined(DLFO_STRUCT_HAS_EH_DBASE) /* glibc 2.35 */
#define HAVE_FIND_OBJECT 1
#endif

/* What is mapped at an address now, as the loader says. */
struct object {
	/* maybe one segment's bounds; describe() makes them the object's */
	uintptr_t start, end, eh_frame_hdr;
	const struct link_map *link;
	/* read from *link, which only a caller that knows it to be alive may do */
	uintptr_t bias;
	const char *name;
	struct mt_headers headers;
};

_Atomic uint32_t mt_maps_suspicion;
_Atomic uint32_t mt_maps_changes = 1;
uintptr_t mt_maps_loader_start, mt_maps_loader_bytes;

static struct stretch stretch; /* by id, up to MTW_MODULES_MAX */
static struct module *_Atomic none;
static struct module *_Atomic *xmodules = &none;
static _Atomic uint32_t xcount;
static _Atomic uint32_t xsettled; /* the suspicion that was last looked into */
static _Atomic uint32_t xhint[HINTS];
static _Atomic bool xmissed; /* a pc was found in no module */
static char exe_path[MTW_STRING_MAX];
static bool alone; /* no loader: a static program */

static bool has_grown(void);
static void walk_list(void);
static bool is_listed(const struct module *m);

static struct module *module_at(uint32_t id)
{
	return atomic_load_explicit(&xmodules[id], memory_order_acquire);
}

static bool has_place(uint32_t id)
{
	return id < MTW_MODULES_MAX && mt_stretch_reach(&stretch, (id + 1) * sizeof(*xmodules));
}

static bool is_gone(const struct module *m)
{
	return atomic_load_explicit(&m->xflags, memory_order_relaxed) & MTW_MODULE_GONE;
}

static uint32_t flags_of(const struct module *m)
{
	uint32_t flags = mt_maps_kind(m->path);

	if (mt_maps_holds(m, getauxval(AT_ENTRY)))
		flags |= MTW_MODULE_MAIN;
	else if (mt_maps_holds(m, (uintptr_t)&mt_maps_find)) /* linked in it is the program's */
		flags |= MTW_MODULE_AGENT;
	if (mt_real.malloc && mt_maps_holds(m, (uintptr_t)mt_real.malloc))
		flags |= MTW_MODULE_ALLOC;
	if (m->is_go)
		flags |= MTW_MODULE_GO;
	return flags;
}

/* A static program's libc cannot be asked before it has set itself up, and knows of one object. */
static bool loader_answers(void)
{
#ifdef HAVE_FIND_OBJECT
	return !alone && LIBC(_dl_find_object);
#else
	return false;
#endif
}

/* Asks the loader without a lock, and without touching the link_map that it names. */
static bool object_at(uintptr_t pc, struct object *o)
{
#ifdef HAVE_FIND_OBJECT
	struct dl_find_object found;

	if (loader_answers() && LIBC(_dl_find_object)((void *)pc, &found) == 0) {
		o->start = (uintptr_t)found.dlfo_map_start;
		o->end = (uintptr_t)found.dlfo_map_end;
		o->link = found.dlfo_link_map;
		o->eh_frame_hdr = (uintptr_t)found.dlfo_eh_frame;
		return true;
	}
#endif
	(void)pc;
	(void)o;
	return false;
}

static const char *object_path(const struct object *o)
{
	uintptr_t entry = getauxval(AT_ENTRY);

	if (entry >= o->start && entry < o->end && exe_path[0])
		return exe_path;
	return o->name ? o->name : "";
}

/* Fills in the rest from its headers. Reads its memory; `runs`: the caller runs in it, so it cannot
 * be unloaded. */
static void describe(struct object *o, bool runs)
{
	o->headers = mt_maps_headers(o->bias, o->start, runs, o->start);
	if (o->headers.at && mt_maps_is_segment(&o->headers, o->start, o->end))
		mt_maps_bounds(&o->headers, &o->start, &o->end);
}

/* The loader names all of it, or one segment. */
static bool same_place(const struct module *m, const struct object *o)
{
	return m->link == o->link && m->eh_frame_hdr == o->eh_frame_hdr &&
	       ((m->start == o->start && m->end == o->end) ||
		mt_maps_has_segment(m, o->start, o->end));
}

static bool same_object(const struct module *m, const struct object *o)
{
	return same_place(m, o) && m->bias == o->bias && !strcmp(m->path, object_path(o));
}

static void set_changed(struct module *m)
{
	atomic_store(&m->xchanged, atomic_load_explicit(&mt_pass, memory_order_relaxed));
}

static uint64_t since_start(void)
{
	uint64_t ns = mt_prim_now_ns() - mt_start_ns;

	return ns ? ns : 1;
}

/* Everybody who sees it gone may say so; the first counts. */
static void set_gone(struct module *m)
{
	uint32_t was = atomic_fetch_or(&m->xflags, MTW_MODULE_GONE);

	if (was & MTW_MODULE_GONE)
		return;
	atomic_store(&m->xunloaded_ns, since_start());
	set_changed(m);
	atomic_fetch_add(&mt_maps_changes, 1);
	mt_maps_invalidate(); /* who watches suspicions alone misses no change */
}

static struct module *make_module(const struct object *o)
{
	const char *path = object_path(o);
	size_t len = strnlen(path, MTW_STRING_MAX - 1);
	struct module *m = mt_arena_alloc(sizeof(*m) + len + 1);

	if (!m)
		return NULL;
	m->bias = o->bias;
	m->start = o->start;
	m->end = o->end;
	m->link = o->link;
	m->eh_frame_hdr = o->eh_frame_hdr;
	m->loaded_ns = since_start();
	memcpy(m->path, path, len);
	if (!mt_maps_read_file(m, &o->headers))
		return NULL;
	atomic_store(&m->xflags, flags_of(m));
	set_changed(m);
	return m;
}

static uint32_t hint_of(uintptr_t link)
{
	return (uint32_t)((link * 0x9e3779b97f4a7c15u) >> 40) & (HINTS - 1);
}

static struct module *hinted(const struct object *o)
{
	uint32_t id =
		atomic_load_explicit(&xhint[hint_of((uintptr_t)o->link)], memory_order_relaxed);
	struct module *m = module_at(id);

	return m && same_place(m, o) && !is_gone(m) ? m : NULL;
}

/* Finds the module of `o`, which is described, among the known, or adds it. */
static struct module *adopt(const struct object *o)
{
	struct module *fresh = NULL;

	for (uint32_t id = 0; has_place(id); id++) {
		struct module *m = module_at(id);
		if (!m) {
			if (!fresh && !(fresh = make_module(o)))
				return NULL;
			fresh->id = id;
			if (atomic_compare_exchange_strong(&xmodules[id], &m, fresh)) {
				atomic_fetch_add(&xcount, 1);
				/* Rules of the kind "nothing is here" may be kept for its range. */
				if (atomic_exchange(&xmissed, false))
					atomic_fetch_add(&mt_maps_changes, 1);
				m = fresh;
			}
		}
		if (!is_gone(m) && same_object(m, o)) {
			atomic_store_explicit(&xhint[hint_of((uintptr_t)o->link)], id,
					      memory_order_relaxed);
			return m;
		}
		if (!is_gone(m) && mt_maps_meets(m, &o->headers, o->start, o->end))
			set_gone(m); /* its place was taken */
	}
	return NULL;
}

static struct module *known_at(uintptr_t pc)
{
	for (uint32_t id = 0, n = mt_maps_count(); id < n; id++) {
		struct module *m = module_at(id);
		if (m && mt_maps_holds(m, pc) && !is_gone(m))
			return m;
	}
	return NULL;
}

/* As the loader's list has it. */
static struct module *find_listed(uintptr_t pc)
{
	struct module *m = known_at(pc);

	if (m)
		return m;
	atomic_store_explicit(&xmissed, true, memory_order_relaxed);
	if (!has_grown())
		return NULL;
	walk_list();
	return known_at(pc);
}

struct module *mt_maps_find(uintptr_t pc)
{
	struct object o;

	if (atomic_load_explicit(&mt_maps_suspicion, memory_order_relaxed) !=
	    atomic_load_explicit(&xsettled, memory_order_relaxed))
		mt_maps_settle();
	if (!loader_answers())
		return find_listed(pc);
	if (!object_at(pc, &o)) {
		atomic_store_explicit(&xmissed, true, memory_order_relaxed);
		return NULL;
	}
	struct module *m = hinted(&o);
	if (unlikely(!m)) {
		/* The caller runs in it (or has a false pc), so the link_map is alive. */
		o.bias = o.link ? o.link->l_addr : o.start;
		o.name = o.link ? o.link->l_name : "";
		describe(&o, true);
		m = adopt(&o);
	}
	if (likely(m && mt_maps_holds(m, pc)))
		return m;
	atomic_store_explicit(&xmissed, true, memory_order_relaxed);
	return NULL;
}

struct module *mt_maps_heap(const char *name)
{
	size_t len = strlen(name);
	struct module *m = mt_arena_alloc(sizeof(*m) + len + 1);
	uint32_t id = 0;

	if (!m)
		return NULL;
	m->loaded_ns = since_start();
	memcpy(m->path, name, len);
	atomic_store(&m->xflags, MTW_MODULE_HEAP);
	set_changed(m);
	for (struct module *seen = NULL; has_place(id); seen = NULL, id++) {
		m->id = id;
		if (!module_at(id) && atomic_compare_exchange_strong(&xmodules[id], &seen, m)) {
			atomic_fetch_add(&xcount, 1);
			return m;
		}
	}
	return NULL;
}

/* Looks whether everything that is taken for loaded still is. */
void mt_maps_settle(void)
{
	uint32_t seen = atomic_load(&mt_maps_suspicion);

	atomic_store(&xsettled, seen);
	for (uint32_t id = 0, n = mt_maps_count(); id < n; id++) {
		struct module *m = module_at(id);
		struct object o;
		if (!m || !m->end || is_gone(m) || alone)
			continue;
		if (!(loader_answers() ? object_at(m->segment[0].start, &o) && same_place(m, &o)
				       : is_listed(m)))
			set_gone(m);
	}
}

struct module *mt_maps_module(uint32_t id)
{
	return id < mt_maps_count() ? module_at(id) : NULL;
}

uint32_t mt_maps_count(void)
{
	return atomic_load_explicit(&xcount, memory_order_acquire);
}

uint32_t mt_maps_generation(void)
{
	return atomic_load_explicit(&mt_maps_changes, memory_order_acquire);
}

void mt_maps_restart(void)
{
	for (uint32_t id = 0, n = mt_maps_count(); id < n; id++) {
		struct module *m = module_at(id);
		if (!m)
			continue;
		m->loaded_ns = 1;
		atomic_fetch_and(&m->xflags, ~MTW_MODULE_HOOKS);
		if (is_gone(m))
			atomic_store(&m->xunloaded_ns, 1);
		set_changed(m);
	}
	mt_maps_invalidate();
}

void mt_maps_invalidate(void)
{
	atomic_fetch_add_explicit(&mt_maps_suspicion, 1, memory_order_release);
	mt_era_next();
}

/* Its place in the list is not another's, and not freed memory: loaders clear it, or unmap it.
 * Without one it stays. */
static bool is_listed(const struct module *m)
{
	struct link_map copy;

	return !m->link || (mt_loader_copy(m->link, &copy) && copy.l_addr == m->bias);
}

/* Loaders append. The last one that was seen, and where it was loaded. */
static const struct link_map *_Atomic xlast;
static _Atomic uintptr_t xlast_bias;

static bool has_grown(void)
{
	const struct link_map *last = atomic_load(&xlast);
	struct link_map copy;

	return !last || !mt_loader_copy(last, &copy) || copy.l_next ||
	       copy.l_addr != atomic_load(&xlast_bias);
}

static struct module *known(const struct object *o)
{
	struct module *hint = hinted(o);

	for (uint32_t id = 0, n = mt_maps_count(); !hint && id < n; id++) {
		struct module *m = module_at(id);
		if (m && !is_gone(m) && same_place(m, o))
			return m;
	}
	return hint;
}

/* Not told by the loader: the bounds come from the file's own headers. */
static bool object_of_headers(const struct link_map *copy, struct object *o)
{
	uintptr_t end;

	o->headers = mt_maps_headers(copy->l_addr, 0, false, (uintptr_t)copy->l_ld);
	if (!o->headers.at)
		return false;
	mt_maps_bounds(&o->headers, &o->start, &o->end);
	o->eh_frame_hdr = mt_maps_table(&o->headers, &end);
	return true;
}

static struct module *meet_link(const struct link_map *link, const struct link_map *copy)
{
	struct object o = { 0 };

	if (loader_answers() ? !object_at((uintptr_t)copy->l_ld, &o) : !object_of_headers(copy, &o))
		return NULL;
	o.link = link;
	struct module *m = known(&o);
	if (m)
		return m;
	o.bias = copy->l_addr;
	o.name = copy->l_name && mt_prim_readable((uintptr_t)copy->l_name, 1) ? copy->l_name : "";
	describe(&o, false);
	return mt_loader_consistent() ? adopt(&o) : NULL;
}

/* The last of them, when all were seen; its bias. */
static const struct link_map *walk_namespace(const struct r_debug *d, uint32_t flags,
					     uintptr_t *bias)
{
	const struct link_map *at = d->r_map, *before = NULL;
	struct link_map copy;

	for (unsigned i = 0; at && i < MTW_MODULES_MAX && mt_loader_consistent(); i++) {
		if (!mt_loader_copy(at, &copy) || copy.l_prev != before)
			break;
		struct module *m = meet_link(at, &copy);
		if (m)
			atomic_fetch_or(&m->xflags, flags);
		before = at;
		at = copy.l_next;
		*bias = copy.l_addr;
	}
	return at ? NULL : before;
}

/* A static program has no list: it is all that there is, and stays. Its libc may not have begun to
 * know it. */
static void meet_program(void)
{
	struct object o = { .name = "", .headers = mt_maps_program_headers() };
	uintptr_t end;

	if (!o.headers.at)
		return;
	o.bias = o.headers.bias;
	mt_maps_bounds(&o.headers, &o.start, &o.end);
	o.eh_frame_hdr = mt_maps_table(&o.headers, &end);
	adopt(&o);
}

static void walk_list(void)
{
	const struct r_debug *d = mt_loader_debug();
	uintptr_t bias;

	for (unsigned n = 0; d && n < NAMESPACES; n++) {
		const struct link_map *last = walk_namespace(d, n ? MTW_MODULE_APART : 0, &bias);
		if (last && !n) {
			atomic_store(&xlast_bias, bias);
			atomic_store(&xlast, last);
		}
		d = mt_loader_next(d);
	}
}

void mt_maps_refresh(void)
{
	mt_maps_settle();
	walk_list();
	for (uint32_t id = 0, n = mt_maps_count(); id < n; id++) {
		struct module *m = module_at(id);
		if (m && !is_gone(m) && mt_real.malloc &&
		    mt_maps_holds(m, (uintptr_t)mt_real.malloc) &&
		    !(atomic_fetch_or(&m->xflags, MTW_MODULE_ALLOC) & MTW_MODULE_ALLOC))
			set_changed(m);
	}
}

/* `by_loader`: the program was started as an argument of the loader (ld.so PROGRAM), and
 * /proc/self/exe is the loader. */
static void find_exe_path(bool by_loader)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	long len = by_loader ? -1
			     : mt_prim_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe",
					    (long)exe_path, sizeof(exe_path) - 1, 0, 0);

	if (len < 0)
		mt_format(exe_path, sizeof(exe_path), "%s", name ? name : "");
	else
		exe_path[len] = '\0';
}

/* Without memory for it no module is known, and a stack ends at its first frame. */
static void make_table(void)
{
	void *table =
		mt_stretch_begin(&stretch, 1, MTW_MODULES_MAX * sizeof(*xmodules), PART_CACHES);

	if (table)
		xmodules = table;
}

void mt_maps_init(void)
{
	uintptr_t base = getauxval(AT_BASE);
	struct object o;

	if (xmodules == &none)
		make_table();
	find_exe_path(!base && mt_loader_debug());
	if (base && object_at(base, &o)) {
		o.bias = o.link ? o.link->l_addr : o.start;
		describe(&o, true);
		mt_maps_loader_start = o.start;
		mt_maps_loader_bytes = o.end - o.start;
	}
	alone = !base && !mt_loader_debug();
	if (alone)
		meet_program();
	else if (!loader_answers())
		mt_maps_refresh();
}
