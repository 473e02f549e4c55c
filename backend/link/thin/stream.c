/* SPDX-License-Identifier: MIT */
#include "link/thin/stream.h"

#include "base/ages.h"
#include "wire/decode.h"

#include <stdlib.h>

#define NS 1000000000ull
static void put(struct thinned *s, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		size_t len)
{
	session_frame(s->out, s->of->stream, time_ns, type, payload, len, &s->err);
}

int thinned_write(void *arg, uint64_t type, const uint8_t *payload, size_t len)
{
	struct thinned *s = arg;

	put(s, s->at_ns, type, payload, len);
	return 0;
}

static void put_held(struct thinned *s, const struct held *f, size_t i)
{
	const struct held_frame *x = &f->list[i];

	put(s, x->time_ns, x->type, f->bytes + x->at, x->len);
}

/* Is the next state of the same thread, or kind of loss, in the group, too? */
static bool comes_again(const struct held *f, size_t i)
{
	uint64_t type = f->list[i].type, of = held_number(f, i, 0);

	while ((i = held_next(f, i, type)) != SIZE_MAX)
		if (held_number(f, i, 0) == of)
			return true;
	return false;
}

/* Does a whole answer that began later follow? */
static bool is_asked_again(const struct held *f, size_t i)
{
	bool begun = false;

	while ((i = held_next(f, i, MTW_SCAN_COHORTS)) != SIZE_MAX) {
		uint64_t flags = held_number(f, i, 1);
		begun |= (flags & MTW_PART_FIRST) != 0;
		if (begun && (flags & MTW_PART_LAST))
			return true;
	}
	return false;
}

size_t thin_first(const uint64_t *list, size_t n, uint64_t value)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (list[mid] < value)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The instant of a time is the last tick that is not later. */
static bool is_pinned(const struct thinned *s, uint64_t from, uint64_t to)
{
	size_t at = thin_first(s->of->pins, s->of->pin_count, from);

	return at < s->of->pin_count && s->of->pins[at] < to;
}

/* Resident memory is shown at a mark, from the answer next to it. */
static bool is_near_pin(const struct thinned *s, size_t i)
{
	uint64_t time_ns = held_number(&s->group, i, 1);

	return is_pinned(s, time_ns > RSS_NEAR_NS ? time_ns - RSS_NEAR_NS : 0,
			 time_ns + RSS_NEAR_NS + 1);
}

/* Do later frames of the group say all that this one does? */
static bool is_replaced(const struct thinned *s, size_t i)
{
	const struct held *f = &s->group;

	switch (f->list[i].type) {
	case MTW_TOTALS:
	case MTW_TICK:
	case MTW_PROCESS:
	case MTW_STACKS:
	case MTW_MEMORY:
	case MTW_SAMPLES:
	case MTW_STOPS:
	case MTW_SCAN_AGES:
	case MTW_SCAN_THREADS: return held_next(f, i, f->list[i].type) != SIZE_MAX;
	case MTW_SCAN_MEMORY:
		return held_next(f, i, MTW_SCAN_MEMORY) != SIZE_MAX && !is_near_pin(s, i);
	case MTW_SCAN_COHORTS: return is_asked_again(f, i);
	case MTW_LOSS:
	case MTW_THREAD: return comes_again(f, i);
	default: return false;
	}
}

static int on_count(void *arg, const struct event *e, struct err *err)
{
	struct thinned *s = arg;

	(void)err;
	counts_add(&s->counts, e->u.counts.slot, &e->u.counts.now);
	return 0;
}

static void put_counts(struct thinned *s)
{
	counts_settle(&s->counts);
	for (size_t i = 0; i < s->counts.count; i++)
		frames_counts(s->to, s->counts.list[i].slot, &s->counts.list[i].now);
	frames_rest(s->to, MTW_COUNTS);
	counts_drop(&s->counts);
}

static void put_omitted(struct thinned *s)
{
	uint8_t payload[10];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	mtw_put(&o, s->omits);
	put(s, s->group.list[0].time_ns, MTW_S_OMITTED, payload, (size_t)(o.at - payload));
}

/* Frames before the tick's, then its counters, totals and itself. */
static void put_group(struct thinned *s)
{
	if (s->omits)
		put_omitted(s);
	for (size_t i = 0; i < s->group.count; i++) {
		uint64_t type = s->group.list[i].type;
		if (type != MTW_TOTALS && type != MTW_TICK && !is_replaced(s, i))
			put_held(s, &s->group, i);
	}
	s->to->arg = s;
	merged_put(&s->merged, s->to);
	put_counts(s);
	for (int last = 0; last < 2; last++)
		for (size_t i = 0; i < s->group.count; i++)
			if (s->group.list[i].type == (last ? MTW_TICK : MTW_TOTALS) &&
			    !is_replaced(s, i))
				put_held(s, &s->group, i);
}

static void note_written(struct thinned *s)
{
	struct session_ticks *x = s->of;

	GROW(x->kept, x->kept_room, x->kept_count + 1);
	x->kept[x->kept_count++] = s->ticks.last;
	s->written_ns = s->tick_ns;
}

/* The last tick that was read stays. */
static void write_group(struct thinned *s)
{
	if (!s->has_tick)
		return;
	put_group(s);
	note_written(s);
	held_drop(&s->group);
	s->has_tick = false;
	s->omits = 0;
}

static void write_open(struct thinned *s)
{
	for (size_t i = 0; i < s->open.count; i++) {
		const struct held_frame *x = &s->open.list[i];
		put_held(s, &s->open, i);
		if (merged_takes(x->type))
			s->damaged |= merged_pass(&s->merged, x->type, s->open.bytes + x->at,
						  x->len) != 0;
	}
	held_drop(&s->open);
	s->omits_open = 0;
}

/* All that was read is written. */
void thinned_drain(struct thinned *s)
{
	write_group(s);
	write_open(s);
}

static void join_frame(struct thinned *s, size_t i)
{
	const struct held_frame *x = &s->open.list[i];
	const uint8_t *payload = s->open.bytes + x->at;
	int held = 1;

	if (x->type == MTW_COUNTS)
		held = wire_read(x->type, payload, x->len, on_count, s, &s->err);
	else if (merged_takes(x->type))
		held = merged_join(&s->merged, &s->open, i);
	s->damaged |= held < 0;
	if (held > 0 && x->type != MTW_S_OMITTED)
		held_add(&s->group, x->time_ns, x->type, payload, x->len);
}

/* The frames of the tick join the group. */
static void join(struct thinned *s)
{
	s->omits += s->omits_open + s->has_tick;
	s->omits_open = 0;
	for (size_t i = 0; i < s->open.count; i++)
		join_frame(s, i);
	held_drop(&s->open);
	s->has_tick = true;
}

static bool stays(const struct thinned *s, uint32_t flags)
{
	uint64_t age = s->of->last_ns > s->at_ns ? s->of->last_ns - s->at_ns : 0;

	return flags != MTW_TICK_COMPLETE || !s->complete ||
	       ages_keep(age, s->written_ns, s->tick_ns, 1);
}

static void take_tick(struct thinned *s, uint64_t at_ns, const struct event *e)
{
	uint64_t time_ns = e->u.tick.time_ns;

	/* two ticks may have one time: the first is the instant */
	if (s->has_tick && is_pinned(s, s->tick_ns, time_ns > s->tick_ns ? time_ns : time_ns + NS))
		write_group(s);
	s->ticks.last = ++s->ticks.read;
	s->tick_ns = time_ns;
	s->at_ns = at_ns;
	bool keep = stays(s, e->u.tick.flags);
	s->complete |= (e->u.tick.flags & MTW_TICK_COMPLETE) != 0;
	if (keep && !s->has_tick) {
		write_open(s);
		note_written(s);
		return;
	}
	join(s);
	if (keep)
		write_group(s);
}

static void take_hello(struct thinned *s, const struct event *e)
{
	struct program_ticks *x = &s->ticks;

	s->complete = false; /* the first complete tick that follows stays */
	if (x->pid == e->u.hello.pid && x->start_unix_ns == e->u.hello.start_unix_ns)
		return;
	x->pid = e->u.hello.pid;
	x->start_unix_ns = e->u.hello.start_unix_ns;
	x->read = s->of->kept_count = 0;
	merged_clear(&s->merged);
}

struct taken {
	struct thinned *s;
	uint64_t time_ns;
};

static int on_event(void *arg, const struct event *e, struct err *err)
{
	struct taken *x = arg;

	(void)err;
	if (e->type == MTW_TICK)
		take_tick(x->s, x->time_ns, e);
	else if (e->type == MTW_HELLO)
		take_hello(x->s, e);
	else {
		x->s->ticks.read += e->u.s_omitted.ticks;
		x->s->omits_open += e->u.s_omitted.ticks;
	}
	return 0;
}

void thinned_take(struct thinned *s, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		  size_t len)
{
	struct taken taken = { s, time_ns };

	if (s->of->stream == SESSION_TABLE) {
		put(s, time_ns, type, payload, len);
		return;
	}
	if (type == MTW_HELLO)
		thinned_drain(s);
	held_add(&s->open, time_ns, type, payload, len);
	if (type == MTW_TICK || type == MTW_HELLO || type == MTW_S_OMITTED)
		s->damaged |= wire_read(type, payload, len, on_event, &taken, &s->err) != 0;
}

void thinned_release(struct thinned *s)
{
	held_free(&s->open);
	held_free(&s->group);
	counts_free(&s->counts);
	merged_clear(&s->merged);
}
