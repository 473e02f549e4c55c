/* SPDX-License-Identifier: MIT
 *
 * find.c - finds the C library that the program runs on, and its definitions.
 *
 * Neither a symbol nor a function may be asked for, since those are what a program can replace. But
 * each thread-local variable of a library has a descriptor that the loader filled with the address
 * of a function of its own (the TLS descriptors of the processor's ABI). From there the loader's
 * ELF header is some pages down. Its symbol table has the list of loaded objects, which names the C
 * library's parts. Where there are no such descriptors (32-bit ARM, Android), the kernel's
 * auxiliary vector says where the loader and the program are.
 *
 * glibc before 2.34 consists of several libraries. Those that the program did not load are not
 * there: base/libc.h says what answers then.
 */
#include "base/libc.h"
#include "base/prim_linux.h"
#include "loaded/calls.h"
#include "modules/object.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#define PAGE 4096u
#define LOADER_PAGES 4096u /* its code is smaller */
#define LISTED 4096        /* no program loads more before the agent is asked */

#define ASKED(name) void *mt_libc_##name;
LIBC_ASKED(ASKED)
LIBC_VARIABLES(ASKED)

_Atomic bool mt_libc_found;

/* libc, libpthread, libdl, the loader; one that the program lacks has no symbols. */
enum lib { LIB_C, LIB_THREADS, LIB_DL, LIB_LOADER, LIBS };
static struct object libs[LIBS];

/* musl is the loader. */
static const char *const names[LIB_LOADER] = {
#if defined(__GLIBC__)
	"libc.so.6",
	"libpthread.so.0",
	"libdl.so.2",
#elif defined(__BIONIC__)
	"libc.so",
	"",
	"libdl.so",
#else
	"",
	"",
	"",
#endif
};

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__BIONIC__)
#define HAS_DESCRIPTORS
/* Nobody uses it: an access of another kind would let the linker leave the descriptor out. */
__attribute__((used)) static __thread char anchor;

static uintptr_t in_loader(void)
{
	const uintptr_t *descriptor;

#if defined(__x86_64__)
	__asm__("leaq anchor@tlsdesc(%%rip), %0" : "=a"(descriptor));
#else
	__asm__("adrp %0, :tlsdesc:anchor\n\tadd %0, %0, :tlsdesc_lo12:anchor" : "=r"(descriptor));
#endif
	return descriptor[0];
}

static bool is_header(const void *p)
{
	return !memcmp(p, ELFMAG, SELFMAG) && ((const ElfW(Ehdr) *)p)->e_type == ET_DYN;
}
#endif

/* The image begins with its first segment. qemu-user 10 has put addresses into its vdso's headers:
 * its bias is 0. */
static void read_image(struct object *o, uintptr_t base)
{
	const ElfW(Ehdr) *e = (const void *)base;
	const ElfW(Phdr) *ph = (const void *)(base + e->e_phoff), *end = ph + e->e_phnum;
	uintptr_t bias = base;

	for (const ElfW(Phdr) *p = ph; p < end; p++)
		if (p->p_type == PT_LOAD) {
			bias = base - p->p_vaddr;
			break;
		}
	for (; ph < end; ph++)
		if (ph->p_type == PT_DYNAMIC)
			mt_object_read_dynamic(o, bias, (const void *)(bias + ph->p_vaddr));
}

#ifndef HAS_DESCRIPTORS
struct vector {
	uintptr_t base, header, headers;
};

/* As getauxval(), before that is known. */
static struct vector read_vector(void)
{
	struct vector v = { 0, 0, 0 };
	struct {
		uintptr_t type, value;
	} word[64];
	long fd = mt_prim_call(SYS_openat, AT_FDCWD, (long)"/proc/self/auxv", O_RDONLY | O_CLOEXEC,
			       0, 0, 0);
	long got = fd < 0 ? 0 : mt_prim_read_at(fd, word, sizeof(word), 0);

	if (fd >= 0)
		mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	for (long i = 0; i < got / (long)sizeof(*word) && word[i].type != AT_NULL; i++) {
		if (word[i].type == AT_BASE)
			v.base = word[i].value;
		else if (word[i].type == AT_PHDR)
			v.header = word[i].value;
		else if (word[i].type == AT_PHNUM)
			v.headers = word[i].value;
	}
	return v;
}
#endif

static void find_loader(struct object *o)
{
#ifdef HAS_DESCRIPTORS
	uintptr_t base = in_loader() & ~(uintptr_t)(PAGE - 1);

	for (unsigned i = 0; i < LOADER_PAGES && base; i++, base -= PAGE) {
		if (is_header((const void *)base)) {
			read_image(o, base);
			return;
		}
	}
#else
	struct vector v = read_vector();

	/* without a base, the program was an argument of the loader, and that is the program */
	if (v.base || v.header)
		read_image(o, v.base ? v.base : v.header & ~(uintptr_t)(PAGE - 1));
#endif
}

#ifdef __BIONIC__
/* Only the program says where the list is. */
static const struct r_debug *find_list(const struct object *loader)
{
	struct vector v = read_vector();
	const ElfW(Phdr) *ph = (const void *)v.header;
	const ElfW(Dyn) *d = NULL;
	uintptr_t bias = 0;

	(void)loader;
	for (size_t i = 0; i < v.headers; i++) {
		if (ph[i].p_type == PT_PHDR)
			bias = v.header - ph[i].p_vaddr;
		else if (ph[i].p_type == PT_DYNAMIC)
			d = (const void *)(bias + ph[i].p_vaddr);
	}
	while (d && d->d_tag != DT_NULL && d->d_tag != DT_DEBUG)
		d++;
	return d && d->d_tag == DT_DEBUG ? (const void *)d->d_un.d_ptr : NULL;
}
#else
static const struct r_debug *find_list(const struct object *loader)
{
	const struct r_debug *const *pointer;

	if (!loader->symbol)
		return NULL;
	const struct r_debug *list = mt_object_symbol(loader, "_r_debug");
	if (list)
		return list;
	pointer = mt_object_symbol(loader, "_dl_debug_addr"); /* musl's */
	return pointer ? *pointer : NULL;
}
#endif

static void note(const struct link_map *map)
{
	struct object o;

	if (!map->l_ld || !mt_object_read_dynamic(&o, map->l_addr, map->l_ld) || !o.soname)
		return;
	for (enum lib i = LIB_C; i < LIB_LOADER; i++)
		if (!libs[i].symbol && !strcmp(o.soname, names[i]))
			libs[i] = o;
}

static void find_parts(void)
{
	find_loader(&libs[LIB_LOADER]);
	const struct r_debug *list = find_list(&libs[LIB_LOADER]);
	const struct link_map *map = list ? list->r_map : NULL;

	for (int i = 0; map && i < LISTED; i++, map = map->l_next)
		note(map);
}

void *mt_libc_own(const char *name)
{
	for (enum lib i = LIB_C; i < LIBS; i++) {
		void *f = libs[i].symbol ? mt_object_symbol(&libs[i], name) : NULL;
		if (f)
			return f;
	}
	return NULL;
}

bool mt_libc_foreign(const char *name, const void *f)
{
	for (enum lib i = LIB_C; i < LIBS; i++)
		if (libs[i].symbol && mt_object_symbol(&libs[i], name) == f)
			return false;
	return f != NULL;
}

struct variable {
	const char *name;
	void *at;
};

static void take_slot(void *arg, const char *name, void **slot)
{
	struct variable *v = arg;

	if (!strcmp(name, v->name))
		v->at = *slot;
}

/* Where a program has a copy, the C library's slot leads to that one. */
static void *variable(const struct object *libc, const char *name, const char *its_own)
{
	struct variable v = { its_own, NULL };

	if (libc->symbol)
		mt_object_each_slot(libc, take_slot, &v);
	return v.at ? v.at : mt_libc_own(name);
}

static void find_variables(void)
{
	static char **empty;
	struct object libc = { .symbol = NULL };
	void *inside = mt_libc_own("getauxval");

	if (inside)
		mt_object_of(inside, &libc);
	mt_libc_environ = variable(&libc, "environ", "__environ");
	if (!mt_libc_environ)
		mt_libc_environ = &empty;
	mt_libc___libc_single_threaded =
		variable(&libc, "__libc_single_threaded", "__libc_single_threaded");
	mt_libc___libc_stack_end = mt_libc_own("__libc_stack_end");
	mt_libc_program_invocation_short_name = variable(&libc, "__progname", "__progname");
}

#if UINTPTR_MAX > UINT32_MAX
static int kernel_clock(clockid_t clock, struct timespec *ts)
{
	return (int)mt_prim_call(SYS_clock_gettime, clock, (long)ts, 0, 0, 0, 0);
}

/* The kernel's own function, without the C library's around it: before 2.31, glibc's keeps its
 * address encrypted with a word of the thread's, which the server does not have. */
static void find_clock(void)
{
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	struct object o = { .symbol = NULL };
	void *f = NULL;

	if (vdso)
		read_image(&o, vdso);
	if (o.symbol)
		f = mt_object_symbol(&o, "__vdso_clock_gettime");
	if (o.symbol && !f)
		f = mt_object_symbol(&o, "__kernel_clock_gettime");
	mt_call_clock_gettime = f ? f : (void *)kernel_clock;
}
#else
static void find_clock(void) {}
#endif

void mt_libc_find(void)
{
	if (atomic_load_explicit(&mt_libc_found, memory_order_acquire))
		return;
	find_parts();
	mt_calls_find(mt_libc_own);
#define FIND(name) mt_libc_##name = mt_libc_own(#name);
	LIBC_ASKED(FIND)
	find_clock();
	find_variables();
	atomic_store_explicit(&mt_libc_found, true, memory_order_release);
}
