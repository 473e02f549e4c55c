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
		*mark_every, *mark_on_growth, *mark_on, *until;
	struct words symbol_dirs, suppressions, baselines, limits[CHECK_LIMITS];
	bool ascii, full, last, allow_sampling, no_view, detach, list, start, no_follow, first_only,
		allow_incomplete, allow_crash, progress;
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

struct option_spec {
	char letter; /* 0 = none */
	const char *name;
	const char *value; /* "FILE"; NULL = a flag */
	const char *help;
	size_t field; /* offset in struct args: const char *, bool, or struct words */
	bool list;    /* may be repeated: struct words */
};
/* The row of an option; struct words in `field` says that it may be repeated. */
#define OPTION(letter, name, value, help, field)                                                   \
	{                                                                                          \
		letter, name, value, help, offsetof(struct args, field),                           \
			sizeof(((struct args *)0)->field) == sizeof(struct words)                  \
	}

struct verb {
	const char *name;        /* NULL = the bare live view */
	const char *synopsis[4]; /* lines after "memtop "; ends with NULL */
	const char *summary;
	const char *details;               /* paragraphs of the help page, NULL = none */
	const struct option_spec *options; /* ends with one without name */
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
extern const struct verb *const verbs[]; /* in the order of the help page; ends with NULL */

/* --- cli/base/args.c */

/* 0; 1 after printing --help; -1 and *err (status 2). */
int args_parse(const struct verb *v, int argc, char **argv, struct args *a, struct err *err);
void args_help(const struct verb *v, FILE *out);
void args_option_help(const struct option_spec *o, FILE *out); /* its line of a help page */
/* The one TARGET among -p and the operands; a missing or second one is a usage error. */
int args_target(const struct verb *v, const struct args *a, struct target *t, struct err *err);
/* --max-overhead as a number, 0 when not given; -1 and *err when invalid (status 2). */
int args_max_overhead(const struct args *a, double *percent, struct err *err);
/* --timeout. Without it: OpenJDK's own cleaner thread wakes once a minute, whatever the program
 * does. */
#define TIMEOUT_DEFAULT "65" /* seconds */
#define TIMEOUT_MAX_S 86400
int args_timeout(const struct args *a, int *ms, struct err *err);
void args_symbols(const struct args *a, struct symbol_options *o);
/* "memtop: TEXT" on stderr; the status that the verb returns. */
int args_fail(const struct err *err, int fallback_status);

/* Options that several verbs have. */
#define OPT_PID OPTION('p', "pid", "PID", "the agent of this process", pid)
#define OPT_AGENT                                                                                  \
	OPTION(0, "agent", "FILE",                                                                 \
	       "the agent to load (else MEMTOP_AGENT, beside memtop, lib/memtop)", agent)
#define OPT_AGENT_OPTIONS                                                                          \
	OPTION(0, "options", "TEXT", "options of the agent, as in MEMTOP_OPTIONS", options)
#define OPT_NO_FOLLOW                                                                              \
	OPTION(0, "no-follow", NULL, "do not follow processes that the program starts", no_follow)
#define OPT_LAST OPTION(0, "last", NULL, "the newest session of a live view", last)
#define OPT_SYMBOLS                                                                                \
	OPTION(0, "symbols", "DIR", "also search this folder for unstripped files (repeatable)",   \
	       symbol_dirs)
#define OPT_SYSROOT OPTION(0, "sysroot", "DIR", "folder of the target's / on this machine", sysroot)
#define OPT_THEME OPTION(0, "theme", "NAME", "colours: dark, light, mono, or a .theme file", theme)
#define OPT_ASCII OPTION(0, "ascii", NULL, "draw with plain ASCII only", ascii)
#define OPT_MAX_OVERHEAD                                                                           \
	OPTION(0, "max-overhead", "PCT",                                                           \
	       "limit of the agent's share of the cpu time; above it, offer to sample",            \
	       max_overhead)
#define OPT_SUPPRESS                                                                               \
	OPTION(0, "suppress", "FILE",                                                              \
	       "suppressions: expected call sites (w NAME.supp writes them)", suppress)
#define OPT_DETACH                                                                                 \
	OPTION(0, "detach", NULL, "at the end take out the agent that memtop attach loaded", detach)
#define OPT_BREAK                                                                                  \
	OPTION(0, "break", "METHOD", "a method that the program calls soon: pkg.Class.method",     \
	       break_at)
#define OPT_TIMEOUT                                                                                \
	OPTION(0, "timeout", "SECONDS", "how long to wait for a thread (" TIMEOUT_DEFAULT ")",     \
	       timeout)
#define OPT_PROCESS                                                                                \
	OPTION(0, "process", "PROCESS",                                                            \
	       "process of the session (else the one that allocated most)", process)
#define OPT_FIRST_ONLY                                                                             \
	OPTION(0, "first-only", NULL,                                                              \
	       "end with the program, even if processes that it started run on", first_only)
#define OPT_BETWEEN                                                                                \
	OPTION(0, "between", "A..B", "what changed between two marks, or in the window of a name", \
	       between)

#endif
