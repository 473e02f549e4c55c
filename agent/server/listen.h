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

bool listen_parse(struct server *s); /* target side: names from the options, or says why not */
void listen_try(struct server *s, uint64_t now); /* binds when it can; sets listen_fd */
void listen_close(struct listening *listening, bool unlink);
bool listen_again(struct server *s); /* over: by an abstract name; false: it cannot */
const char *listen_refuses(int fd);  /* Unix sockets: why this peer may not; NULL = it may */

#pragma GCC visibility pop

#endif
