/* SPDX-License-Identifier: MIT
 *
 * recorder.h - the session of a live watch as it is written: into the spool, or to record's file. Main
 * thread only.
 *
 * Nothing is open at first; keep_frame() and its like do nothing then. The first failure is kept
 * in `failed` and ends the writing: a full disk must not end the watching.
 *
 * Of a process tree, the first program's keep has the file, and those of the others write streams of their own into it:
 * keep_join(). Whoever joined goes before the one that it joined.
 */
#ifndef KEEP_H
#define KEEP_H

#include "query/expected.h"
#include "session/session.h"
#include "symbols/symbols.h"

struct keep {
	struct session_writer *writer;   /* NULL = nothing is kept */
	char *path;                      /* of it, owned; stays after keep_end() */
	struct err failed;               /* text not empty: something was not written */
	uint64_t base_ns, base_at;       /* file time at our clock's base_at; 0 = no HELLO yet */
	struct keep *of;                 /* borrowed: whose file it is; NULL = its own */
	uint32_t stream;                 /* in that */
};

void keep_join(struct keep *k, struct keep *of, uint32_t stream, const char *target);
const char *keep_path(const struct keep *k);     /* of the file that it writes into; NULL = there is none */
/* Lines of the tree's table. */
void keep_table(struct keep *k, uint64_t time_ns, uint64_t type, const uint8_t *payload, size_t len);

int keep_record(struct keep *k, const char *path, const char *target, struct err *err);
void keep_spool(struct keep *k, const char *program, unsigned pid, const char *target); /* tells by k->failed */
bool keep_open(const struct keep *k);            /* frames go into a file */
void keep_clock(struct keep *k, uint64_t agent_ns); /* the agent's clock, at its first HELLO */
void keep_frame(struct keep *k, uint64_t type, const uint8_t *payload, size_t len);
void keep_symbol(struct keep *k, uint32_t module, uint64_t offset, uint8_t kind, const struct symbol *sym);
void keep_exit(struct keep *k, uint32_t state, int status);
void keep_note(struct keep *k, const char *text); /* a warning for reports */
void keep_rule(struct keep *k, const char *rule, bool on); /* of expected call sites */
void keep_rules(struct keep *k, const struct expected *e); /* all that are there */
void keep_flush(struct keep *k);
/* To path: 0; -1 and *err; 1 when it is there but ends before the session does, *err says why. In a forked child
 * only right after a keep_flush() of its parent: the file behind is one. */
int keep_copy(struct keep *k, const char *path, struct err *err);
/* A session that somebody else kept; with these rules at the end of the stream, NULL: as it is. As keep_copy(): 1 and *err when it is
 * there without the rules, for it is cut or damaged. */
int keep_copy_file(const char *from, const char *to, const struct expected *e, uint32_t stream, struct err *err);
int keep_end(struct keep *k, struct err *err);   /* -1 and *err when anything was not written, now or before */
void keep_release(struct keep *k);

#endif
