/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_UCONTEXT_H
#define ANDROID_UCONTEXT_H

#include <signal.h>

/* Nothing here looks inside: large enough, and aligned as the kernel's. */
typedef struct {
	_Alignas(16) char opaque[4608];
} ucontext_t;

#endif
