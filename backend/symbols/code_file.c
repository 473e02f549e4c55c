/* SPDX-License-Identifier: MIT
 *
 * code_file.c - libdwfl behind symbols/code_file.h. libdw is used only here, in
 * symbols/debug_files.c and in symbols/elf_names.c.
 *
 * Each file gets a Dwfl of its own at load address 0, so that pc, ELF address and libdw's address
 * are one number. symbols/debug_files.c finds separate debug files; this file identifies the module
 * itself, by its build-id.
 *
 * dwarf_getscopes() walks a whole unit for each pc: a millisecond in a large C++ unit, for each of
 * ten thousand locations. Instead a unit's functions are listed once, sorted by address, and only
 * the blocks of the function at hand are walked. The result is the same: the chain of inlined
 * subroutines in physical nesting, as `eu-addr2line -i -f` prints it.
 */
#include "symbols/code_file.h"

#include "base/procfs.h"
#include "base/within.h"
#include "symbols/demangle.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 256   /* of nested blocks: broken DWARF may loop */
#define PAGE_MOST 65536 /* bytes, of all machines */

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

int code_file_fd_max = 512;

struct code_file {
	char *path; /* owned; as it was opened */
	int fd;     /* to read it again after a rest; -1 = it takes none */
	Dwfl *dwfl; /* NULL: no file, or at rest */
	Dwfl_Module *module;
	Dwfl_Callbacks callbacks;
	char *debug_path, *given; /* debug points to them */
	struct debug_files debug;
	GElf_Addr bias;          /* libdw's address - ELF address */
	struct elf_names *names; /* made when it is asked for the first */
	Dwarf *dwarf;            /* borrowed from module; NULL = none */
	bool dwarf_tried;
	Dwarf_Addr dwarf_bias; /* libdw's address - DWARF's address */
	struct unit *units;    /* those met */
	size_t unit_count, unit_room;
	struct range *unit_ranges; /* of all units; only when .debug_aranges does not tell */
	size_t range_count, range_room;
	bool ranges_made;
};

/* --- finding the file */

static int no_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **file,
		  Elf **elf)
{
	(void)mod, (void)data, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

/* Where separate debug files may lie: libdwfl's defaults, then the user's folders. */
static char *debug_path(const struct code_places *p)
{
	char *path = xstrdup(":.debug:/usr/lib/debug");

	for (size_t i = 0; i <= p->dir_count; i++) {
		const char *dir = i < p->dir_count ? p->dirs[i] : p->sysroot;
		if (!dir)
			continue;
		char *longer = i < p->dir_count ? xasprintf("%s:%s", path, dir)
						: xasprintf("%s:%s/usr/lib/debug", path, dir);
		free(path);
		path = longer;
	}
	return path;
}

static void drop_dwfl(struct code_file *f)
{
	if (f->dwfl)
		dwfl_end(f->dwfl);
	f->dwfl = NULL;
	f->module = NULL;
}

/* False: no ELF file. Takes fd. */
static bool begin(struct code_file *f, const char *path, int fd)
{
	f->dwfl = dwfl_begin(&f->callbacks);
	if (!f->dwfl) {
		close(fd);
		return false;
	}
	void **userdata = NULL;
	dwfl_report_begin(f->dwfl);
	f->module = dwfl_report_elf(f->dwfl, path, path, fd, 0, true); /* takes fd on success */
	if (!f->module)
		close(fd);
	else if (dwfl_module_info(f->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		*userdata = &f->debug;
	if (dwfl_report_end(f->dwfl, NULL, NULL) || !f->module ||
	    !dwfl_module_getelf(f->module, &f->bias)) {
		drop_dwfl(f);
		return false;
	}
	return true;
}

static void keep_fd(struct code_file *f, const char *path, int fd)
{
	f->path = xstrdup(path);
	f->fd = fd;
	if (fd < code_file_fd_max)
		return;
	close(fd);
	f->fd = -1;
}

/* Without a build-id two builds differ in size at least. A loader may say where the last segment
 * ends, or its last page. */
static bool has_segments(const struct code_file *f, const struct code_where *w)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(f->module, &bias);
	uint64_t low = UINT64_MAX, high = 0;
	GElf_Phdr ph;
	size_t n = 0;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, (int)i, &ph); i++) {
		if (ph.p_type != PT_LOAD)
			continue;
		low = ph.p_vaddr < low ? ph.p_vaddr : low;
		high = ph.p_vaddr + ph.p_memsz > high ? ph.p_vaddr + ph.p_memsz : high;
	}
	return low - w->low < PAGE_MOST &&
	       (w->high == high || w->high == ((high + 4095) & ~4095ull));
}

static bool is_other_build(const struct code_file *f, const struct code_where *w)
{
	const unsigned char *id;
	GElf_Addr vaddr;
	int len = dwfl_module_build_id(f->module, &id, &vaddr);

	if (w->build_id_len)
		return len < 0 || (size_t)len != w->build_id_len ||
		       memcmp(id, w->build_id, w->build_id_len);
	return w->high && !has_segments(f, w);
}

/* 1 taken, 0 no ELF file there, -1 another build. */
static int try_fd(struct code_file *f, const struct code_where *w, const char *path, int fd)
{
	int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (!begin(f, path, fd)) {
		if (again >= 0)
			close(again);
		return 0;
	}
	if (is_other_build(f, w)) {
		drop_dwfl(f);
		if (again >= 0)
			close(again);
		return -1;
	}
	keep_fd(f, path, again);
	return 1;
}

static int try_open(struct code_file *f, const struct code_where *w, const char *path, int fd,
		    char *other, size_t size)
{
	if (fd < 0)
		return 0;
	int rc = try_fd(f, w, path, fd);
	if (rc < 0 && other && !*other)
		snprintf(other, size, "%s", path);
	return rc;
}

static int try_path(struct code_file *f, const struct code_where *w, const char *path, char *other,
		    size_t size)
{
	return try_open(f, w, path, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), other, size);
}

/* ROOT/.build-id/ab/cdef....debug, also as a module's own file (a debug file has its symbols). */
static int try_build_id(struct code_file *f, const struct code_where *w, const char *root)
{
	char path[PATH_MAX];
	size_t n = (size_t)snprintf(path, sizeof path, "%.3000s/.build-id/", root);

	if (w->build_id_len < 2)
		return 0;
	for (size_t i = 0; i < w->build_id_len; i++)
		n += (size_t)snprintf(path + n, sizeof path - n, i == 0 ? "%02x/" : "%02x",
				      w->build_id[i]);
	snprintf(path + n, sizeof path - n, ".debug");
	return try_path(f, w, path, NULL, 0);
}

static bool is_file(int fd, const char *path)
{
	struct stat x, y;

	return !fstat(fd, &x) && !stat(path, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* As the process sees it: a container's. Not where it is the file of that path here, beside which
 * debug files may lie. */
static int try_roots(struct code_file *f, const struct code_where *w, char *other, size_t size)
{
	char root[32], path[2 * PATH_MAX];

	for (size_t i = 0; i < CODE_PIDS; i++) {
		snprintf(root, sizeof root, "/proc/%u/root", w->pids[i]);
		int fd = w->pids[i] ? within_open(root, w->path, O_RDONLY | O_NONBLOCK) : -1;
		if (fd >= 0 && is_file(fd, w->path)) {
			close(fd);
			continue;
		}
		snprintf(path, sizeof path, "%s%s", root, w->path);
		if (try_open(f, w, path, fd, other, size) > 0)
			return 1;
	}
	return 0;
}

/* The process's own file after its name was deleted, or given to a newer build. It is called by
 * that name: its debug files lie beside it. */
static int try_deleted(struct code_file *f, const struct code_where *w)
{
	char other[8] = "x";

	for (size_t i = 0; i < CODE_PIDS; i++)
		if (w->pids[i] &&
		    try_open(f, w, w->path, procfs_deleted((pid_t)w->pids[i], w->path), other,
			     sizeof other) > 0)
			return 1;
	return 0;
}

/* The user's folders first: they hold the unstripped files. */
static int find_file(struct code_file *f, const struct code_where *w, const struct code_places *p,
		     char *other, size_t size)
{
	const char *slash = strrchr(w->path, '/'), *name = slash ? slash + 1 : w->path;
	char path[2 * PATH_MAX];
	int fd;

	if (w->vdso)
		return (fd = debug_files_vdso()) >= 0 && try_fd(f, w, "[vdso]", fd) > 0;
	for (size_t i = 0; i < p->dir_count; i++) {
		snprintf(path, sizeof path, "%s/%s", p->dirs[i], w->path);
		if (try_path(f, w, path, other, size) > 0)
			return 1;
		snprintf(path, sizeof path, "%s/%s", p->dirs[i], name);
		if (try_path(f, w, path, other, size) > 0 || try_build_id(f, w, p->dirs[i]) > 0)
			return 1;
	}
	if (p->sysroot) {
		snprintf(path, sizeof path, "%s/%s", p->sysroot, w->path);
		if (try_path(f, w, path, other, size) > 0)
			return 1;
	} else if (w->path[0] == '/') {
		/* a build-id tells wherever the file lies; without one the process's own is the
		 * best
		 */
		if (!w->build_id_len && (try_deleted(f, w) || try_roots(f, w, other, size)))
			return 1;
		if (try_path(f, w, w->path, other, size) > 0)
			return 1;
		if (w->build_id_len && (try_roots(f, w, other, size) || try_deleted(f, w)))
			return 1;
	}
	return try_build_id(f, w, "/usr/lib/debug") > 0;
}

struct code_file *code_file_open(const struct code_where *w, const struct code_places *p,
				 char **problem)
{
	struct code_file *f = xcalloc(1, sizeof *f);
	char other[2 * PATH_MAX] = "";

	*problem = NULL;
	f->fd = -1;
	f->debug.path = f->debug_path = debug_path(p);
	f->callbacks = (Dwfl_Callbacks){ .find_elf = no_elf,
					 .find_debuginfo = debug_files_find,
					 .section_address = dwfl_offline_section_address,
					 .debuginfo_path = &f->debug_path };
	if (find_file(f, w, p, other, sizeof other))
		return f;
	if (*other)
		*problem = xasprintf("%s: names unknown: %s is another build (its %s); give the "
				     "right files with --symbols DIR",
				     w->path, other,
				     w->build_id_len ? "build-id differs" : "segments differ");
	else
		*problem = xasprintf("%s: names unknown: no such file here; give its files with "
				     "--symbols DIR or --sysroot DIR",
				     *w->path ? w->path : "a module without a path");
	return f;
}

static void forget(struct code_file *f)
{
	elf_names_free(f->names);
	f->names = NULL;
	drop_dwfl(f);
	for (size_t i = 0; i < f->unit_count; i++)
		free(f->units[i].functions);
	free(f->units);
	free(f->unit_ranges);
	f->units = NULL;
	f->unit_ranges = NULL;
	f->unit_count = f->unit_room = f->range_count = f->range_room = 0;
	f->dwarf = NULL;
	f->dwarf_tried = f->ranges_made = false;
}

void code_file_rest(struct code_file *f)
{
	if (f->fd >= 0)
		forget(f);
}

bool code_file_has_dwarf(const struct code_file *f)
{
	return f->dwarf != NULL;
}

void code_file_give(struct code_file *f, const struct code_where *where, const char *path)
{
	char other[8] = "x";

	free(f->given);
	f->debug.given = f->given = xstrdup(path);
	if (f->path)
		code_file_rest(f);
	else
		try_path(f, where, path, other, sizeof other);
}

/* Is there a file? */
static bool awake(struct code_file *f)
{
	if (f->dwfl || f->fd < 0)
		return f->dwfl != NULL;
	int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	return fd >= 0 && begin(f, f->path, fd);
}

void code_file_close(struct code_file *f)
{
	if (!f)
		return;
	forget(f);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->debug_path);
	free(f->given);
	free(f);
}

/* --- symbol tables */

/* ELF for the Arm Architecture, 5.5.5: $a, $t, $x, $d say where code and data begin; they name
 * nothing. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("atxd", name[1]) && (!name[2] || name[2] == '.');
}

static char *table_name(struct code_file *f, uint64_t pc)
{
	if (!f->names && !(f->names = elf_names_new(f->module)))
		return NULL;
	const char *name = elf_names_at(f->names, pc + f->bias);

	return name && *name && !is_mapping_symbol(name) ? demangle(name) : NULL;
}

bool code_file_table(struct code_file *f, uint64_t pc, struct code_frame *frame)
{
	*frame = (struct code_frame){ 0 };
	if (awake(f))
		frame->function = table_name(f, pc);
	return frame->function != NULL;
}

/* --- functions of a unit */

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

static struct unit *unit_of(struct code_file *f, Dwarf_Die *cu)
{
	Dwarf_Off die = dwarf_dieoffset(cu);

	for (size_t i = 0; i < f->unit_count; i++)
		if (f->units[i].die == die)
			return &f->units[i];
	GROW(f->units, f->unit_room, f->unit_count + 1);
	struct unit *u = &f->units[f->unit_count++];
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
static Dwarf_Die *unit_by_ranges(struct code_file *f, Dwarf_Addr pc, Dwarf_Die *mem)
{
	Dwarf_Die *cu = NULL;
	Dwarf_Addr bias;

	if (!f->ranges_made) {
		f->ranges_made = true;
		while ((cu = dwfl_module_nextcu(f->module, cu, &bias)))
			add_ranges(&f->unit_ranges, &f->range_room, &f->range_count, cu, false);
		if (f->range_count)
			qsort(f->unit_ranges, f->range_count, sizeof *f->unit_ranges, by_low);
	}
	const struct range *r = find_range(f->unit_ranges, f->range_count, pc);
	return r ? dwarf_offdie(f->dwarf, r->die, mem) : NULL;
}

/* --- frames */

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
static size_t function_chain(struct code_file *f, Dwarf_Die *cu, Dwarf_Addr pc, Dwarf_Die *chain,
			     size_t max, bool *local)
{
	struct unit *u = unit_of(f, cu);
	const struct range *r = find_range(u->functions, u->count, pc);
	Dwarf_Die at, child;
	size_t n = 0;

	if (!r || !dwarf_offdie(f->dwarf, r->die, &at))
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
static bool line_place(struct code_file *f, Dwarf_Die *cu, uint64_t pc, struct code_frame *frame)
{
	Dwfl_Line *line = dwfl_module_getsrc(f->module, pc + f->bias);
	const char *file = NULL;
	int number = 0;

	if (line) {
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
		cu = dwfl_linecu(line);
	} else if (cu) {
		Dwarf_Line *l = dwarf_getsrc_die(cu, pc + f->bias - f->dwarf_bias);
		if (l) {
			file = dwarf_linesrc(l, NULL, NULL);
			dwarf_lineno(l, &number);
		}
	}
	if (!file)
		return false;
	frame->file = absolute(file, cu);
	frame->line = number > 0 ? (uint32_t)number : 0;
	return true;
}

size_t code_file_lines(struct code_file *f, uint64_t pc, struct code_frame *frames, size_t max)
{
	Dwarf_Die chain[CODE_FRAMES_MAX], mem, *cu;
	Dwarf_Files *files = NULL;
	Dwarf_Addr bias;
	size_t files_count;
	bool local = false;

	if (!awake(f))
		return 0;
	if (!f->dwarf_tried) {
		f->dwarf_tried = true;
		f->dwarf = dwfl_module_getdwarf(f->module, &f->dwarf_bias);
	}
	if (!f->dwarf)
		return 0;
	cu = dwfl_module_addrdie(f->module, pc + f->bias, &bias);
	bool by_ranges = !cu;
	if (by_ranges)
		cu = unit_by_ranges(f, pc + f->bias - f->dwarf_bias, &mem);
	size_t n = cu ? function_chain(f, cu, pc + f->bias - f->dwarf_bias, chain,
				       max < CODE_FRAMES_MAX ? max : CODE_FRAMES_MAX, &local)
		      : 0;
	memset(frames, 0, (n ? n : 1) * sizeof *frames);
	if (!line_place(f, by_ranges ? cu : NULL, pc, &frames[0]) && !n)
		return 0;
	if (n > 1 && dwarf_getsrcfiles(cu, &files, &files_count))
		files = NULL;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Die *die = &chain[n - 1 - i];
		const char *name = linkage_name(die);
		if (local && i + 1 == n)
			frames[i].function = table_name(f, pc);
		if (!name)
			name = dwarf_diename(die);
		if (name && !frames[i].function)
			frames[i].function = demangle(name);
		frames[i].inlined = i + 1 < n;
		if (frames[i].inlined)
			call_place(die, cu, files, &frames[i + 1]);
	}
	n = n ? n : 1;
	if (!frames[n - 1].function)
		frames[n - 1].function = table_name(f, pc);
	return n;
}
