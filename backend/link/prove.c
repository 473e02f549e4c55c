/* SPDX-License-Identifier: MIT
 *
 * prove.c - checks that the other end of a TCP connection knows the token, and proves that memtop
 * does.
 *
 * Any process may bind a port, so an answer on it proves nothing. The token is never sent. Until
 * the other end has proved that it knows the token, memtop shows none of its words and sends it
 * only a greeting, a nonce, and a proof that holds for these two nonces alone.
 *
 * A user who sets MEMTOP_TOKEN expects an agent that has it, so an answer without proof is refused:
 * an older agent, which asks for the token itself, looks like an impostor that does.
 */
#include "link/prove.h"
#include "base/build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static int draw(uint8_t *to, size_t len)
{
	if (getrandom(to, len, 0) == (ssize_t)len)
		return 0;
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, to, len);
	if (fd >= 0)
		close(fd);
	return n == (ssize_t)len ? 0 : -1;
}

int conn_explain_unproved(const struct target *t, struct err *err)
{
	return err_set(err, 3,
		       "%s: the other end does not prove that it knows the token: another process "
		       "may hold the port; see who listens there (ss -ltp), and check MEMTOP_TOKEN",
		       t->text);
}

int conn_explain_unproved_eof(const struct target *t, struct err *err)
{
	return err_set(
		err, 3,
		"%s: the other end closed the stream before proving that it knows the token: too "
		"many viewers connect now, or another process holds the port; try again",
		t->text);
}

int conn_explain_asks(const struct target *t, struct err *err)
{
	return err_set(
		err, 3,
		"%s: its agent is of an older release, which asks for the token itself, and "
		"memtop %s sends it to nobody; use the same memtop on both sides, or let the "
		"agent listen on a Unix socket and forward that",
		t->text, build_version);
}

int conn_prove_begin(struct conn_prove *p, const struct target *t, const char *token,
		     const uint8_t theirs[MTW_GREETING_LEN], const uint8_t ours[MTW_GREETING_LEN],
		     struct err *err)
{
	unsigned lowest = theirs[10] | (unsigned)theirs[11] << 8;

	if (lowest < MTW_VERSION_PROOF) {
		if (t->kind != TARGET_TCP || t->forwarded || !*token)
			return 0;
		return err_set(err, 3,
			       "%s: the other end does not prove that it knows the token: another "
			       "process may hold the port, or an agent of an older release asks "
			       "for the token itself; use memtop %s on both sides, or unset "
			       "MEMTOP_TOKEN where the port is forwarded to a Unix socket",
			       t->text, build_version);
	}
	if (!*token)
		return err_set(err, 3,
			       "%s: its agent asks for a token; set MEMTOP_TOKEN to the token it "
			       "was started with",
			       t->text);
	*p = (struct conn_prove){ .answered = false };
	memcpy(p->exchange.agent_greeting, theirs, MTW_GREETING_LEN);
	memcpy(p->exchange.client_greeting, ours, MTW_GREETING_LEN);
	return 1;
}

static int take_challenge(struct conn_prove *p, const struct target *t, const char *token,
			  struct mtw_in *in, struct mtw_out *answer, struct err *err)
{
	uint8_t proof[MTW_PROOF_LEN];
	size_t len;
	const char *nonce = mtw_get_bytes(in, MTW_NONCE_LEN, &len);

	if (in->bad || len != MTW_NONCE_LEN)
		return conn_explain_unproved(t, err);
	memcpy(p->exchange.agent_nonce, nonce, MTW_NONCE_LEN);
	if (draw(p->exchange.client_nonce, MTW_NONCE_LEN))
		return err_set(err, 3,
			       "%s: the system gives no random numbers: %s; check /dev/urandom",
			       t->text, strerror(errno));
	mtw_proof(token, MTW_LABEL_CLIENT, &p->exchange, proof);
	mtw_put_bytes(answer, p->exchange.client_nonce, MTW_NONCE_LEN);
	mtw_put_bytes(answer, proof, MTW_PROOF_LEN);
	p->answered = true;
	return 0;
}

/* Shows a text of memtop's for the error's code: an unproven peer's own words are not shown. */
static int take_refusal(const struct target *t, struct mtw_in *in, struct err *err)
{
	switch (mtw_get(in)) {
	case MTW_E_ACCESS:
		return err_set(err, 3,
			       "%s: refused: the token is wrong, or another process holds the "
			       "port; set MEMTOP_TOKEN to the token the agent was started with",
			       t->text);
	case MTW_E_VERSION:
		return err_set(err, 3,
			       "%s: refused: another protocol, or another process holds the port; "
			       "install memtop %s on both sides",
			       t->text, build_version);
	default: return conn_explain_unproved(t, err);
	}
}

int conn_prove_take(struct conn_prove *p, const struct target *t, const char *token, uint64_t type,
		    const uint8_t *payload, size_t len, struct mtw_out *answer, struct err *err)
{
	struct mtw_in in = { payload, payload + len, false };
	uint8_t want[MTW_PROOF_LEN];
	size_t proof_len;

	if (type == MTW_ERROR)
		return take_refusal(t, &in, err);
	if (type == MTW_CHALLENGE && !p->answered)
		return take_challenge(p, t, token, &in, answer, err);
	if (type != MTW_PROOF || !p->answered)
		return conn_explain_unproved(t, err);
	const void *proof = mtw_get_bytes(&in, MTW_PROOF_LEN, &proof_len);
	mtw_proof(token, MTW_LABEL_AGENT, &p->exchange, want);
	if (in.bad || proof_len != MTW_PROOF_LEN || !mtw_same(want, proof, MTW_PROOF_LEN))
		return conn_explain_unproved(t, err);
	return 1;
}
