/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_ALLOCA_H
#define ANDROID_ALLOCA_H

#define alloca(n) __builtin_alloca(n)

#endif
