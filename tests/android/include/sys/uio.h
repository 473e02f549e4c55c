/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_UIO_H
#define ANDROID_SYS_UIO_H

#include <linux/uio.h>
#include <sys/types.h>

#endif
