/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_UNISTD_H
#define ANDROID_UNISTD_H

#include <sys/types.h>

#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
#define _SC_PAGESIZE 0x0027

extern char **environ;

pid_t fork(void);
pid_t vfork(void);
pid_t getpid(void);
pid_t getppid(void);
pid_t gettid(void);
int setresuid(uid_t, uid_t, uid_t);
int seteuid(uid_t);
int chroot(const char *);
int setresgid(gid_t, gid_t, gid_t);
void _exit(int) __noreturn;
int daemon(int, int);
int execve(const char *, char *const[], char *const[]);
int execv(const char *, char *const[]);
int execvp(const char *, char *const[]);
int execvpe(const char *, char *const[], char *const[]);
int execl(const char *, const char *, ...);
int execlp(const char *, const char *, ...);
int execle(const char *, const char *, ...);
ssize_t read(int, void *, size_t);
ssize_t write(int, const void *, size_t);
int close(int);
int pipe(int[2]);
int ftruncate(int, off_t);
long sysconf(int);
long syscall(long, ...);
unsigned sleep(unsigned);
int usleep(useconds_t);
int pause(void);
unsigned alarm(unsigned);

#endif
