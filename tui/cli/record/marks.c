/* SPDX-License-Identifier: MIT
 *
 * marks.c - marks that a recording sets by itself: by the clock, by growth, and by the
 * program's output, which can also end the recording.
 */
#include "cli/record/recording.h"

#include <string.h>

/* A mark costs the agent a pass over what changed, and a session has room for 4095: marks of the
 * user's own must always find some. */
#define BURST 20          /* marks that output may set at once */
#define REFILL_SECONDS 10 /* ... and one more after each of these */
#define MARKS_MAX 1000    /* ... in all */

enum { ON, UNTIL };

static int read_pattern(regex_t *re, const char *option, const char *text, struct err *err)
{
	char why[128];
	int rc = regcomp(re, text, REG_EXTENDED);

	if (!rc)
		return 0;
	regerror(rc, re, why, sizeof why);
	return err_set(
		err, STATUS_USAGE,
		"%s %s: not an extended regular expression: %s; quote its special characters",
		option, text, why);
}

static int read_patterns(struct record_marks *m, const struct args *a, struct err *err)
{
	if (!a->program && (a->mark_on || a->until))
		return err_set(err, STATUS_USAGE,
			       "%s: memtop sees only the output of a program that it starts; "
			       "give a program, or use --mark-every or --for",
			       a->mark_on ? "--mark-on" : "--until");
	if (a->mark_on && read_pattern(&m->on, "--mark-on", a->mark_on, err))
		return -1;
	m->on_text = a->mark_on;
	if (a->until && read_pattern(&m->until, "--until", a->until, err))
		return -1;
	m->until_text = a->until;
	return 0;
}

int record_marks_read(struct recording *r, const struct args *a, struct err *err)
{
	struct record_marks *m = &r->marks;

	m->tee = (struct tee){ { -1, -1 }, -1, { -1, -1 } };
	m->burst = BURST;
	if (a->mark_every && !every_time(&m->every, a->mark_every))
		return err_set(err, STATUS_USAGE,
			       "--mark-every %s: not a time of 1 s to 11 days; write 60s, 5m or 1h",
			       a->mark_every);
	if (a->mark_on_growth && !every_growth(&m->growth, a->mark_on_growth))
		return err_set(err, STATUS_USAGE,
			       "--mark-on-growth %s: not a size of at least 4K; write 10M",
			       a->mark_on_growth);
	return read_patterns(m, a, err);
}

int record_marks_tee(struct recording *r, struct launch_options *launching, struct err *err)
{
	struct record_marks *m = &r->marks;
	const regex_t *const patterns[2] = {
		[ON] = m->on_text ? &m->on : NULL, [UNTIL] = m->until_text ? &m->until : NULL
	};

	if (!m->on_text && !m->until_text)
		return 0;
	launching->output = m->tee.output;
	return tee_start(&m->tee, patterns, err);
}

/* A program that prints matching lines without end must not fill the session with marks. */
static bool may_mark(struct record_marks *m)
{
	uint64_t now = now_ns();

	m->burst += (double)(now - m->refilled_ns) / 1e9 / REFILL_SECONDS;
	m->burst = m->burst < BURST ? m->burst : BURST;
	m->refilled_ns = now;
	if (m->burst < 1 || m->set >= MARKS_MAX)
		return false;
	m->burst--;
	m->set++;
	return true;
}

static void say_skipping(struct recording *r)
{
	if (r->marks.skipping_said)
		return;
	r->marks.skipping_said = true;
	record_progress_clear(r);
	warn("--mark-on: matching lines come faster than marks may: %d at once, one every %d s, %d "
	     "in all; the others are counted",
	     BURST, REFILL_SECONDS, MARKS_MAX);
}

static void mark_match(struct recording *r, const struct tee_match *found)
{
	if (!may_mark(&r->marks)) {
		r->marks.skipped++;
		say_skipping(r);
	} else {
		r->marks.skipped += !every_mark(r->processes, r->watch, found->text);
	}
}

static void take_matches(struct recording *r)
{
	struct record_marks *m = &r->marks;
	struct tee_match found;
	int more;

	while ((more = tee_take(&m->tee, &found)) > 0) {
		m->skipped += found.lost;
		if (found.lost)
			say_skipping(r);
		if (found.pattern == UNTIL && !r->stop) {
			memcpy(m->found, found.text, sizeof m->found);
			r->stop = true;
		} else if (found.pattern == ON) {
			mark_match(r, &found);
		}
	}
	if (more < 0) {
		loop_remove(m->tee_source);
		m->tee_source = NULL;
	}
}

static bool is_linked(const struct recording *r)
{
	return watch_live(r->watch) && model_ticks(watch_model(r->watch));
}

/* The program may print before memtop has read its first state, and no mark can be set yet. */
static bool too_early(const struct recording *r)
{
	const struct record_marks *m = &r->marks;

	return !m->begun && !r->ended && !is_linked(r) &&
	       now_ns() - m->listens_ns < GREETING_MS * 1000000ull;
}

static void on_match(void *arg, unsigned events)
{
	struct recording *r = arg;

	(void)events;
	r->marks.waits = too_early(r);
	if (r->marks.waits)
		loop_fd_set(r->marks.tee_source, 0);
	else
		take_matches(r);
}

void record_marks_resume(struct recording *r)
{
	if (!r->marks.waits || too_early(r))
		return;
	r->marks.waits = false;
	loop_fd_set(r->marks.tee_source, LOOP_READ);
}

void record_marks_listen(struct recording *r)
{
	r->marks.listens_ns = now_ns();
	if (r->marks.tee.fd >= 0)
		r->marks.tee_source = loop_fd(r->loop, r->marks.tee.fd, LOOP_READ, on_match, r);
}

void record_marks_go_on(struct recording *r)
{
	struct record_marks *m = &r->marks;

	if (!is_linked(r))
		return;
	if (!m->begun) {
		every_begin(&m->every, r->processes, r->watch);
		every_begin(&m->growth, r->processes, r->watch);
		m->begun = true;
	}
	every_go_on(&m->every, r->processes, r->watch);
	every_go_on(&m->growth, r->processes, r->watch);
}

void record_marks_end(struct recording *r)
{
	struct record_marks *m = &r->marks;
	char note[160];

	loop_remove(m->tee_source);
	m->tee_source = NULL;
	if (r->watch && m->skipped) {
		snprintf(note, sizeof note,
			 "--mark-on: %llu matching lines got no mark: more than one in %d s, more "
			 "than %d, or after the program's end",
			 (unsigned long long)m->skipped, REFILL_SECONDS, MARKS_MAX);
		watch_note(r->watch, note);
	}
}

/* The last lines may pass after the file was closed: no mark, but what --until waited for. */
bool record_marks_wait(struct recording *r)
{
	struct record_marks *m = &r->marks;
	struct tee_match found;
	bool whole = !r->ended || tee_wait(&m->tee);

	while (r->ended && tee_take(&m->tee, &found) > 0)
		if (found.pattern == UNTIL && !*m->found)
			memcpy(m->found, found.text, sizeof m->found);
	return whole;
}

void record_marks_release(struct recording *r)
{
	struct record_marks *m = &r->marks;

	tee_release(&m->tee);
	if (m->on_text)
		regfree(&m->on);
	if (m->until_text)
		regfree(&m->until);
}
