/* SPDX-License-Identifier: MIT
 *
 * follow.h - takes the agent along into programs that the target executes: hooks/follow.c.
 */
#ifndef MT_HOOKS_FOLLOW_H
#define MT_HOOKS_FOLLOW_H

#include "base/types.h"
#include "follow/board.h"
#include "follow/executable.h"
#include "hooks/init.h"

#include <alloca.h>

#pragma GCC visibility push(hidden)

#define FOLLOW_PAGES 16

/* One exec or spawn under way. It lies on the caller's stack, which no other running thread shares
 * with a vfork child. */
struct follow {
	bool with;           /* the new environment names the agent */
	bool through;        /* ... for what a static program executes */
	bool other;          /* it names another agent */
	bool own;            /* this process itself becomes the program */
	bool told;           /* ... and its server knows */
	int pid;             /* of the caller; 0 = not asked for */
	bool inner;          /* a wrapper that another one passed on to has called it */
	bool child;          /* another process does: that one must not wait for a viewer */
	const char *preload; /* the agent's file; "" = it is linked into the program */
	unsigned why;        /* enum board_why */
	struct claim claim;  /* record of the new program; NO_CLAIM */
	/* the caller's environment */
	bool readable;   /* as far as it was read */
	bool configured; /* the environment has variables of memtop's */
	size_t entries;
	const char *user; /* the value of the environment's LD_PRELOAD; NULL = none */
	size_t user_bytes;
	size_t bytes;                 /* mt_follow_bytes() */
	uintptr_t page[FOLLOW_PAGES]; /* that could be read */
	struct executable file;
};

/* The program to execute, and the way to find it. */
enum lookup { LOOKUP_PATH, LOOKUP_EMPTY, LOOKUP_SEARCH };
/* Before these calls a forked child learns that it is one: hooks_in_child(). */
/* False: the agent has no part in it; env stays unchanged, and mt_follow_failed() is not called. */
bool mt_follow_exec(struct follow *f, enum lookup how, int folder, const char *path,
		    char *const *argv, char *const *envp);
void mt_follow_go(struct follow *f); /* right before the exec */
/* ... before a wrapper of somebody, who may call another exec. entered: `environ` has the agent. */
void mt_follow_wrapped(struct follow *f, bool entered);
/* The exec or spawn came back with that error. True: try it again, without the agent's entries. */
bool mt_follow_too_long(struct follow *f, int error);
int mt_follow_failed(struct follow *f, int rc); /* the exec returned rc; errno is kept */

/* The same for a spawn. sure: the path has the same meaning in the child as here. */
bool mt_follow_spawn(struct follow *f, enum lookup how, const char *path, bool sure,
		     char *const *argv, char *const *envp);
int mt_follow_spawned(struct follow *f, int rc, const int *pid); /* rc: posix_spawn()'s */

/* A shell that libc starts by itself, with `environ`. */
bool mt_follow_shell(struct follow *f, const char *command);

/* Returns the room for envp with the agent; 0 = envp cannot be read. The second call makes the
 * copy, and returns envp itself where it cannot be read any more. */
size_t mt_follow_bytes(struct follow *f, char *const *envp);
char **mt_follow_fill(struct follow *f, char *const *envp, void *room);

/* A child's environment on the caller's stack; envp itself where the agent does not come along. */
#define FOLLOW_ENV(f, envp)                                                                        \
	(((f)->with || (f)->through) && ((f)->bytes = mt_follow_bytes(f, (char *const *)(envp)))   \
		 ? mt_follow_fill(f, (char *const *)(envp), alloca((f)->bytes))                    \
		 : (char **)(envp))

/* Replaces `environ` while libc starts a shell (process/spawn.c); NULL = no shell is starting. */
extern char **mt_follow_copy;

void mt_follow_init(void); /* start-up, once the agent's entry of LD_PRELOAD is known */

#pragma GCC visibility pop

#endif
