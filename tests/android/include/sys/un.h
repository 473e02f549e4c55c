/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_UN_H
#define ANDROID_SYS_UN_H

#include <linux/un.h>
#include <sys/socket.h>

#endif
