/* SPDX-License-Identifier: MIT
 *
 * device.c - describes a device and lists its processes that accept a debugger. Declared in
 * attach/adb/app.h.
 *
 * adbd lists the processes with a JDWP transport: debuggable apps, and every app on userdebug
 * builds. Their names come from /proc, where the app can write any text. A name goes back to a
 * shell only if it has the form of a package name, and is sanitized before it is shown.
 */
#include "attach/adb/device.h"
#include "attach/adb/app.h"
#include "base/sanitize.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MS 5000 /* `adb jdwp` with nothing to say */

static int refuse_several(const struct adb_device *list, size_t count, struct err *err)
{
	char names[400] = "";
	size_t used = 0;

	for (size_t i = 0; i < count && used < sizeof names; i++)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s (%s)",
					 used ? ", " : "", list[i].serial, list[i].state);
	return err_set(err, 3, "adb: %zu devices: %s; name one with --serial", count, names);
}

int adb_choose(struct adb *a, struct err *err)
{
	struct adb_device *list = NULL;
	const struct adb_device *found = NULL;
	size_t count, usable = 0;
	int rc = -1;

	if (adb_devices(a, &list, &count, err))
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (*a->serial ? !strcmp(list[i].serial, a->serial)
			       : adb_usable(&list[i]) || !found)
			found = &list[i];
		usable += adb_usable(&list[i]);
	}
	if (!count)
		adb_explain("adb", "no devices/emulators", err);
	else if (!found)
		adb_explain(a->serial, "device not found", err);
	else if (!*a->serial && count > 1 && usable != 1)
		refuse_several(list, count, err);
	else if (!adb_usable(found))
		adb_explain(found->serial, found->state, err);
	else
		rc = snprintf(a->serial, sizeof a->serial, "%s", found->serial) > 0 ? 0 : -1;
	free(list);
	return rc;
}

int adb_phone(const struct adb *a, struct adb_phone *p, struct err *err)
{
	struct adb_answer r;
	char *at, *line;

	*p = (struct adb_phone){ .sdk = 0 };
	int rc = adb_shell(a,
			   "for p in product.cpu.abi build.version.release build.version.sdk; do "
			   "echo \"=$(getprop ro.$p)\"; done; id",
			   ADB_SLOW_MS, &r, err);
	at = rc ? NULL : r.out;
	for (int i = 0; at && (line = strtok_r(at, "\n", &at)); i++) {
		if (i == 0)
			sanitize_clean(p->abi, sizeof p->abi, line + 1);
		else if (i == 1)
			sanitize_clean(p->release, sizeof p->release, line + 1);
		else if (i == 2)
			p->sdk = atoi(line + 1);
		else
			p->root = p->root || !strncmp(line, "uid=0(", 6);
	}
	adb_answer_release(&r);
	if (rc == 0 && !*p->abi)
		rc = err_set(err, 3,
			     "%s: no property ro.product.cpu.abi: not Android, or another shell; "
			     "connect to an Android device",
			     a->serial);
	return rc;
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct adb_process *)a)->pid - ((const struct adb_process *)b)->pid;
}

/* "PID text" lines; takes only requested processes. */
static void take_names(char *text, struct adb_process *list, size_t count)
{
	for (char *line; (line = strtok_r(text, "\n", &text));) {
		char *name;
		long pid = strtol(line, &name, 10);

		for (size_t i = 0; i < count && *name == ' '; i++)
			if (list[i].pid == pid)
				snprintf(list[i].name, sizeof list[i].name, "%s", name + 1);
	}
}

static int read_names(const struct adb *a, struct adb_process *list, size_t count, struct err *err)
{
	char *script, *to;
	struct adb_answer r;

	to = script = xmalloc(count * 12 + 256);
	to = stpcpy(to, "for p in");
	for (size_t i = 0; i < count; i++)
		to += sprintf(to, " %d", list[i].pid);
	stpcpy(to, "; do tr '\\n\\r\\000' '??\\n' </proc/$p/cmdline 2>/dev/null | { read -r n; "
		   "echo \"$p $n\"; }; done");
	int rc = adb_shell(a, script, ADB_SLOW_MS, &r, err);
	free(script);
	if (rc == 0)
		take_names(r.out, list, count);
	adb_answer_release(&r);
	return rc;
}

int adb_processes(const struct adb *a, struct adb_process **list, size_t *count, struct err *err)
{
	static const char *const words[] = { "jdwp", NULL };
	struct adb_answer r;
	size_t room = 0;

	*list = NULL;
	*count = 0;
	int rc = adb_listen(a, words, LIST_MS, &r, err);
	if (rc == 0 && r.status)
		rc = adb_explain(a->serial, *r.said ? r.said : r.out, err);
	char *at = rc ? NULL : r.out;
	for (char *line; at && (line = strtok_r(at, "\r\n", &at));) {
		char *end;
		long pid = strtol(line, &end, 10);
		if (pid <= 0 || pid > INT_MAX || *end)
			continue;
		GROW(*list, room, *count + 1);
		(*list)[(*count)++].pid = (int)pid;
	}
	adb_answer_release(&r);
	if (*count)
		qsort(*list, *count, sizeof **list, by_pid);
	if (rc == 0 && *count)
		rc = read_names(a, *list, *count, err);
	if (rc) {
		free(*list);
		*list = NULL;
		*count = 0;
	}
	return rc;
}

bool adb_is_package(const char *name, size_t len)
{
	bool dot = false;

	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)name[i]) && name[i] != '.' && name[i] != '_')
			return false;
		dot |= name[i] == '.';
	}
	return dot && len < sizeof((struct adb_app *)NULL)->package &&
	       isalpha((unsigned char)*name);
}

void adb_app_name(struct adb_app *app, const struct adb_process *p)
{
	size_t len = strcspn(p->name, ":");

	app->pid = p->pid;
	sanitize_clean(app->name, sizeof app->name, *p->name ? p->name : "?");
	snprintf(app->package, sizeof app->package, "%.*s",
		 adb_is_package(p->name, len) ? (int)len : 0, p->name);
}

/* 1: process `pid` runs, root is available, and app now describes it. 0: otherwise. */
static int find_closed(struct adb_app *app, int pid, struct err *err)
{
	struct adb_process p = { .pid = pid };
	int rc = pid > 0 ? read_names(app->adb, &p, 1, err) : 0;

	if (rc || !*p.name)
		return rc;
	rc = adb_root(app, err);
	if (rc <= 0)
		return rc;
	adb_app_name(app, &p);
	app->closed = true;
	return 1;
}

/* Explains why a named process is not in the list; pid: the process of that name, 0 = none. */
static int explain_absent(const struct adb_app *app, const char *word, int pid, struct err *err)
{
	size_t len = strcspn(word, ":");
	char *script =
		pid ? xasprintf("[ -d /proc/%d ] && echo runs; true", pid)
		    : xasprintf("[ -n \"$(pm path %.*s 2>/dev/null)\" ] && echo installed; true",
				adb_is_package(word, len) ? (int)len : 0, word);
	struct adb_answer r;

	int rc = adb_shell(app->adb, script, ADB_SLOW_MS, &r, err);
	free(script);
	if (rc == 0 && strstr(r.out, "runs"))
		err_set(err, 3,
			"%s: runs, but takes no debugger: it is not a debuggable app (profileable "
			"is not enough); install a debug build (android:debuggable), or use a "
			"rooted device (adb root, su)",
			word);
	else if (rc == 0 && strspn(word, "0123456789") == strlen(word))
		err_set(err, 3,
			"%s: no such process on %s; memtop adb --list shows those that take a "
			"debugger",
			word, app->adb->serial);
	else if (rc == 0 && strstr(r.out, "installed"))
		err_set(err, 3,
			"%s: installed, but not running; start it, or use memtop adb --start %.*s",
			word, (int)len, word);
	else if (rc == 0)
		err_set(err, 3,
			"%s: no such app on %s; memtop adb --list shows those that run and take a "
			"debugger",
			word, app->adb->serial);
	adb_answer_release(&r);
	return -1;
}

int adb_app_find(struct adb_app *app, const char *word, struct err *err)
{
	size_t count;
	struct adb_process *list;
	int pid = strspn(word, "0123456789") == strlen(word) ? atoi(word) : 0;
	const struct adb_process *found = NULL;

	if (adb_processes(app->adb, &list, &count, err))
		return -1;
	for (size_t i = 0; i < count && !found; i++)
		if (pid ? list[i].pid == pid : !strcmp(list[i].name, word))
			found = &list[i];
	if (found)
		adb_app_name(app, found);
	free(list);
	if (found)
		return 0;
	if (pid ? adb_refuse_server(app->adb, pid, err)
		: (pid = adb_pidof(app->adb, word, err)) < 0)
		return -1;
	int closed = find_closed(app, pid, err);
	return closed ? closed < 0 ? -1 : 0 : explain_absent(app, word, pid, err);
}
