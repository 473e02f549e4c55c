/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_STAT_H
#define ANDROID_SYS_STAT_H

#include <asm/stat.h>
#include <linux/stat.h>
#include <sys/types.h>

#endif
