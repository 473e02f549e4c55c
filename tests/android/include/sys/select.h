/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_SELECT_H
#define ANDROID_SYS_SELECT_H

#include <sys/types.h>

#define FD_SETSIZE 1024

typedef struct {
	unsigned long fds_bits[16];
} fd_set;
int select(int, fd_set *, fd_set *, fd_set *, struct timeval *);
int pselect(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);

#endif
