/* SPDX-License-Identifier: MIT
 *
 * all_frames.c - All as frames of the wire, as an agent would send them: first all, then what
 * changed. Slots are numbered in the order in which their stacks came.
 */
#include "processes/all_state.h"

#include <stdlib.h>
#include <string.h>

static bool is_code(uint64_t type)
{
	return type == MTW_MODULE || type == MTW_S_SYMBOL || type == MTW_S_GENERATED;
}

struct logged {
	uint32_t type, len;
};

static void keep_frame(struct all *a, uint64_t type, const uint8_t *payload, size_t len)
{
	struct logged head = { (uint32_t)type, (uint32_t)len };

	GROW(a->log, a->log_room, a->log_bytes + sizeof head + len);
	memcpy(a->log + a->log_bytes, &head, sizeof head);
	memcpy(a->log + a->log_bytes + sizeof head, payload, len);
	a->log_bytes += sizeof head + len;
}

static int feed(void *arg, uint64_t type, const uint8_t *payload, size_t len)
{
	struct all *a = arg;

	if (a->live && is_code(type))
		keep_frame(a, type, payload, len);
	return watch_feed(a->watch, type, payload, len, a->err);
}

static void feed_log(struct all *a)
{
	struct logged head;

	for (size_t at = 0; at < a->log_bytes && !a->out.rc; at += sizeof head + head.len) {
		memcpy(&head, a->log + at, sizeof head);
		a->out.rc = watch_feed(a->watch, head.type, a->log + at + sizeof head, head.len,
				       a->err);
	}
}

/* Another start time is another program: its counters begin anew. */
static void put_hello(struct all *a)
{
	const struct process *first = processes_find(a->of, 1);
	const uint64_t fields[] = { MTW_VERSION, 0,           first->pid ? (uint64_t)first->pid : 1,
				    0,           a->starts++, 0,
				    0,           64 };

	frames_put_all(&a->out, fields, sizeof fields / sizeof *fields);
	frames_string(&a->out, "");
	frames_string(&a->out, *first->path ? first->path : first->name);
	frames_string(&a->out, "");
	frames_string(&a->out, "");
	frames_put(&a->out, 1); /* what it was called by */
	frames_string(&a->out, first->name);
	frames_end(&a->out, MTW_HELLO);
}

void all_frames_begin(struct all *a)
{
	frames_init(&a->out, feed, a);
	a->nodes_sent = 1;
	put_hello(a);
}

void all_frames_release(struct all *a)
{
	frames_release(&a->out);
	free(a->marks_sent);
	free(a->held);
	free(a->log);
}

static void put_nodes(struct all *a)
{
	for (uint32_t n = a->nodes_sent; n < a->paths.nodes; n++) {
		const struct location *at = &a->code.locations[a->paths.node[n].location];
		frames_node(&a->out, n, at->kind, a->paths.node[n].parent, at->module, at->offset);
	}
	frames_rest(&a->out, MTW_NODES);
	a->nodes_sent = a->paths.nodes;
}

static void put_slots(struct all *a)
{
	for (uint32_t s = a->slots_sent; s < a->slot_count; s++)
		frames_slot(&a->out, s + 1, a->slots[s].node, a->slots[s].epoch);
	frames_rest(&a->out, MTW_SLOTS);
	a->slots_sent = a->slot_count;
	for (uint32_t s = 0; s < a->slot_count; s++) {
		if (!a->slots[s].weighed || a->slots[s].weighed_sent)
			continue;
		a->slots[s].weighed_sent = true;
		frames_weighed(&a->out, s + 1);
	}
	frames_rest(&a->out, MTW_WEIGHED);
}

/* What an ended process left to others may be more than All knows to be allocated. */
static struct tally whole(struct tally t)
{
	if ((int64_t)t.free_blocks < 0) {
		t.alloc_blocks -= t.free_blocks;
		t.free_blocks = 0;
	}
	if ((int64_t)t.free_bytes < 0) {
		t.alloc_bytes -= t.free_bytes;
		t.free_bytes = 0;
	}
	return t;
}

static bool any_runs(const struct all *a)
{
	struct processes_sum sum;

	processes_total(a->of, &sum);
	return sum.running > 0;
}

static bool shrink(const struct all *a)
{
	for (uint32_t s = 0; s < a->slot_count; s++) {
		struct tally is = whole(a->slots[s].now);
		const struct tally *was = &a->slots[s].sent;

		if (is.alloc_blocks < was->alloc_blocks || is.alloc_bytes < was->alloc_bytes ||
		    is.free_blocks < was->free_blocks || is.free_bytes < was->free_bytes)
			return true;
	}
	return false;
}

/* Nothing runs, and all that there is was written. */
static bool is_over(const struct all *a)
{
	if (!model_final(watch_now(a->watch)) || a->nodes_sent != a->paths.nodes ||
	    a->slots_sent != a->slot_count || a->marks_sent_count != a->mark_count || any_runs(a))
		return false;
	for (uint32_t s = 0; s < a->slot_count; s++) {
		struct tally is = whole(a->slots[s].now);
		if (memcmp(&is, &a->slots[s].sent, sizeof is))
			return false;
	}
	return true;
}

static void put_counts(struct all *a)
{
	a->totals.sum = (struct tally){ 0 };
	for (uint32_t s = 0; s < a->slot_count; s++) {
		struct tally t = whole(a->slots[s].now);

		tally_add(&a->totals.sum, &t);
		if (!memcmp(&t, &a->slots[s].sent, sizeof t))
			continue;
		a->slots[s].sent = t;
		frames_counts(&a->out, s + 1, &t);
	}
	frames_rest(&a->out, MTW_COUNTS);
}

static void put_mark(struct all *a, size_t k, const struct live *held)
{
	const struct all_mark *at = &a->marks[k];
	struct tally t = all_marks_totals(a, k, held);

	frames_put_all(
		&a->out,
		(uint64_t[]){ k + 1, k, at->reduced ? MTW_MARK_TOTALS_ONLY : 0, at->time_ns }, 4);
	frames_string(&a->out, at->name);
	frames_string(&a->out, at->set_by);
	frames_tally(&a->out, &t);
	frames_put(&a->out, 0); /* resident memory */
	frames_end(&a->out, MTW_MARK);
}

static void put_held(struct all *a, size_t k, struct live *held)
{
	GROW(a->held, a->held_room, a->slot_count + 1ul);
	for (uint32_t s = 0; s < a->slot_count; s++) {
		if (held[s].blocks == a->held[s].blocks && held[s].bytes == a->held[s].bytes)
			continue;
		frames_cell(&a->out, MTW_MARK_LIVE, k + 1, s + 1, held[s].blocks, held[s].bytes);
		a->held[s] = held[s];
	}
	frames_cells_end(&a->out, MTW_MARK_LIVE, k + 1, true);
}

static void put_marks(struct all *a)
{
	for (size_t k = a->marks_sent_count; k < a->mark_count; k++) {
		struct live *held = xcalloc(a->slot_count + 1ul, sizeof *held);
		all_marks_held(a, k, held);
		put_mark(a, k, held);
		if (!a->marks[k].reduced)
			put_held(a, k, held);
		free(held);
	}
	GROW(a->marks_sent, a->marks_sent_room, a->mark_count + 1);
	memcpy(a->marks_sent, a->marks, a->mark_count * sizeof *a->marks);
	a->marks_sent_count = a->mark_count;
}

static bool is_same(const struct all_mark *x, const struct all_mark *y)
{
	return x->time_ns == y->time_ns && x->reduced == y->reduced && !strcmp(x->name, y->name);
}

/* One was dropped or renamed, or came before others. */
static bool marks_moved(const struct all *a)
{
	for (size_t k = 0; k < a->marks_sent_count; k++)
		if (k >= a->mark_count || !is_same(&a->marks[k], &a->marks_sent[k]))
			return true;
	return false;
}

/* The number that a mark of the watch has now: by its time; 0 = it is gone. */
static uint32_t number_of(const struct all *a, uint32_t id)
{
	for (size_t k = 0; id && k < a->mark_count; k++)
		if (a->marks[k].time_ns == a->marks_sent[id - 1].time_ns)
			return (uint32_t)k + 1;
	return 0;
}

static void put_sample_list(struct all *a, const struct sample_figures *list, size_t n)
{
	frames_put(&a->out, 0);
	for (size_t i = 0; i < n; i++) {
		frames_entry(&a->out, a->sample_serial + i + 1);
		frames_value(&a->out, list[i].time_ns);
		frames_value(&a->out, list[i].live_bytes);
		frames_value(&a->out, list[i].low_bytes);
		frames_value(&a->out, list[i].fall_bytes);
		frames_value(&a->out, 0); /* resident memory */
	}
	frames_list(&a->out, MTW_SAMPLES);
}

static void put_sample(struct all *a, uint32_t serial, const struct live *is, struct live *was)
{
	for (uint32_t s = 0; s < a->slot_count; s++) {
		if (!memcmp(&is[s], &was[s], sizeof *is))
			continue;
		frames_cell(&a->out, MTW_SAMPLE_LIVE, serial, s + 1, is[s].blocks, is[s].bytes);
		was[s] = is[s];
	}
	frames_cells_end(&a->out, MTW_SAMPLE_LIVE, serial, true);
}

/* Each time all of them, with numbers of their own: another process' sample may have changed any.
 */
static void put_samples(struct all *a, bool begins)
{
	struct sample_figures list[MTW_SAMPLES_MAX];
	bool running = any_runs(a);

	if (begins)
		a->samples_stamp = 0;
	size_t n = all_samples_make(a, running, list);
	if (!n && !begins)
		return;
	put_sample_list(a, list, n);
	struct live *is = xcalloc(a->slot_count + 1ul, sizeof *is),
		    *was = xcalloc(a->slot_count + 1ul, sizeof *was);
	for (size_t i = 0; i < n; i++) {
		all_samples_held(a, running, list[i].time_ns, is);
		put_sample(a, a->sample_serial + (uint32_t)i + 1, is, was);
	}
	free(is);
	free(was);
	a->sample_serial += (uint32_t)n;
	frames_string(&a->out, ALL_GREW_MOST);
	frames_string(&a->out, a->grew_most);
	frames_string(&a->out, "");
	frames_end(&a->out, MTW_OPTION);
}

static void put_losses(struct all *a)
{
	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		frames_put(&a->out, i);
		frames_put(&a->out, a->loss_events[i]);
		frames_put(&a->out, a->loss_bytes[i]);
		frames_end(&a->out, MTW_LOSS);
	}
}

/* The graph up to now; its peak is All's, where none was larger. */
static size_t graph_of(struct all *a, struct point points[ALL_GRAPH_POINTS])
{
	struct point peak = { 0 };
	struct all_graph g;

	all_graph_copy(&g, &a->graph);
	for (size_t i = 0; i < a->count; i++)
		if (a->members[i].watch)
			all_member_graph(a, &a->members[i], &g);
	all_others_graph(a, &g);
	size_t n = all_graph_sum(&g, points, &peak);
	all_graph_release(&g);
	if (peak.live_bytes > a->totals.peak_bytes) {
		a->totals.peak_bytes = peak.live_bytes;
		a->totals.peak_time_ns = peak.time_ns;
	}
	return n;
}

/* The resident memory of processes is no sum: they share pages. */
static void put_graph(struct all *a)
{
	struct point points[ALL_GRAPH_POINTS];
	size_t n = graph_of(a, points);

	frames_put_all(&a->out, (uint64_t[]){ 0, 0 }, 2); /* interval, owners */
	for (size_t i = 0; i < n; i++) {
		const struct point *x = &points[i];
		frames_point(&a->out);
		frames_value(&a->out, x->time_ns);
		frames_value(&a->out, x->live_bytes);
		frames_value(&a->out, x->live_blocks);
		frames_value(&a->out, x->alloc_bytes);
		frames_value(&a->out, x->alloc_blocks);
		frames_value(&a->out, x->free_blocks);
		frames_value(&a->out, 0);
	}
	frames_list(&a->out, MTW_HISTORY);
}

static void put_totals(struct all *a)
{
	struct totals *t = &a->totals;
	uint64_t live = live_bytes(&t->sum);

	/* What processes that have all ended held at their ends was not there at one time. */
	if (live > t->peak_bytes && any_runs(a)) {
		t->peak_bytes = live;
		t->peak_time_ns = t->time_ns;
	}
	const uint64_t fields[] = { t->time_ns,
				    t->sum.alloc_blocks,
				    t->sum.alloc_bytes,
				    t->sum.free_blocks,
				    t->sum.free_bytes,
				    t->peak_bytes,
				    0,
				    t->peak_time_ns,
				    t->agent_memory_bytes,
				    t->agent_cpu_ns,
				    t->hook_ns,
				    t->target_cpu_ns,
				    a->slot_count,
				    a->slot_count,
				    live,
				    t->agent_limit_bytes,
				    t->hook_error_ns,
				    0 };

	frames_put_all(&a->out, fields, sizeof fields / sizeof *fields);
	frames_end(&a->out, MTW_TOTALS);
}

static void put_end(struct all *a)
{
	const struct process *first = processes_find(a->of, 1);
	bool killed = first->state == PROCESS_SIGNALLED;
	bool ended = !any_runs(a) && !a->cut;

	if (ended) {
		frames_put_all(&a->out,
			       (uint64_t[]){ killed ? MTW_SIGNALLED : MTW_EXITED,
					     (uint64_t)first->status, a->totals.time_ns,
					     first->status_known },
			       4);
		frames_end(&a->out, MTW_STATE);
	}
	frames_put_all(&a->out,
		       (uint64_t[]){ ++a->ticks, a->totals.time_ns,
				     MTW_TICK_COMPLETE | (ended ? MTW_TICK_FINAL : 0) },
		       3);
	frames_end(&a->out, MTW_TICK);
}

static void start_again(struct all *a)
{
	put_hello(a);
	feed_log(a);
	a->nodes_sent = 1;
	a->slots_sent = 0;
	a->marks_sent_count = 0;
	if (a->held_room)
		memset(a->held, 0, a->held_room * sizeof *a->held);
	for (uint32_t s = 0; s < a->slot_count; s++) {
		a->slots[s].sent = (struct tally){ 0 };
		a->slots[s].weighed_sent = false;
	}
}

/* Of a tree that has ended, its end; never before the last tick. */
static uint64_t time_of(const struct all *a, uint64_t last_ns)
{
	const struct process *row = processes_find(a->of, PROCESS_ALL);
	uint64_t end = row && row->end_ns ? row->end_ns : processes_time_ns(a->of);

	return end > last_ns ? end : last_ns;
}

void all_frames_tick(struct all *a)
{
	struct model *m = watch_now(a->watch);
	bool begins = !a->ticks;
	uint32_t from = 0, to = 0;

	if (!begins && is_over(a))
		return;
	if (!begins && (model_final(m) || shrink(a) || marks_moved(a))) {
		from = number_of(a, model_base(m));
		to = number_of(a, model_until(m));
		start_again(a);
		begins = true;
	}
	a->totals.time_ns = time_of(a, begins ? 0 : a->totals.time_ns);
	put_losses(a);
	if (begins)
		put_graph(a);
	else if (!any_runs(a))
		graph_of(a, (struct point[ALL_GRAPH_POINTS]){ 0 }); /* the peak, once */
	put_nodes(a);
	put_slots(a);
	put_counts(a);
	put_marks(a);
	put_samples(a, begins);
	put_totals(a);
	put_end(a);
	if (from || to)
		model_set_interval(m, from, to);
	watch_fed(a->watch);
}
