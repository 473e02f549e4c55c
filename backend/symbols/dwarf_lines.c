/* SPDX-License-Identifier: MIT
 *
 * dwarf_lines.c - lines and inlined frames of one file, from its DWARF.
 *
 * dwarf_getscopes() walks a whole unit for each pc: a millisecond in a large C++ unit, for each of
 * ten thousand locations. Instead a unit's functions are listed once, sorted by address, and only
 * the blocks of the function at hand are walked. The result is the same: the chain of inlined
 * subroutines in physical nesting, as `eu-addr2line -i -f` prints it.
 */
#include "symbols/code_file.h"

#include "symbols/demangle.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 256 /* of nested blocks: broken DWARF may loop */

struct range {                /* of code of one function, or of one unit */
	Dwarf_Addr low, high; /* low first, for count_up_to() */
	Dwarf_Off die;
	bool nested; /* a function within a class or another function */
};

struct unit {
	Dwarf_Off die;
	struct range *functions; /* by low */
	size_t count, room;
};

struct dwarf_lines {
	Dwfl_Module *module;   /* borrowed, as all that is read from it */
	GElf_Addr bias;        /* libdw's address - ELF address */
	Dwarf *dwarf;          /* NULL = none */
	Dwarf_Addr dwarf_bias; /* libdw's address - DWARF's address */
	struct unit *units;    /* those met */
	size_t unit_count, unit_room;
	struct range *unit_ranges; /* of all units; only when .debug_aranges does not tell */
	size_t range_count, range_room;
	bool ranges_made;
};

struct dwarf_lines *dwarf_lines_new(Dwfl_Module *module, GElf_Addr bias)
{
	struct dwarf_lines *l = xcalloc(1, sizeof *l);

	l->module = module;
	l->bias = bias;
	l->dwarf = dwfl_module_getdwarf(module, &l->dwarf_bias);
	return l;
}

void dwarf_lines_free(struct dwarf_lines *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->unit_count; i++)
		free(l->units[i].functions);
	free(l->units);
	free(l->unit_ranges);
	free(l);
}

bool dwarf_lines_exist(const struct dwarf_lines *l)
{
	return l->dwarf != NULL;
}

static int by_low(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high < y->high ? 1 : -1; /* the outer one first */
	return x->die < y->die ? 1 : -1;           /* a function's first name wins */
}

static void add_ranges(struct range **list, size_t *room, size_t *count, Dwarf_Die *die,
		       bool nested)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (low >= high)
			continue;
		if (*count >= *room) {
			*room = *room ? *room * 2 : 64;
			*list = xrealloc(*list, *room * sizeof **list);
		}
		(*list)[(*count)++] = (struct range){ low, high, dwarf_dieoffset(die), nested };
	}
}

static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_lexical_block:
	case DW_TAG_subprogram: return true;
	default: return false;
	}
}

static void list_functions(struct unit *u, Dwarf_Die *parent, bool nested, int depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_subprogram)
			add_ranges(&u->functions, &u->room, &u->count, &child, nested);
		if (may_hold_functions(tag))
			list_functions(u, &child,
				       nested || (tag != DW_TAG_namespace && tag != DW_TAG_module),
				       depth + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static struct unit *unit_of(struct dwarf_lines *l, Dwarf_Die *cu)
{
	Dwarf_Off die = dwarf_dieoffset(cu);

	for (size_t i = 0; i < l->unit_count; i++)
		if (l->units[i].die == die)
			return &l->units[i];
	GROW(l->units, l->unit_room, l->unit_count + 1);
	struct unit *u = &l->units[l->unit_count++];
	*u = (struct unit){ .die = die };
	list_functions(u, cu, false, 0);
	if (u->count)
		qsort(u->functions, u->count, sizeof *u->functions, by_low);
	return u;
}

/* The innermost range with pc: the last to begin before it, or one that encloses that. */
static const struct range *find_range(const struct range *list, size_t count, Dwarf_Addr pc)
{
	size_t n = count_up_to(list, count, sizeof *list, pc);

	for (size_t tries = 0; n && tries < 64; tries++)
		if (pc < list[--n].high)
			return &list[n];
	return NULL;
}

/* clang writes no .debug_aranges: then the units' own ranges are listed once. */
static Dwarf_Die *unit_by_ranges(struct dwarf_lines *l, Dwarf_Addr pc, Dwarf_Die *mem)
{
	Dwarf_Die *cu = NULL;
	Dwarf_Addr bias;

	if (!l->ranges_made) {
		l->ranges_made = true;
		while ((cu = dwfl_module_nextcu(l->module, cu, &bias)))
			add_ranges(&l->unit_ranges, &l->range_room, &l->range_count, cu, false);
		if (l->range_count)
			qsort(l->unit_ranges, l->range_count, sizeof *l->unit_ranges, by_low);
	}
	const struct range *r = find_range(l->unit_ranges, l->range_count, pc);
	return r ? dwarf_offdie(l->dwarf, r->die, mem) : NULL;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr));

	return name ? name : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
}

/*
 * The function DIEs around pc, outermost (the real one) first; 0 = none. *local: the real one
 * belongs to a local class, where its own name ("operator()") is less clear than the symbol table.
 */
static size_t function_chain(struct dwarf_lines *l, Dwarf_Die *cu, Dwarf_Addr pc, Dwarf_Die *chain,
			     size_t max, bool *local)
{
	struct unit *u = unit_of(l, cu);
	const struct range *r = find_range(u->functions, u->count, pc);
	Dwarf_Die at, child;
	size_t n = 0;

	if (!r || !dwarf_offdie(l->dwarf, r->die, &at))
		return 0;
	chain[n++] = at;
	*local = r->nested && !linkage_name(&at);
	for (int depth = 0; depth < DEPTH_MAX && n < max && dwarf_child(&at, &child) == 0;
	     depth++) {
		bool found = false;
		do {
			int tag = dwarf_tag(&child);
			if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
			    dwarf_haspc(&child, pc) > 0) {
				found = true;
				break;
			}
		} while (dwarf_siblingof(&child, &child) == 0);
		if (!found)
			break;
		at = child;
		if (dwarf_tag(&at) == DW_TAG_inlined_subroutine)
			chain[n++] = at;
	}
	return n;
}

/* Makes the unit's file name absolute: it is relative to the compilation folder. Where that folder
 * is relative, as -ffile-prefix-map leaves it, libdw puts it before some names and not others. */
static char *absolute(const char *file, Dwarf_Die *cu)
{
	Dwarf_Attribute attr;
	const char *dir =
		cu && *file != '/' ? dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &attr)) : NULL;

	size_t len = dir ? strlen(dir) : 0;

	return dir && (strncmp(file, dir, len) || file[len] != '/') ? xasprintf("%s/%s", dir, file)
								    : xstrdup(file);
}

/* The call place of an inlined function, which is the line of the frame around it. */
static void call_place(Dwarf_Die *inlined, Dwarf_Die *cu, Dwarf_Files *files,
		       struct code_frame *outer)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	const char *file = NULL;

	if (files && dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &value) == 0)
		file = dwarf_filesrc(files, value, NULL, NULL);
	if (file)
		outer->file = absolute(file, cu);
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &value) == 0)
		outer->line = (uint32_t)value;
}

/* The line table's entry for pc; false = none. cu: its unit, where libdwfl cannot find it by
 * itself. */
static bool line_place(struct dwarf_lines *l, Dwarf_Die *cu, uint64_t pc, struct code_frame *frame)
{
	Dwfl_Line *line = dwfl_module_getsrc(l->module, pc + l->bias);
	const char *file = NULL;
	int number = 0;

	if (line) {
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
		cu = dwfl_linecu(line);
	} else if (cu) {
		Dwarf_Line *of_unit = dwarf_getsrc_die(cu, pc + l->bias - l->dwarf_bias);
		if (of_unit) {
			file = dwarf_linesrc(of_unit, NULL, NULL);
			dwarf_lineno(of_unit, &number);
		}
	}
	if (!file)
		return false;
	frame->file = absolute(file, cu);
	frame->line = number > 0 ? (uint32_t)number : 0;
	return true;
}

size_t dwarf_lines_at(struct dwarf_lines *l, uint64_t pc, struct code_frame *frames, size_t max,
		      bool *local)
{
	Dwarf_Die chain[CODE_FRAMES_MAX], mem, *cu;
	Dwarf_Files *files = NULL;
	Dwarf_Addr bias;
	size_t files_count;

	*local = false;
	if (!l->dwarf)
		return 0;
	cu = dwfl_module_addrdie(l->module, pc + l->bias, &bias);
	bool by_ranges = !cu;
	if (by_ranges)
		cu = unit_by_ranges(l, pc + l->bias - l->dwarf_bias, &mem);
	size_t n = cu ? function_chain(l, cu, pc + l->bias - l->dwarf_bias, chain,
				       max < CODE_FRAMES_MAX ? max : CODE_FRAMES_MAX, local)
		      : 0;
	memset(frames, 0, (n ? n : 1) * sizeof *frames);
	if (!line_place(l, by_ranges ? cu : NULL, pc, &frames[0]) && !n)
		return 0;
	if (n > 1 && dwarf_getsrcfiles(cu, &files, &files_count))
		files = NULL;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Die *die = &chain[n - 1 - i];
		const char *name = linkage_name(die);
		if (!name)
			name = dwarf_diename(die);
		if (name)
			frames[i].function = demangle(name);
		frames[i].inlined = i + 1 < n;
		if (frames[i].inlined)
			call_place(die, cu, files, &frames[i + 1]);
	}
	return n ? n : 1;
}
