/* SPDX-License-Identifier: MIT
 *
 * debuginfod.h - loads debug files from DEBUGINFOD_URLS' servers in the background. Main thread
 * only.
 *
 * Each file is requested once per session, whatever the result. A download is a separate process:
 * it blocks nothing, and ending it waits for no server.
 */
#ifndef SYMBOLS_DEBUGINFOD_H
#define SYMBOLS_DEBUGINFOD_H

#include "base/base.h"

enum debuginfod_state {
	DEBUGINFOD_WAITS, /* for another download to end */
	DEBUGINFOD_ASKED,
	DEBUGINFOD_LOADING,
	DEBUGINFOD_GOT,
	DEBUGINFOD_ABSENT, /* no server has it */
	DEBUGINFOD_FAILED,
};

struct debuginfod_file {
	char *name;  /* of the module, for people */
	void *owner; /* the caller's */
	enum debuginfod_state state;
	uint64_t bytes, whole; /* loaded, and in total; whole 0 = unknown */
	char *path;            /* DEBUGINFOD_GOT: where it lies */
	char *why;             /* DEBUGINFOD_FAILED */
};

struct debuginfod;
struct loop;
bool debuginfod_has_servers(void);
/* ended: called for each file that reached a final state. loop NULL: only in debuginfod_wait(). */
struct debuginfod *debuginfod_new(struct loop *loop,
				  void (*ended)(void *arg, const struct debuginfod_file *f),
				  void *arg);
void debuginfod_free(struct debuginfod *d); /* NULL is fine; ends running downloads */
/* Copies name and id. */
void debuginfod_ask(struct debuginfod *d, const char *name, const uint8_t *id, size_t id_len,
		    void *owner);
/* Blocks until all have ended. A download without progress for ten seconds is given up. */
void debuginfod_wait(struct debuginfod *d);
size_t debuginfod_count(const struct debuginfod *d);
/* valid until the next ask */
const struct debuginfod_file *debuginfod_at(const struct debuginfod *d, size_t i);

#endif
