/* SPDX-License-Identifier: MIT
 *
 * key.h - makes the blocks of a key frame (session/session.h). Any thread; a child after a fork.
 */
#ifndef SESSION_KEY_H
#define SESSION_KEY_H

#include "base/base.h"

struct session_key_out;

/* resume: the file offset where the stream goes on; ticks: of its program, read up to there */
struct session_key_out *session_key_new(uint32_t stream, uint64_t resume, uint64_t time_ns,
					uint64_t ticks);
/* Adds a frame; as the function that model_dump() takes. -1: too large. */
int session_key_frame(void *key, uint64_t type, const uint8_t *payload, size_t len);
/* The blocks, for session_put_key(); the caller frees them. NULL = too large. Frees k. */
uint8_t *session_key_end(struct session_key_out *k, size_t *len);

#endif
