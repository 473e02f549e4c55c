/* SPDX-License-Identifier: MIT
 *
 * proc.h - figures from /proc. Server thread, but for proc_path(), proc_read(), proc_own(),
 * proc_number(), proc_is_server() and proc_forget().
 */
#ifndef MT_COLLECT_PROC_H
#define MT_COLLECT_PROC_H

#include "base/arena.h"
#include "base/types.h"
#include "record/cost.h"

#pragma GCC visibility push(hidden)

struct server;
struct target;
struct module;

struct proc_figures {
	uint64_t rss_bytes, virtual_bytes, thread_count, target_cpu_ns, agent_cpu_ns;
	struct cost_sum hooks; /* the time in the program's calls, estimated */
	struct effort effort;  /* of all threads, once a second */
	uint64_t effort_allocations, effort_next_ns;
	uint64_t memory_bytes, memory_next_ns; /* resident part of the agent's mappings */
	uint64_t memory_of[PART_COUNT];        /* its parts */
	uint64_t room; /* that the target may still take, when the memory was measured; 0 = unknown
			*/
	uint64_t children, children_next_ns;
	char state;    /* of the target's first thread; 0 = unknown */
	uint32_t pass; /* in which any of the others changed */
};

/*
 * Processes are named by their NUMBERS in /proc, which may be of a pid namespace further out: there
 * a pid of here is another process. PROC_SELF: the calling process. 0: it is not in this /proc.
 */
#define PROC_SELF (-1)
#define PROC_PATH 80
/* The numbers of this process and of a child; 0 = none there, or the kernel cannot tell (before
 * 5.4). */
int proc_own(void);
int proc_number(int pid);
void proc_path(char path[PROC_PATH], int number, const char *file);
/* bytes, NUL-terminated; < 0 */
long proc_read(int number, const char *file, char *buf, size_t size);
bool proc_is_server(int number);              /* ... or was: a zombie has a name, too */
long proc_open(int number, const char *file); /* the file at its begin; < 0 */
void proc_close(long fd);
void proc_forget(void);     /* ... and begins without any */
void proc_keep(int target); /* a number; keeps open the files that a sealed server still reads */
/* a field of /proc/PID/stat as a number, 3 = state */
uint64_t proc_field(const char *stat, int field);
char proc_state(const char *stat);
uint64_t proc_digits(const char *at); /* the number that begins there; 0 */
/* the text after NAME: in /proc/PID/status; NULL = not found */
const char *proc_status(const char *status, const char *name);
uint64_t proc_status_number(const char *status, const char *name); /* ... as a number; 0 */
void proc_figures(struct server *s);
void proc_identity(struct target *target); /* exe, args */
void proc_file_of(struct module *m);       /* sets m->file where m->path is not enough */

#pragma GCC visibility pop

#endif
