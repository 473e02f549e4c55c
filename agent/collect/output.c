/* SPDX-License-Identifier: MIT
 *
 * output.c - frames into one viewer's buffer, as far as its window takes them, and the end of its
 * connection.
 */
#include "collect/output.h"
#include "base/prim_linux.h"
#include "collect/memory.h"
#include "collect/scan_requests.h"
#include "collect/server.h"
#include "collect/viewer.h"

#include <errno.h>
#include <memtop/wire.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define REFUSALS 512 /* bytes of an ERROR */

size_t viewer_space(const struct viewer *v)
{
	return OUT_BYTES - v->out_len;
}

size_t viewer_room(const struct viewer *v)
{
	uint64_t under_way = v->produced - v->acked;
	uint64_t window = under_way < v->window ? v->window - under_way : 0;
	size_t space = viewer_space(v);

	return window < space ? (size_t)window : space;
}

static void append(struct viewer *v, const void *p, size_t len)
{
	if (v->out_at + v->out_len + len > OUT_BYTES) {
		memmove(v->out, v->out + v->out_at, v->out_len);
		v->out_at = 0;
	}
	memcpy(v->out + v->out_at + v->out_len, p, len);
	v->out_len += len;
}

/* Callers reserve room first. A frame that still does not fit is a bug, and is not sent in part. */
void viewer_frame(struct viewer *v, unsigned type, const void *payload, size_t len)
{
	uint8_t head[20];
	struct mtw_out o = { head, head + sizeof(head), false };

	mtw_put(&o, type);
	mtw_put(&o, len);
	size_t head_len = (size_t)(o.at - head);
	if (head_len + len > viewer_space(v))
		return;
	append(v, head, head_len);
	append(v, payload, len);
	v->produced += head_len + len;
	if (!v->probe) {
		v->probe = v->produced;
		v->probe_ns = server_now();
	}
}

static size_t error_payload(uint8_t *to, size_t size, unsigned code, const char *text)
{
	struct mtw_out o = { to, to + size, false };

	mtw_put(&o, code);
	mtw_put_string(&o, text);
	return (size_t)(o.at - to);
}

/* Whatever was sent is still to be taken; nothing more is read but to see the peer go. */
static void start_closing(struct viewer *v)
{
	v->state = VIEWER_CLOSING;
	v->since_ns = server_now();
	v->wants = false;
}

void viewer_error(struct server *s, struct viewer *v, unsigned code, const char *text)
{
	uint8_t payload[REFUSALS];

	viewer_frame(v, MTW_ERROR, payload, error_payload(payload, sizeof(payload), code, text));
	start_closing(v);
	viewer_write(s, v);
}

void viewer_close(struct server *s, struct viewer *v)
{
	int index = v->index;

	if (v->state == VIEWER_FREE)
		return;
	s->last_taken |= v->final && !v->out_len;
	mt_prim_call(SYS_close, v->fd, 0, 0, 0, 0, 0);
	if (v->list)
		memory_unmap(v->list, v->list_bytes);
	memory_unmap(v->map, v->map_bytes);
	scan_drop(&s->scans, v);
	memset(v, 0, sizeof(*v));
	v->index = index;
	v->fd = -1;
}

void viewer_write(struct server *s, struct viewer *v)
{
	if (v->fd < 0)
		return; /* server/dump.c takes its bytes */
	while (v->out_len) {
		long n = mt_prim_call(SYS_sendto, v->fd, (long)(v->out + v->out_at),
				      (long)v->out_len, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0) {
			viewer_close(s, v);
			return;
		}
		v->out_at += (size_t)n;
		v->out_len -= (size_t)n;
		v->since_ns = server_now();
		if (!v->out_len)
			v->out_at = 0;
	}
	if (v->final && v->state == VIEWER_OPEN)
		start_closing(v);
	if (v->state != VIEWER_CLOSING)
		return;
	/* A Unix socket hands everything over before it closes. TCP may drop it when more comes
	 * in. */
	if (v->tcp)
		mt_prim_call(SYS_shutdown, v->fd, SHUT_WR, 0, 0, 0, 0);
	else
		viewer_close(s, v);
}

void viewers_notice(struct notices *notices, int except, int only, const char *text)
{
	struct notice *n = &notices->notice[notices->serial % NOTICES];
	size_t len = strlen(text);

	n->serial = ++notices->serial;
	n->except = except;
	n->only = only;
	len = len < NOTICE_MAX ? len : NOTICE_MAX - 1;
	memcpy(n->text, text, len);
	n->text[len] = 0;
}
