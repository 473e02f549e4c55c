/* SPDX-License-Identifier: MIT
 *
 * test_handshake.c - pending connections: which wait, which are evicted, and how many are accepted
 * at a time, on a simulated clock.
 */
#include "check.h"
#include "collect/memory.h"
#include "server/service.h"
#include "collect/viewer.h"
#include "server/handshake.h"
#include "server/viewer.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#define BURST (DOOR_PLACES / 2)
#define TOKEN "0123456789abcdef0123456789abcdef"

static struct server *s;
static struct sockaddr_un name = { .sun_family = AF_UNIX };
static socklen_t name_len;
static uint64_t now;

/* A server that listens; port: it asks for proof, though this is a Unix socket. */
static void open_door(int port)
{
	memory_forget(); /* what the agent in this program has mapped is not here after the fork */
	s = calloc(1, sizeof(*s));
	now = server_now();
	s->shared = calloc(1, sizeof(*s->shared));
	s->service = calloc(1, sizeof(*s->service));
	s->service->listening.port = port;
	memcpy(s->service->listening.token, TOKEN, sizeof(TOKEN));
	for (int i = 0; i < VIEWERS_MAX; i++)
		s->viewer[i].index = i;
	s->scans.now.viewer = -1;
	CHECK(handshake_seed(s));
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "t_door.%d", (int)getpid());
	name_len =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name.sun_path + 1));
	s->service->listening.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK_EQ(bind(s->service->listening.fd, (struct sockaddr *)&name, name_len), 0);
	CHECK_EQ(listen(s->service->listening.fd, 200), 0);
}

static int knock(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	CHECK_EQ(connect(fd, (struct sockaddr *)&name, name_len), 0);
	return fd;
}

/* One that has been accepted; long after whoever came before. */
static int stranger(void)
{
	int fd = knock();

	now += SECOND / 100;
	handshake_arrivals(s, now);
	return fd;
}

static int waiting(void)
{
	struct pollfd fd[DOOR_PLACES];

	return handshake_watch(s, fd);
}

static void hear_all(void)
{
	struct pollfd fd[DOOR_PLACES];
	int n = handshake_watch(s, fd);

	poll(fd, (nfds_t)n, 0);
	handshake_ready(s, fd, n);
}

static bool sent_away(int fd)
{
	char bytes[512];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		;
	return n == 0 || errno != EAGAIN;
}

static void put(int fd, const void *bytes, size_t len)
{
	CHECK_EQ(send(fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void take(int fd, void *to, size_t len)
{
	CHECK_EQ(recv(fd, to, len, 0), (ssize_t)len);
}

/* The client's side of the proof, up to the agent's. */
static void prove(int fd)
{
	struct mtw_exchange x;
	uint8_t head[3], frame[128];
	struct mtw_out o = { frame, frame + sizeof(frame), false };

	take(fd, x.agent_greeting, MTW_GREETING_LEN);
	take(fd, head, sizeof(head));
	take(fd, x.agent_nonce, MTW_NONCE_LEN);
	memcpy(x.client_greeting, MTW_MAGIC "\2\0\1", MTW_GREETING_LEN);
	memset(x.client_nonce, 3, MTW_NONCE_LEN);
	mtw_proof(TOKEN, MTW_LABEL_CLIENT, &x, frame + 64);
	uint8_t proof[MTW_PROOF_LEN];
	memcpy(proof, frame + 64, sizeof(proof));
	mtw_put(&o, MTW_RESPONSE);
	mtw_put(&o, 2 * (1 + MTW_NONCE_LEN));
	mtw_put_bytes(&o, x.client_nonce, MTW_NONCE_LEN);
	mtw_put_bytes(&o, proof, MTW_PROOF_LEN);
	put(fd, x.client_greeting, MTW_GREETING_LEN);
	put(fd, frame, (size_t)(o.at - frame));
	hear_all();
	mtw_proof(TOKEN, MTW_LABEL_AGENT, &x, proof);
	take(fd, head, sizeof(head));
	CHECK_EQ(head[0], MTW_PROOF);
	take(fd, frame, MTW_PROOF_LEN);
	CHECK(mtw_same(frame, proof, MTW_PROOF_LEN));
}

static const uint8_t client[] = { MTW_CLIENT, 5, 0, 1, 'x', 0, 0 };

TEST(arrivals_are_spaced)
{
	open_door(0);
	for (int i = 0; i < 100; i++)
		knock();
	handshake_arrivals(s, now += SECOND); /* long after the agent's start */
	CHECK_EQ(waiting(), BURST);
	CHECK(handshake_opens(s) > now && handshake_opens(s) <= now + SECOND / 100);
	handshake_arrivals(s, now);
	CHECK_EQ(waiting(), BURST);
	handshake_arrivals(s, now = handshake_opens(s));
	CHECK_EQ(waiting(), BURST + 1);
	handshake_arrivals(s, now += SECOND); /* what was saved up is bounded */
	CHECK_EQ(waiting(), DOOR_PLACES);     /* one had to leave */
	CHECK(handshake_opens(s) > now);
}

/* At the agent's very start there is no time to look back on. */
TEST(arrivals_at_time_0)
{
	open_door(0);
	for (int i = 0; i < 3; i++)
		knock();
	handshake_arrivals(s, 0);
	CHECK_EQ(waiting(), 1);
	handshake_arrivals(s, SECOND);
	CHECK_EQ(waiting(), 3);
}

TEST(the_oldest_leaves)
{
	int fd[DOOR_PLACES + 2];

	open_door(0);
	for (int i = 0; i < DOOR_PLACES + 2; i++)
		fd[i] = stranger();
	CHECK_EQ(waiting(), DOOR_PLACES);
	for (int i = 0; i < DOOR_PLACES + 2; i++)
		CHECK_EQ(sent_away(fd[i]), i < 2);
}

TEST(who_has_proved_stays)
{
	int fd;

	open_door(1);
	fd = stranger();
	prove(fd);
	for (int i = 0; i < 3 * DOOR_PLACES; i++)
		stranger();
	CHECK(!sent_away(fd));
	CHECK_EQ(waiting(), DOOR_PLACES);
	put(fd, client, sizeof(client));
	hear_all();
	CHECK_EQ(waiting(), DOOR_PLACES - 1);
	CHECK_EQ(s->viewer[0].state, VIEWER_OPEN);
	CHECK(s->viewer[0].tcp);
	CHECK_STR(s->viewer[0].who, "x");
	CHECK_EQ(s->shared->xviewer_futex, 1); /* wait= has its viewer */
}

/* Each byte for itself, and all kinds of ends of the buffer. */
TEST(one_byte_at_a_time)
{
	static const uint8_t greeting[] = MTW_MAGIC "\1\0\1";
	int fd;

	open_door(0);
	fd = stranger();
	for (size_t i = 0; i < sizeof(greeting); i++) {
		put(fd, greeting + i, 1);
		hear_all();
	}
	for (size_t i = 0; i < sizeof(client); i++) {
		CHECK_EQ(waiting(), 1);
		put(fd, client + i, 1);
		hear_all();
	}
	CHECK_EQ(waiting(), 0);
	CHECK_EQ(s->viewer[0].state, VIEWER_OPEN);
}

/* A CLIENT frame as long as may be, and one byte longer; more behind it than the entry holds. */
TEST(the_longest_client_frame_is_taken)
{
	for (unsigned longer = 0; longer < 2; longer++) {
		uint8_t bytes[MTW_GREETING_LEN + 3 + MTW_ENTRY_FRAME_MAX + 100] =
			MTW_MAGIC "\1\0\1";
		unsigned len = MTW_ENTRY_FRAME_MAX + longer;
		uint8_t *at = bytes + MTW_GREETING_LEN;

		open_door(0);
		at[0] = MTW_CLIENT;
		at[1] = (uint8_t)(len | 0x80);
		at[2] = (uint8_t)(len >> 7);
		for (size_t i = 0; i < 50; i++)
			at[3 + len + 2 * i] = 100; /* unknown, of no length */
		int fd = stranger();
		put(fd, bytes, MTW_GREETING_LEN + 3 + len + 90);
		hear_all();
		hear_all();
		CHECK_EQ(waiting(), 0);
		CHECK_EQ(s->viewer[0].state, longer ? VIEWER_FREE : VIEWER_OPEN);
		if (longer)
			continue;
		viewer_read(s, &s->viewer[0]);
		CHECK_EQ(s->viewer[0].state, VIEWER_OPEN);
		CHECK_EQ(s->viewer[0].in_len, 0);
		close(s->service->listening.fd);
	}
}

TEST(strangers_leave_after_the_time_they_have)
{
	int early, proved;

	open_door(1);
	proved = stranger();
	early = stranger();
	prove(proved);
	handshake_patience(s, now + SECOND, 2 * SECOND);
	CHECK_EQ(waiting(), 2);
	handshake_since(s, now + SECOND);
	handshake_patience(s, now + 3 * SECOND, 2 * SECOND);
	CHECK_EQ(waiting(), 2);
	handshake_patience(s, now + 4 * SECOND, 2 * SECOND);
	CHECK(handshake_empty(s));
	CHECK(sent_away(early) && sent_away(proved));
}

/* accept() returns EMFILE even without a pending connection: then no peer is evicted and the door
 * stays open. */
TEST(without_descriptors_nobody_is_sent_away)
{
	struct rlimit limit;
	int fd, later, top;

	open_door(0);
	fd = stranger();
	later = knock();
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	top = dup(fd);
	close(top);
	limit.rlim_cur = (rlim_t)top;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	handshake_arrivals(s, now += SECOND);
	CHECK(sent_away(fd)); /* made room */
	CHECK(!sent_away(later));
	CHECK_EQ(waiting(), 1);
	CHECK(handshake_opens(s) <= now);
	handshake_patience(s, now + 9 * SECOND, SECOND);
	CHECK(handshake_empty(s));
	close(later);
	later = dup(0); /* the last descriptor that is left */
	CHECK(later >= 0 && dup(0) >= 0 && dup(0) < 0);
}

static int client_with(uint64_t features)
{
	uint8_t bytes[MTW_GREETING_LEN + 8] = MTW_MAGIC "\1\0\1";
	uint8_t *frame = bytes + MTW_GREETING_LEN;

	memcpy(frame, (uint8_t[]){ MTW_CLIENT, 4, (uint8_t)features, 0, 0, 0 }, 6);
	int fd = stranger();
	put(fd, bytes, MTW_GREETING_LEN + 6);
	hear_all();
	return fd;
}

static unsigned taken(void)
{
	unsigned n = 0;

	for (int i = 0; i < VIEWERS_MAX; i++)
		n += s->viewer[i].state != VIEWER_FREE;
	return n;
}

static void seconds(unsigned n, uint64_t each)
{
	for (unsigned i = 0; i < n; i++)
		viewers_count_unread(s, now += each);
}

/* Viewers fill their places, and commands the others. */
TEST(commands_have_places)
{
	open_door(0);
	for (unsigned i = 0; i < WATCHING_MAX; i++)
		client_with(0);
	CHECK(sent_away(client_with(0)));
	CHECK_EQ(taken(), WATCHING_MAX);
	for (unsigned i = WATCHING_MAX; i < VIEWERS_MAX; i++)
		CHECK(!sent_away(client_with(MTW_CLIENT_COMMAND)));
	CHECK(sent_away(client_with(MTW_CLIENT_COMMAND)));
	CHECK_EQ(taken(), VIEWERS_MAX);
}

/* Ten seconds of the server's own life; older clients acknowledge less often. */
TEST(who_reads_nothing_makes_room)
{
	int fd[WATCHING_MAX];

	open_door(0);
	for (unsigned i = 0; i < WATCHING_MAX; i++) {
		fd[i] = client_with(i ? MTW_CLIENT_PROMPT : 0);
		s->viewer[i].produced = MTW_ACK_EVERY;
	}
	seconds(1, 100 * SECOND); /* it was stopped */
	seconds(8, SECOND);
	CHECK(sent_away(client_with(0)));
	seconds(4, SECOND / 4); /* one more */
	s->viewer[5].produced = 0;
	seconds(3, SECOND);
	CHECK(!sent_away(client_with(MTW_CLIENT_COMMAND))); /* has one of its own */
	CHECK_EQ(taken(), WATCHING_MAX + 1);
	for (unsigned i = 2; i < WATCHING_MAX; i++)
		CHECK(!sent_away(client_with(0)));
	CHECK(sent_away(client_with(0))); /* all others have read */
	for (unsigned i = 0; i < WATCHING_MAX; i++)
		CHECK_EQ(sent_away(fd[i]), i != 0 && i != 5);
	s->viewer[0].produced++;
	seconds(10, SECOND);
	CHECK(!sent_away(client_with(0)));
	CHECK(sent_away(fd[0]));
}

TEST(listener_that_is_none)
{
	open_door(0);
	close(s->service->listening.fd);
	handshake_arrivals(s, now);
	CHECK(handshake_opens(s) > now); /* not asked again in this turn, nor the next */
	CHECK_EQ(waiting(), 0);
}
