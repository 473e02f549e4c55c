/* SPDX-License-Identifier: MIT
 *
 * verbs.h - the command line: one table entry per verb, one struct for all options. Main thread.
 *
 * A verb states its synopsis, its options and its examples as data; parsing, usage errors and the
 * help page come from that data (cli/base/args.c), so that no help text can name a missing option.
 * Exit status of every verb: 0 done, 1 findings, 2 usage, 3 cannot connect or read. Verbs that
 * start a program return its status: 128+N when signal N ended it, 125 when memtop itself failed,
 * 126 when the program cannot be executed or watched, 127 when it is not found.
 */
#ifndef VERBS_H
#define VERBS_H

#include "check/limits.h"
#include "link/watch.h"
#include "screen/warn.h"

#define STATUS_USAGE 2
#define STATUS_UNREACHED 3
#define STATUS_OURS 125 /* memtop itself failed, for verbs that run a program */

/* The values of an option that may be repeated. */
struct words {
	const char *list[32];
	size_t count;
};

/* Every option of every verb; strings are borrowed from argv. */
struct args {
	const char *pid, *output, *agent, *options, *stdin_path, *format, *since, *between,
		*seconds, *theme, *sysroot, *max_overhead, *suppress, *jdwp, *break_at, *timeout,
		*serial, *adb, *activity, *process, *at, *value, *stacks, *tolerance, *session,
		*mark_every, *mark_on_growth, *mark_on, *until, *keep;
	struct words symbol_dirs, suppressions, baselines, limits[CHECK_LIMITS];
	bool ascii, full, last, allow_sampling, no_view, detach, list, start, no_follow, first_only,
		allow_incomplete, allow_crash, no_growing, progress;
	struct expected *rules; /* of --suppress; NULL = none */
	struct err rules_wrong; /* its first invalid line; empty text: none */
	bool program;           /* the operands are a program and its arguments */
	char **operands;        /* argv of the program, or TARGETs; ends with NULL */
	size_t operand_count;
	bool diff;                             /* open: two sessions */
	bool dashes;                           /* "--" was among them */
	size_t dashes_at;                      /* operands before it */
	const char *listen, *token_file, *top; /* serve */
	bool all, allow_control;
};

struct completion;
/* Adds what may stand for the word that is being typed; see cli/base/complete.h. */
typedef void complete_fn(struct completion *c);

/* One row is all there is to write for an option: parsing, --help, the man page (make man) and the
 * shells' completions come from it. */
struct listing;
struct option_spec {
	char letter; /* 0 = none */
	const char *name;
	const char *value;     /* "FILE"; NULL = a flag */
	complete_fn *complete; /* its values; NULL = they cannot be listed */
	size_t field;          /* offset in struct args: const char *, bool, or struct words */
	bool list;             /* may be repeated: struct words */
	const char *help;      /* one line */
	const char *more;      /* sentences that only the man page has, `x` in bold; NULL = none */
};
/* The row of an option; struct words in `field` says that it may be repeated. */
#define OPTION(letter, name, value, complete, field, help, more)                                   \
	{                                                                                          \
		letter, name, value, complete, offsetof(struct args, field),                       \
			sizeof(((struct args *)0)->field) == sizeof(struct words), help, more      \
	}

struct verb {
	const char *name;        /* NULL = the bare live view */
	const char *synopsis[5]; /* lines after "memtop "; ends with NULL */
	const char *summary;
	const char *details;               /* paragraphs of the help page, NULL = none */
	const struct option_spec *options; /* ends with one without name */
	complete_fn *complete;             /* operands; NULL = they cannot be listed */
	enum {
		TAKES_TARGET,
		TAKES_PROGRAM, /* options end at the first operand; the rest belongs to the
				* program */
		TAKES_EITHER,  /* by the first operand's form; "--" says it is a program */
	} takes;
	int (*run)(const struct args *a);
};

extern const struct verb verb_run, verb_live, verb_record, verb_open, verb_report, verb_check,
	verb_mark, verb_list, verb_attach, verb_detach, verb_adb, verb_diff, verb_serve, verb_mcp;

/* cli/base/args.c. */

/* The verb of this name, else the bare live view. verbs ends with NULL and has that view, too. */
const struct verb *args_verb(const struct verb *const *verbs, const char *name);
/* 0; 1 after printing --help; -1 and *err (status 2). */
int args_parse(const struct verb *v, int argc, char **argv, struct args *a, struct err *err);
/*
 * For completion: reads all words but argv[at], which is being typed, and skips those that are
 * wrong. *of: the option whose value argv[at] is; NULL = it is none, and the result says what it
 * is. The caller frees a->operands.
 */
enum typed { TYPED_ANY /* an option or an operand */, TYPED_OPERAND, TYPED_PROGRAM };
enum typed args_typed(const struct verb *v, int argc, char **argv, int at, struct args *a,
		      const struct option_spec **of);
struct listing *args_listing(void); /* of options, for a help page */
void args_option_help(const struct option_spec *o, struct listing *t); /* its row */
/* The one TARGET among -p and the operands; a missing or second one is a usage error. */
int args_target(const struct verb *v, const struct args *a, struct target *t, struct err *err);
/* --max-overhead as a number, 0 when not given, and whether --keep is one; -1 and *err when invalid
 * (status 2). */
int args_of_view(const struct args *a, double *percent, struct err *err);
#define KEEP_MAX 10000
unsigned args_keep(const struct args *a); /* --keep, checked before; SPOOL_KEEP without it */
/* --timeout. Without it: OpenJDK's own cleaner thread wakes once a minute, whatever the program
 * does. */
#define TIMEOUT_DEFAULT "65" /* seconds */
#define TIMEOUT_MAX_S 86400
int args_timeout(const struct args *a, int *ms, struct err *err);
void args_symbols(const struct args *a, struct symbol_options *o);
/* "memtop: TEXT" on stderr; the status that the verb returns. */
int args_fail(const struct err *err, int fallback_status);

#endif
