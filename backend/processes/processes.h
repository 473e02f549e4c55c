/* SPDX-License-Identifier: MIT
 *
 * processes.h - the tree of processes started by one `memtop run` or `record`, or around one
 * target: a line for each, and a watch for each that matters. Main thread only.
 *
 * Lines come from the board (memtop/board.h), which every agent of the tree writes. For a target
 * that memtop did not start, they come from those agents of this machine whose processes are
 * relatives of its pid. A process MATTERS when it is the first one, has lived for a second, has
 * held 16 MiB, or has allocated 64 MiB in total: it gets a watch with all figures, which the
 * session's file has, too. So does one that runs when a mark is set. For the others the file has
 * only the line.
 *
 * A watch that processes_watch() returned stays open until processes_free(): a view keeps the
 * queries of each process that it showed. watch_on_change() of every watch belongs to the caller; a
 * timer polls the watches here. When a process executes another program, its watch moves to the new
 * line; the old one (PROCESS_EXECED) then has none.
 */
#ifndef PROCESSES_PROCESSES_H
#define PROCESSES_PROCESSES_H

#include "link/watch.h"

#include <sys/types.h>

struct processes;

enum process_state {
	PROCESS_STARTING, /* exec is under way, or its agent has not answered yet */
	PROCESS_RUNNING,
	PROCESS_EXITED,     /* status */
	PROCESS_SIGNALLED,  /* status: the signal */
	PROCESS_EXECED,     /* another program continues in this process, on its own line */
	PROCESS_GONE,       /* its end was not seen: the figures are its last ones */
	PROCESS_UNFOLLOWED, /* why says the reason; no figures */
};

/* Valid until the next turn of the loop. Ids are never reused; 1 is the first program. */
struct process {
	uint32_t id, parent; /* parent: 0 = the first, or not known */
	int pid;             /* 0 = not known */
	unsigned depth;      /* 0 = the first */
	char name[64];       /* "cc1plus"; of a fork without exec its parent's name */
	const char *path;    /* "" = not known */
	/* its command line, or the title that it has set, as ps shows them; "" = not known */
	const char *title;
	bool forked; /* a fork without exec */
	enum process_state state;
	int status;
	bool status_known;
	bool stopped; /* now, by a signal or a debugger */
	/* one sentence: why figures or the tree are missing; NULL = nothing is */
	const char *why;
	uint64_t begin_ns, end_ns; /* since the first one's start; end 0 = it runs */
	struct tally sum;          /* as MTW_TOTALS; up to a second old while RUNNING */
	uint64_t live_bytes, live_blocks, peak_bytes; /* a peak of 0, of All: not known */
	/* part of live from its fork, also in its parent: sums over the tree omit it */
	uint64_t inherited_bytes, inherited_blocks;
	/* of these, what is live now, if its frames tell; else they only bound it */
	uint64_t inherited_live_bytes, inherited_live_blocks;
	bool inherited_known;
	/* part of sum.alloc_*, likewise: allocated before its fork */
	uint64_t before_blocks, before_bytes;
	double rate;   /* allocated bytes a second: model_rates() */
	double growth; /* live bytes a minute, mean of the last minute or of its life */
	bool rate_known, growth_known; /* else 0 */
	bool exact;                    /* sum is final, or comes from a watch */
	bool matters;
	bool recorded;       /* all its figures are in the session's file */
	struct watch *watch; /* owned by processes; NULL = a line only */
};

/* "nginx: worker process", "cc1plus -quiet a.cc": what tells it from others of its name; its name
 * where no more is known. Returns out. */
char *process_words(const struct process *p, char *out, size_t size);
/* Now, of one that runs on this machine: "do_wait", where the kernel says that it waits; "" = it
 * does not, or nobody can say. */
const char *processes_waits(const struct processes *p, uint32_t id);
/* Of live_*, what it inherited: as it is known now, else as it was at the fork. */
uint64_t process_inherited(const struct process *p);
/* bytes since its start or fork */
uint64_t process_allocated(const struct process *p);
uint64_t process_allocated_blocks(const struct process *p);

/*
 * All processes as one (processes/all.h): processes_find() has its figures, the sums over the tree,
 * and processes_watch() its session. It is in no list, and only in a tree.
 */
#define PROCESS_ALL UINT32_MAX

#define PROCESSES_MATTER_BYTES (16ull << 20)
#define PROCESSES_MATTER_NS 1000000000ull
/* a compiler allocates a third of that for a small file */
#define PROCESSES_MATTER_ALLOC_BYTES (64ull << 20)

struct processes_options {
	uint64_t matter_bytes, matter_ns, matter_alloc_bytes; /* 0 = 16 MiB, 1 s, 64 MiB */
	/* true: memtop starts the program and uses the board. false: finds relatives of its pid */
	bool follow;
	/* as given to launch_program(), to explain why a program has no agent. Borrowed */
	const char *agent;
	/* keep watches of ended processes for views, while there is room */
	bool keep_ended;
	/* for each but the first: its frames go to the first one's file */
	struct watch_options watch;
};

/*
 * Makes the board before the first program starts; launch_program() passes its path on. NULL and
 * *err: memfd failed. The caller opens and closes the first program's watch, and passes it to
 * processes_first(). It must be closed after processes_free(): the others write to its file.
 */
struct processes *processes_new(struct loop *loop, const struct processes_options *o,
				struct err *err);
/* A tree of processes that the caller follows, which have said who they are; it keeps their watches
 * open. For All of them as they are now. */
struct processes *processes_of_watches(struct loop *loop, struct watch *const *list, size_t n,
				       struct err *err);
/* value of MEMTOP_BOARD; "" = there is none */
const char *processes_board(const struct processes *p);
/* The process that memtop started or watches; pid 0 = unknown, or on another machine: then its
 * line is the only one. With a file's watch, lines and watches are those of the file's tree. */
void processes_first(struct processes *p, pid_t pid, struct watch *w);
/* memtop started a static launcher: its line has no watch, and the first process below it that has
 * an agent gets the first's. True: *t leads to it; call processes_first() next. False: none yet. */
void processes_launcher(struct processes *p, pid_t pid, const char *name);
bool processes_launched(struct processes *p, struct target *t);
void processes_first_ended(struct processes *p, int wait_status); /* as waitpid() has it */
void processes_free(struct processes *p); /* closes every watch but the first's */
/* called when lines, figures or watches changed */
void processes_on_change(struct processes *p, void (*fn)(void *arg), void *arg);

/* parents before children, siblings by id */
size_t processes_list(const struct processes *p, const struct process **list);
size_t processes_count(const struct processes *p); /* of lines */
const struct process *processes_find(const struct processes *p, uint32_t id);
/*
 * Opens the watch of a process, if it has none; NULL and *err says why there is none. A returned
 * watch stays open until processes_free(): call this for each shown process, even when its line has
 * a watch.
 */
struct watch *processes_watch(struct processes *p, uint32_t id, struct err *err);
/*
 * Sums over the tree: each inherited block counts once. running: how many run; lines: how many
 * there were in total. Live covers the running ones; when none runs, what all held at their ends. A
 * fork that frees may free its parent's blocks or its own: its own live amount then lies between
 * two bounds, unless its frames tell. Memory that several inherited counts for the oldest one that
 * runs and has it.
 */
struct live_range {
	uint64_t least, most;
};
struct processes_sum {
	size_t running, lines, unfollowed;
	struct live_range bytes, blocks;
	struct tally sum;
};
void processes_total(const struct processes *p, struct processes_sum *sum);
/* now, as begin_ns counts; of a file: its end */
uint64_t processes_time_ns(const struct processes *p);
/* processes that found no room on the board */
uint64_t processes_missed(const struct processes *p);
/* Of PROCESS_ALL's session: which processes hold live blocks of these slots; heaviest first. The
 * caller frees *list. */
struct process_held {
	uint32_t id; /* 0: those without call paths together */
	uint64_t blocks, bytes;
};
size_t processes_holding(const struct processes *p, const uint32_t *slots, size_t count,
			 struct process_held **list);
/*
 * Of PROCESS_ALL's session: how many processes hold live blocks of each row. A row is some ranges
 * of stacks, in the order of the session's call tree s; its parts follow each other. holders:
 * [rows].
 */
struct process_part {
	uint32_t row, first, end; /* the stacks first .. end - 1 */
};
struct skeleton;
void processes_holders(const struct processes *p, struct skeleton *s,
		       const struct process_part *parts, size_t count, size_t *holders,
		       size_t rows);
/*
 * Does this process only start others: do these run, with a session, and hold most, or has it ended
 * before them? All is then what a view begins with. Of a file: processes_begin_with_all() says it
 * of the program that was started, by what each held at most; of a single other one, a view begins
 * with that.
 */
bool processes_only_starts(const struct processes *p, uint32_t id);
bool processes_begin_with_all(const struct processes *p);
/* Another process that grows faster than this one, for line 2; NULL = none. */
const struct process *processes_grows_more(const struct processes *p, uint32_t id);
/* now, as begin_ns counts; of a file: where it ends */
uint64_t processes_time_ns(const struct processes *p);
/*
 * For a session file, before its watch is opened. processes_read() reads the lines of its table;
 * false: it has none, for it has one process. Next: a process by name or pid (among several, the
 * one with figures that allocated most; NULL and *err). Next: the one to begin with, which has all
 * figures and allocated most (NULL = none; a daemon also counts its starter's amounts, and the
 * starter is the last choice). Next: *t leads to a process' frames; -1 and *err: only totals exist.
 * Last: *t leads to the process of that word; NULL: to the one to begin with, of those that the
 * file has frames of. processes_note(): the process that this one stands for; NULL = none.
 */
bool processes_read(struct processes *p, const char *path);
const struct process *processes_named(const struct processes *p, const char *word, struct err *err);
const struct process *processes_heaviest(const struct processes *p);
int processes_target(const struct processes *p, uint32_t id, struct target *t, struct err *err);
int processes_choose(struct processes *p, const char *word, struct target *t, struct err *err);
const char *processes_note(const struct processes *p);
/* The rule for processes that matter, in a report's words: "lived 1 s, held 16.0M or allocated
 * 64.0M". */
void processes_rule(const struct processes *p, char *text, size_t size);
/* Ends a recording: a last look at the board, all names of all watches, the whole table. Call it
 * before watch_end_record() of the first. -1 and *err: a write failed. */
int processes_end(struct processes *p, struct err *err);
size_t processes_running(const struct processes *p); /* running processes with an agent */
bool processes_pending(const struct processes *p);   /* an ended process is still sending its end */
/* Does a process have the board but no line yet, such as a child forked right before its parent
 * ended that has not run since? Looks at every process younger than the first. */
bool processes_unborn(const struct processes *p);
/* Sets a mark in every running process; returns how many have it, or will when their link is up.
 * The session names those that never get it. */
size_t processes_mark(struct processes *p, const char *name);
/* Renames the mark in every process that has it; to NULL: drops it. Returns how many. */
size_t processes_change_mark(struct processes *p, const char *name, const char *to);
/* Sets an agent's option in every process with a link; returns how many. */
size_t processes_set_option(struct processes *p, const char *name, const char *value);

#endif
