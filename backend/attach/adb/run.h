/* SPDX-License-Identifier: MIT
 *
 * run.h - one command of the adb client, with a limit. adb.h includes it.
 */
#ifndef ATTACH_ADB_RUN_H
#define ATTACH_ADB_RUN_H

#include "base/base.h"

struct adb;

#define ADB_STOPPED 130 /* err.status of a call that stop_fd ended */

/* One command's output; adb_answer_release() frees it, also after a failure. */
struct adb_answer {
	int status; /* exit status; for adb_shell(), the script's */
	/* stdout and stderr, NUL-terminated, without adb's own chatter about its server */
	char *out, *said;
	size_t length; /* of out, which may hold more NULs */
};
void adb_answer_release(struct adb_answer *r);

/* words end with NULL. 0: the command ended, with r->status; -1 and *err: it did not start, or
 * did not end in limit_ms. */
int adb_run(const struct adb *a, const char *const *words, int limit_ms, struct adb_answer *r,
	    struct err *err);
/* The same for a command that may not end by itself: its output is complete at the limit, or
 * when nothing more comes for a while. */
int adb_listen(const struct adb *a, const char *const *words, int limit_ms, struct adb_answer *r,
	       struct err *err);

/* Sleeps; -1 and *err when the user quits. */
int adb_pause(const struct adb *a, int ms, struct err *err);
int adb_stopped(struct err *err); /* returns -1 and sets *err */

#endif
