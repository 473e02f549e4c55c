/* SPDX-License-Identifier: MIT
 *
 * adb_list.c - the debuggable processes of the connected devices: a table for people and scripts,
 * and the same table numbered to choose from. It prints lines rather than a screen, so that errors
 * about a device stay readable above them.
 */
#include "cli/adb.h"

#include "base/listing.h"
#include "base/sanitize.h"
#include "cli/base/verbs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct found {
	char serial[128], model[64];
	struct adb_process process;
};

struct table {
	struct found *rows;
	size_t count, room, devices;
};

static int add_device(const struct adb *a, const struct adb_device *d, struct table *t,
		      struct err *err)
{
	struct adb_process *list;
	struct adb one = *a;
	size_t n;

	snprintf(one.serial, sizeof one.serial, "%s", d->serial);
	if (adb_processes(&one, &list, &n, err))
		return -1;
	GROW(t->rows, t->room, t->count + n);
	for (size_t i = 0; i < n; i++) {
		struct found *f = &t->rows[t->count++];
		*f = (struct found){ .process = list[i] };
		snprintf(f->serial, sizeof f->serial, "%s", d->serial);
		snprintf(f->model, sizeof f->model, "%s", d->model);
	}
	free(list);
	t->devices++;
	return 0;
}

/* Lists all devices that answer and reports the others. -1: adb does not work, or the user
 * quits. */
static int collect(const struct adb *a, struct table *t, struct err *err)
{
	struct adb_device *list;
	size_t count;
	int rc = 0;

	if (adb_devices(a, &list, &count, err))
		return -1;
	size_t named = 0;
	for (size_t i = 0; i < count && rc == 0; i++) {
		struct err why = { 0 };

		if (*a->serial && strcmp(a->serial, list[i].serial))
			continue;
		named++;
		if (adb_usable(&list[i]) ? add_device(a, &list[i], t, &why)
					 : adb_explain(list[i].serial, list[i].state, &why))
			warn("%s", why.text);
		if (why.status == ADB_STOPPED)
			rc = adb_stopped(err);
	}
	if (rc == 0 && !named)
		rc = adb_explain(count ? a->serial : "adb",
				 count ? "device not found" : "no devices/emulators", err);
	free(list);
	return rc;
}

static void print(const struct table *t, bool numbered, FILE *out)
{
	const struct listing_column columns[] = {
		{ "", LISTING_RIGHT, numbered ? 4 : 0, 0 },
		{ "SERIAL", LISTING_LEFT, 22, numbered ? 2 : 0 },
		{ "PID", LISTING_RIGHT, 8, 1 },
		{ "PROCESS", LISTING_LEFT, 0, 2 },
	};
	struct listing *l = listing_new(columns, sizeof columns / sizeof *columns, 0);

	for (size_t i = 0; i < t->count; i++) {
		const struct found *f = &t->rows[i];
		const char *name = *f->process.name ? f->process.name : "?";

		listing_row(l);
		FILE *to = listing_cell(l);
		if (numbered)
			fprintf(to, "%zu", i + 1);
		listing_put(l, f->serial);
		fprintf(listing_cell(l), "%d", f->process.pid);
		to = listing_cell(l);
		sanitize_put(to, name, strlen(name));
		if (numbered && *f->model)
			fprintf(to, "  (%s)", f->model);
	}
	listing_end(l, out);
}

static void say_none(const struct table *t)
{
	if (t->devices)
		warn("adb: no process takes a debugger on %s; start a debuggable app (a debug "
		     "build), or use memtop adb --start PACKAGE",
		     t->devices == 1 ? "this device" : "these devices");
}

int adb_list(const struct adb *a)
{
	struct table t = { .count = 0 };
	struct err err = { 0 };
	int status = 0;

	if (collect(a, &t, &err))
		status = args_fail(&err, STATUS_UNREACHED);
	else if (!t.devices)
		status = STATUS_UNREACHED;
	else if (t.count)
		print(&t, false, stdout);
	else
		say_none(&t);
	free(t.rows);
	return status;
}

/* Reads a line; 0: end of input, -1 and *err: the user quits. */
static int read_line(const struct adb *a, char *line, size_t size, struct err *err)
{
	struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			      { .fd = a->stop_fd, .events = POLLIN } };
	ssize_t n;

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (p[1].revents)
		return adb_stopped(err);
	n = read(STDIN_FILENO, line, size - 1);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return n > 0;
}

int adb_ask(struct adb *a, struct adb_process *chosen, struct err *err)
{
	struct table t = { .count = 0 };
	char line[64], numbers[32] = "1", *end;
	int rc = collect(a, &t, err);

	if (t.count > 1)
		snprintf(numbers, sizeof numbers, "1-%zu", t.count);
	if (rc == 0 && t.count)
		print(&t, true, stdout);
	else if (rc == 0)
		say_none(&t);
	while (rc == 0 && t.count) {
		printf("\nWatch which one (%s, Enter: none)? ", numbers);
		fflush(stdout);
		rc = read_line(a, line, sizeof line, err);
		if (rc <= 0 || !*line) {
			rc = rc < 0 ? -1 : 0;
			break;
		}
		unsigned long n = strtoul(line, &end, 10);
		rc = !*end && n >= 1 && n <= t.count;
		if (rc) {
			snprintf(a->serial, sizeof a->serial, "%s", t.rows[n - 1].serial);
			*chosen = t.rows[n - 1].process;
		}
	}
	free(t.rows);
	return rc;
}
