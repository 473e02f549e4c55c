/* SPDX-License-Identifier: MIT
 *
 * start.c - starts an Android app with the agent. It takes the first of three ways that is
 * available:
 *
 *   wrap.sh         the app's package has one, and the system runs it: only wrap.sh can load the
 *                   agent then
 *   wrap.PACKAGE    a property that prefixes the app's command line with a script beside the agent,
 *                   since its value must be short. Only root and the shell of userdebug builds may
 *                   set it; memtop reads it back to check
 *   am start -D     the app waits for a debugger before its own code; its first message then runs
 *                   System.load. Earlier allocations of the runtime are unknown
 */
#include "attach/adb/app.h"
#include "attach/adb/greeting.h"

#include <stdlib.h>
#include <string.h>

#define PROCESS_MS 30000 /* from am's return to the process */
#define AGENT_MS 60000   /* from that to its agent: an app behind a wrapper has no zygote's start */
#define DEBUG_MS 20000   /* from that to its debug port */
#define LOOK_MS 1000     /* how often it is looked whether it still lives */
#define AGAIN_MS 200
#define PROPERTY_MAX 91 /* bytes of a property's value */

static bool is_component(const char *s)
{
	return strchr(s, '/') &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._$/") ==
		       strlen(s);
}

/* Finds PACKAGE/ACTIVITY: the given one, or the launcher's. */
static int find_activity(const struct adb_app *app, const char *given, char *component, size_t size,
			 struct err *err)
{
	struct adb_answer r;

	if (given) {
		snprintf(component, size, "%s%s%s", strchr(given, '/') ? "" : app->package,
			 strchr(given, '/') ? "" : "/", given);
		return is_component(component) ? 0
					       : err_set(err, 2,
							 "%s: not an activity's name; write "
							 "--activity .MainActivity",
							 given);
	}
	char *script = xasprintf(
		"pm path %s >/dev/null 2>&1 || { echo absent; exit; }; cmd package "
		"resolve-activity --brief -c android.intent.category.LAUNCHER %s | tail -n 1",
		app->package, app->package);
	int rc = adb_shell(app->adb, script, ADB_SLOW_MS, &r, err);
	free(script);
	r.out[strcspn(r.out, "\n")] = '\0';
	snprintf(component, size, "%s", r.out);
	if (rc == 0 && !strcmp(component, "absent"))
		rc = err_set(err, 3, "%s: no such app on %s; see adb shell pm list packages",
			     app->package, app->adb->serial);
	else if (rc == 0 && !is_component(component))
		rc = err_set(err, 3, "%s: no launcher activity; name one with --activity",
			     app->package);
	adb_answer_release(&r);
	return rc;
}

static bool has_script(const struct adb_app *app)
{
	char *script = xasprintf("d=$(dumpsys package %s | grep -m1 -o 'legacyNativeLibraryDir=[^ "
				 "]*'); ls \"${d#*=}\"/*/wrap.sh 2>/dev/null",
				 app->package);
	struct adb_answer r;

	bool found = adb_shell(app->adb, script, ADB_SLOW_MS, &r, NULL) == 0 && strchr(r.out, '/');
	free(script);
	adb_answer_release(&r);
	return found;
}

/* Writes the script that starts the app. */
static int write_script(struct adb_app *app, const char *agent, const char *options, char *path,
			size_t size, struct err *err)
{
	char *quoted = adb_quote(options ? options : "");
	char *line = xasprintf("LD_PRELOAD=%s MEMTOP_OPTIONS=%s exec \"$@\"", agent, quoted);
	char *word = adb_quote(line);
	char *from = xasprintf("printf '%%s\\n' %s", word);

	int rc = adb_app_write(app, &(struct adb_copy){ from, ADB_SCRIPT, strlen(line) + 1 }, path,
			       size, err);
	free(from);
	free(word);
	free(line);
	free(quoted);
	return rc;
}

/* 1: the property is set; 0: not allowed here; -1 and *err. */
static int set_property(struct adb_app *app, const char *agent, const char *options,
			struct err *err)
{
	char value[600] = "sh ";
	struct adb_answer r;

	if (write_script(app, agent, options, value + 3, sizeof value - 3, err))
		return -1;
	if (strlen(value) > PROPERTY_MAX)
		return 0;
	char *word = adb_quote(value);
	char *script = xasprintf("setprop wrap.%s %s 2>/dev/null; getprop wrap.%s", app->package,
				 word, app->package);
	app->wrapped = true; /* unless it is known that it is not */
	int rc = adb_shell(app->adb, script, ADB_SLOW_MS, &r, err);
	if (rc == 0)
		rc = app->wrapped = !strncmp(r.out, value, strlen(value));
	adb_answer_release(&r);
	free(script);
	free(word);
	return rc;
}

static int start_activity(const struct adb_app *app, const char *component, struct err *err)
{
	char *quoted = adb_quote(component);
	char *script = xasprintf("am force-stop %s; am start %s-n %s", app->package,
				 app->way == ADB_DEBUG_START ? "-D " : "", quoted);
	struct adb_answer r;

	int rc = adb_shell(app->adb, script, ADB_SLOW_MS, &r, err);
	const char *wrong = rc                         ? NULL
			    : strstr(r.said, "Error:") ? strstr(r.said, "Error:")
						       : strstr(r.out, "Error:");
	if (wrong || (rc == 0 && r.status))
		rc = adb_explain(component, wrong ? wrong : *r.said ? r.said : r.out, err);
	free(script);
	free(quoted);
	adb_answer_release(&r);
	return rc;
}

static int wait_process(struct adb_app *app, struct err *err)
{
	uint64_t end = now_ns() + PROCESS_MS * 1000000ull;
	int rc = 0;

	for (app->pid = 0; rc == 0 && !app->pid;) {
		app->pid = adb_pidof(app->adb, app->package, err);
		rc = app->pid < 0 ? -1 : 0;
		if (rc == 0 && !app->pid && now_ns() > end)
			rc = err_set(err, 3,
				     "%s: started, but has no process after %d s; see adb logcat",
				     app->package, PROCESS_MS / 1000);
		if (rc == 0 && !app->pid)
			rc = adb_pause(app->adb, AGAIN_MS, err);
	}
	return rc;
}

/* Does the app's process exist? 1, 0; -1 and *err. */
static int lives(const struct adb_app *app, struct err *err)
{
	char script[64];
	struct adb_answer r;

	snprintf(script, sizeof script, "[ -d /proc/%d ]", app->pid);
	int rc = adb_shell(app->adb, script, ADB_SLOW_MS, &r, err);
	if (rc == 0)
		rc = r.status == 0;
	adb_answer_release(&r);
	return rc;
}

static int wait_agent(struct adb_app *app, struct err *err)
{
	app->loaded = true;
	uint64_t end = now_ns() + AGENT_MS * 1000000ull;
	int rc, there = 1;

	while ((rc = adb_app_listens(app, LOOK_MS, err)) == 0 && now_ns() < end)
		if ((there = lives(app, err)) <= 0)
			break;
	if (rc || there < 0)
		return rc > 0 ? 0 : -1;
	if (!there)
		return err_set(
			err, 3,
			"%s: ended before its agent listened; see what adb logcat says about it",
			app->package);
	return app->way == ADB_WRAP_SCRIPT
		       ? err_set(err, 3,
				 "%s: its package has a wrap.sh, but no agent listens after %d s; "
				 "make that script load it: man memtop-remote",
				 app->package, AGENT_MS / 1000)
		       : err_set(err, 3,
				 "%s: started with wrap.%s set, but no agent listens after %d s; "
				 "see what adb logcat says about the linker",
				 app->package, app->package, AGENT_MS / 1000);
}

static int start(struct adb_app *app, const struct adb_request *q, struct err *err)
{
	char component[256], path[512], remote[48];

	snprintf(app->name, sizeof app->name, "%s", app->package);
	if (find_activity(app, q->activity, component, sizeof component, err))
		return -1;
	app->way = ADB_WRAP_SCRIPT;
	if (!has_script(app)) {
		int set = adb_app_place(app, q, path, sizeof path, err)
				  ? -1
				  : set_property(app, path, q->options, err);
		if (set < 0)
			return -1;
		app->way = set ? ADB_WRAP_PROPERTY : ADB_DEBUG_START;
	}
	if (q->options && app->way != ADB_WRAP_PROPERTY)
		return err_set(err, 3,
			       "--options: the property wrap.%s cannot be set on this device, and "
			       "only it passes options; set them in the view: :set sample=64k",
			       app->package);
	if (start_activity(app, component, err) || wait_process(app, err))
		return -1;
	snprintf(remote, sizeof remote, "localabstract:memtop.%d", app->pid);
	if (adb_forward(app->adb, remote, &app->port, err))
		return -1;
	return app->way == ADB_DEBUG_START ? adb_app_load(app, q, path, DEBUG_MS, err)
					   : wait_agent(app, err);
}

int adb_app_start(struct adb_app *app, const struct adb_request *q, struct err *err)
{
	int rc = start(app, q, err);

	if (rc && app->loaded)
		adb_explain_denied(app, err);
	return rc;
}
