/* SPDX-License-Identifier: MIT
 *
 * peer.h - the other end of a link, in the same process and thread: a listening abstract socket,
 * the test's bytes, and turns of the loop until a condition holds. A wait has a very generous
 * deadline.
 */
#ifndef PEER_H
#define PEER_H

#include "check.h"
#include "base/loop.h"
#include "link/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PATIENCE_MS 20000

static struct loop *loop;

#define WAIT_FOR(cond)                                                                             \
	do {                                                                                       \
		uint64_t wait_end = now_ns() + PATIENCE_MS * 1000000ull;                           \
		bool wait_ok;                                                                      \
		while (!(wait_ok = (cond)) && now_ns() < wait_end)                                 \
			loop_once(loop, 20);                                                       \
		CHECK(wait_ok &&#cond);                                                            \
	} while (0)

/* Listens on a name of its own; *t leads there. */
static inline int peer_listen(struct target *t)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct err err = { 0 };
	char word[64];

	snprintf(word, sizeof word, "@t_peer.%d", (int)getpid());
	CHECK_EQ(target_parse(word, t, &err), 0);
	snprintf(un.sun_path + 1, sizeof un.sun_path - 1, "%s", word + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK_EQ(bind(fd, (struct sockaddr *)&un,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(word))),
		 0);
	CHECK_EQ(listen(fd, 8), 0);
	return fd;
}

/* The next connection. */
static inline int peer_accept(int listener)
{
	int fd = -1;

	WAIT_FOR((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0);
	return fd;
}

static inline void peer_send(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			char drop[4096]; /* what the viewer acknowledges */
			while (recv(fd, drop, sizeof drop, 0) > 0)
				;
			loop_once(loop, 10);
			continue;
		}
		CHECK(n > 0);
		p += n;
		len -= (size_t)n;
	}
}

#endif
