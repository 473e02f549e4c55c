/* SPDX-License-Identifier: MIT
 *
 * options.h - the rows of options that several verbs have. A row that stands in one verb alone is
 * in that verb's file.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "cli/base/complete.h"

#define OPT_PID                                                                                    \
	OPTION('p', "pid", "PID", complete_agent_pid, pid, "the agent of this process", NULL)
#define OPT_AGENT                                                                                  \
	OPTION(0, "agent", "FILE", complete_file, agent,                                           \
	       "the agent to load (else MEMTOP_AGENT, beside memtop, lib/memtop)", NULL)
#define OPT_AGENT_OPTIONS                                                                          \
	OPTION(0, "options", "TEXT", NULL, options, "options of the agent, as in MEMTOP_OPTIONS",  \
	       "`memtop-agent`(7) lists them. For adb: on a rooted device, or with --start.")
#define OPT_NO_FOLLOW                                                                              \
	OPTION(0, "no-follow", NULL, NULL, no_follow,                                              \
	       "do not follow processes that the program starts",                                  \
	       "They get no agent, and the session has one process.")
#define OPT_LAST                                                                                   \
	OPTION(0, "last", NULL, NULL, last, "the newest session of a live view",                   \
	       "Of a program's name or a pid: its newest one. A session that a view still writes " \
	       "comes last. One that cannot be opened is passed over, with a warning.")
#define OPT_SYMBOLS                                                                                \
	OPTION(0, "symbols", "DIR", complete_folder, symbol_dirs,                                  \
	       "also search this folder for unstripped files (repeatable)",                        \
	       "memtop matches files by build-id. A file of this machine that was deleted or "     \
	       "built again is read from the process while that runs: the executable always, a "   \
	       "library with CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.")
#define OPT_SYSROOT                                                                                \
	OPTION(0, "sysroot", "DIR", complete_folder, sysroot,                                      \
	       "folder of the target's / on this machine", NULL)
#define OPT_THEME                                                                                  \
	OPTION(0, "theme", "NAME", complete_theme, theme,                                          \
	       "colours: dark, light, mono, or a .theme file", NULL)
#define OPT_ASCII OPTION(0, "ascii", NULL, NULL, ascii, "draw with plain ASCII only", NULL)
#define OPT_MAX_OVERHEAD                                                                           \
	OPTION(0, "max-overhead", "PCT", NULL, max_overhead,                                       \
	       "limit of the agent's share of the cpu time; above it, offer to sample",            \
	       "The share is that of the time which the program and the agent take together, as "  \
	       "all views and reports tell it. A cost whose error reaches down to the limit is "   \
	       "not above it. The agent measures itself over two seconds; seconds in which the "   \
	       "program is busy for less than a tenth do not count. `record` prints one warning "  \
	       "instead of an offer.")
#define OPT_KEEP                                                                                   \
	OPTION(0, "keep", "N", NULL, keep, "sessions of live views that stay on disk (5)",         \
	       "The new one counts. The oldest go when a view starts, but none that a view still " \
	       "writes or shows. `memtop open --list` shows them.")
#define OPT_SUPPRESS                                                                               \
	OPTION(0, "suppress", "FILE", complete_file, suppress,                                     \
	       "suppressions: expected call sites (w NAME.supp writes them)",                      \
	       "See EXPECTED MEMORY.")
#define OPT_DETACH                                                                                 \
	OPTION(0, "detach", NULL, NULL, detach,                                                    \
	       "at the end take out the agent that memtop attach loaded", NULL)
#define OPT_BREAK                                                                                  \
	OPTION(0, "break", "METHOD", NULL, break_at,                                               \
	       "a method that the program calls soon: pkg.Class.method",                           \
	       "For an inner class, write pkg.Outer$Inner.method. It must be Java code, not "      \
	       "native or abstract, in a class that is loaded. For attach: with --jdwp.")
#define OPT_TIMEOUT                                                                                \
	OPTION(0, "timeout", "SECONDS", NULL, timeout,                                             \
	       "how long to wait for a thread (" TIMEOUT_DEFAULT ")", "For attach: with --jdwp.")
#define OPT_PROCESS                                                                                \
	OPTION(0, "process", "PROCESS", complete_process, process,                                 \
	       "process of the session, or all",                                                   \
	       "A name or a pid; all is every process together, as one heap. By default memtop "   \
	       "takes all where the program that was started only starts others (sh, make), and "  \
	       "no past instant is named. Else it takes the process that allocated most, among "   \
	       "those that have all figures. A daemon also counts the blocks that it inherited, "  \
	       "and its starter is chosen last.")
#define OPT_FIRST_ONLY                                                                             \
	OPTION(0, "first-only", NULL, NULL, first_only,                                            \
	       "end with the program, even if processes that it started run on",                   \
	       "Without this option the recording runs until the last of them ends, so that the "  \
	       "file covers a daemon, not only its starter. ^C ends the recording once the "       \
	       "program has ended, SIGTERM at any time. `record` prints a line when it keeps "     \
	       "running, on a terminal or when memtop chose the file's name. A script that gives " \
	       "-o gets no such line.")
#define OPT_BETWEEN                                                                                \
	OPTION(0, "between", "A..B", complete_marks, between,                                      \
	       "what changed between two instants, or in the window of a name", NULL)

/* Those of every verb with a live view of a running program. */
#define OPTS_OF_VIEW                                                                               \
	OPT_SYMBOLS, OPT_SYSROOT, OPT_THEME, OPT_ASCII, OPT_MAX_OVERHEAD, OPT_SUPPRESS, OPT_KEEP

#endif
