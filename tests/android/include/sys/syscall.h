/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_SYSCALL_H
#define ANDROID_SYS_SYSCALL_H

#include <asm/unistd.h>
#include <system_calls.h> /* made of it: make_include */

#endif
