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

/* One exec or spawn that is under way. On the caller's stack, which a child of vfork shares with
 * nobody that runs. */
struct follow {
	bool with;           /* the environment is to name the agent */
	bool other;          /* it names another agent */
	bool own;            /* this process itself becomes the program */
	bool told;           /* ... and its server knows */
	bool child;          /* another process does: it must not wait for a viewer */
	const char *preload; /* the agent's file; "" = it is linked into the program */
	unsigned why;        /* enum board_why */
	struct claim claim;  /* of the program to come; NO_CLAIM */
	/* the caller's environment */
	bool readable;   /* as far as it was read */
	bool configured; /* it has variables of memtop's */
	size_t entries;
	const char *user; /* the value of its LD_PRELOAD; NULL = none */
	size_t user_bytes;
	size_t bytes;                 /* mt_follow_bytes() */
	uintptr_t page[FOLLOW_PAGES]; /* that could be read */
	struct executable file;
};

/* What is executed, and how it is found. */
enum lookup { LOOKUP_PATH, LOOKUP_EMPTY, LOOKUP_SEARCH };
/* For these, a forked child knows that it is one: hooks_in_child(). */
/* False: nothing of this concerns us; env stays as it is, and mt_follow_failed() is not called. */
bool mt_follow_exec(struct follow *f, enum lookup how, int folder, const char *path,
		    char *const *envp);
void mt_follow_go(struct follow *f);            /* right before the exec */
int mt_follow_failed(struct follow *f, int rc); /* it came back with rc; errno kept */

/* The same for a spawn. sure: the path means there what it means here. */
bool mt_follow_spawn(struct follow *f, enum lookup how, const char *path, bool sure,
		     char *const *envp);
int mt_follow_spawned(struct follow *f, int rc, const int *pid); /* rc: posix_spawn()'s */

/* A shell that libc starts by itself, with `environ`. */
bool mt_follow_shell(struct follow *f);

/* Room for envp with the agent; 0 = envp cannot be read. Then the copy; envp itself where it cannot
 * be read any more. */
size_t mt_follow_bytes(struct follow *f, char *const *envp);
char **mt_follow_fill(struct follow *f, char *const *envp, void *room);

/* The environment of a child on the caller's stack; envp itself where the agent does not come
 * along. */
#define FOLLOW_ENV(f, envp)                                                                        \
	((f)->with && ((f)->bytes = mt_follow_bytes(f, (char *const *)(envp)))                     \
		 ? mt_follow_fill(f, (char *const *)(envp), alloca((f)->bytes))                    \
		 : (char **)(envp))

/* Stands in for `environ` while libc starts a shell (hooks/spawn.c); NULL = none does. */
extern char **mt_follow_copy;

void mt_follow_init(void); /* start-up, once our entry of LD_PRELOAD is known */

#pragma GCC visibility pop

#endif
