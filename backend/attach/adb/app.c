/* SPDX-License-Identifier: MIT
 *
 * app.c - loads the agent into a running Android app: push, copy into the app's folder, System.load
 * through its debug port (attach/jdwp/jdwp.h), and a forwarded port to the agent's socket.
 *
 * memtop connects to find out whether an agent answers. adb accepts every connection to the
 * forwarded port and closes it when nothing listens behind it; an agent speaks first. This reads
 * nothing of the device's.
 *
 * The file gets a new name each time: a Java machine loads one path only once, and after a detach
 * the agent must be loaded again.
 */
#include "attach/adb/app.h"

#include "base/sanitize.h"
#include "attach/jdwp/jdwp.h"
#include "launch/launch.h"
#include "launch/progcheck.h"

#include <arpa/inet.h>
#include <elf.h>
#include <errno.h>
#include <memtop/wire.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_MS 5000  /* for one greeting */
#define LISTEN_MS 20000 /* from the load to the socket */
#define AGAIN_MS 100
#define OLDEST_SDK 26

static int connect_port(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Reads one connection's answer: an agent's greeting (1), its end (0); -1: the user quits. */
static int greets(const struct adb_app *app, struct err *err)
{
	const struct timeval limit = { .tv_sec = ANSWER_MS / 1000 };
	int fd = connect_port(app->port), got = 0;
	char magic[MTW_MAGIC_LEN];

	if (fd < 0)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	struct pollfd p[] = { { .fd = fd, .events = POLLIN },
			      { .fd = app->adb->stop_fd, .events = POLLIN } };
	if (poll(p, 2, ANSWER_MS) > 0 && p[1].revents)
		got = adb_stopped(err);
	else if (p[0].revents)
		got = recv(fd, magic, sizeof magic, MSG_WAITALL) == (ssize_t)sizeof magic &&
		      !memcmp(magic, MTW_MAGIC, sizeof magic);
	close(fd);
	return got;
}

int adb_app_listens(struct adb_app *app, int limit_ms, struct err *err)
{
	uint64_t end = now_ns() + (uint64_t)limit_ms * 1000000;

	for (;;) {
		int got = greets(app, err);
		if (got || now_ns() >= end)
			return got;
		if (adb_pause(app->adb, AGAIN_MS, err))
			return -1;
	}
}

/* Finds the ABI of the app's native code; for most apps the device's. */
static void ask_abi(struct adb_app *app)
{
	char *script = xasprintf("dumpsys package %s | grep -m1 -o 'primaryCpuAbi=[a-z0-9_-]*'",
				 app->package);
	struct adb_answer r = { 0 };

	snprintf(app->abi, sizeof app->abi, "%s", app->phone.abi);
	if (*app->package && adb_shell(app->adb, script, ADB_SLOW_MS, &r, NULL) == 0 &&
	    r.status == 0) {
		r.out[strcspn(r.out, "\n")] = '\0';
		const char *abi = strchr(r.out, '=');
		if (abi && abi[1] && strcmp(abi + 1, "null"))
			sanitize_clean(app->abi, sizeof app->abi, abi + 1);
	}
	free(script);
	adb_answer_release(&r);
}

static int find_agent(const struct adb_app *app, const char *given, char *path, size_t size,
		      struct err *err)
{
	static const struct {
		const char *abi;
		int machine, bits;
	} abis[] = {
		{ "arm64-v8a", EM_AARCH64, 64 },
		{ "x86_64", EM_X86_64, 64 },
		{ "armeabi-v7a", EM_ARM, 32 },
		{ "x86", EM_386, 32 },
	};
	struct elf_kind k;
	char name[96];

	snprintf(name, sizeof name, "android/%s/libmemtop-agent.so", app->abi);
	if (given)
		snprintf(path, size, "%s", given);
	else if (!strcmp(app->abi, "armeabi-v7a") || !strcmp(app->abi, "armeabi") ||
		 !strcmp(app->abi, "x86"))
		return err_set(err, 3,
			       "%s: a 32-bit process (%s), but the Android agents are 64-bit; "
			       "install a build of the app for arm64-v8a or x86_64",
			       app->name, app->abi);
	else if (!launch_installed(name, path, size))
		return err_set(
			err, 125,
			"%s: no agent for this app's machine beside memtop or in %s/lib/memtop; "
			"build it with make android (arm64-v8a, x86_64), or name one with --agent",
			name, MEMTOP_PREFIX);
	int rc = progcheck_read(path, &k);
	if (rc)
		return err_set(err, 125, "%s: no agent there: %s; check --agent", path,
			       strerror(-rc));
	if (!k.class_bits || k.type != ET_DYN)
		return err_set(err, 125,
			       "%s: not an agent: not a shared object; give the path of a "
			       "libmemtop-agent.so",
			       path);
	for (size_t i = 0; i < sizeof abis / sizeof *abis; i++)
		if (!strcmp(abis[i].abi, app->abi) &&
		    (abis[i].machine != k.machine || abis[i].bits != k.class_bits))
			return err_set(err, 125,
				       "%s: built for %s, but %s is a program for %s; name an "
				       "agent for that with --agent",
				       path, progcheck_machine(&k), app->name, app->abi);
	return 0;
}

/* "/data/user/0/com.example.app", the line before the status. */
static int take_folder(const struct adb_app *app, const struct adb_answer *r, const char *ending,
		       char *path, size_t size, struct err *err)
{
	const char *at = r->out;

	while (*at && *at != '/')
		at += strcspn(at, "\n"), at += *at == '\n';
	size_t len = strcspn(at, "\n");
	if (!len || (size_t)snprintf(path, size, "%.*s/code_cache/%s%s", (int)len, at, app->file,
				     ending) >= size)
		return err_set(
			err, 3,
			"%s: its folder on the device is unknown; see adb shell run-as %s pwd",
			app->package, app->package);
	return 0;
}

/* Removes all write permission: apps for API 37 and later load no writable library. */
static int write_as_app(struct adb_app *app, const struct adb_copy *c, struct adb_answer *r,
			struct err *err)
{
	char *script = xasprintf("%s | run-as %s sh -c 'f=code_cache/%s%s; umask 077; cat >$f && "
				 "chmod 500 $f; " ADB_WHOLE "; pwd'",
				 c->from, app->package, app->file, c->ending, c->bytes);

	app->copied = true;
	int rc = adb_shell(app->adb, script, ADB_SLOW_MS, r, err);
	free(script);
	return rc;
}

/* Copies the folder's owner and SELinux label to the file, so that the app may map it. */
static int write_as_root(struct adb_app *app, const struct adb_copy *c, struct adb_answer *r,
			 struct err *err)
{
	char *script = xasprintf("d=/data/data/%s; c=$d/code_cache; f=$c/%s%s; %s >$f; " ADB_WHOLE
				 "; chmod 500 $f && chown $(stat -c %%u:%%g $c) $f && { chcon "
				 "$(stat -c %%C $c) $f 2>/dev/null; echo $d; }",
				 app->package, app->file, c->ending, c->from, c->bytes);

	app->as_root = true;
	int rc = adb_shell(app->adb, script, ADB_SLOW_MS, r, err);
	free(script);
	return rc;
}

int adb_app_write(struct adb_app *app, const struct adb_copy *c, char *path, size_t size,
		  struct err *err)
{
	struct adb_answer r;
	int rc = app->as_root ? 0 : write_as_app(app, c, &r, err);

	if (app->as_root || (rc == 0 && r.status && app->phone.root)) {
		if (!app->as_root)
			adb_answer_release(&r);
		rc = write_as_root(app, c, &r, err);
	}
	if (rc == 0 && r.status)
		rc = adb_explain(app->package, *r.said ? r.said : r.out, err);
	if (rc == 0)
		rc = take_folder(app, &r, c->ending, path, size, err);
	adb_answer_release(&r);
	return rc;
}

int adb_app_agent(struct adb_app *app, const struct adb_request *q, char *agent, size_t size,
		  struct err *err)
{
	if (app->phone.sdk && app->phone.sdk < OLDEST_SDK)
		return err_set(err, 3,
			       "%s: Android %s (API %d) is too old for the agent; use a device "
			       "with Android 8.0 (API %d) or later",
			       app->adb->serial, app->phone.release, app->phone.sdk, OLDEST_SDK);
	ask_abi(app);
	snprintf(app->file, sizeof app->file, "memtop-%08x",
		 (unsigned)(unix_now_ns() >> 10) ^ (unsigned)getpid() << 20);
	return find_agent(app, q->agent, agent, size, err);
}

int adb_app_place(struct adb_app *app, const struct adb_request *q, char *path, size_t size,
		  struct err *err)
{
	char agent[PATH_MAX + 64], remote[128], from[160];
	struct stat st;

	if (!*app->package)
		return err_set(err, 3,
			       "%s: not an app, so it has no folder for the agent; name an app",
			       app->name);
	if (adb_app_agent(app, q, agent, sizeof agent, err))
		return -1;
	if (stat(agent, &st))
		return err_set(err, 125, "%s: no agent there: %s; check --agent", agent,
			       strerror(errno));
	snprintf(remote, sizeof remote, "%s%s%s", ADB_TEMPORARY, app->file, ADB_AGENT);
	app->pushed = true;
	if (adb_push(app->adb, agent, remote, err))
		return -1;
	snprintf(from, sizeof from, "cat %s", remote);
	return adb_app_write(app, &(struct adb_copy){ from, ADB_AGENT, (size_t)st.st_size }, path,
			     size, err);
}

/* jdwp_load() waits by itself: this cuts its link when the user quits. */
struct cutter {
	int fd, stop_fd, done_fd;
	bool cut;
};

static void *cut(void *arg)
{
	struct cutter *c = arg;
	struct pollfd p[] = { { .fd = c->stop_fd, .events = POLLIN },
			      { .fd = c->done_fd, .events = POLLIN } };

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	c->cut = p[0].revents != 0;
	if (c->cut)
		shutdown(c->fd, SHUT_RDWR);
	return NULL;
}

struct load {
	const struct adb_request *request;
	bool waited;
};

static void on_waiting(void *arg, const char *what)
{
	struct load *l = arg;

	l->waited = true;
	l->request->waiting(l->request->arg, what);
}

/* 0; -1 and *err; 1 and *err: the connection ended before anything. */
static int load(struct adb_app *app, const struct adb_request *q, const char *path, int fd,
		struct err *err)
{
	struct load l = { .request = q };
	struct jdwp_request j = { .fd = fd,
				  .library = path,
				  .breaks = q->breaks,
				  .timeout_ms = q->timeout_ms,
				  .waiting = on_waiting,
				  .arg = &l };
	struct cutter c = { .fd = fd, .stop_fd = app->adb->stop_fd };
	int done[2];
	char why[800] = "";
	pthread_t thread;

	if (pipe(done))
		return err_set(err, 3, "adb: no pipe: %s; close other programs and try again",
			       strerror(errno));
	c.done_fd = done[0];
	bool watched = pthread_create(&thread, NULL, cut, &c) == 0;
	enum jdwp_result rc = jdwp_load(&j, NULL, why, sizeof why);
	close(done[1]);
	if (watched)
		pthread_join(thread, NULL);
	close(done[0]);
	if (c.cut)
		return adb_stopped(err);
	if (l.waited && rc == JDWP_CLOSED)
		return err_set(err, 3,
			       "%s: its debug port was closed: the app ended or the device was "
			       "disconnected; see memtop adb --list",
			       app->name);
	if (rc == JDWP_CLOSED || rc == JDWP_SILENT) {
		err_set(err, 3,
			"%s: its debug port does not answer: another debugger uses it (Android "
			"Studio?), or the app ended; close the debugger and try again",
			app->name);
		return 1;
	}
	return rc == JDWP_LOADED ? 0 : err_set(err, 3, "%s: %s", app->name, why);
}

int adb_app_load(struct adb_app *app, const struct adb_request *q, const char *path,
		 int patience_ms, struct err *err)
{
	uint64_t end = now_ns() + (uint64_t)patience_ms * 1000000;
	char remote[32];
	int rc;

	app->loaded = true;
	snprintf(remote, sizeof remote, "jdwp:%d", app->pid);
	if (adb_forward(app->adb, remote, &app->debug_port, err))
		return -1;
	do {
		int fd = connect_port(app->debug_port);
		if (fd < 0)
			return err_set(err, 3,
				       "%s: nothing listens on the port that adb forwarded: %s; "
				       "see adb forward --list",
				       app->name, strerror(errno));
		rc = load(app, q, path, fd, err);
		close(fd);
	} while (rc == 1 && now_ns() < end && adb_pause(app->adb, AGAIN_MS, err) == 0);
	if (rc)
		return -1;
	rc = adb_app_listens(app, LISTEN_MS, err);
	if (rc == 0)
		rc = err_set(err, 3,
			     "%s: loaded the agent, but nothing listens there after %d s; check "
			     "that it still runs, and what adb logcat says about memtop",
			     app->name, LISTEN_MS / 1000);
	return rc < 0 ? -1 : 0;
}

static int attach(struct adb_app *app, const struct adb_request *q, struct err *err)
{
	char remote[48], path[512];

	snprintf(remote, sizeof remote, "localabstract:memtop.%d", app->pid);
	if (adb_forward(app->adb, remote, &app->port, err))
		return -1;
	app->way = ADB_THERE;
	int there = adb_app_listens(app, 0, err);
	if (there < 0)
		return -1;
	if (there)
		return q->options ? err_set(err, 2,
					    "--options: %s already has an agent, which keeps its "
					    "options; use :set in the view",
					    app->name)
				  : 0;
	int root = app->closed || q->options ? adb_root(app, err) : 0;
	if (root)
		return root < 0 ? -1 : adb_root_attach(app, q, err);
	if (q->options)
		return err_set(err, 2,
			       "--options: only root can pass options to a running app; use "
			       "--start, or :set in the view");
	app->way = ADB_JDWP;
	if (adb_refuse_sanitizer(app, err) || adb_app_place(app, q, path, sizeof path, err) ||
	    adb_app_load(app, q, path, 0, err))
		return -1;
	return 0;
}

int adb_app_attach(struct adb_app *app, const struct adb_request *q, struct err *err)
{
	int rc = attach(app, q, err);

	if (rc && app->loaded)
		adb_explain_denied(app, err);
	return rc;
}

void adb_app_tidy(struct adb_app *app)
{
	struct adb last = *app->adb;
	struct adb_answer r;

	last.stop_fd = -1;
	adb_unforward(&last, app->debug_port);
	app->debug_port = 0;
	if (!app->pushed && !app->copied && !app->wrapped)
		return;
	char property[160] = ":", copies[512] = ":";
	/* first: an app that starts with it and does not find the file would not start at all */
	if (app->wrapped)
		snprintf(property, sizeof property, "setprop wrap.%s ''", app->package);
	if (app->copied)
		snprintf(copies, sizeof copies, "%s%s%s rm -f code_cache/%s%s code_cache/%s%s",
			 app->as_root ? "cd /data/data/" : "run-as ", app->package,
			 app->as_root ? " &&" : "", app->file, ADB_AGENT, app->file, ADB_SCRIPT);
	char *script = xasprintf("%s; cd %s && rm -f %s%s %s%s; %s", property, ADB_TEMPORARY,
				 app->file, ADB_AGENT, app->file, ADB_TRACER, copies);
	adb_shell(&last, script, ADB_LAST_MS, &r, NULL);
	adb_answer_release(&r);
	free(script);
	app->pushed = app->copied = app->wrapped = false;
}

void adb_app_clean(struct adb_app *app)
{
	struct adb last = *app->adb;

	last.stop_fd = -1;
	adb_app_tidy(app);
	/* When nobody listens any more, the device went, or adb's server, which is not started
	 * again for that. */
	int fd = app->port ? connect_port(app->port) : -1;
	if (fd >= 0) {
		close(fd);
		adb_unforward(&last, app->port);
	}
	app->port = 0;
}
