/* SPDX-License-Identifier: MIT
 *
 * modules.c - the loaded modules of another process and their dynamic symbols (System V gABI 5;
 * DT_GNU_HASH as binutils lays it out).
 *
 * A module is a mapping that begins with an ELF header at file offset 0, or the vdso. Nothing that
 * is read is trusted: every count has a bound, and an inconsistent module has no symbols.
 */
#include "attach/ptrace/modules.h"

#include "base/procfs.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <memtop/wire.h>

#define HEADERS_MAX 64
#define DYNAMIC_MAX 256
#define NOTE_MAX 4096 /* bytes of one that are compared */
#define CHAIN_MAX (1u << 20)

int inject_read(const struct inject_modules *m, uint64_t at, void *to, size_t bytes)
{
	return pread(m->mem, to, bytes, (off_t)at) == (ssize_t)bytes ? 0 : -1;
}

int inject_write(const struct inject_modules *m, uint64_t at, const void *from, size_t bytes)
{
	return pwrite(m->mem, from, bytes, (off_t)at) == (ssize_t)bytes ? 0 : -1;
}

void inject_read_text(const struct inject_modules *m, uint64_t at, char *to, size_t size)
{
	size_t n = 0;

	while (at && n + 1 < size && inject_read(m, at + n, to + n, 1) == 0 && to[n])
		n++;
	to[n] = '\0';
}

/* Some loaders relocate these addresses in place, others leave them as in the file. */
static uint64_t table_at(const struct inject_module *o, uint64_t value)
{
	return value >= o->start && value < o->end ? value : value + o->bias;
}

static void read_dynamic(const struct inject_modules *m, struct inject_module *o, uint64_t at,
			 uint64_t bytes)
{
	ElfW(Dyn) d[DYNAMIC_MAX];
	size_t n = bytes / sizeof d[0] < DYNAMIC_MAX ? bytes / sizeof d[0] : DYNAMIC_MAX;

	if (inject_read(m, at, d, n * sizeof d[0]))
		return;
	for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++)
		switch (d[i].d_tag) {
		case DT_SYMTAB: o->symbols = table_at(o, d[i].d_un.d_ptr); break;
		case DT_STRTAB: o->strings = table_at(o, d[i].d_un.d_ptr); break;
		case DT_STRSZ: o->strings_bytes = d[i].d_un.d_val; break;
		case DT_HASH: o->hash = table_at(o, d[i].d_un.d_ptr); break;
		case DT_GNU_HASH: o->gnu_hash = table_at(o, d[i].d_un.d_ptr); break;
		default: break;
		}
}

static void add_segment(struct inject_module *o, uint64_t start, uint64_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	bool full = o->segments == INJECT_SEGMENTS;

	if (!full)
		o->segment[o->segments++].start = start & ~(page - 1);
	o->segment[o->segments - 1].end = (end + page - 1) & ~(page - 1);
}

static bool holds(const struct inject_module *o, uint64_t address)
{
	for (size_t i = 0; i < o->segments; i++)
		if (address >= o->segment[i].start && address < o->segment[i].end)
			return true;
	return false;
}

/* False: no module begins there. */
static bool read_module(const struct inject_modules *m, uint64_t at, struct inject_module *o)
{
	ElfW(Ehdr) head;
	ElfW(Phdr) ph[HEADERS_MAX];
	const ElfW(Phdr) *dynamic = NULL;
	uint64_t low = UINT64_MAX, high = 0;

	if (inject_read(m, at, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof ph[0] ||
	    head.e_phnum > HEADERS_MAX ||
	    inject_read(m, at + head.e_phoff, ph, head.e_phnum * sizeof ph[0]))
		return false;
	for (int i = 0; i < head.e_phnum; i++) {
		if (ph[i].p_type == PT_DYNAMIC)
			dynamic = &ph[i];
		if (ph[i].p_type != PT_LOAD)
			continue;
		if (low == UINT64_MAX)
			low = ph[i].p_vaddr & ~4095ull;
		high = ph[i].p_vaddr + ph[i].p_memsz > high ? ph[i].p_vaddr + ph[i].p_memsz : high;
	}
	if (low == UINT64_MAX || high <= low)
		return false;
	o->bias = at - low;
	o->start = at;
	o->end = high + o->bias;
	for (int i = 0; i < head.e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		add_segment(o, ph[i].p_vaddr + o->bias, ph[i].p_vaddr + ph[i].p_memsz + o->bias);
		if (ph[i].p_flags & PF_X) {
			o->text = o->text ? o->text : ph[i].p_vaddr + o->bias;
			o->text_end = ph[i].p_vaddr + ph[i].p_memsz + o->bias;
		}
	}
	if (dynamic)
		read_dynamic(m, o, dynamic->p_vaddr + o->bias, dynamic->p_memsz);
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct inject_module *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The address of the program's headers, from its auxiliary vector. */
static uint64_t program_headers(pid_t pid)
{
	char path[64];
	ElfW(auxv_t) a;
	uint64_t at = 0;

	snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && fread(&a, sizeof a, 1, f) == 1 && a.a_type != AT_NULL)
		if (a.a_type == AT_PHDR)
			at = a.a_un.a_val;
	if (f)
		fclose(f);
	return at;
}

static struct inject_module *module_at(const struct inject_modules *m, uint64_t address)
{
	for (size_t i = 0; i < m->count; i++)
		if (holds(&m->list[i], address))
			return &m->list[i];
	return NULL;
}

const struct inject_module *inject_module_at(const struct inject_modules *m, uint64_t address)
{
	return module_at(m, address);
}

int inject_modules_read(pid_t pid, struct inject_modules *m)
{
	char path[64], line[4400], perms[8];
	unsigned long start, end, offset, inode;

	pid = procfs_thread(pid);
	uint64_t headers = program_headers(pid);
	*m = (struct inject_modules){ .pid = pid };
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	m->mem = open(path, O_RDWR | O_CLOEXEC);
	if (m->mem < 0)
		return -errno;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof line, f)) {
		int name = 0;
		if (sscanf(line, "%lx-%lx %7s %lx %*s %lu %n", &start, &end, perms, &offset, &inode,
			   &name) < 5 ||
		    !name)
			continue;
		line[strcspn(line, "\n")] = '\0';
		struct inject_module *of = module_at(m, start);
		if (of && perms[2] == 'x')
			of->runs = true;
		if (of || perms[0] != 'r' || (offset && inode) ||
		    (!inode && strcmp(line + name, "[vdso]")))
			continue;
		struct inject_module o = { .start = start };
		if (!read_module(m, start, &o))
			continue;
		o.runs = perms[2] == 'x';
		snprintf(o.path, sizeof o.path, "%.255s", line + name);
		o.program = holds(&o, headers);
		GROW(m->list, m->room, m->count + 1);
		m->list[m->count++] = o;
	}
	fclose(f);
	/* one that was only mapped to be read, by a debugger say */
	for (size_t i = 0; i < m->count;)
		if (m->list[i].runs)
			i++;
		else
			m->list[i] = m->list[--m->count];
	if (m->count)
		qsort(m->list, m->count, sizeof *m->list, by_address);
	return 0;
}

void inject_modules_release(struct inject_modules *m)
{
	if (m->mem >= 0)
		close(m->mem);
	free(m->list);
	*m = (struct inject_modules){ .mem = -1 };
}

/* The value of symbol number i when it is `name`, and defined; else 0. */
static uint64_t symbol_is(const struct inject_modules *m, const struct inject_module *o, uint32_t i,
			  const char *name)
{
	ElfW(Sym) s;
	char got[128];
	size_t len = strlen(name) + 1;

	if (inject_read(m, o->symbols + (uint64_t)i * sizeof s, &s, sizeof s) ||
	    s.st_shndx == SHN_UNDEF || !s.st_value || s.st_name >= o->strings_bytes ||
	    len > sizeof got || inject_read(m, o->strings + s.st_name, got, len) ||
	    memcmp(got, name, len))
		return 0;
	return s.st_value + o->bias;
}

static uint64_t find_gnu(const struct inject_modules *m, const struct inject_module *o,
			 const char *name)
{
	uint32_t head[4], h = 5381, at; /* buckets, first symbol, words of the filter, its shift */

	for (const char *c = name; *c; c++)
		h = h * 33 + (unsigned char)*c;
	if (inject_read(m, o->gnu_hash, head, sizeof head) || !head[0])
		return 0;
	uint64_t buckets = o->gnu_hash + sizeof head + (uint64_t)head[2] * sizeof(ElfW(Addr));
	if (inject_read(m, buckets + h % head[0] * 4, &at, 4) || at < head[1])
		return 0;
	for (unsigned n = 0; n < CHAIN_MAX; n++, at++) {
		uint32_t chained;
		if (inject_read(m, buckets + ((uint64_t)head[0] + at - head[1]) * 4, &chained, 4))
			return 0;
		uint64_t found = (chained | 1) == (h | 1) ? symbol_is(m, o, at, name) : 0;
		if (found || (chained & 1))
			return found;
	}
	return 0;
}

static uint64_t find_sysv(const struct inject_modules *m, const struct inject_module *o,
			  const char *name)
{
	uint32_t head[2], h = 0, at; /* buckets, chain links */

	for (const char *c = name; *c; c++) {
		h = (h << 4) + (unsigned char)*c;
		h = (h ^ (h & 0xf0000000u) >> 24) & 0x0fffffffu;
	}
	if (inject_read(m, o->hash, head, sizeof head) || !head[0] ||
	    inject_read(m, o->hash + 8 + (uint64_t)(h % head[0]) * 4, &at, 4))
		return 0;
	for (unsigned n = 0; at && n < CHAIN_MAX; n++) {
		uint64_t found = symbol_is(m, o, at, name);
		if (found)
			return found;
		if (inject_read(m, o->hash + 8 + ((uint64_t)head[0] + at) * 4, &at, 4))
			return 0;
	}
	return 0;
}

uint64_t inject_module_symbol(const struct inject_modules *m, const struct inject_module *o,
			      const char *name)
{
	if (!o->symbols || !o->strings)
		return 0;
	return o->gnu_hash ? find_gnu(m, o, name) : o->hash ? find_sysv(m, o, name) : 0;
}

uint64_t inject_symbol(const struct inject_modules *m, const char *name,
		       const struct inject_module **where)
{
	for (size_t i = 0; i < m->count; i++) {
		uint64_t at = inject_module_symbol(m, &m->list[i], name);
		if (at) {
			if (where)
				*where = &m->list[i];
			return at;
		}
	}
	return 0;
}

/* Its program headers and notes are those of the file: the build-id and the agent's version. */
static bool is_built_as(const struct inject_modules *m, const struct inject_module *o, int fd)
{
	ElfW(Ehdr) head, filed;
	ElfW(Phdr) ph[HEADERS_MAX], in_file[HEADERS_MAX];
	char note[NOTE_MAX], of_file[NOTE_MAX];

	if (inject_read(m, o->start, &head, sizeof head) ||
	    pread(fd, &filed, sizeof filed, 0) != (ssize_t)sizeof filed ||
	    memcmp(&head, &filed, offsetof(ElfW(Ehdr), e_shoff)) || head.e_phnum > HEADERS_MAX ||
	    head.e_phentsize != sizeof *ph)
		return false;
	size_t bytes = head.e_phnum * sizeof *ph;
	if (inject_read(m, o->start + head.e_phoff, ph, bytes) ||
	    pread(fd, in_file, bytes, (off_t)head.e_phoff) != (ssize_t)bytes ||
	    memcmp(ph, in_file, bytes))
		return false;
	for (int i = 0; i < head.e_phnum; i++) {
		if (ph[i].p_type != PT_NOTE)
			continue;
		size_t n = ph[i].p_filesz < NOTE_MAX ? ph[i].p_filesz : NOTE_MAX;
		if (inject_read(m, o->bias + ph[i].p_vaddr, note, n) ||
		    pread(fd, of_file, n, (off_t)ph[i].p_offset) != (ssize_t)n ||
		    memcmp(note, of_file, n))
			return false;
	}
	return true;
}

struct inject_agents inject_find_agents(const struct inject_modules *m, const char *path)
{
	struct inject_agents a = { 0 };
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	for (size_t i = 0; i < m->count; i++) {
		uint64_t at = inject_module_symbol(m, &m->list[i], "memtop_attach");
		if (at && fd >= 0 && is_built_as(m, &m->list[i], fd)) {
			a.same = at;
		} else if (at && a.others < INJECT_AGENTS) {
			a.other[a.others].attach = at;
			a.other[a.others++].start = m->list[i].start;
		}
	}
	if (fd >= 0)
		close(fd);
	return a;
}

void inject_said(pid_t pid, char *to, size_t size)
{
	struct inject_modules m;
	bool first = true;

	to[0] = '\0';
	if (inject_modules_read(pid, &m))
		m.count = 0;
	/* Of several agents the one of the last session counts: the others were detached. One
	 * without a word had a session. */
	for (size_t i = 0; i < m.count && (first || *to); i++) {
		uint64_t at = inject_module_symbol(&m, &m.list[i], "memtop_said");
		char word[sizeof MTW_SAID_DETACHED] = "";

		if (!at)
			continue;
		inject_read_text(&m, at, word, sizeof word);
		if (first || strcmp(word, MTW_SAID_DETACHED))
			inject_read_text(&m, at, to, size);
		first = false;
	}
	for (char *c = to; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?'; /* the program may write there */
	inject_modules_release(&m);
}
