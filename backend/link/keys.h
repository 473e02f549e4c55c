/* SPDX-License-Identifier: MIT
 *
 * keys.h - key frames of the session of a live watch. Main thread only.
 */
#ifndef LINK_KEYS_H
#define LINK_KEYS_H

#include <sys/types.h>

struct err;
struct watch;

struct keys {
	pid_t pid;        /* of the child that makes one; 0 = none does */
	int fd;           /* its memfd */
	unsigned thinned; /* so often the file was, as far as the model knows */
};

void keys_go_on(struct watch *w); /* after a tick, and each second: starts one, or takes one */
/* Each second: a file that has grown becomes thinner. -1 and *err, once: it is impossible. */
int keys_thin(struct watch *w, struct err *err);
void keys_end(struct watch *w); /* before the session ends: the last one */

#endif
