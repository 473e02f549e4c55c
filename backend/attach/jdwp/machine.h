/* SPDX-License-Identifier: MIT
 *
 * machine.h - the machine that a library is loaded into, shared by the parts of jdwp_load():
 * attach/jdwp/jdwp.c (the sequence), attach/jdwp/stop.c (stops a thread), attach/jdwp/java.c (calls
 * Java methods on that thread). Main thread only.
 */
#ifndef ATTACH_JDWP_MACHINE_H
#define ATTACH_JDWP_MACHINE_H

#include "attach/jdwp/packets.h"

struct jdwp_wish { /* an event request that memtop made */
	uint8_t kind;
	uint32_t id;
};

struct jdwp_machine {
	struct jdwp_link link;
	const struct jdwp_request *request;
	bool android;
	struct jdwp_wish *wishes; /* owned */
	size_t wish_count, wish_room;
	/* stopped: a thread, by a wish; suspended: all, by something else (suspend=y) */
	bool stopped, suspended;
	bool woken;                  /* one of both: ends jdwp_listen() */
	bool unseen;                 /* a breakpoint has a native overload beside it */
	uint64_t thread, stopped_ns; /* stopped: it; since now_ns() */
	/* other stopped threads; any further ones are resumed at the end */
	uint64_t others[64];
	size_t other_count;
	enum jdwp_result result; /* of the first failure; the link's own are in link.broken */
	struct err err;
};

/* Notes the first failure; returns -1. */
int jdwp_fail(struct jdwp_machine *m, enum jdwp_result result, const char *format, ...)
	PRINTF(3, 4);
/* Forgets the failure: another way may work, or it does not matter. */
static inline void jdwp_forgive(struct jdwp_machine *m)
{
	m->result = JDWP_LOADED;
}

/* As jdwp_fail() for a reply's error code; doing: an infinitive. code -1: the link has noted the
 * failure. */
int jdwp_fail_code(struct jdwp_machine *m, int code, const char *doing);
/* Sets the deadline of the next steps, generous enough for a busy machine. */
void jdwp_hurry(struct jdwp_machine *m, int ms);

/* attach/jdwp/stop.c. 0, or -1 and the failure noted. */

/* Requests a thread, and waits until one is stopped: m->thread, which no other wish touches. */
int jdwp_stop(struct jdwp_machine *m);
/* For m->link.event, from the handshake on: a suspended machine reports it once. arg: m. */
void jdwp_on_event(void *arg, struct jdwp_in *in);
/* Resumes everything. Each part may fail: VM.Dispose undoes the rest. */
void jdwp_go_on(struct jdwp_machine *m);

/* attach/jdwp/java.c. */

struct jdwp_method {
	uint64_t id;
	unsigned bits; /* access flags of the class file */
};
#define JDWP_METHOD_NATIVE 0x100u
#define JDWP_METHOD_ABSTRACT 0x400u

/* Types that have this signature ("Ljava/io/File;"), one for each class loader, at most max. Their
 * number, or -1. */
int jdwp_types(struct jdwp_machine *m, const char *signature, uint64_t *types, int max);
/* Methods that the type itself declares, at most max. signature NULL: any. Their number, or -1. */
int jdwp_methods(struct jdwp_machine *m, uint64_t type, const char *name, const char *signature,
		 struct jdwp_method *methods, int max);
/* System.load(path) on the stopped thread. */
int jdwp_java_load(struct jdwp_machine *m, const char *path);
/* The machine's pid by /proc/self; 0 = unknown. */
int64_t jdwp_java_pid(struct jdwp_machine *m);

#endif
