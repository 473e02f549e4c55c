/* SPDX-License-Identifier: MIT
 *
 * dump.c - see server/dump.h.
 *
 * A dump is what a viewer gets that connects now, written into a session file instead of a socket:
 * it takes a viewer's place without a connection, whose buffer goes into blocks. The server does it
 * all, at once, with the target's rights as last followed. The target's threads wait for nothing,
 * except at an exit whose dump they would otherwise outrun.
 */
#include "server/dump.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/syscalls.h"
#include "base/version.h"
#include "encode/encode.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "collect/peak_snapshot.h"
#include "scan/scan.h"
#include "collect/server.h"
#include "dump/session.h"
#include "collect/sums.h"
#include "collect/viewer.h"
#include "dump/preconditions.h"
#include "record/peak.h"
#include "server/privileges.h"
#include "server/signals.h"
#include "server/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <memtop/wire.h>

#define DEFAULT_TO "memtop.%p.%n.mtop"
#define NUMBERS 100000u       /* names tried for one dump */
#define PUMPS 1000000u        /* more than any state takes */
#define SCANS_NS (5 * SECOND) /* a slow viewer's scan may be before ours */
#define PEAK_TRIES 5          /* while the heap rises, a peak is soon another one */
#define REASON 96u

static const char *reason_of(long failed, char *buf, size_t size)
{
	static const struct {
		long failed;
		const char *text;
	} known[] = {
		{ -ENOSPC, "No space left on device" },
		{ -EDQUOT, "Disk quota exceeded" },
		{ -EACCES, "Permission denied" },
		{ -EPERM, "Operation not permitted" },
		{ -ENOENT, "No such file or directory" },
		{ -ENOTDIR, "Not a directory" },
		{ -EISDIR, "Is a directory" },
		{ -EROFS, "Read-only file system" },
		{ -EFBIG, "File too large" },
		{ -EEXIST, "File exists" },
		{ -EIO, "Input/output error" },
		{ -EMFILE, "Too many open files" },
		{ -ENAMETOOLONG, "File name too long" },
		{ -ENOMEM, "the agent has no memory for it" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].failed == failed)
			return known[i].text;
	if (failed == -EBUSY)
		return viewer_refusal(failed);
	mt_format(buf, size, "error %d", (int)-failed);
	return buf;
}

static const char *remedy_of(long failed)
{
	return failed == -ENOMEM  ? "raise the program's limit of memory (ulimit -v, -d)"
	       : failed == -EBUSY ? "disconnect one of them"
				  : "choose another dump_to=";
}

static void say_failed(struct server *s, const char *path, long failed)
{
	char text[NOTICE_MAX], why[24];

	if (s->dumps->said == failed)
		return;
	s->dumps->said = failed;
	mt_format(text, sizeof(text), "%.200s: the dump was not written: %s; %s", path,
		  reason_of(failed, why, sizeof(why)), remedy_of(failed));
	dump_say(s, text);
}

static const char *pattern(void)
{
	return mt_conf.dump_to[0] ? mt_conf.dump_to : DEFAULT_TO;
}

static bool is_numbered(void)
{
	for (const char *at = pattern(); *at; at++)
		if (*at == '%' && *++at != '%' && *at == 'n')
			return true;
		else if (!*at)
			break;
	return false;
}

/* 0 or -errno. */
static long path_of(const struct server *s, uint32_t number, char path[SESSION_PATH])
{
	size_t n = 0;

	if (pattern()[0] != '/') {
		if (!s->dumps->folder[0])
			return -ENOENT;
		n = mt_format(path, SESSION_PATH, "%s/", s->dumps->folder);
	}
	for (const char *at = pattern(); *at; at++) {
		if (n + 16 > SESSION_PATH)
			return -ENAMETOOLONG;
		if (at[0] != '%' || !at[1]) {
			path[n++] = *at;
			continue;
		}
		at++;
		if (*at == 'p' || *at == 'n')
			n += mt_format(path + n, SESSION_PATH - n, "%u",
				       *at == 'p' ? (unsigned)s->target.pid : number);
		else
			path[n++] = *at;
	}
	path[n] = 0;
	return 0;
}

static void drain(struct viewer *v, struct session *f)
{
	session_block(f, server_now(), v->out + v->out_at, v->out_len);
	v->out_at = v->out_len = 0;
	v->acked = v->produced;
	v->probe = 0;
}

static void put_text_frame(struct server *s, struct viewer *v, unsigned type, const char *a,
			   const char *b)
{
	struct mtw_out o = { s->scratch, s->scratch + SCRATCH_BYTES, false };

	mtw_put_string(&o, a);
	if (b) {
		mtw_put_string(&o, b);
		mtw_put(&o, mt_prim_unix_ns());
	}
	viewer_frame(v, type, s->scratch, (size_t)(o.at - s->scratch));
}

static void pump(struct server *s, struct viewer *v, struct session *f)
{
	v->complete = false;
	for (uint32_t i = 0;
	     i < PUMPS && v->state == VIEWER_OPEN && !v->complete && !v->final && !f->failed; i++) {
		encode_pump(s, v, true);
		drain(v, f);
	}
	if (!v->complete && !v->final && !f->failed)
		f->failed = -ENOMEM;
}

/* Threads, memory and cohorts, as far as they can be had now. After the end they are part of the
 * state. */
static void scan(struct server *s, struct viewer *v, struct session *f)
{
	static const enum mtw_kind kinds[] = { MTW_KIND_THREADS, MTW_KIND_MEMORY,
					       MTW_KIND_COHORTS };
	uint64_t until = server_now() + SCANS_NS;
	struct mtw_in none = { NULL, NULL, false };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		scan_ask(v, 1, kinds[i], &none, 0);
	while (!s->over && !f->failed && v->state == VIEWER_OPEN && server_now() < until) {
		bool waits = s->scans.now.viewer == v->index;
		for (int k = 0; k < MTW_KIND_COUNT; k++)
			waits |= v->scan[k].waits;
		if (!waits)
			break;
		scan_run(s);
		drain(v, f);
	}
	scan_drop(&s->scans, v);
}

/* Without a viewer nobody has asked for the peak's counters yet. */
static void take_peak(struct server *s)
{
	for (int i = 0; i < PEAK_TRIES && !s->over && !peak_snapshot_take(s); i++) {
		mt_peak_hold(i > 0);
		sums_pass(s, false);
		sums_modules(&s->sums);
	}
	mt_peak_hold(false);
}

/* 0 or -errno. */
static long write_state(struct server *s, struct session *f, const char *reason)
{
	long failed;
	struct viewer *v = viewer_enter(s, -1, MTW_CLIENT_COMMAND, &failed);
	char target[32];

	if (!v)
		return failed;
	take_peak(s);
	v->window = 4 * OUT_BYTES; /* drained after each step */
	mt_format(target, sizeof(target), "-p %d", s->target.pid);
	put_text_frame(s, v, MTW_S_META, mt_version, target);
	pump(s, v, f);
	if (!s->over && !f->failed) {
		scan(s, v, f);
		pump(s, v, f);
	}
	put_text_frame(s, v, MTW_S_NOTE, reason, NULL);
	drain(v, f);
	v->final = false; /* no viewer has the final state by this */
	viewer_close(s, v);
	return f->failed;
}

/* A name that nobody has, from the next number on. 0 or -errno. */
static long open_part(struct server *s, struct session *f, char path[SESSION_PATH])
{
	long rc = -EEXIST;

	for (uint32_t i = 0; rc == -EEXIST && i < NUMBERS; i++) {
		rc = path_of(s, ++s->dumps->number, path);
		if (!rc)
			rc = session_begin(f, path, OUT_BYTES);
		if (rc == -EEXIST && !is_numbered())
			break;
	}
	return rc;
}

static long give_name(struct server *s, struct session *f, char path[SESSION_PATH])
{
	long rc;

	while ((rc = session_name(f, path, !is_numbered())) == -EEXIST && is_numbered())
		if (path_of(s, ++s->dumps->number, path))
			break;
	return rc;
}

static void write_dump(struct server *s, const char *reason)
{
	char path[SESSION_PATH] = "", text[NOTICE_MAX], note[REASON + 64];
	struct session f;

	/* What the program gave up a moment ago counts. A dead one cannot be looked at. */
	if (!s->over || s->target.announced)
		privileges_follow(s);
	if (s->privileges.sealed)
		return; /* dump_sealed() said so */
	s->dumps->busy = true;
	dump_use_room(s);
	long rc = open_part(s, &f, path);
	if (!rc) {
		mt_format(note, sizeof(note), "the agent wrote this state without a viewer: %s",
			  reason);
		rc = write_state(s, &f, note);
		rc = rc ? rc : session_end(&f);
		rc = rc ? rc : give_name(s, &f, path);
		session_release(&f);
	}
	if (rc) {
		say_failed(s, path[0] ? path : pattern(), rc);
	} else {
		s->dumps->said = 0;
		mt_format(text, sizeof(text), "the agent wrote %.200s: %s", path, reason);
		viewers_notice(&s->notices, -1, -1, text);
	}
	s->dumps->busy = false;
	if (!s->over)
		dump_keep_room(s);
	if (s->dumps->late) {
		s->dumps->late = false;
		dump_end(s);
	}
}

bool dump_asked(struct server *s)
{
	s->dumps->asked |= mt_conf.dump_signal[0] && signals_dump_came();
	return s->dumps->asked;
}

/* A forked child begins with what it inherited, another program with nothing. */
static bool grew(struct server *s)
{
	struct dumps *d = s->dumps;
	const struct tally *t = &s->sums.totals;
	uint64_t live = t->alloc_bytes - t->free_bytes;
	bool inherited = !d->begun && mt_state_is_fork();

	d->begun = true;
	if (!mt_conf.dump_on_growth || (!inherited && live < d->live + mt_conf.dump_on_growth))
		return false;
	d->live = live;
	return !inherited;
}

static bool passed_rss(struct server *s)
{
	uint64_t rss = s->figures.rss_bytes, limit = mt_conf.dump_on_rss;
	bool passed = limit && rss >= limit && !s->dumps->rss_over;

	/* Memory that moves up and down by a page at the limit gives one dump. */
	s->dumps->rss_over = limit && rss >= (s->dumps->rss_over ? limit - limit / 8 : limit);
	return passed;
}

void dump_check(struct server *s)
{
	char why[REASON];

	if (s->dumps->busy || !dump_wanted())
		return;
	bool growth = grew(s), rss = passed_rss(s);
	if (rss)
		mt_format(why, sizeof(why), "dump_on_rss=%llu, with %llu bytes resident",
			  (unsigned long long)mt_conf.dump_on_rss,
			  (unsigned long long)s->figures.rss_bytes);
	else if (growth)
		mt_format(why, sizeof(why), "dump_on_growth=%llu, with %llu bytes live",
			  (unsigned long long)mt_conf.dump_on_growth,
			  (unsigned long long)s->dumps->live);
	if (s->dumps->asked)
		mt_format(why, sizeof(why), "dump_signal=%s", mt_conf.dump_signal);
	if (growth || rss || s->dumps->asked)
		write_dump(s, why);
	s->dumps->asked = false;
}

static bool failed(const struct session_state *state)
{
	return state->what == MTW_SIGNALLED || !state->known || state->status;
}

bool dump_due_at_end(struct server *s)
{
	const struct session_state *state = &s->state;
	bool due = (state->what == MTW_EXITED || state->what == MTW_SIGNALLED) &&
		   (mt_conf.dump_at_exit || (mt_conf.dump_on_fail && failed(state)));

	s->dumps->late = due && s->dumps->busy; /* it ended while another dump was written */
	return due && !s->dumps->busy;
}

void dump_end(struct server *s)
{
	write_dump(s, mt_conf.dump_at_exit ? "dump_at_exit=yes" : "dump_on_fail=yes");
	if (s->dies_along)
		return; /* the target waits for viewers, too */
	atomic_store(&s->shared->xfinal_futex, 1);
	mt_prim_call(SYS_futex, (long)&s->shared->xfinal_futex, FUTEX_WAKE, 16, 0, 0, 0);
}
