/* SPDX-License-Identifier: MIT
 *
 * room.c - the memory that the target may still take: the least of what the machine has available,
 * what the memory cgroups of the target leave, and what its own limits leave.
 *
 * A cgroup counts the page cache too; the inactive part of that is given back on demand, so it
 * counts as room. Inside a container the path in /proc/PID/cgroup may be the host's, which is not
 * mounted there: then the root of the mount is the container's own group. So every ancestor is
 * tried, and a missing file bounds nothing. (cgroup-v2.rst, "Memory"; cgroups(7); proc(5).)
 */
#include "collect/room.h"
#include "base/msg.h"
#include "base/prim_linux.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#define PATH_BYTES 1024
#define NO_LIMIT ((uint64_t)1 << 60) /* version 1 says "none" by a number of about 2^63 */

/* The files of one version of cgroups. */
struct version {
	const char *mount, *limit, *used, *cache; /* cache: its name in memory.stat */
};

static const struct version v2 = { "/sys/fs/cgroup", "memory.max", "memory.current",
				   "inactive_file " };
static const struct version v1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
				   "memory.usage_in_bytes", "total_inactive_file " };

/* The file's text; "" when it cannot be read. */
static const char *text_of(const char *path, char *text, size_t size)
{
	size_t n = 0;
	long fd = mt_prim_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);

	while (fd >= 0 && n + 1 < size) {
		long got = mt_prim_read_at(fd, text + n, size - 1 - n, n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	if (fd >= 0)
		mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	text[n] = 0;
	return text;
}

/* The number behind the first `name` that begins a line; UINT64_MAX = there is none. */
static uint64_t number_of(const char *text, const char *name)
{
	size_t len = strlen(name);
	uint64_t v = 0;

	while (text && strncmp(text, name, len)) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (!text)
		return UINT64_MAX;
	for (text += len; *text == ' ' || *text == '\t'; text++)
		;
	if (*text < '0' || *text > '9')
		return UINT64_MAX;
	for (; *text >= '0' && *text <= '9'; text++)
		v = v * 10 + (uint64_t)(*text - '0');
	return v;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t left_of(uint64_t limit, uint64_t used)
{
	if (limit >= NO_LIMIT || used == UINT64_MAX)
		return UINT64_MAX;
	return limit > used ? limit - used : 0;
}

static uint64_t of_group(const char *root, const struct version *v, const char *group)
{
	char path[PATH_BYTES], text[8192];
	uint64_t limit, used, cache;

	mt_format(path, sizeof(path), "%s%s%s/%s", root, v->mount, group, v->limit);
	limit = number_of(text_of(path, text, sizeof(text)), "");
	if (limit >= NO_LIMIT)
		return UINT64_MAX;
	mt_format(path, sizeof(path), "%s%s%s/%s", root, v->mount, group, v->used);
	used = number_of(text_of(path, text, sizeof(text)), "");
	mt_format(path, sizeof(path), "%s%s%s/memory.stat", root, v->mount, group);
	cache = number_of(text_of(path, text, sizeof(text)), v->cache);
	return left_of(limit, used == UINT64_MAX || cache > used ? used : used - cache);
}

/* `group` begins with '/'; it is cut step by step. */
static uint64_t of_groups(const char *root, const struct version *v, char *group)
{
	uint64_t room = UINT64_MAX;

	for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
		*end = 0;
		room = least(room, of_group(root, v, group));
	}
	return room;
}

/* Version 2 has the line "0::/PATH", version 1 "NUMBER:memory:/PATH". */
static uint64_t of_cgroups(const char *root, int pid)
{
	char path[PATH_BYTES], text[4096];
	uint64_t room = UINT64_MAX;

	mt_format(path, sizeof(path), "%s/proc/%d/cgroup", root, pid);
	text_of(path, text, sizeof(text));
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		char *group = strstr(line, ":/");
		if (group && !strncmp(line, "0::", 3))
			room = least(room, of_groups(root, &v2, group + 1));
		else if (group && (strstr(line, ":memory:") || strstr(line, ",memory:")))
			room = least(room, of_groups(root, &v1, group + 1));
	}
	return room;
}

/* RLIMIT_AS and RLIMIT_DATA, which bound what may be mapped. */
static uint64_t of_limits(const char *root, int pid)
{
	char path[PATH_BYTES], text[4096];
	uint64_t space, data;

	mt_format(path, sizeof(path), "%s/proc/%d/limits", root, pid);
	text_of(path, text, sizeof(text));
	space = number_of(text, "Max address space");
	data = number_of(text, "Max data size");
	if (least(space, data) >= NO_LIMIT)
		return UINT64_MAX;
	mt_format(path, sizeof(path), "%s/proc/%d/status", root, pid);
	text_of(path, text, sizeof(text));
	return least(left_of(space, number_of(text, "VmSize:") << 10),
		     left_of(data, number_of(text, "VmData:") << 10));
}

static uint64_t of_machine(const char *root)
{
	char path[PATH_BYTES], text[4096];

	mt_format(path, sizeof(path), "%s/proc/meminfo", root);
	uint64_t kib = number_of(text_of(path, text, sizeof(text)), "MemAvailable:");
	return kib == UINT64_MAX ? kib : kib << 10;
}

uint64_t room_left(const char *root, int pid)
{
	return least(of_machine(root), least(of_cgroups(root, pid), of_limits(root, pid)));
}
