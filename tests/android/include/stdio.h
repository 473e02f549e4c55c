/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_STDIO_H
#define ANDROID_STDIO_H

#include <stdarg.h>
#include <sys/types.h>

typedef struct __sFILE FILE;
extern FILE *stdin, *stdout, *stderr;
#define _IOFBF 0
#define _IOLBF 1
#define _IONBF 2
#define EOF (-1)

int printf(const char *, ...) __attribute__((format(printf, 1, 2)));
int fprintf(FILE *, const char *, ...) __attribute__((format(printf, 2, 3)));
int snprintf(char *, size_t, const char *, ...) __attribute__((format(printf, 3, 4)));
int setvbuf(FILE *, char *, int, size_t);
int fflush(FILE *);
size_t fwrite(const void *, size_t, size_t, FILE *);
int puts(const char *);
char *fgets(char *, int, FILE *);
void perror(const char *);

#endif
