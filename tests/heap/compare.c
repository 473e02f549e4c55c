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

static void take(struct columns *c, const struct model *m)
{
	double begin = cpu_ms();

	model_columns(m, c);
	print_time("the model's nodes and slots as columns", cpu_ms() - begin);
}

/* What a node holds of its own, and with what is below it. */
struct plain {
	struct tally self, incl;
	struct change moved, moves;
	uint64_t estimates;
};

/* Parents come before their children. */
static void add_up(const struct model *m, struct plain *of)
{
	for (uint32_t i = model_dense_count(m); i-- > 0;) {
		struct plain *up = i ? &of[model_dense(m, i, NULL)->parent] : NULL;

		tally_add(&of[i].incl, &of[i].self);
		change_add(&of[i].moves, &of[i].moved);
		if (!up)
			continue;
		tally_add(&up->incl, &of[i].incl);
		change_add(&up->moves, &of[i].moves);
		up->estimates += of[i].estimates;
	}
}

static void compare_sums(const struct heap *h, const struct model *m)
{
	struct plain *of = calloc(model_dense_count(m), sizeof *of);

	for (uint32_t i = 0; i < model_slot_count(m); i++) {
		const struct slot *s = model_slot(m, i);

		if (s->known)
			tally_add(&of[s->node].self, &s->now);
	}
	for (uint32_t i = 0; i < model_dense_count(m); i++)
		of[i].estimates = model_dense(m, i, NULL)->self_estimate;
	add_up(m, of);
	for (uint32_t i = 0; i < model_dense_count(m); i++) {
		uint32_t at = h->skeleton->node_of[i];
		struct tally b = heap_incl(h, at);
		uint64_t y = heap_estimates(h, at);

		equal("the sum", i, &of[i].incl, &b, sizeof b);
		b = heap_self(h, at);
		equal("the own amount", i, &of[i].self, &b, sizeof b);
		equal("the number of estimates", i, &of[i].estimates, &y, sizeof y);
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

struct moves {
	const struct model *m;
	struct plain *of;
};

static void add_move(void *arg, uint32_t slot, const struct change *c)
{
	const struct moves *x = arg;

	change_add(&x->of[model_slot(x->m, slot)->node].moved, c);
}

static void compare_changes(const struct columns *c, struct model *m, uint32_t mark)
{
	struct live *base = model_live_at(m, c, mark);
	struct heap *h = heap_new(c, &(struct base){ .from = base });
	struct plain *of = calloc(model_dense_count(m), sizeof *of);

	model_between(m, mark, 0, add_move, &(struct moves){ m, of });
	add_up(m, of);
	for (uint32_t i = 0; i < model_dense_count(m); i++) {
		uint32_t at = h->skeleton->node_of[i];
		struct change b = heap_change(h, at);

		equal("the change", i, &of[i].moves, &b, sizeof b);
		b = heap_self_change(h, at);
		equal("the own change", i, &of[i].moved, &b, sizeof b);
	}
	free(of);
	heap_drop(h);
	free(base);
}

static void time_passes(const struct columns *c)
{
	struct live *base = calloc(c->slots + 1ul, sizeof *base);
	uint32_t *order = malloc((c->skeleton->stacks + 1ul) * sizeof *order);
	double least[3] = { 1e9, 1e9, 1e9 };

	for (int round = 0; round < 5; round++) {
		double t[4] = { cpu_ms() };
		struct heap *h = heap_new(c, NULL);

		t[1] = cpu_ms();
		struct heap *with_base = heap_new(c, &(struct base){ .from = base });
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
	free(base);
	free(order);
}

/* The heap that is made of a mark: its cells, by slot, and the mark's own live total. What threads
 * were allocating while the mark was set, a block each, may count as allocated and freed. */
static void compare_mark(const struct columns *c, const struct model *m, uint32_t mark)
{
	const struct mark *k = model_mark(m, mark);
	struct live *held = model_live_at(m, c, mark);
	struct model *then = model_new();
	struct tally sum = { 0 };
	struct err err = { 0 };
	struct columns at;

	if (model_recall(then, m, mark, SIZE_MAX, &err) != 1) {
		printf("  mark %u: %s\n", mark, err.text);
		different++;
	}
	take(&at, then);
	for (uint32_t i = 0; i < at.slots; i++) {
		struct live is = { live_blocks(&at.now[i]), live_bytes(&at.now[i]) };
		equal("a mark's live slot", i, &is, &held[i], sizeof is);
		tally_add(&sum, &at.now[i]);
	}
	struct live all = { live_blocks(&sum), live_bytes(&sum) },
		    own = { live_blocks(&k->totals), live_bytes(&k->totals) };
	equal("a mark's live total", mark, &all, &own, sizeof all);
	columns_release(&at);
	model_free(then);
	free(held);
}

static int compare(const char *path)
{
	struct err err = { 0 };
	struct target t;
	struct columns c;
	struct loop *loop = loop_new(&err);
	struct watch *w = NULL;

	if (!loop || target_parse(path, &t, &err) ||
	    !(w = watch_open(loop, &t, &(struct watch_options){ .who = "compare" }, &err)) ||
	    watch_wait_complete(w, 60000, &err)) {
		printf("%s\n", err.text);
		return 1;
	}
	struct model *m = watch_model(w);
	take(&c, m);
	printf("%s: %u nodes, %u stacks, %u slots\n", path, c.skeleton->nodes, c.skeleton->stacks,
	       c.slots);
	struct heap *h = heap_new(&c, NULL);
	compare_sums(h, m);
	compare_frames(w);
	heap_drop(h);
	for (uint32_t mark = 1; mark < model_mark_limit(m); mark++)
		if (model_mark_says(m, mark)) {
			compare_changes(&c, m, mark);
			compare_mark(&c, m, mark);
		}
	if (timed)
		time_passes(&c);
	columns_release(&c);
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
