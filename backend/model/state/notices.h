/* SPDX-License-Identifier: MIT
 *
 * notices.h - the agent's sentences for the person at the viewer. Main thread only.
 */
#ifndef MODEL_STATE_NOTICES_H
#define MODEL_STATE_NOTICES_H

#include "model/paths/event.h"

#define NOTICES_MAX 32u /* the oldest ones go */

struct notices {
	char *list[NOTICES_MAX]; /* owned; each once, the newest last */
	size_t count;
};

const char *notices_take(struct notices *x, const struct event *e); /* the sentence, lent */
/* As MTW_NOTICE frames. fn's result, when it is not 0, ends the writing and is returned. */
int notices_write(const struct notices *x,
		  int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len),
		  void *arg);
void notices_clear(struct notices *x);

#endif
