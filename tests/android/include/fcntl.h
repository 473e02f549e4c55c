/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_FCNTL_H
#define ANDROID_FCNTL_H

#include <linux/fcntl.h>
#include <sys/types.h>

#define AT_EMPTY_PATH 0x1000

int open(const char *, int, ...);

#endif
