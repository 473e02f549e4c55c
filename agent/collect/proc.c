/* SPDX-License-Identifier: MIT
 *
 * proc.c - the target's figures from /proc and the kernel's clocks; the server reads them.
 *
 * What belongs to the memory (its size, the program's file and arguments) the server reads of
 * itself, who shares it: the kernel shows none of it for a target whose first thread has ended.
 *
 * Each reading uses raw calls and a buffer on the stack. A /proc that is missing or hidden gives
 * zeros, which viewers show as unknown.
 */
#include "collect/proc.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/thread_list.h"
#include "collect/memory.h"
#include "collect/room.h"
#include "collect/server.h"
#include "modules/maps.h"
#include "record/cost.h"
#include "unwind/unwind.h"

#include <fcntl.h>
#include <memtop/wire.h>
#include <sys/syscall.h>

#define CLOCK_OF_THREAD 3L /* CLOCK_THREAD_CPUTIME_ID: the server's own */
#define CLOCK_OF_PROCESS(pid) ((~(long)(pid) << 3) | 2) /* scheduler clock of that process */

/* Files that a sealed server still reads (server/privileges.c): the target's, then its own. */
#define KEPT_OF_TARGET 2
static const char *const kept_names[] = { "stat", "status", "statm",   "status",
					  "maps", "smaps",  "uid_map", "schedstat" };
#define KEPT (sizeof(kept_names) / sizeof(*kept_names))
static struct {
	int number;
	long fd;
} kept_file[KEPT]; /* number 0: not kept */

void proc_path(char path[PROC_PATH], int number, const char *file)
{
	if (number == PROC_SELF)
		mt_format(path, PROC_PATH, "/proc/self/%s", file);
	else
		mt_format(path, PROC_PATH, "/proc/%d/%s", number, file);
}

long proc_open(int number, const char *file)
{
	char path[PROC_PATH];

	for (size_t i = 0; i < KEPT; i++)
		if (number && kept_file[i].number == number && !strcmp(kept_names[i], file) &&
		    mt_prim_call(SYS_lseek, kept_file[i].fd, 0, 0 /* SEEK_SET */, 0, 0, 0) == 0)
			return kept_file[i].fd;
	proc_path(path, number, file);
	return mt_prim_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

void proc_close(long fd)
{
	for (size_t i = 0; i < KEPT; i++)
		if (kept_file[i].number && kept_file[i].fd == fd)
			return;
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* After a fork of the target they are its parent's. */
void proc_forget(void)
{
	memset(kept_file, 0, sizeof(kept_file));
}

void proc_keep(int target)
{
	for (size_t i = 0; i < KEPT; i++) {
		int number = i < KEPT_OF_TARGET ? target : PROC_SELF;
		kept_file[i].number = 0;
		kept_file[i].fd = proc_open(number, kept_names[i]);
		kept_file[i].number = kept_file[i].fd < 0 ? 0 : number;
	}
}

long proc_read(int number, const char *file, char *buf, size_t size)
{
	size_t n = 0;
	long fd = proc_open(number, file);

	buf[0] = 0;
	if (fd < 0)
		return fd;
	while (n + 1 < size) {
		long got =
			mt_prim_call(SYS_read, fd, (long)(buf + n), (long)(size - 1 - n), 0, 0, 0);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	buf[n] = 0;
	proc_close(fd);
	return (long)n;
}

uint64_t proc_digits(const char *at)
{
	uint64_t v = 0;

	while (*at >= '0' && *at <= '9')
		v = v * 10 + (uint64_t)(*at++ - '0');
	return v;
}

int proc_own(void)
{
	char is[16] = "";

	if (mt_prim_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self", (long)is, sizeof(is) - 1, 0,
			 0) <= 0)
		return 0;
	return (int)proc_digits(is);
}

int proc_number(int pid)
{
	char file[32], text[512];
	int own = proc_own(), known = 0;

	if (!own || own == mt_prim_getpid())
		return own ? pid : 0;
	long fd = mt_prim_call_seldom(SYS_pidfd_open, pid, 0, 0);
	if (fd < 0)
		return 0;
	mt_format(file, sizeof(file), "fdinfo/%d", (int)fd);
	if (proc_read(own, file, text, sizeof(text)) > 0)
		known = (int)proc_status_number(text, "Pid");
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return known > 0 ? known : 0;
}

bool proc_is_server(int number)
{
	char name[32];

	return proc_read(number, "comm", name, sizeof(name)) > 0 && !strcmp(name, "memtop-agent\n");
}

/* Fields are counted from behind the name, which may hold spaces and parentheses. */
static const char *after_name(const char *stat)
{
	const char *at = strrchr(stat, ')');

	return at && at[1] == ' ' ? at + 2 : NULL;
}

char proc_state(const char *stat)
{
	const char *at = after_name(stat);

	return at ? *at : 0;
}

const char *proc_status(const char *status, const char *name)
{
	size_t len = strlen(name);
	const char *at = status;

	while (at && (strncmp(at, name, len) || at[len] != ':')) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	for (at = at ? at + len + 1 : NULL; at && (*at == ' ' || *at == '\t'); at++)
		;
	return at;
}

uint64_t proc_status_number(const char *status, const char *name)
{
	const char *at = proc_status(status, name);

	return at ? proc_digits(at) : 0;
}

uint64_t proc_field(const char *stat, int field)
{
	const char *at = after_name(stat);

	for (int i = 3; at && i < field; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? proc_digits(at) : 0;
}

static uint64_t clock_of(long clock)
{
	long ts[2] = { 0, 0 };

	mt_prim_call(SYS_clock_gettime, clock, (long)ts, 0, 0, 0, 0);
	return (uint64_t)ts[0] * SECOND + (uint64_t)ts[1];
}

/* Both of one instant, for their ratio: the program's clock stays readable until somebody has
 * waited for it. The estimate never falls, as a clock. */
static void measure_cpu(struct server *s)
{
	struct proc_figures *f = &s->figures;
	struct cost_sum hooks;

	f->agent_cpu_ns = clock_of(CLOCK_OF_THREAD);
	uint64_t cpu = clock_of(CLOCK_OF_PROCESS(s->target.pid)),
		 ours = s->thread_mode ? f->agent_cpu_ns : 0;
	cpu = cpu > ours ? cpu - ours : 0;
	if (cpu < f->target_cpu_ns || (s->over && !cpu))
		return;
	f->target_cpu_ns = cpu;
	mt_cost_sum(&hooks);
	if (hooks.ns > f->hooks.ns)
		f->hooks = hooks;
}

static void sum_effort(struct server *s)
{
	const struct thread *t = atomic_load_explicit(&mt_threads, memory_order_acquire);

	memset(&s->figures.effort, 0, sizeof(s->figures.effort));
	for (; t; t = t->next)
		mt_unwind_effort(t, &s->figures.effort);
	s->figures.effort_allocations = s->sums.totals.alloc_blocks;
}

struct resident {
	uint64_t of[PART_COUNT];
	/* PAGE_ALONE; PAGE_THERE where a fork shares pages: then some are only zeros */
	unsigned char counts;
};

/* Adds the bytes of the pages that are there. */
static void add_resident(void *arg, enum part part, uintptr_t start, uintptr_t end)
{
	static unsigned char there[4096];
	struct resident *r = arg;
	size_t page = mt_prim_page_bytes(), slice = sizeof(there) * page;

	start &= ~(page - 1);
	for (uintptr_t at = start; at < end; at += slice) {
		size_t bytes = end - at < slice ? end - at : slice,
		       pages = (bytes + page - 1) / page;
		unsigned char counts = r->counts;
		if (!mt_prim_touched(at, pages, there)) { /* no /proc here */
			counts = 1;
			if (mt_prim_call(SYS_mincore, (long)at, (long)bytes, (long)there, 0, 0, 0) <
			    0)
				continue; /* gone meanwhile */
		}
		for (size_t i = 0; i < pages; i++)
			r->of[part] += there[i] & counts ? page : 0;
	}
}

/* The agent's memory use, from the kernel. Measured less often where that takes longer. */
static void measure_memory(struct server *s)
{
	struct resident r = { .counts = mt_state_shares_pages() ? PAGE_THERE : PAGE_ALONE };
	uint64_t begin = server_now(), sum = 0;

	mt_arena_each(add_resident, &r);
	memory_each(add_resident, &r);
	memcpy(s->figures.memory_of, r.of, sizeof(s->figures.memory_of));
	for (int i = 0; i < PART_COUNT; i++)
		sum += s->figures.memory_of[i];
	s->figures.memory_bytes = sum;
	if (!s->privileges.sealed && !s->over) {
		uint64_t room = room_left("", s->target.pid);
		s->figures.room = room == UINT64_MAX ? 0 : room;
	}
	mt_arena_tell(sum, s->sums.peak_bytes, s->figures.room);
	uint64_t took = server_now() - begin,
		 age = s->sums.pass_ns / 4; /* soon, while all is new */
	uint64_t pause = age < SECOND ? age : SECOND;
	s->figures.memory_next_ns = s->sums.pass_ns + (1000 * took > pause ? 1000 * took : pause);
}

/* Children of the main thread that still run the same program: they count by themselves. The
 * process that cloned the server is none (server/start.c); the first look may still find it. */
static uint64_t count_children(struct target *target)
{
	char file[48], list[4096], path[64], exe[512];
	int self = proc_own(),
	    above = mt_prim_getpid() == self ? (int)mt_prim_call(SYS_getppid, 0, 0, 0, 0, 0, 0) : 0;
	uint64_t n = 0;

	mt_format(file, sizeof(file), "task/%d/children", target->number);
	if (proc_read(target->number, file, list, sizeof(list)) <= 0)
		return 0;
	for (const char *at = list; *at >= '0' && *at <= '9';) {
		int pid = (int)proc_digits(at);
		mt_format(path, sizeof(path), "/proc/%d/exe", pid);
		long len = mt_prim_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)exe,
					sizeof(exe), 0, 0);
		n += len > 0 && (size_t)len == strlen(target->exe) &&
		     !memcmp(exe, target->exe, (size_t)len) && pid != self && pid != above;
		at = strchr(at, ' ');
		at = at ? at + 1 : "";
	}
	return n;
}

void proc_figures(struct server *s)
{
	char text[1024];
	uint64_t rss = s->figures.rss_bytes, virt = s->figures.virtual_bytes,
		 threads = s->figures.thread_count;
	uint64_t children = s->figures.children;

	measure_cpu(s);
	if (s->over || s->sums.pass_ns >= s->figures.effort_next_ns) {
		s->figures.effort_next_ns = s->sums.pass_ns + SECOND;
		sum_effort(s);
	}
	if (s->over || s->sums.pass_ns >= s->figures.memory_next_ns)
		measure_memory(s);
	if (s->over)
		return; /* the last figures stay */
	if (proc_read(PROC_SELF, "statm", text, sizeof(text)) > 0) {
		const char *second = strchr(text, ' ');
		virt = proc_digits(text) * mt_prim_page_bytes();
		rss = second ? proc_digits(second + 1) * mt_prim_page_bytes() : 0;
	}
	if (proc_read(s->target.number, "stat", text, sizeof(text)) > 0) {
		threads = proc_field(text, 20); /* qemu-user says 0 */
		threads -= threads && s->thread_mode;
		s->figures.state = proc_state(text);
	}
	if (s->sums.pass_ns >= s->figures.children_next_ns) {
		s->figures.children_next_ns = s->sums.pass_ns + SECOND;
		if (!s->privileges.sealed) /* another /proc may have been mounted meanwhile */
			s->target.number = proc_number(s->target.pid);
		mt_thread_number(s->target.number);
		children = count_children(&s->target);
	}
	if (rss != s->figures.rss_bytes || virt != s->figures.virtual_bytes ||
	    threads != s->figures.thread_count || children != s->figures.children)
		s->figures.pass = s->sums.pass;
	s->figures.rss_bytes = rss;
	s->figures.virtual_bytes = virt;
	s->figures.thread_count = threads;
	s->figures.children = children;
}

void proc_identity(struct target *target)
{
	char path[PROC_PATH];

	proc_path(path, PROC_SELF, "exe");
	long n = mt_prim_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)target->exe,
			      sizeof(target->exe) - 1, 0, 0);
	target->exe[n > 0 ? n : 0] = 0;
	n = proc_read(PROC_SELF, "cmdline", target->args, sizeof(target->args));
	target->args_len = n > 0 ? (size_t)n : 0;
}

/* The file that is mapped at addr, as the kernel names it: absolute, " (deleted)" behind when its
 * name is gone. */
static bool mapped_file(uintptr_t addr, char *file, size_t size)
{
	char text[MTW_STRING_MAX + 256];
	size_t have = 0;
	bool found = false;

	long fd = proc_open(PROC_SELF, "maps");
	while (fd >= 0 && !found) {
		long got = mt_prim_call(SYS_read, fd, (long)(text + have),
					(long)(sizeof(text) - 1 - have), 0, 0, 0);
		if (got <= 0)
			break;
		have += (size_t)got;
		text[have] = 0;
		char *line = text, *end;
		for (; !found && (end = strchr(line, '\n')); line = end + 1) {
			uintptr_t from, to;
			*end = 0;
			const char *name = strchr(line, '/');
			const char *at = line;
			from = mt_hex(&at);
			at += *at == '-';
			to = mt_hex(&at);
			found = name && addr >= from && addr < to;
			if (found)
				mt_format(file, size, "%s", name);
		}
		have = (size_t)(text + have - line);
		memmove(text, line, have);
	}
	if (fd >= 0)
		proc_close(fd);
	return found;
}

/*
 * The loader keeps the name that it was given. A relative one says nothing to a viewer, nor to us:
 * the program may stand elsewhere by now. So the kernel is asked, in the server, as soon as the
 * module is met; one that is gone by then keeps its relative name. A file whose name is gone is
 * still named by it where a build-id keeps viewers from taking its successor for it, else with the
 * kernel's words, which lead nowhere.
 */
void proc_file_of(struct module *m)
{
	static const char gone[] = " (deleted)";
	char file[MTW_STRING_MAX];
	bool relative = m->path[0] != '/';

	if (m->file || !strchr(m->path, '/') || (!relative && m->build_id_len) ||
	    !mapped_file(m->start, file, sizeof(file)))
		return;
	mt_maps_settle();
	if (atomic_load(&m->xflags) & MTW_MODULE_GONE)
		return; /* that may have been another's */
	size_t len = strlen(file), tail = sizeof(gone) - 1;
	bool deleted = len > tail && !strcmp(file + len - tail, gone);
	if (!relative && !deleted)
		return;
	if (deleted && m->build_id_len)
		file[len -= tail] = 0;
	char *kept = mt_arena_alloc(len + 1);
	if (kept)
		m->file = memcpy(kept, file, len + 1);
}
