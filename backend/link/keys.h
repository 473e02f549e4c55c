/* SPDX-License-Identifier: MIT
 *
 * keys.h - key frames of the session of a live watch. Main thread only.
 */
#ifndef LINK_KEYS_H
#define LINK_KEYS_H

#include <sys/types.h>

struct watch;

struct keys {
	pid_t pid; /* of the child that makes one; 0 = none does */
	int fd;    /* its memfd */
};

void keys_go_on(struct watch *w); /* after a tick, and each second: starts one, or takes one */
void keys_end(struct watch *w);   /* before the session ends: the last one */

#endif
