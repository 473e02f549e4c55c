/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_RESOURCE_H
#define ANDROID_SYS_RESOURCE_H

#include <sys/types.h>

#endif
