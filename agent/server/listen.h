/* SPDX-License-Identifier: MIT
 *
 * listen.h - socket names, and who may connect. Server thread, but for listen_parse().
 */
#ifndef MT_SERVER_LISTEN_H
#define MT_SERVER_LISTEN_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct listening;
struct server;

/* target side: names from the options, or a message that says why not */
bool listen_parse(struct server *s);
void listen_try(struct server *s, uint64_t now); /* binds when it can; sets listen_fd */
void listen_close(struct listening *listening, bool unlink);
/* the session is over: rebinds to an abstract name; false: it cannot */
bool listen_again(struct server *s);
/* Unix sockets: the reason to refuse this peer; NULL = admitted */
const char *listen_refuses(int fd);

#pragma GCC visibility pop

#endif
