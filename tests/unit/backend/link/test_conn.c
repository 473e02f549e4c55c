/* SPDX-License-Identifier: MIT
 *
 * test_conn.c - the link: errors for peers that do not greet like an agent, and reconnecting. This
 * file's fake resolver finds a name, fails, or never answers.
 */
#include "link/conn.h"
#include "peer.h"

#include <memtop/proof.h>

#include <arpa/inet.h>
#include <fcntl.h>
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
static struct addrinfo found = { .ai_family = AF_INET,
				 .ai_socktype = SOCK_STREAM,
				 .ai_addrlen = sizeof found_at };
static int lookups;

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		struct addrinfo **to)
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

static bool forwarded; /* by memtop itself, to a Unix socket */

static struct conn *open_name(const char *word)
{
	const struct conn_events events = { .frame = on_frame, .up = on_up, .down = on_down };
	struct target t;
	struct err err = { 0 };

	loop = loop_new(NULL);
	CHECK_EQ(target_parse(word, &t, &err), 0);
	t.forwarded = forwarded;
	return conn_new(loop, &t, "test", 0, 0, &events);
}

static struct conn *open_link(int *listener)
{
	const struct conn_events events = { .frame = on_frame, .up = on_up, .down = on_down };
	struct target t;

	loop = loop_new(NULL);
	*listener = peer_listen(&t);
	return conn_new(loop, &t, "test", 0, 0, &events);
}

static void end_link(struct conn *c, int listener)
{
	conn_free(c);
	close(listener);
	loop_free(loop);
}

/* The message after `len` bytes and then the end of the stream, or silence. */
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

TEST(a_wrong_magic_is_said_at_its_first_byte)
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

TEST(endless_zeros_are_no_agent)
{
	static const uint8_t zeros[65536];

	answer(zeros, sizeof zeros, false, "it sends zeros");
}

TEST(wrong_version)
{
	uint8_t g[MTW_GREETING_LEN];

	memcpy(g, right, sizeof g);
	g[8] = g[10] = MTW_VERSION + 1;
	answer(g, sizeof g, false, "its agent speaks version 3 (lowest 3), memtop ");
	g[8] = g[10] = 0;
	answer(g, sizeof g, false, "its agent speaks version 0");
	/* A newer agent that can still speak ours is fine. */
	int listener;
	struct conn *c = open_link(&listener);
	int fd = peer_accept(listener);
	g[8] = MTW_VERSION + 6;
	g[10] = MTW_VERSION_UNIX;
	peer_send(fd, g, sizeof g);
	WAIT_FOR(conn_up(c));
	/* Unless it hangs up without a word. */
	close(fd);
	WAIT_FOR(problems > 0);
	CHECK(strstr(problem, "its agent speaks version 8 (lowest 1)") != NULL);
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

/* Each pause is at least twice the one before; how much longer the machine makes it does not
 * matter. */
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

/* What came before a link ended is delivered, though nobody wanted it at that time. */
TEST(held_frames_come_before_the_end)
{
	static const uint8_t frame[] = { MTW_NOTICE, 1, 0 };
	int listener;
	struct conn *c = open_link(&listener);
	int fd = peer_accept(listener);

	peer_send(fd, right, sizeof right);
	WAIT_FOR(conn_up(c));
	conn_hold(c, true);
	for (int i = 0; i < 3; i++) {
		peer_send(fd, frame, sizeof frame);
		loop_once(loop, 20);
	}
	close(fd);
	for (int i = 0; i < 5; i++)
		loop_once(loop, 20);
	CHECK(frames == 0 && problems == 0 && conn_up(c));
	conn_hold(c, false);
	WAIT_FOR(problems == 1);
	CHECK_EQ(frames, 3);
	end_link(c, listener);
}

/* More than it keeps stays with the peer, which writes on when it is wanted again. */
TEST(a_held_link_keeps_so_much)
{
	enum { FRAMES = 4 };
	size_t len = MTW_FRAME_MAX;
	int listener, rest = 0;
	struct conn *c = open_link(&listener);
	int fd = peer_accept(listener);
	uint8_t *frame = calloc(1, 20 + len);
	struct mtw_out o = { frame, frame + 20, false };

	mtw_put(&o, MTW_NOTICE);
	mtw_put(&o, len);
	len += (size_t)(o.at - frame);
	peer_send(fd, right, sizeof right);
	WAIT_FOR(conn_up(c));
	conn_hold(c, true);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	size_t sent = 0, before;
	do {
		before = sent;
		for (int i = 0; i < 40; i++) {
			ssize_t n = send(fd, frame + sent % len, len - sent % len, MSG_NOSIGNAL);
			sent += n > 0 ? (size_t)n : 0;
			loop_once(loop, 0);
		}
	} while (sent > before && sent < FRAMES * len);
	CHECK(sent > MTW_FRAME_MAX && sent < FRAMES * len);
	CHECK_EQ(frames, 0);
	conn_hold(c, false);
	for (; sent < FRAMES * len && rest < 100000; rest++) {
		ssize_t n = send(fd, frame + sent % len, len - sent % len, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		loop_once(loop, 1);
	}
	WAIT_FOR(frames == FRAMES);
	free(frame);
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

	/* The loop keeps running: its timers fire, and the user may quit while the link is
	 * pending. */
	WAIT_FOR(problems == 1);
	CHECK(strstr(problem, "never:9001: looking up the name") != NULL);
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
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
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

#define TOKEN "0123456789abcdef0123456789abcdef"

static uint8_t said[4096]; /* by memtop to this end */
static size_t said_len;

static struct conn *open_port(int *listener, const char *token)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	char word[32];

	setenv("MEMTOP_TOKEN", token, 1);
	*listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK_EQ(bind(*listener, (struct sockaddr *)&at, sizeof at), 0);
	CHECK_EQ(listen(*listener, 8), 0);
	CHECK_EQ(getsockname(*listener, (struct sockaddr *)&at, &len), 0);
	snprintf(word, sizeof word, "here:%d", ntohs(at.sin_port));
	problems = ups = 0;
	said_len = 0;
	return open_name(word);
}

static void hear(int fd)
{
	ssize_t n = recv(fd, said + said_len, sizeof said - said_len, MSG_DONTWAIT);

	said_len += n > 0 ? (size_t)n : 0;
}

/* The stranger's side: a greeting that asks for proof, a nonce, and what memtop makes of it. */
static int challenge(struct conn **c, int *listener, struct mtw_exchange *x)
{
	static const uint8_t head[] = { MTW_CHALLENGE, MTW_NONCE_LEN + 1, MTW_NONCE_LEN };

	*c = open_port(listener, TOKEN);
	int fd = peer_accept(*listener);
	memcpy(x->agent_greeting, MTW_MAGIC "\2\0\2", MTW_GREETING_LEN);
	memset(x->agent_nonce, 0x5a, MTW_NONCE_LEN);
	peer_send(fd, x->agent_greeting, MTW_GREETING_LEN);
	peer_send(fd, head, sizeof head);
	peer_send(fd, x->agent_nonce, MTW_NONCE_LEN);
	WAIT_FOR((hear(fd), said_len >= MTW_GREETING_LEN + 2 + 2 * (1 + MTW_NONCE_LEN)));
	const uint8_t *at = said + MTW_GREETING_LEN;
	CHECK_EQ(at[0], MTW_RESPONSE);
	CHECK_EQ(at[1], 2 * (1 + MTW_NONCE_LEN));
	memcpy(x->client_greeting, said, MTW_GREETING_LEN);
	memcpy(x->client_nonce, at + 3, MTW_NONCE_LEN);
	uint8_t want[MTW_PROOF_LEN];
	mtw_proof(TOKEN, MTW_LABEL_CLIENT, x, want);
	CHECK(mtw_same(want, at + 4 + MTW_NONCE_LEN, MTW_PROOF_LEN));
	return fd;
}

static void send_proof(int fd, const uint8_t *proof)
{
	static const uint8_t head[] = { MTW_PROOF, MTW_PROOF_LEN + 1, MTW_PROOF_LEN };
	static const uint8_t frame[] = { MTW_NOTICE, 1, 0 };

	peer_send(fd, head, sizeof head);
	peer_send(fd, proof, MTW_PROOF_LEN);
	peer_send(fd, frame, sizeof frame); /* taken from whom has proved itself alone */
}

TEST(both_prove_the_token)
{
	struct mtw_exchange x;
	uint8_t proof[MTW_PROOF_LEN], before[MTW_NONCE_LEN];
	int listener;
	struct conn *c;
	int fd = challenge(&c, &listener, &x);

	CHECK_EQ(ups, 0);
	mtw_proof(TOKEN, MTW_LABEL_AGENT, &x, proof);
	size_t sent = said_len;
	send_proof(fd, proof);
	WAIT_FOR(frames == 1);
	CHECK(conn_up(c));
	WAIT_FOR((hear(fd), said_len > sent));
	CHECK_EQ(said[sent], MTW_CLIENT);
	CHECK(!memmem(said, said_len, TOKEN, 8));
	close(fd);
	memcpy(before, x.client_nonce, sizeof before);
	end_link(c, listener);
	fd = challenge(&c, &listener, &x);
	CHECK(memcmp(before, x.client_nonce, sizeof before) != 0); /* each time another one */
	close(fd);
	end_link(c, listener);
}

/* Data in place of the proof: memtop trusts none of it and sends nothing more. */
static void no_proof(const uint8_t *bytes, size_t len, const char *want)
{
	struct mtw_exchange x;
	int listener;
	struct conn *c;
	int fd = challenge(&c, &listener, &x);
	size_t sent = said_len;

	if (bytes)
		peer_send(fd, bytes, len);
	else
		shutdown(fd, SHUT_WR);
	WAIT_FOR(problems > 0);
	if (!strstr(problem, want))
		printf("  %s\n", problem);
	CHECK(strstr(problem, want) != NULL);
	CHECK_EQ(ups, 0);
	CHECK_EQ(frames, 0);
	hear(fd);
	CHECK_EQ(said_len, sent);
	close(fd);
	end_link(c, listener);
}

TEST(answers_without_proof)
{
	static const uint8_t hello[] = { MTW_HELLO, 1, 0 }, again[] = { MTW_CHALLENGE, 2, 1, 7 },
			     unknown[] = { 99, 0 },
			     busy[] = { MTW_ERROR, 9,   MTW_E_BUSY, 7,   'p', 'a',
					'y',       ' ', 'm',        'e', '!' },
			     access[] = { MTW_ERROR, 9,   MTW_E_ACCESS, 7,   'p', 'a',
					  'y',       ' ', 'm',          'e', '!' },
			     large[] = { MTW_PROOF, 0xff, 0xff, 0x3f },
			     cut[] = { MTW_PROOF, 3, 32, 1, 1 };
	static const char unproved[] = "does not prove that it knows the token";

	no_proof(hello, sizeof hello, unproved);
	no_proof(again, sizeof again, unproved);
	no_proof(unknown, sizeof unknown, unproved);
	no_proof(large, sizeof large, unproved);
	no_proof(cut, sizeof cut, unproved);
	no_proof(busy, sizeof busy, unproved);
	no_proof(access, sizeof access,
		 "refused: the token is wrong, or another process holds the port");
	CHECK(!strstr(problem, "pay me"));
	no_proof(NULL, 0, "the other end closed the stream before proving");
}

/* Zeros, our own proof sent back, a proof of other greetings, one with another token. */
TEST(wrong_proofs)
{
	for (int i = 0; i < 4; i++) {
		struct mtw_exchange x;
		uint8_t proof[MTW_PROOF_LEN] = { 0 };
		int listener;
		struct conn *c;
		int fd = challenge(&c, &listener, &x);
		if (i == 1)
			memcpy(proof, said + MTW_GREETING_LEN + 4 + MTW_NONCE_LEN, sizeof proof);
		if (i == 2)
			x.agent_greeting[10] = 1;
		if (i >= 2)
			mtw_proof(i == 3 ? TOKEN "0" : TOKEN, MTW_LABEL_AGENT, &x, proof);
		send_proof(fd, proof);
		WAIT_FOR(problems > 0);
		CHECK(strstr(problem, "does not prove that it knows the token") != NULL);
		CHECK_EQ(ups, 0);
		CHECK_EQ(frames, 0);
		close(fd);
		end_link(c, listener);
	}
}

/* An older agent, or a peer that claims to be one, must not get the token itself. */
TEST(answer_that_asks_for_no_proof)
{
	int listener;
	struct conn *c = open_port(&listener, TOKEN);
	int fd = peer_accept(listener);

	peer_send(fd, right, sizeof right);
	WAIT_FOR(problems > 0);
	CHECK(strstr(problem, "does not prove that it knows the token") != NULL);
	CHECK(strstr(problem, "unset MEMTOP_TOKEN") != NULL);
	hear(fd);
	CHECK_EQ(said_len, 0);
	CHECK_EQ(ups, 0);
	close(fd);
	end_link(c, listener);
	/* Without a token it is a forwarded Unix socket, and where memtop forwards the port it
	 * knows that. */
	for (int i = 0; i < 2; i++) {
		forwarded = i;
		c = open_port(&listener, forwarded ? TOKEN : "");
		fd = peer_accept(listener);
		peer_send(fd, right, sizeof right);
		WAIT_FOR(conn_up(c));
		WAIT_FOR((hear(fd), said_len > MTW_GREETING_LEN));
		CHECK(!memmem(said, said_len, TOKEN, 8));
		close(fd);
		end_link(c, listener);
	}
}

TEST(token_is_asked_for)
{
	int listener;
	struct conn *c = open_port(&listener, "");
	int fd = peer_accept(listener);

	peer_send(fd, MTW_MAGIC "\2\0\2", MTW_GREETING_LEN);
	WAIT_FOR(problems > 0);
	CHECK(strstr(problem, "its agent asks for a token; set MEMTOP_TOKEN") != NULL);
	close(fd);
	end_link(c, listener);
}

TEST(proof_in_single_bytes)
{
	struct mtw_exchange x;
	uint8_t bytes[3 + MTW_PROOF_LEN] = { MTW_PROOF, MTW_PROOF_LEN + 1, MTW_PROOF_LEN };
	int listener;
	struct conn *c;
	int fd = challenge(&c, &listener, &x);

	mtw_proof(TOKEN, MTW_LABEL_AGENT, &x, bytes + 3);
	for (size_t i = 0; i < sizeof bytes; i++) {
		CHECK_EQ(ups, 0);
		peer_send(fd, bytes + i, 1);
		loop_once(loop, 100);
	}
	WAIT_FOR(conn_up(c));
	CHECK_EQ(problems, 0);
	close(fd);
	end_link(c, listener);
}

TEST(full_queue_is_asked_again)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t len = sizeof un;
	int listener, fd[64], n = 0;
	struct conn *c = open_link(&listener);

	CHECK_EQ(listen(listener, 1), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&un, &len), 0);
	for (int rc = 0; n < 64 && !rc; n++) {
		fd[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		rc = connect(fd[n], (struct sockaddr *)&un, len);
	}
	CHECK_EQ(errno, EAGAIN);
	for (int i = 0; i < 5; i++)
		loop_once(loop, 50);
	CHECK_EQ(problems, 0);
	for (int i = 0; i < n - 1; i++) {
		int stranger = peer_accept(listener);
		close(fd[i]);
		close(stranger);
	}
	int agent = peer_accept(listener);
	peer_send(agent, right, sizeof right);
	WAIT_FOR(conn_up(c));
	CHECK_EQ(problems, 0);
	close(agent);
	end_link(c, listener);
}

/* But it is said in the end. */
TEST(queue_that_stays_full)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t len = sizeof un;
	int listener, rc = 0;
	struct conn *c = open_link(&listener);

	CHECK_EQ(listen(listener, 1), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&un, &len), 0);
	while (!rc)
		rc = connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0),
			     (struct sockaddr *)&un, len);
	/* A thousand tries, however long each takes on a busy machine. */
	for (int n = 0; n < 20000 && !problems; n++)
		loop_once(loop, 20);
	CHECK(strstr(problem, "busy: it accepts no more connections now") != NULL);
	CHECK(conn_tried(c));
	end_link(c, listener);
}
