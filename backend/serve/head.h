/* SPDX-License-Identifier: MIT
 *
 * head.h - reads the head of an HTTP request: first line and fields. Pure, any thread.
 *
 * Strict: lines end in CRLF, no control characters, no folded lines, no second Host, length or
 * token, no Host beside another in the target. What is unclear is refused, for two readers could
 * understand it differently.
 */
#ifndef SERVE_HEAD_H
#define SERVE_HEAD_H

#include "base/base.h"

#include <event2/keyvalq_struct.h>

#define HEAD_MAX 16384u     /* bytes of a head */
#define HEAD_BODY_MAX 4096u /* and of a body: a mark's name in JSON */
#define HEAD_FIELDS_MAX 64u

struct head {
	char *text; /* owned; the fields point into it */
	bool post, bodyless /* HEAD */, keep /* the connection may serve another request */;
	bool waits; /* the client sends its body after "100 Continue" */
	size_t body_len;
	char *path; /* decoded, starts with /; owned */
	struct evkeyvalq parameters;
	const char *authority; /* of http://localhost/metrics, in `text`; NULL = none */
	struct {
		const char *name, *value;
	} fields[HEAD_FIELDS_MAX];
	size_t field_count;
};

/* text: from the first line to the empty one. 0; else the status to refuse it with, and the
 * connection has to end. Call head_release() in any case. */
int head_read(struct head *h, const char *text, size_t len);
void head_release(struct head *h);
const char *head_field(const struct head *h, const char *name); /* NULL = not given */

#endif
