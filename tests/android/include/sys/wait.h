/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_WAIT_H
#define ANDROID_SYS_WAIT_H

#include <linux/wait.h>
#include <sys/types.h>

#define WTERMSIG(status) ((status)&0x7f)
#define WIFEXITED(status) (!WTERMSIG(status))
#define WEXITSTATUS(status) ((status) >> 8 & 0xff)
#define WIFSIGNALED(status) (WTERMSIG((status) + 1) >= 2)

pid_t wait(int *);
pid_t waitpid(pid_t, int *, int);

#endif
