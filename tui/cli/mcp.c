/* SPDX-License-Identifier: MIT
 *
 * mcp.c - `memtop mcp [TARGET]`: the Model Context Protocol on standard input and output, for
 * programs that ask (backend/mcp/).
 *
 * A tool may wait for an agent, and the loop does not nest. So the loop's callback only reads
 * bytes; lines are answered between two turns. Reading rests while many bytes wait.
 */
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "base/loop.h"
#include "mcp/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536u
#define WAITING_MAX (2 * MCP_LINE_MAX)

static struct {
	char *text; /* owned; bytes that are not answered yet */
	size_t len, room;
	bool ended, too_long; /* too_long: the rest of this line is skipped */
} in;

static void read_some(void)
{
	if (in.len > WAITING_MAX)
		return;
	GROW(in.text, in.room, in.len + READ_BYTES);
	ssize_t n = read(STDIN_FILENO, in.text + in.len, READ_BYTES);
	if (n > 0)
		in.len += (size_t)n;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		in.ended = true;
}

static void on_input(void *arg, unsigned events)
{
	(void)arg, (void)events;
	read_some();
}

static void on_turn(void *arg)
{
	(void)arg;
	read_some();
}

/* False: the reader has gone. */
static bool say(char *answer_take)
{
	bool said = !answer_take || (puts(answer_take) >= 0 && fflush(stdout) == 0);

	free(answer_take);
	return said;
}

static bool is_blank(const char *text, size_t len)
{
	while (len && strchr(" \t\r", text[len - 1]))
		len--;
	return !len;
}

/* The next whole line, out of the buffer; the last one may lack its end. */
static bool answer_one(struct targets *t, bool *heard)
{
	char *end = in.len ? memchr(in.text, '\n', in.len) : NULL;
	size_t len = end ? (size_t)(end - in.text) : in.len, used = len + (end != NULL);
	char *answer = NULL;

	if (!end && in.len <= MCP_LINE_MAX && !(in.ended && in.len))
		return false;
	if (!in.too_long && len > MCP_LINE_MAX)
		answer = mcp_too_long();
	else if (!in.too_long && !is_blank(in.text, len))
		answer = mcp_answer(t, in.text, len);
	in.too_long = !end;
	memmove(in.text, in.text + used, in.len - used);
	in.len -= used;
	*heard = say(answer);
	return *heard;
}

static struct loop_source *listen_to(struct loop *loop)
{
	struct stat st;

	/* a file and /dev/null are always readable, and cannot be waited for; a timer of 0 ms
	 * would come once */
	if (!fstat(STDIN_FILENO, &st) &&
	    (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(STDIN_FILENO))))
		return loop_timer(loop, 1, true, on_turn, NULL);
	return loop_fd(loop, STDIN_FILENO, LOOP_READ, on_input, NULL);
}

static void talk(struct loop *loop, struct targets *t)
{
	struct loop_source *source = listen_to(loop);
	bool heard = true;

	while (heard && !(in.ended && !in.len)) {
		if (!in.ended)
			loop_once(loop, -1);
		while (answer_one(t, &heard))
			;
	}
	loop_remove(source);
	free(in.text);
}

static int mcp_run(const struct args *a)
{
	char who[40], pid[24];
	struct targets_options options = { .who = who,
					   .rules = a->rules,
					   .control = a->allow_control };
	struct target target;
	struct err err = { 0 };

	if ((a->operand_count || a->pid) && args_target(&verb_mcp, a, &target, &err))
		return args_fail(&err, STATUS_USAGE);
	snprintf(who, sizeof who, "memtop mcp %d", (int)getpid());
	snprintf(pid, sizeof pid, "%s", a->pid ? a->pid : "");
	options.target = a->pid ? pid : a->operand_count ? a->operands[0] : NULL;
	args_symbols(a, &options.symbols);
	cmd_survive_writes();
	struct loop *loop = cmd_loop();
	struct targets *t = targets_new(loop, &options);
	talk(loop, t);
	targets_free(t);
	loop_free(loop);
	return 0;
}

static const struct option_spec options[] = {
	OPTION(0, "allow-control", NULL, NULL, allow_control,
	       "also tools that start programs, load and remove agents", NULL),
	OPT_PID,
	OPT_SYMBOLS,
	OPT_SYSROOT,
	OPT_SUPPRESS,
	{ 0 },
};

const struct verb verb_mcp = {
	.name = "mcp",
	.synopsis = { "mcp [OPTION...] [TARGET]" },
	.summary = "answer a program that asks by the Model Context Protocol",
	.details =
		"Reads JSON-RPC from standard input, a message a line, until its end. A tool that "
		"is\ncalled without a target asks about TARGET, or the only process with an "
		"agent.\n",
	.options = options,
	.complete = complete_target,
	.run = mcp_run,
};
