/* SPDX-License-Identifier: MIT
 *
 * watch.c - one watched target: its link or file, the resulting model, and the kept session.
 *
 *   conn or file --frame--> intake (model, symbols)
 *                     \--> keep (spool or record), with each symbol as it is found
 *
 * A broken link never clears the screen: the last whole state stays, STALE since its last byte,
 * until the new link has brought a whole one.
 */
#include "link/watch_state.h"

#include "link/conn.h"
#include "launch/dormant.h"
#include "launch/launch.h"
#include "launch/server_of.h"
#include "base/format.h"
#include "base/loop.h"

#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STALE_NS 2000000000ull   /* a link is silent after so long; ticks come ten times a second */
#define PATIENCE_NS 400000000ull /* a program that just starts is not a problem yet */
#define EXEC_NS 10000000000ull   /* a new program's agent answers within this, or has none */
#define AFTERLIFE_NS 2000000000ull /* an agent outlives its program by less than this */
#define KEEP_MS 1000
#define WORK_NS 8000000u
#define NAMES_MS 20         /* answers of the symbolizer come in crowds */
#define NAMES_AT_ONCE 4096u /* are requested after a slice: some ms */
#define ROOM_MS 2u          /* about what a worker's job may take */

static void set_text(char **slot, const char *text)
{
	char *copy = text ? xstrdup(text) : NULL;

	free(*slot);
	*slot = copy;
}

static void add_warning(struct watch *w, const char *text)
{
	for (size_t i = 0; i < w->warning_count; i++)
		if (!strcmp(w->warnings[i], text))
			return;
	GROW(w->warnings, w->warning_room, w->warning_count + 1);
	w->warnings[w->warning_count++] = xstrdup(text);
}

static void tell(struct watch *w, unsigned bits)
{
	if (bits && w->on_change)
		w->on_change(w->on_change_arg, bits);
}

/* Reports the first failed write once; watching continues. */
static void check_kept(struct watch *w)
{
	if (!*w->keep.failed.text || w->told_not_kept)
		return;
	w->told_not_kept = true;
	if (w->options.record_path)
		set_text(&w->problem, w->keep.failed.text);
	char *text = xasprintf("the session is no longer saved: %s", w->keep.failed.text);
	set_text(&w->notice, text);
	add_warning(w, text);
	free(text);
	w->bits |= WATCH_NOTICE | WATCH_LINK;
}

static void on_names(void *arg)
{
	struct watch *w = arg;

	loop_remove(w->names_soon);
	w->names_soon = NULL;
	tell(w, WATCH_SYMBOLS);
}

static void on_symbol(struct watch *w)
{
	if (!w->names_soon)
		w->names_soon = loop_timer(w->loop, NAMES_MS, false, on_names, w);
}

static void on_live_symbol(void *arg, uint32_t module, uint64_t offset, uint8_t kind,
			   const struct symbol *sym)
{
	struct watch *w = arg;

	on_symbol(w);
	recorder_symbol(&w->keep, module, offset, kind, sym);
	check_kept(w);
}

/* A recorded session needs the names of all its code, shown or not, so that it opens without the
 * binaries. */
static void ask_for_names(struct watch *w, bool all)
{
	uint32_t n = model_location_count(w->in.model);
	bool hurries = all || !watch_seen(w) || model_final(w->in.model); /* no key waits */
	uint32_t left = hurries ? UINT32_MAX : NAMES_AT_ONCE;

	/* the first state comes first */
	if (!recorder_open(&w->keep) || (!hurries && !model_complete(w->in.model)))
		return;
	if (w->resets_seen != model_resets(w->in.model)) {
		w->resets_seen = model_resets(w->in.model);
		w->names_asked = 0;
	}
	for (; w->names_asked < n && left; w->names_asked++, left--)
		symbols_of_location(w->in.symbols, w->names_asked);
}

static void hold(struct watch *w)
{
	if (w->conn)
		conn_hold(w->conn, w->held || w->room);
}

/* A key frame that is due may be why. */
static void on_room(void *arg)
{
	struct watch *w = arg;

	keys_go_on(w);
	if (model_full(w->in.model))
		return;
	loop_remove(w->room);
	w->room = NULL;
	hold(w);
}

static void wait_for_room(struct watch *w)
{
	if (w->room || !model_full(w->in.model))
		return;
	w->room = loop_timer(w->loop, ROOM_MS, true, on_room, w);
	hold(w);
}

static int on_frame(void *arg, uint64_t type, const uint8_t *payload, size_t len, struct err *err)
{
	struct watch *w = arg;

	/* agents send no such frames; those of later versions are not for memtop */
	if (type >= MTW_CLIENT)
		return 0;
	uint64_t ticks = model_ticks(w->in.model);
	if (ingest_frame(&w->in, type, payload, len, err))
		return -1;
	if (model_ticks(w->in.model) != ticks)
		w->bits |= WATCH_TICK;
	if (type == MTW_HELLO) {
		w->greeted = true;
		w->told_final = false;
		w->executed |= w->final_ns != 0;
		w->final_ns = 0;
		looks_begin(&w->looks);
		recorder_clock(&w->keep, w->in.hello_ns);
		symbols_local(w->in.symbols,
			      &(struct symbol_process){ (unsigned)w->target.pid, conn_peer(w->conn),
							w->target.unheard });
		set_text(&w->problem, w->options.record_path && *w->keep.failed.text
					      ? w->keep.failed.text
					      : NULL);
		w->bits |= WATCH_LINK;
		const struct program *p = model_program(w->in.model);
		w->number_here = (unsigned)server_number_here((pid_t)conn_peer(w->conn),
							      (pid_t)p->pid, w->target.pid);
		bool kept = recorder_open(&w->keep);
		if (w->options.spool)
			recorder_spool(&w->keep, p->name, p->pid, w->options.spool, w->target.text);
		if (w->noted && !kept)
			recorder_note(&w->keep, w->noted);
		if (!kept)
			recorder_rules(&w->keep, w->in.expected);
	}
	if (!model_coming(w->in.model))
		w->stale_since = 0;
	if (type != MTW_SCAN_COHORTS || looks_keep(&w->looks, payload, len))
		recorder_frame(&w->keep, type, payload, len);
	if (type == MTW_TICK) {
		w->executed = false;
		keys_go_on(w);
	}
	wait_for_room(w);
	check_kept(w);
	return 0;
}

static void on_slice(void *arg);

static void on_slice(void *arg)
{
	struct watch *w = arg;
	int status;
	bool known;

	if (model_intervals(w->in.model) != w->intervals)
		w->bits |= WATCH_INTERVAL;
	w->intervals = model_intervals(w->in.model);
	if (w->bits & WATCH_TICK) {
		ask_for_names(w, false);
		looks_go_on(&w->looks, w->conn, w->in.model);
	}
	if (model_final(w->in.model) && !w->told_final) {
		w->told_final = true;
		w->final_ns = now_ns();
		w->bits |= WATCH_FINAL;
		if (!w->keep.of) /* names may take a while */
			recorder_flush(&w->keep);
		if (model_state(w->in.model, &status, &known) != MTW_EXECED)
			conn_finish(w->conn);
	}
	unsigned bits = w->bits;
	w->bits = 0;
	tell(w, bits);
}

static void on_up(void *arg)
{
	(void)arg; /* HELLO is what counts */
}

/* After an exec: the new program has the agent, which refuses connections, or has no memory for the
 * first state. */
static void note_refusal(struct watch *w, const char *problem)
{
	char *text = xasprintf("The program that this one executed is not in this session: %.*s.",
			       (int)strcspn(problem, ";"), problem);

	watch_note(w, text);
	free(text);
}

static void on_down(void *arg, const char *problem)
{
	struct watch *w = arg;
	bool was = w->greeted;

	w->greeted = false;
	if (was && !w->stale_since)
		w->stale_since = conn_last_ns(w->conn);
	bool awaited = model_final(w->in.model) && w->final_ns;
	if ((awaited || w->executed) && strstr(problem, "refused by the agent"))
		note_refusal(w, problem);
	if (awaited)
		return; /* after an exec: the new program's agent is awaited, quietly */
	if (!was && w->options.wait && now_ns() - w->opened_ns < PATIENCE_NS)
		return;
	if (was)
		ask_for_names(w, true);
	if (was && !w->in.child_ended)
		model_set_state(w->in.model, MTW_LINK_LOST, 0, false);
	if (w->problem && !strcmp(w->problem, problem))
		return;
	set_text(&w->problem, problem);
	w->bits |= WATCH_LINK;
	unsigned bits = w->bits;
	w->bits = 0;
	tell(w, bits);
}

static void on_second(void *arg)
{
	struct watch *w = arg;
	struct err thin = { 0 };
	uint64_t now = now_ns();

	ask_for_names(w, false);
	recorder_flush(&w->keep);
	keys_go_on(w);
	if (keys_thin(w, &thin))
		watch_note(w, thin.text);
	check_kept(w);
	if (!w->greeted && ((w->final_ns && now - w->final_ns > EXEC_NS) ||
			    (w->in.child_ended && now - w->child_ns > AFTERLIFE_NS)))
		conn_finish(w->conn);
	unsigned bits = w->bits;
	w->bits = 0;
	if (watch_stale_ns(w))
		bits |= WATCH_LINK; /* the time since is shown */
	tell(w, bits);
}

static void on_notice(void *arg, const char *text)
{
	struct watch *w = arg;

	set_text(&w->notice, text);
	w->bits |= WATCH_NOTICE;
}

/* Names use the current model, which has all call paths that ever existed. */
static void on_instant(void *arg)
{
	struct watch *w = arg;

	char *said = NULL;

	w->in.model = replay_now(w->past);
	if (replay_away(w->past))
		said = watch_say_instant(w);
	set_text(&w->instant, said);
	free(said);
	symbols_look_at(w->in.symbols, w->in.model);
	model_on_notice(w->shown, NULL, NULL); /* what it plays was said then */
	model_on_notice(w->in.model, on_notice, w);
	tell(w, WATCH_INSTANT);
}

static void on_forgets(void *arg)
{
	watch_return(arg);
}

static void on_note(void *arg, const char *text)
{
	add_warning(arg, text);
}

static void note_cut(struct watch *w, const char *text)
{
	add_warning(w, text);
	if (w->in.being_written)
		return;
	set_text(&w->problem, text);
	if (!w->in.child_ended)
		model_set_cut(w->in.model);
}

static int read_file(struct watch *w, struct err *err)
{
	struct err cut = { 0 };

	if (ingest_file(&w->in, w->target.name, w->target.stream, &cut, err))
		return -1;
	w->viewed = session_view(w->target.name);
	w->rules_read = expected_version(w->in.expected);
	if (*cut.text)
		note_cut(w, cut.text);
	model_set_still(w->in.model);
	return 0;
}

static void who_am_i(char *who, size_t size)
{
	struct passwd *p = getpwuid(geteuid());
	char host[64] = "";

	if (gethostname(host, sizeof host - 1))
		host[0] = '\0';
	snprintf(who, size, "%.30s@%.30s", p ? p->pw_name : "?", host);
}

static int connect_target(struct watch *w, struct err *err)
{
	const struct conn_events events = { on_frame, on_up, on_down, on_slice, w };
	char who[MTW_NAME_MAX + 1];

	if (w->target.kind == TARGET_PID && dormant_check(&w->target, NULL, err))
		return -1;
	if (w->options.record_path && recorder_record(&w->keep, w->options.record_path,
						      w->options.record_whole, w->target.text, err))
		return -1;
	if (w->options.share)
		recorder_join(&w->keep, &w->options.share->keep, w->options.stream, w->target.text);
	check_kept(w);
	symbols_on_answer(w->in.symbols, on_live_symbol, w);
	who_am_i(who, sizeof who);
	w->conn = conn_new(w->loop, &w->target, w->options.who ? w->options.who : who,
			   (w->options.command ? MTW_CLIENT_COMMAND : 0) |
				   (w->options.by_cpu ? MTW_CLIENT_BY_CPU : 0),
			   w->options.tick_ns, &events);
	w->timer = loop_timer(w->loop, KEEP_MS, true, on_second, w);
	return 0;
}

int watch_feed(struct watch *w, uint64_t type, const uint8_t *payload, size_t len, struct err *err)
{
	uint64_t ticks = model_ticks(w->in.model);

	if (ingest_frame(&w->in, type, payload, len, err))
		return -1;
	if (model_ticks(w->in.model) != ticks)
		w->bits |= WATCH_TICK;
	return 0;
}

void watch_fed(struct watch *w)
{
	if (model_final(w->in.model))
		model_set_still(w->in.model);
	unsigned bits = w->bits;
	w->bits = 0;
	tell(w, bits);
}

static int open_it(struct watch *w, struct err *err)
{
	switch (w->target.kind) {
	case TARGET_FILE: return read_file(w, err);
	case TARGET_MADE: return 0;
	default: return connect_target(w, err);
	}
}

static void on_file_symbol(void *arg, uint32_t module, uint64_t offset, uint8_t kind,
			   const struct symbol *sym)
{
	(void)module, (void)offset, (void)kind, (void)sym;
	on_symbol(arg);
}

struct watch *watch_open(struct loop *loop, const struct target *t, const struct watch_options *o,
			 struct err *err)
{
	struct watch *w = xcalloc(1, sizeof *w);

	w->loop = loop;
	w->target = *t;
	w->options = *o;
	w->viewed = -1;
	w->opened_ns = now_ns();
	w->looks.kept = o->record_path || o->spool || o->share;
	if (ingest_init(&w->in, loop, w->target.text, &o->symbols, err)) {
		free(w);
		return NULL;
	}
	w->shown = w->in.model;
	model_set_paced(w->in.model, o->paced);
	if (o->paced)
		symbols_calm(w->in.symbols);
	w->past = replay_new(loop, w->shown, on_instant, w);
	w->in.note = on_note;
	w->in.forgets = on_forgets;
	w->in.arg = w;
	model_on_notice(w->in.model, on_notice, w);
	if (t->kind == TARGET_FILE || t->kind == TARGET_MADE)
		symbols_on_answer(w->in.symbols, on_file_symbol, w);
	if (open_it(w, err)) {
		watch_close(w);
		return NULL;
	}
	if (o->expected) {
		expected_take(w->in.expected, o->expected);
		recorder_rules(&w->keep, w->in.expected);
	}
	return w;
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	w->on_change = NULL;
	loop_remove(w->timer);
	loop_remove(w->room);
	loop_remove(w->names_soon);
	w->names_soon = NULL;
	conn_free(w->conn);
	replay_free(w->past);
	w->in.model = w->shown;
	keys_end(w);
	ingest_release(&w->in);
	recorder_release(&w->keep);
	for (size_t i = 0; i < w->warning_count; i++)
		free(w->warnings[i]);
	free(w->warnings);
	free(w->warning_list);
	free(w->problem);
	free(w->notice);
	if (w->viewed >= 0)
		close(w->viewed);
	free(w->noted);
	free(w->instant);
	free(w);
}

void watch_hold(struct watch *w, bool on)
{
	w->held = on;
	hold(w);
}

void watch_on_change(struct watch *w, void (*fn)(void *arg, unsigned bits), void *arg)
{
	w->on_change = fn;
	w->on_change_arg = arg;
}

bool watch_seen(const struct watch *w)
{
	return w->on_change != NULL;
}

uint32_t watch_stream(const struct watch *w)
{
	return w->conn ? w->options.stream : w->target.stream;
}

int watch_travel(struct watch *w, uint64_t time_ns, bool wait, struct err *err)
{
	const char *path = w->conn ? recorder_path(&w->keep) : w->target.name;

	w->wanted_ns = time_ns;
	if (w->target.kind == TARGET_MADE)
		path = NULL;
	recorder_flush(&w->keep);
	if (path || model_kept_at(w->in.model, time_ns) != NO_ID)
		return replay_go(w->past, path, watch_stream(w),
				 w->conn ? recorder_writer(&w->keep) : NULL, time_ns, wait, err);
	if (w->target.kind == TARGET_MADE)
		return err_set(
			err, 3,
			"All shows what its processes hold now, and no past instant; open one "
			"process for that");
	if (w->options.command)
		return err_set(err, 3,
			       "%s: a running program tells its marks and its peak alone, and its "
			       "past is in a session file: memtop open --list has those of live "
			       "views, and memtop record writes one; give that file as target",
			       w->target.text);
	return err_set(err, 3, "no session of this program is saved, so its past is unknown%s%s",
		       *w->keep.failed.text ? ": " : "", w->keep.failed.text);
}

void watch_return(struct watch *w)
{
	replay_return(w->past);
}

int watch_expect(struct watch *w, const char *rule, bool on)
{
	if (expected_set(w->in.expected, rule, on))
		return -1;
	recorder_rule(&w->keep, rule, on);
	check_kept(w);
	return 0;
}

bool watch_live(const struct watch *w)
{
	return w->conn && w->greeted && conn_up(w->conn);
}

uint64_t watch_silent_ns(const struct watch *w)
{
	uint64_t last = w->conn ? conn_last_ns(w->conn) : 0, now = now_ns();

	if (!last || model_final(w->in.model) || last > now)
		return 0;
	return watch_live(w) && now - last < STALE_NS ? 0 : now - last;
}

uint64_t watch_stale_ns(const struct watch *w)
{
	return w->stale_since && !model_final(w->in.model) ? now_ns() - w->stale_since
							   : watch_silent_ns(w);
}

void watch_note(struct watch *w, const char *text)
{
	if (!*text)
		return;
	add_warning(w, text);
	set_text(&w->noted, text);
	set_text(&w->notice, text);
	w->bits |= WATCH_NOTICE;
	recorder_note(&w->keep, text);
}

void watch_save_begin(struct watch *w)
{
	recorder_flush(&w->keep);
	check_kept(w);
}

void watch_keep_table(struct watch *w, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		      size_t len)
{
	recorder_table(&w->keep, time_ns, type, payload, len);
	check_kept(w);
}

void watch_child_ended(struct watch *w, int wait_status)
{
	uint32_t state = WIFSIGNALED(wait_status) ? MTW_SIGNALLED : MTW_EXITED;
	int status = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);

	w->child_ns = now_ns();
	if (ingest_child_ended(&w->in, w->target.pid > 0 ? (uint64_t)w->target.pid : 0, state,
			       status))
		recorder_exit(&w->keep, state, status);
	ask_for_names(w, true);
	check_kept(w);
	tell(w, WATCH_LINK);
}
