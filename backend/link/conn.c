/* SPDX-License-Identifier: MIT
 *
 * conn.c - the link to one agent.
 *
 * PAUSE --timer--> CONNECTING --writable, verified--> GREETING --12 bytes--> PROVING --PROOF--> UP
 *   ^ \                ^  |                              |  \                   |              ^ |
 *   |  name--> LOOKING |  |                              |   \--no proof needed-|-------------/  |
 *   |            |  \--/  |                              |                      |                |
 *   +------------+--------+--------- lost() -------------+----------------------+----------------+
 *
 * A name is looked up until it is found once; then its addresses are tried in turn.
 *
 * Bytes are acknowledged when they leave the socket, and nothing is read while whole frames wait to
 * be decoded: at most one frame and one read lie here. So a slow decoder holds the agent back by
 * its window, and the agent sends fresh counters instead of a queue of old ones.
 *
 * Decoding stops after SLICE_NS and continues from a timer of 0 ms, so that a first state of a
 * million call paths never delays a key.
 */
#include "link/conn.h"
#include "link/open.h"
#include "link/prove.h"
#include "launch/tcp_listener.h"
#include "base/procfs.h"
#include "base/resolver.h"
#include "base/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 65536u
#define BUFFER_BYTES (MTW_FRAME_MAX + 20u + READ_BYTES)
#define OUT_MAX (1u << 20) /* an agent that takes nothing for so long is not answering */
#define SLICE_NS 4000000u
#define CONNECT_MS 5000u
#define SILENCE_MS 1500u  /* said after so long without a greeting ... */
#define GREETING_MS 5000u /* ... given up after so long */
#define PAUSE_MIN_MS 5u   /* a program that was just started listens within a few ms */
#define PAUSE_MAX_MS 1000u
#define BUSY_MS 10u           /* a full queue is asked again after so long, without a word, ... */
#define BUSY_TRIES 1000u      /* ... so often */
#define FULL_MS 100u          /* a command asks an agent without a place again after so long, ... */
#define FULL_TRIES 50u        /* ... so often */
#define PROMPT_NS 500000000u  /* between two acknowledgements of few bytes: MTW_CLIENT_PROMPT */
#define STEADY_NS 2000000000u /* a link that lasted so long was good: come back at once */

enum state { PAUSE, LOOKING, CONNECTING, GREETING, PROVING, UP, OVER };

struct conn {
	struct loop *loop; /* borrowed */
	struct target target;
	struct conn_peers peers;
	struct conn_events events;
	char *who, *token; /* owned */
	uint64_t features, tick_ns;
	enum state state;
	struct conn_prove prove; /* PROVING */
	struct resolver *lookup; /* LOOKING; NULL else */
	int fd;                  /* -1 in PAUSE, LOOKING and OVER */
	struct loop_source *io;  /* fd */
	/* PAUSE: next try; LOOKING to PROVING: patience; UP: next slice */
	struct loop_source *timer;
	bool silence_said;
	struct procfs_pace pace; /* of the agent that does not greet */
	/* busy: full queues met since something else happened */
	unsigned attempts, failures, pause_ms, busy;
	unsigned full; /* times that a command found no place */
	bool held;     /* conn_hold() */
	uint64_t up_ns, last_ns, acked_ns;
	uint8_t *in; /* BUFFER_BYTES; [in_at, in_end) is not decoded yet */
	size_t in_at, in_end;
	unsigned agent_version, agent_lowest; /* of its greeting */
	uint64_t received, acked;             /* bytes since the greeting, or PROOF */
	uint8_t *out;
	size_t out_len, out_room;
};

static void try_connect(void *arg);
static void on_io(void *arg, unsigned events);
static void on_patience(void *arg);

static void set_timer(struct conn *c, unsigned ms, void (*fn)(void *arg))
{
	loop_remove(c->timer);
	c->timer = fn ? loop_timer(c->loop, ms, false, fn, c) : NULL;
}

static void hang_up(struct conn *c)
{
	loop_remove(c->io);
	c->io = NULL;
	resolver_cancel(c->lookup);
	c->lookup = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->in_at = c->in_end = c->out_len = 0;
	c->received = c->acked = 0;
	set_timer(c, 0, NULL);
}

static void ask_again(struct conn *c, unsigned ms)
{
	hang_up(c);
	c->state = PAUSE;
	set_timer(c, ms, try_connect);
}

static void lost(struct conn *c, const struct err *why)
{
	bool steady = c->state == UP && now_ns() - c->up_ns > STEADY_NS;

	debug_log("conn", 1, "lost: %s", why->text);
	hang_up(c);
	c->state = PAUSE;
	c->failures++;
	c->attempts++;
	if (steady)
		c->pause_ms = PAUSE_MIN_MS;
	set_timer(c, c->pause_ms, try_connect);
	c->pause_ms = c->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : c->pause_ms * 2;
	c->events.down(c->events.arg, why->text);
}

static void want(struct conn *c, bool read)
{
	bool full = c->held && c->state == UP && c->in_end == BUFFER_BYTES;

	loop_fd_set(c->io, (read && !full ? LOOP_READ : 0) | (c->out_len ? LOOP_WRITE : 0));
}

/* 0, or -1 when the socket is broken: the reader sees that too and reports it. */
static int flush(struct conn *c)
{
	while (c->out_len) {
		ssize_t n = send(c->fd, c->out, c->out_len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		c->out_len -= (size_t)n;
		memmove(c->out, c->out + n, c->out_len);
	}
	return 0;
}

static void put_bytes(struct conn *c, const void *p, size_t len)
{
	GROW(c->out, c->out_room, c->out_len + len);
	memcpy(c->out + c->out_len, p, len);
	c->out_len += len;
}

static void put_frame(struct conn *c, uint64_t type, const uint8_t *payload, size_t len)
{
	uint8_t head[20];
	struct mtw_out o = { head, head + sizeof head, false };

	mtw_put(&o, type);
	mtw_put(&o, len);
	put_bytes(c, head, (size_t)(o.at - head));
	if (len)
		put_bytes(c, payload, len);
}

static void acknowledge(struct conn *c)
{
	uint8_t payload[10];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	uint64_t now = now_ns();
	if (c->received - c->acked < MTW_ACK_EVERY / 2 &&
	    (c->received == c->acked || now - c->acked_ns < PROMPT_NS))
		return;
	c->acked = c->received;
	c->acked_ns = now;
	mtw_put(&o, c->received);
	put_frame(c, MTW_ACK, payload, (size_t)(o.at - payload));
	flush(c);
}

/* The next byte begins the session. */
static void go_up(struct conn *c)
{
	uint8_t payload[1024];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	mtw_put(&o, c->features | MTW_CLIENT_PROMPT);
	mtw_put_string(&o, c->who);
	mtw_put_string(&o, "");
	mtw_put(&o, c->tick_ns);
	put_frame(c, MTW_CLIENT, payload, (size_t)(o.at - payload));
	c->received = c->in_end - c->in_at;
	c->state = UP;
	c->target.unheard = false;
	c->up_ns = now_ns();
	set_timer(c, 0, NULL);
	c->events.up(c->events.arg);
}

/* Frames of an agent that has not proved itself: two at most. 1 proved, 0 not yet, -1 *err. */
static int take_proof(struct conn *c, struct err *err)
{
	for (uint64_t type, len;;) {
		uint8_t answer[128];
		struct mtw_out o = { answer, answer + sizeof answer, false };
		int head = mtw_frame(c->in + c->in_at, c->in_end - c->in_at, MTW_ENTRY_FRAME_MAX,
				     &type, &len);
		if (head < 0)
			return conn_explain_unproved(&c->target, err);
		if (head == 0 || c->in_end - c->in_at - (size_t)head < len)
			return 0;
		const uint8_t *payload = c->in + c->in_at + head;
		c->in_at += (size_t)head + len;
		int rc = conn_prove_take(&c->prove, &c->target, c->token, type, payload, len, &o,
					 err);
		if (rc)
			return rc;
		put_frame(c, MTW_RESPONSE, answer, (size_t)(o.at - answer));
	}
}

/* 1 greeted, 0 not yet, -1 *err. */
static int take_greeting(struct conn *c, struct err *err)
{
	uint8_t ours[MTW_GREETING_LEN] = MTW_MAGIC;
	const uint8_t *g = c->in;
	size_t n = c->in_end < MTW_MAGIC_LEN ? c->in_end : MTW_MAGIC_LEN;

	if (memcmp(g, MTW_MAGIC, n))
		return conn_explain_stranger(&c->target, g, c->in_end < 24 ? c->in_end : 24, err);
	if (c->in_end < MTW_GREETING_LEN)
		return 0;
	unsigned version = g[8] | (unsigned)g[9] << 8, lowest = g[10] | (unsigned)g[11] << 8;

	c->agent_version = version;
	c->agent_lowest = lowest;
	if (lowest > MTW_VERSION || version < MTW_VERSION_MIN)
		return conn_explain_version(&c->target, version, lowest, err);
	ours[8] = MTW_VERSION;
	ours[10] = MTW_VERSION_MIN;
	int rc = conn_prove_begin(&c->prove, &c->target, c->token, g, ours, err);
	if (rc < 0)
		return rc;
	c->in_at = MTW_GREETING_LEN;
	put_bytes(c, ours, sizeof ours);
	c->state = PROVING;
	if (rc)
		set_timer(c, GREETING_MS, on_patience);
	else
		go_up(c);
	return 1;
}

/* Handles everything up to the session's first byte. 1 up, 0 not yet, -1 *err. */
static int take_entry(struct conn *c, struct err *err)
{
	int rc = c->state == GREETING ? take_greeting(c, err) : 1;

	if (rc > 0 && c->state == PROVING && (rc = take_proof(c, err)) > 0)
		go_up(c);
	if (rc >= 0) {
		flush(c);
		want(c, true);
	}
	return rc;
}

/* Reads the agent's own message before it closes. -EAGAIN: a later try may find a place. */
static int take_error(struct conn *c, const uint8_t *payload, size_t len, struct err *err)
{
	struct mtw_in in = { payload, payload + len, false };
	uint64_t code = mtw_get(&in);
	size_t n;
	const char *text = mtw_get_bytes(&in, MTW_STRING_MAX, &n);

	if (code == MTW_E_BUSY && c->features & MTW_CLIENT_COMMAND && c->full++ < FULL_TRIES) {
		debug_log("conn", 1, "no place: asks again");
		return -EAGAIN;
	}
	c->pause_ms = PAUSE_MAX_MS; /* it meant what it said */
	if (code == MTW_E_ACCESS && c->target.kind == TARGET_TCP &&
	    c->agent_lowest < MTW_VERSION_PROOF && memmem(text, n, "token", 5))
		return conn_explain_asks(&c->target, err);
	return conn_explain_error(&c->target, code, text, n, err);
}

/* 1 when more whole frames may wait, 0 when bytes are needed, -1 *err, -EAGAIN as take_error(). */
static int take_frames(struct conn *c, struct err *err)
{
	uint64_t end = now_ns() + SLICE_NS, type, len;

	for (unsigned n = 0; c->state == UP; n++) {
		if (c->held || (n % 16 == 15 && now_ns() > end))
			return 1;
		int head = mtw_frame(c->in + c->in_at, c->in_end - c->in_at, MTW_FRAME_MAX, &type,
				     &len);
		if (head < 0)
			return conn_explain_frame(&c->target, c->received - (c->in_end - c->in_at),
						  err);
		if (head == 0 || c->in_end - c->in_at - (size_t)head < len)
			return 0;
		const uint8_t *payload = c->in + c->in_at + head;
		c->in_at += (size_t)head + len;
		if (type == MTW_ERROR)
			return take_error(c, payload, len, err);
		if (c->events.frame(c->events.arg, type, payload, len, err))
			return -1;
		c->failures = 0;
		/* A frame may be a megabyte: two of them are not one slice. */
		if (len > READ_BYTES && now_ns() > end)
			return 1;
	}
	return 0;
}

static void decode(void *arg)
{
	struct conn *c = arg;
	struct err err = { .status = 3 };
	int rc;

	if ((c->state == GREETING || c->state == PROVING) && (rc = take_entry(c, &err)) <= 0) {
		if (rc < 0)
			lost(c, &err);
		return;
	}
	if (c->held)
		return;
	rc = take_frames(c, &err);
	if (rc < 0) {
		if (rc == -EAGAIN)
			ask_again(c, FULL_MS);
		else
			lost(c, &err);
		return;
	}
	if (c->state == UP) {
		memmove(c->in, c->in + c->in_at, c->in_end - c->in_at);
		c->in_end -= c->in_at;
		c->in_at = 0;
		acknowledge(c);
		want(c, rc == 0 || c->held);
		set_timer(c, 0, rc && !c->held ? decode : NULL);
	}
	if (c->events.slice)
		c->events.slice(c->events.arg);
}

static void on_readable(struct conn *c)
{
	struct err err = { .status = 3 };
	size_t room = BUFFER_BYTES - c->in_end;
	ssize_t n = recv(c->fd, c->in + c->in_end, room < READ_BYTES ? room : READ_BYTES, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 && c->held && c->state == UP) { /* first what came before the end */
		c->out_len = 0;
		want(c, false);
		return;
	}
	if (n <= 0) {
		int why = n ? errno : 0;
		if (c->state == GREETING && n == 0)
			conn_explain_eof(&c->target, c->in, c->in_end, &err);
		else if (c->state == PROVING && c->agent_version <= MTW_VERSION)
			conn_explain_unproved_eof(&c->target, &err);
		else if ((c->state == PROVING || (c->state == UP && !c->received)) &&
			 c->agent_version > MTW_VERSION)
			conn_explain_version(&c->target, c->agent_version, c->agent_lowest, &err);
		else
			conn_explain_broken(&c->target, c->state == UP, why, &err);
		lost(c, &err);
		return;
	}
	c->last_ns = now_ns();
	c->in_end += (size_t)n;
	if (c->state == UP)
		c->received += (size_t)n;
	if (c->state == UP && c->held) {
		acknowledge(c);
		want(c, true);
		return;
	}
	decode(c);
}

static void on_patience(void *arg)
{
	struct conn *c = arg;
	struct err err = { .status = 3 };

	if (c->state == LOOKING) { /* the resolver itself gives up some time */
		set_timer(c, 0, NULL);
		conn_explain_lookup(&c->target, &err);
		c->events.down(c->events.arg, err.text);
		return;
	}
	if (c->state == CONNECTING) {
		conn_explain_unaccepted(&c->target, CONNECT_MS / 1000, &err);
		lost(c, &err);
		return;
	}
	pid_t peer = c->target.kind == TARGET_TCP ? tcp_listener(c->fd) : (pid_t)conn_peer(c);
	bool proving = c->state == PROVING, lags = procfs_lags(&c->pace, peer, peer);
	if (proving && !procfs_stopped(peer))
		conn_explain_unproved(&c->target, &err);
	else
		conn_explain_silence(&c->target, peer, &err);
	if (proving || (c->silence_said && !lags)) {
		lost(c, &err);
		return;
	}
	c->silence_said = true;
	set_timer(c, GREETING_MS - SILENCE_MS, on_patience);
	c->events.down(c->events.arg, err.text);
}

static void on_connected(struct conn *c)
{
	struct err err = { .status = 3 };

	if (conn_verify(c->fd, &c->target, &err)) {
		lost(c, &err);
		return;
	}
	c->state = GREETING;
	c->silence_said = false;
	set_timer(c, SILENCE_MS, on_patience);
	want(c, true);
}

static void on_io(void *arg, unsigned events)
{
	struct conn *c = arg;

	if (c->state == CONNECTING) {
		on_connected(c);
		return;
	}
	if (events & LOOP_WRITE) {
		flush(c);
		if (!c->out_len)
			want(c, true);
	}
	if (events & LOOP_READ)
		on_readable(c);
}

/* Opens the first of an agent's possible names that works; *err is about the plain one. -EAGAIN:
 * a queue there is full. */
static int open_first(struct conn *c, struct err *err)
{
	struct err first = { 0 };
	bool busy = false;

	if (!c->peers.count) {
		int fd = conn_open_elsewhere(&c->target, &c->peers, err);
		if (fd < 0 || conn_verify(fd, &c->target, err) == 0)
			return fd;
		close(fd);
		return -1;
	}
	for (size_t i = 0; i < c->peers.count; i++) {
		struct err *why = i ? err : &first;
		int fd = conn_open(&c->target, &c->peers, i, why);
		if (fd >= 0 && conn_verify(fd, &c->target, why) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
		busy |= fd == -EAGAIN;
	}
	*err = first;
	return busy ? -EAGAIN : -1;
}

static void connect_peers(struct conn *c)
{
	struct err err = { .status = 3 };

	if (c->target.kind == TARGET_TCP)
		c->fd = conn_open(&c->target, &c->peers, c->attempts, &err);
	else
		c->fd = open_first(c, &err);
	bool again = c->fd == -EAGAIN && c->busy++ < BUSY_TRIES;
	if (c->fd < 0)
		c->fd = -1;
	if (again) { /* others crowd there; each try may be the one that finds room */
		ask_again(c, BUSY_MS);
		return;
	}
	c->busy = 0;
	if (c->fd < 0) {
		lost(c, &err);
		return;
	}
	c->state = CONNECTING;
	c->io = loop_fd(c->loop, c->fd, LOOP_WRITE, on_io, c);
	set_timer(c, CONNECT_MS, on_patience);
}

static void on_found(void *arg, int rc, const struct addrinfo *found)
{
	struct conn *c = arg;
	struct err err = { .status = 3 };

	c->lookup = NULL;
	set_timer(c, 0, NULL);
	if (conn_take_found(&c->target, &c->peers, rc, found, &err))
		lost(c, &err);
	else
		connect_peers(c);
}

static void try_connect(void *arg)
{
	struct conn *c = arg;
	struct err err = { .status = 3 };

	set_timer(c, 0, NULL);
	bool known = c->target.kind == TARGET_TCP && c->peers.count;
	int rc = known ? 0 : conn_resolve(&c->target, &c->peers, &err);
	if (rc < 0) {
		lost(c, &err);
	} else if (rc == 0) {
		connect_peers(c);
	} else {
		c->state = LOOKING;
		c->lookup =
			resolver_start(c->loop, c->target.host, c->target.port, on_found, c, &err);
		if (c->lookup)
			set_timer(c, SILENCE_MS, on_patience);
		else
			lost(c, &err);
	}
}

struct conn *conn_new(struct loop *loop, const struct target *t, const char *who, uint64_t features,
		      uint64_t tick_ns, const struct conn_events *events)
{
	struct conn *c = xcalloc(1, sizeof *c);
	const char *token = getenv("MEMTOP_TOKEN");

	c->loop = loop;
	c->target = *t;
	c->events = *events;
	c->who = xstrndup(who, strnlen(who, MTW_NAME_MAX));
	c->token = xstrndup(token ? token : "", MTW_TOKEN_MAX);
	c->features = features;
	c->tick_ns = tick_ns;
	c->fd = -1;
	c->in = xmalloc(BUFFER_BYTES);
	c->pause_ms = PAUSE_MIN_MS;
	set_timer(c, 0, try_connect);
	return c;
}

void conn_free(struct conn *c)
{
	if (!c)
		return;
	if (c->state == UP) { /* so that the agent drops us at once */
		put_frame(c, MTW_DETACH, NULL, 0);
		flush(c);
	}
	hang_up(c);
	free(c->in);
	free(c->out);
	free(c->who);
	free(c->token);
	free(c);
}

bool conn_up(const struct conn *c)
{
	return c->state == UP;
}

unsigned conn_peer(const struct conn *c)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof peer;

	if (c->fd < 0 || getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.pid < 0)
		return 0;
	return (unsigned)peer.pid;
}

bool conn_tried(const struct conn *c)
{
	return c->failures >= (c->target.kind == TARGET_TCP && c->peers.count ? c->peers.count : 1);
}

uint64_t conn_last_ns(const struct conn *c)
{
	return c->last_ns;
}

int conn_send(struct conn *c, uint64_t type, const uint8_t *payload, size_t len)
{
	if (c->state != UP || c->out_len + len > OUT_MAX)
		return -1;
	put_frame(c, type, payload, len);
	flush(c);
	want(c, !c->timer); /* in UP a timer means that whole frames still wait */
	return 0;
}

void conn_hold(struct conn *c, bool on)
{
	if (c->held == on)
		return;
	c->held = on;
	if (c->state != UP)
		return;
	want(c, on);
	set_timer(c, 0, on ? NULL : decode);
}

void conn_finish(struct conn *c)
{
	hang_up(c);
	c->state = OVER;
}
