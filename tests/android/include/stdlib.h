/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_STDLIB_H
#define ANDROID_STDLIB_H

#include <stddef.h>
#include <sys/cdefs.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

void *malloc(size_t);
void free(void *);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
int posix_memalign(void **, size_t, size_t);
char *getenv(const char *);
int putenv(char *);
const char *getprogname(void);
int atoi(const char *);
long atol(const char *);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
void exit(int) __noreturn;
void _Exit(int) __noreturn;
void quick_exit(int) __noreturn;
void abort(void) __noreturn;

#endif
