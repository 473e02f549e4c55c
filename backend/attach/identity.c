/* SPDX-License-Identifier: MIT
 *
 * identity.c - see identity.h.
 */
#include "attach/identity.h"

#include "base/procfs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CLOCKS_NS 100000000u /* two looks at one start differ by less */

static int open_memory(pid_t thread)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/mem", (int)thread);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Zeros where it cannot be read. */
static void read_vector(pid_t thread, char vector[IDENTITY_VECTOR])
{
	char path[64];

	memset(vector, 0, IDENTITY_VECTOR);
	snprintf(path, sizeof path, "/proc/%d/auxv", (int)thread);
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	if (!fread(vector, 1, IDENTITY_VECTOR, f))
		*vector = 0;
	fclose(f);
}

void attach_identity_take(struct attach_identity *i, pid_t pid)
{
	struct proc_stat s;

	*i = (struct attach_identity){ .pid = pid, .thread = procfs_thread(pid) };
	i->mem = open_memory(i->thread);
	read_vector(i->thread, i->vector);
	if (!procfs_ended(pid) && procfs_stat(pid, &s))
		i->start_ns = s.start_ns;
}

/* Did the rights to look change? Another program may have others. */
static bool is_open_now(pid_t thread)
{
	int mem = open_memory(thread);

	if (mem >= 0)
		close(mem);
	return mem >= 0;
}

enum identity attach_identity_look(const struct attach_identity *i)
{
	struct proc_stat s;
	char byte, vector[sizeof i->vector];

	if (!i->start_ns)
		return IDENTITY_SAME;
	if (procfs_ended(i->pid) || !procfs_stat(i->pid, &s) ||
	    s.start_ns > i->start_ns + CLOCKS_NS)
		return IDENTITY_ENDED;
	if (!procfs_stat(i->thread, &s) || !s.has_memory)
		return IDENTITY_OTHER;
	/* nothing is mapped at 0: an error as long as the memory lives */
	if (i->mem < 0 ? is_open_now(i->thread) : pread(i->mem, &byte, 1, 0) == 0)
		return IDENTITY_OTHER;
	read_vector(i->thread, vector);
	return memcmp(vector, i->vector, sizeof vector) ? IDENTITY_OTHER : IDENTITY_SAME;
}

void attach_identity_release(struct attach_identity *i)
{
	if (i->mem >= 0)
		close(i->mem);
	i->mem = -1;
}
