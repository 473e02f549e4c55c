/* SPDX-License-Identifier: MIT
 *
 * server.c - finds agents' servers among a device's processes.
 *
 * A server has its program's command line, so pidof lists both, in an order that differs between
 * Android versions; only the server's own name differs. A device's shell may not call kcmp() to ask
 * whether two processes share their memory. As in launch/agent_server.c, the command lines and the
 * peak memory are compared instead.
 */
#include "attach/adb/app.h"
#include "base/sanitize.h"
#include "launch/agent_server.h"

#include <stdlib.h>
#include <string.h>

/* "PID NAME" lines: the first one of another name than a server's. 0 = none. */
static int first_program(char *text, char *name, size_t size)
{
	for (char *line; (line = strtok_r(text, "\n", &text));) {
		char *rest;
		long pid = strtol(line, &rest, 10);

		if (pid <= 0 || pid > INT_MAX || *rest != ' ' ||
		    !strcmp(rest + 1, AGENT_SERVER_NAME))
			continue;
		sanitize_clean(name, size, rest + 1);
		return (int)pid;
	}
	return 0;
}

int adb_pidof(const struct adb *a, const char *name, struct err *err)
{
	char *quoted = adb_quote(name), unused[64];
	char *script = xasprintf("for p in $(pidof %s); do read -r n 2>/dev/null </proc/$p/comm && "
				 "echo \"$p $n\"; done; true",
				 quoted);
	struct adb_answer r;

	int rc = adb_shell(a, script, ADB_SLOW_MS, &r, err);
	int pid = rc ? -1 : first_program(r.out, unused, sizeof unused);
	adb_answer_release(&r);
	free(script);
	free(quoted);
	return pid;
}

int adb_refuse_server(const struct adb *a, int pid, struct err *err)
{
	/* thrice: a program that maps memory is another one between two looks */
	char *script = xasprintf(
		"s=/proc/%d; read -r n 2>/dev/null <$s/comm; [ \"$n\" = " AGENT_SERVER_NAME
		" ] || exit 0; for i in 1 2 3; do m=$(grep ^VmPeak: $s/status) || exit 0; for f in "
		"$(grep -lF \"$m\" /proc/[0-9]*/status 2>/dev/null); do d=${f%%/*}; [ $d = $s ] || "
		"{ cmp -s $s/cmdline $d/cmdline && read -r n <$d/comm && echo \"${d#/proc/} $n\"; "
		"}; done; done; true",
		pid);
	struct adb_answer r;
	char what[32], name[64];

	int rc = adb_shell(a, script, ADB_SLOW_MS, &r, err);
	int program = rc ? 0 : first_program(r.out, name, sizeof name);
	adb_answer_release(&r);
	free(script);
	snprintf(what, sizeof what, "%d", pid);
	return rc ? -1 : program ? agent_server_explain(what, program, name, err) : 0;
}
