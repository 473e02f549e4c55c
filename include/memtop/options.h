/* SPDX-License-Identifier: MIT
 *
 * options.h - MEMTOP_OPTIONS: the agent's options, their values, and how they are written. Options
 * are separated by spaces or commas. Double quotes group, a backslash quotes the next character.
 *
 * This table is the only list of them: the agent parses by it, memtop checks by it what the user
 * wrote before it starts a program, and the view's :set offers what may change while a program
 * runs. An agent's file names its version and its options in a note, so that memtop knows those of
 * an agent of another version:
 *
 *     owner "memtop", type MTW_NOTE_AGENT, text "VERSION PROTOCOL-MIN PROTOCOL OPTION OPTION ..."
 *
 * What memtop itself tells an agent comes in a variable of its own, MEMTOP_START, whose options an
 * agent skips when it does not know them. The older agents do not know the variable.
 */
#ifndef MEMTOP_OPTIONS_H
#define MEMTOP_OPTIONS_H

#include "amount.h"
#include "regex.h"

#include <stddef.h>

#define MTW_START_VARIABLE "MEMTOP_START"

#define MTW_NOTE_OWNER "memtop"
#define MTW_NOTE_LINKED 1 /* a program with the agent inside; no text */
#define MTW_NOTE_AGENT 2
#define MTW_NOTE_MAX 4096 /* bytes of all notes that are looked at */

#define MTW_OPTION_WORD_MAX 512
#define MTW_DEPTH_MAX 4096

/* X(signal): those by which a program may be asked for something */
/* clang-format off */
#define MTW_SIGNALS(X) \
	X(SIGUSR1) X(SIGUSR2) X(SIGHUP) X(SIGQUIT) X(SIGURG) \
	X(SIGIO) X(SIGPROF) X(SIGPWR) X(SIGWINCH)
/* clang-format on */
#define MTW_SIGNAL_WORD(signal) #signal " "
#define MTW_OPTION_SIGNALS MTW_SIGNALS(MTW_SIGNAL_WORD)

enum mtw_option_kind {
	MTW_TEXT,
	MTW_BYTES,
	MTW_MILLISECONDS,
	MTW_DEPTH,
	MTW_SWITCH,
	MTW_NUMBER,
	MTW_PATTERN
};

struct mtw_option {
	const char *name;
	enum mtw_option_kind kind;
	uint64_t low, high; /* TEXT, PATTERN: bytes, the last one for the NUL */
	bool run_time;      /* may be changed by a viewer */
	const char *choice; /* TEXT: the words allowed; SWITCH: the word that means true */
};

/* X(name, the agent's member, kind, low, high, run_time, choice) */
/* clang-format off */
#define MTW_OPTIONS(X) \
	X(listen, listen, MTW_TEXT, 1, 256, false, NULL) \
	X(unwind, unwind, MTW_TEXT, 1, 16, false, "auto cfi fp ehabi instrument libunwind caller") \
	X(depth, xdepth, MTW_DEPTH, 1, MTW_DEPTH_MAX, true, NULL) \
	X(merge, merge, MTW_NUMBER, 0, MTW_DEPTH_MAX, true, NULL) \
	X(min_size, min_size, MTW_BYTES, 0, (uint64_t)1 << 47, true, NULL) \
	X(max_size, max_size, MTW_BYTES, 0, (uint64_t)1 << 47, true, NULL) \
	X(sample, sample, MTW_BYTES, 0, (uint64_t)1 << 40, true, NULL) \
	X(libs, libs, MTW_PATTERN, 0, 256, true, NULL) \
	X(exclude, exclude, MTW_PATTERN, 0, 256, true, NULL) \
	X(max_memory, max_memory, MTW_BYTES, 1u << 20, UINT64_MAX, false, NULL) \
	X(mark_memory, mark_memory, MTW_BYTES, 0, UINT64_MAX, false, NULL) \
	X(tick_ms, tick_ns, MTW_MILLISECONDS, 10, 60000, false, NULL) \
	X(wait, wait_ns, MTW_MILLISECONDS, 0, 600000, false, NULL) \
	X(wait_for, wait_for, MTW_NUMBER, 0, INT32_MAX, false, NULL) \
	X(follow, follow_exec, MTW_SWITCH, 0, 0, false, "exec") \
	X(follow_static, follow_static, MTW_SWITCH, 0, 0, false, "yes") \
	X(fold_recursion, fold_recursion, MTW_SWITCH, 0, 0, false, "on") \
	X(token_file, token_file, MTW_TEXT, 1, 256, false, NULL) \
	X(window_signal, window_signal, MTW_TEXT, 1, 12, false, MTW_OPTION_SIGNALS) \
	X(dump_signal, dump_signal, MTW_TEXT, 1, 12, false, MTW_OPTION_SIGNALS) \
	X(dump_at_exit, dump_at_exit, MTW_SWITCH, 0, 0, false, "yes") \
	X(dump_on_fail, dump_on_fail, MTW_SWITCH, 0, 0, false, "yes") \
	X(dump_on_growth, dump_on_growth, MTW_BYTES, 0, (uint64_t)1 << 47, false, NULL) \
	X(dump_on_rss, dump_on_rss, MTW_BYTES, 0, (uint64_t)1 << 47, false, NULL) \
	X(dump_to, dump_to, MTW_TEXT, 1, 256, false, NULL)
/* clang-format on */

/* Is the word in the list? */
static inline bool mtw_option_among(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at;) {
		size_t n = strcspn(at, " ");
		if (n == len && !memcmp(at, word, n))
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

/* One word of *text, unquoted, into buf. 1 = there is one, 0 = end, -1 = malformed. */
static inline int mtw_option_word(const char **text, char *buf, size_t size)
{
	const char *at = *text;
	size_t n = 0;
	bool quoted = false;

	at += strspn(at, " ,\t\n");
	if (!*at)
		return 0;
	for (; *at && (quoted || !strchr(" ,\t\n", *at)); at++) {
		if (*at == '"') {
			quoted = !quoted;
			continue;
		}
		if (*at == '\\' && !*++at)
			return -1;
		if (n + 1 >= size)
			return -1;
		buf[n++] = *at;
	}
	buf[n] = '\0';
	*text = at;
	return quoted ? -1 : 1;
}

/* NULL, or what is wrong with the value, as the end of a sentence about it. *number: of a kind that
 * has one. room: for an expression. */
static inline const char *mtw_option_wrong(const struct mtw_option *o, const char *value,
					   uint64_t *number, struct regex *room)
{
	size_t len = strlen(value);

	switch (o->kind) {
	case MTW_TEXT:
	case MTW_PATTERN:
		if (len < o->low)
			return "is empty";
		if (len >= o->high)
			return "is too long";
		if (o->choice && !mtw_option_among(o->choice, value))
			return "is none of its values";
		return o->kind == MTW_PATTERN ? mtw_regex_compile(room, value) : NULL;
	case MTW_SWITCH: return strcmp(value, o->choice) ? "is none of its values" : NULL;
	default:
		if (!mtw_amount(value, o->kind == MTW_BYTES ? MTW_AMOUNT_BYTES : MTW_AMOUNT_COUNT,
				number))
			return "is not a number";
		return *number < o->low || *number > o->high ? "is out of range" : NULL;
	}
}

#endif
