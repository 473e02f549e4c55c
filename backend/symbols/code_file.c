/* SPDX-License-Identifier: MIT
 *
 * code_file.c - finds and opens a module's file. libdw is used only here, in symbols/debug_files.c,
 * symbols/elf_names.c and symbols/dwarf_lines.c.
 *
 * Each file gets a Dwfl of its own at load address 0, so that pc, ELF address and libdw's address
 * are one number. symbols/debug_files.c finds separate debug files; this file identifies the module
 * itself, by its build-id.
 */
#include "symbols/code_file.h"

#include "base/procfs.h"
#include "base/within.h"
#include "symbols/demangle.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_MOST 65536 /* bytes, of all machines */

int code_file_fd_max = 512;

struct code_file {
	char *path; /* owned; as it was opened */
	int fd;     /* to read it again after a rest; -1 = it takes none */
	Dwfl *dwfl; /* NULL: no file, or at rest */
	Dwfl_Module *module;
	Dwfl_Callbacks callbacks;
	char *debug_path, *given; /* debug points to them */
	struct debug_files debug;
	GElf_Addr bias;            /* libdw's address - ELF address */
	struct elf_names *names;   /* made when it is asked for the first */
	struct dwarf_lines *lines; /* likewise */
	bool has_dwarf;            /* the last `lines` had some */
	struct code_stat is;       /* ino 0: no file */
	uint64_t debug_bytes;      /* size of the debug file that `lines` read */
};

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
	struct stat st;

	f->path = xstrdup(path);
	f->fd = fd;
	if (!fstat(fd, &st))
		f->is = (struct code_stat){ st.st_dev, st.st_ino, (uint64_t)st.st_size,
					    (uint64_t)st.st_mtim.tv_sec * 1000000000u +
						    (uint64_t)st.st_mtim.tv_nsec };
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
	dwarf_lines_free(f->lines);
	f->lines = NULL;
	drop_dwfl(f);
}

void code_file_rest(struct code_file *f)
{
	if (f->fd >= 0)
		forget(f);
}

bool code_file_has_dwarf(const struct code_file *f)
{
	return f->has_dwarf;
}

bool code_file_stat(const struct code_file *f, struct code_stat *is)
{
	*is = f->is;
	return f->path != NULL;
}

uint64_t code_file_bytes(const struct code_file *f)
{
	return f->is.size + f->debug_bytes;
}

void code_file_give(struct code_file *f, const struct code_where *where, const char *path)
{
	char other[8] = "x";

	if (f->given && !strcmp(f->given, path))
		return; /* for another process */
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

static void read_lines(struct code_file *f)
{
	const char *main_file, *debug_file = NULL;
	struct stat st;

	f->lines = dwarf_lines_new(f->module, f->bias);
	f->has_dwarf = dwarf_lines_exist(f->lines);
	dwfl_module_info(f->module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
	f->debug_bytes = debug_file && !stat(debug_file, &st) ? (uint64_t)st.st_size : 0;
}

size_t code_file_lines(struct code_file *f, uint64_t pc, struct code_frame *frames, size_t max)
{
	bool local;

	if (!awake(f))
		return 0;
	if (!f->lines)
		read_lines(f);
	size_t n = dwarf_lines_at(f->lines, pc, frames, max, &local);
	struct code_frame *outer = &frames[n ? n - 1 : 0];
	char *name = n && (local || !outer->function) ? table_name(f, pc) : NULL;
	if (name) {
		free(outer->function);
		outer->function = name;
	}
	return n;
}
