/* SPDX-License-Identifier: MIT
 *
 * handshake.c - new connections, from accept() to a valid CLIENT frame or a refusal.
 *
 * Viewers' places cost memory and are few, so a mere connection gets none. Until its CLIENT frame
 * is complete (and on TCP its proof of the token, wire.h) it is a stranger: one entry of a fixed
 * array. A stranger cannot keep others out: where all entries are taken the oldest leaves, and
 * after DOOR_PATIENCE_NS (server/loop.c) any leaves. Strangers do not push out a client that proved
 * the token.
 *
 * A flood must cost the target's machine little, so arrivals are spaced: up to half of the entries
 * at once, then one each SPACING_NS. Between them the listening socket is not polled, and the
 * kernel's queue holds or refuses the rest. So a stranger has at least the other half times
 * SPACING_NS to answer. Whatever accept() returns, it is not called again before the next arrival
 * is due: a lack of descriptors cannot turn into a busy loop.
 *
 * Nonces are HMAC(seed, counter and clock). The target draws the seed once, before its server
 * starts: later a seccomp filter may refuse random numbers, or kill for them.
 */
#include "server/handshake.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "server/service.h"
#include "collect/viewer.h"
#include "server/listen.h"
#include "server/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define SPACING_NS MILLI
#define PAUSE_NS (100 * MILLI) /* after an error of accept() that will not be gone at once */
#define REFUSAL_BYTES 512      /* a greeting and an ERROR */
#define NON_BLOCKING 1         /* GRND_NONBLOCK */

static long read_random(uint8_t *to, long len)
{
	long fd = mt_prim_call(SYS_openat, AT_FDCWD, (long)"/dev/urandom", O_RDONLY | O_CLOEXEC, 0,
			       0, 0);

	if (fd < 0)
		return fd;
	long n = mt_prim_call(SYS_read, fd, (long)to, len, 0, 0, 0);
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return n;
}

bool handshake_seed(struct server *s)
{
	const long len = sizeof(s->service->door.seed);

	if (mt_prim_call(SYS_getrandom, (long)s->service->door.seed, len, NON_BLOCKING, 0, 0, 0) ==
		    len ||
	    read_random(s->service->door.seed, len) == len)
		return true;
	mt_msg("listen=%s: TCP needs random numbers, and neither getrandom nor /dev/urandom gives "
	       "any; listen on a Unix socket",
	       mt_conf.listen);
	return false;
}

static void draw_nonce(struct handshakes *d, uint8_t to[MTW_NONCE_LEN])
{
	const uint64_t drawn[2] = { ++d->nonces, mt_prim_now_ns() };

	mtw_hmac(d->seed, sizeof(d->seed), NULL, drawn, sizeof(drawn), to);
}

/* Answers to strangers: they fit the empty buffer of a new socket; a stranger whose buffer is
 * full leaves. */

static bool say(int fd, const struct mtw_out *o, const uint8_t *start)
{
	long len = o->at - start;

	return mt_prim_call(SYS_sendto, fd, (long)start, len, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0) ==
	       len;
}

static void put_greeting(struct mtw_out *o, const struct listening *listening)
{
	/* TCP serves no client without proof; Unix sockets ask for none. */
	const uint8_t version = listening->port ? MTW_VERSION : MTW_VERSION_UNIX;
	const uint8_t lowest = listening->port ? MTW_VERSION_PROOF : MTW_VERSION_MIN;
	const uint8_t bytes[MTW_GREETING_LEN - MTW_MAGIC_LEN] = { version, 0, lowest, 0 };

	memcpy(o->at, MTW_MAGIC, MTW_MAGIC_LEN);
	memcpy(o->at + MTW_MAGIC_LEN, bytes, sizeof(bytes));
	o->at += MTW_GREETING_LEN;
}

static void put_error(struct mtw_out *o, unsigned code, const char *text)
{
	uint8_t payload[REFUSAL_BYTES / 2];
	struct mtw_out p = { payload, payload + sizeof(payload), false };

	mtw_put(&p, code);
	mtw_put_string(&p, text);
	mtw_put(o, MTW_ERROR);
	mtw_put_bytes(o, payload, (size_t)(p.at - payload));
}

static void hang_up(int fd)
{
	mt_prim_call(SYS_shutdown, fd, SHUT_WR, 0, 0, 0, 0);
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

static void leave(struct stranger *t)
{
	hang_up(t->fd);
	t->stage = DOOR_FREE;
}

static void turn_away(struct stranger *t, unsigned code, const char *text)
{
	uint8_t bytes[REFUSAL_BYTES];
	struct mtw_out o = { bytes, bytes + sizeof(bytes), false };

	put_error(&o, code, text);
	say(t->fd, &o, bytes);
	leave(t);
}

/* Does the program wait for the viewer at fd? Of one in another pid namespace the number is 0. */
static bool is_waited_for(int fd)
{
	struct {
		int pid;
		uint32_t uid, gid;
	} peer;
	socklen_t len = sizeof(peer);

	return !mt_conf.wait_for ||
	       mt_prim_call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&len,
			    0) ||
	       peer.pid <= 0 || (uint64_t)peer.pid == mt_conf.wait_for;
}

/* wait=: the program has waited for its first viewer long enough. Another one may come first, as
 * memtop serve --all does: a short program would end before its own viewer has come. */
static void end_wait(struct server *s, int fd)
{
	if (is_waited_for(fd) && !atomic_exchange(&s->shared->xviewer_futex, 1))
		mt_prim_call(SYS_futex, (long)&s->shared->xviewer_futex, 1 /* FUTEX_WAKE */, 64, 0,
			     0, 0);
}

static struct stranger *oldest(struct server *s)
{
	struct stranger *found = NULL;

	for (struct stranger *t = s->service->door.stranger;
	     t < s->service->door.stranger + DOOR_PLACES; t++) {
		if (t->stage == DOOR_FREE)
			continue;
		if (!found || t->proved < found->proved ||
		    (t->proved == found->proved && t->since_ns < found->since_ns))
			found = t;
	}
	return found;
}

static struct stranger *entry(struct server *s)
{
	for (struct stranger *t = s->service->door.stranger;
	     t < s->service->door.stranger + DOOR_PLACES; t++)
		if (t->stage == DOOR_FREE)
			return t;
	struct stranger *t = oldest(s);
	leave(t);
	return t;
}

static void greet(struct server *s, int fd, uint64_t now)
{
	uint8_t bytes[MTW_GREETING_LEN + 20 + MTW_NONCE_LEN];
	struct mtw_out o = { bytes, bytes + sizeof(bytes), false };
	struct stranger *t = entry(s);

	t->stage = DOOR_GREETING;
	t->fd = fd;
	t->proved = false;
	t->since_ns = now;
	t->in_len = 0;
	put_greeting(&o, &s->service->listening);
	memcpy(t->exchange.agent_greeting, bytes, MTW_GREETING_LEN);
	if (s->service->listening.port) {
		draw_nonce(&s->service->door, t->exchange.agent_nonce);
		mtw_put(&o, MTW_CHALLENGE);
		mtw_put(&o, MTW_NONCE_LEN + 1);
		mtw_put_bytes(&o, t->exchange.agent_nonce, MTW_NONCE_LEN);
	}
	if (!say(fd, &o, bytes))
		leave(t);
}

/* A Unix socket's peer that the kernel names as another user: greeting and reason in one piece,
 * then closed. */
static void refuse(struct server *s, int fd, const char *why)
{
	uint8_t bytes[REFUSAL_BYTES];
	struct mtw_out o = { bytes, bytes + sizeof(bytes), false };

	put_greeting(&o, &s->service->listening);
	put_error(&o, MTW_E_ACCESS, why);
	say(fd, &o, bytes);
	end_wait(s, fd); /* the start may wait for this viewer */
	hang_up(fd);
}

uint64_t handshake_opens(const struct server *s)
{
	return s->service->door.open_ns;
}

static void space(struct server *s, uint64_t now)
{
	const uint64_t burst = (uint64_t)DOOR_PLACES / 2, saved = (burst - 1) * SPACING_NS;
	const uint64_t least = now > saved ? now - saved : 0, opened = s->service->door.open_ns;

	s->service->door.open_ns = (opened > least ? opened : least) + SPACING_NS;
}

static bool somebody_waits(const struct listening *listening)
{
	struct pollfd fd = { listening->fd, POLLIN, 0 };
	long none[2] = { 0, 0 };

	return mt_prim_call(SYS_ppoll, (long)&fd, 1, (long)none, 0, 8, 0) == 1 &&
	       fd.revents == POLLIN;
}

/* May accept() be called again at once? It reports a lack of descriptors even when no connection
 * waits. */
static bool may_pass(struct server *s, long why)
{
	struct stranger *t = why == -EMFILE || why == -ENFILE ? oldest(s) : NULL;

	if (t)
		leave(t); /* its descriptor is for the newcomer */
	return t || why == -EINTR || why == -ECONNABORTED;
}

void handshake_arrivals(struct server *s, uint64_t now)
{
	while (s->service->door.open_ns <= now) {
		int fd = (int)mt_prim_call(SYS_accept4, s->service->listening.fd, 0, 0,
					   SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0);
		if (fd == -EAGAIN ||
		    ((fd == -EMFILE || fd == -ENFILE) && !somebody_waits(&s->service->listening)))
			return;
		space(s, now);
		if (fd < 0 && !may_pass(s, fd))
			s->service->door.open_ns = now + PAUSE_NS;
		if (fd < 0)
			continue;
		const char *why = s->service->listening.port ? NULL : listen_refuses(fd);
		if (why)
			refuse(s, fd, why);
		else
			greet(s, fd, now);
	}
}

/* As take_frame(). */
static size_t take_greeting(const struct server *s, struct stranger *t)
{
	const uint8_t *g = t->in;

	if (memcmp(g, MTW_MAGIC, t->in_len < MTW_MAGIC_LEN ? t->in_len : MTW_MAGIC_LEN)) {
		leave(t); /* not a viewer: it would not understand a reason either */
		return 0;
	}
	if (t->in_len < MTW_GREETING_LEN)
		return 0;
	unsigned newest = g[8] | (unsigned)g[9] << 8, lowest = g[10] | (unsigned)g[11] << 8;
	if (newest < t->exchange.agent_greeting[10] || lowest > t->exchange.agent_greeting[8]) {
		turn_away(t, MTW_E_VERSION,
			  "no common version of the protocol; use a memtop of the agent's release");
		return 0;
	}
	memcpy(t->exchange.client_greeting, g, MTW_GREETING_LEN);
	t->stage = s->service->listening.port ? DOOR_RESPONSE : DOOR_CLIENT;
	return MTW_GREETING_LEN;
}

/* Viewers get a notice at 1, 10, 100, ... refusals: enough to notice an attempt, too few to fill a
 * screen. */
static void wrong_token(struct server *s, struct stranger *t)
{
	char text[NOTICE_MAX];
	uint64_t n = ++s->service->door.wrong_tokens;

	turn_away(t, MTW_E_ACCESS, "the token is wrong");
	while (n % 10 == 0)
		n /= 10;
	if (n != 1)
		return;
	mt_format(text, sizeof(text),
		  "a connection to TCP port %d was refused for a wrong token (%llu so far)",
		  s->service->listening.port, (unsigned long long)s->service->door.wrong_tokens);
	viewers_notice(&s->notices, -1, -1, text);
}

/* False: malformed. */
static bool take_proof(struct server *s, struct stranger *t, struct mtw_in *in, uint64_t now)
{
	uint8_t want[MTW_PROOF_LEN], bytes[20 + MTW_PROOF_LEN];
	struct mtw_out o = { bytes, bytes + sizeof(bytes), false };
	size_t nonce_len, proof_len;
	const void *nonce = mtw_get_bytes(in, MTW_NONCE_LEN, &nonce_len);
	const void *proof = mtw_get_bytes(in, MTW_PROOF_LEN, &proof_len);

	if (in->bad || nonce_len != MTW_NONCE_LEN || proof_len != MTW_PROOF_LEN)
		return false;
	memcpy(t->exchange.client_nonce, nonce, MTW_NONCE_LEN);
	mtw_proof(s->service->listening.token, MTW_LABEL_CLIENT, &t->exchange, want);
	if (!mtw_same(want, proof, MTW_PROOF_LEN)) {
		wrong_token(s, t);
		return true;
	}
	mtw_proof(s->service->listening.token, MTW_LABEL_AGENT, &t->exchange, want);
	mtw_put(&o, MTW_PROOF);
	mtw_put(&o, MTW_PROOF_LEN + 1);
	mtw_put_bytes(&o, want, MTW_PROOF_LEN);
	t->stage = DOOR_CLIENT;
	t->proved = true;
	t->since_ns = now;
	if (!say(t->fd, &o, bytes))
		leave(t);
	return true;
}

/* False: malformed. Else the stranger is gone, or a viewer, which also gets the bytes behind the
 * frame. */
static bool take_client(struct server *s, struct stranger *t, struct mtw_in *in)
{
	size_t who_len, unused;

	uint64_t features = mtw_get(in);
	const char *who = mtw_get_bytes(in, MTW_NAME_MAX, &who_len);
	mtw_get_bytes(in, MTW_TOKEN_MAX, &unused);
	uint64_t tick = mtw_get(in);
	if (in->bad)
		return false;
	long failed;
	int fd = t->fd;
	struct viewer *v = viewer_enter(s, fd, features, &failed);
	if (!v) {
		turn_away(t, MTW_E_BUSY, viewer_refusal(failed));
		return true;
	}
	memcpy(v->who, who, who_len);
	v->tick_ns = tick ? tick : mt_conf.tick_ns;
	t->stage = DOOR_FREE;
	end_wait(s, fd);
	viewer_hear(s, v, in->end, (size_t)(t->in + t->in_len - in->end));
	return true;
}

/* Bytes used up; 0: more are needed, or the entry no longer holds this stranger. */
static size_t take_frame(struct server *s, struct stranger *t, uint64_t now)
{
	uint64_t type, len;
	int head = mtw_frame(t->in, t->in_len, MTW_ENTRY_FRAME_MAX, &type, &len);
	bool good = false;

	if (head < 0) {
		turn_away(t, MTW_E_FRAME, "a frame is too long");
		return 0;
	}
	if (!head || t->in_len - (size_t)head < len)
		return 0;
	struct mtw_in in = { t->in + head, t->in + head + len, false };
	if (t->stage == DOOR_CLIENT && type == MTW_CLIENT && take_client(s, t, &in))
		return 0;
	if (t->stage == DOOR_RESPONSE && type == MTW_RESPONSE)
		good = take_proof(s, t, &in, now);
	if (!good)
		turn_away(t, MTW_E_FRAME, "a frame is malformed");
	return t->stage == DOOR_FREE ? 0 : (size_t)head + len;
}

static void hear(struct server *s, struct stranger *t, uint64_t now)
{
	long n = mt_prim_call(SYS_recvfrom, t->fd, (long)(t->in + t->in_len),
			      (long)(DOOR_IN_BYTES - t->in_len), MSG_DONTWAIT, 0, 0);

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0) {
		leave(t);
		return;
	}
	t->in_len += (size_t)n;
	while (t->stage != DOOR_FREE) {
		size_t used =
			t->stage == DOOR_GREETING ? take_greeting(s, t) : take_frame(s, t, now);
		if (!used)
			return;
		memmove(t->in, t->in + used, t->in_len - used);
		t->in_len -= used;
	}
}

int handshake_watch(const struct server *s, struct pollfd *fd)
{
	int n = 0;

	for (int i = 0; i < DOOR_PLACES; i++)
		if (s->service->door.stranger[i].stage != DOOR_FREE)
			fd[n++] = (struct pollfd){ s->service->door.stranger[i].fd, POLLIN, 0 };
	return n;
}

/* In the order of handshake_watch(). Where another one came to an entry since, the rest is ready
 * again at the next turn. */
void handshake_ready(struct server *s, const struct pollfd *fd, int n)
{
	uint64_t now = server_now();

	for (int i = 0, at = 0; i < DOOR_PLACES && at < n; i++) {
		struct stranger *t = &s->service->door.stranger[i];
		if (t->stage != DOOR_FREE && t->fd == fd[at].fd && fd[at++].revents)
			hear(s, t, now);
	}
}

bool handshake_empty(const struct server *s)
{
	for (int i = 0; i < DOOR_PLACES; i++)
		if (s->service->door.stranger[i].stage != DOOR_FREE)
			return false;
	return true;
}

void handshake_since(struct server *s, uint64_t now)
{
	for (int i = 0; i < DOOR_PLACES; i++)
		s->service->door.stranger[i].since_ns = now;
}

void handshake_patience(struct server *s, uint64_t now, uint64_t limit)
{
	for (struct stranger *t = s->service->door.stranger;
	     t < s->service->door.stranger + DOOR_PLACES; t++)
		if (t->stage != DOOR_FREE && now > t->since_ns && now - t->since_ns > limit)
			leave(t);
}
