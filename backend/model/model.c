/* SPDX-License-Identifier: MIT
 *
 * model.c - the session's data: life cycle, structure, and read access.
 *
 * Modules, nodes, slots, threads and marks are entered when they come: they hold no values yet, so
 * every sum stays true. Counters and totals wait for the tick (model/tick.c). Everything
 * that an event claims is checked before anything is written. What is not here: applying a tick
 * (model/tick.c), marks and the base (model/marks.c), the history (model/series.c), invariants
 * (model_check.c).
 */
#include "model/internal.h"

#include <stdlib.h>

#define PROVEN_STEPS 8192u /* frames of the deepest stack that an agent keeps */

static void free_program(struct model *m)
{
	struct program *p = &m->program;

	free(p->exe);
	free(p->name);
	free(p->arch);
	free(p->agent_version);
	free(p->options);
	for (size_t i = 0; i < p->arg_count; i++)
		free(p->args[i]);
	free(p->args);
	*p = (struct program){ 0 };
}

static void free_strings(struct model *m)
{
	free_program(m);
	for (size_t i = 0; i < m->option_count; i++) {
		free(m->options[i].name);
		free(m->options[i].value);
		free(m->options[i].who);
	}
	m->option_count = 0;
	for (size_t i = 0; i < m->module_count; i++) {
		free(m->modules[i].path);
		free(m->modules[i].name);
	}
}

static void free_filters(struct model *m)
{
	for (size_t i = 0; i < m->filter_count; i++) {
		free(m->filters[i].libs);
		free(m->filters[i].exclude);
		free(m->filters[i].who);
	}
	free(m->filters);
	m->filters = NULL;
	m->filter_count = m->filter_room = 0;
}

static void free_ages(struct model *m)
{
	free(m->ages.births);
	free(m->ages.sizes);
	free(m->ages.threads);
	m->ages = (struct scan_ages){ 0 };
	m->have_ages = false;
}

static void free_chunks(void ***chunks, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		free((*chunks)[i]);
	free(*chunks);
	*chunks = NULL;
	*count = 0;
}

static void free_trie(struct model *m)
{
	free_chunks((void ***)&m->nodes, &m->node_chunks);
	free_chunks((void ***)&m->slots, &m->slot_chunks);
	free_chunks((void ***)&m->sums, &m->sum_chunks);
	m->node_count = m->slot_count = m->sum_count = 0;
	idmap_release(&m->node_ids);
	idmap_release(&m->slot_ids);
}

int model_take(struct model *m, uint64_t bytes, struct err *err)
{
	uint64_t used = m->bytes + m->node_ids.bytes + m->slot_ids.bytes;

	if (used + bytes > MODEL_BYTES_MAX)
		return err_set(err, 3,
			       "session: more than %llu GiB of call paths and marks; watch with a "
			       "depth or size filter",
			       MODEL_BYTES_MAX >> 30);
	m->bytes += bytes;
	return 0;
}

void chunk_for(void ***chunks, size_t *count, uint32_t index, size_t size)
{
	GROW(*chunks, *count, (size_t)index / CHUNK + 1);
	if (!(*chunks)[index / CHUNK])
		(*chunks)[index / CHUNK] = xcalloc_lines(CHUNK, size);
}

/* There are millions. */
_Static_assert(sizeof(struct node) == 36 && sizeof(struct slot) == 64, "nodes and slots are small");

static struct node *new_node(struct model *m, uint32_t id)
{
	uint32_t index = m->node_count++;

	chunk_for((void ***)&m->nodes, &m->node_chunks, index, sizeof(struct node));
	idmap_set(&m->node_ids, id, index);
	struct node *n = node_at(m, index);
	*n = (struct node){ .parent = NO_ID,
			    .first_child = NO_ID,
			    .next_sibling = NO_ID,
			    .first_slot = NO_ID,
			    .location = NO_ID,
			    .sum = NO_ID,
			    .known = true,
			    .id = id,
			    .index = index };
	return n;
}

static struct slot *new_slot(struct model *m, uint32_t id)
{
	uint32_t index = m->slot_count++;

	chunk_for((void ***)&m->slots, &m->slot_chunks, index, sizeof(struct slot));
	idmap_set(&m->slot_ids, id, index);
	struct slot *s = slot_at(m, index);
	s->id = id;
	s->known = true;
	return s;
}

struct model *model_new(void)
{
	struct model *m = xcalloc(1, sizeof *m);

	m->sampled_epoch = UINT64_MAX;
	new_node(m, 0);
	return m;
}

static void reset(struct model *m)
{
	free_strings(m);
	free_filters(m);
	free_ages(m);
	rss_clear(m);
	cohorts_clear(m);
	instants_clear(m);
	free_trie(m);
	locations_clear(m);
	tick_clear(m);
	levels_free(m);
	marks_clear(m);
	samples_clear(m);
	series_clear(&m->series);
	m->module_count = m->thread_count = 0;
	if (m->module_room)
		memset(m->modules, 0, m->module_room * sizeof *m->modules);
	if (m->thread_room)
		memset(m->threads, 0, m->thread_room * sizeof *m->threads);
	m->truncated_count = m->proven_count = m->late_count = 0;
	m->totals = (struct totals){ 0 };
	m->hello = m->complete = m->resuming = m->tick_complete = m->final = m->status_known =
		false;
	m->state = MTW_RUNNING;
	m->status = 0;
	m->time_ns = m->bytes = 0;
	memset(m->loss_events, 0, sizeof m->loss_events);
	memset(m->loss_bytes, 0, sizeof m->loss_bytes);
	memset(&m->effort, 0, sizeof m->effort);
	m->part_count = 0;
	m->rss = m->virt = 0;
	m->process_threads = m->process_children = 0;
	m->scan_request = 0;
	m->sampled_epoch = UINT64_MAX;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	reset(m);
	free(m->modules);
	free(m->threads);
	free(m->marks);
	free(m->truncated);
	free(m->proven);
	free(m->late);
	free(m->weighed);
	free(m->staged);
	free(m->job.staged);
	free(m->deltas);
	free(m->delta_moves);
	free(m);
}

void model_clear(struct model *m)
{
	reset(m);
	new_node(m, 0);
	m->resets++;
	m->ticks++;
	model_notify(m, NULL, 0);
}

static char *own(struct text t)
{
	return xstrndup(t.s, t.len);
}

/*
 * The same process again: ids mean what they meant and counters only grow, so what comes is newer
 * values of what is there. A state that was whole is shown as it was until the new one is whole:
 * counters and totals stay staged until then.
 */
static void resume(struct model *m)
{
	free_program(m);
	m->resuming = m->complete;
	m->final = m->totals_pending = false;
	m->totals_staged = (struct totals){ 0 };
	series_clear(&m->series_coming);
	if (m->state == MTW_LINK_LOST || m->state == MTW_CUT || m->state == MTW_DETACHED)
		m->state = MTW_RUNNING;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* No "-bash" and no "server: worker". */
static bool is_file_name(const char *name)
{
	size_t n =
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-");

	return n && n < 64 && !name[n] && *name != '-' && *name != '.';
}

/* As it was called: redis-server may be a link to redis-check-rdb. */
static char *name_of(const struct program *p)
{
	char called[MTW_STRING_MAX + 1] = "";

	/* Some write more words behind it: "redis-server *:6379". */
	if (p->arg_count)
		snprintf(called, sizeof called, "%.*s", (int)strcspn(p->args[0], " "), p->args[0]);
	return xstrdup(is_file_name(last_part(called)) ? last_part(called) : last_part(p->exe));
}

static int apply_hello(struct model *m, const struct event *e)
{
	struct program *p = &m->program;
	bool same = m->hello && p->pid == e->u.hello.pid &&
		    p->start_unix_ns == e->u.hello.start_unix_ns;

	tick_settle(m);
	/* A second greeting: the link was renewed, or another program took over. */
	if (same) {
		resume(m);
	} else if (m->hello) {
		model_clear(m);
		m->base_wanted = m->until_wanted = 0;
	}
	p->pid = (uint32_t)e->u.hello.pid;
	p->uid = (uint32_t)e->u.hello.uid;
	p->word_bits = (uint32_t)e->u.hello.word_bits;
	p->start_unix_ns = e->u.hello.start_unix_ns;
	p->features = e->u.hello.features;
	p->tick_ns = e->u.hello.tick_ns;
	p->exe = own(e->u.hello.exe);
	p->arch = own(e->u.hello.arch);
	p->agent_version = own(e->u.hello.agent_version);
	p->options = own(e->u.hello.options);
	p->arg_count = e->u.hello.arg_count;
	p->args = xcalloc(p->arg_count, sizeof *p->args);
	for (size_t i = 0; i < p->arg_count; i++)
		p->args[i] = own(e->u.hello.args[i]);
	p->forked = e->u.hello.forked;
	p->before = e->u.hello.before;
	p->name = name_of(p);
	m->hello = true;
	return 0;
}

static int apply_module(struct model *m, const struct event *e, struct err *err)
{
	uint32_t id = e->u.module.id;

	if (id >= MTW_MODULES_MAX)
		return err_set(err, 3, "stream: module %u is out of range; connect again", id);
	GROW(m->modules, m->module_room, (size_t)id + 1);
	if (id >= m->module_count)
		m->module_count = (size_t)id + 1;
	struct module *x = &m->modules[id];
	/* Names are kept by others until the module's path changes, so it is replaced only then. */
	if (!x->path || strlen(x->path) != e->u.module.path.len ||
	    memcmp(x->path, e->u.module.path.s, e->u.module.path.len)) {
		free(x->path);
		free(x->name);
		x->path = own(e->u.module.path);
		bool main = e->u.module.flags & MTW_MODULE_MAIN && m->hello;
		x->name = xstrdup(main && *m->program.name ? m->program.name : last_part(x->path));
	}
	x->known = true;
	x->flags = e->u.module.flags;
	x->bias = e->u.module.bias;
	x->start = e->u.module.start;
	x->end = e->u.module.end;
	x->loaded_ns = e->u.module.loaded_ns;
	x->unloaded_ns = e->u.module.unloaded_ns;
	x->build_id_len = (uint32_t)e->u.module.build_id.len;
	memcpy(x->build_id, e->u.module.build_id.s, e->u.module.build_id.len);
	return 0;
}

static int apply_node(struct model *m, const struct event *e, struct err *err)
{
	uint32_t id = e->u.node.id, module = e->u.node.module;
	struct node *parent = node_by_id(m, e->u.node.parent);

	if (id == 0 || id >= MTW_NODES_MAX || !parent)
		return err_set(
			err, 3,
			"stream: node %u has the parent %u, which was never named; connect again",
			id, e->u.node.parent);
	if (module != NO_ID && (module >= m->module_count || !m->modules[module].known))
		return err_set(
			err, 3,
			"stream: node %u lies in module %u, which was never named; connect again",
			id, module);
	struct node *n = node_by_id(m, id);
	uint8_t kind = e->u.node.kind & 15;
	if (n) {
		if (n->parent == parent->index &&
		    n->location == model_location_find(m, module, e->u.node.offset, kind))
			return 0;
		return err_set(err, 3,
			       "stream: node %u was named twice, differently; connect again", id);
	}
	if (parent->depth == NODE_DEPTH_MAX)
		return err_set(err, 3, "stream: node %u lies below %u others; connect again", id,
			       parent->depth);
	uint32_t location = locations_enter(m, module, e->u.node.offset, kind, err);
	/* one more at most */
	if (location == NO_ID || model_take(m, sizeof *n + sizeof(struct sum), err))
		return -1;
	sums_before(m, parent, true);
	n = new_node(m, id);
	n->depth = (parent->depth + 1u) & 0xffffffu;
	n->parent = parent->index;
	n->next_sibling = parent->first_child;
	parent->first_child = n->index;
	n->location = location;
	if (kind == MTW_NODE_TRUNCATED) {
		GROW(m->truncated, m->truncated_room, m->truncated_count + 1);
		m->truncated[m->truncated_count++] = id;
	}
	return 0;
}

static int apply_slot(struct model *m, const struct event *e, struct err *err)
{
	uint32_t id = e->u.slot.id;
	struct node *node = node_by_id(m, e->u.slot.node);
	struct slot *s = slot_by_id(m, id);

	if (id == 0 || id >= MTW_SLOTS_MAX || !node)
		return err_set(
			err, 3,
			"stream: slot %u belongs to node %u, which was never named; connect again",
			id, e->u.slot.node);
	if (s) {
		if (s->node == node->index && s->epoch == e->u.slot.epoch)
			return 0;
		return err_set(err, 3,
			       "stream: slot %u was named twice, differently; connect again", id);
	}
	if (e->u.slot.epoch > UINT32_MAX)
		return err_set(
			err, 3,
			"stream: slot %u is of epoch %llu, which is out of range; connect again",
			id, (unsigned long long)e->u.slot.epoch);
	if (model_take(m, sizeof *s, err))
		return -1;
	sums_before(m, node, false);
	s = new_slot(m, id);
	s->node = node->index;
	s->sum = sum_above(m, node);
	s->epoch = (uint32_t)e->u.slot.epoch;
	s->next_of_node = node->first_slot;
	node->first_slot = m->slot_count - 1;
	return 0;
}

static struct thread *thread_at(struct model *m, uint32_t index)
{
	GROW(m->threads, m->thread_room, (size_t)index + 1);
	if (index >= m->thread_count)
		m->thread_count = (size_t)index + 1;
	return &m->threads[index];
}

static int apply_thread(struct model *m, const struct event *e, struct err *err)
{
	if (e->u.thread.index >= MTW_THREADS_MAX)
		return err_set(err, 3, "stream: thread %u is out of range; connect again",
			       e->u.thread.index);
	struct thread *t = thread_at(m, e->u.thread.index);
	size_t len = e->u.thread.name.len;
	t->known = true;
	t->ended = e->u.thread.ended;
	t->tid = e->u.thread.tid;
	t->done = e->u.thread.done;
	if (len >= sizeof t->name)
		len = sizeof t->name - 1;
	memcpy(t->name, e->u.thread.name.s, len);
	t->name[len] = 0;
	return 0;
}

static int apply_scan_thread(struct model *m, const struct event *e, struct err *err)
{
	if (e->u.scan_thread.thread >= MTW_THREADS_MAX)
		return err_set(
			err, 3,
			"stream: a scan names thread %u, which is out of range; connect again",
			e->u.scan_thread.thread);
	if (e->u.scan_thread.request != m->scan_request) {
		m->scan_request = e->u.scan_thread.request;
		for (size_t i = 0; i < m->thread_count; i++)
			m->threads[i].live_blocks = m->threads[i].live_bytes = 0;
	}
	struct thread *t = thread_at(m, e->u.scan_thread.thread);
	instants_looked(m, MTW_KIND_THREADS, 0);
	t->live_blocks = e->u.scan_thread.blocks;
	t->live_bytes = e->u.scan_thread.bytes;
	return 0;
}

static struct age_cell *copy_cells(const struct age_cell *c, size_t n)
{
	struct age_cell *to = xcalloc(n, sizeof *to);

	if (n)
		memcpy(to, c, n * sizeof *to);
	return to;
}

static void apply_ages(struct model *m, const struct event *e)
{
	const struct scan_ages *a = &e->u.ages;

	free_ages(m);
	m->ages = *a;
	m->ages.births = copy_cells(a->births, a->birth_count);
	m->ages.sizes = copy_cells(a->sizes, a->size_count);
	m->ages.threads = copy_cells(a->threads, a->thread_count);
	m->have_ages = true;
}

static int apply_option(struct model *m, const struct event *e, struct err *err)
{
	char *name = own(e->u.option.name);
	size_t i = 0;

	while (i < m->option_count && strcmp(m->options[i].name, name))
		i++;
	if (i == OPTIONS_MAX) {
		free(name);
		return err_set(err, 3, "stream: more than %u options; connect again", OPTIONS_MAX);
	}
	if (i == m->option_count) {
		m->options[m->option_count++] = (struct option){ name, NULL, NULL };
	} else {
		free(name);
		free(m->options[i].value);
	}
	m->options[i].value = own(e->u.option.value);
	free(m->options[i].who);
	m->options[i].who = own(e->u.option.who);
	return 0;
}

static int apply_filter(struct model *m, const struct event *e, struct err *err)
{
	uint32_t i = e->u.filter.index;

	if (i > m->filter_count)
		return err_set(err, 3, "stream: filter %u came before number %zu; connect again", i,
			       m->filter_count);
	if (i < m->filter_count)
		return 0; /* they do not change */
	GROW(m->filters, m->filter_room, (size_t)i + 1);
	m->filters[m->filter_count++] = (struct recorded){
		.since_ns = e->u.filter.since_ns,
		.sample = e->u.filter.sample,
		.min_size = e->u.filter.min_size,
		.max_size = e->u.filter.max_size,
		.merge = e->u.filter.merge,
		.libs = own(e->u.filter.libs),
		.exclude = own(e->u.filter.exclude),
		.who = own(e->u.filter.who),
	};
	return 0;
}

static int apply_weighed(struct model *m, const struct event *e, struct err *err)
{
	uint32_t index = idmap_get(&m->slot_ids, e->u.weighed.slot);

	if (index == NO_ID)
		return err_set(err, 3,
			       "stream: slot %u is weighed, and was never named; connect again",
			       e->u.weighed.slot);
	tick_weigh(m, index, e->u.weighed.sample != 0);
	return 0;
}

/* Is a node further out of which that is known? A stream may be deeper than any stack: then it is
 * taken for so. */
static bool proven_outside(const struct model *m, const struct node *n)
{
	for (unsigned steps = 0; n->index && steps < PROVEN_STEPS; steps++) {
		n = node_at(m, n->parent);
		if (n->by_pointer)
			return true;
	}
	return n->index != 0;
}

/* Outer ones come first: an inner one finds them. */
static int apply_proven(struct model *m, const struct event *e, struct err *err)
{
	struct node *n = node_by_id(m, e->u.proven.node);

	if (!n || !n->index)
		return err_set(err, 3,
			       "stream: node %u is proven, and was never named; connect again",
			       e->u.proven.node);
	if (n->by_pointer)
		return 0;
	n->by_pointer = true;
	if (!proven_outside(m, n)) {
		GROW(m->proven, m->proven_room, m->proven_count + 1);
		m->proven[m->proven_count++] = n->id;
	}
	return 0;
}

static int apply_totals(struct model *m, const struct event *e, struct err *err)
{
	const struct tally *t = &e->u.totals.sum;

	if (t->free_blocks > t->alloc_blocks || t->free_bytes > t->alloc_bytes)
		return err_set(err, 3,
			       "stream: the totals freed more than was allocated; connect again");
	m->totals_staged = e->u.totals;
	m->totals_pending = true;
	m->job.partial = m->job.waits;
	return 0;
}

static int apply_tick(struct model *m, const struct event *e, struct err *err)
{
	if (e->u.tick.time_ns < m->time_ns)
		return err_set(err, 3, "stream: time goes back; connect again");
	instants_tick(m, e->u.tick.time_ns, e->u.tick.flags);
	tick_apply(m, e->u.tick.time_ns, e->u.tick.flags);
	return 0;
}

static void apply_notice(struct model *m, const struct event *e)
{
	if (!m->on_notice)
		return;
	char *text = own(e->u.notice);
	m->on_notice(m->notice_arg, text);
	free(text);
}

static int apply_loss(struct model *m, const struct event *e, struct err *err)
{
	unsigned r = e->u.loss.reason;

	if (r >= MTW_LOSS_COUNT)
		return err_set(err, 3, "stream: loss reason %u is unknown; connect again", r);
	m->loss_events[r] = e->u.loss.events;
	m->loss_bytes[r] = e->u.loss.bytes;
	return 0;
}

static void apply_process(struct model *m, const struct event *e)
{
	m->rss = e->u.process.rss;
	m->virt = e->u.process.virt;
	m->process_threads = (uint32_t)e->u.process.threads;
	m->process_children = (uint32_t)e->u.process.children;
}

static void apply_history(struct model *m, const struct event *e)
{
	struct series *s = m->resuming ? &m->series_coming : &m->series;

	if (e->u.history.first)
		series_start(s, e->u.history.owners, e->u.history.owner_count);
	series_agent(s, &e->u.history.point, e->u.history.owner_bytes);
}

static void apply_memory(struct model *m, const struct event *e)
{
	m->part_count = e->u.memory.count;
	for (size_t i = 0; i < m->part_count; i++) {
		const struct text *name = &e->u.memory.parts[i].name;
		snprintf(m->parts[i].name, sizeof m->parts[i].name, "%.*s", (int)name->len,
			 name->s);
		m->parts[i].bytes = e->u.memory.parts[i].bytes;
	}
}

int model_apply(struct model *m, const struct event *e, struct err *err)
{
	switch (e->type) {
	case MTW_HELLO: return apply_hello(m, e);
	case MTW_TOTALS: return apply_totals(m, e, err);
	case MTW_TICK: return apply_tick(m, e, err);
	case MTW_STATE:
		model_set_state(m, e->u.state.state, (int)e->u.state.status, e->u.state.known);
		return 0;
	case MTW_MODULE: return apply_module(m, e, err);
	case MTW_NODES: return apply_node(m, e, err);
	case MTW_SLOTS: return apply_slot(m, e, err);
	case MTW_COUNTS: return tick_stage(m, e->u.counts.slot, &e->u.counts.now, err);
	case MTW_THREAD: return apply_thread(m, e, err);
	case MTW_PROCESS: apply_process(m, e); return 0;
	case MTW_MARK: return marks_apply(m, e, err);
	case MTW_MARK_LIVE: return marks_cell(m, e, err);
	case MTW_SAMPLES: return samples_apply(m, e, err);
	case MTW_SAMPLE_LIVE: return samples_cell(m, e, err);
	case MTW_HISTORY: apply_history(m, e); return 0;
	case MTW_LOSS: return apply_loss(m, e, err);
	case MTW_STACKS: m->effort = e->u.effort; return 0;
	case MTW_MEMORY: apply_memory(m, e); return 0;
	case MTW_OPTION: return apply_option(m, e, err);
	case MTW_FILTER: return apply_filter(m, e, err);
	case MTW_WEIGHED: return apply_weighed(m, e, err);
	case MTW_PROVEN: return apply_proven(m, e, err);
	case MTW_NOTICE: apply_notice(m, e); return 0;
	case MTW_SCAN_THREADS: return apply_scan_thread(m, e, err);
	case MTW_SCAN_AGES: apply_ages(m, e); return 0;
	case MTW_SCAN_MEMORY: rss_apply(m, e); return 0;
	case MTW_SCAN_COHORTS: return cohorts_apply(m, e, err);
	case MTW_S_EXIT:
		model_set_state(m, e->u.s_exit.state, (int)e->u.s_exit.status, true);
		return 0;
	default: /* for others: ERROR is the connection's, S_SYMBOL and S_GENERATED the symbols' */
		return 0;
	}
}
