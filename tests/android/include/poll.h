/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_POLL_H
#define ANDROID_POLL_H

#include <linux/poll.h>
#include <sys/types.h>

typedef unsigned int nfds_t;
int poll(struct pollfd *, nfds_t, int);
int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

#endif
