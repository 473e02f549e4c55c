/* SPDX-License-Identifier: MIT
 *
 * root.c - loads the agent into a process of a rooted device that accepts no debugger: an app that
 * is not debuggable, or a native program. memtop pushes the agent and memtop-attach
 * (backend/attach/standalone/main.c) to /data/local/tmp. Root runs memtop-attach, which loads the
 * agent by ptrace and exits.
 *
 * Root is adb itself (adb root) or the shell through the device's su: `su 0 sh -c` on userdebug
 * builds, `su -c` on others. Only this file asks for root, since su may prompt the user.
 */
#include "attach/adb/app.h"
#include "attach/adb/greeting.h"
#include "base/build.h"
#include "launch/launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ASK_MS 60000  /* for root: the user may have to allow it */
#define LOAD_MS 60000 /* memtop-attach alone takes 25 s at most */
#define LISTEN_MS 20000

struct pushed {
	char path[128], check[256]; /* on the device */
};

int adb_root(struct adb_app *app, struct err *err)
{
	static const char script[] =
		"for s in 'su 0 sh -c' 'su -c'; do [ \"$($s 'id -u' 2>/dev/null </dev/null)\" = 0 "
		"] && { echo \"$s\"; break; }; done";
	struct adb_answer r;

	if (*app->root)
		return 1;
	if (app->phone.root) {
		snprintf(app->root, sizeof app->root, "sh -c");
		return 1;
	}
	int rc = adb_shell(app->adb, script, ASK_MS, &r, err);
	if (rc == 0 && !strncmp(r.out, "su ", 3))
		snprintf(app->root, sizeof app->root, "%.*s", (int)strcspn(r.out, "\r\n"), r.out);
	adb_answer_release(&r);
	return rc ? -1 : *app->root != 0;
}

static int find_tracer(const struct adb_app *app, char *path, size_t size, struct err *err)
{
	char name[96];

	snprintf(name, sizeof name, "android/%s/memtop-attach", app->abi);
	if (launch_installed(name, path, size))
		return 0;
	return err_set(err, 125,
		       "%s: not found beside memtop or in %s/lib/memtop: a process that takes no "
		       "debugger needs it; build it with make android (arm64-v8a, x86_64)",
		       name, build_prefix);
}

/* Pushes file to /data/local/tmp; to->check: a script fragment that exits with status 1 when the
 * copy is incomplete. */
static int push(struct adb_app *app, const char *file, const char *ending, struct pushed *to,
		struct err *err)
{
	struct stat st;

	if (stat(file, &st))
		return err_set(err, 125, "%s: cannot be read: %s; check the path", file,
			       strerror(errno));
	snprintf(to->path, sizeof to->path, "%s%s%s", ADB_TEMPORARY, app->file, ending);
	snprintf(to->check, sizeof to->check, "f=%s; " ADB_WHOLE, to->path, (size_t)st.st_size);
	app->pushed = true;
	return adb_push(app->adb, file, to->path, err);
}

/* Runs as root: memtop-attach PID AGENT OPTIONS. */
static int load(struct adb_app *app, const struct pushed *agent, const struct pushed *tracer,
		const char *options, struct err *err)
{
	char *quoted = adb_quote(options ? options : "");
	char *line = xasprintf("%s; %s; chmod 755 %s && %s %d %s %s", agent->check, tracer->check,
			       tracer->path, tracer->path, app->pid, agent->path, quoted);
	char *word = adb_quote(line), *script = xasprintf("%s %s", app->root, word), said[500];
	static const char own[] = "memtop-attach: ";
	app->loaded = true;
	struct adb_answer r;

	int rc = adb_shell(app->adb, script, LOAD_MS, &r, err);
	if (rc == 0 && r.status) {
		adb_line(*r.said ? r.said : r.out, said, sizeof said);
		rc = !strncmp(said, own, sizeof own - 1)
			     ? err_set(err, 3, "%s", said + sizeof own - 1)
			     : err_set(err, 3,
				       "%s: its root shell says: %s; check that it may run "
				       "programs from /data/local/tmp (SELinux: adb shell "
				       "getenforce)",
				       app->adb->serial, *said ? said : "nothing");
	}
	adb_answer_release(&r);
	free(script);
	free(word);
	free(line);
	free(quoted);
	return rc;
}

int adb_root_attach(struct adb_app *app, const struct adb_request *q, struct err *err)
{
	char agent[PATH_MAX + 64], tracer[PATH_MAX + 64];
	struct pushed there, its_tracer;

	app->way = ADB_PTRACE;
	if (adb_app_agent(app, q, agent, sizeof agent, err) ||
	    find_tracer(app, tracer, sizeof tracer, err))
		return -1;
	if (push(app, agent, ADB_AGENT, &there, err) ||
	    push(app, tracer, ADB_TRACER, &its_tracer, err) ||
	    load(app, &there, &its_tracer, q->options, err))
		return -1;
	int rc = adb_app_listens(app, LISTEN_MS, err);
	if (rc == 0)
		rc = err_set(
			err, 3,
			"%s: loaded the agent, but nothing answers there after %d s; check that it "
			"still runs, and that SELinux lets adb connect (adb shell getenforce)",
			app->name, LISTEN_MS / 1000);
	return rc < 0 ? -1 : 0;
}
