/* SPDX-License-Identifier: MIT
 *
 * made.h - sessions made by hand, event by event, and symbols that answer when the test says so.
 * For the tests of the model, the owners and the queries. Include it once, after check.h if at all;
 * it stands in for symbols/symbols.c.
 */
#ifndef MADE_H
#define MADE_H

#include "slots.h"
#include "symbols/symbols.h"
#include "wire/decode.h"

#include <stdlib.h>
#include <string.h>

/* Events; all are expected to be taken. */

static struct err made_err;

static void made_apply(struct model *m, const struct event *e)
{
	if (model_apply(m, e, &made_err)) {
		printf("  event %u: %s\n", e->type, made_err.text);
		fflush(stdout);
		_exit(1);
	}
}

/* What came of call paths is taken. -1: something of it contradicts. */
static inline int made_take(struct model *m)
{
	struct event e = { .type = MTW_STATE };

	return model_apply(m, &e, &made_err);
}

/* What the snapshot has of a node: with what is below it, or of its own. */
static inline struct amounts made_amounts(const struct model *m, uint32_t node, bool below)
{
	const struct heap *h = model_heap(m);
	uint32_t n = skeleton_find(h->skeleton, node);

	if (n == NO_ID) /* it came since the tick */
		return (struct amounts){ 0 };
	return (below ? heap_amounts : heap_self_amounts)(h, n);
}

/* Of the base, in all. */
static inline struct change all_change(const struct model *m)
{
	return made_amounts(m, 0, true).change;
}

/* All of the model's sums. */
static inline void must_hold(const struct model *m)
{
	struct err err = { 0 };

	if (!model_check(m, &err)) {
		printf("  %s\n", err.text);
		fflush(stdout);
		_exit(1);
	}
}

static inline struct text made_text(const char *s)
{
	return (struct text){ s, strlen(s) };
}

static inline void made_module(struct model *m, uint32_t id, const char *path, uint32_t flags)
{
	struct event e = { .type = MTW_MODULE };

	e.u.module.id = id;
	e.u.module.flags = flags;
	e.u.module.path = made_text(path);
	e.u.module.build_id = made_text("");
	made_apply(m, &e);
}

static inline void made_node(struct model *m, uint32_t id, uint32_t parent, uint32_t module,
			     uint64_t offset)
{
	struct event e = { .type = MTW_NODES };

	e.u.node.id = id;
	e.u.node.parent = parent;
	e.u.node.module = module;
	e.u.node.offset = offset;
	made_apply(m, &e);
}

static inline void made_truncated(struct model *m, uint32_t id, uint64_t reason)
{
	struct event e = { .type = MTW_NODES };

	e.u.node.id = id;
	e.u.node.kind = MTW_NODE_TRUNCATED;
	e.u.node.module = NO_ID;
	e.u.node.offset = reason;
	made_apply(m, &e);
}

static inline void made_slot(struct model *m, uint32_t id, uint32_t node, uint64_t epoch)
{
	struct event e = { .type = MTW_SLOTS };

	e.u.slot.id = id;
	e.u.slot.node = node;
	e.u.slot.epoch = epoch;
	made_apply(m, &e);
}

static inline void made_weighed(struct model *m, uint32_t slot, uint64_t sample)
{
	struct event e = { .type = MTW_WEIGHED };

	e.u.weighed.slot = slot;
	e.u.weighed.sample = sample;
	made_apply(m, &e);
}

static inline void made_proven(struct model *m, uint32_t node)
{
	struct event e = { .type = MTW_PROVEN };

	e.u.proven.node = node;
	e.u.proven.by = MTW_BY_POINTER;
	made_apply(m, &e);
}

/* Cumulative: blocks and bytes allocated, freed. */
static inline void made_counts(struct model *m, uint32_t slot, uint64_t ab, uint64_t ay,
			       uint64_t fb, uint64_t fy)
{
	struct event e = { .type = MTW_COUNTS };

	e.u.counts.slot = slot;
	e.u.counts.now = (struct tally){ ab, ay, fb, fy };
	made_apply(m, &e);
}

/* Here and below. */
static inline struct made_live {
	uint64_t blocks, bytes;
} made_live(const struct model *m, uint32_t node)
{
	struct tally t = made_amounts(m, node, true).sum;

	return (struct made_live){ live_blocks(&t), live_bytes(&t) };
}

static uint64_t made_agent_memory; /* as the next totals say */

static inline void made_totals(struct model *m, const struct tally *sum)
{
	struct event e = { .type = MTW_TOTALS };

	e.u.totals.sum = *sum;
	e.u.totals.agent_memory_bytes = made_agent_memory;
	made_apply(m, &e);
}

static inline void made_process(struct model *m, uint64_t rss)
{
	struct event e = { .type = MTW_PROCESS };

	e.u.process.rss = rss;
	made_apply(m, &e);
}

static inline void made_mark(struct model *m, uint32_t id, uint64_t epoch, uint64_t time_ns,
			     uint32_t flags, const char *name)
{
	struct event e = { .type = MTW_MARK };

	e.u.mark.id = id;
	e.u.mark.epoch = epoch;
	e.u.mark.time_ns = time_ns;
	e.u.mark.flags = flags;
	e.u.mark.name = made_text(name);
	e.u.mark.set_by = made_text("test");
	made_apply(m, &e);
}

static inline void made_cell(struct model *m, uint32_t mark, uint32_t slot, uint64_t blocks,
			     uint64_t bytes)
{
	struct event e = { .type = MTW_MARK_LIVE };

	e.u.mark_live.mark = mark;
	e.u.mark_live.slot = slot;
	e.u.mark_live.blocks = blocks;
	e.u.mark_live.bytes = bytes;
	made_apply(m, &e);
}

static inline void made_cells_end(struct model *m, uint32_t mark)
{
	struct event e = { .type = MTW_MARK_LIVE };

	e.u.mark_live.mark = mark;
	e.u.mark_live.end = true;
	made_apply(m, &e);
}

static inline void made_tick(struct model *m, uint64_t time_ns, uint32_t flags)
{
	struct event e = { .type = MTW_TICK };

	e.u.tick.time_ns = time_ns;
	e.u.tick.flags = flags;
	made_apply(m, &e);
}

/* A complete tick whose totals are the sum over all slots, as an agent sends it. */
static inline void made_tick_whole(struct model *m, const struct tally *sum, uint64_t time_ns)
{
	made_totals(m, sum);
	made_tick(m, time_ns, MTW_TICK_COMPLETE);
}

/* Symbols: pending until told. */

#define MADE_FRAMES 4u

struct made_name {
	uint32_t module;
	uint64_t offset;
	struct symbol symbol;
	struct symbol_frame frames[MADE_FRAMES];
};

#define MADE_ANSWERED 64u
struct made_answered {
	uint64_t generation;
	struct symbol_place place;
};

struct symbols {
	const struct model *m;
	struct made_name *names;
	size_t count, room;
	uint64_t generation, asked; /* asked: calls of symbols_of_location() */
	uint64_t coming;            /* answers that are said to be under way */
	struct made_answered answered[MADE_ANSWERED];
	struct symbol_frame described;
	struct symbol describing;
};

static inline struct made_name *made_find(struct symbols *s, uint32_t module, uint64_t offset)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->names[i].module == module && s->names[i].offset == offset)
			return &s->names[i];
	return NULL;
}

/*
 * frames: "f", or innermost first "inlined|inlined|f". An answer of SYMBOL_DWARF is the last one,
 * as the worker's: later ones change nothing.
 */
static inline void made_answer(struct symbols *s, uint32_t module, uint64_t offset, int source,
			       const char *frames)
{
	struct made_name *n = made_find(s, module, offset);
	char *text = strdup(frames), *save = NULL;
	uint32_t count = 0, line = 10;

	if (n && n->symbol.source == SYMBOL_DWARF) {
		free(text);
		return;
	}
	if (!n) {
		GROW(s->names, s->room, s->count + 1);
		n = &s->names[s->count++];
		n->module = module;
		n->offset = offset;
	}
	for (char *f = strtok_r(text, "|", &save); f && count < MADE_FRAMES;
	     f = strtok_r(NULL, "|", &save))
		n->frames[count++] = (struct symbol_frame){ f, f, "made.c", line++, true };
	n->frames[count - 1].inlined = false;
	n->symbol = (struct symbol){ source, count, NULL };
	s->generation++;
	if (s->generation % 5 != 4) /* now and then one is forgotten */
		s->answered[s->generation % MADE_ANSWERED] =
			(struct made_answered){ s->generation, { offset, module, MTW_NODE_CODE } };
}

static inline void made_symbol(struct symbols *s, uint32_t module, uint64_t offset,
			       const char *frames)
{
	made_answer(s, module, offset, SYMBOL_DWARF, frames);
}

uint64_t symbols_generation(const struct symbols *s)
{
	return s->generation;
}

/* As if all but `coming` were answered: rows do not wait for more. */
void symbols_progress(const struct symbols *s, uint64_t *done, uint64_t *asked)
{
	*done = s->asked;
	*asked = s->asked + s->coming;
}

bool symbols_answered(const struct symbols *s, uint64_t generation, struct symbol_place *p)
{
	const struct made_answered *a = &s->answered[generation % MADE_ANSWERED];

	*p = a->place;
	return a->generation == generation;
}

const struct symbol *symbols_of_location(struct symbols *s, uint32_t number)
{
	static const struct symbol pending = { SYMBOL_PENDING, 0, NULL };
	const struct location *at = model_location(s->m, number);

	s->asked++;
	if (at->kind >= MTW_NODE_NOWHERE) {
		s->described = (struct symbol_frame){ .name = "[described]" };
		s->describing = (struct symbol){ SYMBOL_NONE, 1, &s->described };
		return &s->describing;
	}
	struct made_name *x = made_find(s, at->module, at->offset);
	if (!x)
		return &pending;
	x->symbol.frames = x->frames; /* names may have moved */
	return &x->symbol;
}

const struct symbol *symbols_shown(struct symbols *s, uint32_t number)
{
	return symbols_of_location(s, number);
}

const struct debuginfod *symbols_debuginfod(const struct symbols *s)
{
	(void)s;
	return NULL;
}

#endif
