/* SPDX-License-Identifier: MIT
 *
 * tcp_listener.c - see launch/tcp_listener.h.
 *
 * A connection that nobody has accepted has no process yet, so the listening socket is looked for:
 * by its port in /proc/net/tcp and tcp6, then by its inode among the descriptors of processes.
 */
#include "launch/tcp_listener.h"

#include "base/procfs.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTENING 10 /* TCP_LISTEN, as /proc/net/tcp has it */

/* The port at the other end, where that is this machine: both ends have one address. 0 = not so. */
static unsigned port_here(int fd)
{
	struct sockaddr_storage own = { 0 }, other = { 0 };
	socklen_t len = sizeof own;

	if (getsockname(fd, (struct sockaddr *)&own, &len) || (len = sizeof other, false) ||
	    getpeername(fd, (struct sockaddr *)&other, &len) || own.ss_family != other.ss_family)
		return 0;
	const struct sockaddr_in *a = (const struct sockaddr_in *)&own,
				 *b = (const struct sockaddr_in *)&other;
	const struct sockaddr_in6 *c = (const struct sockaddr_in6 *)&own,
				  *d = (const struct sockaddr_in6 *)&other;
	if (own.ss_family == AF_INET && a->sin_addr.s_addr == b->sin_addr.s_addr)
		return ntohs(b->sin_port);
	if (own.ss_family == AF_INET6 && !memcmp(&c->sin6_addr, &d->sin6_addr, 16))
		return ntohs(d->sin6_port);
	return 0;
}

/* NUMBER: LOCAL:PORT REMOTE:PORT STATE ... INODE; 0 = none listens there. */
static unsigned long inode_of(const char *path, unsigned port)
{
	FILE *f = fopen(path, "re");
	char line[512];
	unsigned long inode = 0, found = 0;
	unsigned its, state;

	while (f && !found && fgets(line, sizeof line, f))
		if (sscanf(line,
			   "%*s %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %lu",
			   &its, &state, &inode) == 3 &&
		    its == port && state == LISTENING)
			found = inode;
	if (f)
		fclose(f);
	return found;
}

struct search {
	char link[48]; /* "socket:[INODE]" */
	pid_t found;
};

static bool holds(void *arg, pid_t pid)
{
	struct search *s = arg;
	char path[300], link[48];
	struct dirent *e;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	while (d && !s->found && (e = readdir(d))) {
		snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, e->d_name);
		ssize_t len = readlink(path, link, sizeof link - 1);
		link[len > 0 ? len : 0] = '\0';
		if (!strcmp(link, s->link))
			s->found = pid;
	}
	if (d)
		closedir(d);
	return s->found != 0;
}

pid_t tcp_listener(int fd)
{
	unsigned port = port_here(fd);
	unsigned long inode = port ? inode_of("/proc/net/tcp", port) : 0;
	struct search s = { .found = 0 };

	if (port && !inode)
		inode = inode_of("/proc/net/tcp6", port);
	if (inode) {
		snprintf(s.link, sizeof s.link, "socket:[%lu]", inode);
		procfs_any(0, holds, &s);
	}
	return s.found;
}
