/* SPDX-License-Identifier: MIT
 *
 * filter.c - the stacks that pass the filter: a part of the snapshot.
 *
 * Words match a function, library or file anywhere on the stack, and all must match; lib:X matches
 * the owner's name; size>N, grew, new test what the stack itself holds. age> age< thread: choose
 * among the blocks of a stack by the agent's last scan: the scan then gives the live amounts, and
 * each new scan makes the part again.
 */
#include "query/filter.h"
#include "model/state/cohorts.h"
#include "query/state.h"

#include <memtop/amount.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORDS_MAX 15u
#define NS 1000000000ull
#define AGE_MAX_S 1000000000ull

bool filter_text_has(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

bool filter_on(const struct query *q)
{
	return q->filter.active || q->zoom_owner_on;
}

void filter_known(const struct query *q, struct amounts *row)
{
	bool over = model_final(q->m) || model_state(q->m, NULL, NULL) == MTW_CUT;

	if (q->raw->interval != q->interval)
		row->changed = KNOWN_SOON;
	row->in_all = q->filter.thread ? KNOWN_NONE : KNOWN;
	row->rated = q->filter.thread ? KNOWN_NONE : over || model_window(q->m) ? KNOWN : KNOWN_NOT;
}

static uint16_t words_in(const struct filter *f, const char *text)
{
	uint16_t words = 0;

	for (size_t i = 0; text && i < f->word_count; i++)
		if (filter_text_has(text, f->words_wanted[i]))
			words |= (uint16_t)(1u << i);
	return words;
}

static uint16_t *words_of_functions(const struct query *q, const struct heap_names *n)
{
	uint16_t *of = xmalloc((n->functions + 1ul) * sizeof *of);

	for (uint32_t i = 0; i < n->functions; i++) {
		const struct heap_function *x = &n->function[i];
		const char *lib = x->lib != NO_ID ? names_lib(q->n, x->lib)->name
				  : x->function   ? GENERATED_NAME
						  : NULL;

		of[i] = words_in(&q->filter, x->function) | words_in(&q->filter, x->name) |
			words_in(&q->filter, lib);
	}
	return of;
}

static uint16_t *words_of_locations(const struct query *q, const struct heap_names *n)
{
	uint16_t *of = xcalloc(n->locations + 1ul, sizeof *of);
	uint16_t *functions = words_of_functions(q, n);
	struct map files = { 0 }; /* string -> its words + 1: many locations share one */

	for (uint32_t l = 0; l < n->locations; l++)
		for (uint32_t f = n->first[l]; f < n->first[l + 1]; f++) {
			uint64_t file = (uintptr_t)n->frames[f].file;
			uint32_t words = map_get(&files, file, 0);

			if (file && !words) {
				words = words_in(&q->filter, n->frames[f].file) + 1u;
				map_set(&files, file, words);
			}
			of[l] |= functions[n->frames[f].function] |
				 (uint16_t)(words ? words - 1 : 0);
		}
	map_release(&files);
	free(functions);
	return of;
}

/* Clears the bits of stacks that lack a word: what a node matches, all below it do. */
static void pass_words(const struct query *q, uint64_t *bits)
{
	const struct skeleton *s = q->raw->skeleton;
	uint16_t all = (uint16_t)((1u << q->filter.word_count) - 1);
	uint16_t *of_location, *words;

	if (!q->filter.word_count)
		return;
	of_location = words_of_locations(q, q->raw->names);
	words = xmalloc(s->nodes * sizeof *words);
	words[0] = 0;
	for (uint32_t i = 1; i < s->nodes; i++)
		words[i] = words[s->parent[i]] | of_location[s->location[i]];
	for (uint32_t k = 0; k < s->stacks; k++)
		if (words[s->node_of_stack[k]] != all)
			bits[k / 64] &= ~(1ull << k % 64);
	free(of_location);
	free(words);
}

bool filter_takes(const struct query *q, const struct cohort *c)
{
	const struct filter *f = &q->filter;

	if (!f->by_cohort)
		return true;
	if (f->thread && (c->thread >= f->thread_hits || !f->thread_hit[c->thread]))
		return false;
	return c->age_s >= f->age_min && c->age_s < f->age_max;
}

bool query_by_cohort(const struct query *q)
{
	return q->filter.by_cohort;
}

static void find_threads(struct query *q)
{
	struct filter *f = &q->filter;
	char id[16];

	if (!f->thread)
		return;
	bool by_id = f->thread[0] && !f->thread[strspn(f->thread, "0123456789")];
	f->thread_hits = model_thread_count(q->m);
	free(f->thread_hit);
	f->thread_hit = xcalloc(f->thread_hits + 1, sizeof *f->thread_hit);
	for (uint32_t i = 0; i < f->thread_hits; i++) {
		const struct thread *t = model_thread(q->m, i);
		if (!t || !t->known)
			continue;
		snprintf(id, sizeof id, "%u", t->tid);
		f->thread_hit[i] =
			by_id ? !strcmp(id, f->thread) : filter_text_has(t->name, f->thread);
	}
}

/* What the scan found of the stacks' blocks that pass; free() it. Of others the bits are cleared.
 */
static struct live *pass_blocks(struct query *q, uint64_t *bits)
{
	const struct skeleton *s = q->raw->skeleton;
	const struct cohorts *c = model_cohorts(q->m);
	struct live *live = xcalloc(s->stacks + 1ul, sizeof *live);

	struct cohort x;
	for (struct cohort_at at = { 0 }; c && cohorts_next(c, &at, &x);) {
		uint32_t stack = slots_stack(q->raw->slots, x.slot);
		if (stack == NO_ID || !filter_takes(q, &x))
			continue;
		live[stack].blocks += x.blocks;
		live[stack].bytes += x.bytes;
	}
	for (uint32_t k = 0; k < s->stacks; k++)
		if (!live[k].blocks)
			bits[k / 64] &= ~(1ull << k % 64);
	return live;
}

static bool owner_passes(const struct query *q, const struct owner *o)
{
	const struct filter *f = &q->filter;

	return !(f->active && f->lib && !filter_text_has(o->name, f->lib)) &&
	       !(q->zoom_owner_on && o->module != q->zoom_owner);
}

/* By number; free() it. */
static bool *owners_that_pass(const struct query *q)
{
	const struct heap *h = q->raw;
	bool *pass = xcalloc(h->owners->count, sizeof *pass);

	for (uint32_t i = 0; i < h->owners->count; i++)
		pass[i] = h->of_owner[i].sum.alloc_blocks && owner_passes(q, owners_at(q->o, i));
	return pass;
}

static bool passes(const struct query *q, uint32_t stack, const bool *owners)
{
	const struct filter *f = &q->filter;
	const struct heap *h = q->raw;
	struct tally self = heap_of_stack(h, stack);

	if (!self.alloc_blocks || !owners[heap_owner_of_stack(h, stack)])
		return false;
	if (!f->active)
		return true;
	if (f->size_above && live_bytes(&self) <= f->size_above)
		return false;
	struct change c = heap_change_of_stack(h, stack);
	if (f->grew && c.born_bytes <= c.gone_bytes)
		return false;
	return !f->fresh ||
	       (c.born_bytes && !heap_held_at_base(h, h->skeleton->node_of_stack[stack]));
}

/* The root is no stack here: blocks without a frame match nothing. */
static uint64_t *bits_of(struct query *q)
{
	uint32_t stacks = q->raw->skeleton->stacks;
	uint64_t *bits = xcalloc(stacks / 64 + 1ul, sizeof *bits);
	bool *owners = owners_that_pass(q);

	for (uint32_t k = 0; k < stacks; k++)
		if (q->raw->skeleton->node_of_stack[k] && passes(q, k, owners))
			bits[k / 64] |= 1ull << k % 64;
	free(owners);
	if (q->filter.active)
		pass_words(q, bits);
	return bits;
}

struct heap *filter_heap(struct query *q)
{
	struct filter *f = &q->filter;
	struct live *live = NULL;

	free(f->bits);
	f->bits = NULL;
	f->cohort_scan = model_cohort_scans(q->m);
	if (!filter_on(q))
		return heap_hold(q->raw);
	find_threads(q);
	f->bits = bits_of(q);
	if (f->by_cohort)
		live = pass_blocks(q, f->bits);
	struct heap *part = heap_part(q->raw, f->bits, live);
	free(live);
	return part;
}

bool filter_passed(const struct query *q, uint32_t node)
{
	const struct skeleton *s = q->raw ? q->raw->skeleton : NULL;
	const uint64_t *bits = q->filter.bits;

	if (!filter_on(q) || !bits)
		return !filter_on(q);
	if (node >= s->nodes || !bit_of(s->stack_bits, node))
		return false;
	return bit_of(bits, skeleton_first(s, node));
}

static void filter_clear(struct filter *f)
{
	for (size_t i = 0; i < f->word_count; i++)
		free(f->words_wanted[i]);
	free(f->lib);
	free(f->thread);
	free(f->thread_hit);
	free(f->bits);
	*f = (struct filter){ .age_max = UINT32_MAX };
}

void filter_release(struct filter *f)
{
	filter_clear(f);
}

static int parse_size(const char *text, uint64_t *bytes, struct err *err)
{
	if (mtw_amount(text, MTW_AMOUNT_BYTES, bytes))
		return 0;
	return err_set(err, 2, "size>%s: not a size; write size>64k, size>2M", text);
}

/* "age>60s": blocks older than that; "age<5m": younger ones. */
static int parse_age(struct filter *f, const char *word, struct err *err)
{
	uint64_t ns;

	if (!mtw_amount(word + 4, MTW_AMOUNT_NS, &ns) || ns > AGE_MAX_S * NS)
		return err_set(err, 2, "%s: not an age; write age>60s, age<5m, age>2h", word);
	*(word[3] == '>' ? &f->age_min : &f->age_max) = (uint32_t)(ns / NS);
	f->by_cohort = true;
	return 0;
}

static int take_word(struct filter *f, const char *word, struct err *err)
{
	f->active = true;
	if (!strncmp(word, "lib:", 4)) {
		free(f->lib);
		f->lib = xstrdup(word + 4);
		return 0;
	}
	if (!strncmp(word, "thread:", 7)) {
		free(f->thread);
		f->thread = xstrdup(word + 7);
		f->by_cohort = true;
		return 0;
	}
	if (!strncmp(word, "age>", 4) || !strncmp(word, "age<", 4))
		return parse_age(f, word, err);
	if (!strncmp(word, "size>", 5))
		return parse_size(word + 5, &f->size_above, err);
	if (!strcmp(word, "grew") || !strcmp(word, "new")) {
		*(word[0] == 'g' ? &f->grew : &f->fresh) = true;
		return 0;
	}
	if (f->word_count == WORDS_MAX)
		return err_set(err, 2, "filter: more than %u words; use fewer", WORDS_MAX);
	f->words_wanted[f->word_count++] = xstrdup(word);
	return 0;
}

static int take_words(struct filter *f, const char *text, struct err *err)
{
	char *copy = xstrdup(text), *save = NULL;
	int rc = 0;

	for (char *w = strtok_r(copy, " ", &save); w && !rc; w = strtok_r(NULL, " ", &save))
		rc = take_word(f, w, err);
	free(copy);
	return rc;
}

int query_check_filter(const char *text, bool *by_cohort, struct err *err)
{
	struct filter tried = { 0 };
	int rc = take_words(&tried, text, err);

	*by_cohort = tried.by_cohort;
	filter_clear(&tried);
	return rc;
}

/* An invalid filter changes nothing. */
int query_set_filter(struct query *q, const char *text, struct err *err)
{
	bool was_active = q->filter.active, by_cohort;

	if (query_check_filter(text, &by_cohort, err))
		return -1;
	query_mine(q);
	filter_clear(&q->filter);
	take_words(&q->filter, text, err);
	q->filter_stale |= was_active || q->filter.active;
	return 0;
}
