/* SPDX-License-Identifier: MIT
 *
 * handshake.h - connections that are not viewers yet: a fixed array, small buffers. All of it
 * belongs to the server's only thread, except the seed, which the target fills before the server
 * starts.
 */
#ifndef MT_SERVER_HANDSHAKE_H
#define MT_SERVER_HANDSHAKE_H

#include "base/types.h"

#include <memtop/proof.h>
#include <memtop/wire.h>

#define DOOR_PLACES 64
/* a frame's head, and the largest payload before admission */
#define DOOR_IN_BYTES (20u + MTW_ENTRY_FRAME_MAX)

struct server;
struct pollfd;

/* what the stranger has to send next */
enum door_stage { DOOR_FREE, DOOR_GREETING, DOOR_RESPONSE, DOOR_CLIENT };

struct stranger {
	enum door_stage stage;
	int fd;
	bool proved;       /* TCP: proved the token; newcomers do not push it out */
	uint64_t since_ns; /* accepted, or proved */
	struct mtw_exchange exchange;
	uint8_t in[DOOR_IN_BYTES];
	size_t in_len;
};

struct handshakes {
	struct stranger stranger[DOOR_PLACES];
	uint64_t open_ns; /* no accept before this time; it lags behind the clock by the saved-up
			     arrivals */
	uint64_t wrong_tokens;      /* refused for a wrong proof */
	uint8_t seed[MTW_HASH_LEN]; /* random; TCP only */
	uint64_t nonces;            /* drawn from it */
};

bool handshake_seed(struct server *s); /* target side; false: no random numbers, and prints so */
uint64_t handshake_opens(const struct server *s);        /* listen_fd is looked at from then on */
void handshake_arrivals(struct server *s, uint64_t now); /* listen_fd is ready */
int handshake_watch(const struct server *s,
		    struct pollfd *fd); /* fills up to DOOR_PLACES; returns the count */
void handshake_ready(struct server *s, const struct pollfd *fd, int n);
bool handshake_empty(const struct server *s);
void handshake_since(struct server *s, uint64_t now); /* restarts every stranger's patience */
void handshake_patience(struct server *s, uint64_t now, uint64_t limit);

#endif
