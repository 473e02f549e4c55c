/* SPDX-License-Identifier: MIT
 *
 * descriptors.c - closes every descriptor that the server inherited.
 *
 * close_range() does it in one call (Linux 5.9). On older kernels, and under filters that refuse
 * the call, the descriptors that /proc lists are closed: a table may have room for a million, and
 * the program waits meanwhile. Closing while the list is read skips nothing, because the kernel
 * lists by number. The list is believed only when it names its own descriptor: /proc may be absent,
 * another pid namespace's, or no proc at all. Without a list each number is closed.
 */
#include "server/descriptors.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/syscalls.h"
#include "base/types.h"

#include <fcntl.h>

#define LEAST_TABLE 65536u /* tried at least: the limit may have been higher before */
#define MOST_TABLE (1u << 20)

/* linux_dirent64 */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/* -1: "." and "..", or no number. */
static long number(const char *name)
{
	long n = *name ? 0 : -1;

	for (; n >= 0 && *name; name++)
		n = *name >= '0' && *name <= '9' ? n * 10 + *name - '0' : -1;
	return n;
}

/* Closes the descriptors that `list` names, except `list`. False: it does not name itself, or
 * cannot be read. */
static bool close_listed(long list)
{
	_Alignas(struct entry) char buf[2048];
	bool itself = false;
	long got;

	while ((got = mt_prim_call(SYS_getdents64, list, (long)buf, sizeof(buf), 0, 0, 0)) > 0) {
		for (long at = 0; at < got;) {
			const struct entry *e = (const void *)(buf + at);
			long fd = number(e->name);
			if (fd == list)
				itself = true;
			else if (fd >= 0)
				mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
			at += e->bytes;
		}
	}
	return itself && !got;
}

/* The calling thread's: it may have a table of its own. */
static bool close_by_list(void)
{
	char path[64];

	mt_format(path, sizeof(path), "/proc/self/task/%d/fd", mt_prim_gettid());
	mt_prim_call(SYS_close, 0, 0, 0, 0, 0, 0); /* the table may be full */
	long list = mt_prim_call(SYS_openat, AT_FDCWD, (long)path,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
	if (list < 0)
		return false;
	bool whole = close_listed(list);
	mt_prim_call(SYS_close, list, 0, 0, 0, 0, 0);
	return whole;
}

void descriptors_close(void)
{
	uint64_t limit[2] = { 0, 0 };

	if (mt_prim_call_seldom(SYS_close_range, 0, ~0u, 0) == 0 || close_by_list())
		return;
	mt_prim_call(SYS_prlimit64, 0, 7 /* RLIMIT_NOFILE */, 0, (long)limit, 0, 0);
	uint64_t top = limit[0] < LEAST_TABLE  ? LEAST_TABLE
		       : limit[0] > MOST_TABLE ? MOST_TABLE
					       : limit[0];
	for (uint64_t fd = 0; fd < top; fd++)
		mt_prim_call(SYS_close, (long)fd, 0, 0, 0, 0, 0);
}
