/* SPDX-License-Identifier: MIT
 *
 * prove.h - the client's half of the proof that precedes a session over TCP: include/memtop/wire.h,
 * section 2.
 */
#ifndef LINK_PROVE_H
#define LINK_PROVE_H

#include "base/base.h"
#include "link/watch.h"

#include <memtop/proof.h>

struct conn_prove {
	struct mtw_exchange exchange;
	bool answered; /* our proof was sent: the agent's is next */
};

/* Call it when both greetings are known. 1: the agent asks for proof, 0: none is needed, -1: *err,
 * close the link. */
int conn_prove_begin(struct conn_prove *p, const struct target *t, const char *token,
		     const uint8_t theirs[MTW_GREETING_LEN], const uint8_t ours[MTW_GREETING_LEN],
		     struct err *err);
/*
 * Takes a frame from an agent that has not proved itself. 1: it now has; 0: *answer has the payload
 * of the RESPONSE to send; -1: *err.
 */
int conn_prove_take(struct conn_prove *p, const struct target *t, const char *token, uint64_t type,
		    const uint8_t *payload, size_t len, struct mtw_out *answer, struct err *err);
/* All return -1: *err for an agent that asks for the token itself, for an answer without proof,
 * and for a stream that ended before the proof. */
int conn_explain_asks(const struct target *t, struct err *err);
int conn_explain_unproved(const struct target *t, struct err *err);
int conn_explain_unproved_eof(const struct target *t, struct err *err);

#endif
