/* SPDX-License-Identifier: MIT
 *
 * watched.c - reads a watch, sends its agent questions, and saves its session.
 */
#include "link/watch_state.h"

#include "base/loop.h"
#include "link/commands.h"
#include "link/conn.h"

/* longest wait for the answers when a recording ends before its program */
#define LAST_LOOK_MS 2000u
#define LAG_MS 1000u

struct model *watch_model(struct watch *w)
{
	return w->shown;
}

struct model *watch_now(struct watch *w)
{
	return w->in.model;
}

uint64_t watch_instant(const struct watch *w)
{
	return replay_away(w->past) ? model_time(w->shown) : 0;
}

int watch_travelled(const struct watch *w)
{
	return replay_percent(w->past);
}

const char *watch_travel_problem(const struct watch *w)
{
	return replay_problem(w->past);
}

struct symbols *watch_symbols(struct watch *w)
{
	return w->in.symbols;
}

const struct expected *watch_expected(const struct watch *w)
{
	return w->in.expected;
}

const struct target *watch_target(const struct watch *w)
{
	return &w->target;
}

unsigned watch_peer(const struct watch *w)
{
	return w->conn ? conn_peer(w->conn) : 0;
}

unsigned watch_pid(const struct watch *w, unsigned *inner)
{
	const struct program *p = model_program(w->in.model);

	if (inner)
		*inner = p && w->number_here ? p->pid : 0;
	return !p ? 0 : w->number_here ? w->number_here : p->pid;
}

const char *watch_problem(const struct watch *w)
{
	return w->problem;
}

const char *watch_notice(const struct watch *w)
{
	return w->notice;
}

int watch_loading(const struct watch *w)
{
	const struct totals *coming = w->conn ? model_coming(w->in.model) : NULL;
	const struct totals *t = coming ? coming : model_totals(w->in.model);

	if (!w->conn || (!coming && model_complete(w->in.model)))
		return 100;
	if (!t->slots_total)
		return 0;
	uint64_t percent = t->slots_sent * 100 / t->slots_total;
	return percent > 99 ? 99 : (int)percent;
}

size_t watch_warnings(const struct watch *w, const char *const **sentences)
{
	struct watch *mine = (struct watch *)w; /* only its scratch list */
	const char *const *symbols = NULL;
	size_t n = symbols_warnings(w->in.symbols, &symbols);

	mine->warning_list = xrealloc(mine->warning_list,
				      (w->warning_count + n + 2) * sizeof *mine->warning_list);
	for (size_t i = 0; i < w->warning_count; i++)
		mine->warning_list[i] = w->warnings[i];
	for (size_t i = 0; i < n; i++)
		mine->warning_list[w->warning_count + i] = symbols[i];
	size_t count = w->warning_count + n;
	if (w->instant)
		mine->warning_list[count++] = w->instant;
	*sentences = mine->warning_list;
	return count;
}

const char *watch_instant_words(const struct watch *w)
{
	return w->instant;
}

int watch_mark(struct watch *w, const char *name)
{
	return watch_live(w) ? command_mark(w->conn, name) : -1;
}

int watch_drop_mark(struct watch *w, uint32_t id)
{
	return watch_live(w) ? command_drop_mark(w->conn, id) : -1;
}

int watch_rename_mark(struct watch *w, uint32_t id, const char *name)
{
	return watch_live(w) ? command_rename_mark(w->conn, id, name) : -1;
}

int watch_set_option(struct watch *w, const char *name, const char *value)
{
	return watch_live(w) ? command_set_option(w->conn, name, value) : -1;
}

int watch_detach(struct watch *w)
{
	return watch_live(w) ? command_detach(w->conn) : -1;
}

int watch_scan(struct watch *w, enum mtw_kind kind, const uint32_t *slots, size_t count)
{
	return watch_live(w) ? looks_ask(&w->looks, w->conn, w->in.model, kind, slots, count) : -1;
}

void watch_want(struct watch *w, enum mtw_kind kind)
{
	looks_want(&w->looks, kind);
	if (watch_live(w))
		looks_go_on(&w->looks, w->conn, w->in.model);
}

uint64_t watch_until(const struct watch *w, uint64_t end, unsigned timeout_ms)
{
	uint64_t silent = watch_silent_ns(w), most = timeout_ms * 1000000ull, now = now_ns();

	if (!model_walked(w->in.model) || silent >= most || now + most - silent < end)
		return end;
	return now + most - silent;
}

void watch_look(struct watch *w, unsigned timeout_ms, bool patient)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ull;

	looks_all(&w->looks);
	for (uint64_t now; watch_live(w) && !model_final(w->in.model) && (now = now_ns()) < end;) {
		looks_go_on(&w->looks, w->conn, w->in.model);
		if (!looks_waiting(&w->looks) && model_whole(w->in.model))
			break;
		end = patient ? watch_until(w, end, timeout_ms) : end;
		loop_once(w->loop, (int)((end - now) / 1000000) + 1);
	}
}

const char *watch_missing(const struct watch *w, enum mtw_kind kind)
{
	if (w->target.kind == TARGET_MADE)
		return "All has no such figures: each process has its own; P lists them";
	return looks_missing(w->shown, kind, replay_away(w->past),
			     watch_live(w) && !model_final(w->in.model));
}

int watch_save(struct watch *w, const char *path, struct err *err)
{
	const struct expected *more =
		expected_version(w->in.expected) != w->rules_read ? w->in.expected : NULL;

	if (!w->conn && !*w->target.name)
		return err_set(err, 3,
			       "All is no session of its own: save one process, which P shows");
	return w->conn ? recorder_copy(&w->keep, path, err)
		       : recorder_copy_file(w->target.name, path, more, w->target.stream, err);
}

const char *watch_spool_path(const struct watch *w)
{
	return recorder_path(&w->keep);
}

const char *watch_unsaved(const struct watch *w)
{
	return *w->keep.failed.text ? w->keep.failed.text : NULL;
}

bool watch_keeps(const struct watch *w)
{
	return recorder_open(&w->keep);
}

bool watch_may_keep(const struct watch *w)
{
	return w->options.spool && w->conn && !*w->keep.failed.text && !model_final(w->in.model);
}

bool watch_named(const struct watch *w)
{
	uint64_t done, asked;

	symbols_progress(w->in.symbols, &done, &asked);
	return done >= asked;
}

int watch_end_record(struct watch *w, struct err *err)
{
	if (recorder_open(&w->keep)) {
		watch_look(w, LAST_LOOK_MS, false);
		symbols_wait(w->in.symbols); /* answers go into the file as they come */
	}
	keys_end(w);
	if (model_state(w->in.model, NULL, NULL) == MTW_LINK_LOST)
		/* otherwise the file would say that it still runs; behind the last key frame, which
		 * says nothing of links */
		recorder_exit(&w->keep, MTW_LINK_LOST, 0);
	return recorder_end(&w->keep, err);
}

bool watch_lags(const struct watch *w, struct procfs_pace *pace)
{
	pid_t peer = (pid_t)watch_peer(w);

	return procfs_lags(pace, peer, peer);
}

unsigned watch_stopped(const struct watch *w)
{
	return watch_silent_ns(w) ? procfs_stopped((pid_t)watch_peer(w)) : 0;
}

int watch_ready(const struct watch *w, struct err *err)
{
	bool begun = w->options.brief && model_totals(w->in.model)->time_ns;

	if (!w->conn || begun || model_complete(w->in.model) || model_final(w->in.model))
		return 1;
	if (!w->options.wait && !w->greeted && conn_tried(w->conn) && w->problem)
		return err_set(err, 3, "%s", w->problem);
	return 0;
}

int watch_wait_complete(struct watch *w, unsigned timeout_ms, struct err *err)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ull, now, seen = 0;
	struct procfs_pace pace = { 0 };
	int rc;

	while ((rc = watch_ready(w, err)) == 0) {
		/* a slow link is no reason to give up while the state still grows */
		uint64_t got = model_arrivals(w->in.model);
		if (got != seen)
			end = now_ns() + timeout_ms * 1000000ull;
		seen = got;
		if ((now = now_ns()) >= end && watch_lags(w, &pace))
			end = now + LAG_MS * 1000000ull;
		if (now >= end)
			return err_set(err, 3,
				       "%s: no data for %u s, and the first state is incomplete "
				       "(%d %% of it): %s",
				       w->target.text, timeout_ms / 1000, watch_loading(w),
				       w->problem ? w->problem : "try again");
		loop_once(w->loop, (int)((end - now) / 1000000) + 1);
	}
	return rc < 0 ? -1 : 0;
}

bool watch_being_written(const struct watch *w)
{
	return w->in.being_written;
}
