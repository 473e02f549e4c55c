/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_EPOLL_H
#define ANDROID_SYS_EPOLL_H

#include <linux/eventpoll.h>
#include <sys/types.h>

int epoll_wait(int, struct epoll_event *, int, int);
int epoll_pwait(int, struct epoll_event *, int, int, const sigset_t *);

#endif
