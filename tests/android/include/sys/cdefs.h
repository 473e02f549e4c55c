/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_CDEFS_H
#define ANDROID_SYS_CDEFS_H

/*
 * Declarations of Android's libc, of what the agent and the programs of its tests use, with the
 * layouts of its 64-bit ABI. Numbers that are the kernel's come from the kernel's headers. For the
 * compile gate, where no NDK is.
 */
#define __BIONIC__ 1
#define __noreturn __attribute__((__noreturn__))

#endif
