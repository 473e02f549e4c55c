/* SPDX-License-Identifier: MIT
 *
 * app.h - loads the agent into an Android app and forwards a port of this machine to it. Blocks;
 * main thread.
 *
 *   struct adb_app app = { .adb = &adb };
 *   adb_phone() -> adb_app_find() or a process of adb_processes() -> adb_app_attach() or
 *   adb_app_start()
 *   ... the view on 127.0.0.1:app.port ...
 *   adb_app_clean()
 *
 * The agent's file goes to /data/local/tmp. No app may map code from there, so run-as copies the
 * file into the app's own folder, as simpleperf and debuggers do; where adb is root, root copies
 * it. Both files are removed as soon as the agent is loaded.
 */
#ifndef ATTACH_ADB_APP_H
#define ATTACH_ADB_APP_H

#include "attach/adb/adb.h"
#include "attach/adb/device.h"
#include "base/base.h"

struct adb_request {
	const char *agent; /* --agent; NULL: the installed one for the app's ABI */
	/* of the agent, where the property wrap can be set, or root traces; NULL = none */
	const char *options;
	const char *activity;      /* --start: PACKAGE/ACTIVITY or ACTIVITY; NULL: the launcher's */
	const char *const *breaks; /* of attach/jdwp/jdwp.h; NULL = its own choice */
	int timeout_ms;            /* until one of the app's threads was stopped */
	void (*waiting)(void *arg, const char *what); /* of attach/jdwp/jdwp.h; not NULL */
	void *arg;
};

/* How the agent got into the app. */
enum adb_way {
	ADB_THERE,
	ADB_JDWP,
	ADB_PTRACE,
	ADB_WRAP_PROPERTY,
	ADB_WRAP_SCRIPT,
	ADB_DEBUG_START
};

#define ADB_TEMPORARY "/data/local/tmp/"
#define ADB_AGENT ".so"
#define ADB_SCRIPT ".sh"
#define ADB_TRACER ".attach"
/* Checks the size of a copy, $f, in bytes: a loader that maps a truncated library ends its
 * process. */
#define ADB_WHOLE                                                                                  \
	"[ $(wc -c <$f) -eq %zu ] || { echo the copy on the device is not whole >&2; exit 1; }"

struct adb_app {
	const struct adb *adb;
	struct adb_phone phone;
	int pid;
	/* "com.example.app": letters, digits, dots and underscores; "" = no app's name */
	char package[128];
	char name[128]; /* of the process, clean */
	enum adb_way way;
	bool loaded; /* the load was requested: SELinux may cause later failures */
	bool closed; /* accepts no debugger; root is available */
	/* the command for root scripts: "su -c"; "" = not asked for, or not available */
	char root[16];
	int port; /* of this machine, forwarded to its agent; 0 = not yet */
	char abi[32];
	/* What adb_app_clean() removes. */
	/* "memtop-1f3a5c7d", with ADB_AGENT and ADB_TRACER in /data/local/tmp, with ADB_AGENT and
	 * ADB_SCRIPT in the app's code_cache */
	char file[64];
	bool pushed, copied, as_root, wrapped;
	int debug_port; /* forwarded to jdwp:PID */
};

/* 0: its agent answers on app->port. -1 and *err; adb_app_clean() in both cases. */
int adb_app_attach(struct adb_app *app, const struct adb_request *q, struct err *err);
/* Removes everything but the loaded agent. Never fails; takes at most three times ADB_LAST_MS. */
void adb_app_clean(struct adb_app *app);
/* The same, but keeps the forwarded port. */
void adb_app_tidy(struct adb_app *app);

/* denied.c: what stands in the agent's way on a device. */

struct adb_app;

/* 0; -1 and *err: the process runs with a sanitizer, whose malloc cannot be interposed. If the
 * check fails, 0. */
int adb_refuse_sanitizer(const struct adb_app *app, struct err *err);
/* A load failed with *err: where SELinux enforces, adds the refusal from the logs. */
void adb_explain_denied(const struct adb_app *app, struct err *err);

/* load.c: System.load of the agent's file, through the app's debug port. */

struct adb_app;
struct adb_request;

/* patience_ms: how long to retry a debug port that does not answer; a starting app has none at
 * first. */
int adb_app_load(struct adb_app *app, const struct adb_request *q, const char *path,
		 int patience_ms, struct err *err);

/* place.c: the agent's file: which one an app needs, pushed and copied into the app's folder. */

struct adb_app;
struct adb_request;

/* The agent's file here for app's machine; app->file is its name there. -1 and *err. */
int adb_app_agent(struct adb_app *app, const struct adb_request *q, char *agent, size_t size,
		  struct err *err);
/* Pushes and copies it. path: of the copy, as the app sees it. */
int adb_app_place(struct adb_app *app, const struct adb_request *q, char *path, size_t size,
		  struct err *err);
struct adb_copy {
	const char *from;   /* a command of the device, which prints it */
	const char *ending; /* of the file in the app's folder */
	size_t bytes;       /* so many */
};
/* path: of the copy, as the app sees it. */
int adb_app_write(struct adb_app *app, const struct adb_copy *c, char *path, size_t size,
		  struct err *err);

/* root.c: the agent into a process that runs, by ptrace as root. */

struct adb_app;
struct adb_request;

/* 1: root is available, app->root says how; 0: it is not; -1 and *err: the device does not
 * answer. */
int adb_root(struct adb_app *app, struct err *err);
/* As adb_app_attach(), which calls it; also for native programs. */
int adb_root_attach(struct adb_app *app, const struct adb_request *q, struct err *err);

/* server.c: the agent's server is no process to watch, and has its program's name. */

/* The first process of that name, agents' servers excluded; 0 = none; -1 and *err. */
int adb_pidof(const struct adb *a, const char *name, struct err *err);
/* -1 and *err, which names its program: pid is an agent's server. 0: it is not, or seems not to
 * be. */
int adb_refuse_server(const struct adb *a, int pid, struct err *err);

/* start.c: an app with the agent from its start. app.h includes it. */

struct adb_app;
struct adb_request;

/* Needs app->package; sets app->way. */
int adb_app_start(struct adb_app *app, const struct adb_request *q, struct err *err);

#endif
