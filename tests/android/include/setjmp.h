/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SETJMP_H
#define ANDROID_SETJMP_H

#ifdef __aarch64__
typedef long jmp_buf[32], sigjmp_buf[33];
#else
typedef long jmp_buf[11], sigjmp_buf[12];
#endif

int sigsetjmp(sigjmp_buf, int) __attribute__((returns_twice));
void siglongjmp(sigjmp_buf, int) __attribute__((noreturn));

#endif
