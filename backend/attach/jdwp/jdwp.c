/* SPDX-License-Identifier: MIT
 *
 * jdwp.c - loads a library into a running Java machine: greets it, stops a thread between two
 * instructions of Java code, calls System.load there, and resumes everything.
 *
 * A thread stopped there holds no lock of malloc or the loader, whatever it holds in Java. The
 * library's JNI_OnLoad runs on it as in the program's own System.load. Only that thread waits.
 *
 * On any failure VM.Dispose withdraws every request and resumes every thread. The machine does the
 * same when the connection ends, so nothing stays behind even if memtop is killed.
 */
#include "attach/jdwp/machine.h"

#include <stdlib.h>
#include <string.h>

#define GREET_MS 10000
#define LEAVE_MS 5000

static int know(struct jdwp_machine *m)
{
	struct jdwp_in in;
	size_t len;

	jdwp_hurry(m, m->request->timeout_ms < GREET_MS ? m->request->timeout_ms : GREET_MS);
	if (jdwp_greet(&m->link))
		return -1;
	jdwp_hurry(m, JDWP_WORK_MS);
	int rc = jdwp_call(&m->link, JDWP_VM_VERSION, NULL, &in);
	if (rc)
		return jdwp_fail_code(m, rc, "tell its version");
	jdwp_get_text(&in, &len); /* a description, */
	jdwp_get(&in, 8);         /* the protocol's version, */
	jdwp_get_text(&in, &len); /* its own */
	const char *name = jdwp_get_text(&in, &len);
	debug_log("jdwp", 1, "%.*s", (int)(len < 200 ? len : 200), name);
	m->android = len == 6 && !memcmp(name, "Dalvik", 6); /* ART still says so */
	return 0;
}

static int load(struct jdwp_machine *m, int64_t *pid)
{
	const struct jdwp_request *q = m->request;
	const char *library = q->library;
	char why[sizeof m->err.text] = "";

	jdwp_hurry(m, JDWP_WORK_MS);
	*pid = jdwp_java_pid(m);
	if (m->link.broken)
		return -1;
	if (q->choose)
		library = q->choose(q->arg, *pid, why, sizeof why);
	if (!library)
		return jdwp_fail(m, JDWP_LEFT, "%s", why);
	jdwp_hurry(m, JDWP_WORK_MS);
	return jdwp_java_load(m, library);
}

static void leave(struct jdwp_machine *m)
{
	jdwp_hurry(m, LEAVE_MS);
	jdwp_go_on(m);
	if (!m->link.broken)
		jdwp_call(&m->link, JDWP_VM_DISPOSE, NULL, NULL);
	jdwp_release(&m->link);
	free(m->wishes);
}

enum jdwp_result jdwp_load(const struct jdwp_request *q, int64_t *pid, char *why, size_t n)
{
	struct jdwp_machine *m = xcalloc(1, sizeof *m);
	int64_t own = 0;

	m->request = q;
	m->link.fd = q->fd;
	m->link.event = jdwp_on_event;
	m->link.arg = m;
	if (know(m) || jdwp_stop(m) || load(m, &own)) {
		if (!m->result) { /* it was the link's */
			m->result = m->link.broken;
			m->err = m->link.err;
		}
	}
	enum jdwp_result result = m->result;
	if (pid)
		*pid = own;
	snprintf(why, n, "%s", result ? m->err.text : "");
	leave(m);
	free(m);
	return result;
}
