/* SPDX-License-Identifier: MIT
 *
 * syscalls.h - system calls that have another number or another result on 32-bit machines, where
 * the plain name is missing or is an older call for 16-bit ids. Times are pairs of long everywhere,
 * as the plain names take them.
 */
#ifndef MT_BASE_SYSCALLS_H
#define MT_BASE_SYSCALLS_H

#include <memtop/syscalls.h>
#include <sys/stat.h>

#ifdef SYS_getresuid32
#define CALL_GETEUID SYS_geteuid32
#define CALL_GETEGID SYS_getegid32
#define CALL_GETRESUID SYS_getresuid32
#define CALL_GETRESGID SYS_getresgid32
#define CALL_SETRESUID SYS_setresuid32
#define CALL_SETRESGID SYS_setresgid32
#define CALL_SETGROUPS SYS_setgroups32
#else
#define CALL_GETEUID SYS_geteuid
#define CALL_GETEGID SYS_getegid
#define CALL_GETRESUID SYS_getresuid
#define CALL_GETRESGID SYS_getresgid
#define CALL_SETRESUID SYS_setresuid
#define CALL_SETRESGID SYS_setresgid
#define CALL_SETGROUPS SYS_setgroups
#endif

#ifdef SYS_mmap
#define CALL_MMAP SYS_mmap
#else
#define CALL_MMAP SYS_mmap2 /* counts the offset in pages: 0 is 0 */
#endif

#ifdef SYS_fcntl64
#define CALL_FCNTL SYS_fcntl64
#else
#define CALL_FCNTL SYS_fcntl
#endif

#ifdef SYS_newfstatat
#define CALL_FSTATAT SYS_newfstatat
typedef struct stat call_stat;
#else
#define CALL_FSTATAT SYS_fstatat64
typedef struct stat64 call_stat;
#endif

#endif
