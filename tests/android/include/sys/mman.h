/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_MMAN_H
#define ANDROID_SYS_MMAN_H

#include <linux/mman.h>
#include <sys/types.h>

#define MAP_FAILED ((void *)-1)

void *mmap(void *, size_t, int, int, int, off_t);
int munmap(void *, size_t);
void *mremap(void *, size_t, size_t, int, ...);
int madvise(void *, size_t, int);
int mprotect(void *, size_t, int);

#endif
