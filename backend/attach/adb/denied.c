/* SPDX-License-Identifier: MIT
 *
 * denied.c - explains why a device did not let the agent into a process: its sanitizer, or SELinux,
 * whose refusals appear in the kernel's log and in logcat.
 */
#include "attach/adb/app.h"
#include "launch/progcheck.h"

#include <stdlib.h>
#include <string.h>

int adb_refuse_sanitizer(const struct adb_app *app, struct err *err)
{
	char *as_app = app->phone.root ? xstrdup("") : xasprintf("run-as %s ", app->package);
	char *script = xasprintf("%sgrep -o -m 1 'lib[a-z_]*\\(clang_rt\\.\\)*[a-z]*san[^ "
				 "/]*\\.so' /proc/%d/maps 2>/dev/null; true",
				 as_app, app->pid);
	struct adb_answer r;

	int rc = adb_shell(app->adb, script, ADB_SLOW_MS, &r, err);
	r.out[strcspn(r.out, "\r\n")] = '\0';
	const char *kind = rc ? NULL : elf_sanitizer_of(r.out);
	if (kind)
		rc = progmalloc_refuse(app->name, kind, err);
	adb_answer_release(&r);
	free(script);
	free(as_app);
	return rc;
}

void adb_explain_denied(const struct adb_app *app, struct err *err)
{
	const char *root = strncmp(app->root, "su", 2) ? "" : app->root;
	char *script = xasprintf(
		"getenforce 2>/dev/null; { %s dmesg; logcat -d -t 1000; } 2>/dev/null | grep 'avc: "
		"*denied' | grep -e memtop -e pid=%d -e '%s' | tail -n 1; true",
		root, app->pid, *app->package ? app->package : "memtop");
	struct adb_answer r;
	char mode[32], line[400] = "", why[sizeof err->text];

	if (err->status != 3 || adb_shell(app->adb, script, ADB_SLOW_MS, &r, NULL)) {
		free(script);
		return;
	}
	char *avc = strstr(r.out, "avc:"), *advice = strstr(err->text, "; ");
	for (char *more = advice; more && (more = strstr(more + 1, "; "));)
		advice = more;
	adb_line(r.out, mode, sizeof mode);
	if (avc)
		adb_line(avc, line, sizeof line);
	if (!strcmp(mode, "Enforcing") && advice) {
		snprintf(why, sizeof why, "%.*s (SELinux: Enforcing%s%s)%s",
			 (int)(advice - err->text), err->text,
			 *line ? ", " : ", no denial in the log", line,
			 *line ? "; see adb shell setenforce 0, on a device where that is allowed"
			       : advice);
		snprintf(err->text, sizeof err->text, "%s", why);
	}
	adb_answer_release(&r);
	free(script);
}
