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
 * "#!" leads to the interpreter, as in the kernel. The judge is memtop's, too: memtop/elf.h. This
 * code runs between vfork and exec, perhaps in a signal handler: no allocation, no libc function
 * that may take a lock, one descriptor that it closes again, errno kept. It makes only the system
 * calls of a loader that starts any dynamic program, because the program's own filter admits those:
 * fstatat, openat, pread, close, access.
 */
#include "follow/executable.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/syscalls.h"
#include "base/types.h"

#include <memtop/elf.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define HEAD_BYTES 1024 /* headers, names of interpreters and notes mostly lie in it */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_ARM
#endif
#if defined(__GLIBC__)
#define LIBC ELF_GLIBC
#elif defined(__BIONIC__)
#define LIBC ELF_BIONIC
#else
#define LIBC ELF_MUSL
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
	char head[HEAD_BYTES + 1];
};

static size_t read_at(void *file, void *to, size_t bytes, uint64_t at)
{
	const struct file *f = file;

	if (at <= f->have && bytes <= f->have - at) {
		memcpy(to, f->head + at, bytes);
		return bytes;
	}
	long n = mt_prim_read_at(f->fd, to, bytes, at);
	return n > 0 ? (size_t)n : 0;
}

/* glibc and musl have an agent each, side by side. */
static void judge(struct file *f, struct executable *x)
{
	struct elf_abi ours = { .bits = sizeof(void *) * 8,
				.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
				.machine = MACHINE,
				.libc = LIBC };
	struct elf e;

	elf_look(&e, read_at, f);
	x->linked = e.linked;
	x->other_libc = *e.interp && !e.linked && e.abi.libc != LIBC;
	if (LIBC != ELF_BIONIC && e.abi.libc != ELF_BIONIC)
		ours.libc = e.abi.libc;
	x->why = elf_judge(&e, &ours);
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

	for (int depth = 0; depth <= ELF_SCRIPT_DEPTH; depth++) {
		int is = look(x, &f, folder, path, empty);
		x->runs = is >= 0;
		if (is <= 0)
			return;
		const char *next = elf_script(f.head);
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
