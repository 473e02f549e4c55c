/* SPDX-License-Identifier: MIT
 *
 * ingest.h - applies frames, from a link or a file, to a model and its symbols. Main thread only.
 *
 * Knows nothing of links, of the kept session, or of viewers. The exit status of memtop's own child
 * is certain and overrides whatever an agent says about it.
 */
#ifndef LINK_INGEST_H
#define LINK_INGEST_H

#include "owners/expected.h"
#include "symbols/symbols.h"

struct ingest {
	/* an observer needs each tick of a file: it is read from its start, without key frames */
	bool each_tick;
	struct model *model;       /* owned */
	struct symbols *symbols;   /* owned */
	struct expected *expected; /* owned; rules of all programs of the session */
	const char *target;        /* as typed, for messages; borrowed */
	/* a session's warning; set before the first frame */
	void (*note)(void *arg, const char *text);
	/* another program follows: the names are cleared now, then the model; NULL = no callback */
	void (*forgets)(void *arg);
	void *arg;
	uint64_t hello_ns;                   /* the agent's clock when it last said HELLO */
	uint64_t file_ns;                    /* ingest_file(): time of the last frame; */
	bool being_written;                  /* it has no end, since its writer still runs */
	uint64_t session_pid, session_start; /* the process that symbols belongs to */
	bool child_ended;
	uint64_t child_pid;   /* 0 = not known */
	uint32_t child_state; /* enum mtw_state */
	int child_status;
};

/* -1 and *err: nothing to release */
int ingest_init(struct ingest *in, struct loop *loop, const char *target,
		const struct symbol_options *o, struct err *err);
void ingest_release(struct ingest *in);
/* 0, or -1 and *err (3): the stream is broken. Advances model_ticks() when something visible
 * changed. */
int ingest_frame(struct ingest *in, uint64_t type, const uint8_t *payload, size_t len,
		 struct err *err);
/* Reads a stream of a session file to its end or its last whole block: 0, and *cut says what is
 * missing (empty = nothing). -1 and *err (3) when it holds no session. */
int ingest_file(struct ingest *in, const char *path, uint32_t stream, struct err *cut,
		struct err *err);
/* Records how memtop's own child ended; pid 0 = the shown process. false: the session belongs to
 * another process and does not record it. */
bool ingest_child_ended(struct ingest *in, uint64_t pid, uint32_t state, int status);

#endif
