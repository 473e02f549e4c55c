/* SPDX-License-Identifier: MIT
 *
 * modules.h - the modules loaded in another process, read from its memory. No file of the process
 * is opened, so another root or a library replaced on disk does not matter. Any thread.
 *
 * Needs the right to trace the process (/proc/PID/mem); nothing is stopped.
 */
#ifndef ATTACH_PTRACE_MODULES_H
#define ATTACH_PTRACE_MODULES_H

#include "base/base.h"
#include <sys/types.h>

#define INJECT_SEGMENTS 12
#define INJECT_AGENTS 16 /* other builds of the agent; more are not looked at */

struct inject_module {
	/* from its first to its last segment, zeroed data included; a gap between two is not its
	 * own */
	uint64_t start, end;
	struct {
		uint64_t start, end; /* whole pages */
	} segment[INJECT_SEGMENTS];  /* the last also covers those that do not fit */
	size_t segments;
	uint64_t text, text_end; /* its executable segments */
	uint64_t bias;
	/* addresses of its dynamic symbols; 0 = it has none */
	uint64_t symbols, strings, strings_bytes;
	uint64_t hash, gnu_hash; /* of DT_HASH, DT_GNU_HASH; 0 = none */
	char path[256];          /* as the process' maps show it, cut; "[vdso]" */
	bool program;            /* the executable */
	bool runs;               /* its code is mapped executable: true for all in the list */
};

struct inject_modules {
	pid_t pid;
	int mem;                    /* /proc/PID/mem, read and write */
	struct inject_module *list; /* by address */
	size_t count, room;
};

/* 0, or -errno: -EACCES and -EPERM where the kernel refuses. Release in each case. */
int inject_modules_read(pid_t pid, struct inject_modules *m);
void inject_modules_release(struct inject_modules *m);

/* `bytes` of the process' memory; -1 when not all of it is there. */
int inject_read(const struct inject_modules *m, uint64_t at, void *to, size_t bytes);
int inject_write(const struct inject_modules *m, uint64_t at, const void *from, size_t bytes);
/* Text that ends with a NUL, cut to what fits; "" = none. */
void inject_read_text(const struct inject_modules *m, uint64_t at, char *to, size_t size);

/* Address of a function or datum that o exports, 0 = none. */
uint64_t inject_module_symbol(const struct inject_modules *m, const struct inject_module *o,
			      const char *name);
/* The address from the first module that defines it, and that module in *where unless NULL. 0 =
 * none does. */
uint64_t inject_symbol(const struct inject_modules *m, const char *name,
		       const struct inject_module **where);
/* The loaded agents: memtop_attach of each, 0 = none, and where its module starts. */
struct inject_agents {
	uint64_t same; /* of the build that the file is of */
	struct {
		uint64_t attach, start;
	} other[INJECT_AGENTS]; /* of other builds */
	unsigned others;
};
/* path: NULL = all are others */
struct inject_agents inject_find_agents(const struct inject_modules *m, const char *path);
/* The agent's own reason why it has no session; "" = it has one, gives no reason, or cannot be
 * read. */
void inject_said(pid_t pid, char *to, size_t size);
const struct inject_module *inject_module_at(const struct inject_modules *m, uint64_t address);

#endif
