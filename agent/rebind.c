/* SPDX-License-Identifier: MIT
 *
 * rebind.c - puts hooks in front of functions that are only hooked where they exist.
 *
 * Once, at start-up, when it turned out that they do. Two steps, in this order:
 *   1. our names for them (unseen.c) get values in our own symbol table, so that whatever is looked
 *      up from now on finds the hooks: lazy calls, dlsym, libraries that are loaded later;
 *   2. what was bound before we ran is bound anew: slots of all loaded objects, but the function's
 *      own and ours, whose relocation names it and which hold the real address.
 * Pages that the loader made read-only are made so again. A pointer that some constructor before
 * ours has copied elsewhere is not found: what is allocated by it is not seen, and its
 * free is counted as one of an unknown block.
 */
#include "hooks.h"
#include "object.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define IS_ADDRESS(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#else
#define IS_ADDRESS(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#endif

struct work {
	const struct rebind *list;
	size_t count;
	bool shown;                        /* step 1 is done */
};

static bool protect(const void *p, size_t bytes, int how)
{
	uintptr_t page = getauxval(AT_PAGESZ), from = (uintptr_t)p & ~(page - 1);

	return mt_prim_call(SYS_mprotect, (long)from, (long)((uintptr_t)p + bytes - from), how, 0, 0, 0) == 0;
}

/* Its segment's: where linkers do not keep them apart, code lies in the same pages. */
static int protection_of(const struct dl_phdr_info *info, const void *p)
{
	int how = PROT_READ;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		if (ph->p_type == PT_LOAD && (uintptr_t)p - info->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			how |= (ph->p_flags & PF_X ? PROT_EXEC : 0) | (ph->p_flags & PF_W ? PROT_WRITE : 0);
	}
	return how;
}

/* Our symbol table ends where our strings begin. */
static void show(struct work *w, const struct object *self, int protection)
{
	ElfW(Sym) *end = (ElfW(Sym) *)(uintptr_t)self->string;
	size_t bytes = (size_t)((uintptr_t)self->string - (uintptr_t)self->symbol);

	w->shown = true;
	if (self->symbol >= end || !protect(self->symbol, bytes, protection | PROT_WRITE))
		return;
	for (ElfW(Sym) *s = self->symbol; s + 1 <= end; s++)
		for (size_t i = 0; i < w->count; i++)
			if (!s->st_value && s->st_shndx != SHN_UNDEF &&
			    !strcmp(self->string + s->st_name, w->list[i].name))
				s->st_value = (uintptr_t)w->list[i].hook - self->bias;
	protect(self->symbol, bytes, protection);
}

static int show_ours(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object o;

	(void)size;
	if (mt_object_read(info, &o) && mt_object_holds(&o, (const void *)(uintptr_t)mt_rebind))
		show(arg, &o, protection_of(info, o.symbol));
	return ((struct work *)arg)->shown;
}

static void bind_slot(const struct object *o, void **slot, void *to)
{
	bool fixed = (uintptr_t)slot >= o->fixed && (uintptr_t)slot < o->fixed_end;

	if (fixed && !protect(slot, sizeof(*slot), PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(slot, to, __ATOMIC_RELEASE);
	if (fixed)
		protect(slot, sizeof(*slot), PROT_READ);
}

static int bind_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct work *w = arg;
	struct object o;

	(void)size;
	if (!mt_object_read(info, &o) || mt_object_holds(&o, w->list->real) || mt_object_holds(&o, w->list->hook))
		return 0;
	for (int k = 0; k < 2; k++) {
		for (size_t n = 0; o.table[k] && n < o.bytes[k] / sizeof(ElfW(Rela)); n++) {
			const ElfW(Rela) *r = &o.table[k][n];
			uint32_t index = (uint32_t)ELF64_R_SYM(r->r_info);
			void **slot = (void **)(o.bias + r->r_offset);
			if (!index || r->r_addend || !IS_ADDRESS(ELF64_R_TYPE(r->r_info)))
				continue;
			for (size_t i = 0; i < w->count; i++)
				if (*slot == w->list[i].real &&
				    !strcmp(o.string + o.symbol[index].st_name, w->list[i].name))
					bind_slot(&o, slot, w->list[i].hook);
		}
	}
	return 0;
}

void mt_rebind(const struct rebind *list, size_t count)
{
	struct work w = { list, count, false };

	dl_iterate_phdr(show_ours, &w);
	dl_iterate_phdr(bind_object, &w);
}
