/* SPDX-License-Identifier: MIT
 *
 * commands.c - carries out the requests in a viewer's frames (marks, options, scans), and tells the
 * other viewers.
 *
 * All viewers can see what one of them changes: a mark names who set it, an option names who
 * changed it, and the others get a message.
 */
#include "server/commands.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/state.h"
#include "collect/marks.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "scan/scan.h"
#include "server/service.h"
#include "collect/viewer.h"
#include "modules/maps.h"
#include "modules/real.h"
#include "record/filter.h"
#include "record/slots.h"
#include "unwind/cache.h"
#include "unwind/stacks.h"
#include "unwind/unwind.h"

#include <memtop/wire.h>

static const char *who(const struct viewer *v)
{
	return v->who[0] ? v->who : "another viewer";
}

static struct option *find_option(struct options *options, const char *name)
{
	for (uint32_t i = 0; i < options->count; i++)
		if (!strcmp(options->option[i].name, name))
			return &options->option[i];
	if (options->count == OPTIONS_MAX)
		return NULL;
	struct option *o = &options->option[options->count++];
	size_t len = strlen(name);
	memcpy(o->name, name, len < MTW_NAME_MAX ? len : MTW_NAME_MAX);
	return o;
}

static void keep_option(struct options *options, const char *name, const char *value,
			const char *by)
{
	struct option *o = find_option(options, name);
	size_t len = strlen(value);

	if (!o)
		return;
	len = len < sizeof(o->value) ? len : sizeof(o->value) - 1;
	memcpy(o->value, value, len);
	o->value[len] = 0;
	memcpy(o->who, by, strlen(by) + 1);
	o->changed = ++options->serial;
}

static bool room_for_filter(struct options *options)
{
	if (!options->filter)
		options->filter = memory_map(FILTERS_MAX * sizeof(*options->filter));
	return options->filter && options->filter_count < FILTERS_MAX;
}

/* Remembers the filters in force if they are others than before. */
static void keep_filters(struct options *options, const char *by)
{
	const struct conf *c = &mt_conf;
	static const struct filter_entry none;
	struct filter_entry f = { .sample = c->sample,
				  .min_size = c->min_size,
				  .max_size = c->max_size,
				  .merge = c->merge };
	const struct filter_entry *last =
		options->filter_count ? &options->filter[options->filter_count - 1] : &none;

	memcpy(f.libs, c->libs, sizeof(f.libs));
	memcpy(f.exclude, c->exclude, sizeof(f.exclude));
	if (f.sample == last->sample && f.min_size == last->min_size &&
	    f.max_size == last->max_size && f.merge == last->merge && !strcmp(f.libs, last->libs) &&
	    !strcmp(f.exclude, last->exclude))
		return;
	if (!room_for_filter(options))
		return;
	memcpy(f.who, by, strlen(by) + 1);
	f.since_ns = *by ? server_now() : 0;
	options->filter[options->filter_count++] = f;
}

/* "name=value name=value", a backslash before a character that would end the value. */
void command_options(struct options *options)
{
	char text[2048], name[MTW_NAME_MAX + 1], value[256];
	size_t at = 0;

	mt_conf_print(text, sizeof(text));
	while (text[at]) {
		size_t n = 0, v = 0;
		for (; text[at] && text[at] != '='; at++)
			if (n < MTW_NAME_MAX)
				name[n++] = text[at];
		at += text[at] == '=';
		for (; text[at] && text[at] != ' '; at++) {
			at += text[at] == '\\' && text[at + 1];
			if (v + 1 < sizeof(value))
				value[v++] = text[at];
		}
		at += text[at] == ' ';
		name[n] = value[v] = 0;
		keep_option(options, name, value, "");
	}
	if (mt_unwind_why()[0])
		keep_option(options, "unwind_why", mt_unwind_why(), "");
	if (mt_state_attached())
		keep_option(options, "attached", "yes", "");
	if (mt_real_front())
		keep_option(options, "malloc_before", mt_real_front(), "");
	keep_filters(options, "");
}

/* A string of the frame into a buffer that ends it; control characters would reach a screen. */
static bool get_text(struct mtw_in *in, char *to, size_t size)
{
	size_t len;
	const char *p = mtw_get_bytes(in, size - 1, &len);

	memcpy(to, p, len);
	to[len] = 0;
	for (size_t i = 0; i < len; i++) {
		if (!to[i])
			in->bad = true;
		if ((unsigned char)to[i] < 32 || to[i] == 127)
			to[i] = '?';
	}
	return !in->bad;
}

static bool set_mark(struct server *s, struct viewer *v, struct mtw_in *in)
{
	char name[MTW_NAME_MAX + 1], text[NOTICE_MAX];

	if (!get_text(in, name, sizeof(name)))
		return false;
	if (s->over) {
		viewers_notice(&s->notices, -1, v->index, "the program has ended; no mark was set");
		return true;
	}
	marks_requests(s); /* theirs have older epochs */
	uint64_t epoch = mt_slots_next_epoch();
	uint32_t id = marks_set(s, name, v->who, epoch);
	if (!id) {
		viewers_notice(&s->notices, -1, v->index,
			       "no more marks can be set in this session");
		return true;
	}
	mt_format(text, sizeof(text), "%s set mark m%u %s", who(v), id, s->marks.mark[id].name);
	viewers_notice(&s->notices, v->index, -1, text);
	s->service->next_tick_ns = 0;
	return true;
}

static bool drop_mark(struct server *s, struct viewer *v, struct mtw_in *in)
{
	uint64_t id = mtw_get(in);
	char text[NOTICE_MAX];

	if (in->bad)
		return false;
	if (id >= MTW_MARKS_MAX || !marks_drop(&s->marks, (uint32_t)id))
		return true; /* two viewers may drop the same one */
	mt_format(text, sizeof(text), "%s dropped mark m%u %s", who(v), (uint32_t)id,
		  s->marks.mark[id].name);
	viewers_notice(&s->notices, v->index, -1, text);
	return true;
}

static bool rename_mark(struct server *s, struct viewer *v, struct mtw_in *in)
{
	uint64_t id = mtw_get(in);
	char name[MTW_NAME_MAX + 1], text[NOTICE_MAX];

	if (!get_text(in, name, sizeof(name)))
		return false;
	if (id >= MTW_MARKS_MAX || !marks_rename(s, (uint32_t)id, name))
		return true;
	mt_format(text, sizeof(text), "%s renamed mark m%u to %s", who(v), (uint32_t)id,
		  s->marks.mark[id].name);
	viewers_notice(&s->notices, v->index, -1, text);
	return true;
}

/* Do call paths fill the agent's memory? They are half of it with their counters. A limit by the
 * machine's room may be low for a moment, so two passes must agree. */
static bool paths_take_half(struct options *options, uint64_t limit)
{
	bool half = mt_arena_bytes() >= limit / 2 &&
		    mt_stacks_count() * sizeof(struct node) >= limit / 8;

	options->half_passes = half ? options->half_passes + 1 : 0;
	return options->half_passes >= 2;
}

/* unwind/fold.c has the rules. */
void command_fold(struct server *s)
{
	char text[NOTICE_MAX];
	uint64_t limit = mt_arena_cap();
	unsigned long mib = (unsigned long)(limit >> 20);

	if (!atomic_load(&mt_unwind_folds) && paths_take_half(&s->options, limit)) {
		atomic_store(&mt_unwind_folds, true);
		keep_option(&s->options, "fold_recursion", "auto", "");
		mt_format(text, sizeof(text),
			  "call paths have taken half of the agent's limit of %luM (max_memory=): "
			  "recursion is folded from now on",
			  mib);
		viewers_notice(&s->notices, -1, -1, text);
	}
	if (!s->options.folded && !mt_arena_has(NEED_WHOLE)) {
		s->options.folded = true;
		mt_format(text, sizeof(text),
			  "call paths have nearly reached the agent's limit of %luM (max_memory=): "
			  "new ones keep their 16 innermost frames, or fewer",
			  mib);
		viewers_notice(&s->notices, -1, -1, text);
	}
}

static bool set_option(struct server *s, struct viewer *v, struct mtw_in *in)
{
	char name[MTW_NAME_MAX + 1], value[256], text[NOTICE_MAX];

	if (!get_text(in, name, sizeof(name)) || !get_text(in, value, sizeof(value)))
		return false;
	/* What is not told to viewers is not done. */
	const char *wrong = room_for_filter(&s->options)
				    ? mt_conf_set(name, value, mt_filter_update)
				    : "is one change too many for this session";
	if (wrong) {
		mt_format(text, sizeof(text), "%s=%.60s was not set: %s %s", name, value,
			  !strcmp(wrong, "is no option") ? "it" : "the value", wrong);
		viewers_notice(&s->notices, -1, v->index, text);
		return true;
	}
	keep_filters(&s->options, who(v));
	mt_maps_invalidate(); /* depth= makes other stacks of the same frames: nothing kept holds */
	keep_option(&s->options, name, value, who(v));
	mt_format(text, sizeof(text), "%s set %s=%.60s", who(v), name, value);
	viewers_notice(&s->notices, v->index, -1, text);
	return true;
}

static bool begin_scan(struct server *s, struct viewer *v, struct mtw_in *in)
{
	uint64_t request = mtw_get(in);
	uint64_t kind = mtw_get_below(in, MTW_KIND_COUNT);
	uint64_t n = mtw_get_below(in, MTW_BATCH_MAX + 1);

	if (in->bad)
		return false;
	if (s->over && kind == MTW_KIND_MEMORY) {
		viewers_notice(&s->notices, -1, v->index,
			       "the program has ended; its memory is gone");
		return true;
	}
	if (s->over && kind == MTW_KIND_COHORTS)
		return true; /* the final state has them */
	if (!scan_ask(v, request, (enum mtw_kind)kind, in, n) && !in->bad)
		viewers_notice(&s->notices, -1, v->index, "the agent has no memory for a scan");
	return !in->bad;
}

bool command_run(struct server *s, struct viewer *v, uint64_t type, struct mtw_in *in)
{
	v->wants = true;
	switch (type) {
	case MTW_SET_MARK: return set_mark(s, v, in);
	case MTW_DROP_MARK: return drop_mark(s, v, in);
	case MTW_RENAME_MARK: return rename_mark(s, v, in);
	case MTW_SET_OPTION: return set_option(s, v, in);
	case MTW_SCAN: return begin_scan(s, v, in);
	default: return true; /* a later version's */
	}
}
