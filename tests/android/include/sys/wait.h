/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_WAIT_H
#define ANDROID_SYS_WAIT_H

#include <linux/wait.h>
#include <signal.h>
#include <sys/types.h>

#define WTERMSIG(status) ((status)&0x7f)
#define WIFEXITED(status) (!WTERMSIG(status))
#define WEXITSTATUS(status) ((status) >> 8 & 0xff)
#define WIFSIGNALED(status) (WTERMSIG((status) + 1) >= 2)

typedef int idtype_t;
struct rusage;

pid_t wait(int *);
pid_t wait3(int *, int, struct rusage *);
pid_t wait4(pid_t, int *, int, struct rusage *);
int waitid(idtype_t, id_t, siginfo_t *, int);
pid_t waitpid(pid_t, int *, int);

#endif
