/* SPDX-License-Identifier: MIT
 *
 * target_exit.c - is the target still there, and is it still the same program?
 *
 * End: the pidfd reports it (all threads gone), or /proc where there is no pidfd. By then every
 * counter is final, and lies in memory that this process holds as well. The exit status is in /proc
 * while the target is a zombie, for readers with ptrace rights. After that the pidfd tells, on
 * kernels that can (6.15); else the program's own announcement on its way out. Otherwise the status
 * is unknown, and viewers are told so.
 *
 * Exec: the target then has another memory, and kcmp compares the two. Where kcmp is refused (most
 * containers, and programs that are not dumpable) the peak of the address space tells. It never
 * falls, so a target in this memory cannot show less than seen before, nor more than seen
 * afterwards. Nothing else is believed: not an announced exec, nor another name of the executable.
 *
 * Memory of the dead: a viewer on a slow link must not keep a dead target's gigabytes. But the
 * memory may have other users: a child of vfork, a process cloned with CLONE_VM. So the server
 * unmaps nothing here. It forks, the copy continues in its own address space and unmaps what no
 * viewer needs, and the old process leaves the shared memory to its other users. A target that has
 * announced its end still runs on its memory, for as long as it waits for us and its last handlers
 * take: only the kernel says when it is gone.
 */
#include "server/target_exit.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/syscalls.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "collect/proc.h"
#include "collect/server.h"
#include "collect/shared.h"
#include "modules/maps.h"
#include "modules/segments.h"
#include "dump/preconditions.h"
#include "server/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <memtop/wire.h>
#include <poll.h>
#include <sched.h>

#define STRANGE_LOOKS 4
#define STATUS_TRIES 20                  /* 1 ms apart: the parent may be reaping right now */
#define TASK_EXITING 4u                  /* PF_EXITING of field 9 in /proc/PID/stat */
#define PIDFD_GET_INFO_CALL 0xc040ff0bul /* _IOWR(0xff, 11, struct pidfd_info of 64 bytes) */
#define PIDFD_SAYS_EXIT 8u

struct pidfd_info_v0 {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code;
};

/* <0 error, 0 same memory, >0 another */
static long ask_kcmp(struct target *target)
{
	return mt_prim_call_seldom(SYS_kcmp, mt_prim_getpid(), target->pid, KCMP_VM);
}

enum memory { MEMORY_SAME, MEMORY_OTHER, MEMORY_UNKNOWN };

/* In KiB, as /proc shows it to everybody; 0 = unknown, or it has no memory (any more). */
static uint64_t peak_of(int number, uint64_t *size)
{
	char text[2048];

	if (proc_read(number, "status", text, sizeof(text)) <= 0)
		return 0;
	if (size)
		*size = proc_status_number(text, "VmSize");
	return proc_status_number(text, "VmPeak");
}

/*
 * The peaks of two programs may happen to be equal, and of a program that executes itself they
 * often are. After an exec was announced that is ruled out: we raise ours by a page, and the
 * target's must follow.
 */
static enum memory raise_peak(int target, uint64_t size, uint64_t peak)
{
	size_t bytes = (size_t)(peak - size) * 1024 + mt_prim_page_bytes();
	void *more = mt_prim_map_nothing(bytes);

	if (!more)
		return MEMORY_UNKNOWN;
	uint64_t ours = peak_of(PROC_SELF, NULL), theirs = peak_of(target, NULL);
	mt_prim_call(SYS_munmap, (long)more, (long)bytes, 0, 0, 0, 0);
	if (!theirs || ours <= peak)
		return MEMORY_UNKNOWN;
	return theirs < ours ? MEMORY_OTHER : MEMORY_SAME;
}

static enum memory compare_peaks(struct target *target)
{
	uint64_t size, before = peak_of(PROC_SELF, NULL), theirs = peak_of(target->number, NULL),
		       after = peak_of(PROC_SELF, &size);

	if (!before || !theirs || !after)
		return MEMORY_UNKNOWN;
	if (theirs < before || theirs > after)
		return MEMORY_OTHER;
	return target->exec_pending ? raise_peak(target->number, size, after) : MEMORY_SAME;
}

static enum memory compare_memory(struct target *target)
{
	long differ = target->kcmp_works ? ask_kcmp(target) : -1;

	if (differ >= 0)
		return differ ? MEMORY_OTHER : MEMORY_SAME;
	return compare_peaks(target);
}

void target_begin(struct server *s)
{
	s->target.kcmp_works = !s->thread_mode && ask_kcmp(&s->target) == 0;
}

static void set_state(struct server *s, unsigned state, unsigned status, bool known)
{
	s->state.what = state;
	s->state.status = status;
	s->state.known = known;
	s->state.ns = server_now();
	s->state.serial++;
}

static void set_wait_status(struct server *s, uint32_t code)
{
	if (code & 0x7f)
		set_state(s, MTW_SIGNALLED, code & 0x7f, true);
	else
		set_state(s, MTW_EXITED, code >> 8 & 0xff, true);
}

/* Field 52 of a zombie's stat is its wait status, or 0 for a reader without ptrace rights: that
 * hides a crash of a program that gave up its user or is not dumpable. A 0 counts only if the
 * program announced it, or if this process has those rights. False: not a zombie (any more), or
 * hidden. */
static bool zombie_status(struct server *s)
{
	char text[1024];
	bool zero_counts = atomic_load(&s->shared->xexit) == 1 || privileges_over_target(s);

	if (proc_read(s->target.number, "stat", text, sizeof(text)) <= 0)
		return false;
	char state = proc_state(text);
	if (state != 'Z' && state != 'X')
		return false;
	uint32_t code = (uint32_t)proc_field(text, 52);
	if (!code && !zero_counts)
		return false;
	set_wait_status(s, code);
	return true;
}

static bool pidfd_status(struct server *s)
{
	struct pidfd_info_v0 info = { .mask = PIDFD_SAYS_EXIT };

	if (s->target.pid_fd < 0 ||
	    mt_prim_call(SYS_ioctl, s->target.pid_fd, (long)PIDFD_GET_INFO_CALL, (long)&info, 0, 0,
			 0) != 0 ||
	    !(info.mask & PIDFD_SAYS_EXIT))
		return false;
	set_wait_status(s, (uint32_t)info.exit_code);
	return true;
}

static void set_announced(struct server *s, uint32_t said)
{
	bool known = said && said != EXITS;

	set_state(s, MTW_EXITED, known ? said - 1 : 0, known);
}

static void learn_status(struct server *s)
{
	for (int i = 0; i < STATUS_TRIES; i++) {
		long ms[2] = { 0, 1000000 };
		if (pidfd_status(s) || zombie_status(s))
			return;
		mt_prim_call(SYS_nanosleep, (long)ms, 0, 0, 0, 0, 0);
	}
	uint32_t said = atomic_load(&s->shared->xexit);
	set_announced(s, said);
}

static bool is_gone(struct target *target)
{
	char text[1024];

	if (target->pid_fd >= 0) {
		struct pollfd p = { target->pid_fd, POLLIN, 0 };
		long none[2] = { 0, 0 };
		return mt_prim_call(SYS_ppoll, (long)&p, 1, (long)none, 0, 8, 0) > 0;
	}
	if (proc_read(target->number, "stat", text, sizeof(text)) <= 0)
		return mt_prim_call(SYS_kill, target->pid, 0, 0, 0, 0, 0) == -ESRCH;
	/* A zombie leader may have threads that go on; alone it is the end of all. */
	return proc_state(text) == 'Z' && proc_field(text, 20) <= 1;
}

/*
 * Without kcmp three files are read: once a second, and while an exec is under way. While mremap
 * moves a mapping the kernel counts it twice, so that a peak may be too high for a moment (of
 * 20,000 looks at a program that does nothing else, 12 were deceived): it takes several looks in a
 * row.
 */
static bool looks_strange(struct target *target, bool second)
{
	if (target->kcmp_works)
		return compare_memory(target) == MEMORY_OTHER;
	if (!second && !target->exec_pending && !target->strange)
		return false;
	target->strange = compare_memory(target) == MEMORY_OTHER ? target->strange + 1 : 0;
	return target->strange >= STRANGE_LOOKS;
}

static bool has_execed(struct target *target, bool second)
{
	char text[1024];

	if (!looks_strange(target, second))
		return false;
	/* A leader that ends has no memory, long before it is a zombie or the process is gone: that
	 * is no exec. */
	return proc_read(target->number, "stat", text, sizeof(text)) > 0 &&
	       proc_state(text) != 'Z' && proc_state(text) != 'X' &&
	       !(proc_field(text, 9) & TASK_EXITING) && compare_memory(target) == MEMORY_OTHER;
}

/* The announced exit that ends the session before the kernel tells of it; 0: none. */
static uint32_t announced(const struct server *s)
{
	uint32_t said = atomic_load(&s->shared->xexit);
	bool counts = s->dies_along || (said != EXITS && dump_at_status((int)said - 1));

	return said && counts ? said : 0;
}

bool target_announced(const struct server *s)
{
	return announced(s) != 0;
}

static bool is_announced(struct server *s)
{
	uint32_t said = announced(s);

	s->target.announced = said;
	if (said)
		set_announced(s, said);
	return said;
}

/* A raw thread keeps the process alive when all others are gone: it must go by itself. */
static bool thread_mode_over(struct server *s)
{
	char text[1024];

	if (proc_read(s->target.number, "stat", text, sizeof(text)) > 0 &&
	    proc_state(text) == 'Z' && proc_field(text, 20) <= 2) {
		set_state(s, MTW_EXITED, 0, false);
		return true;
	}
	return false;
}

/* A process of its own sees the end. */
static bool process_mode_over(struct server *s, bool second)
{
	if (is_gone(&s->target)) {
		/* An exec under way and not taken back has come off: that is another program's
		 * end. */
		if (atomic_load(&s->shared->xexec_futex) != EXEC_NONE)
			set_state(s, MTW_EXECED, 0, true);
		else
			learn_status(s);
		return true;
	}
	if (!has_execed(&s->target, second) || is_gone(&s->target))
		return false;
	set_state(s, MTW_EXECED, 0, true);
	return true;
}

bool target_check(struct server *s, bool second)
{
	if (is_announced(s) ||
	    (s->thread_mode ? thread_mode_over(s) : process_mode_over(s, second)))
		return true;
	if (second)
		privileges_follow(s);
	return false;
}

/* One line of /proc/PID/maps: private, without a file, neither the kernel's nor the agent's. */
static bool of_the_dead(const char *line, uintptr_t start, uintptr_t end)
{
	const char *mode = strchr(line, ' ');
	const char *bracket;

	if (!mode || mode[4] != 'p' || (mode[1] == '-' && mode[2] == '-'))
		return false;
	const char *inode = strstr(mode + 6, " 00:00 0");
	if (!inode)
		return false;
	bracket = strchr(inode, '[');
	if (bracket && strncmp(bracket, "[heap]", 6) && strncmp(bracket, "[anon", 5))
		return false;
	if (mt_arena_owns(start, end) || memory_owns(start, end))
		return false;
	for (uint32_t i = 0; i < mt_maps_count(); i++) {
		const struct module *m = mt_maps_module(i);
		uint32_t flags = m ? atomic_load(&m->xflags) : 0;
		bool needed = flags & (MTW_MODULE_AGENT | MTW_MODULE_LIBC | MTW_MODULE_VDSO);
		if (needed && mt_maps_overlaps(m, start - 4096, end))
			return false;
	}
	uintptr_t mine[] = { (uintptr_t)&mt_conf, (uintptr_t)&mt_state, (uintptr_t)&mt_epoch,
			     (uintptr_t)&mt_start_ns };
	for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++)
		if (mine[i] >= start && mine[i] < end)
			return false;
	return true;
}

/* The list must be complete before the first range is unmapped, because that changes the file. NULL
 * = the list cannot be made. */
static char *list_mappings(void)
{
	for (size_t size = 1u << 20; size <= 64u << 20; size *= 2) {
		char *text = memory_map(size);
		if (!text)
			return NULL;
		long n = proc_read(PROC_SELF, "maps", text, size);
		if (n > 0 && n + 1 < (long)size)
			return text;
		memory_unmap(text, size);
		if (n <= 0)
			return NULL;
	}
	return NULL;
}

/* In an address space that nobody else has. */
static void unmap_the_dead(char *list)
{
	for (char *line = list, *next; (next = strchr(line, '\n')); line = next + 1) {
		*next = 0;
		const char *at = line;
		uintptr_t start = mt_hex(&at);
		at += *at == '-';
		uintptr_t end = mt_hex(&at);
		if (end > start && of_the_dead(line, start, end))
			mt_prim_call(SYS_munmap, (long)start, (long)(end - start), 0, 0, 0, 0);
	}
}

static void take_along(void *arg, enum part part, uintptr_t start, uintptr_t end)
{
	(void)arg;
	(void)part;
	mt_prim_call(SYS_madvise, (long)start, (long)(end - start), 11 /* MADV_DOFORK */, 0, 0, 0);
}

bool target_left(struct target *target)
{
	return !target->announced || is_gone(target);
}

/* CLONE_PARENT: the copy gets this process's parent, and is as invisible to it. An orphan would go
 * to the next reaper, which may be the target's new program. */
void target_release(struct server *s)
{
	struct shared *own = s->thread_mode ? NULL : memory_map(sizeof(*own));
	char *list = own ? list_mappings() : NULL;

	if (!list)
		return;
	if (!memory_each(take_along, NULL))
		return; /* not all that we need would be in the copy */
	long pid = mt_prim_call(SYS_clone, CLONE_PARENT, 0, 0, 0, 0, 0);
	if (pid < 0)
		viewers_notice(&s->notices, -1, -1,
			       "the system refuses the agent's server a copy of itself: the memory "
			       "of the program that has ended stays until the last viewer is gone");
	if (pid > 0) {
		atomic_store(&s->shared->xstate_futex, SERVER_ENDED);
		mt_prim_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	}
	if (pid == 0) {
		/* the old one is wiped in a copy; its words are for the target's threads */
		s->shared = own;
		unmap_the_dead(list);
		memory_unmap(list, 0);
	}
}
