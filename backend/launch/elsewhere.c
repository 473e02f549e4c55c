/* SPDX-License-Identifier: MIT
 *
 * elsewhere.c - connects to sockets that memtop's own namespaces do not show.
 *
 * An abstract name belongs to a network namespace, a path to a root. A thread enters what it must
 * and connects: memtop itself stays where it is, and the agent sees memtop's pid, for which a
 * program that memtop started waits. setns() into a user namespace asks for a process of one
 * thread: then a forked child connects, and hands the socket over.
 *
 * Who may enter a network namespace: root, and the owner of the user namespace that it belongs to
 * (a container without root). The root is opened through /proc/PID/root, which the kernel shows to
 * whoever may trace the process. Symbolic links on the way are resolved inside that root.
 *
 * The agent takes its own user and root, as its user namespace numbers them: there, even a root
 * outside may be nobody. So the child comes as the process' own user, where it may.
 */
#include "launch/elsewhere.h"

#include "base/procfs.h"
#include "base/within.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

bool elsewhere(pid_t pid, const char *kind)
{
	char own[64], its[64];
	struct stat a, b;

	snprintf(own, sizeof own, "/proc/self/ns/%s", kind);
	snprintf(its, sizeof its, "/proc/%d/ns/%s", (int)procfs_thread(pid), kind);
	return !stat(own, &a) && !stat(its, &b) && (a.st_ino != b.st_ino || a.st_dev != b.st_dev);
}

static bool has_root(pid_t pid)
{
	char its[64];
	struct stat a, b;

	snprintf(its, sizeof its, "/proc/%d/root", (int)procfs_thread(pid));
	return elsewhere(pid, "mnt") ||
	       (!stat("/", &a) && !stat(its, &b) && (a.st_ino != b.st_ino || a.st_dev != b.st_dev));
}

/* An agent takes its own user and root, as its user namespace numbers them. */
static bool is_stranger(pid_t pid)
{
	return elsewhere(pid, "user") && procfs_uid(pid) != (long)geteuid();
}

bool elsewhere_holds(pid_t pid, bool path)
{
	return (path ? has_root(pid) : elsewhere(pid, "net")) || is_stranger(pid);
}

static int open_of(pid_t pid, const char *what, int flags)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)procfs_thread(pid), what);
	return open(path, flags | O_CLOEXEC);
}

/* child: in a process of its own. */
static int enter_network(pid_t pid, bool child)
{
	int net = open_of(pid, "ns/net", O_RDONLY);

	if (net < 0)
		return -errno;
	int owner = setns(net, CLONE_NEWNET) == 0 ? 0 : child ? ioctl(net, NS_GET_USERNS) : -1;
	bool in = owner == 0 ||
		  (owner > 0 && !setns(owner, CLONE_NEWUSER) && !setns(net, CLONE_NEWNET));
	close(net);
	return in ? 0 : -EPERM;
}

/* Fills *un with a name by which this process reaches the path: of a descriptor, which it returns;
 * or -errno. */
static int find_path(pid_t pid, const char *path, struct sockaddr_un *un)
{
	char root[32];

	snprintf(root, sizeof root, "/proc/%d/root", (int)procfs_thread(pid));
	/* the socket's file, not what it leads to */
	int at = within_open(root, path, O_PATH | O_NOFOLLOW);
	if (at < 0)
		return -errno;
	snprintf(un->sun_path, sizeof un->sun_path, "/proc/self/fd/%d", at);
	return at;
}

static bool become(long uid)
{
	return uid == (long)geteuid() || syscall(SYS_setresuid, -1L, uid, -1L) == 0;
}

/* Where that is refused, the agent sees who memtop's user is there. False: a thread has its
 * process' user, since the kernel closes the /proc of a process that changes one. */
static bool become_its_user(pid_t pid, bool child)
{
	if (!child)
		return procfs_uid(pid) == (long)geteuid();
	if (become(procfs_uid(pid)))
		return true;
	int user = open_of(pid, "ns/user", O_RDONLY);
	if (user >= 0 && setns(user, CLONE_NEWUSER) == 0)
		become(procfs_uid(pid)); /* by its number there */
	return true;
}

static int connect_to(const struct sockaddr_un *un, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || !connect(fd, (const struct sockaddr *)un, len))
		return fd < 0 ? -errno : fd;
	int why = errno;
	close(fd);
	return -why;
}

/* A connected socket, or -errno. */
static int connect_there(pid_t pid, const char *name, bool path, bool child)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t n = strnlen(name, sizeof un.sun_path - 1);

	if (path) {
		int at = find_path(pid, name, &un);
		if (at < 0)
			return at;
		int fd = become_its_user(pid, child) ? connect_to(&un, sizeof un) : -EPERM;
		close(at);
		return fd;
	}
	int rc = elsewhere(pid, "net") ? enter_network(pid, child) : 0;
	if (rc || !become_its_user(pid, child))
		return rc ? rc : -EPERM;
	memcpy(un.sun_path + 1, name, n);
	return connect_to(&un, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
}

struct connecting {
	pid_t pid;
	const char *name;
	bool path;
	int fd;
};

static void *connect_in_thread(void *arg)
{
	struct connecting *c = arg;

	c->fd = connect_there(c->pid, c->name, c->path, false);
	return NULL;
}

static int by_thread(pid_t pid, const char *name, bool path)
{
	struct connecting c = { pid, name, path, -EPERM };
	sigset_t all, mask;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask); /* memtop's handlers are not for the thread */
	int rc = pthread_create(&thread, NULL, connect_in_thread, &c);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return rc || pthread_join(thread, NULL) ? -EPERM : c.fd;
}

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* Hands fd over, or the -errno that it is. */
static void send_socket(int to, int fd)
{
	union control c = { 0 };
	struct iovec v = { &fd, sizeof fd };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = &c;
		m.msg_controllen = sizeof c;
		c.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS,
					   .cmsg_len = CMSG_LEN(sizeof fd) };
		memcpy(CMSG_DATA(&c.head), &fd, sizeof fd);
	}
	sendmsg(to, &m, MSG_NOSIGNAL);
}

static int receive_socket(int from)
{
	union control c;
	int fd = -EPERM;
	struct iovec v = { &fd, sizeof fd };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof c
	};
	ssize_t n;

	while ((n = recvmsg(from, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	struct cmsghdr *h = n == sizeof fd ? CMSG_FIRSTHDR(&m) : NULL;
	if (h)
		memcpy(&fd, CMSG_DATA(h), sizeof fd);
	return n != sizeof fd ? -EPERM : fd < 0 || h ? fd : -EPERM;
}

static int by_child(pid_t pid, const char *name, bool path)
{
	sigset_t all, mask;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask); /* memtop's handlers are not for the child */
	pid_t child = fork();
	if (child == 0) {
		send_socket(pair[1], connect_there(pid, name, path, true));
		_exit(0);
	}
	int fd = child < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(pair[1]);
	if (child > 0) {
		fd = receive_socket(pair[0]);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(pair[0]);
	return fd;
}

int elsewhere_connect(pid_t pid, const char *name, bool path)
{
	int fd = by_thread(pid, name, path);

	return fd == -EPERM || fd == -EACCES ? by_child(pid, name, path) : fd;
}
