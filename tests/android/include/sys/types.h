/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_TYPES_H
#define ANDROID_SYS_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/cdefs.h>

typedef int pid_t, clockid_t, pthread_key_t;
typedef unsigned uid_t, gid_t, mode_t, socklen_t, useconds_t, id_t;
typedef long ssize_t, off_t, time_t, suseconds_t, pthread_t;
typedef int64_t off64_t;
typedef unsigned long sigset_t;

struct timespec {
	time_t tv_sec;
	long tv_nsec;
};
struct timeval {
	time_t tv_sec;
	suseconds_t tv_usec;
};

#endif
