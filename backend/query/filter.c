/* SPDX-License-Identifier: MIT
 *
 * filter.c - the stacks that pass the filter, and what they hold.
 *
 * Words match a function, library or file anywhere on the stack, and all must match; lib:X matches
 * the owner's name; size>N, grew, new test what the stack itself holds. While a filter (or the zoom
 * into an owner) is on, sums are kept here: one pass down for the words and one up for the sums, in
 * slices, then updates stack by stack. Otherwise the model's sums are used. Sums lie in pages,
 * which exist where something passes: new nodes move nothing, and pages are freed in slices, too.
 * age> age< thread: choose among the blocks of a stack by the agent's last scan: the scan then
 * gives the live amounts, and each new scan makes the sums again.
 */
#include "query/filter.h"
#include "query/steps.h"
#include "model/state/cohorts.h"

#include <memtop/amount.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ASKED 0x8000u /* in word_of_*: was looked at */
#define HOLDS 0x8000u /* in words: self or incl is not zero */
#define WORDS_MAX 15u
#define NS 1000000000ull
#define AGE_MAX_S 1000000000ull
#define PAGE 512u      /* nodes */
#define PAGE_STEPS 32u /* to give one back */

bool filter_text_has(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

bool filter_on(const struct query *q)
{
	return q->filter.active || q->zoom_owner_on;
}

static const struct amounts *of_node(const struct query *q, uint32_t index, bool incl)
{
	static _Thread_local struct amounts v; /* main thread only; borrowed for one addition */

	amounts_of_node(q->m, model_dense(q->m, index, NULL), incl, &v);
	return &v;
}

void filter_known(const struct query *q, struct amounts *row)
{
	bool over = model_final(q->m) || model_state(q->m, NULL, NULL) == MTW_CUT;

	row->in_all = q->filter.thread ? KNOWN_NONE : KNOWN;
	row->rated = q->filter.thread ? KNOWN_NONE : over || model_window(q->m) ? KNOWN : KNOWN_NOT;
}

static const struct passed *passed_at(const struct filter *f, uint32_t index)
{
	static const struct passed nothing;

	return index / PAGE < f->page_room && f->pages[index / PAGE]
		       ? &f->pages[index / PAGE][index % PAGE]
		       : &nothing;
}

static struct passed *passed_in(struct filter *f, uint32_t index)
{
	GROW(f->pages, f->page_room, (size_t)index / PAGE + 1);
	if (!f->pages[index / PAGE])
		f->pages[index / PAGE] = xcalloc(PAGE, sizeof **f->pages);
	return &f->pages[index / PAGE][index % PAGE];
}

const struct amounts *filter_self(const struct query *q, uint32_t index)
{
	return filter_on(q) ? &passed_at(&q->filter, index)->self : of_node(q, index, false);
}

const struct amounts *filter_incl(const struct query *q, uint32_t index)
{
	return filter_on(q) ? &passed_at(&q->filter, index)->incl : of_node(q, index, true);
}

static uint16_t words_of_fn(struct query *q, uint32_t fn)
{
	struct filter *f = &q->filter;
	const struct name_fn *x = names_fn(q->n, fn);

	GROW(f->word_of_fn, f->fn_room, (size_t)fn + 1);
	if (f->word_of_fn[fn])
		return f->word_of_fn[fn];
	uint16_t words = ASKED;
	for (size_t i = 0; i < f->word_count; i++)
		if (filter_text_has(x->function, f->words_wanted[i]) ||
		    filter_text_has(x->name, f->words_wanted[i]) ||
		    filter_text_has(x->lib != NO_ID ? names_lib(q->n, x->lib)->name
				    : x->function   ? GENERATED_NAME
						    : NULL,
				    f->words_wanted[i]))
			words |= (uint16_t)(1u << i);
	return f->word_of_fn[fn] = words;
}

static uint16_t words_of_loc(struct query *q, uint32_t loc)
{
	struct filter *f = &q->filter;
	const struct name_loc *l = names_loc(q->n, loc);

	GROW(f->word_of_loc, f->loc_room, (size_t)loc + 1);
	if (f->word_of_loc[loc])
		return f->word_of_loc[loc];
	uint16_t words = ASKED;
	for (uint32_t i = 0; i < l->count; i++) {
		words |= words_of_fn(q, l->frames[i].fn);
		for (size_t w = 0; w < f->word_count; w++)
			if (filter_text_has(l->frames[i].file, f->words_wanted[w]))
				words |= (uint16_t)(1u << w);
	}
	return f->word_of_loc[loc] = words;
}

static uint16_t words_of_node(struct query *q, uint32_t index)
{
	return words_of_loc(q, names_loc_of(q->n, index));
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

bool filter_passed(const struct query *q, uint32_t index)
{
	return !filter_on(q) || passed_at(&q->filter, index)->self.sum.alloc_blocks;
}

/* Keeps only the live blocks that pass the filter. False: none. */
static bool keep_cohorts(const struct query *q, const struct node *n, struct amounts *v)
{
	const struct cohorts *c = model_cohorts(q->m);
	uint64_t blocks = 0, bytes = 0;
	struct tally *t = &v->sum;

	for (uint32_t i = n->first_slot; c && i != NO_ID;
	     i = model_dense_slot(q->m, i)->next_of_node) {
		const struct cohort *x;
		for (size_t left = cohorts_of_slot(c, model_dense_slot(q->m, i)->id, &x); left;
		     left--, x++) {
			if (!filter_takes(q, x))
				continue;
			blocks += x->blocks;
			bytes += x->bytes;
		}
	}
	t->alloc_blocks = t->alloc_blocks > blocks ? t->alloc_blocks : blocks;
	t->alloc_bytes = t->alloc_bytes > bytes ? t->alloc_bytes : bytes;
	t->free_blocks = t->alloc_blocks - blocks;
	t->free_bytes = t->alloc_bytes - bytes;
	return blocks != 0;
}

static bool passes(struct query *q, uint32_t index)
{
	const struct filter *f = &q->filter;
	const struct node *n = model_dense(q->m, index, NULL);

	if (f->active && (f->words[index] & ~HOLDS) != (1u << f->word_count) - 1)
		return false;
	struct tally self = model_self(q->m, n);
	if (!self.alloc_blocks)
		return false;
	if (f->active && f->lib && !filter_text_has(owners_of_index(q->o, index)->name, f->lib))
		return false;
	if (q->zoom_owner_on && owners_of_index(q->o, index)->module != q->zoom_owner)
		return false;
	if (!f->active)
		return true;
	if (f->size_above && live_bytes(&self) <= f->size_above)
		return false;
	struct change c = model_self_change(q->m, n);
	if (f->grew && c.born_bytes <= c.gone_bytes)
		return false;
	return !f->fresh || (c.born_bytes && !model_held_at_base(q->m, n));
}

/* Reduces *v to the part that passes. False: nothing. */
static bool taken(struct query *q, uint32_t index, struct amounts *v)
{
	const struct node *n = model_dense(q->m, index, NULL);

	if (!passes(q, index))
		return false;
	amounts_of_node(q->m, n, false, v);
	return !q->filter.by_cohort || keep_cohorts(q, n, v);
}

static uint16_t words_on_path(struct query *q, uint32_t i)
{
	struct filter *f = &q->filter;

	if (!i || !f->word_count)
		return 0;
	return (f->words[model_dense(q->m, i, NULL)->parent] | words_of_node(q, i)) &
	       (uint16_t)~HOLDS;
}

static void add_words(struct query *q, uint32_t i)
{
	q->filter.words[i] = words_on_path(q, i);
}

bool filter_loc_again(struct query *q, uint32_t loc)
{
	struct filter *f = &q->filter;
	uint16_t before = loc < f->loc_room ? f->word_of_loc[loc] : 0;

	if (!before)
		return false; /* nobody asked */
	f->word_of_loc[loc] = 0;
	return words_of_loc(q, loc) != before;
}

bool filter_words_again(struct query *q, uint32_t i)
{
	struct filter *f = &q->filter;
	uint16_t words;

	if (i >= f->count)
		return false; /* they come yet */
	words = words_on_path(q, i) | (f->words[i] & HOLDS);
	if (f->words[i] == words)
		return false;
	f->words[i] = words;
	return true;
}

static void fit(struct query *q)
{
	struct filter *f = &q->filter;

	GROW_UNTOUCHED(f->words, f->words_room, model_dense_count(q->m));
}

/* Matches the words of new nodes; values come with the arrivals. */
void filter_add_nodes(struct query *q)
{
	struct filter *f = &q->filter;

	if (!filter_on(q))
		return;
	fit(q);
	while (f->summing && f->count < model_dense_count(q->m))
		add_words(q, f->count++);
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
	f->thread_hit = xcalloc(f->thread_hits, sizeof *f->thread_hit);
	for (uint32_t i = 0; i < f->thread_hits; i++) {
		const struct thread *t = model_thread(q->m, i);
		if (!t || !t->known)
			continue;
		snprintf(id, sizeof id, "%u", t->tid);
		f->thread_hit[i] =
			by_id ? !strcmp(id, f->thread) : filter_text_has(t->name, f->thread);
	}
}

static void drop_sums(struct filter *f)
{
	GROW(f->old, f->old_room, f->old_count + f->page_room);
	for (size_t i = 0; i < f->page_room; i++)
		if (f->pages[i])
			f->old[f->old_count++] = f->pages[i];
	free(f->pages);
	f->pages = NULL;
	f->page_room = 0;
}

void filter_tidy(struct query *q)
{
	struct filter *f = &q->filter;

	while (f->old_count && take_step(q)) {
		free(f->old[--f->old_count]);
		spend_steps(q, PAGE_STEPS);
	}
}

void filter_start(struct query *q)
{
	struct filter *f = &q->filter;

	drop_sums(f);
	if (!filter_on(q))
		return;
	f->count = 0;
	f->whole = f->summing = false;
	f->cohort_scan = model_cohort_scans(q->m);
	find_threads(q);
	if (f->loc_room)
		memset(f->word_of_loc, 0, f->loc_room * sizeof *f->word_of_loc);
	fit(q);
}

static void sum_up(struct query *q, uint32_t i)
{
	struct filter *f = &q->filter;
	const struct node *n = model_dense(q->m, i, NULL);
	struct amounts v;

	if (f->by_cohort && n->first_slot != NO_ID)
		spend_steps(q, FOLLOW_STEPS / 2);
	if (taken(q, i, &v)) {
		struct passed *own = passed_in(f, i);
		own->self = v;
		amounts_add(&own->incl, &v);
		f->words[i] |= HOLDS;
	}
	if (!(f->words[i] & HOLDS))
		return;
	uint32_t up = n->parent;
	amounts_add(&passed_in(f, up)->incl, &passed_at(f, i)->incl);
	f->words[up] |= HOLDS;
}

bool filter_make(struct query *q)
{
	struct filter *f = &q->filter;

	for (; !f->summing && f->count < model_dense_count(q->m); f->count++) {
		if (f->count % NODES_A_STEP == 0 && !take_step(q))
			return false;
		add_words(q, f->count);
	}
	if (!f->summing) {
		f->summing = true;
		f->left = f->count;
	}
	for (; f->left > 1; f->left--) {
		if (f->left % NODES_A_STEP == 0 && !take_step(q))
			return false;
		sum_up(q, f->left - 1);
	}
	return f->whole = true;
}

/* While sums are incomplete, updates only what passed already, up to the first node that did
 * not. */
bool filter_follow(struct query *q, uint32_t index, struct amounts *v)
{
	static const struct amounts nothing;
	struct filter *f = &q->filter;

	*v = nothing;
	if (!f->summing || index < f->left)
		return false;
	if (!taken(q, index, v))
		*v = nothing;
	struct amounts now = *v;
	amounts_sub(v, &passed_at(f, index)->self);
	if (!memcmp(v, &nothing, sizeof nothing))
		return false;
	passed_in(f, index)->self = now;
	for (uint32_t i = index;; i = model_dense(q->m, i, NULL)->parent) {
		amounts_add(&passed_in(f, i)->incl, v);
		f->words[i] |= HOLDS;
		if (!i || (!f->whole && i < f->left))
			return true;
	}
}

static void filter_clear(struct filter *f)
{
	for (size_t i = 0; i < f->word_count; i++)
		free(f->words_wanted[i]);
	free(f->lib);
	free(f->thread);
	free(f->thread_hit);
	f->lib = f->thread = NULL;
	f->thread_hit = NULL;
	f->thread_hits = 0;
	f->age_min = 0;
	f->age_max = UINT32_MAX;
	f->by_cohort = false;
	f->word_count = 0;
	f->size_above = 0;
	f->grew = f->fresh = f->active = false;
	if (f->fn_room)
		memset(f->word_of_fn, 0, f->fn_room * sizeof *f->word_of_fn);
}

void filter_release(struct filter *f)
{
	filter_clear(f);
	free(f->word_of_fn);
	free(f->word_of_loc);
	free(f->words);
	drop_sums(f);
	while (f->old_count)
		free(f->old[--f->old_count]);
	free(f->old);
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

/* An invalid filter changes nothing. */
int query_set_filter(struct query *q, const char *text, struct err *err)
{
	struct filter tried = { 0 };
	bool was_active = q->filter.active;
	int rc = take_words(&tried, text, err);

	filter_clear(&tried);
	if (rc)
		return rc;
	filter_clear(&q->filter);
	take_words(&q->filter, text, err);
	q->filter_stale |= was_active || q->filter.active;
	return 0;
}
