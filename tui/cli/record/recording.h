/* SPDX-License-Identifier: MIT
 *
 * recording.h - one recording of `memtop record` or `check`, for cli/record/record.c (starts it and
 * waits), cli/record/file.c (its file), cli/record/marks.c (marks by themselves), cli/record/over.c
 * (when it is over), cli/record/progress.c and cli/record/end.c (its last line). Main thread.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include "cli/base/verbs.h"
#include "base/loop.h"
#include "base/procfs.h"
#include "link/budget.h"
#include "launch/launch.h"
#include "launch/tee.h"
#include "processes/every.h"
#include "processes/processes.h"

#include <limits.h>
#include <regex.h>

#define GREETING_MS 3000 /* an ended program whose agent has not greeted by then never will */

/* Marks that memtop sets by itself, and the line that ends the recording. */
struct record_marks {
	struct every every, growth; /* --mark-every, --mark-on-growth */
	bool begun;                 /* their first link was there */
	uint64_t listens_ns;        /* now_ns() when the recording began */
	bool waits;                 /* matches came too early, and are taken later */
	/* --mark-on, --until; NULL = not given. Compiled ones are freed by record_marks_release()
	 */
	const char *on_text, *until_text;
	regex_t on, until;
	struct tee tee; /* where one of them was given */
	struct loop_source *tee_source;
	char found[MTW_NAME_MAX + 1];  /* what --until found; "" = nothing yet */
	double burst;                  /* marks that --mark-on may set at once */
	unsigned set;                  /* ... has set */
	uint64_t refilled_ns, skipped; /* skipped: matches that got no mark */
	bool skipping_said;
};

/* What progress.c knows. */
struct progress {
	bool wanted;                /* --progress */
	bool drawn;                 /* its line is on the terminal */
	uint64_t looked_ns, due_ns; /* now_ns() of the last look at the heap; of the next */
	uint64_t allocated;         /* bytes, at the last look */
};

struct recording {
	struct loop *loop;
	struct watch *watch;
	struct processes *processes; /* NULL: only the one program or target */
	const char *name;            /* of the program, as typed */
	bool first_only;             /* the recording ends with the program */
	/* for memtop check: stacks also of small processes, no line about what was recorded */
	bool gate;
	bool said_on;                   /* reported that other processes run on */
	struct loop_source *sources[7]; /* as listen_to_signals() and stop_after() add */
	size_t source_count;
	char path[PATH_MAX];
	char aside[PATH_MAX];                     /* where a session at `path` went; "" = none */
	bool path_made_up;                        /* memtop chose it, and must report it */
	bool created;                             /* the file was not there before */
	pid_t pid;                                /* 0 = a TARGET, not a program */
	pid_t watched;                            /* another process, where pid is a launcher */
	bool ended;                               /* the program is a zombie */
	int status;                               /* ... as waitpid() will have it */
	uint64_t ended_ns, link_lost_ns, exec_ns; /* now_ns() of each, 0 = not */
	bool terminal;                            /* memtop has one, which may close */
	uint64_t time_ns;                         /* now_ns() when --for was over; 0 = it is not */
	bool stop;                                /* a signal or --for asked memtop to end */
	bool output_lost;                         /* a part of the program's output */
	bool connected;                           /* ever */
	struct procfs_pace pace;                  /* of an agent that has not greeted */
	struct budget budget;                     /* --max-overhead */
	bool allow_sampling, budget_said;
	struct record_marks marks;
	struct progress progress;
};

/* cli/record/record.c. */

/* Starts a's program and records it into a->output. Returns the program's status, or memtop's own
 * (STATUS_OURS, 126, 127). gate: for `memtop check`. */
int record_program(const struct args *a, bool gate);

/* cli/record/file.c. */

/* The user's, or NAME.TIME.mtop. */
void record_choose_path(struct recording *r, const struct args *a, const char *what);
/* Called before the program starts, so that it never runs without a writable file. */
int record_check_writable(struct recording *r, struct err *err);
/* Removes the file, if the recording made it and nobody else writes to it now. */
void record_remove(const struct recording *r);
/* The start or the connection failed: removes the empty file. */
int record_give_up(const struct recording *r, const struct err *err, int status);

/* cli/record/over.c: no process of the tree can send anything more. */
bool record_over(struct recording *r);
/* The last event was an exec: the new program's agent may still connect. */
bool record_execed(const struct recording *r);

/* cli/record/marks.c. */

/* The options; 0, or -1 and *err (status 2). */
int record_marks_read(struct recording *r, const struct args *a, struct err *err);
/* Puts itself between the program and its output, where an option needs it. 0, or -1 and *err. */
int record_marks_tee(struct recording *r, struct launch_options *launching, struct err *err);
void record_marks_listen(struct recording *r);
void record_marks_go_on(struct recording *r);
/* After each turn of the loop: matches that came before the link was there are taken. */
void record_marks_resume(struct recording *r);
void record_marks_end(struct recording *r);
/* Where the program has ended: waits until all its output has been passed on. That takes as long as
 * its reader likes, so the file is closed before. False: a part is lost. */
bool record_marks_wait(struct recording *r);
void record_marks_release(struct recording *r);

/* cli/record/progress.c: one line on a terminal's stderr, for a TARGET. A program writes to the
 * same terminal, and its lines would mix with it: it gets whole lines, and only with --progress. */
void record_progress(struct recording *r);
void record_progress_clear(struct recording *r); /* before another line, and at the end */

/* cli/record/end.c. */

/* After a final exec: notes that the new program sent no data, unless the reason is known. */
void record_note_exec(struct recording *r);
/* Closes the file; one clear line when it is not whole. 0, or -1 when bytes were lost or none
 * came. */
int record_finish(struct recording *r, const char *what);

#endif
