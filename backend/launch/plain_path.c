/* SPDX-License-Identifier: MIT
 *
 * plain_path.c - gives an agent below a folder with a space in its name a path that LD_PRELOAD can
 * hold.
 *
 * The loader splits LD_PRELOAD at spaces and colons and knows no quotes. A link stands for the
 * path up to its last such character, so that the agent for another libc is found beside it:
 *
 *   /home/me/my work/build/libmemtop-agent.so
 *   /run/user/1000/memtop-agent.NAMESPACE.PID.XXXXXX/at/build/libmemtop-agent.so
 *                                                    at -> /home/me/my work
 *
 * A link and no copy: it works where the folder is mounted noexec, and /proc/PID/maps shows the
 * agent's own file. Each memtop makes a folder of its own, by mkdtemp(), in a folder where no other
 * user can rename it. Another user may pass through it (0711) for a program that drops its rights
 * and then executes another: that one is followed as if its agent had a plain path.
 *
 * The programs that a watched process executes need the link as long as a process of the tree
 * lives, which may be longer than memtop does. So a folder names the memtop that made it, and later
 * ones remove it. PID counts in a pid namespace, and /tmp may be shared between several.
 */
#include "launch/plain_path.h"
#include "base/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENT_NAME "libmemtop-agent.so"
#define LINK "at"
#define SPLITS ": \t\n\"\\"

static unsigned long pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (unsigned long)st.st_ino;
}

/* The nth folder to try; NULL = no more, "" = not usable. */
static const char *parent(int n)
{
	const char *names[] = { getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp" };
	struct stat st;

	if (n >= 3)
		return NULL;
	const char *name = names[n];
	/* Another user may rename a folder in one that he can write, unless it is sticky. */
	bool safe = name && *name == '/' && !strpbrk(name, SPLITS) && !stat(name, &st) &&
		    (!st.st_uid || st.st_uid == geteuid()) &&
		    (!(st.st_mode & 022) || st.st_mode & S_ISVTX);
	return safe ? name : "";
}

/* A link in a folder that this user made and no other can write. */
static void remove_folder(int in, const char *name)
{
	struct stat st;
	int fd = openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 022)) {
		unlinkat(fd, LINK, 0);
		unlinkat(fd, AGENT_NAME, 0);
		unlinkat(in, name, AT_REMOVEDIR);
	}
	close(fd);
}

/* An agent's server executes nothing. */
static bool maps(void *part, pid_t pid)
{
	char name[64];

	return pid != getpid() && procfs_maps(pid, part) == 1 &&
	       !(procfs_name(pid, name, sizeof name) && !strcmp(name, "memtop-agent"));
}

/* Does a process map a file from where the folder's link leads? Then it may have the agent. */
static bool needed(int in, const char *folder, uint64_t since_ns)
{
	char link[PATH_MAX], to[PATH_MAX];
	ssize_t n = -1;

	for (int i = 0; i < 2 && n < 0; i++) {
		snprintf(link, sizeof link, "%s/%s", folder, i ? AGENT_NAME : LINK);
		n = readlinkat(in, link, to, sizeof to - 1);
	}
	to[n > 0 ? n : 0] = '\0';
	to[strcspn(to, "\n")] = '\0'; /* maps has it in octal */
	return *to && procfs_any(since_ns, maps, to);
}

/* What memtops that have ended left. */
static void remove_left(const char *in)
{
	DIR *d = opendir(in);
	unsigned long namespace = pid_namespace(), maker;
	struct proc_stat s;
	struct dirent *e;
	int pid;

	while (d && (e = readdir(d)))
		if (sscanf(e->d_name, "memtop-agent.%lu.%d.", &maker, &pid) == 2 &&
		    maker == namespace && !procfs_stat(pid, &s) && !needed(dirfd(d), e->d_name, 0))
			remove_folder(dirfd(d), e->d_name);
	if (d)
		closedir(d);
}

/* The path through a link to the part of `agent` up to its last character that splits. */
static int link_in(const char *folder, const char *agent, char *path, size_t size)
{
	size_t len = strlen(agent);

	while (!strchr(SPLITS, agent[len - 1]))
		len--;
	len += strcspn(agent + len, "/");
	char *to = xstrndup(agent, len), *link;
	/* The agent knows its entry by the file's name. */
	link = xasprintf("%s/%s", folder, agent[len] ? LINK : AGENT_NAME);
	int rc = symlink(to, link) || chmod(folder, 0711) ? -errno : 0;
	if (!rc && (size_t)snprintf(path, size, "%s%s", link, agent + len) >= size)
		rc = -ENAMETOOLONG;
	free(to);
	free(link);
	return rc;
}

int plain_path(const char *agent, char *path, size_t size, char *folder, size_t folder_size,
	       struct err *err)
{
	const char *in;
	int rc = -EACCES;

	*folder = '\0';
	if (!strpbrk(agent, SPLITS)) {
		snprintf(path, size, "%s", agent);
		return 0;
	}
	for (int n = 0; rc && (in = parent(n)); n++) {
		if (!*in || (size_t)snprintf(folder, folder_size, "%s/memtop-agent.%lu.%d.XXXXXX",
					     in, pid_namespace(), (int)getpid()) >= folder_size)
			continue;
		remove_left(in);
		rc = mkdtemp(folder) ? link_in(folder, agent, path, size) : -errno;
		if (rc)
			remove_folder(AT_FDCWD, folder);
	}
	if (!rc)
		return 0;
	*folder = '\0';
	return err_set(
		err, 125,
		"%s: this path cannot be in LD_PRELOAD (it has a space, colon or quote), and "
		"no link to it can be made in $XDG_RUNTIME_DIR, $TMPDIR or /tmp: %s; move the "
		"agent, or name it with --agent",
		agent, strerror(-rc));
}

void plain_path_release(const char *folder, uint64_t since_ns)
{
	if (*folder && !needed(AT_FDCWD, folder, since_ns))
		remove_folder(AT_FDCWD, folder);
}
