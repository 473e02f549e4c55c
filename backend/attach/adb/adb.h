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

#include "attach/adb/run.h"
#include "base/base.h"

#include <limits.h>

/* words.c: what adb says, in our words. adb.h includes it. */

/* Sets *err to "what: WHY; what to do", from a state of `adb devices` or from a complaint of adb
 * or of a tool on the device. Returns -1. */
int adb_explain(const char *what, const char *said, struct err *err);
/* The first line of text with content, sanitized. */
const char *adb_line(const char *text, char *buf, size_t size);

struct adb {
	char program[PATH_MAX];
	char serial[128]; /* the chosen device; "" = none yet */
	/* readable: the user quits, and every call fails with ADB_STOPPED; -1 = never */
	int stop_fd;
};

#define ADB_SLOW_MS 30000 /* most commands: adb may first start its server */
#define ADB_LAST_MS 10000 /* when cleaning up */

struct adb_device {
	char serial[128]; /* printable ASCII */
	char state[32];   /* adb's word; "device" = usable */
	char model[64];   /* clean; "" = unknown */
};

/* Searches given (--adb), ANDROID_HOME, ANDROID_SDK_ROOT, PATH; takes the serial from
 * ANDROID_SERIAL. -1 and *err: no client found. */
int adb_open(struct adb *a, const char *given, int stop_fd, struct err *err);

/* Returns the count; the caller frees *list. */
int adb_devices(const struct adb *a, struct adb_device **list, size_t *count, struct err *err);
bool adb_usable(const struct adb_device *d);

/* Runs a script in the device's sh; old daemons give its status, too. -1 and *err: the device
 * did not run it. */
int adb_shell(const struct adb *a, const char *script, int limit_ms, struct adb_answer *r,
	      struct err *err);
/* Quotes text as one word for that shell. The caller frees it. */
char *adb_quote(const char *text);

int adb_push(const struct adb *a, const char *file, const char *remote, struct err *err);
/* Forwards a free port of 127.0.0.1 to "localabstract:NAME" or "jdwp:PID". */
int adb_forward(const struct adb *a, const char *remote, int *port, struct err *err);
void adb_unforward(const struct adb *a, int port); /* 0 is fine */

#endif
