/* SPDX-License-Identifier: MIT
 *
 * adb.h - the user's own adb client, one command at a time: run it with a limit, list devices, run
 * a script in a device's shell, push a file, forward a port. Calls block; a struct adb belongs to
 * the calling thread.
 *
 * A failure is one sentence in *err. It quotes adb where memtop has no words for it.
 */
#ifndef ATTACH_ADB_ADB_H
#define ATTACH_ADB_ADB_H

#include "base/base.h"

#include <limits.h>

struct adb {
	char program[PATH_MAX];
	char serial[128]; /* of the device that commands go to; "" = not chosen yet */
	/* readable: the user wants to go, and every call fails with ADB_STOPPED; -1 = never */
	int stop_fd;
};

#define ADB_STOPPED 130   /* err.status of a call that stop_fd ended */
#define ADB_SLOW_MS 30000 /* most commands: it may have to start its server first */
#define ADB_LAST_MS 10000 /* when cleaning up */

struct adb_device {
	char serial[128]; /* printable ASCII */
	char state[32];   /* as adb calls it: "device" can be used */
	char model[64];   /* clean; "" = unknown */
};

/* What one command said; adb_answer_release() frees it, also after a failure. */
struct adb_answer {
	int status; /* exit status; of the script for adb_shell() */
	/* stdout and stderr, NUL-terminated, without adb's own chatter about its server */
	char *out, *said;
	size_t length; /* of out, which may hold more NULs */
};
void adb_answer_release(struct adb_answer *r);

/* given (--adb), ANDROID_HOME, ANDROID_SDK_ROOT, PATH; the serial from ANDROID_SERIAL. -1 and *err:
 * there is none. */
int adb_open(struct adb *a, const char *given, int stop_fd, struct err *err);

/* Of an array that the caller frees. */
int adb_devices(const struct adb *a, struct adb_device **list, size_t *count, struct err *err);
bool adb_usable(const struct adb_device *d);

/* A script for the device's sh; its status is known from old daemons, too. -1 and *err: the device
 * did not run it. */
int adb_shell(const struct adb *a, const char *script, int limit_ms, struct adb_answer *r,
	      struct err *err);
/* text as one word for that shell. The caller frees it. */
char *adb_quote(const char *text);

int adb_push(const struct adb *a, const char *file, const char *remote, struct err *err);
/* A free port of 127.0.0.1 to "localabstract:NAME" or "jdwp:PID". */
int adb_forward(const struct adb *a, const char *remote, int *port, struct err *err);
void adb_unforward(const struct adb *a, int port); /* 0 is fine */

/* --- attach/adb/run.c: one command */

/* words end with NULL. 0: it ended, with r->status; -1 and *err: it did not start, or not end in
 * limit_ms. */
int adb_run(const struct adb *a, const char *const *words, int limit_ms, struct adb_answer *r,
	    struct err *err);
/* The same for a command that may not end by itself: it has said all when nothing more comes for a
 * while, or at the limit. */
int adb_listen(const struct adb *a, const char *const *words, int limit_ms, struct adb_answer *r,
	       struct err *err);

/* Sleeps; -1 and *err when the user wants to go. */
int adb_pause(const struct adb *a, int ms, struct err *err);
int adb_stopped(struct err *err); /* -1, and the sentence for it */

/* --- attach/adb/words.c: what adb says, in our words */

/* what: WHY; what to do. From a state of `adb devices`, or from a complaint of adb's or of a tool
 * on the device. Returns -1. */
int adb_explain(const char *what, const char *said, struct err *err);
/* The first line of text that says something, clean. */
const char *adb_line(const char *text, char *buf, size_t size);

#endif
