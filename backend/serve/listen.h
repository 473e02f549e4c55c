/* SPDX-License-Identifier: MIT
 *
 * listen.h - the socket that the server listens on. Main thread only.
 */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "serve/access.h"

#include <sys/stat.h>

struct listening {
	int fd;
	char address[600]; /* "http://127.0.0.1:9091/" or "unix:PATH", with the real port */
	char path[256];    /* the socket's file; "" = none */
	struct stat at;    /* of that file */
};

/* -1 and *err: the address is taken, or not this machine's, or one that needs a token. */
int listen_open(struct listening *l, const struct address *a, bool token, struct err *err);
/* Removes the socket's file if it is still ours. The descriptor is the caller's. */
void listen_close(const struct listening *l);

#endif
