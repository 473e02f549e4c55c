/* SPDX-License-Identifier: MIT
 *
 * test_check.c - the obstacles to an attach, from made-up facts: those that some machines cannot
 * produce (kernel.yama.ptrace_scope) as well as those that test_attach.py produces.
 */
#include "attach/attach.h"
#include "check.h"

/* A process of ours that nothing stands in the way of. */
static struct attach_facts plain(void)
{
	return (struct attach_facts){ .pid = 4121,
				      .self = 99,
				      .group = 4121,
				      .parent = 1,
				      .inner = 4121,
				      .name = "server",
				      .parent_name = "init",
				      .state = 'S',
				      .dumpable = true,
				      .uid = 1000,
				      .own_uid = 1000 };
}

#define REFUSED(f, words)                                                                          \
	do {                                                                                       \
		struct err err = { 0 };                                                            \
		CHECK(attach_judge(&(f), &err) == -1);                                             \
		CHECK(err.status == 3);                                                            \
		if (!strstr(err.text, words) || !strstr(err.text, "; ") ||                         \
		    !strstr(err.text, ": "))                                                       \
			printf("  said: %s\n", err.text);                                          \
		CHECK(strstr(err.text, words) && strstr(err.text, "; ") &&                         \
		      strstr(err.text, ": "));                                                     \
	} while (0)

#define ALLOWED(f) CHECK(attach_judge(&(f), NULL) == 0)

TEST(nothing_in_the_way)
{
	struct attach_facts f = plain();

	ALLOWED(f);
	for (const char *s = "RSDI"; *s; s++) {
		f.state = *s;
		ALLOWED(f);
	}
}

TEST(ptrace_scope_refuses_with_a_way_out)
{
	struct attach_facts f = plain();

	f.ptrace_scope = 1;
	REFUSED(f, "kernel.yama.ptrace_scope is 1: only root and its parents may trace it; sudo "
		   "memtop attach 4121, or sudo sysctl kernel.yama.ptrace_scope=0");
	f.ptrace_scope = 2;
	REFUSED(f,
		"kernel.yama.ptrace_scope is 2: only root may trace it; sudo memtop attach 4121");
	f.capable = true;
	ALLOWED(f);
	f.ptrace_scope = 3;
	REFUSED(f, "ptrace_scope is 3: nobody may trace until the next boot");
}

TEST(what_needs_rights_is_refused_without_them)
{
	struct attach_facts f = plain();

	f.other_user = true;
	f.uid = 1001;
	REFUSED(f, "belongs to user 1001, you are user 1000");
	f.own_uid = 0;
	REFUSED(f, "this root lacks CAP_SYS_PTRACE");
	f.capable = true;
	ALLOWED(f);
	f = plain();
	f.dumpable = false;
	REFUSED(f, "setuid or with file capabilities");
	f.capable = true;
	ALLOWED(f);
	f = plain();
	f.more_capable = true;
	REFUSED(f, "has capabilities that you lack");
	f.allowed = true; /* of a user namespace that is memtop's user's */
	ALLOWED(f);
}

TEST(what_it_is)
{
	struct attach_facts f = plain();

	f.self = f.pid;
	REFUSED(f, "this is memtop itself");
	f = plain();
	f.gone = true;
	REFUSED(f, "no such process");
	f = plain();
	f.group = 4000;
	REFUSED(f, "memtop attach 4000");
	f = plain();
	f.kernel = true;
	REFUSED(f, "a thread of the kernel");
	f = plain();
	f.state = 'Z';
	REFUSED(f, "its parent 1 (init)");
	f.state = 'T';
	REFUSED(f, "kill -CONT 4121");
	f = plain();
	f.tracer = 7;
	snprintf(f.tracer_name, sizeof f.tracer_name, "strace");
	REFUSED(f, "already traced by 7 (strace)");
	snprintf(f.tracer_name, sizeof f.tracer_name, "memtop-attach");
	REFUSED(f, "another memtop attaches to it (process 7)");
	f = plain();
	f.ending = true;
	REFUSED(f, "is ending; start it again");
	f = plain();
	f.seccomp = 1;
	REFUSED(f, "seccomp's strict mode");
	f.seccomp = 2; /* the filters themselves are asked later */
	ALLOWED(f);
	f = plain();
	f.shadow_stack = true;
	REFUSED(f, "runs with a shadow stack");
	f = plain();
	f.uid_unmapped = true;
	REFUSED(f, "its user namespace maps no number to its own user 1000");
}

/* What no permission mends is said before what one does. */
TEST(what_cannot_be_mended_is_said_first)
{
	struct attach_facts f = plain();

	f.other_user = true;
	f.kernel = true;
	REFUSED(f, "a thread of the kernel");
	f.kernel = false;
	f.state = 'Z';
	REFUSED(f, "a zombie");
	f.state = 'T';
	REFUSED(f, "belongs to user");
}

TEST(the_facts_of_this_process)
{
	struct attach_facts f;

	attach_facts(getpid(), &f);
	CHECK(!f.gone && f.pid == f.self && f.group == f.pid && f.parent == getppid() &&
	      !f.kernel && f.state == 'R');
	CHECK(!f.other_user && !f.uid_unmapped && !f.other_network && !f.more_capable &&
	      f.dumpable && f.inner == f.pid && !f.shadow_stack);
	CHECK(!strcmp(f.name, "test_check"));
	attach_facts(0x7ffffff0, &f);
	CHECK(f.gone);
}
