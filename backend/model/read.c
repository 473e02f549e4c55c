/* SPDX-License-Identifier: MIT
 *
 * read.c - read access to the model, observers, and its invariants.
 */
#include "model/internal.h"

#include <stdlib.h>

const struct program *model_program(const struct model *m)
{
	return m->hello ? &m->program : NULL;
}

const struct totals *model_totals(const struct model *m)
{
	return &m->totals;
}

uint32_t model_state(const struct model *m, int *status, bool *known)
{
	if (status)
		*status = m->status;
	if (known)
		*known = m->status_known;
	return m->state;
}

/* How a program ended is not forgotten because its link went, or because the agent is less sure. */
void model_set_state(struct model *m, uint32_t state, int status, bool known)
{
	bool ended = m->state == MTW_EXITED || m->state == MTW_SIGNALLED;

	if (ended && (state == MTW_LINK_LOST || state == MTW_CUT || (m->status_known && !known)))
		return;
	m->state = state;
	m->job.partial = false; /* the rest of it may never come */
	m->status = status;
	m->status_known = known;
}

bool model_complete(const struct model *m)
{
	return m->complete;
}

bool model_final(const struct model *m)
{
	return m->final;
}

const struct totals *model_coming(const struct model *m)
{
	return m->resuming ? &m->totals_staged : NULL;
}

uint64_t model_time(const struct model *m)
{
	return m->time_ns;
}

uint64_t model_ticks(const struct model *m)
{
	return m->ticks;
}

uint64_t model_resets(const struct model *m)
{
	return m->resets;
}

uint32_t model_node_count(const struct model *m)
{
	return m->node_ids.end;
}

const struct node *model_node(const struct model *m, uint32_t id)
{
	static const struct node none = { .parent = NO_ID,
					  .first_child = NO_ID,
					  .next_sibling = NO_ID,
					  .first_slot = NO_ID,
					  .location = NO_ID,
					  .sum = NO_ID };
	const struct node *n = node_by_id(m, id);

	if (n)
		return n;
	return id < m->node_ids.end ? &none : NULL;
}

uint32_t model_dense_count(const struct model *m)
{
	return m->node_count;
}

const struct node *model_dense(const struct model *m, uint32_t index, uint32_t *id)
{
	const struct node *n = node_at(m, index);

	if (id)
		*id = n->id;
	return n;
}

uint32_t model_slot_count(const struct model *m)
{
	return m->slot_ids.end;
}

const struct slot *model_slot(const struct model *m, uint32_t id)
{
	static const struct slot none;
	const struct slot *s = slot_by_id(m, id);

	if (s)
		return s;
	return id < m->slot_ids.end ? &none : NULL;
}

const struct slot *model_dense_slot(const struct model *m, uint32_t index)
{
	return slot_at(m, index);
}

struct tally model_self(const struct model *m, const struct node *n)
{
	struct tally sum = { 0 };

	for (uint32_t i = n->first_slot; i != NO_ID; i = slot_at(m, i)->next_of_node)
		tally_add(&sum, &slot_at(m, i)->now);
	return sum;
}

struct change model_self_change(const struct model *m, const struct node *n)
{
	struct change sum = { 0 };

	for (uint32_t i = n->first_slot; i != NO_ID; i = slot_at(m, i)->next_of_node) {
		struct change c = slot_change(m, i, &slot_at(m, i)->now);
		change_add(&sum, &c);
	}
	return sum;
}

bool model_held_at_base(const struct model *m, const struct node *n)
{
	for (uint32_t i = n->first_slot; i != NO_ID && m->at_base; i = slot_at(m, i)->next_of_node)
		if (i < m->at_count && m->at_base[i].blocks)
			return true;
	return false;
}

uint32_t model_module_count(const struct model *m)
{
	return (uint32_t)m->module_count;
}

const struct module *model_module(const struct model *m, uint32_t id)
{
	return id < m->module_count ? &m->modules[id] : NULL;
}

uint32_t model_thread_count(const struct model *m)
{
	return (uint32_t)m->thread_count;
}

const struct thread *model_thread(const struct model *m, uint32_t index)
{
	return index < m->thread_count ? &m->threads[index] : NULL;
}

void model_loss(const struct model *m, unsigned reason, uint64_t *events, uint64_t *bytes)
{
	*events = reason < MTW_LOSS_COUNT ? m->loss_events[reason] : 0;
	*bytes = reason < MTW_LOSS_COUNT ? m->loss_bytes[reason] : 0;
}

const struct effort *model_effort(const struct model *m)
{
	return &m->effort;
}

size_t model_memory(const struct model *m, const struct memory_part **parts)
{
	*parts = m->parts;
	return m->part_count;
}

uint64_t model_truncated(const struct model *m, unsigned reason)
{
	uint64_t blocks = 0;

	for (size_t i = 0; i < m->truncated_count; i++) {
		const struct node *n = node_by_id(m, m->truncated[i]);
		if (model_place(m, n)->offset == reason)
			blocks += model_incl(m, n).alloc_blocks;
	}
	return blocks;
}

uint64_t model_by_pointer(const struct model *m)
{
	uint64_t blocks = 0;

	for (size_t i = 0; i < m->proven_count; i++)
		blocks += model_incl(m, node_by_id(m, m->proven[i])).alloc_blocks;
	return blocks;
}

size_t model_process(const struct model *m, uint64_t *rss, uint64_t *virt, uint32_t *threads,
		     uint32_t *children)
{
	if (rss)
		*rss = m->rss;
	if (virt)
		*virt = m->virt;
	if (threads)
		*threads = m->process_threads;
	if (children)
		*children = m->process_children;
	return m->rss || m->virt || m->process_threads;
}

const char *model_option(const struct model *m, const char *name)
{
	for (size_t i = 0; i < m->option_count; i++)
		if (!strcmp(m->options[i].name, name))
			return m->options[i].value;
	return NULL;
}

size_t model_filters(const struct model *m, const struct recorded **list)
{
	*list = m->filters;
	return m->filter_count;
}

const struct recorded *model_filter(const struct model *m)
{
	const struct recorded *f = m->filter_count ? &m->filters[m->filter_count - 1] : NULL;

	if (!f || !(f->sample || f->min_size || f->max_size || f->merge || *f->libs || *f->exclude))
		return NULL;
	return f;
}

bool model_estimate(const struct model *m)
{
	return model_sampled(m, node_at(m, 0)) != 0;
}

bool model_mark_estimate(const struct model *m, uint32_t id)
{
	const struct mark *k = model_mark(m, id);

	return k && k->known && m->sampled_epoch <= k->epoch;
}

const struct scan_ages *model_ages(const struct model *m)
{
	return m->have_ages ? &m->ages : NULL;
}

size_t model_history(const struct model *m, const struct point **points)
{
	*points = m->series.points;
	return m->series.count;
}

size_t model_history_owners(const struct model *m, const uint32_t **modules)
{
	*modules = m->series.owners;
	return m->series.owner_count;
}

const uint64_t *model_history_owner_bytes(const struct model *m, size_t point)
{
	return point < m->series.from_agent ? m->series.owner_bytes[point] : NULL;
}

void model_on_notice(struct model *m, void (*fn)(void *arg, const char *text), void *arg)
{
	m->on_notice = fn;
	m->notice_arg = arg;
}

void model_on_change(struct model *m,
		     void (*fn)(void *arg, const struct model_delta *d, size_t count), void *arg)
{
	if (m->observer_count == OBSERVERS_MAX)
		BUG("more than %u observers of a model", OBSERVERS_MAX);
	m->observers[m->observer_count].fn = fn;
	m->observers[m->observer_count++].arg = arg;
}

void model_off_change(struct model *m, void *arg)
{
	size_t n = 0;

	for (size_t i = 0; i < m->observer_count; i++)
		if (m->observers[i].arg != arg)
			m->observers[n++] = m->observers[i];
	m->observer_count = n;
}

void model_notify(struct model *m, const struct model_delta *d, size_t count)
{
	for (size_t i = 0; i < m->observer_count; i++)
		m->observers[i].fn(m->observers[i].arg, d, count);
}

struct model_changes *model_keep_changes(struct model *m)
{
	m->changes->keepers++;
	return m->changes;
}

void model_drop_changes(struct model_changes *c)
{
	if (c && !--c->keepers)
		free(c);
}

void model_expect(const struct model *m, const struct model_delta *d)
{
	const struct node *n = node_at(m, d->node);

	__builtin_prefetch(n);
	__builtin_prefetch((const char *)(n + 1) - 1);
	__builtin_prefetch(slot_at(m, d->slot));
}

static bool same_tally(const struct tally *a, const struct tally *b)
{
	return !memcmp(a, b, sizeof *a);
}

static bool same_change(const struct change *a, const struct change *b)
{
	return !memcmp(a, b, sizeof *a);
}

static bool check_nodes(const struct model *m, const struct tally *sums, const struct change *moves,
			struct err *err)
{
	for (uint32_t i = 0; i < m->node_count; i++) {
		const struct node *n = node_at(m, i);
		if (n->index != i || idmap_get(&m->node_ids, n->id) != i ||
		    (n->estimate_comes && !m->job.busy))
			return err_set(err, 125, "model: node %u is misplaced", n->id) == 0;
		uint32_t sampled = n->self_estimate;
		for (uint32_t c = n->first_child; c != NO_ID; c = node_at(m, c)->next_sibling)
			sampled += model_sampled(m, node_at(m, c));
		if (sampled != model_sampled(m, n))
			return err_set(err, 125, "model: node %u: sampled stacks are miscounted",
				       n->id) == 0;
		struct tally incl = model_incl(m, n);
		struct change c = model_change(m, n);
		if (!same_tally(&incl, &sums[i]) || !same_change(&c, &moves[i]))
			return err_set(err, 125, "model: node %u: inclusive sums are wrong",
				       n->id) == 0;
		if (!model_diffing(m) && c.born_bytes - c.gone_bytes != live_bytes(&incl))
			return err_set(err, 125, "model: node %u: net is not live", n->id) == 0;
	}
	return true;
}

/* What lies beside the nodes and slots is there while it is needed, and no longer. */
static bool check_beside(const struct model *m, struct err *err)
{
	if (!m->moves != !model_diffing(m) || !m->at_base != !m->base || !m->at_until != !m->until)
		return err_set(err, 125, "model: changes are kept for another interval") == 0;
	if (m->rates && !m->batch_count && !m->job.folding)
		return err_set(err, 125, "model: rates are kept, and there are none") == 0;
	return rates_check(m, err);
}

struct check_moves {
	const struct model *m;
	struct change *of_node;
};

static void add_move(void *arg, uint32_t slot, const struct change *c)
{
	const struct check_moves *x = arg;

	change_add(&x->of_node[slot_by_id(x->m, slot)->node], c);
}

bool model_check(const struct model *m, struct err *err)
{
	struct tally *sums = xcalloc(m->node_count, sizeof *sums);
	struct change *moves = xcalloc(m->node_count, sizeof *moves);
	struct tally all = { 0 };
	bool ok = true;

	for (uint32_t i = 0; i < m->slot_count; i++) {
		const struct slot *s = slot_at(m, i);
		tally_add(&sums[s->node], &s->now);
		tally_add(&all, &s->now);
	}
	struct check_moves x = { m, moves };
	if (model_between(m, m->base, m->until, add_move, &x))
		ok = err_set(err, 125, "model: changes count between marks that cannot say") == 0;
	for (uint32_t i = 0; ok && i < m->node_count; i++) {
		const struct node *n = node_at(m, i);
		struct tally self = model_self(m, n);
		struct change moved = model_self_change(m, n);
		if (!same_tally(&sums[i], &self) || !same_change(&moves[i], &moved))
			ok = err_set(err, 125, "model: node %u: own sums are wrong", n->id) == 0;
	}
	for (uint32_t i = m->node_count; i-- > 1;) {
		uint32_t up = node_at(m, i)->parent;
		if (up >= i) {
			ok = err_set(err, 125, "model: node %u comes before its parent",
				     node_at(m, i)->id) == 0;
			break;
		}
		tally_add(&sums[up], &sums[i]);
		change_add(&moves[up], &moves[i]);
	}
	ok = ok && check_nodes(m, sums, moves, err) && sums_check(m, err) && check_beside(m, err);
	if (ok && m->tick_complete && !m->totals_pending && !same_tally(&all, &m->totals.sum))
		ok = err_set(err, 125,
			     "model: totals are not the sum over slots (%llu of %llu bytes "
			     "allocated)",
			     (unsigned long long)all.alloc_bytes,
			     (unsigned long long)m->totals.sum.alloc_bytes) == 0;
	free(sums);
	free(moves);
	return ok;
}
