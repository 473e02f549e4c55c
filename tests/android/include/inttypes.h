/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_INTTYPES_H
#define ANDROID_INTTYPES_H

#include <stdint.h>

#define PRIu64 "lu"
#define PRIuPTR "lu"
#define PRIxPTR "lx"

#endif
