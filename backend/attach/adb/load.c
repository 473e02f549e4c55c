/* SPDX-License-Identifier: MIT
 *
 * load.c - System.load of the agent's file, through the app's debug port (attach/jdwp/jdwp.h).
 */
#include "attach/adb/app.h"
#include "attach/adb/greeting.h"
#include "attach/jdwp/jdwp.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN_MS 20000 /* from the load to the socket */
#define AGAIN_MS 100

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
		int fd = adb_connect(app->debug_port);
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
