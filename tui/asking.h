/* SPDX-License-Identifier: MIT
 *
 * asking.h - a question that costs the agent a walk over all live blocks, asked again and again while
 * its view is shown: so seldom that the agent spends a small part of its time on it. Main thread.
 */
#ifndef ASKING_H
#define ASKING_H

#include <memtop/wire.h>
#include <stdbool.h>
#include <stdint.h>

struct app;

/* All 0 at first. Times are now_ns(). */
struct asking {
	uint64_t asked_ns, took_ns, answer_ns; /* answer: 0 = none came */
	uint64_t answers;                      /* as the model counts them */
};

/* Whenever there may be an answer; `answers`: the model's count of them. */
void asking_heard(struct asking *q, uint64_t answers);
/* At each refresh; `answers`: the model's count of them. */
void asking_go_on(struct asking *q, struct app *a, enum mtw_kind kind, uint64_t answers);
/* How old the last answer is; 0 = none came. */
uint64_t asking_since(const struct asking *q);
/* ... when all that is shown is of it: where that is worth a word; else 0. */
uint64_t asking_age(const struct asking *q, const struct app *a);

#endif
