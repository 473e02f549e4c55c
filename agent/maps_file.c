/* SPDX-License-Identifier: MIT
 *
 * maps_file.c - what a loaded file says of itself in the memory that it is mapped to: its segments, its build-id, its unwind
 * table. Any thread, while the object cannot go.
 */
#include "maps.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#define PAGE ((uintptr_t)4096)

const void *mt_maps_headers_at(uintptr_t start, uintptr_t bias, size_t *count)
{
	const ElfW(Ehdr) *elf = (const void *)start;
	uintptr_t main_headers = getauxval(AT_PHDR);

	*count = 0;
	/* The first segment of nearly every file starts with the ELF header; the kernel names the
	   program's own otherwise. */
	if (!memcmp(elf->e_ident, ELFMAG, SELFMAG) && elf->e_phoff <= PAGE &&
	    elf->e_phentsize == sizeof(ElfW(Phdr)) && elf->e_phnum < 64) {
		*count = elf->e_phnum;
		return (const void *)(start + elf->e_phoff);
	}
	if (main_headers >= start && main_headers - start < PAGE * 16 && bias <= start) {
		*count = getauxval(AT_PHNUM);
		return (const void *)main_headers;
	}
	return NULL;
}

const void *mt_maps_headers(const struct module *m, size_t *count)
{
	*count = 0;
	return m->end ? mt_maps_headers_at(m->start, m->bias, count) : NULL;
}

bool mt_maps_segment(const struct module *m, uintptr_t addr, uintptr_t *start, uintptr_t *end)
{
	size_t count;
	const ElfW(Phdr) *ph = mt_maps_headers(m, &count);

	for (size_t i = 0; i < count; i++) {
		uintptr_t from = m->bias + ph[i].p_vaddr;
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_R) && addr >= from &&
		    addr < from + ph[i].p_memsz) {
			*start = from & ~(PAGE - 1);
			*end = from + ph[i].p_memsz;
			return true;
		}
	}
	return false;
}

void mt_maps_read_build_id(struct module *m)
{
	size_t count;
	const ElfW(Phdr) *ph = mt_maps_headers(m, &count);

	for (size_t i = 0; i < count; i++) {
		if (ph[i].p_type != PT_NOTE)
			continue;
		const char *at = (const char *)m->bias + ph[i].p_vaddr;
		const char *end = at + ph[i].p_memsz;
		if ((uintptr_t)at < m->start || (uintptr_t)end > m->end || at > end)
			continue;
		while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note);
			size_t name_len = (note->n_namesz + 3u) & ~3u;
			size_t len = note->n_descsz;
			if (name_len > (size_t)(end - name) ||
			    len > (size_t)(end - name) - name_len)
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    !memcmp(name, "GNU", 4)) {
				m->build_id_len = len > sizeof(m->build_id) ? sizeof(m->build_id)
									    : (uint32_t)len;
				memcpy(m->build_id, name + name_len, m->build_id_len);
				return;
			}
			at = name + name_len + ((len + 3u) & ~(size_t)3);
		}
	}
}

/* What dlfo_eh_frame is, too. */
#if defined(__arm__)
#define UNWIND_TABLE PT_ARM_EXIDX
#else
#define UNWIND_TABLE PT_GNU_EH_FRAME
#endif

static const ElfW(Phdr) *table_header(uintptr_t start, uintptr_t bias)
{
	size_t count;
	const ElfW(Phdr) *ph = mt_maps_headers_at(start, bias, &count);

	for (size_t i = 0; i < count; i++) {
		if (ph[i].p_type == UNWIND_TABLE)
			return &ph[i];
	}
	return NULL;
}

uintptr_t mt_maps_table_at(uintptr_t start, uintptr_t bias)
{
	const ElfW(Phdr) *ph = table_header(start, bias);

	return ph ? bias + ph->p_vaddr : 0;
}

bool mt_maps_table_end(const struct module *m, uintptr_t *end)
{
	const ElfW(Phdr) *ph = m->eh_frame_hdr ? table_header(m->start, m->bias) : NULL;

	if (!ph || m->bias + ph->p_vaddr != m->eh_frame_hdr)
		return false;
	*end = m->eh_frame_hdr + ph->p_memsz;
	return true;
}
