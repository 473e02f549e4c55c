/* SPDX-License-Identifier: MIT
 *
 * greeting.c - does an agent answer behind a forwarded port?
 *
 * memtop connects to find out. adb accepts every connection to the forwarded port and closes it
 * when nothing listens behind it; an agent speaks first. This reads nothing of the device's.
 */
#include "attach/adb/greeting.h"
#include "attach/adb/app.h"

#include <arpa/inet.h>
#include <memtop/wire.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_MS 5000 /* for one greeting */
#define AGAIN_MS 100

int adb_connect(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Reads one connection's answer: an agent's greeting (1), its end (0); -1: the user quits. */
static int greets(const struct adb_app *app, struct err *err)
{
	const struct timeval limit = { .tv_sec = ANSWER_MS / 1000 };
	int fd = adb_connect(app->port), got = 0;
	char magic[MTW_MAGIC_LEN];

	if (fd < 0)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	struct pollfd p[] = { { .fd = fd, .events = POLLIN },
			      { .fd = app->adb->stop_fd, .events = POLLIN } };
	if (poll(p, 2, ANSWER_MS) > 0 && p[1].revents)
		got = adb_stopped(err);
	else if (p[0].revents)
		got = recv(fd, magic, sizeof magic, MSG_WAITALL) == (ssize_t)sizeof magic &&
		      !memcmp(magic, MTW_MAGIC, sizeof magic);
	close(fd);
	return got;
}

int adb_app_listens(struct adb_app *app, int limit_ms, struct err *err)
{
	uint64_t end = now_ns() + (uint64_t)limit_ms * 1000000;

	for (;;) {
		int got = greets(app, err);
		if (got || now_ns() >= end)
			return got;
		if (adb_pause(app->adb, AGAIN_MS, err))
			return -1;
	}
}
