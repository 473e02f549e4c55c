/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_PRCTL_H
#define ANDROID_SYS_PRCTL_H

#include <linux/prctl.h>
#include <sys/cdefs.h>

int prctl(int, ...);

#endif
