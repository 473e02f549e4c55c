/* SPDX-License-Identifier: MIT
 *
 * viewer.c - one admitted connection (server/handshake.c): bytes in, bytes out.
 *
 * Nothing from a client is trusted: each frame is bounded before it is kept and parsed with
 * mtw_get, and a malformed one ends the connection with the reason. No more than OUT_BYTES of
 * unread data is kept for a client; changes meanwhile are sent later, coalesced (encode/encode.c).
 *
 *     unacknowledged = produced - acked <= window        (the first state's head excepted)
 *
 * The window starts at MTW_WINDOW_MIN. Each window carries a probe, the moment at which its last
 * byte was produced: acknowledged within 150 ms the window doubles, after more than 600 ms it is
 * halved. So a fast link is kept busy, and on a slow one fresh totals wait behind 64 KiB at most.
 */
#include "server/viewer.h"
#include "base/prim_linux.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "server/service.h"
#include "collect/sums.h"
#include "collect/viewer.h"
#include "server/commands.h"
#include "server/detach.h"

#include <errno.h>
#include <memtop/wire.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define GROW_NS (150 * MILLI)
#define SHRINK_NS (600 * MILLI)
#define UNREAD_SECONDS 10

/* Parts of a viewer's one mapping, in order. Most of its pages are never touched. */
#define SLOT_BITS (MTW_SLOTS_MAX / 8)
#define NODE_BITS (MTW_NODES_MAX / 8)
#define MAP_BYTES                                                                                  \
	(SLOT_BITS + NODE_BITS + GROUPS * sizeof(uint32_t) +                                       \
	 2 * MTW_MARKS_MAX * sizeof(uint32_t) + IN_BYTES + OUT_BYTES)

/* Commands have places of their own, and may take those of viewers. Where none is free, the client
 * leaves that has read nothing for longest. NULL: all read. */
static struct viewer *find_place(struct server *s, bool command)
{
	struct viewer *empty = NULL, *silent = NULL;
	unsigned watching = 0;

	for (struct viewer *v = s->viewer; v < s->viewer + VIEWERS_MAX; v++) {
		if (v->state == VIEWER_FREE) {
			empty = empty ? empty : v;
			continue;
		}
		watching += !v->command;
		if (v->unread_s >= UNREAD_SECONDS && (command || !v->command) &&
		    (!silent || v->unread_s > silent->unread_s))
			silent = v;
	}
	if (empty && (command || watching < WATCHING_MAX))
		return empty;
	if (silent && silent->state == VIEWER_OPEN)
		viewer_error(s, silent, MTW_E_BUSY,
			     "this viewer read nothing for ten seconds, and its place was needed");
	if (silent)
		viewer_close(s, silent);
	return silent;
}

/* Each call counts one second at most: a server that was stopped itself blames nobody. */
void viewers_count_unread(struct server *s, uint64_t now)
{
	if (now < s->service->next_unread_ns)
		return;
	s->service->next_unread_ns =
		(now - s->service->next_unread_ns < SECOND ? s->service->next_unread_ns : now) +
		SECOND;
	for (struct viewer *v = s->viewer; v < s->viewer + VIEWERS_MAX; v++)
		if (v->produced - v->acked > (v->prompt ? 0 : MTW_ACK_EVERY))
			v->unread_s += v->fd >= 0;
		else
			v->unread_s = 0;
}

static bool place_arrays(struct viewer *v)
{
	uint8_t *at = memory_map(MAP_BYTES);

	if (!at)
		return false;
	v->map = at;
	v->map_bytes = MAP_BYTES;
	v->slot_known = (uint64_t *)at;
	at += SLOT_BITS;
	v->node_known = (uint64_t *)at;
	at += NODE_BITS;
	v->clean = (uint32_t *)at;
	at += GROUPS * sizeof(uint32_t);
	v->mark_sent = (uint32_t *)at;
	at += MTW_MARKS_MAX * sizeof(uint32_t);
	v->mark_live = (uint32_t *)at;
	at += MTW_MARKS_MAX * sizeof(uint32_t);
	v->in = at;
	v->out = at + IN_BYTES;
	return true;
}

const char *viewer_refusal(long failed)
{
	return failed == -EBUSY ? "too many viewers watch this process"
				: "this process has no memory left for a viewer";
}

struct viewer *viewer_enter(struct server *s, int fd, uint64_t features, long *failed)
{
	bool command = features & MTW_CLIENT_COMMAND;
	struct viewer *v = find_place(s, command);

	*failed = v ? -ENOMEM : -EBUSY;
	if (!v || !place_arrays(v))
		return NULL;
	v->state = VIEWER_OPEN;
	v->fd = fd;
	v->tcp = s->service->listening.port != 0;
	v->command = command;
	v->prompt = features & MTW_CLIENT_PROMPT;
	v->by_cpu = features & MTW_CLIENT_BY_CPU;
	v->since_ns = server_now();
	v->window = MTW_WINDOW_MIN;
	v->wants = true;
	v->notice_serial = s->notices.serial;
	if (s->thread_mode)
		viewers_notice(&s->notices, -1, v->index,
			       "the system refuses the agent a process of its own: its server is a "
			       "thread of the program, and ends with it; a crash or SIGKILL leaves "
			       "no last figures");
	else if (s->target.pid == 1)
		viewers_notice(&s->notices, -1, v->index,
			       "the program is process 1 of a pid namespace, and the agent's "
			       "server ends with it; a crash or SIGKILL leaves no last figures");
	s->service->next_tick_ns = 0;
	return v;
}

static void acknowledge(struct viewer *v, uint64_t bytes)
{
	if (bytes > v->produced || bytes <= v->acked)
		return; /* a wrong count harms only its sender: nothing is freed by it */
	v->acked = bytes;
	v->unread_s = 0;
	v->since_ns = server_now(); /* progress, also of what TCP still holds for a slow peer */
	if (!v->probe || bytes < v->probe)
		return;
	uint64_t took = server_now() - v->probe_ns;
	if (took < GROW_NS && v->window < MTW_WINDOW_MAX)
		v->window *= 2;
	if (took > SHRINK_NS && v->window > MTW_WINDOW_MIN)
		v->window /= 2;
	v->probe = 0;
}

/* One frame. False: malformed. */
static bool take_frame(struct server *s, struct viewer *v, uint64_t type, struct mtw_in *in)
{
	if (type == MTW_ACK) {
		uint64_t bytes = mtw_get(in);
		if (!in->bad)
			acknowledge(v, bytes);
		return !in->bad;
	}
	if (type == MTW_DETACH) {
		if (in->at != in->end && mtw_get(in) == 1)
			detach_ask(s, v);
		else
			viewer_close(s, v);
		return !in->bad;
	}
	if (v->state == VIEWER_CLOSING)
		return true; /* it has not read yet that there is nothing left to command */
	return command_run(s, v, type, in);
}

/* Whether its frames are read. After the final tick they are read for their ACKs: closing a TCP
 * socket with incoming data would discard data that the peer has not received yet. */
static bool heard(const struct viewer *v)
{
	return v->state == VIEWER_OPEN || (v->state == VIEWER_CLOSING && v->final);
}

/* Bytes of v->in that were used up. */
static size_t parse(struct server *s, struct viewer *v)
{
	size_t at = 0;

	while (heard(v)) {
		uint64_t type, len;
		int head = mtw_frame(v->in + at, v->in_len - at, MTW_CLIENT_FRAME_MAX, &type, &len);
		if (head < 0) {
			viewer_error(s, v, MTW_E_FRAME, "a frame is too long");
			break;
		}
		if (!head || v->in_len - at - (size_t)head < len)
			break;
		struct mtw_in in = { v->in + at + head, v->in + at + head + len, false };
		bool good = take_frame(s, v, type, &in);
		at += (size_t)head + len;
		if (!good && v->state != VIEWER_FREE)
			viewer_error(s, v, MTW_E_FRAME, "a frame is malformed");
	}
	return at;
}

static void digest(struct server *s, struct viewer *v)
{
	size_t used = parse(s, v);

	if (v->state == VIEWER_FREE)
		return;
	if (v->state == VIEWER_CLOSING && !v->final)
		used = v->in_len; /* discarded */
	memmove(v->in, v->in + used, v->in_len - used);
	v->in_len -= used;
}

void viewer_hear(struct server *s, struct viewer *v, const void *bytes, size_t len)
{
	memcpy(v->in, bytes, len);
	v->in_len = len;
	digest(s, v);
}

void viewer_read(struct server *s, struct viewer *v)
{
	/* Bounded, so that a viewer that writes without end does not delay the others. */
	for (int rounds = 0; rounds < 4 && v->state != VIEWER_FREE; rounds++) {
		long n = mt_prim_call(SYS_recvfrom, v->fd, (long)(v->in + v->in_len),
				      (long)(IN_BYTES - v->in_len), MSG_DONTWAIT, 0, 0);
		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0) {
			viewer_close(s, v);
			return;
		}
		v->in_len += (size_t)n;
		digest(s, v);
	}
}
