/* SPDX-License-Identifier: MIT
 *
 * recorder.h - writes the session of a live watch into the spool or into record's file. Main thread
 * only.
 *
 * Nothing is open at first; recorder_frame() and its like do nothing then. The first failure is
 * kept in `failed` and ends the writing, since a full disk must not end the watching.
 *
 * In a process tree, the first program's keep has the file, and the keeps of the others write their
 * own streams into it: recorder_join(). A keep that joined is freed before the one that it joined.
 */
#ifndef LINK_RECORDER_H
#define LINK_RECORDER_H

#include "owners/expected.h"
#include "session/session.h"
#include "symbols/symbols.h"

struct recorder {
	struct session_writer *writer; /* NULL = nothing is written */
	char *path;                    /* of it, owned; stays after recorder_end() */
	struct err failed;             /* text not empty: something was not written */
	uint64_t base_ns, base_at;     /* file time at memtop's clock base_at; 0 = no HELLO yet */
	struct recorder *of;           /* borrowed: the file's owner; NULL = this one */
	uint32_t stream;               /* stream in that file */
	char **notes;                  /* owned; recorder_note() so far */
	size_t note_count, note_room;
};

void recorder_join(struct recorder *k, struct recorder *of, uint32_t stream, const char *target);
/* path of the file that it writes to; NULL = none */
const char *recorder_path(const struct recorder *k);
/* Lines of the tree's table. */
void recorder_table(struct recorder *k, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		    size_t len);

/* whole: the file is never thinned */
int recorder_record(struct recorder *k, const char *path, bool whole, const char *target,
		    struct err *err);
/* keep: sessions that stay, this one included; tells by k->failed */
void recorder_spool(struct recorder *k, const char *program, unsigned pid, unsigned keep,
		    const char *target);
struct session_writer *recorder_writer(const struct recorder *k); /* NULL = nothing is open */
uint64_t recorder_time(const struct recorder *k);                 /* the file's, now */
bool recorder_open(const struct recorder *k);                     /* frames go into a file */
void recorder_clock(struct recorder *k,
		    uint64_t agent_ns); /* the agent's clock, at its first HELLO */
void recorder_frame(struct recorder *k, uint64_t type, const uint8_t *payload, size_t len);
void recorder_symbol(struct recorder *k, uint32_t module, uint64_t offset, uint8_t kind,
		     const struct symbol *sym);
/* Its payload, valid until the next call; returns the length, 0 = nothing to keep. */
size_t recorder_symbol_frame(uint32_t module, uint64_t offset, uint8_t kind,
			     const struct symbol *sym, uint64_t *type, const uint8_t **payload);
void recorder_exit(struct recorder *k, uint32_t state, int status);
void recorder_note(struct recorder *k, const char *text);          /* a warning for reports */
void recorder_rule(struct recorder *k, const char *rule, bool on); /* of expected call sites */
void recorder_rules(struct recorder *k, const struct expected *e); /* all rules of e */
void recorder_flush(struct recorder *k);
/*
 * Copies the session to path: 0; -1 and *err; 1 when the copy ends before the session does, *err
 * says why. A forked child may call it only right after its parent's recorder_flush(): both share
 * one file.
 */
int recorder_copy(struct recorder *k, const char *path, struct err *err);
/*
 * Copies another process' session file, with these rules at the end of the stream; NULL: no rules.
 * As recorder_copy(): 1 and *err when the copy lacks the rules because the file is cut or damaged.
 */
int recorder_copy_file(const char *from, const char *to, const struct expected *e, uint32_t stream,
		       struct err *err);
/* -1 and *err if any write failed, now or before */
int recorder_end(struct recorder *k, struct err *err);
void recorder_release(struct recorder *k);

#endif
