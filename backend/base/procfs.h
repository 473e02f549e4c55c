/* SPDX-License-Identifier: MIT
 *
 * procfs.h - the fields of /proc/PID that a process tree needs. Any thread.
 */
#ifndef BASE_PROCFS_H
#define BASE_PROCFS_H

#include "base/base.h"

#include <sys/types.h>

struct proc_stat {
	char state; /* 'R', 'S', ... 'Z' = ended, not yet waited for */
	pid_t parent;
	unsigned threads;  /* 2 and more with state 'Z': only the first one has ended */
	bool ended;        /* all of its threads have; nobody has waited for it yet */
	bool has_memory;   /* false: it has ended, or ends; or it is the kernel's own */
	uint64_t start_ns; /* CLOCK_MONOTONIC, as near as the kernel's ticks (10 ms) tell it */
};

/* Whether a process gets on; zeroed before the first look. */
struct procfs_pace {
	uint64_t cpu_ns, moved_ns;
};

/* Its thread tid would run, or is stopped, and the process has had a cpu within the last ten
 * seconds: whoever waits for an answer of it waits on. */
bool procfs_lags(struct procfs_pace *pace, pid_t pid, pid_t tid);
/* The number under which /proc shows a process' memory, files and namespaces: its pid, or one of
 * its threads when the first one has ended. */
pid_t procfs_thread(pid_t pid);
/* It is gone, or none of its threads has memory any more. */
bool procfs_ended(pid_t pid);
/* Who traces this thread; 0 = nobody. */
pid_t procfs_tracer(pid_t tid);
/* pid may be a thread's. false: no such process, or no permission */
bool procfs_stat(pid_t pid, struct proc_stat *s);
bool procfs_name(pid_t pid, char *name, size_t size); /* as /proc/PID/comm has it */
/* Its command line with spaces, or the title that it has set instead, as ps shows them. */
bool procfs_title(pid_t pid, char *title, size_t size);
/* What the kernel says that it waits in, "do_wait"; false: nothing, or unknown. */
bool procfs_waits(pid_t pid, char *where, size_t size);
long procfs_uid(pid_t pid); /* the effective one; -1 = no such process */
/* What keeps it from running: MTW_STOP_SIGNAL, ..._TRACED, ..._FROZEN (its cgroup); 0 = nothing, or
 * it cannot be told. */
unsigned procfs_stopped(pid_t pid);
/* The executable; false: no permission. */
bool procfs_exe(pid_t pid, char *path, size_t size);
/* memtop's own number in /proc, which may be of a pid namespace further out; 0 = it is not there.
 */
pid_t procfs_self(void);
/* Its pid in the innermost of its pid namespaces, where that is not ours; else 0. */
pid_t procfs_inner(pid_t pid);
/* A process whose parent is `parent` and whose executable is `exe` (resolved); 0 = none. Looks at
 * every process. */
pid_t procfs_child(pid_t parent, const char *exe);
/* A child of `parent` in another pid namespace than ours, where its pid is `inner`; 0 = none. Looks
 * at every process. */
pid_t procfs_inner_child(pid_t parent, pid_t inner);
/* Calls fn for every process that started at or after since_ns (CLOCK_MONOTONIC) until it
 * returns true; returns whether it did. */
bool procfs_any(uint64_t since_ns, bool (*fn)(void *arg, pid_t pid), void *arg);
/* Does a mapping of the process have this name? 1, 0; -1 = no permission, or the process is
 * gone. */
int procfs_maps(pid_t pid, const char *name);
/* Opens the file that the process runs or maps as `path`, when that name was deleted or given to
 * another file since; -1 = no such mapping, or no permission (other files than the executable need
 * CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE). The agent's " (deleted)" behind path is ignored. */
int procfs_deleted(pid_t pid, const char *path);

#endif
