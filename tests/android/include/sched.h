/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SCHED_H
#define ANDROID_SCHED_H

#include <linux/sched.h>
#include <sys/types.h>

int clone(int (*)(void *), void *, int, void *, ...);
int sched_yield(void);
int unshare(int);

#endif
