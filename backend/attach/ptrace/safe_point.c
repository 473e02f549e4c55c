/* SPDX-License-Identifier: MIT
 *
 * safe_point.c - decides where a thread may be made to call dlopen.
 *
 * A thread that allocates blocks beyond the thread cache, stopped at random, is nearly always
 * inside the allocator, or in an mmap that the allocator made under its lock. A call of dlopen
 * deadlocks there. So:
 *
 *   running  its pc lies outside of the C library, the loader, the vdso, the unwinder and whatever
 *            defines malloc, and so does the pc that a signal handler on its stack interrupted.
 *            Code outside of them holds none of their locks except, in a constructor, the loader's
 *            own, which is recursive.
 *   waiting  in a call that waits for others (poll, read of a pipe, sleep ...), which no allocator
 *            makes under its lock; never in the loader's code. A futex counts only when its word
 *            lies outside of the libc, the loader and the head of an arena, and malloc is the
 *            libc's: then it is the program's own. On Android no futex counts: its allocators keep
 *            their locks anywhere.
 *
 * Where another library brings the allocator, a thread that sleeps or writes may be the allocator's
 * own (jemalloc's background threads, its statistics): then no return address on its stack may lie
 * in that library. No allocator waits for input, so there a return address is left over from a call
 * that has ended. A select counts as a sleep, as old code uses it.
 */
#include "attach/ptrace/safe_point.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (256 * 1024) /* of a stack that are looked through */
#define HEAP_ALIGN (8ull << 20)  /* glibc's arenas begin at such addresses, with huge pages too */
#define ARENA_BYTES 4096

enum kind { IDLE = 1, INPUT, READS, WRITES, FUTEX };

static const struct {
	long nr;
	enum kind kind;
} waits[] = {
#ifdef SYS_poll
	{ SYS_poll, INPUT },         { SYS_select, IDLE },
	{ SYS_epoll_wait, INPUT },   { SYS_pause, IDLE },
#endif
	{ SYS_ppoll, INPUT },        { SYS_pselect6, IDLE },
	{ SYS_epoll_pwait, INPUT },  { 441 /* epoll_pwait2 */, INPUT },
	{ SYS_nanosleep, IDLE },     { SYS_clock_nanosleep, IDLE },
	{ SYS_rt_sigsuspend, IDLE }, { SYS_rt_sigtimedwait, IDLE },
	{ SYS_wait4, IDLE },         { SYS_waitid, IDLE },
	{ SYS_accept, INPUT },       { SYS_accept4, INPUT },
	{ SYS_recvfrom, INPUT },     { SYS_recvmsg, INPUT },
	{ SYS_recvmmsg, INPUT },     { SYS_msgrcv, INPUT },
	{ SYS_io_getevents, IDLE },  { 426 /* io_uring_enter */, IDLE },
	{ SYS_read, READS },         { SYS_readv, READS },
	{ SYS_write, WRITES },       { SYS_writev, WRITES },
	{ SYS_sendto, IDLE },        { SYS_sendmsg, IDLE },
	{ SYS_futex, FUTEX },
};

static enum kind kind_of(long nr)
{
	for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
		if (waits[i].nr == nr)
			return waits[i].kind;
	return 0;
}

bool inject_waits(long nr)
{
	return kind_of(nr) != 0;
}

static bool is_on_fd(enum kind kind)
{
	return kind == READS || kind == WRITES;
}

/* The loader reads files on disk under its lock; reads of pipes, sockets and terminals wait. */
static bool on_disk(pid_t tid, unsigned long fd)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/fd/%lu", (int)tid, fd);
	return stat(path, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

/* 0: o is no C library. */
static uint64_t errno_location(const struct inject_modules *m, const struct inject_module *o,
			       bool *bionic)
{
	if (inject_module_symbol(m, o, "__libc_start_main"))
		return inject_module_symbol(m, o, "__errno_location");
	uint64_t at = inject_module_symbol(m, o, INJECT_BIONIC)
			      ? inject_module_symbol(m, o, "__errno")
			      : 0;
	*bionic |= at != 0;
	return at;
}

static bool is_loader(const struct inject_modules *m, const struct inject_module *o)
{
	return inject_module_symbol(m, o, "__tls_get_addr") ||
	       inject_module_symbol(m, o, "__loader_dlopen");
}

int inject_ground(struct inject_ground *g, const struct inject_modules *m)
{
	static const char *const locked[] = { "__libc_start_main",   "pthread_mutex_lock",
					      "_dl_rtld_di_serinfo", "_Unwind_Find_FDE",
					      "__tls_get_addr",      "__loader_dlopen",
					      "memtop_attach" };

	*g = (struct inject_ground){ .modules = m };
	for (size_t i = 0; i < m->count && i < sizeof g->inside; i++) {
		const struct inject_module *o = &m->list[i];
		bool ours = inject_module_symbol(m, o, "memtop_attach") != 0;
		bool malloc_here = inject_module_symbol(m, o, "malloc") != 0, start;

		g->inside[i] = malloc_here || !strcmp(o->path, "[vdso]");
		for (size_t k = 0; k < sizeof locked / sizeof locked[0]; k++)
			g->inside[i] |= !o->program && inject_module_symbol(m, o, locked[k]);
		uint64_t errno_at = errno_location(m, o, &g->bionic);
		start = errno_at != 0;
		if (start && !o->program && !g->libc) {
			g->libc = o;
			g->errno_location = errno_at;
		}
		if (malloc_here && !start && !ours &&
		    !inject_module_symbol(m, o, "__tls_get_addr")) {
			g->foreign_malloc = true;
			g->program_malloc |= o->program;
		}
	}
	if (!g->libc)
		return -1;
	/* its libdl.so */
	g->dlopen = g->bionic ? inject_symbol(m, "dlopen", NULL)
			      : inject_module_symbol(m, g->libc, "dlopen");
	g->dlerror = g->bionic ? inject_symbol(m, "dlerror", NULL)
			       : inject_module_symbol(m, g->libc, "dlerror");
	g->dlopen_flags = 2;            /* RTLD_NOW */
	if (!g->dlopen && !g->bionic) { /* before glibc 2.34; libdl may not be there */
		g->dlopen = inject_module_symbol(m, g->libc, "__libc_dlopen_mode");
		g->dlopen_flags |= (int)0x80000000; /* __RTLD_DLOPEN */
		g->dlerror = 0;
	}
	uint8_t code[65536];
	for (uint64_t at = g->libc->text; !g->gadget && at < g->libc->text_end;
	     at += sizeof code - 4) {
		size_t bytes =
			g->libc->text_end - at < sizeof code ? g->libc->text_end - at : sizeof code;
		long found = inject_read(m, at, code, bytes) ? -1 : inject_find_gadget(code, bytes);
		g->gadget = found < 0 ? 0 : at + (uint64_t)found;
	}
	return g->dlopen && g->errno_location && g->gadget ? 0 : -1;
}

static bool is_inside(const struct inject_ground *g, uint64_t at)
{
	const struct inject_module *o = inject_module_at(g->modules, at);

	return o && g->inside[o - g->modules->list];
}

/*
 * An interrupted wait is now a restart_syscall with the arguments of the first call. Among the
 * calls that it may stand for, only a futex with a time limit matters: its second argument is one
 * of a few numbers, and its first an address.
 */
static bool may_be_futex(uint64_t first, uint64_t second)
{
	uint64_t op = second & ~0x180ull; /* private, realtime */

	return first >= 4096 && first % 4 == 0 &&
	       (op == 0 /* WAIT */ || op == 9 /* WAIT_BITSET */ || op == 11 /* WAIT_REQUEUE_PI */);
}

static enum inject_promise promise_of(pid_t pid, pid_t tid)
{
	char path[64], text[256] = "";
	long nr;
	unsigned long first = 0, second = 0;

	snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	FILE *f = fopen(path, "re");
	if (f) {
		if (!fgets(text, sizeof text, f))
			*text = '\0';
		fclose(f);
	}
	if (!strncmp(text, "running", 7))
		return PROMISE_RUNS;
	if (sscanf(text, "%ld %lx %lx", &nr, &first, &second) < 1)
		return PROMISE_NONE;
	enum kind kind = nr == SYS_restart_syscall ? may_be_futex(first, second) ? FUTEX : IDLE
						   : kind_of(nr);
	if (!kind || (is_on_fd(kind) && on_disk(tid, first)))
		return PROMISE_RUNS;
	return kind == FUTEX ? PROMISE_FUTEX : PROMISE_IDLE;
}

static int best_first(const void *a, const void *b)
{
	const struct inject_candidate *x = a, *y = b;

	if (x->promise != y->promise)
		return (int)x->promise - (int)y->promise;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

struct inject_candidate *inject_candidates(pid_t pid, size_t *count)
{
	struct inject_candidate *list = NULL;
	size_t room = 0;
	char path[64];
	struct dirent *e;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	*count = 0;
	while (d && (e = readdir(d))) {
		int tid = atoi(e->d_name);
		if (tid <= 0)
			continue;
		GROW(list, room, *count + 1);
		list[*count].tid = tid;
		list[*count].promise = promise_of(pid, tid);
		++*count;
	}
	if (d)
		closedir(d);
	if (*count)
		qsort(list, *count, sizeof *list, best_first);
	return list;
}

/* Searches the thread's stack. True: a signal handler interrupted such code, or, where
 * `returns`, a return address lies in an allocator that is not the libc's. */
static bool stack_forbids(const struct inject_ground *g, const struct inject_thread *t,
			  bool returns)
{
	const struct inject_modules *m = g->modules;
	uint64_t sp = inject_regs_sp(&t->regs) & ~7ull;
	uint8_t code[16];
	bool bad = false;
	uint64_t *words = xmalloc(STACK_BYTES);
	ssize_t got = pread(m->mem, words, STACK_BYTES, (off_t)sp);

	for (ssize_t i = 0; i < got / 8 && !bad; i++) {
		const struct inject_module *o = inject_module_at(m, words[i]);
		uint64_t pc;
		if (!o || words[i] < o->text || words[i] >= o->text_end)
			continue;
		if (returns && g->inside[o - m->list] && o != g->libc && !o->program &&
		    inject_module_symbol(m, o, "malloc"))
			bad = true;
		if (inject_read(m, words[i], code, sizeof code) || !inject_is_sigreturn(code))
			continue;
		uint64_t at = inject_frame_pc(sp + (uint64_t)i * 8);
		bad = bad || !at || inject_read(m, at, &pc, sizeof pc) || is_inside(g, pc);
	}
	free(words);
	return bad;
}

/* Android's nanosleep is the system call and nothing else; its arguments may look like a futex'
 * own. */
static bool in_nanosleep(const struct inject_ground *g, const struct inject_thread *t)
{
	uint64_t at = g->bionic ? inject_module_symbol(g->modules, g->libc, "nanosleep") : 0,
		 pc = inject_regs_pc(&t->regs);

	return at && pc >= at && pc < at + INJECT_CODE_BYTES;
}

/* Does the futex word belong to the program? */
static bool own_futex(const struct inject_ground *g, const struct inject_thread *t)
{
	uint64_t word = inject_regs_arg(&t->regs, 0), op = inject_regs_arg(&t->regs, 1) & 0x7f;

	return !g->foreign_malloc && !g->bionic &&
	       (op == 0 /* WAIT */ || op == 9 /* WAIT_BITSET */) && !is_inside(g, word) &&
	       word % HEAP_ALIGN >= ARENA_BYTES;
}

static enum inject_where judge_wait(const struct inject_ground *g, const struct inject_thread *t,
				    long nr)
{
	enum kind kind =
		nr != SYS_restart_syscall ? kind_of(nr)
		: may_be_futex(inject_regs_arg(&t->regs, 0), inject_regs_arg(&t->regs, 1)) &&
				!in_nanosleep(g, t)
			? FUTEX
			: IDLE;
	const struct inject_module *o = inject_module_at(g->modules, inject_regs_pc(&t->regs));

	if (!kind || (kind == FUTEX && !own_futex(g, t)) ||
	    (is_on_fd(kind) && on_disk(t->tid, inject_regs_arg(&t->regs, 0))))
		return WHERE_WAITS;
	if (o && o != g->libc && is_loader(g->modules, o))
		return WHERE_WAITS;
	return stack_forbids(g, t, g->foreign_malloc && kind != INPUT && kind != READS)
		       ? WHERE_WAITS
		       : WHERE_IDLE;
}

enum inject_where inject_judge(const struct inject_ground *g, const struct inject_thread *t)
{
	uint8_t code[INJECT_CODE_BYTES] = { 0 };
	uint64_t pc = inject_regs_pc(&t->regs);
	bool eintr;

	inject_read(g->modules, pc - INJECT_CODE_BYTES / 2, code, sizeof code);
	long nr = inject_regs_syscall(&t->regs, code, &eintr);
	if (nr >= 0)
		return judge_wait(g, t, nr);
	return is_inside(g, pc) || stack_forbids(g, t, false) ? WHERE_INSIDE : WHERE_SAFE;
}
