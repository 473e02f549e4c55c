/* SPDX-License-Identifier: MIT
 *
 * t_conn.c - the link: what is said of those that do not greet as an agent does, and how it comes back.
 * The resolver is this file's: names are found, are not, or are looked up for ever.
 */
#include "conn.h"
#include "peer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

static const uint8_t right[MTW_GREETING_LEN] = MTW_MAGIC "\1\0\1";

static char problem[1024];
static unsigned problems, ups, frames;

static int on_frame(void *arg, uint64_t type, const uint8_t *payload, size_t len, struct err *err)
{
	(void)arg, (void)type, (void)payload, (void)len, (void)err;
	frames++;
	return 0;
}

static void on_up(void *arg)
{
	(void)arg;
	ups++;
}

static void on_down(void *arg, const char *text)
{
	(void)arg;
	problems++;
	snprintf(problem, sizeof problem, "%s", text);
}

static struct sockaddr_in found_at = { .sin_family = AF_INET };
static struct addrinfo found = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_addrlen = sizeof found_at };
static int lookups;

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **to)
{
	if (hints->ai_flags & AI_NUMERICHOST)
		return EAI_NONAME;
	__atomic_add_fetch(&lookups, 1, __ATOMIC_RELAXED);
	while (!strcmp(host, "never"))
		pause();
	if (strcmp(host, "here"))
		return !strcmp(host, "busy") ? EAI_AGAIN : EAI_NONAME;
	found_at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	found_at.sin_port = htons((uint16_t)atoi(port));
	found.ai_addr = (struct sockaddr *)&found_at;
	*to = &found;
	return 0;
}

void freeaddrinfo(struct addrinfo *a)
{
	CHECK(a == &found);
}

static struct conn *open_name(const char *word)
{
	const struct conn_events events = { .frame = on_frame, .up = on_up, .down = on_down };
	struct target t;
	struct err err = { 0 };

	loop = loop_new();
	CHECK_EQ(target_parse(word, &t, &err), 0);
	return conn_new(loop, &t, "test", 0, &events);
}

static struct conn *open_link(int *listener)
{
	const struct conn_events events = { .frame = on_frame, .up = on_up, .down = on_down };
	struct target t;

	loop = loop_new();
	*listener = peer_listen(&t);
	return conn_new(loop, &t, "test", 0, &events);
}

static void end_link(struct conn *c, int listener)
{
	conn_free(c);
	close(listener);
	loop_free(loop);
}

/* What is said when `len` bytes come and then the end of the stream, or nothing more. */
static void answer(const void *bytes, size_t len, bool end, const char *want)
{
	int listener;
	struct conn *c = open_link(&listener);
	int fd = peer_accept(listener);

	peer_send(fd, bytes, len);
	if (end)
		shutdown(fd, SHUT_WR);
	WAIT_FOR(problems > 0);
	if (!strstr(problem, want))
		printf("  after %zu bytes: %s\n", len, problem);
	CHECK(strstr(problem, want) != NULL);
	CHECK(!conn_up(c));
	CHECK_EQ(ups, 0);
	close(fd);
	end_link(c, listener);
	problems = 0;
}

TEST(greeting_cut_at_every_byte)
{
	answer(right, 0, true, "the stream ended before an agent's greeting");
	for (size_t n = 1; n < MTW_GREETING_LEN; n++) {
		char want[64];
		snprintf(want, sizeof want, "within the greeting: %zu of 12 bytes", n);
		answer(right, n, true, want);
	}
}

TEST(greeting_in_single_bytes)
{
	int listener;
	struct conn *c = open_link(&listener);
	int fd = peer_accept(listener);

	for (size_t n = 0; n < MTW_GREETING_LEN; n++) {
		CHECK_EQ(ups, 0);
		peer_send(fd, right + n, 1);
		loop_once(loop, 100);
	}
	WAIT_FOR(conn_up(c));
	CHECK_EQ(ups, 1);
	CHECK_EQ(problems, 0);
	close(fd);
	end_link(c, listener);
}

TEST(wrong_magic)
{
	uint8_t wrong[MTW_GREETING_LEN];

	for (size_t n = 0; n < MTW_MAGIC_LEN; n++) {
		memcpy(wrong, right, sizeof wrong);
		wrong[n] ^= 0x20;
		/* Said at the first wrong byte: whoever sends it may never send more. */
		answer(wrong, n + 1, false, "something else listens there");
	}
	answer("SSH-2.0-OpenSSH_9.2\r\n", 21, false, "it sent \"SSH-2.0-OpenSSH_9.2\\x0D\\x0A\"");
	answer("HTTP/1.1 400 Bad Request\r\n", 26, true, "an HTTP server");
}

TEST(endless_zeros)
{
	static const uint8_t zeros[65536];

	answer(zeros, sizeof zeros, false, "it sends zeros");
}

TEST(wrong_version)
{
	uint8_t g[MTW_GREETING_LEN];

	memcpy(g, right, sizeof g);
	g[8] = g[10] = MTW_VERSION + 1;
	answer(g, sizeof g, false, "its agent speaks version 2 (lowest 2), this memtop 1 (lowest 1)");
	g[8] = g[10] = 0;
	answer(g, sizeof g, false, "its agent speaks version 0");
	/* A newer agent that can still speak ours is fine. */
	int listener;
	struct conn *c = open_link(&listener);
	int fd = peer_accept(listener);
	g[8] = MTW_VERSION + 6;
	g[10] = MTW_VERSION;
	peer_send(fd, g, sizeof g);
	WAIT_FOR(conn_up(c));
	close(fd);
	end_link(c, listener);
}

TEST(silence_is_said_before_it_is_given_up)
{
	int listener;
	struct conn *c = open_link(&listener);
	int fd = peer_accept(listener);

	WAIT_FOR(problems == 1);
	CHECK(strstr(problem, "connected, but no greeting comes") != NULL);
	CHECK(!conn_tried(c));
	/* An agent behind a slow link may still speak. */
	peer_send(fd, right, sizeof right);
	WAIT_FOR(conn_up(c));
	close(fd);
	end_link(c, listener);
}

TEST(impossible_frame_ends_the_link)
{
	static const uint8_t frame[] = { 4, 0xff, 0xff, 0xff, 0xff, 0x7f };
	int listener;
	struct conn *c = open_link(&listener);
	int fd = peer_accept(listener);

	peer_send(fd, right, sizeof right);
	peer_send(fd, frame, sizeof frame);
	WAIT_FOR(problems > 0);
	CHECK(strstr(problem, "a frame of impossible length") != NULL);
	CHECK_EQ(frames, 0);
	close(fd);
	end_link(c, listener);
}

/* Each pause is at least twice the one before; how much longer the machine makes it does not matter. */
TEST(pauses_grow_until_a_frame_comes)
{
	static const uint8_t frame[] = { MTW_NOTICE, 1, 0 };
	int listener, fd;
	struct conn *c = open_link(&listener);

	for (unsigned n = 0, least = 0; n < 6; n++, least = least ? least * 2 : 5) {
		uint64_t from = now_ns();
		fd = peer_accept(listener);
		CHECK((now_ns() - from) / 1000000 + 1 >= least);
		close(fd);
		WAIT_FOR(problems == n + 1);
	}
	CHECK(conn_tried(c));
	fd = peer_accept(listener);
	peer_send(fd, right, sizeof right);
	peer_send(fd, frame, sizeof frame);
	WAIT_FOR(frames == 1);
	CHECK(!conn_tried(c));
	close(fd);
	end_link(c, listener);
}

TEST(finished_is_not_tried_again)
{
	int listener;
	struct conn *c = open_link(&listener);
	int fd = peer_accept(listener);

	peer_send(fd, right, sizeof right);
	WAIT_FOR(conn_up(c));
	conn_finish(c);
	CHECK(!conn_up(c));
	for (int i = 0; i < 5; i++)
		loop_once(loop, 20);
	CHECK(accept4(listener, NULL, NULL, SOCK_NONBLOCK) < 0);
	CHECK_EQ(problems, 0);
	close(fd);
	end_link(c, listener);
}

TEST(name_that_is_looked_up_for_ever)
{
	struct conn *c = open_name("never:9001");

	/* The loop goes on all the while: its timers say so, and who waits for the link may leave. */
	WAIT_FOR(problems == 1);
	CHECK(strstr(problem, "never:9001: its name is still being looked up") != NULL);
	CHECK(!conn_tried(c));
	CHECK_EQ(lookups, 1);
	conn_free(c);
	loop_free(loop);
}

TEST(name_that_nobody_knows)
{
	struct conn *c = open_name("nobody:9001");

	WAIT_FOR(conn_tried(c));
	CHECK(strstr(problem, "nobody:9001: no such host: ") != NULL);
	WAIT_FOR(__atomic_load_n(&lookups, __ATOMIC_RELAXED) > 2); /* it may be set up meanwhile */
	conn_free(c);
	loop_free(loop);
	c = open_name("busy:9001");
	problems = 0;
	WAIT_FOR(problems > 0);
	CHECK(strstr(problem, "cannot be looked up now") != NULL);
	conn_free(c);
	loop_free(loop);
}

TEST(name_is_looked_up_once)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	char word[32];
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	CHECK_EQ(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
	CHECK_EQ(listen(listener, 8), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	snprintf(word, sizeof word, "here:%d", ntohs(at.sin_port));
	struct conn *c = open_name(word);
	for (unsigned n = 1; n < 4; n++) {
		int fd = peer_accept(listener);
		peer_send(fd, right, sizeof right);
		WAIT_FOR(ups == n);
		close(fd);
		WAIT_FOR(problems == n);
	}
	CHECK_EQ(lookups, 1);
	end_link(c, listener);
}
