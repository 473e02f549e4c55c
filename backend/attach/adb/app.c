/* SPDX-License-Identifier: MIT
 *
 * app.c - loads the agent into a running Android app, by the way that is open, and cleans up.
 */
#include "attach/adb/app.h"
#include "attach/adb/greeting.h"

#include <stdlib.h>
#include <unistd.h>

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
	int fd = app->port ? adb_connect(app->port) : -1;
	if (fd >= 0) {
		close(fd);
		adb_unforward(&last, app->port);
	}
	app->port = 0;
}
