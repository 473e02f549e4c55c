/* SPDX-License-Identifier: MIT
 *
 * tcp_listener.h - which process of this machine listens at the other end. Main thread only.
 */
#ifndef LAUNCH_TCP_LISTENER_H
#define LAUNCH_TCP_LISTENER_H

#include <sys/types.h>

/* Of a TCP connection to this machine: the process that listens on its port, which a kernel names
 * for Unix sockets alone. 0 = not known: another machine's, another user's. Reads all descriptors
 * that memtop may see: for a message, not for each connection. */
pid_t tcp_listener(int fd);

#endif
