/* SPDX-License-Identifier: MIT
 *
 * maps_file.c - reads a loaded file's segments, build-id and unwind table from its own memory.
 *
 * Program headers are believed when they name the memory that holds them and the address that was
 * looked up. The program's own are in the auxiliary vector, any other file's behind the ELF header
 * at its first segment. Where that may not be mapped, mt_prim_readable() probes it first. On the
 * allocation path it is mapped, and no system call is made.
 *
 * Gaps may lie between segments (linked for pages of 64 KiB, run on pages of 4). glibc reserves a
 * library's gaps; the kernel leaves those of the program and of its loader to the next mapping. So
 * a module is a list of segments.
 */
#include "modules/maps_file.h"
#include "base/arena.h"
#include "base/prim_linux.h"
#include "modules/segments.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#define PAGE ((uintptr_t)4096)
#define HEADERS_MAX 64u
#define LEAD_PAGES 64 /* between a bias and the first segment */

static bool covers(const struct mt_headers *h, uintptr_t addr)
{
	const ElfW(Phdr) *ph = h->at;

	for (size_t i = 0; i < h->count; i++)
		if (ph[i].p_type == PT_LOAD && addr - (h->bias + ph[i].p_vaddr) < ph[i].p_memsz)
			return true;
	return false;
}

static bool spans(const struct mt_headers *h, uintptr_t addr)
{
	uintptr_t start, end;

	mt_maps_bounds(h, &start, &end);
	return addr >= start && addr < end;
}

/* Behind an ELF header at `first`; `mapped`: that page is certain to be there. */
static bool read_at(uintptr_t first, bool mapped, struct mt_headers *h)
{
	const ElfW(Ehdr) *elf = (const void *)first;

	if ((!mapped && !mt_prim_readable(first, sizeof(*elf))) ||
	    memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_phentsize != sizeof(ElfW(Phdr)) ||
	    !elf->e_phnum || elf->e_phnum > HEADERS_MAX)
		return false;
	h->count = elf->e_phnum;
	h->at = (const void *)(first + elf->e_phoff);
	size_t bytes = h->count * sizeof(ElfW(Phdr));
	if ((uintptr_t)h->at % sizeof(ElfW(Addr)))
		return false;
	return (elf->e_phoff <= PAGE && bytes <= PAGE - elf->e_phoff) ||
	       mt_prim_readable((uintptr_t)h->at, bytes);
}

/* Is the first segment, which begins with the file, mapped to `first`? */
static bool is_first(const struct mt_headers *h, uintptr_t first)
{
	const ElfW(Phdr) *ph = h->at;

	for (size_t i = 0; i < h->count; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr - ph[i].p_offset == first - h->bias)
			return true;
	return false;
}

static bool found_at(uintptr_t first, bool mapped, uintptr_t addr, struct mt_headers *h)
{
	return first && read_at(first, mapped, h) && is_first(h, first) &&
	       covers(h, (uintptr_t)h->at) && spans(h, addr);
}

struct mt_headers mt_maps_headers(uintptr_t bias, uintptr_t first, bool mapped, uintptr_t addr)
{
	struct mt_headers h = { (const void *)getauxval(AT_PHDR), getauxval(AT_PHNUM), bias };

	addr = addr ? addr : getauxval(AT_ENTRY);
	if (h.at && spans(&h, addr) && covers(&h, (uintptr_t)h.at) &&
	    covers(&h, getauxval(AT_ENTRY)))
		return h;
	if (found_at(first & ~(PAGE - 1), mapped, addr, &h))
		return h;
	/* At the bias, or some pages on, where a tool has made room for it in the file (Android's
	 * relocation packer). */
	for (uintptr_t at = bias; bias && at < bias + LEAD_PAGES * PAGE; at += PAGE)
		if (found_at(at, false, addr, &h))
			return h;
	return (struct mt_headers){ .bias = bias };
}

/*
 * The kernel tells where they lie. A program without a loader need not say where it was linked to
 * (PT_PHDR); then its ELF header stands right before them, as linkers have it.
 */
struct mt_headers mt_maps_program_headers(void)
{
	struct mt_headers h = { (const void *)getauxval(AT_PHDR), getauxval(AT_PHNUM), 0 };
	const ElfW(Phdr) *ph = h.at;
	const ElfW(Ehdr) *elf = (const void *)((uintptr_t)ph - sizeof(*elf));

	for (size_t i = 0; i < h.count; i++) {
		if (ph[i].p_type != PT_PHDR)
			continue;
		h.bias = (uintptr_t)ph - ph[i].p_vaddr;
		return h;
	}
	if (!ph || !mt_prim_readable((uintptr_t)elf, sizeof(*elf)) ||
	    memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_phoff != sizeof(*elf))
		return (struct mt_headers){ .at = NULL };
	h.bias = getauxval(AT_ENTRY) - elf->e_entry;
	return h;
}

bool mt_maps_is_segment(const struct mt_headers *h, uintptr_t start, uintptr_t end)
{
	const ElfW(Phdr) *ph = h->at;

	for (size_t i = 0; i < h->count; i++)
		if (ph[i].p_type == PT_LOAD && h->bias + ph[i].p_vaddr == start &&
		    ph[i].p_memsz == end - start)
			return true;
	return false;
}

void mt_maps_bounds(const struct mt_headers *h, uintptr_t *start, uintptr_t *end)
{
	const ElfW(Phdr) *ph = h->at;

	*start = UINTPTR_MAX;
	*end = 0;
	for (size_t i = 0; i < h->count; i++) {
		uintptr_t from = h->bias + ph[i].p_vaddr, to = from + ph[i].p_memsz;
		if (ph[i].p_type != PT_LOAD)
			continue;
		*start = from < *start ? from & ~(PAGE - 1) : *start;
		*end = to > *end ? to : *end;
	}
}

/* What dlfo_eh_frame is, too. */
#if defined(__arm__)
#define UNWIND_TABLE PT_ARM_EXIDX
#else
#define UNWIND_TABLE PT_GNU_EH_FRAME
#endif

uintptr_t mt_maps_table(const struct mt_headers *h, uintptr_t *end)
{
	const ElfW(Phdr) *ph = h->at;

	*end = 0;
	for (size_t i = 0; i < h->count; i++) {
		if (ph[i].p_type != UNWIND_TABLE)
			continue;
		*end = h->bias + ph[i].p_vaddr + ph[i].p_memsz;
		return h->bias + ph[i].p_vaddr;
	}
	return 0;
}

#define NT_GO_BUILD_ID 4 /* of the name "Go" */

static bool is_note(const ElfW(Nhdr) * note, uint32_t type, const char name[4])
{
	return note->n_type == type && note->n_namesz == 4 && !memcmp(note + 1, name, 4);
}

static void read_notes(struct module *m, const char *at, const char *end)
{
	while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		const char *name = at + sizeof(*note);
		size_t name_len = (note->n_namesz + 3u) & ~3u;
		size_t len = note->n_descsz;
		if (name_len > (size_t)(end - name) || len > (size_t)(end - name) - name_len)
			return;
		m->is_go = m->is_go || is_note(note, NT_GO_BUILD_ID, "Go\0");
		if (!m->build_id_len && is_note(note, NT_GNU_BUILD_ID, "GNU")) {
			m->build_id_len =
				len > sizeof(m->build_id) ? sizeof(m->build_id) : (uint32_t)len;
			memcpy(m->build_id, name + name_len, m->build_id_len);
		}
		at = name + name_len + ((len + 3u) & ~(size_t)3);
	}
}

static void read_all_notes(struct module *m, const struct mt_headers *h)
{
	const ElfW(Phdr) *ph = h->at;

	for (size_t i = 0; i < h->count; i++) {
		uintptr_t low, high, at = h->bias + ph[i].p_vaddr;
		if (ph[i].p_type == PT_NOTE && mt_maps_segment(m, at, &low, &high) &&
		    ph[i].p_memsz <= high - at)
			read_notes(m, (const char *)at, (const char *)at + ph[i].p_memsz);
	}
}

bool mt_maps_read_file(struct module *m, const struct mt_headers *h)
{
	struct segment *s = mt_arena_alloc((h->count + 1) * sizeof(*s));
	const ElfW(Phdr) *ph = h->at;

	if (!s)
		return false;
	m->segment = s;
	for (size_t i = 0; i < h->count; i++) {
		uintptr_t start = h->bias + ph[i].p_vaddr;
		if (ph[i].p_type == PT_LOAD && ph[i].p_memsz)
			s[m->segments++] =
				(struct segment){ start, start + ph[i].p_memsz,
						  ph[i].p_flags & PF_R, ph[i].p_flags & PF_X };
	}
	if (!m->segments) {
		s[m->segments++] = (struct segment){ m->start, m->end, false, false };
		return true;
	}
	m->headers = ph;
	m->header_count = h->count;
	if (mt_maps_table(h, &m->eh_frame_hdr_end) != m->eh_frame_hdr)
		m->eh_frame_hdr_end = 0;
	read_all_notes(m, h);
	return true;
}
