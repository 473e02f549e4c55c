/* SPDX-License-Identifier: MIT
 *
 * query_filter.c - which stacks count, and what they hold.
 *
 * Words match a function, library or file anywhere on the stack, all of them must; lib:X the
 * owner's name; size>N, grew, new speak of what the stack itself holds. While a filter (or the
 * zoom into an owner) is on, sums are kept here, made anew at each tick by one pass down for the
 * words and one up for the sums; else the model's own are used.
 */
#include "query_priv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ASKED 0x8000u
#define WORDS_MAX 15u

bool text_has(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

bool filter_on(const struct query *q)
{
	return q->filter.active || q->zoom_owner_on;
}

static void value_of(const struct node *n, bool incl, struct value *v)
{
	v->tally = incl ? n->incl : n->self;
	v->change = incl ? n->incl_change : n->self_change;
	v->rate_bytes = incl ? n->rate_bytes : n->self_rate_bytes;
	v->rate_blocks = incl ? n->rate_blocks : n->self_rate_blocks;
}

static const struct value *of_node(const struct query *q, uint32_t index, bool incl)
{
	static _Thread_local struct value v; /* main thread only; borrowed for one addition */

	value_of(model_dense(q->m, index, NULL), incl, &v);
	return &v;
}

const struct value *filter_self(const struct query *q, uint32_t index)
{
	return filter_on(q) ? &q->filter.self[index] : of_node(q, index, false);
}

const struct value *filter_incl(const struct query *q, uint32_t index)
{
	return filter_on(q) ? &q->filter.incl[index] : of_node(q, index, true);
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
		if (text_has(x->function, f->words[i]) || text_has(x->name, f->words[i]) ||
		    (x->lib != NO_ID && text_has(names_lib(q->n, x->lib)->name, f->words[i])))
			words |= (uint16_t)(1u << i);
	return f->word_of_fn[fn] = words;
}

static uint16_t words_of_node(struct query *q, uint32_t index)
{
	const struct name_loc *l = names_loc(q->n, names_loc_of(q->n, index));
	uint16_t words = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		words |= words_of_fn(q, l->frames[i].fn);
		for (size_t w = 0; w < q->filter.word_count; w++)
			if (text_has(l->frames[i].file, q->filter.words[w]))
				words |= (uint16_t)(1u << w);
	}
	return words & (uint16_t)~ASKED;
}

static bool passes(struct query *q, uint32_t index, uint16_t words)
{
	const struct filter *f = &q->filter;
	const struct node *n = model_dense(q->m, index, NULL);

	if (!n->self.alloc_blocks)
		return false;
	if (f->active && words != (uint16_t)((1u << f->word_count) - 1))
		return false;
	if (f->active && f->lib && !text_has(owners_of_index(q->o, index)->name, f->lib))
		return false;
	if (q->zoom_owner_on && owners_of_index(q->o, index)->module != q->zoom_owner)
		return false;
	if (!f->active)
		return true;
	const struct change *c = &n->self_change;
	if (f->size_above && live_bytes(&n->self) <= f->size_above)
		return false;
	if (f->grew && c->born_bytes <= c->gone_bytes)
		return false;
	return !f->fresh || (c->born_bytes && live_bytes(&n->self) == c->born_bytes - c->gone_bytes);
}

void filter_update(struct query *q)
{
	struct filter *f = &q->filter;
	uint32_t count = model_dense_count(q->m);

	if (!filter_on(q))
		return;
	GROW(f->self, f->value_room, (size_t)count + 1);
	GROW(f->incl, f->incl_room, (size_t)count + 1);
	uint16_t *words = xcalloc((size_t)count + 1, sizeof *words);
	for (uint32_t i = 0; i < count; i++) {
		const struct node *n = model_dense(q->m, i, NULL);
		f->self[i] = (struct value){ 0 };
		if (i && f->word_count)
			words[i] = words[model_node(q->m, n->parent)->index] | words_of_node(q, i);
		if (i && passes(q, i, words[i]))
			value_of(n, false, &f->self[i]);
		f->incl[i] = f->self[i];
	}
	for (uint32_t i = count; i-- > 1;)
		value_add(&f->incl[model_node(q->m, model_dense(q->m, i, NULL)->parent)->index], &f->incl[i]);
	free(words);
}

static void filter_clear(struct filter *f)
{
	for (size_t i = 0; i < f->word_count; i++)
		free(f->words[i]);
	free(f->lib);
	f->lib = NULL;
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
	free(f->self);
	free(f->incl);
}

static int parse_size(const char *text, uint64_t *bytes, struct err *err)
{
	char *end;
	double n = strtod(text, &end);
	int shift = strchr("kK", *end) && *end ? 10 : strchr("mM", *end) && *end ? 20 : strchr("gG", *end) && *end ? 30 : 0;

	if (end == text || n < 0 || end[shift != 0])
		return err_set(err, 2, "size>%s: not a size; write size>64k, size>2M", text);
	*bytes = (uint64_t)(n * (double)(1ull << shift));
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
	if (!strncmp(word, "size>", 5))
		return parse_size(word + 5, &f->size_above, err);
	if (!strcmp(word, "grew") || !strcmp(word, "new")) {
		*(word[0] == 'g' ? &f->grew : &f->fresh) = true;
		return 0;
	}
	if (f->word_count == WORDS_MAX)
		return err_set(err, 2, "filter: more than %u words; use fewer", WORDS_MAX);
	f->words[f->word_count++] = xstrdup(word);
	return 0;
}

int query_set_filter(struct query *q, const char *text, struct err *err)
{
	char *copy = xstrdup(text), *save = NULL;
	int rc = 0;

	filter_clear(&q->filter);
	for (char *w = strtok_r(copy, " ", &save); w && !rc; w = strtok_r(NULL, " ", &save))
		rc = take_word(&q->filter, w, err);
	if (rc)
		filter_clear(&q->filter);
	free(copy);
	q->stale = true;
	return rc;
}
