/* SPDX-License-Identifier: MIT
 *
 * serve.c - `memtop serve [TARGET...|--all]`: follows processes without a screen, and answers over
 * HTTP (backend/serve/).
 */
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "base/loop.h"
#include "serve/server.h"

#include <malloc.h>
#include <memtop/amount.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int read_top(const struct args *a, size_t *top, struct err *err)
{
	uint64_t n = SERVE_TOP;

	if (a->top && (!mtw_amount(a->top, MTW_AMOUNT_COUNT, &n) || !n || n > SERVE_TOP_MAX))
		return err_set(err, STATUS_USAGE,
			       "--top %s: not a number from 1 to %u; write --top %u", a->top,
			       SERVE_TOP_MAX, SERVE_TOP);
	*top = n;
	return 0;
}

static int read_options(const struct args *a, struct server_options *o,
			char token[ACCESS_TOKEN_MAX], struct err *err)
{
	size_t targets = a->operand_count + (a->pid != NULL);

	if (!targets && !a->all)
		return err_set(err, STATUS_USAGE,
			       "serve: no target given; name one, or give --all for every process "
			       "with an agent");
	if (targets && a->all)
		return err_set(err, STATUS_USAGE,
			       "--all: cannot be combined with %s; use one of them",
			       a->pid ? "-p" : a->operands[0]);
	if (access_address(a->listen ? a->listen : SERVE_LISTEN, &o->listen, err) ||
	    read_top(a, &o->top, err))
		return -1;
	o->token = a->token_file ? token : NULL;
	return a->token_file ? access_token_read(a->token_file, token, err) : 0;
}

static int add(struct fleet *f, const struct target *t, struct err *err)
{
	if (t->kind == TARGET_FILE)
		return err_set(err, STATUS_USAGE,
			       "%s: a session file does not run; use memtop report", t->text);
	return fleet_add(f, t, err);
}

static int add_targets(const struct args *a, struct fleet *f, struct err *err)
{
	struct target t;

	if (a->pid && (target_parse_pid(a->pid, &t, err) || add(f, &t, err)))
		return -1;
	for (size_t i = 0; i < a->operand_count; i++)
		if (target_parse(a->operands[i], &t, err) || add(f, &t, err))
			return -1;
	return 0;
}

static void stop(void *loop)
{
	loop_stop(loop);
}

/* A process and a client take a descriptor each; the usual limit is 1024. */
static void raise_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

/* Hundreds of symbolizers, each with a thread: their debug information must not lie in as many
 * arenas, where it stays after its free. */
static void share_arenas(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

static int serve(struct loop *loop, const struct args *a, const struct server_options *o,
		 struct err *err)
{
	char who[40];
	struct fleet_options options = { .who = who, .all = a->all, .rules = a->rules };
	struct server *s = NULL;

	snprintf(who, sizeof who, "memtop serve %d", (int)getpid());
	args_symbols(a, &options.symbols);
	struct fleet *f = fleet_new(loop, &options);
	int rc = add_targets(a, f, err);
	if (!rc && !(s = server_new(loop, f, o, err)))
		rc = -1;
	if (!rc) {
		printf("serving %s\n", server_address(s));
		fflush(stdout);
		loop_run(loop);
	}
	server_free(s);
	fleet_free(f);
	return rc;
}

static int serve_run(const struct args *a)
{
	char token[ACCESS_TOKEN_MAX];
	struct server_options o = { 0 };
	struct err err = { 0 };

	if (read_options(a, &o, token, &err))
		return args_fail(&err, STATUS_USAGE);
	raise_limit();
	share_arenas();
	cmd_survive_writes();
	struct loop *loop = cmd_loop();
	loop_signal(loop, SIGINT, stop, loop);
	loop_signal(loop, SIGTERM, stop, loop);
	int rc = serve(loop, a, &o, &err);
	loop_free(loop);
	return rc ? args_fail(&err, STATUS_UNREACHED) : 0;
}

static const struct option_spec options[] = {
	OPTION(0, "all", NULL, NULL, all, "follow every process of this machine with an agent",
	       NULL),
	OPTION(0, "listen", "ADDRESS", NULL, listen, "ADDR:PORT or unix:PATH (" SERVE_LISTEN ")",
	       NULL),
	OPTION(0, "token-file", "FILE", complete_file, token_file,
	       "requests need the token in FILE (Authorization: Bearer)", NULL),
	OPTION(0, "top", "N", NULL, top, "owners of each process in /metrics (10)", NULL),
	OPT_PID,
	OPT_SYMBOLS,
	OPT_SYSROOT,
	OPT_SUPPRESS,
	{ 0 }
};

const struct verb verb_serve = {
	.name = "serve",
	.synopsis = { "serve [OPTION...] TARGET...", "serve [OPTION...] --all" },
	.summary = "serve metrics, profiles and reports over HTTP",
	.details =
		"/metrics is OpenMetrics for Prometheus, /debug/pprof/heap a profile for pprof; "
		"/ lists\neverything. An address that other machines reach needs --token-file.\n",
	.options = options,
	.complete = complete_target,
	.run = serve_run,
};
