/* SPDX-License-Identifier: MIT
 *
 * elf_names.c - finds the symbol of an address by binary search.
 *
 * dwfl_module_addrname() walks the whole table for each address: 3 ms in libLLVM, ten seconds at
 * the end of `memtop record -- llc --version`. Here the symbols with a size are sorted by address
 * once. Few contain the address, and libdwfl's own preferences choose among them (elfutils,
 * dwfl_module_addrinfo): global ones before local ones, then the nearest start, then binding and
 * the smaller size, then the order of the table.
 *
 * A symbol without a size (an assembly label) is the answer where no symbol contains the address,
 * none ends after the label, and the label is the nearest in the same section. Local symbols are
 * tested unless a global label stands at the address itself.
 */
#include "symbols/code_file.h"

#include "base/base.h"

#include <gelf.h>
#include <stdlib.h>

#define TOGETHER_MAX 64 /* symbols that contain one address; more: the library is asked */

struct symbol {
	GElf_Addr low, high; /* low first, for count_up_to() */
	GElf_Addr reach;     /* the largest `high` of this symbol and all before it */
	int index;           /* in the table */
	int binding;         /* the higher, the better */
	const char *name;    /* the module's */
};

struct symbols { /* by low */
	struct symbol *at;
	size_t count, room;
};

struct label {          /* a symbol without a size */
	GElf_Addr addr; /* first, for count_up_to() */
	int index;
	bool global, absolute; /* absolute: of no section, it stands for its address alone */
	const char *name;
};

struct labels { /* by address; of one address the global ones first, then as in the table */
	struct label *at;
	size_t count, room;
};

struct section {
	GElf_Addr low, high;
};

struct elf_names {
	Dwfl_Module *module; /* borrowed */
	struct symbols global, local;
	struct labels labels;
	struct section *sections; /* of the file in memory */
	size_t section_count;
};

static int binding_of(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL: return 3;
	case STB_WEAK: return 2;
	case STB_LOCAL: return 1;
	default: return 0;
	}
}

static void add_symbol(struct symbols *s, const struct symbol *symbol)
{
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 256;
		s->at = xrealloc(s->at, s->room * sizeof *s->at);
	}
	s->at[s->count++] = *symbol;
}

static void add_label(struct labels *l, const struct label *label)
{
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->at = xrealloc(l->at, l->room * sizeof *l->at);
	}
	l->at[l->count++] = *label;
}

static void read_symbol(struct elf_names *n, int index, bool global)
{
	GElf_Sym sym;
	GElf_Addr low;
	GElf_Word section;
	const char *name =
		dwfl_module_getsym_info(n->module, index, &sym, &low, &section, NULL, NULL);

	if (!name || !*name || sym.st_shndx == SHN_UNDEF)
		return;
	switch (GELF_ST_TYPE(sym.st_info)) {
	case STT_SECTION:
	case STT_FILE:
	case STT_TLS: return;
	}
	if (!sym.st_size)
		add_label(&n->labels,
			  &(struct label){ low, index, global, section >= SHN_LORESERVE, name });
	else
		add_symbol(global ? &n->global : &n->local,
			   &(struct symbol){ low, low + sym.st_size, 0, index, binding_of(&sym),
					     name });
}

static void read_sections(struct elf_names *n)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(n->module, &bias);
	size_t count = 0;

	if (!elf || elf_getshdrnum(elf, &count))
		return;
	n->sections = xcalloc(count + 1, sizeof *n->sections);
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
		GElf_Shdr header;
		if (gelf_getshdr(s, &header) && header.sh_flags & SHF_ALLOC &&
		    n->section_count < count)
			n->sections[n->section_count++] =
				(struct section){ header.sh_addr + bias,
						  header.sh_addr + bias + header.sh_size };
	}
}

static int by_low(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int by_index(const void *a, const void *b)
{
	const struct symbol *const *x = a, *const *y = b;

	return (*x)->index < (*y)->index ? -1 : 1;
}

static int by_address(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->global != y->global)
		return x->global ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void sort(struct symbols *s)
{
	GElf_Addr reach = 0;

	if (s->count)
		qsort(s->at, s->count, sizeof *s->at, by_low);
	for (size_t i = 0; i < s->count; i++) {
		reach = s->at[i].high > reach ? s->at[i].high : reach;
		s->at[i].reach = reach;
	}
}

struct elf_names *elf_names_new(Dwfl_Module *module)
{
	int count = dwfl_module_getsymtab(module),
	    first = dwfl_module_getsymtab_first_global(module);

	if (count < 0 || first < 0)
		return NULL;
	struct elf_names *n = xcalloc(1, sizeof *n);
	n->module = module;
	for (int i = 1; i < count; i++)
		read_symbol(n, i, i >= first);
	read_sections(n);
	sort(&n->global);
	sort(&n->local);
	if (n->labels.count)
		qsort(n->labels.at, n->labels.count, sizeof *n->labels.at, by_address);
	return n;
}

void elf_names_free(struct elf_names *n)
{
	if (!n)
		return;
	free(n->global.at);
	free(n->local.at);
	free(n->labels.at);
	free(n->sections);
	free(n);
}

/* Count of symbols of `s` that begin at addr or before. */
static size_t begun(const struct symbols *s, GElf_Addr addr)
{
	return count_up_to(s->at, s->count, sizeof *s->at, addr);
}

/* Symbols of `s` that contain addr, in table order; TOGETHER_MAX of them: there may be more. */
static size_t containing(const struct symbols *s, GElf_Addr addr, const struct symbol **found)
{
	size_t count = 0;

	for (size_t i = begun(s, addr); i-- && s->at[i].reach > addr && count < TOGETHER_MAX;)
		if (s->at[i].high > addr)
			found[count++] = &s->at[i];
	if (count > 1)
		qsort(found, count, sizeof *found, by_index);
	return count;
}

static GElf_Addr reach(const struct symbols *s, GElf_Addr addr)
{
	size_t count = begun(s, addr);

	return count ? s->at[count - 1].reach : 0;
}

static bool is_better(const struct symbol *is, const struct symbol *best)
{
	GElf_Addr size = is->high - is->low, best_size = best->high - best->low;

	if (best->low < is->low || best->binding < is->binding)
		return true;
	return best->low == is->low && best_size > size && best->binding <= is->binding;
}

static const char *best_of(const struct symbol *const *found, size_t count)
{
	const struct symbol *best = count ? found[0] : NULL;

	for (size_t i = 1; i < count; i++)
		if (is_better(found[i], best))
			best = found[i];
	return best ? best->name : NULL;
}

/* The last label at addr or before; NULL. */
static const struct label *label_before(const struct labels *l, GElf_Addr addr)
{
	size_t n = count_up_to(l->at, l->count, sizeof *l->at, addr);

	return n ? &l->at[n - 1] : NULL;
}

/* The last global label at addr itself; NULL. */
static const struct label *global_at(const struct labels *l, const struct label *last,
				     GElf_Addr addr)
{
	for (; last && last >= l->at && last->addr == addr; last--)
		if (last->global)
			return last;
	return NULL;
}

static const struct section *section_of(const struct elf_names *n, GElf_Addr addr)
{
	for (size_t i = 0; i < n->section_count; i++)
		if (addr >= n->sections[i].low && addr < n->sections[i].high)
			return &n->sections[i];
	return NULL;
}

static const char *by_label(const struct elf_names *n, const struct label *label, GElf_Addr addr)
{
	if (!label || label->addr < reach(&n->global, addr) || label->addr < reach(&n->local, addr))
		return NULL;
	if (label->absolute)
		return label->addr == addr ? label->name : NULL;
	const struct section *section = section_of(n, addr);
	return section && section == section_of(n, label->addr) ? label->name : NULL;
}

const char *elf_names_at(const struct elf_names *n, GElf_Addr addr)
{
	const struct symbol *found[TOGETHER_MAX];
	const struct label *label = label_before(&n->labels, addr);
	size_t count = containing(&n->global, addr, found);

	if (!count) {
		const struct label *exact = global_at(&n->labels, label, addr);
		if (exact)
			return exact->name;
		count = containing(&n->local, addr, found);
	}
	if (count == TOGETHER_MAX)
		return dwfl_module_addrname(n->module, addr);
	return count ? best_of(found, count) : by_label(n, label, addr);
}
