/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_MALLOC_H
#define ANDROID_MALLOC_H

#include <stddef.h>
#include <sys/cdefs.h>

void *memalign(size_t, size_t);
size_t malloc_usable_size(const void *);

#endif
