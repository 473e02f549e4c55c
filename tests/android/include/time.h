/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_TIME_H
#define ANDROID_TIME_H

#include <sys/types.h>

#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_MONOTONIC_COARSE 6
#define TIMER_ABSTIME 1

int clock_gettime(clockid_t, struct timespec *);
int clock_nanosleep(clockid_t, int, const struct timespec *, struct timespec *);
int nanosleep(const struct timespec *, struct timespec *);
time_t time(time_t *);

#endif
