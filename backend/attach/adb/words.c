/* SPDX-License-Identifier: MIT
 *
 * words.c - turns messages of adb, its daemon and a device's tools into one sentence: why, and what
 * to do.
 *
 * Declared in attach/adb/adb.h. States come from `adb devices`, complaints from commands. The words
 * are those of adb 1.0.32 to 1.0.41 and of run-as since Android 5. The first line of any other
 * message is shown as it is.
 */
#include "attach/adb/adb.h"
#include "base/sanitize.h"

#include <string.h>

struct saying {
	const char *sign, *why, *remedy;
};

/* Whole messages. */
static const struct saying states[] = {
	{ "authorizing", "it still asks whether to trust this computer",
	  "unlock its screen, accept the question, and try again" },
	{ "offline", "it is offline: adb sees it, and it does not answer",
	  "unplug it and plug it in again, or use adb reconnect" },
	{ "connecting", "adb is still connecting to it", "try again" },
	{ "recovery", "it runs its recovery system, which has no apps", "restart it: adb reboot" },
	{ "rescue", "it runs its recovery system, which has no apps", "restart it: adb reboot" },
	{ "sideload", "it waits for a system update (sideload), and runs no apps",
	  "restart it: adb reboot" },
	{ "bootloader", "it is in its bootloader, and runs no apps",
	  "restart it: fastboot reboot" },
};

/* Parts of messages; narrower ones come first. */
static const struct saying complaints[] = {
	{ "unauthorized", "it does not trust this computer yet",
	  "unlock its screen, accept this computer's key, and try again" },
	{ "device offline", "it is offline: adb sees it, and it does not answer",
	  "unplug it and plug it in again, or use adb reconnect" },
	{ "no permissions", "adb may not open its USB device",
	  "add a udev rule for it (apt install android-sdk-platform-tools-common), then plug it in "
	  "again" },
	{ "insufficient permissions", "adb may not open its USB device",
	  "add a udev rule for it (apt install android-sdk-platform-tools-common), then plug it in "
	  "again" },
	{ "no devices/emulators", "no device is connected",
	  "plug one in with USB debugging on, or use adb connect HOST:PORT" },
	{ "no devices found", "no device is connected",
	  "plug one in with USB debugging on, or use adb connect HOST:PORT" },
	{ "more than one", "several devices are connected",
	  "name one with --serial; memtop adb --list shows them" },
	{ "cannot connect to daemon", "adb's own server does not start",
	  "see what adb start-server says" },
	{ "failed to start daemon", "adb's own server does not start",
	  "see what adb start-server says" },
	{ "failed to check server version", "adb's own server does not start",
	  "see what adb start-server says" },
	{ "No space left", "the device's storage is full", "free some of it: adb shell df /data" },
	{ "not debuggable", "the app is not debuggable",
	  "install a build with android:debuggable (a debug build)" },
	{ "unknown package", "no such app is installed", "see adb shell pm list packages" },
	{ "is unknown", "no such app is installed", "see adb shell pm list packages" },
	{ "Could not set capabilities",
	  "run-as does not work on this device: its kernel or vendor forbids it",
	  "use another device or an emulator" },
	{ "run-as: inaccessible or not found", "the device has no run-as",
	  "use adb root, if it is a userdebug build" },
	{ "run-as: not found", "the device has no run-as",
	  "use adb root, if it is a userdebug build" },
	{ "Read-only file system", "a read-only file system",
	  "use a device whose /data can be written" },
	{ "does not exist", "there is no such activity",
	  "name one with --activity (adb shell cmd package resolve-activity PACKAGE)" },
	{ "protocol fault", "the link to it was lost",
	  "check that it is still there: adb devices" },
	{ "onnection reset", "the link to it was lost",
	  "check that it is still there: adb devices" },
	{ "' not found", "it is not connected",
	  "see adb devices, and name one that is there with --serial" },
	{ "device not found", "it is not connected",
	  "see adb devices, and name one that is there with --serial" },
	{ "error: closed", "the link to it was lost", "check that it is still there: adb devices" },
};

const char *adb_line(const char *text, char *buf, size_t size)
{
	char line[512];
	size_t len;

	do {
		text += strspn(text, " \t\r\n");
		len = strcspn(text, "\r\n");
		snprintf(line, sizeof line, "%.*s",
			 (int)(len < sizeof line ? len : sizeof line - 1), text);
		text += len;
	} while (*text && strstr(line, "WARNING: linker"));
	return sanitize_clean(buf, size, line);
}

int adb_explain(const char *what, const char *said, struct err *err)
{
	char name[160], line[300];

	sanitize_clean(name, sizeof name, what);
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (!strcmp(said, states[i].sign))
			return err_set(err, 3, "%s: %s; %s", name, states[i].why, states[i].remedy);
	for (size_t i = 0; i < sizeof complaints / sizeof *complaints; i++)
		if (strstr(said, complaints[i].sign))
			return err_set(err, 3, "%s: %s; %s", name, complaints[i].why,
				       complaints[i].remedy);
	if (!*adb_line(said, line, sizeof line))
		return err_set(err, 3,
			       "%s: the link to it was lost without a message; check that it is "
			       "still there: adb devices",
			       name);
	return err_set(err, 3, "%s: \"%s\"; check the device: adb devices", name, line);
}
