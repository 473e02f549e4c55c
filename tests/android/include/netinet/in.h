/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_NETINET_IN_H
#define ANDROID_NETINET_IN_H

#include <linux/in.h>
#include <sys/socket.h>

#define htons(x) __builtin_bswap16(x)
#define htonl(x) __builtin_bswap32(x)

#endif
