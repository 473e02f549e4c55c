/* SPDX-License-Identifier: MIT
 *
 * executable.c - can the agent go into the program that is about to be executed?
 *
 * A loader that cannot load the agent complains on the program's stderr, and some programs do not
 * survive it. So the agent inspects the file before an exec that would take it along:
 *
 *   no ELF of this machine and class  MACHINE     no PT_INTERP                       STATIC
 *   setuid, setgid, capabilities      SETUID      another C library than the agent's LIBC
 *   a sanitizer's malloc inside       SANITIZER   cannot be read, or found           UNREADABLE
 *
 * "#!" leads to the interpreter, as in the kernel. For the first program backend/launch/progcheck.c
 * and progmalloc.c make the same tests at leisure. This code runs between vfork and exec, perhaps
 * in a signal handler: no allocation, no libc function that may take a lock, one descriptor that it
 * closes again, errno kept. It makes only the system calls of a loader that starts any dynamic
 * program, because the program's own filter admits those: fstatat, openat, pread, close, access.
 *
 * No offset in the file is trusted: bytes that pread does not deliver do not exist.
 */
#include "follow/executable.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/syscalls.h"
#include "base/types.h"

#include <memtop/board.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define HEAD_BYTES 1024 /* headers, names of interpreters and notes mostly lie in it */
#define SCRIPT_DEPTH 5
#define HEADERS_MAX 64
#define NEEDED_MAX 64
#define DYNAMIC_MAX 512
#define NAME_BYTES 24
#define SYMBOLS_MAX 8192u

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_ARM
#endif
#define CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

enum libc { LIBC_GLIBC, LIBC_MUSL, LIBC_BIONIC };
#if defined(__GLIBC__)
#define OUR_LIBC LIBC_GLIBC
#elif defined(__BIONIC__)
#define OUR_LIBC LIBC_BIONIC
#else
#define OUR_LIBC LIBC_MUSL
#endif

#ifdef __GLIBC__
#define DEFAULT_PATH "/bin:/usr/bin"
#elif defined(__BIONIC__)
#define DEFAULT_PATH                                                                               \
	"/product/bin:/apex/com.android.runtime/bin:/apex/com.android.art/bin:/system_ext/bin:/"   \
	"system/bin:/system/xbin:"                                                                 \
	"/odm/bin:/vendor/bin:/vendor/xbin"
#else
#define DEFAULT_PATH "/usr/local/bin:/bin:/usr/bin"
#endif

struct file {
	long fd;
	size_t have;
	union {
		char head[HEAD_BYTES + 1];
		ElfW(Ehdr) elf;
	};
};

/* What an ELF file's headers say. */
struct image {
	ElfW(Phdr) load[16];
	unsigned loads;
	uint64_t interp, dynamic, dynamic_bytes; /* in the file; 0 = none */
	bool linked;
};

static bool read_at(const struct file *f, void *to, size_t bytes, uint64_t at)
{
	if (at <= f->have && bytes <= f->have - at)
		return memcpy(to, f->head + at, bytes);
	return at < (uint64_t)INT64_MAX && mt_prim_read_at(f->fd, to, bytes, at) == (long)bytes;
}

/* Up to its NUL, cut to what fits. */
static void read_text(const struct file *f, char *to, size_t size, uint64_t at)
{
	long n = at < (uint64_t)INT64_MAX ? mt_prim_read_at(f->fd, to, size - 1, at) : 0;

	to[n > 0 ? n : 0] = '\0';
}

/* --- is the agent linked into it? See linked/note.c. */

static bool is_ours(const struct file *f, const ElfW(Phdr) * p)
{
	static const char name[] = "memtop";
	uint32_t note[3];
	char text[8];
	uint64_t at = p->p_offset, end = at + p->p_filesz;

	for (int i = 0; i < 16 && at < end && read_at(f, note, sizeof(note), at); i++) {
		if (note[0] == sizeof(name) && read_at(f, text, sizeof(text), at + 12) &&
		    !memcmp(text, name, sizeof(name)))
			return true;
		at += 12 + ((note[0] + 3ull) & ~3ull) + ((note[1] + 3ull) & ~3ull);
	}
	return false;
}

static bool read_image(const struct file *f, struct image *im)
{
	const ElfW(Ehdr) *e = &f->elf;
	ElfW(Phdr) p;

	*im = (struct image){ .loads = 0 };
	if (e->e_phentsize != sizeof(p))
		return false;
	for (unsigned i = 0; i < e->e_phnum && i < HEADERS_MAX; i++) {
		if (!read_at(f, &p, sizeof(p), e->e_phoff + (uint64_t)i * sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && im->loads < sizeof(im->load) / sizeof(*im->load))
			im->load[im->loads++] = p;
		else if (p.p_type == PT_INTERP)
			im->interp = p.p_offset;
		else if (p.p_type == PT_NOTE)
			im->linked |= is_ours(f, &p);
		else if (p.p_type == PT_DYNAMIC) {
			im->dynamic = p.p_offset;
			im->dynamic_bytes = p.p_filesz;
		}
	}
	return true;
}

/* UINT64_MAX = nowhere in the file. */
static uint64_t place_of(const struct image *im, uint64_t address)
{
	for (unsigned i = 0; i < im->loads; i++)
		if (address >= im->load[i].p_vaddr &&
		    address - im->load[i].p_vaddr < im->load[i].p_filesz)
			return address - im->load[i].p_vaddr + im->load[i].p_offset;
	return UINT64_MAX;
}

/* --- sanitizers */

struct tables {
	uint64_t strings, symbols, gnu_hash, hash; /* in the file; UINT64_MAX = none */
	uint64_t soname;                           /* in the strings; UINT64_MAX = none */
	uint64_t needed[NEEDED_MAX];
	unsigned needed_count;
};

static void read_dynamic(const struct file *f, const struct image *im, struct tables *d)
{
	ElfW(Dyn) e[16];
	uint64_t count = im->dynamic_bytes / sizeof(*e), i = 0;

	*d = (struct tables){ .strings = UINT64_MAX,
			      .symbols = UINT64_MAX,
			      .gnu_hash = UINT64_MAX,
			      .hash = UINT64_MAX,
			      .soname = UINT64_MAX };
	for (count = count < DYNAMIC_MAX ? count : DYNAMIC_MAX; i < count; i++) {
		size_t some = count - i < 16 ? count - i : 16;
		if (i % 16 == 0 && !read_at(f, e, some * sizeof(*e), im->dynamic + i * sizeof(*e)))
			return;
		const ElfW(Dyn) *at = &e[i % 16];
		if (at->d_tag == DT_NULL)
			return;
		if (at->d_tag == DT_NEEDED && d->needed_count < NEEDED_MAX)
			d->needed[d->needed_count++] = at->d_un.d_val;
		if (at->d_tag == DT_SONAME)
			d->soname = at->d_un.d_val;
		if (at->d_tag == DT_STRTAB)
			d->strings = place_of(im, at->d_un.d_ptr);
		if (at->d_tag == DT_SYMTAB)
			d->symbols = place_of(im, at->d_un.d_ptr);
		if (at->d_tag == DT_GNU_HASH)
			d->gnu_hash = place_of(im, at->d_un.d_ptr);
		if (at->d_tag == DT_HASH)
			d->hash = place_of(im, at->d_un.d_ptr);
	}
}

static bool needs_sanitizer(const struct file *f, const struct tables *d)
{
	static const char *const names[] = { "libasan.so",         "libhwasan.so",
					     "libtsan.so",         "libclang_rt.asan",
					     "libclang_rt.hwasan", "libclang_rt.tsan",
					     "libclang_rt.msan" };
	char text[NAME_BYTES];

	for (unsigned i = 0; i < d->needed_count; i++) {
		read_text(f, text, sizeof(text), d->strings + d->needed[i]);
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			if (!strncmp(text, names[k], strlen(names[k])))
				return true;
	}
	return false;
}

static bool is_defined(const struct file *f, const struct tables *d, uint32_t symbol,
		       const char *name)
{
	ElfW(Sym) s;
	char text[NAME_BYTES];

	if (!read_at(f, &s, sizeof(s), d->symbols + (uint64_t)symbol * sizeof(s)) ||
	    s.st_shndx == SHN_UNDEF || !s.st_value)
		return false;
	read_text(f, text, sizeof(text), d->strings + s.st_name);
	return !strcmp(text, name);
}

static bool in_gnu_hash(const struct file *f, const struct tables *d, const char *name)
{
	/* buckets, first symbol, words of the filter, shift */
	uint32_t head[4], hash = 5381, at, link = 0;
	ElfW(Addr) word;
	const unsigned bits = sizeof(word) * 8;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (!read_at(f, head, sizeof(head), d->gnu_hash) || !head[0] || !head[2] ||
	    !read_at(f, &word, sizeof(word),
		     d->gnu_hash + sizeof(head) + hash / bits % head[2] * sizeof(word)) ||
	    !(word >> hash % bits & word >> (hash >> (head[3] & 31)) % bits & 1))
		return false;
	uint64_t buckets = d->gnu_hash + sizeof(head) + (uint64_t)head[2] * sizeof(word),
		 chain = buckets + 4ull * head[0];
	if (!read_at(f, &at, 4, buckets + 4ull * (hash % head[0])) || at < head[1])
		return false;
	for (int i = 0;
	     i < 64 && !(link & 1) && read_at(f, &link, 4, chain + 4ull * (at - head[1]));
	     i++, at++)
		if ((link | 1) == (hash | 1) && is_defined(f, d, at, name))
			return true;
	return false;
}

static bool in_hash(const struct file *f, const struct tables *d, const char *name)
{
	uint32_t head[2], hash = 0, at; /* buckets, symbols */

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash ^= hash >> 24 & 0xf0;
		hash &= 0x0fffffff;
	}
	if (!read_at(f, head, sizeof(head), d->hash) || !head[0] ||
	    !read_at(f, &at, 4, d->hash + 8 + 4ull * (hash % head[0])))
		return false;
	for (int i = 0; i < 64 && at; i++) {
		if (is_defined(f, d, at, name))
			return true;
		if (!read_at(f, &at, 4, d->hash + 8 + 4ull * head[0] + 4ull * at))
			break;
	}
	return false;
}

static bool defines(const struct file *f, const struct tables *d, const char *name)
{
	if (d->symbols == UINT64_MAX || d->strings == UINT64_MAX)
		return false;
	return d->gnu_hash != UINT64_MAX ? in_gnu_hash(f, d, name)
					 : d->hash != UINT64_MAX && in_hash(f, d, name);
}

/* How many symbols are looked at: in the order of a GNU hash those that are not defined come
 * first. */
static uint32_t undefined_count(const struct file *f, const struct tables *d)
{
	uint32_t head[2] = { 0, 0 };

	if (!read_at(f, head, sizeof(head), d->gnu_hash != UINT64_MAX ? d->gnu_hash : d->hash))
		return 0;
	return head[1] < SYMBOLS_MAX ? head[1] : SYMBOLS_MAX;
}

/* Names that each runtime looks up, and that no library has; its own functions need not be
 * exported. */
static bool asks_for_hooks(const struct file *f, const struct tables *d)
{
	static const char *const names[] = { "__sanitizer_", "__asan_", "__hwasan_",
					     "__tsan_",      "__msan_", "__lsan_" };
	uint32_t count = undefined_count(f, d);
	ElfW(Sym) s[16];
	char text[NAME_BYTES];

	for (uint32_t i = 0; i < count; i++) {
		size_t some = count - i < 16 ? count - i : 16;
		if (i % 16 == 0 &&
		    !read_at(f, s, some * sizeof(*s), d->symbols + (uint64_t)i * sizeof(*s)))
			return false;
		if (s[i % 16].st_shndx != SHN_UNDEF || s[i % 16].st_info >> 4 != STB_WEAK)
			continue;
		read_text(f, text, sizeof(text), d->strings + s[i % 16].st_name);
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			if (!strncmp(text, names[k], strlen(names[k])))
				return true;
	}
	return false;
}

/* A runtime inside brings malloc along: few programs do, and only those are asked for the rest. */
static bool is_sanitized(const struct file *f, const struct image *im)
{
	struct tables d;

	read_dynamic(f, im, &d);
	return (d.strings != UINT64_MAX && needs_sanitizer(f, &d)) ||
	       (defines(f, &d, "malloc") && asks_for_hooks(f, &d));
}

/* --- one file */

static enum libc libc_of(const char *interp)
{
	const char *file = strrchr(interp, '/');

	return strstr(interp, "/ld-musl-")            ? LIBC_MUSL
	       : file && !strncmp(file, "/linker", 7) ? LIBC_BIONIC
						      : LIBC_GLIBC;
}

/* glibc's loader, which is called by hand (`ld.so PROGRAM`), takes LD_PRELOAD as ever. Its name is
 * written as an interpreter's. */
static bool is_loader(const struct file *f, const struct image *im, char *name, size_t size)
{
	struct tables d;

	read_dynamic(f, im, &d);
	if (d.soname == UINT64_MAX || d.strings == UINT64_MAX)
		return false;
	name[0] = '/';
	read_text(f, name + 1, size - 1, d.strings + d.soname);
	return !strncmp(name, "/ld-linux", 9) || !strncmp(name, "/ld.so", 6) ||
	       !strncmp(name, "/ld64.so", 8);
}

static void judge(const struct file *f, struct executable *x)
{
	const ElfW(Ehdr) *e = &f->elf;
	const unsigned data = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	struct image im;
	char interp[64];

	x->why = BOARD_MACHINE;
	if (f->have < sizeof(*e) || e->e_ident[EI_CLASS] != CLASS || e->e_ident[EI_DATA] != data ||
	    e->e_machine != MACHINE)
		return;
	x->why = BOARD_UNREADABLE;
	if (!read_image(f, &im))
		return;
	x->linked = im.linked;
	if (im.linked) {
		x->why = BOARD_FOLLOWED;
		return;
	}
	x->why = BOARD_STATIC;
	if (im.interp)
		read_text(f, interp, sizeof(interp), im.interp);
	else if (!is_loader(f, &im, interp, sizeof(interp)))
		return;
	enum libc libc = libc_of(interp);
	x->other_libc = libc != OUR_LIBC;
	x->why = x->other_libc && (libc == LIBC_BIONIC || OUR_LIBC == LIBC_BIONIC) ? BOARD_LIBC
		 : im.dynamic && is_sanitized(f, &im)                              ? BOARD_SANITIZER
										   : BOARD_FOLLOWED;
}

static uint32_t id(long call)
{
	return (uint32_t)mt_prim_call(call, 0, 0, 0, 0, 0, 0);
}

/* The kernel's rules for AT_SECURE, under which the loader drops LD_PRELOAD, as far as they go by
 * the file. */
static bool gives_rights(const struct file *f, const call_stat *st)
{
	char cap[24];

	if ((st->st_mode & S_ISUID) && st->st_uid != id(CALL_GETEUID))
		return true;
	if ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) && st->st_gid != id(CALL_GETEGID))
		return true;
	return id(CALL_GETEUID) != 0 &&
	       mt_prim_call(SYS_fgetxattr, f->fd, (long)"security.capability", (long)cap,
			    sizeof(cap), 0, 0) > 0;
}

/* A regular file with an execute bit; unless all users have it, the kernel decides. */
static bool may_run(int folder, const char *path, int flags, call_stat *st)
{
	if (mt_prim_call(CALL_FSTATAT, folder, (long)path, (long)st, flags, 0, 0) ||
	    !S_ISREG(st->st_mode) || !(st->st_mode & 0111))
		return false;
	return (st->st_mode & 0111) == 0111 || flags ||
	       !mt_prim_call(SYS_faccessat, folder, (long)path, 1 /* X_OK */, 0, 0, 0);
}

static long open_it(int folder, const char *path, bool empty)
{
	char link[32];

	if (empty) { /* it may have been opened for nothing but this */
		mt_format(link, sizeof(link), "/proc/self/fd/%d", folder);
		folder = AT_FDCWD;
		path = link;
	}
	return mt_prim_call(SYS_openat, folder, (long)path,
			    O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0, 0, 0);
}

/* "#!": the interpreter's path, in `line` itself. NULL: no script. */
static char *interpreter(char *line)
{
	if (line[0] != '#' || line[1] != '!')
		return NULL;
	line += 2 + strspn(line + 2, " \t");
	line[strcspn(line, " \t\r\n")] = '\0';
	return *line ? line : NULL;
}

/* -1: it cannot be run so, by execve(). */
static int look(struct executable *x, struct file *f, int folder, const char *path, bool empty)
{
	call_stat st;

	x->why = BOARD_UNREADABLE;
	if (!may_run(folder, path, empty ? AT_EMPTY_PATH : 0, &st))
		return -1;
	f->fd = open_it(folder, path, empty);
	if (f->fd < 0)
		return 0;
	long n = mt_prim_read_at(f->fd, f->head, HEAD_BYTES, 0);
	f->have = n > 0 ? (size_t)n : 0;
	f->head[f->have] = '\0';
	bool elf = f->have > EI_DATA && !memcmp(f->head, ELFMAG, SELFMAG);
	if (elf && gives_rights(f, &st))
		x->why = BOARD_SETUID;
	else if (elf)
		judge(f, x);
	mt_prim_call(SYS_close, f->fd, 0, 0, 0, 0, 0);
	return elf ? 0 : 1;
}

/* shell: a file that is neither ELF nor a script with "#!" is a script of /bin/sh. */
static void follow(struct executable *x, int folder, const char *path, bool empty, bool shell)
{
	struct file f;

	for (int depth = 0; depth <= SCRIPT_DEPTH; depth++) {
		int is = look(x, &f, folder, path, empty);
		x->runs = is >= 0;
		if (is <= 0)
			return;
		const char *next = interpreter(f.head);
		x->runs = next || shell;
		if (!x->runs)
			return;
		/* lies in f, which is read anew only once that is open */
		path = next ? next : "/bin/sh";
		folder = AT_FDCWD;
		empty = false;
	}
	x->runs = false;
}

/* The program's own uid differs from its effective one: the loader trusts no environment after any
 * exec. */
static bool is_secure(void)
{
	uint32_t u[3], g[3];

	return !mt_prim_call(CALL_GETRESUID, (long)&u[0], (long)&u[1], (long)&u[2], 0, 0, 0) &&
	       !mt_prim_call(CALL_GETRESGID, (long)&g[0], (long)&g[1], (long)&g[2], 0, 0, 0) &&
	       (u[0] != u[1] || g[0] != g[1]);
}

static void begin(struct executable *x)
{
	x->runs = x->other_libc = x->linked = false;
	x->why = BOARD_UNREADABLE;
	x->path[0] = '\0';
}

static void finish(struct executable *x)
{
	if (x->runs && x->why == BOARD_FOLLOWED && is_secure())
		x->why = BOARD_SETUID;
}

void mt_executable_look(struct executable *x, int folder, const char *path, bool empty)
{
	begin(x);
	mt_format(x->path, sizeof(x->path), "%s", path);
	follow(x, folder, path, empty, false);
	finish(x);
}

/* Directories in which it is not, or may not be run, are passed over. */
void mt_executable_search(struct executable *x, const char *file)
{
	const char *dirs = mt_state_variable("PATH=");

	begin(x);
	if (strchr(file, '/') || !*file) {
		mt_format(x->path, sizeof(x->path), "%s", file);
		follow(x, AT_FDCWD, file, false, true);
		finish(x);
		return;
	}
	for (const char *d = dirs ? dirs : DEFAULT_PATH; !x->runs; d++) {
		size_t len = strcspn(d, ":");
		if (mt_format(x->path, sizeof(x->path), "%.*s%s%s", (int)len, d, len ? "/" : "",
			      file) < sizeof(x->path))
			follow(x, AT_FDCWD, x->path, false, true);
		d += len;
		if (!*d)
			break;
	}
	finish(x);
}
