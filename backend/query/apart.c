/* SPDX-License-Identifier: MIT
 *
 * apart.c - answers by another thread than the main one: which thread it is, and who waits for it.
 */
#include "query/state.h"

/* The query that this thread makes answers of, apart from the main thread. */
static _Thread_local const struct query *apart;

void query_apart(struct query *q, void (*wait)(void *arg), void *arg)
{
	q->wait = wait;
	q->wait_arg = arg;
}

void query_answer(struct query *q, void (*fn)(void *arg), void *arg)
{
	apart = q;
	fn(arg);
	apart = NULL;
}

bool query_is_apart(const struct query *q)
{
	return apart == q;
}

void query_mine(struct query *q)
{
	if (q->wait && apart != q)
		q->wait(q->wait_arg);
}
