/* SPDX-License-Identifier: MIT
 *
 * syscalls.h - numbers of system calls that glibc 2.31 does not name. They are the same on all
 * machines.
 */
#ifndef BASE_SYSCALLS_H
#define BASE_SYSCALLS_H

#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

#endif
