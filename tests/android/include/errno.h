/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_ERRNO_H
#define ANDROID_ERRNO_H

#include <linux/errno.h>
#include <sys/cdefs.h>

int *__errno(void);
#define errno (*__errno())

#endif
