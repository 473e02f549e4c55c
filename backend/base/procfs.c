/* SPDX-License-Identifier: MIT
 *
 * procfs.c - the few fields of /proc/PID that a process tree needs. A process that ends between two
 * reads yields nothing.
 */
#include "base/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <memtop/wire.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STANDS_NS 10000000000ull /* without a cpu for so long: it does not get on */

/* The kernel counts a start from boot, suspend included; CLOCK_MONOTONIC excludes suspend. */
static uint64_t monotonic_of(unsigned long long ticks)
{
	struct timespec boot, mono;

	/* first: read last, it is ahead where the machine never slept */
	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	int64_t slept = (boot.tv_sec - mono.tv_sec) * 1000000000ll + boot.tv_nsec - mono.tv_nsec;
	int64_t since_boot = (int64_t)(ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK)));

	return since_boot > slept ? (uint64_t)(since_boot - slept) : 0;
}

bool procfs_stat(pid_t pid, struct proc_stat *s)
{
	char path[64], text[1024];
	unsigned long long ticks, bytes;
	int parent;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	/* The name may hold anything, ')' too: the fields follow the last one. */
	const char *end = strrchr(text, ')');
	if (!end || sscanf(end + 1,
			   " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %u "
			   "%*s %llu %llu",
			   &s->state, &parent, &s->threads, &ticks, &bytes) != 5)
		return false;
	s->parent = parent;
	s->start_ns = monotonic_of(ticks);
	s->ended = s->state == 'X' || (s->state == 'Z' && s->threads < 2);
	s->has_memory = bytes > 0;
	return true;
}

pid_t procfs_thread(pid_t pid)
{
	char path[64];
	struct proc_stat s;
	pid_t found = pid;
	struct dirent *e;

	if (!procfs_stat(pid, &s) || s.has_memory || s.threads < 2)
		return pid;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	while (d && found == pid && (e = readdir(d))) {
		pid_t tid = (pid_t)atoi(e->d_name);
		if (tid > 0 && procfs_stat(tid, &s) && s.has_memory)
			found = tid;
	}
	if (d)
		closedir(d);
	return found;
}

bool procfs_ended(pid_t pid)
{
	struct proc_stat s;
	pid_t tid;

	do { /* a thread may end between the two looks at it */
		tid = procfs_thread(pid);
		if (procfs_stat(tid, &s) && s.has_memory)
			return false;
	} while (tid != pid);
	return true;
}

bool procfs_lags(struct procfs_pace *pace, pid_t pid, pid_t tid)
{
	struct timespec cpu = { 0 };
	struct proc_stat s;
	clockid_t clock;
	uint64_t now = now_ns();

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &cpu) ||
	    !procfs_stat(tid, &s))
		return false;
	uint64_t ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	if (!pace->moved_ns || ns != pace->cpu_ns)
		*pace = (struct procfs_pace){ ns, now };
	return strchr("RDTt", s.state) && now - pace->moved_ns < STANDS_NS;
}

bool procfs_name(pid_t pid, char *name, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	FILE *f = fopen(path, "re");
	bool found = f && fgets(name, (int)size, f);
	if (found)
		name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
	return found;
}

static size_t read_all(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, size - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	return n;
}

bool procfs_title(pid_t pid, char *title, size_t size)
{
	size_t n = read_all(pid, "cmdline", title, size);

	/* A title that a program has set is followed by the rest of the old arguments' room. */
	while (n && (!title[n - 1] || title[n - 1] == ' '))
		n--;
	title[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!title[i])
			title[i] = ' ';
	return n > 0;
}

bool procfs_waits(pid_t pid, char *where, size_t size)
{
	size_t n = read_all(pid, "wchan", where, size);

	where[strcspn(where, ".\n")] = '\0';
	return n && strcmp(where, "0") != 0;
}

/* A number of /proc/PID/status, by the sscanf() format of its line; `none` = no such line. */
static long status_number(pid_t pid, const char *format, long none)
{
	char path[64], line[128];
	long number = none;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, format, &number) == 1)
			break;
	if (f)
		fclose(f);
	return number;
}

long procfs_uid(pid_t pid)
{
	return status_number(pid, "Uid: %*d %ld", -1);
}

pid_t procfs_tracer(pid_t tid)
{
	return (pid_t)status_number(tid, "TracerPid: %ld", 0);
}

/* Does a line of the file begin so? */
static bool says(const char *path, const char *line)
{
	char text[128];
	FILE *f = fopen(path, "re");
	bool found = false;

	while (f && !found && fgets(text, sizeof text, f))
		found = !strncmp(text, line, strlen(line));
	if (f)
		fclose(f);
	return found;
}

/* Version 2 of cgroups, alone or beside version 1, whose line is "NUMBER:freezer:/PATH". */
static bool is_frozen(const char *line, const char *group)
{
	char path[PATH_MAX + 64];

	if (strstr(line, ":freezer:")) {
		snprintf(path, sizeof path, "/sys/fs/cgroup/freezer%s/freezer.state", group);
		return says(path, "FROZEN");
	}
	if (strncmp(line, "0::", 3) != 0)
		return false;
	snprintf(path, sizeof path, "/sys/fs/cgroup%s/cgroup.events", group);
	if (says(path, "frozen 1"))
		return true;
	snprintf(path, sizeof path, "/sys/fs/cgroup/unified%s/cgroup.events", group);
	return says(path, "frozen 1");
}

unsigned procfs_stopped(pid_t pid)
{
	char path[64], line[PATH_MAX];
	struct proc_stat s;
	bool frozen = false;

	if (pid <= 0 || !procfs_stat(pid, &s))
		return 0;
	if (s.state == 'T' || s.state == 't')
		return s.state == 'T' ? MTW_STOP_SIGNAL : MTW_STOP_TRACED;
	snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && !frozen && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		char *group = strstr(line, ":/");
		frozen = group && is_frozen(line, group + 1);
	}
	if (f)
		fclose(f);
	return frozen ? MTW_STOP_FROZEN : 0;
}

bool procfs_exe(pid_t pid, char *path, size_t size)
{
	char link[64];

	snprintf(link, sizeof link, "/proc/%d/exe", (int)procfs_thread(pid));
	ssize_t n = readlink(link, path, size - 1);
	path[n > 0 ? n : 0] = '\0';
	return n > 0;
}

pid_t procfs_child(pid_t parent, const char *exe)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	struct proc_stat s;
	char path[4096];
	pid_t found = 0;

	while (d && !found && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);
		if (pid > 0 && procfs_stat(pid, &s) && s.parent == parent &&
		    procfs_exe(pid, path, sizeof path) && !strcmp(path, exe))
			found = pid;
	}
	if (d)
		closedir(d);
	return found;
}

pid_t procfs_self(void)
{
	char self[32];
	ssize_t n = readlink("/proc/self", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	return (pid_t)strtol(self, NULL, 10);
}

pid_t procfs_inner(pid_t pid)
{
	char path[64], line[256];
	int inner = 0;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		const char *last = strncmp(line, "NSpid:", 6) ? NULL : strrchr(line, '\t');
		if (last && last > line + 6)
			inner = atoi(last);
	}
	if (f)
		fclose(f);
	return inner;
}

pid_t procfs_inner_child(pid_t parent, pid_t inner)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	struct proc_stat s;
	pid_t found = 0;

	while (d && !found && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);
		if (pid > 0 && procfs_stat(pid, &s) && s.parent == parent &&
		    procfs_inner(pid) == inner)
			found = pid;
	}
	if (d)
		closedir(d);
	return found;
}

bool procfs_any(uint64_t since_ns, bool (*fn)(void *arg, pid_t pid), void *arg)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	struct proc_stat s;
	bool found = false;

	while (d && !found && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);
		found = pid > 0 && procfs_stat(pid, &s) && !s.ended && s.start_ns >= since_ns &&
			fn(arg, pid);
	}
	if (d)
		closedir(d);
	return found;
}

int procfs_maps(pid_t pid, const char *name)
{
	char path[64], line[4096 + 128];
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)procfs_thread(pid));
	FILE *f = fopen(path, "re");
	if (!f)
		return -1;
	while (!found && fgets(line, sizeof line, f))
		found = strstr(line, name) != NULL;
	fclose(f);
	return found;
}

/* A link of /proc to a file that has lost its name: "PATH (deleted)". */
static bool leads_to_deleted(const char *link, const char *path, size_t len)
{
	static const char gone[] = " (deleted)";
	char to[4096 + sizeof gone];
	ssize_t n = readlink(link, to, sizeof to);

	return n == (ssize_t)(len + sizeof gone - 1) && !memcmp(to, path, len) &&
	       !memcmp(to + len, gone, sizeof gone - 1);
}

int procfs_deleted(pid_t pid, const char *path)
{
	char link[96], line[4096 + 128];
	size_t len = strlen(path);
	int fd = -1;

	pid = procfs_thread(pid);
	if (len > 10 && !strcmp(path + len - 10, " (deleted)"))
		len -= 10;
	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	if (leads_to_deleted(link, path, len))
		return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	snprintf(link, sizeof link, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(link, "re");
	while (f && fd < 0 && fgets(line, sizeof line, f)) {
		const char *name = strchr(line, '/');
		if (!name || strncmp(name, path, len) || strcmp(name + len, " (deleted)\n"))
			continue;
		snprintf(link, sizeof link, "/proc/%d/map_files/%.*s", (int)pid,
			 (int)strcspn(line, " "), line);
		fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	if (f)
		fclose(f);
	return fd;
}
