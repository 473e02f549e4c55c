/* SPDX-License-Identifier: MIT
 *
 * preconditions.h - whether the server writes session files by itself, and the one line that says
 * why it cannot. Server thread, but for the first two.
 */
#ifndef MT_DUMP_PRECONDITIONS_H
#define MT_DUMP_PRECONDITIONS_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;

/* Identity of a file. All 0: none. */
struct file_id {
	uint64_t device, inode;
};

/* Session files written without a viewer. */
struct dumps {
	char folder[256]; /* of the program when the server started, for a relative dump_to= */
	uint32_t number;  /* of the last one */
	uint64_t live;    /* at the last one for growth; before it 0, or what a fork inherited */
	bool begun, rss_over; /* growth was looked at; the last pass was above dump_on_rss= */
	bool asked;           /* the signal came */
	bool busy;            /* one is being written */
	bool late;            /* the program ended meanwhile, and its end asks for one */
	long said;            /* the failure that was reported last */
	void *room;           /* addresses that a dump gets; NULL: given away */
	struct file_id program_stderr; /* what descriptor 2 was at the start */
};

bool dump_wanted(void); /* any of the options is given */
/* Does the target wait at its exit, announced with this status, until the dump is written? */
bool dump_at_status(int status);
void dump_begin(struct server *s); /* before the server leaves its folder */
/* A program that has used up its limit of address space is worth a dump. So as much as one needs is
 * kept, and costs no memory. */
void dump_keep_room(struct server *s);
void dump_use_room(struct server *s);
void dump_say(struct server *s, const char *text); /* to viewers, and to the program's stderr */
/* The server is about to give up the right to open files. */
void dump_sealed(struct server *s, const char *why);

#pragma GCC visibility pop

#endif
