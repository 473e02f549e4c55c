/* SPDX-License-Identifier: MIT
 *
 * compare.c - compare [--time] SESSION...: a session's heap as backend/heap/ has it, against the
 * model's answers, figure by figure: sums, own amounts, estimates of every node; what was born and
 * gone since every mark, the frames of a report's stacks. Ends with 1 where one differs. --time:
 * what each pass takes, in ms of cpu, the least of five.
 */
#include "base/loop.h"
#include "heap/sites.h"
#include "link/watch.h"
#include "model/columns.h"
#include "model/model.h"
#include "owners/names.h"
#include "owners/owner.h"
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

static void compare_sums(const struct heap *h, const struct model *m)
{
	for (uint32_t i = 0; i < model_dense_count(m); i++) {
		const struct node *n = model_dense(m, i, NULL);
		uint32_t at = h->skeleton->node_of[i];
		struct tally a = model_incl(m, n), b = heap_incl(h, at);
		uint64_t x = model_sampled(m, n), y = heap_estimates(h, at);

		equal("the sum", i, &a, &b, sizeof a);
		a = model_self(m, n);
		b = heap_self(h, at);
		equal("the own amount", i, &a, &b, sizeof a);
		equal("the number of estimates", i, &x, &y, sizeof x);
	}
}

static void compare_stack(const struct heap *h, const struct heap_names *names, struct owners *o,
			  uint32_t index)
{
	uint32_t inlined, site = owners_site_of_index(o, index, &inlined), frame, stack, at;
	const struct heap_names *n = names;

	stack = skeleton_first(h->skeleton, h->skeleton->node_of[index]);
	at = heap_site_node(h->skeleton, n, stack, &frame);
	uint64_t a[2] = { h->skeleton->node_of[site], inlined };
	uint64_t b[2] = { at, frame == NO_ID ? 0 : frame - n->first[h->skeleton->location[at]] };

	equal("the call site", index, a, b, sizeof a);
}

static void compare_site(const struct heap_sites *s, const struct heap_site *sums,
			 const struct heap *h, const struct site *site, struct owners *o)
{
	const struct names *n = owners_names(o);

	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t a[2] = { site->leaf, site->stacks }, b[2];

		if (s->function[i] == NO_ID ||
		    strcmp(names_fn(n, s->function[i])->name, site->name) != 0 ||
		    h->skeleton->id[h->skeleton->node_of_stack[sums[i].heaviest]] != site->leaf)
			continue;
		b[0] = site->leaf;
		b[1] = sums[i].stacks;
		equal("a call site's stacks", site->leaf, a, b, sizeof a);
		equal("a call site's sum", site->leaf, &site->amounts.sum, &sums[i].amounts.sum,
		      sizeof sums[i].amounts.sum);
		equal("a call site's change", site->leaf, &site->amounts.change,
		      &sums[i].amounts.change, sizeof sums[i].amounts.change);
		return;
	}
	printf("  no call site %s\n", site->name);
	different++;
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

/* All stacks of a report: its frames of each, and the query's. */
static void compare_frames(struct watch *w)
{
	enum { MOST = 4096 };
	struct report *r = report_new(w);
	struct query *q = query_new(watch_model(w), watch_symbols(w), r->owners);
	struct frame_out *a = calloc(2 * MOST, sizeof *a), *b = a + MOST;

	for (size_t i = 0; i < r->stack_count; i++) {
		uint64_t n[2] = { query_stack(q, r->stacks[i].leaf, a, MOST),
				  report_stack_frames(r, r->stacks[i].stack, b, MOST) };

		equal("the number of frames", r->stacks[i].leaf, &n[0], &n[1], sizeof n[0]);
		for (uint64_t k = 0; k < n[0] && k < n[1]; k++)
			compare_frame(r->stacks[i].leaf, &a[k], &b[k]);
	}
	free(a);
	query_free(q);
	report_free(r);
}

/* Names have arrived. */
static void compare_sites(const struct heap *h, struct watch *w)
{
	struct model *m = watch_model(w);
	struct owners *o = owners_new(m, watch_symbols(w));
	struct names *names = owners_names(o);
	const struct owner *owners;
	const struct site *list;

	owners_update(o, &owners);
	for (int i = 0; i < 3; i++) { /* what is asked for may ask for more */
		heap_names_drop(names_take(names));
		symbols_wait(watch_symbols(w));
		owners_update(o, &owners);
	}
	struct heap_names *n = names_take(names);
	double begin = cpu_ms();
	struct heap_sites *s = heap_sites_new(h->skeleton, n);
	print_time("the call sites of all stacks", cpu_ms() - begin);
	struct heap_site *sums = calloc(s->count + 1ul, sizeof *sums);
	begin = cpu_ms();
	heap_sites_sum(s, h, sums);
	print_time("... their sums", cpu_ms() - begin);
	for (uint32_t i = 1; i < model_dense_count(m); i++)
		if (model_dense(m, i, NULL)->first_slot != NO_ID)
			compare_stack(h, n, o, i);
	struct query *q = query_new(m, watch_symbols(w), o);
	size_t count = query_sites(q, BY_LIVE, false, true, &list);
	for (size_t i = 0; i < count; i++)
		compare_site(s, sums, h, &list[i], o);
	query_free(q);
	free(sums);
	heap_sites_drop(s);
	heap_names_drop(n);
	owners_free(o);
}

static void compare_changes(const struct columns *c, struct model *m, uint32_t mark)
{
	struct live *base = model_live_at(m, c, mark);
	struct heap *h = heap_new(c, &(struct base){ .from = base });

	if (!model_set_interval(m, mark, 0)) {
		while (!model_go_on(m, UINT64_MAX))
			;
		for (uint32_t i = 0; i < model_dense_count(m); i++) {
			const struct node *n = model_dense(m, i, NULL);
			uint32_t at = h->skeleton->node_of[i];
			struct change a = model_change(m, n), b = heap_change(h, at);
			uint64_t x = model_held_at_base(m, n), y = heap_held_at_base(h, at);

			equal("the change", i, &a, &b, sizeof a);
			a = model_self_change(m, n);
			b = heap_self_change(h, at);
			equal("the own change", i, &a, &b, sizeof a);
			equal("what it held at the base", i, &x, &y, sizeof x);
		}
	}
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
	compare_sites(h, w);
	compare_frames(w);
	heap_drop(h);
	for (uint32_t mark = 1; mark < model_mark_limit(m); mark++)
		if (model_mark_says(m, mark))
			compare_changes(&c, m, mark);
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
