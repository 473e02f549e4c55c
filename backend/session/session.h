/* SPDX-License-Identifier: MIT
 *
 * session.h - the session file (.mtop): frames of the wire in time-stamped, compressed blocks.
 *
 *   file   = "MEMTOPS\n" | u16 LE format version (1; 2 with more than one stream) | u16 LE 0
 *            | u32 LE 0 | block ... | index | trailer
 *   block  = "BLK1" | u32 LE compressed bytes | u32 LE raw bytes | u64 LE first ns | u64 LE last ns
 *            | u32 LE flags (0) | zstd frame with content checksum
 *          | "BLK2" | the same, with u32 LE stream for the flags
 *            | u32 LE crc32c of the 32 bytes before | zstd frame
 *   raw    = frames of wire.h in the order they came, MTW_S_* among them
 *   index  = "IDX1" | u32 LE bytes | n x { u64 LE offset, u64 LE first ns, u64 LE last ns }
 *            | u32 LE crc32c of those
 *          | "IDX2" | the same, with n x { offset, first ns, last ns, u64 LE stream }
 *   trailer= u64 LE offset of index | "MEMTOPE\n"
 *   key    = one or more "BLK2" of the stream 0x80000000 + its stream, the last one of the stream
 *            0xc0000000 + its stream; u64 LE resume offset and u64 LE ticks for their two times, in
 *            the index, too
 *
 * A stream holds one process' frames, on its own clock: stream 0 those of the first program,
 * SESSION_TABLE the lines of all processes of a tree. A BLK1 belongs to stream 0. A file without
 * other streams and key frames has version 1, so that every memtop reads it; only the two bytes of
 * the version ever change in place.
 *
 * A key frame is the whole state at an instant, as frames: first those of a first state, with the
 * names, rules and warnings so far, then MTW_S_INSTANTS to MTW_S_WINDOW, and MTW_S_KEY at its end.
 * A reader with an empty model applies them and goes on at the resume offset: it has what a reader
 * of all blocks before that has. `ticks` counts the ticks read by then, of the program that its
 * HELLO names. One is written after 1 MiB of its stream's blocks, or after four times the size of
 * the one before if that is more: where the state has stopped growing they add a quarter. The last
 * one comes when the session ends, after 128 KiB or the size of the one before. Reading needs none:
 * a reader that knows none, or finds a damaged one, reads the stream from its start. Without an
 * index (killed, being written) the heads of the blocks tell where they are.
 *
 * History thins out with age. A session of 8 MiB or more is written again with fewer ticks,
 * whenever a third of it is ticks that are too dense for their age: a byte of them is written some
 * three times more, and a session of names and call paths (a build) never again. Of the ticks of an
 * age one stays in the time that base/ages.h says; what comes after a thinning is denser until the
 * next. Also stay: the first complete tick and the last, those of an incomplete state, the last one
 * up to each mark and to the peak, and that of each key frame. Counters are cumulative, so a tick
 * that stays has those of the ticks before it, and the samples and the peak that came with them are
 * merged as a reader merges them; MTW_S_OMITTED says how many these are, so that ticks are counted
 * as before. All other frames stay, unless a later one before the same tick says all that they do:
 * figures of the process, a thread, a loss, a scan (but resident memory around a mark stays). Key
 * frames are copied, with the instants that are left; the newest stays, and of the others those
 * that new ones would be.
 *
 * The new file is made beside the old one, as FILE.thin, and renamed over it: a kill at any moment
 * leaves one of the two whole, and a full disk the old one. Readers of the old one keep it. Not
 * thinned is a file that has another name, owner or link, or was moved.
 *
 * Append-only else; blocks are closed at least every second (the writer's owner calls
 * session_flush() when nothing arrives), and in a stream's first seconds with a whole state. A file
 * cut at any byte reads to its last whole block. Later versions add frame types only. These
 * functions insert and remove MTW_S_TIME: a block begins with one.
 *
 * After a failed write the file takes nothing more: whole blocks stay, half a block is cut off, and
 * every later call returns the same sentence, which says how much was saved.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "base/base.h"

#include <stdatomic.h>

struct session_writer;
struct session_reader;

#define SESSION_ALL (UINT32_MAX - 1) /* for a reader: every stream, block by block */
#define SESSION_TABLE UINT32_MAX     /* the stream of MTW_S_TREE and MTW_S_PROCESS */
#define SESSION_THIN ".thin"         /* behind the name of a file: the one that replaces it */

#define SESSION_BUSY "%s: another memtop is writing to it; choose another place"
/* mode 0600; max 0 = unbounded. Refuses a file that another one writes */
struct session_writer *session_create(const char *path, uint64_t max_bytes, struct err *err);
/* time_ns: never below that of the stream's previous frame. */
int session_frame(struct session_writer *w, uint32_t stream, uint64_t time_ns, uint64_t type,
		  const uint8_t *payload, size_t len, struct err *err);
int session_flush(struct session_writer *w, struct err *err); /* close the block of each stream */
/* ends a stream for now and frees its memory */
int session_end(struct session_writer *w, uint32_t stream, struct err *err);
int session_close(struct session_writer *w, struct err *err); /* index and trailer; frees */
struct session_key {                                          /* of a stream */
	uint64_t offset, resume, ticks;
};
/* Key frames. Is one worth its bytes now? ends: the stream ends. */
bool session_key_due(const struct session_writer *w, uint32_t stream, bool ends);
/* Closes the stream's block: the next one will be at this offset or behind it. 0: it failed. */
uint64_t session_key_resume(struct session_writer *w, uint32_t stream);
void session_key_over(struct session_writer *w); /* after each resume: put, or given up */
/* appends what session_key_end() made */
int session_put_key(struct session_writer *w, uint32_t stream, const uint8_t *blocks, size_t len,
		    struct err *err);
uint64_t session_written(const struct session_writer *w); /* bytes safely in the file */
int session_why(const struct session_writer *w);          /* errno of a failed write, or 0 */
/* The ticks of a stream. */
struct session_ticks {
	uint32_t stream;
	uint64_t last_ns; /* the last one, by the file's time */
	/* raw bytes of their frames since then: they are not thinned yet */
	uint64_t dense_bytes, dense_from_ns;
	uint64_t *pins; /* times of the program whose instant stays: peaks and marks; in no order */
	size_t pin_count, pin_room;
	struct session_key *keys; /* in the file's order */
	size_t key_count, key_room;
	uint64_t *kept; /* the result: ticks of its last program that are left */
	size_t kept_count, kept_room;
};
/* The nth number of a payload, from 0 on; 0: it has no such. */
uint64_t session_number(const uint8_t *payload, size_t len, unsigned nth);
struct session_thinning {
	const char *from; /* the file, and so many bytes of it */
	uint64_t bytes;
	struct session_writer *to;
	struct session_ticks *streams; /* of all streams in the file */
	size_t count;
	_Atomic bool stop; /* the result is not wanted any more */
};
/* In a thread of its own, which has all that job names. 0 or an errno. */
typedef int session_rewrite(struct session_thinning *job);
/* Thinning, each second: starts one when the file has grown enough, or takes its result. -1 and
 * *err, once: it is impossible, and the file stays as it is. */
int session_thin(struct session_writer *w, session_rewrite *rewrite, struct err *err);
bool session_thins(const struct session_writer *w); /* one is under way */
void session_keep_whole(struct session_writer *w);  /* it is never thinned */
/* Its frames are written as they come: a killed writer loses a second at most. */
void session_is_live(struct session_writer *w);
void session_thin_stop(struct session_writer *w); /* before the writer ends */
/* If the file was thinned since *times, and the stream has ticks: their count, and which of them
 * are still there, up to the last that was read then. */
size_t session_thinned(const struct session_writer *w, uint32_t stream, unsigned *times,
		       const uint64_t **ticks);
/* Writes the session so far as a separate whole file (index, trailer) at `path`; the writer
 * continues. */
int session_copy(struct session_writer *w, const char *path, struct err *err);

bool session_file(const char *path); /* does the file begin like one? Reads no more */
bool session_busy(const char *path); /* does somebody write to it? */
/* Marks a file as viewed while the descriptor is open; -1: it cannot be. Neither disturbs writers.
 */
int session_view(const char *path);
bool session_viewed(const char *path);
/* one of its streams */
struct session_reader *session_open(const char *path, uint32_t stream, struct err *err);
/* All whole ones, in the file's order. */
size_t session_keys(struct session_reader *r, const struct session_key **list);
/* The writer of the file knows them. */
void session_learn_keys(struct session_reader *r, const struct session_writer *w);
/* Before the first session_next(): that begins with the frames of this one. false: it is damaged,
 * and reading begins at the file's start. */
bool session_start_at(struct session_reader *r, const struct session_key *key);
/* The same with the last key frame of at most so many ticks that is whole. A stop (NULL: none) from
 * another thread ends it early, as if there was none. */
bool session_start_near(struct session_reader *r, uint64_t ticks, const atomic_bool *stop);
void session_rewind(struct session_reader *r); /* to the file's start */
/* Next frame: 1; 0 at the end; -1 damaged from here on (err names the byte; earlier frames are
 * good). */
int session_next(struct session_reader *r, uint64_t *time_ns, uint64_t *type,
		 const uint8_t **payload, size_t *len, struct err *err);
bool session_replaced(const struct session_reader *r, const char *path); /* by another file */
void session_limit(struct session_reader *r, uint64_t bytes);            /* the file ends there */
uint64_t session_block(const struct session_reader *r); /* offset of the last frame's block */
/* Time of the last frame of all processes, by the heads of the blocks. */
uint64_t session_length(const struct session_reader *r);
bool session_cut(const struct session_reader *r); /* no trailer: cut, or being written: */
/* a writer had it open when it was opened here */
bool session_being_written(const struct session_reader *r);
uint32_t session_stream(const struct session_reader *r); /* of the last frame */
/* the file grew past its old end: session_next() continues */
bool session_more(struct session_reader *r);
void session_reader_free(struct session_reader *r);

#endif
