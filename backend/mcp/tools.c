/* SPDX-License-Identifier: MIT
 *
 * tools.c - see mcp/tools.h: the table of tools, their schemas, and the bound on answers.
 */
#include "mcp/tools.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_DEFAULT 16384u
#define BYTES_LEAST 256u
#define BYTES_MOST 262144u

#define LIMIT                                                                                      \
	"\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,"                          \
	"\"description\":\"rows, most important first (20)\"}"

#define TARGET                                                                                     \
	"\"target\":{\"type\":[\"string\",\"integer\"],\"description\":\"a pid, or FILE.mtop, "    \
	"@NAME, unix:PATH, :PORT, HOST:PORT; without it the only process with an agent\"},"        \
	"\"process\":{\"type\":\"string\",\"description\":\"name or pid of a process inside a "    \
	"session file of several, or all: all of them as one heap\"}"

/* clang-format off */
#define TEXT(name, text) "\"" name "\":{\"type\":\"string\",\"description\":\"" text "\"}"
#define LIST "\"type\":\"array\",\"items\":{\"type\":\"string\"}"
/* one text, or a list of them */
#define TEXTS(name, text)                                                                          \
	"\"" name "\":{\"anyOf\":[{\"type\":\"string\"},{" LIST "}],\"description\":\"" text "\"}"
#define SITE TEXT("site", "its function, as call_sites names it")
#define BETWEEN TEXT("between", "adds what changed between instants A..B, or in a window")
#define PID "\"pid\":{\"type\":\"integer\",\"minimum\":1}"
#define COMPARED                                                                                   \
	TEXTS("a", "FILE.mtop, FILE.mtop@MARK, FILE.mtop@peak, FILE.mtop@0:12:09 or a target; "    \
		   "several runs tell noise from changes") ","                                     \
	TEXTS("b", "likewise: what is compared with a") ","                                        \
	TEXT("value", "live (the default), blocks or allocated") ","                               \
	TEXT("format", "text (the default), json or folded") ","                                   \
	TEXT("process", "name or pid of a process inside session files of several")
#define LIMITS                                                                                     \
	TEXTS("max_leaked", "memory alive at the program's exit: 64K, lib:NAME=64K or "            \
			    "fn:NAME=64K, as in all limits") ","                                   \
	TEXTS("max_live", "live memory at the end") ","                                            \
	TEXTS("max_peak", "its peak") ","                                                          \
	TEXTS("max_blocks", "live blocks at the end") ","                                          \
	TEXTS("max_rate", "bytes allocated per second") ","                                        \
	TEXTS("max_growth", "growth in the interval of between") ","                               \
	TEXT("between", "marks A..B, or a window") ","                                             \
	"\"no_growing\":{\"type\":\"boolean\",\"description\":\"a verdict of GROWING is a "        \
	"finding (false)\"},"                                                                      \
	TEXTS("baseline", "session files that it may not exceed") ","                              \
	TEXT("tolerance", "percent beyond the baseline") ","                                       \
	TEXTS("suppress", "files of suppressions") ","                                             \
	TEXT("format", "text (the default), junit, json or github")
#define RECORDED                                                                                   \
	"\"command\":{" LIST ",\"description\":\"the program and its arguments; its output is "    \
	"dropped\"},"                                                                              \
	"\"target\":{\"type\":[\"string\",\"integer\"],\"description\":\"instead of a command: a " \
	"pid, or a TARGET\"},"                                                                     \
	TEXT("output", "FILE.mtop; a session that is there becomes FILE.mtop.old") ","       \
	"\"seconds\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":3600,\"description\":"        \
	"\"ends the recording; the program runs on (60)\"}"
/* clang-format on */

static const struct tool tools[] = {
	{ "list_processes", "List processes",
	  "The processes of this machine that have memtop's agent: pid, command line, live and "
	  "peak memory, resident memory, and the verdict on growth.",
	  "{}", false, false, false, tool_list_processes },
	{ "verdict", "Verdict on growth",
	  "Whether the heap of a process grows, how fast and where; its totals, peak, resident "
	  "memory and warnings.",
	  "{}", true, false, false, tool_verdict },
	{ "owners", "Memory by library",
	  "Live and allocated memory by owner: the library that allocated, allocation wrappers "
	  "skipped.",
	  "{" LIMIT "}", true, false, false, tool_owners },
	{ "call_sites", "Call sites",
	  "The functions that allocate, with live memory, growth and its shape, file and "
	  "line.",
	  "{\"sort\":{\"type\":\"string\",\"enum\":[\"live\",\"blocks\",\"growth\",\"rate\","
	  "\"allocated\"],"
	  "\"description\":\"what comes first (live); growth: the likeliest leak\"}," LIMIT "}",
	  true, false, false, tool_sites },
	{ "top_of_tree", "Top of the call tree",
	  "The heaviest branches of the call tree by live memory, from main downwards.",
	  "{\"depth\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":64,\"description\":\"levels "
	  "(12)\"},"
	  "\"min_percent\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":100,\"description\":"
	  "\"leaves out branches "
	  "below this share of live memory (2)\"},"
	  "\"inverted\":{\"type\":\"boolean\",\"description\":\"from the allocating functions "
	  "upwards (false)\"}," LIMIT "}",
	  true, false, false, tool_tree },
	{ "diff_marks", "Difference between two marks",
	  "What was born and what has gone between two marks, by call site.",
	  "{\"from\":{\"type\":\"string\",\"description\":\"a mark's name or number (m1), or an "
	  "instant of a session file (0:12:09); start (the default)\"},"
	  "\"to\":{\"type\":\"string\",\"description\":\"likewise; now (the default)\"}," LIMIT "}",
	  true, false, false, tool_diff },
	{ "set_mark", "Set a mark",
	  "Sets a mark in a running process, to compare with later; answers its number and name.",
	  "{\"name\":{\"type\":\"string\",\"description\":\"at most 64 bytes; a name in use gets a "
	  "suffix\"}}",
	  true, true, false, tool_mark },
	{ "report", "Whole report",
	  "The whole report of a process or session, as memtop report prints it.",
	  "{\"format\":{\"type\":\"string\",\"description\":\"text (the default), json or another "
	  "textual format of "
	  "memtop report\"},"
	  "\"since\":{\"type\":\"string\",\"description\":\"adds what changed since this "
	  "mark\"}," BETWEEN "}",
	  true, false, false, tool_report },
	{ "site_stacks", "Stacks of a call site",
	  "The call paths that end in one call site, with live memory, frames, files and lines.",
	  "{" SITE "," LIMIT "}", true, false, false, tool_site_stacks },
	{ "diff_sessions", "Difference between sessions",
	  "What changed from one session, build or instant to another, as memtop diff prints it.",
	  "{" COMPARED "}", false, false, false, tool_diff_sessions },
	{ "check", "Check limits",
	  "Holds a session or a process against limits and a baseline, as memtop check does; the "
	  "answer has findings or says that all limits are kept.",
	  "{" TARGET "," LIMITS "}", false, false, false, tool_check },
	{ "record", "Record a session",
	  "Starts a program under the agent, or watches a process that has it, and writes a "
	  "session file; the answer comes when the program or the time has ended.",
	  "{" RECORDED "}", false, true, true, tool_record },
	{ "attach", "Load the agent",
	  "Loads the agent into a process that runs without it, as memtop attach --no-view does; "
	  "later blocks are counted.",
	  "{" PID "}", false, true, true, tool_attach },
	{ "detach", "Take the agent out",
	  "Takes out an agent that attach loaded; the process runs on.", "{" PID "}", false, true,
	  true, tool_detach },
};

static const char common[] =
	"{\"max_bytes\":{\"type\":\"integer\",\"minimum\":256,\"maximum\":262144,\"description\":"
	"\"length of the answer (16384)\"},\"offset\":{\"type\":\"integer\",\"minimum\":0,"
	"\"description\":\"leaves out so many bytes at its beginning\"}}";
static const char targeted[] = "{" TARGET "}";
static const char instant[] =
	"{\"at\":{\"type\":\"string\",\"description\":\"as of a mark, peak, or 0:12:09 since the "
	"start; of a session file\"}}";

static json_t *parsed(const char *text)
{
	json_t *o = json_loads(text, 0, NULL);

	if (!o)
		BUG("a schema is not JSON: %s", text);
	return o;
}

static void add(json_t *all, const char *properties)
{
	json_t *more = parsed(properties);

	json_object_update(all, more);
	json_decref(more);
}

static json_t *properties_of(const struct tool *t)
{
	json_t *all = json_object();

	if (t->targets)
		add(all, targeted);
	if (t->targets && !t->changes)
		add(all, instant);
	add(all, t->properties);
	add(all, common);
	return all;
}

json_t *tools_list(const struct targets *targets)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		const struct tool *t = &tools[i];

		if (t->control && !targets_control(targets))
			continue;
		json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:{s:s,s:o,s:b},s:{s:b,s:b}}",
						      "name", t->name, "title", t->title,
						      "description", t->description, "inputSchema",
						      "type", "object", "properties",
						      properties_of(t), "additionalProperties", 0,
						      "annotations", "readOnlyHint", !t->changes,
						      "destructiveHint", t->control));
	}
	return list;
}

const struct tool *tools_find(const struct targets *t, const char *name)
{
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
		if (!strcmp(tools[i].name, name) && (!tools[i].control || targets_control(t)))
			return &tools[i];
	return NULL;
}

/* An argument that is not known was meant for something. */
static int check_names(const struct tool_call *c, const struct tool *t, struct err *err)
{
	json_t *known = properties_of(t), *value;
	const char *name;
	int rc = 0;

	json_object_foreach(c->arguments, name, value) if (!rc && !json_object_get(known, name))
		rc = err_set(err, 2, "%.100s: %s has no such argument", name, t->name);
	json_decref(known);
	return rc;
}

static int open_target(struct tool_call *c, struct err *err)
{
	const char *when = NULL;

	if (tool_target(c, err) || tool_text(c, "at", &when, err))
		return -1;
	c->watch = when ? targets_at(c->targets, c->word, c->process, when, err)
			: targets_open(c->targets, c->word, c->process, err);
	return c->watch ? 0 : -1;
}

/* Where the text from `at` ends: at a line's end where there is one, never inside a character. */
static size_t cut(const char *text, size_t len, size_t at, size_t max)
{
	if (len - at <= max)
		return len;
	size_t end = at + max;
	while (end > at && text[end - 1] != '\n')
		end--;
	if (end > at)
		return end;
	for (end = at + max; end > at + 1 && ((unsigned char)text[end] & 0xc0) == 0x80;)
		end--;
	return end;
}

static char *rest_line(size_t from, size_t end, size_t next, size_t len)
{
	return xasprintf("[truncated: bytes %zu to %zu of %zu; ask with offset=%zu for the next, "
			 "or a max_bytes of up to %u]\n",
			 from, end, len, next, BYTES_MOST);
}

/* The line about the rest counts, too. Is the answer text? Only a format that is no text can be
 * anything else. */
static json_t *bounded(const char *text, size_t len, size_t offset, size_t max, struct err *err)
{
	size_t from = offset < len ? offset : len, end = len;
	char *rest = xstrdup("");

	while (from < len && ((unsigned char)text[from] & 0xc0) == 0x80)
		from++;
	if (from || len > max) {
		free(rest);
		rest = rest_line(len, len, len, len); /* the longest: no number is larger */
		end = cut(text, len, from, max - strlen(rest));
		free(rest);
		rest = rest_line(from, end, end < len ? end : 0, len);
	}
	char *all = xmalloc(end - from + strlen(rest) + 1);
	memcpy(all, text + from, end - from);
	memcpy(all + (end - from), rest, strlen(rest) + 1);
	json_t *s = json_stringn(all, end - from + strlen(rest));
	free(all);
	free(rest);
	if (!s)
		err_set(err, 2, "the answer is no text; use memtop report -o FILE for this format");
	return s;
}

static int run(struct tool_call *c, const struct tool *tool, struct err *err)
{
	if (check_names(c, tool, err) || (tool->targets && open_target(c, err)))
		return -1;
	int rc = tool->run(c, err);
	if (c->watch && json_object_get(c->arguments, "at"))
		watch_close(c->watch);
	return rc;
}

json_t *tools_call(struct targets *t, const struct tool *tool, json_t *arguments)
{
	struct tool_call c = { .targets = t, .arguments = arguments };
	size_t max = BYTES_DEFAULT, offset = 0, len = 0;
	struct err err = { .text = "" };
	char *text = NULL;
	json_t *said = NULL;

	c.out = open_memstream(&text, &len);
	if (!c.out)
		base_out_of_memory();
	int rc = tool_number(&c, "max_bytes", BYTES_LEAST, BYTES_MOST, &max, &err) ||
		 tool_number(&c, "offset", 0, (size_t)1 << 40, &offset, &err) ||
		 run(&c, tool, &err);
	if (fclose(c.out))
		base_out_of_memory();
	if (!rc)
		said = bounded(text, len, offset, max, &err);
	free(text);
	bool failed = !said;
	if (failed)
		said = json_string(err.text);
	return json_pack("{s:[{s:s,s:o}],s:b}", "content", "type", "text", "text",
			 said ? said : json_string("the tool failed"), "isError", failed);
}
