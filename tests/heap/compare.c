/* SPDX-License-Identifier: MIT
 *
 * compare.c - compare [--time] SESSION...: a session's heap as backend/heap/ has it, against sums
 * that are added up slot by slot and node by node, figure by figure: sums, own amounts, estimates
 * of every node; what was born and gone since every mark; the heap at it; the frames of a report's
 * stacks. Ends with 1 where one differs. --time: what each pass takes, in ms of cpu, the least of
 * five.
 */
#include "base/loop.h"
#include "heap/heap.h"
#include "link/watch.h"
#include "model/columns.h"
#include "model/interval.h"
#include "model/model.h"
#include "query/query.h"
#include "report/frames.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t figures, different;
static bool timed;

static void equal(const char *what, uint32_t node, const void *a, const void *b, size_t bytes)
{
	figures += bytes / sizeof(uint64_t);
	if (!memcmp(a, b, bytes))
		return;
	if (different++ < 20)
		printf("  %s of node %u differs\n", what, node);
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void print_time(const char *what, double ms)
{
	if (timed)
		printf("  %-40s %8.1f ms\n", what, ms);
}

/* What a node holds of its own, and with what is below it. By node of the columns' call tree. */
struct plain {
	struct tally self, incl;
	struct change moved, moves;
	uint64_t estimates;
};

static uint32_t node_of(const struct columns *c, uint32_t slot)
{
	return c->skeleton->node_of_stack[c->slots->stack[slot]];
}

/* Parents come before their children. */
static void add_up(const struct skeleton *s, struct plain *of)
{
	for (uint32_t n = s->nodes; n-- > 0;) {
		struct plain *up = n ? &of[s->parent[n]] : NULL;

		tally_add(&of[n].incl, &of[n].self);
		change_add(&of[n].moves, &of[n].moved);
		if (!up)
			continue;
		tally_add(&up->incl, &of[n].incl);
		change_add(&up->moves, &of[n].moves);
		up->estimates += of[n].estimates;
	}
}

static void compare_sums(const struct heap *h, const struct columns *c)
{
	struct plain *of = calloc(c->skeleton->nodes, sizeof *of);

	for (uint32_t a = 0; a < c->slots->count; a++) {
		struct tally now = columns_now(c, a);
		tally_add(&of[node_of(c, a)].self, &now);
		if (bit_of(c->weighed_bits, c->place_of[a]))
			of[node_of(c, a)].estimates = 1;
	}
	add_up(c->skeleton, of);
	for (uint32_t n = 0; n < c->skeleton->nodes; n++) {
		struct tally b = heap_incl(h, n);
		uint64_t y = heap_amounts(h, n).sampled;

		equal("the sum", n, &of[n].incl, &b, sizeof b);
		b = heap_self(h, n);
		equal("the own amount", n, &of[n].self, &b, sizeof b);
		equal("the number of estimates", n, &of[n].estimates, &y, sizeof y);
	}
	free(of);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static void compare_frame(uint32_t leaf, const struct frame_out *a, const struct frame_out *b)
{
	uint64_t x[] = { a->line, a->module_id, a->offset,     a->address, a->location,
			 a->part, a->inlined,   a->has_offset, a->site,    a->by_pointer };
	uint64_t y[] = { b->line, b->module_id, b->offset,     b->address, b->location,
			 b->part, b->inlined,   b->has_offset, b->site,    b->by_pointer };
	bool same = same_text(a->function, b->function) && same_text(a->file, b->file) &&
		    same_text(a->module, b->module);
	uint64_t want = true, got = same;

	equal("the texts of a frame", leaf, &want, &got, sizeof want);
	equal("a frame", leaf, x, y, sizeof x);
}

/* The call site's key for rules. */
static void compare_key(struct query *q, const struct report *r, uint32_t leaf, uint32_t stack)
{
	char a[EXPECTED_KEY_MAX] = "", b[EXPECTED_KEY_MAX] = "";
	uint64_t want = true, got;

	if (!leaf)
		return; /* blocks without a stack */
	query_stack_key(q, leaf, a);
	report_site_key(r, stack, b);
	got = !strcmp(a, b);
	equal("the key for rules", leaf, &want, &got, sizeof want);
}

/* All stacks of a report: its frames of each, and the query's. */
static void compare_frames(struct watch *w)
{
	enum { MOST = 4096 };
	struct report *r = report_new(w);
	struct query *q = query_new(watch_model(w), watch_symbols(w), r->owners);
	struct frame_out *a = calloc(2 * MOST, sizeof *a), *b = a + MOST;

	for (size_t i = 0; i < r->stack_count; i++) {
		uint32_t leaf = report_stack(r, r->order[i]).leaf;
		uint64_t n[2] = { query_stack(q, leaf, a, MOST),
				  report_stack_frames(r, r->order[i], b, MOST) };

		equal("the number of frames", leaf, &n[0], &n[1], sizeof n[0]);
		compare_key(q, r, leaf, r->order[i]);
		for (uint64_t k = 0; k < n[0] && k < n[1]; k++)
			compare_frame(leaf, &a[k], &b[k]);
	}
	free(a);
	query_free(q);
	report_free(r);
}

static void compare_changes(const struct columns *c, const struct model *m, uint32_t mark)
{
	struct base base = { .from = model_live_at(m, c, mark) };
	struct live *held = model_held_at(m, c->slots, mark);
	struct heap *h = heap_new(c, &base);
	struct plain *of = calloc(c->skeleton->nodes, sizeof *of);

	for (uint32_t a = 0; a < c->slots->count; a++) {
		struct tally now = columns_now(c, a);
		struct live is = live_of(&now);
		struct change x =
			change_between(held[a].blocks, held[a].bytes, is.blocks, is.bytes);
		change_add(&of[node_of(c, a)].moved, &x);
	}
	add_up(c->skeleton, of);
	for (uint32_t n = 0; n < c->skeleton->nodes; n++) {
		struct change b = heap_amounts(h, n).change;

		equal("the change", n, &of[n].moves, &b, sizeof b);
		b = heap_self_amounts(h, n).change;
		equal("the own change", n, &of[n].moved, &b, sizeof b);
	}
	free(of);
	heap_drop(h);
	live_list_release(&base.from);
	free(held);
}

static void time_passes(const struct columns *c)
{
	struct base base = { .from.list = calloc(c->slots->count + 1ul, sizeof(struct narrow)) };
	uint32_t *order = malloc((c->skeleton->stacks + 1ul) * sizeof *order);
	double least[3] = { 1e9, 1e9, 1e9 };

	for (int round = 0; round < 5; round++) {
		double t[4] = { cpu_ms() };
		struct heap *h = heap_new(c, NULL);

		t[1] = cpu_ms();
		struct heap *with_base = heap_new(c, &base);
		t[2] = cpu_ms();
		heap_order(h, order);
		t[3] = cpu_ms();
		heap_drop(h);
		heap_drop(with_base);
		for (int i = 0; i < 3; i++)
			least[i] = t[i + 1] - t[i] < least[i] ? t[i + 1] - t[i] : least[i];
	}
	print_time("a snapshot", least[0]);
	print_time("... with a base", least[1]);
	print_time("all stacks by live bytes", least[2]);
	live_list_release(&base.from);
	free(order);
}

/* The heap that is made of a mark: its cells, by slot, and the mark's own live total. What threads
 * were allocating while the mark was set, a block each, may count as allocated and freed. */
static void compare_mark(const struct columns *c, const struct model *m, uint32_t mark)
{
	const struct mark *k = model_mark(m, mark);
	struct live *held = model_held_at(m, c->slots, mark);
	struct model *then = model_new();
	struct tally sum = { 0 };
	struct err err = { 0 };

	if (model_recall(then, m, mark, &err)) {
		printf("  mark %u: %s\n", mark, err.text);
		different++;
	}
	const struct columns *at = model_columns(then);
	for (uint32_t a = 0; a < at->slots->count; a++) {
		struct tally all = columns_now(at, a);
		struct live is = live_of(&all);
		equal("a mark's live slot", a, &is, &held[a], sizeof is);
		tally_add(&sum, &all);
	}
	struct live all = live_of(&sum), own = live_of(&k->totals);
	equal("a mark's live total", mark, &all, &own, sizeof all);
	model_free(then);
	free(held);
}

static int compare(const char *path)
{
	struct err err = { 0 };
	struct target t;
	struct loop *loop = loop_new(&err);
	struct watch *w = NULL;

	if (!loop || target_parse(path, &t, &err) ||
	    !(w = watch_open(loop, &t, &(struct watch_options){ .who = "compare" }, &err)) ||
	    watch_wait_complete(w, 60000, &err)) {
		printf("%s\n", err.text);
		return 1;
	}
	struct model *m = watch_model(w);
	const struct columns *c = model_columns(m);
	printf("%s: %u nodes, %u stacks, %u slots\n", path, c->skeleton->nodes, c->skeleton->stacks,
	       c->slots->count);
	struct heap *h = heap_new(c, NULL);
	compare_sums(h, c);
	heap_drop(h);
	compare_frames(w);
	c = model_columns(m);
	for (uint32_t mark = 1; mark < model_mark_limit(m); mark++)
		if (model_mark_says(m, mark)) {
			compare_changes(c, m, mark);
			compare_mark(c, m, mark);
		}
	if (timed)
		time_passes(c);
	watch_close(w);
	loop_free(loop);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	timed = argc > 1 && !strcmp(argv[1], "--time");
	for (int i = 1 + timed; i < argc; i++)
		failed |= compare(argv[i]);
	printf("%llu figures compared, %llu differ\n", (unsigned long long)figures,
	       (unsigned long long)different);
	return failed || different || !figures;
}
