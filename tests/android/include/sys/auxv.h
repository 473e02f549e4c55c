/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_AUXV_H
#define ANDROID_SYS_AUXV_H

#include <linux/auxvec.h>
#include <sys/cdefs.h>

unsigned long getauxval(unsigned long);

#endif
