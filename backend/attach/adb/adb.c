/* SPDX-License-Identifier: MIT
 *
 * adb.c - runs commands through the user's own adb client.
 *
 * memtop runs the client instead of speaking its protocol: the client finds devices, holds keys,
 * starts its server, and is already set up.
 *
 * Daemons without shell_v2 (before Android 7) pass neither a status nor stderr, and end lines with
 * CR LF. The script therefore prints its status as its last line, and a CR before an LF is dropped.
 */
#include "attach/adb/adb.h"

#include "base/sanitize.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUSH_MS 300000

static bool runs(const char *folder, size_t len, const char *rest, char *path, size_t size)
{
	return folder && len &&
	       (size_t)snprintf(path, size, "%.*s%s", (int)len, folder, rest) < size &&
	       access(path, X_OK) == 0;
}

int adb_open(struct adb *a, const char *given, int stop_fd, struct err *err)
{
	static const char *const homes[] = { "ANDROID_HOME", "ANDROID_SDK_ROOT" };
	const char *serial = getenv("ANDROID_SERIAL"), *dirs = getenv("PATH");

	*a = (struct adb){ .stop_fd = stop_fd };
	if (serial && strlen(serial) < sizeof a->serial)
		snprintf(a->serial, sizeof a->serial, "%s", serial);
	if (given && !runs(given, strlen(given), "", a->program, sizeof a->program))
		return err_set(err, 3,
			       "%s: not a usable adb client: %s; give the client's path with --adb",
			       given, strerror(errno));
	if (given)
		return 0;
	for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
		const char *home = getenv(homes[i]);
		if (runs(home, home ? strlen(home) : 0, "/platform-tools/adb", a->program,
			 sizeof a->program))
			return 0;
	}
	for (const char *d = dirs ? dirs : ""; *d; d += strcspn(d, ":"), d += *d == ':')
		if (runs(d, strcspn(d, ":"), "/adb", a->program, sizeof a->program))
			return 0;
	return err_set(err, 3,
		       "adb: not found in ANDROID_HOME/platform-tools, nor in PATH; install it "
		       "(apt install adb, or Android's platform-tools), or name it with --adb");
}

/* "SERIAL  STATE product:x model:y ...", or "SERIAL  no permissions (...); see [...]". */
static bool parse_device(char *line, struct adb_device *d)
{
	size_t len = strcspn(line, " \t");
	char *state = line + len + strspn(line + len, " \t");
	char *model = strstr(state, " model:");

	if (!len || len >= sizeof d->serial || !*state)
		return false;
	for (size_t i = 0; i < len; i++) /* it is shown, and given back to adb as it is */
		if (!isgraph((unsigned char)line[i]))
			return false;
	*d = (struct adb_device){ .state = "" };
	memcpy(d->serial, line, len);
	if (model) {
		model[7 + strcspn(model + 7, " ")] = '\0';
		sanitize_clean(d->model, sizeof d->model, model + 7);
	}
	size_t word = strncmp(state, "no permissions", 14) ? strcspn(state, " ") : 14;
	state[word] = '\0';
	sanitize_clean(d->state, sizeof d->state, state);
	return true;
}

int adb_devices(const struct adb *a, struct adb_device **list, size_t *count, struct err *err)
{
	static const char *const words[] = { "devices", "-l", NULL };
	struct adb everywhere = *a;
	struct adb_answer r;
	size_t room = 0;

	*list = NULL;
	*count = 0;
	everywhere.serial[0] = '\0';
	int rc = adb_run(&everywhere, words, ADB_SLOW_MS, &r, err);
	if (rc == 0 && r.status)
		rc = adb_explain("adb devices", *r.said ? r.said : r.out, err);
	char *at = rc ? NULL : strstr(r.out, "List of devices");
	for (char *line = at ? strtok_r(at, "\r\n", &at) : NULL; line;
	     line = strtok_r(NULL, "\r\n", &at)) {
		GROW(*list, room, *count + 1);
		if (strncmp(line, "List of devices", 15) && parse_device(line, &(*list)[*count]))
			++*count;
	}
	adb_answer_release(&r);
	return rc;
}

bool adb_usable(const struct adb_device *d)
{
	return !strcmp(d->state, "device");
}

char *adb_quote(const char *text)
{
	char *quoted = xmalloc(strlen(text) * 4 + 3), *to = quoted;

	*to++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = *text;
	}
	stpcpy(to, "'");
	return quoted;
}

/* CR LF to LF; returns the new length. */
static size_t drop_returns(char *text, size_t length)
{
	size_t to = 0;

	for (size_t i = 0; i < length; i++)
		if (text[i] != '\r' || (text[i + 1] != '\n' && text[i + 1] != '\r'))
			text[to++] = text[i];
	text[to] = '\0';
	return to;
}

/* The script's own last line, "rc=N", cut off. */
static bool take_status(struct adb_answer *r)
{
	size_t at = r->length;

	while (at && r->out[at - 1] == '\n')
		at--;
	r->out[at] = '\0';
	while (at && r->out[at - 1] != '\n')
		at--;
	char *end;
	if (strncmp(r->out + at, "rc=", 3) || !isdigit((unsigned char)r->out[at + 3]))
		return false;
	r->status = (int)strtol(r->out + at + 3, &end, 10);
	if (*end)
		return false;
	r->out[at] = '\0';
	r->length = at;
	return true;
}

int adb_shell(const struct adb *a, const char *script, int limit_ms, struct adb_answer *r,
	      struct err *err)
{
	char *line = xasprintf("( %s\n); r=$?; echo; echo rc=$r", script);
	const char *const words[] = { "shell", line, NULL };

	int rc = adb_run(a, words, limit_ms, r, err);
	free(line);
	r->length = drop_returns(r->out, r->length);
	if (rc == 0 && !take_status(r))
		rc = adb_explain(a->serial, *r->said ? r->said : r->out, err);
	return rc;
}

int adb_push(const struct adb *a, const char *file, const char *remote, struct err *err)
{
	const char *const words[] = { "push", file, remote, NULL };
	struct adb_answer r;

	int rc = adb_run(a, words, PUSH_MS, &r, err);
	if (rc == 0 && r.status)
		rc = adb_explain("push to the device", *r.said ? r.said : r.out, err);
	adb_answer_release(&r);
	return rc;
}

int adb_forward(const struct adb *a, const char *remote, int *port, struct err *err)
{
	const char *const words[] = { "forward", "tcp:0", remote, NULL };
	struct adb_answer r;

	*port = 0;
	int rc = adb_run(a, words, ADB_SLOW_MS, &r, err);
	if (rc == 0 && r.status)
		rc = adb_explain("adb forward", *r.said ? r.said : r.out, err);
	else if (rc == 0 && (*port = atoi(r.out)) <= 0)
		rc = err_set(
			err, 3,
			"adb forward: no port for tcp:0: %s is too old; use a newer client (--adb)",
			a->program);
	adb_answer_release(&r);
	return rc;
}

void adb_unforward(const struct adb *a, int port)
{
	char name[32];
	const char *const words[] = { "forward", "--remove", name, NULL };
	struct adb_answer r;

	if (!port)
		return;
	snprintf(name, sizeof name, "tcp:%d", port);
	adb_run(a, words, ADB_LAST_MS, &r, NULL);
	adb_answer_release(&r);
}
