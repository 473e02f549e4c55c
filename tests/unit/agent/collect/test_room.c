/* SPDX-License-Identifier: MIT
 *
 * test_room.c - collect/room.c on made-up files of /proc and /sys.
 */
#include "check.h"
#include "collect/room.h"

#include <stdio.h>
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

static char root[] = "/tmp/memtop-room-XXXXXX";

static void end(void)
{
	char command[64];

	snprintf(command, sizeof command, "rm -rf %s", root);
	CHECK_EQ(system(command), 0);
}

static void begin(void)
{
	CHECK(mkdtemp(root));
}

static void put(const char *file, const char *text)
{
	char command[600], path[256];

	snprintf(path, sizeof path, "%s%s", root, file);
	snprintf(command, sizeof command, "mkdir -p \"$(dirname %s)\"", path);
	CHECK_EQ(system(command), 0);
	FILE *f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

TEST(nothing_that_can_be_read)
{
	begin();
	CHECK_EQ(room_left(root, 7), UINT64_MAX);
	end();
}

TEST(what_the_machine_has_available)
{
	begin();
	put("/proc/meminfo", "MemTotal:  8388608 kB\nMemFree: 1 kB\nMemAvailable:    4096 kB\n");
	CHECK_EQ(room_left(root, 7), 4 * MIB);
	end();
}

TEST(version_2_of_cgroups_and_containers)
{
	begin();
	put("/proc/meminfo", "MemAvailable:    1048576 kB\n");
	put("/proc/7/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("/sys/fs/cgroup/a/b/memory.current", "10\n");
	CHECK_EQ(room_left(root, 7), 1024 * MIB);
	/* an ancestor's limit; its inactive page cache is room */
	put("/sys/fs/cgroup/a/memory.max", "104857600\n");
	put("/sys/fs/cgroup/a/memory.current", "62914560\n");
	put("/sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 20971520\nactive_file 7\n");
	CHECK_EQ(room_left(root, 7), 60 * MIB);
	put("/sys/fs/cgroup/a/memory.current", "209715200\n"); /* above its limit */
	CHECK_EQ(room_left(root, 7), 0);
	/* the host's path, inside a container: its group is the mount's root */
	put("/proc/7/cgroup", "0::/host/path\n");
	CHECK_EQ(room_left(root, 7), 1024 * MIB);
	put("/sys/fs/cgroup/memory.max", "3145728\n");
	put("/sys/fs/cgroup/memory.current", "1048576\n");
	CHECK_EQ(room_left(root, 7), 2 * MIB);
	end();
}

TEST(version_1_of_cgroups)
{
	begin();
	put("/proc/meminfo", "MemAvailable:    1048576 kB\n");
	put("/proc/8/cgroup", "12:cpu:/x\n5:hugetlb,memory:/y\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
	CHECK_EQ(room_left(root, 8), 1024 * MIB);
	put("/sys/fs/cgroup/memory/y/memory.limit_in_bytes", "8388608\n");
	put("/sys/fs/cgroup/memory/y/memory.usage_in_bytes", "4194304\n");
	put("/sys/fs/cgroup/memory/y/memory.stat",
	    "inactive_file 1\ntotal_inactive_file 1048576\n");
	CHECK_EQ(room_left(root, 8), 5 * MIB);
	end();
}

TEST(limits_of_the_process)
{
	begin();
	put("/proc/meminfo", "MemAvailable:    1048576 kB\n");
	put("/proc/9/limits", "Limit  Soft Limit  Hard Limit  Units\n"
			      "Max address space         33554432             unlimited bytes\n"
			      "Max data size             unlimited            unlimited bytes\n");
	put("/proc/9/status", "Name:\tx\nVmSize:\t   16384 kB\nVmData:\t 1024 kB\n");
	CHECK_EQ(room_left(root, 9), 16 * MIB);
	put("/proc/9/limits", "Max data size  2097152  unlimited  bytes\n");
	CHECK_EQ(room_left(root, 9), 1 * MIB);
	end();
}
