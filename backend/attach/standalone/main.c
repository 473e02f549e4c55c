/* SPDX-License-Identifier: MIT
 *
 * memtop-attach - `memtop attach` as a static program, for machines without memtop, above all
 * Android devices. `memtop adb` pushes it there and runs it as root. Run by hand it does the same,
 * and memtop then connects through a forwarded port.
 *
 *     memtop-attach PID AGENT [OPTIONS]
 *
 * Exit status: 0 when the agent counts and listens at @memtop.PID; else the status of memtop
 * attach, with one line on stderr.
 */
#include "attach/attach.h"
#include "base/sanitize.h"

#define STATUS_USAGE 2

static int complain(const struct err *err)
{
	char line[sizeof err->text];

	fprintf(stderr, "memtop-attach: %s\n", sanitize_clean(line, sizeof line, err->text));
	return err->status;
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	struct attached done;
	struct target t;

	if (argc < 3 || argc > 4) {
		err_set(&err, STATUS_USAGE,
			"no process and agent given; use memtop-attach PID libmemtop-agent.so "
			"[OPTIONS]");
		return complain(&err);
	}
	if (target_parse_pid(argv[1], &t, NULL)) {
		err_set(&err, STATUS_USAGE,
			"%s: not a process id; use the number that ps or pidof shows", argv[1]);
		return complain(&err);
	}
	struct attach_options options = { .agent = argv[2], .options = argv[3] };
	if (attach_program(t.pid, &options, &done, &err))
		return complain(&err);
	if (*done.note)
		fprintf(stderr, "memtop-attach: %s\n", done.note);
	printf("%d %s: the agent counts; %s thread was held for %.1f ms\n", done.pid, done.name,
	       done.idle ? "a waiting" : "a running", (double)done.stopped_ns / 1e6);
	return 0;
}
