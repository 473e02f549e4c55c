/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_PTHREAD_H
#define ANDROID_PTHREAD_H

#include <sched.h>
#include <sys/types.h>

#define PTHREAD_DESTRUCTOR_ITERATIONS 4

typedef struct {
	uint32_t flags;
	void *stack_base;
	size_t stack_size, guard_size;
	int32_t policy, priority;
	char reserved[16];
} pthread_attr_t;
typedef struct {
	int32_t opaque[10];
} pthread_mutex_t;
typedef long pthread_mutexattr_t;
typedef struct {
	int64_t opaque[4];
} pthread_barrier_t;
typedef int pthread_barrierattr_t;
#define PTHREAD_MUTEX_INITIALIZER                                                                  \
	{                                                                                          \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int pthread_join(pthread_t, void **);
void pthread_exit(void *) __noreturn;
pthread_t pthread_self(void);
int pthread_getcpuclockid(pthread_t, clockid_t *);
int pthread_key_create(pthread_key_t *, void (*)(void *));
void *pthread_getspecific(pthread_key_t);
int pthread_setspecific(pthread_key_t, const void *);
int pthread_setname_np(pthread_t, const char *);
int pthread_barrier_init(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned);
int pthread_barrier_wait(pthread_barrier_t *);
int pthread_mutex_lock(pthread_mutex_t *);
int pthread_mutex_unlock(pthread_mutex_t *);

#endif
