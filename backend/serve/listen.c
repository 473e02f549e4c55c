/* SPDX-License-Identifier: MIT */
#include "serve/access.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A socket of this user; anything else at that path is not ours to remove. */
static bool own_socket(const char *path, struct stat *st)
{
	return !lstat(path, st) && S_ISSOCK(st->st_mode) && st->st_uid == geteuid();
}

static int listen_path(const struct address *a, struct err *err)
{
	struct stat st;
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(to.sun_path, sizeof to.sun_path, "%.107s", a->host);
	if (fd < 0)
		return err_set(err, 3, "unix:%s: no socket: %s", a->host, strerror(errno));
	/* the socket of one that was killed */
	if (own_socket(a->host, &st) && connect(fd, (struct sockaddr *)&to, sizeof to) &&
	    errno == ECONNREFUSED)
		unlink(a->host);
	mode_t mask = umask(0177);
	int rc = bind(fd, (struct sockaddr *)&to, sizeof to);
	umask(mask);
	if (!rc && !listen(fd, SOMAXCONN))
		return fd;
	err_set(err, 3, "unix:%s: cannot be listened on: %s; give --listen another path", a->host,
		strerror(errno));
	close(fd);
	return -1;
}

static bool loopback(const struct addrinfo *i)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)i->ai_addr;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)i->ai_addr;

	return i->ai_family == AF_INET
		       ? ntohl(four->sin_addr.s_addr) >> 24 == 127
		       : i->ai_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static int listen_tcp(const struct address *a, bool token, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *list;
	char port[12];
	int fd = -1, one = 1;

	snprintf(port, sizeof port, "%d", a->port);
	int rc = getaddrinfo(a->host, port, &hints, &list);
	if (rc)
		return err_set(err, 3, "--listen %s:%d: %s; give an address of this machine",
			       a->host, a->port, gai_strerror(rc));
	if (!token && !loopback(list)) {
		err_set(err, 2,
			"--listen %s:%d: other machines could read everything there; add "
			"--token-file FILE",
			a->host, a->port);
	} else {
		fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		if (fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) || listen(fd, SOMAXCONN)) {
			err_set(err, 3,
				"--listen %s:%d: cannot be listened on: %s; give --listen another "
				"port",
				a->host, a->port, strerror(errno));
			if (fd >= 0)
				close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd;
}

static void say_address(struct listening *l, const struct address *a)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	char port[12] = "";

	if (a->path) {
		snprintf(l->address, sizeof l->address, "unix:%s", a->host);
		return;
	}
	if (getsockname(l->fd, (struct sockaddr *)&at, &len) ||
	    getnameinfo((struct sockaddr *)&at, len, NULL, 0, port, sizeof port, NI_NUMERICSERV))
		snprintf(port, sizeof port, "%d", a->port);
	bool six = strchr(a->host, ':');
	snprintf(l->address, sizeof l->address, "http://%s%s%s:%s/", six ? "[" : "", a->host,
		 six ? "]" : "", port);
}

int listen_open(struct listening *l, const struct address *a, bool token, struct err *err)
{
	*l = (struct listening){ .fd = a->path ? listen_path(a, err) : listen_tcp(a, token, err) };
	if (l->fd < 0)
		return -1;
	if (a->path && own_socket(a->host, &l->at))
		snprintf(l->path, sizeof l->path, "%s", a->host);
	say_address(l, a);
	return 0;
}

void listen_close(const struct listening *l)
{
	struct stat now;

	if (*l->path && own_socket(l->path, &now) && now.st_dev == l->at.st_dev &&
	    now.st_ino == l->at.st_ino)
		unlink(l->path);
}
