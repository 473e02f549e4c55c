/* SPDX-License-Identifier: MIT
 *
 * syscalls.h - numbers of system calls that the headers of an old C library do not name. They are
 * the same on all machines: those from Linux 5.1 on have one number everywhere.
 */
#ifndef MEMTOP_SYSCALLS_H
#define MEMTOP_SYSCALLS_H

#include <sys/syscall.h>

/* glibc 2.31 names none of these */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#endif
