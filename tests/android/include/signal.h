/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SIGNAL_H
#define ANDROID_SIGNAL_H

#include <sys/types.h>

#define SIGHUP 1
#define SIGQUIT 3
#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGBUS 7
#define SIGFPE 8
#define SIGKILL 9
#define SIGUSR1 10
#define SIGSEGV 11
#define SIGUSR2 12
#define SIGPIPE 13
#define SIGALRM 14
#define SIGTERM 15
#define SIGCHLD 17
#define SIGCONT 18
#define SIGSTOP 19
#define SIGURG 23
#define SIGXCPU 24
#define SIGPROF 27
#define SIGWINCH 28
#define SIGIO 29
#define SIGPWR 30
#define SIGSYS 31
#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2
#define SIG_DFL ((void (*)(int))0)
#define SIG_IGN ((void (*)(int))1)
#define SA_SIGINFO 4
#define SA_ONSTACK 0x08000000
#define SA_RESTART 0x10000000

#if defined(__LP64__)
typedef struct {
	int si_signo, si_errno, si_code, pad, si_pid, rest[27];
} siginfo_t;
#else
typedef struct {
	int si_signo, si_errno, si_code, si_pid, rest[28];
} siginfo_t;
#endif
typedef struct {
	void *ss_sp;
	int ss_flags;
	size_t ss_size;
} stack_t;

struct sigaction {
	int sa_flags;
	union {
		void (*sa_handler)(int);
		void (*sa_sigaction)(int, siginfo_t *, void *);
	};
	sigset_t sa_mask;
	void (*sa_restorer)(void);
};

int sigaction(int, const struct sigaction *, struct sigaction *);
int sigprocmask(int, const sigset_t *, sigset_t *);
int sigsuspend(const sigset_t *);
int sigwait(const sigset_t *, int *);
int sigaltstack(const stack_t *, stack_t *);
int sigemptyset(sigset_t *);
int sigaddset(sigset_t *, int);
int raise(int);
int kill(pid_t, int);
void (*signal(int, void (*)(int)))(int);

#endif
