/* SPDX-License-Identifier: MIT
 *
 * screen_agent - an agent without a target that sends more data than any real one, for the screen
 * benchmark.
 *
 * Usage: screen_agent [-n NEW] NAME PATHS CHANGED PLACES
 *
 * Serves one viewer at the abstract socket NAME: PATHS call paths of 10 to 30 frames, of which
 * CHANGED change per tick (100 ms), and NEW more paths per tick, at places not requested yet.
 * PLACES is a file that lists real code (screen.py): lines "module PATH BUILD-ID", each with its
 * "OFFSET SIZE" of functions after it.
 *
 * It must never be the bottleneck: it encodes the first state before it accepts a viewer, and a
 * tick is one pass over the changes. A tick that falls due before the last one was sent is counted;
 * its changes go into the next one, as with an agent on a slow link. Prints "paths P nodes N" when
 * it listens, "connected NS" (CLOCK_MONOTONIC), "complete NS" when the whole first state was
 * acknowledged, and at the end "ticks SENT DUE".
 */
#include "agent.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int viewer;
static size_t out_at;
static uint64_t sent, acked, window = MTW_WINDOW_MIN, first_state_end;
static uint64_t ticks_sent, ticks_due;
static int greeted, complete;

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void command(uint64_t type, struct mtw_in *in)
{
	if (type == MTW_ACK) {
		uint64_t more = mtw_get(in);
		window = window + more - acked > MTW_WINDOW_MAX ? MTW_WINDOW_MAX
								: window + more - acked;
		acked = more;
		if (!complete && acked >= first_state_end - MTW_ACK_EVERY) {
			complete = 1;
			printf("complete %llu\n", (unsigned long long)clock_ns());
		}
	} else if (type == MTW_SET_MARK) {
		set_mark();
	} else if (type == MTW_SCAN) {
		uint64_t request = mtw_get(in);
		scan(request, mtw_get(in));
	}
}

/* False: the viewer is gone. */
static bool listen_to_viewer(void)
{
	static uint8_t bytes[MTW_CLIENT_FRAME_MAX + 64];
	static size_t have;
	ssize_t n = recv(viewer, bytes + have, sizeof(bytes) - have, 0);
	size_t at = 0;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	have += (size_t)n;
	if (!greeted && have >= MTW_GREETING_LEN) {
		greeted = 1;
		at = MTW_GREETING_LEN;
	}
	while (greeted) {
		uint64_t type, len;
		int head = mtw_frame(bytes + at, have - at, MTW_CLIENT_FRAME_MAX, &type, &len);
		if (head < 0)
			return false;
		if (!head || have - at < (size_t)head + len)
			break;
		struct mtw_in in = { bytes + at + head, bytes + at + head + len, false };
		at += (size_t)head + len;
		command(type, &in);
	}
	memmove(bytes, bytes + at, have -= at);
	return true;
}

static bool may_send(void)
{
	return out_at < out.len && (greeted ? sent - acked < window : sent < MTW_GREETING_LEN);
}

static bool send_some(void)
{
	size_t most = out.len - out_at;
	uint64_t room = greeted ? window - (sent - acked) : MTW_GREETING_LEN - sent;
	ssize_t n = send(viewer, out.bytes + out_at, most < room ? most : room,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	out_at += (size_t)n;
	sent += (uint64_t)n;
	if (out_at == out.len)
		out_at = out.len = 0;
	return true;
}

static void serve(void)
{
	uint64_t due = 0, missed = 0;

	for (bool alive = true; alive;) {
		uint64_t t = clock_ns();
		if (complete && !due)
			due = t;
		if (due && t >= due) {
			now += TICK_NS;
			due += TICK_NS;
			ticks_due++;
			if (out.len) {
				missed++;
			} else {
				tick(missed);
				ticks_sent++;
				missed = 0;
			}
			continue;
		}
		struct pollfd p = { viewer, (short)(POLLIN | (may_send() ? POLLOUT : 0)), 0 };
		poll(&p, 1, due ? (int)((due - t) / 1000000) + 1 : -1);
		if (p.revents & (POLLIN | POLLHUP | POLLERR))
			alive = listen_to_viewer();
		if (alive && may_send() && p.revents & POLLOUT)
			alive = send_some();
	}
	printf("ticks %llu %llu\n", (unsigned long long)ticks_sent, (unsigned long long)ticks_due);
}

int main(int argc, char **argv)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int opt, fd;

	while ((opt = getopt(argc, argv, "n:")) == 'n')
		fresh = (uint32_t)strtoul(optarg, NULL, 10);
	if (opt != -1 || argc - optind != 4 || strlen(argv[optind]) + 1 > sizeof(a.sun_path)) {
		fprintf(stderr, "usage: screen_agent [-n NEW] NAME PATHS CHANGED PLACES\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	uint32_t paths = (uint32_t)strtoul(argv[optind + 1], NULL, 10);
	changed = (uint32_t)strtoul(argv[optind + 2], NULL, 10);
	read_places(argv[optind + 3]);
	now = 600 * 1000000000ull;
	make(paths, fresh * 10000);
	make_first_state();
	first_state_end = out.len;
	memcpy(a.sun_path + 1, argv[optind], strlen(argv[optind]));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&a,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[optind]))) ||
	    listen(fd, 1)) {
		perror("screen_agent");
		return 3;
	}
	printf("paths %u nodes %u\n", path_count, node_count - 1);
	viewer = accept(fd, NULL, NULL);
	printf("connected %llu\n", (unsigned long long)clock_ns());
	serve();
	return 0;
}
