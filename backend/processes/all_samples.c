/* SPDX-License-Identifier: MIT
 *
 * all_samples.c - the samples of All, from which growth is judged, as an agent's are. Samples of
 * two processes are never of one instant, and each process thins its own. So at each sample of the
 * process that grew most, of those that have been there about as long as the oldest one, each other
 * one counts with its own nearest one. Where it is the only one that grows, All grows as it does.
 *
 *     growth of All = the sum of the growth of each process in the window
 *
 * Processes that ended in the window are left out, else compilers that come and go would be a
 * saw-tooth, and one that began in it counts from the end of its start-up on. The lows of several
 * processes add up to no more than the true low, and their falls to no less than the true fall:
 * both judge All the more carefully.
 */
#include "processes/all_state.h"

#include <stdlib.h>
#include <string.h>

#define START_UP_NS 5000000000ull /* of a process; as query/sites/growth.h has it */
#define AT_END_NS 2000000000ull   /* ended with the tree */
#define EVERY_NS 5000000000ull    /* while they run */
#define LATE 3u                   /* samples */
#define PACING_PART 4u            /* of the longest window: who lacks more is younger */

void all_samples_forget(struct member *me)
{
	free(me->sample_changes);
	free(me->sample_moves);
	me->sample_changes = me->sample_moves = NULL;
	me->sample_change_count = me->sample_change_room = 0;
	me->sample_count = 0;
}

static bool take_change(void *arg, uint32_t serial, uint32_t slot, const struct live *was,
			const struct live *is)
{
	struct member *me = arg;

	(void)was;
	while (me->sample_at + 1 < me->sample_count &&
	       me->samples[me->sample_at].f.serial != serial)
		me->samples[me->sample_at++].end = me->sample_change_count;
	GROW(me->sample_changes, me->sample_change_room, me->sample_change_count + 1);
	me->sample_changes[me->sample_change_count++] = (struct mark_change){ slot, *is };
	return true;
}

void all_samples_take(const struct all *a, struct member *me)
{
	const struct model *m = me->watch ? watch_now(me->watch) : NULL;
	const struct sample *list;

	if (!m || me->samples_generation == model_samples_generation(m) + 1)
		return;
	size_t n = model_samples(m, &list);
	uint64_t clock = all_clock_of(a->of, me->id);

	me->samples_generation = model_samples_generation(m) + 1;
	me->samples_placed = 0;
	all_samples_forget(me);
	if (!model_samples_by_slot(m))
		return;
	for (size_t i = 0; i < n && i < MTW_SAMPLES_MAX; i++) {
		me->samples[i] = (struct member_sample){ .f = list[i].f };
		me->samples[i].f.time_ns += clock;
	}
	me->sample_count = n;
	me->sample_at = 0;
	if (n)
		sample_walk(m, model_columns(m)->slots, &me->sample_walk, take_change, me);
	for (; me->sample_at < n; me->sample_at++)
		me->samples[me->sample_at].end = me->sample_change_count;
	mark_walk_end(&me->sample_walk);
}

static struct live less(const struct live *a, const struct live *b)
{
	return (struct live){ a->blocks - b->blocks, a->bytes - b->bytes };
}

/* The member's slots become All's, of which several may be one, so amounts become differences to
 * the sample before. What counts for an older process is left out. */
void all_samples_place(struct all *a, struct member *me)
{
	struct counting c = all_counting(a, me, &a->shares[me->id]);
	const struct columns *columns = all_columns(me);
	struct live *held;
	uint64_t sum = 0;

	if (me->samples_placed == a->placings)
		return;
	me->samples_placed = a->placings;
	free(me->sample_moves);
	me->sample_moves = xcalloc(me->sample_change_count + 1, sizeof *me->sample_moves);
	held = xcalloc(me->placed + 1ul, sizeof *held);
	for (size_t i = 0, n = 0; i < me->sample_count; i++) {
		struct member_sample *s = &me->samples[i];
		for (; n < s->end; n++) {
			const struct mark_change *x = &me->sample_changes[n];
			uint32_t slot = x->slot;
			bool counts = slot < me->placed && me->to[slot] != NO_ID &&
				      all_slot_of(me, columns, slot).epoch >= c.from;
			struct mark_change *move = &me->sample_moves[n];
			move->slot = counts ? me->to[slot] : NO_ID;
			if (!counts)
				continue;
			move->is = less(&x->is, &held[slot]);
			sum += move->is.bytes;
			held[slot] = x->is;
		}
		uint64_t left = s->f.live_bytes > sum ? s->f.live_bytes - sum : 0;
		s->low_bytes = s->f.low_bytes > left ? s->f.low_bytes - left : 0;
		s->live_bytes = sum;
	}
	free(held);
}

static bool is_in(const struct all *a, const struct member *me, bool running)
{
	const struct process *p = me->id ? processes_find(a->of, me->id) : NULL;

	if (!p || !me->sample_count || !me->sample_moves)
		return false;
	if (running)
		return a->shares[me->id].held;
	return !p->end_ns || p->end_ns + AT_END_NS > processes_time_ns(a->of);
}

static uint64_t window_of(const struct member *me)
{
	return me->samples[me->sample_count - 1].f.time_ns - me->samples[0].f.time_ns;
}

static int64_t grew(const struct member *me)
{
	return (int64_t)(me->samples[me->sample_count - 1].live_bytes - me->samples[0].live_bytes);
}

/* At whose samples All's are. */
static const struct member *pacing(const struct all *a, bool running)
{
	const struct member *one = NULL;
	uint64_t longest = 0;

	for (size_t i = 0; i < a->count; i++)
		if (is_in(a, &a->members[i], running) && window_of(&a->members[i]) > longest)
			longest = window_of(&a->members[i]);
	for (size_t i = 0; i < a->count; i++)
		if (is_in(a, &a->members[i], running) &&
		    window_of(&a->members[i]) >= longest - longest / PACING_PART &&
		    (!one || grew(&a->members[i]) > grew(one)))
			one = &a->members[i];
	return one;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The nearest sample, and never one of its start-up. */
static size_t sample_at(const struct all *a, const struct member *me, uint64_t time_ns)
{
	const struct process *p = processes_find(a->of, me->id);
	size_t at = 0;

	while (at + 1 < me->sample_count && (apart(me->samples[at + 1].f.time_ns, time_ns) <=
						     apart(me->samples[at].f.time_ns, time_ns) ||
					     me->samples[at].f.time_ns < p->begin_ns + START_UP_NS))
		at++;
	return at;
}

/* The first one after its start-up, which its own verdict leaves out, too. */
static size_t first_of(const struct all *a, const struct member *one)
{
	const struct process *p = processes_find(a->of, one->id);
	size_t i = 0;

	while (i < one->sample_count && one->samples[i].f.time_ns < p->begin_ns + START_UP_NS)
		i++;
	return i;
}

/* How many of its samples count: behind the last sample of another process, that one would seem to
 * have stopped growing. A process that is stopped takes none, and must not hold up the others. */
static size_t samples_of(const struct all *a, const struct member *one, bool running)
{
	size_t n = one->sample_count, least = n > LATE ? n - LATE : 0;

	for (size_t i = 0; i < a->count; i++) {
		const struct member *me = &a->members[i];
		if (!is_in(a, me, running))
			continue;
		while (n > least &&
		       one->samples[n - 1].f.time_ns > me->samples[me->sample_count - 1].f.time_ns)
			n--;
	}
	return n;
}

struct low {
	uint64_t bytes, fall;
};

static struct low low_between(const struct member *me, size_t before, size_t at)
{
	struct low l = { me->samples[at].live_bytes, 0 };

	for (size_t i = before + 1; i <= at; i++) {
		const struct member_sample *s = &me->samples[i];
		l.bytes = s->low_bytes < l.bytes ? s->low_bytes : l.bytes;
		l.fall = s->f.fall_bytes > l.fall ? s->f.fall_bytes : l.fall;
	}
	return l;
}

/* The process that grew most over them. */
static void find_most(struct all *a, uint64_t from, uint64_t to, bool running)
{
	const struct member *most = NULL;
	uint64_t grew = 0;

	for (size_t i = 0; i < a->count; i++) {
		const struct member *me = &a->members[i];
		if (!is_in(a, me, running))
			continue;
		uint64_t was = me->samples[sample_at(a, me, from)].live_bytes,
			 is = me->samples[sample_at(a, me, to)].live_bytes;
		if (is > was && is - was > grew) {
			grew = is - was;
			most = me;
		}
	}
	const struct process *p = most ? processes_find(a->of, most->id) : NULL;
	if (p)
		snprintf(a->grew_most, sizeof a->grew_most, "%.63s [%d]", p->name, p->pid);
}

/* Moves when another process takes part, or one has other samples. */
static uint64_t stamp_of(const struct all *a, bool running)
{
	uint64_t stamp = a->placings;

	for (size_t i = 0; i < a->count; i++)
		if (is_in(a, &a->members[i], running))
			stamp = hash_mix(stamp ^ hash_mix((uint64_t)a->members[i].id << 32 ^
							  a->members[i].samples_generation));
	return stamp;
}

static void list_them(const struct all *a, const struct member_sample *of, bool running,
		      struct sample_figures *list)
{
	for (size_t k = 0; k < a->sample_count; k++) {
		struct sample_figures *to = &list[k];
		*to = (struct sample_figures){ .time_ns = of[k].f.time_ns };
		for (size_t i = 0; i < a->count; i++) {
			const struct member *me = &a->members[i];
			if (!is_in(a, me, running))
				continue;
			size_t at = sample_at(a, me, to->time_ns);
			size_t before = k ? sample_at(a, me, list[k - 1].time_ns) : at;
			struct low low = low_between(me, before, at);
			to->live_bytes += me->samples[at].live_bytes;
			to->low_bytes += low.bytes;
			to->fall_bytes += low.fall;
		}
	}
}

size_t all_samples_make(struct all *a, bool running, struct sample_figures *list)
{
	const struct member *one = pacing(a, running);
	size_t first = one ? first_of(a, one) : 0, end = one ? samples_of(a, one, running) : 0;
	uint64_t stamp = stamp_of(a, running);

	if (stamp == a->samples_stamp ||
	    (a->sample_count && running && now_ns() - a->sampled_ns < EVERY_NS))
		return 0;
	a->samples_stamp = stamp;
	a->sampled_ns = now_ns();
	a->sample_count = end > first ? end - first : 0;
	*a->grew_most = '\0';
	for (size_t i = 0; i < a->count; i++)
		a->members[i].sample_at = 0;
	if (a->sample_count) {
		list_them(a, one->samples + first, running, list);
		find_most(a, list[0].time_ns, list[a->sample_count - 1].time_ns, running);
	}
	return a->sample_count;
}

void all_samples_held(struct all *a, bool running, uint64_t time_ns, struct live *held)
{
	for (size_t i = 0; i < a->count; i++) {
		struct member *me = &a->members[i];
		if (!is_in(a, me, running))
			continue;
		size_t end = me->samples[sample_at(a, me, time_ns)].end;
		for (; me->sample_at < end; me->sample_at++) {
			const struct mark_change *x = &me->sample_moves[me->sample_at];
			if (x->slot == NO_ID)
				continue;
			held[x->slot].blocks += x->is.blocks;
			held[x->slot].bytes += x->is.bytes;
		}
	}
}
