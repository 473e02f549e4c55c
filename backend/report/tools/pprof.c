/* SPDX-License-Identifier: MIT
 *
 * pprof.c - the profile of `go tool pprof` and of many servers: a gzipped protobuf message
 * (github.com/google/pprof, proto/profile.proto).
 *
 * Strings, functions, locations and mappings are tables; a sample is a list of locations, innermost
 * first. A location is a code address of the trie, with a line for each function inlined there. The
 * labels of report/shown.h are the table of strings, the empty one first as the format demands.
 * Tables go out as they are met: the order of a message's fields is free. In each table ids count
 * from 1 in the order of the file, for there are readers that index by them.
 *
 * Of several processes the tables go on: each has mappings and locations of its own, strings and
 * functions are shared, and the labels of a sample name the process.
 */
#include "model/state/cohorts.h"
#include "report/gzip.h"
#include "report/shown.h"
#include "base/columns.h"
#include "report/tools/proto.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
enum { /* fields of Profile */
	SAMPLE_TYPE = 1, SAMPLE = 2, MAPPING = 3, LOCATION = 4, FUNCTION = 5, STRING = 6,
	TIME = 9, DURATION = 10, PERIOD_TYPE = 11, PERIOD = 12, COMMENT = 13, DEFAULT_TYPE = 14,
};
/* clang-format on */

#define VALUES_MAX 4
#define COMMAND_CHARS 200

struct profile {
	struct shown x;
	FILE *out;                       /* compresses */
	struct proto top, message, part; /* part: of a message */
	struct map functions;            /* name and file to its id */
	uint32_t function_count;
	uint32_t *module_ids, *location_ids; /* by module, by location number; 0 = not written */
	uint32_t module_count, location_count;
	struct map cuts;    /* label to the id of a location without code */
	uint32_t *slot_ids; /* by place in the columns: the wire's */
	/* the program's only thread, or NO_ID */
	uint32_t only_thread;
	uint32_t command;                          /* the program's, a label */
	uint64_t end_unix_ns, duration_ns, period; /* the largest of all processes */
};

static void send(struct profile *p)
{
	fwrite(p->top.data, 1, p->top.len, p->out);
	p->top.len = 0;
}

/* A message of the profile is complete. */
static void finish(struct profile *p, unsigned field)
{
	proto_message(&p->top, field, &p->message);
	send(p);
}

static uint32_t text(struct profile *p, const char *s)
{
	return shown_label(&p->x, s ? s : "");
}

static uint32_t function(struct profile *p, const struct shown_frame *f)
{
	uint32_t file = text(p, f->file);
	uint64_t key = (uint64_t)f->name << 32 | file;
	uint32_t id = map_get(&p->functions, key, 0);
	struct proto m = { 0 };

	if (id)
		return id;
	id = ++p->function_count;
	map_set(&p->functions, key, id);
	proto_number(&m, 1, id);
	proto_number(&m, 2, f->name);
	proto_number(&m, 3, f->name);
	proto_number(&m, 4, file);
	proto_message(&p->top, FUNCTION, &m);
	proto_release(&m);
	return id;
}

/* Its lines, from the innermost inlined function at `from` to the function itself. */
static void location(struct profile *p, uint64_t id, size_t from, size_t to)
{
	const struct shown_frame *f = &p->x.frames[from];
	struct proto m = { 0 };

	proto_number(&m, 1, id);
	if (f->location != NO_ID) {
		const struct model *model = p->x.report->model;
		const struct location *at = model_location(model, f->location);
		const struct module *k = model_module(model, at->module);
		if (k && k->known)
			proto_number(&m, 2, p->module_ids[at->module]);
		proto_number(&m, 3, k ? k->bias + at->offset : at->offset);
	}
	for (size_t i = from; i <= to; i++) {
		proto_number(&p->part, 1, function(p, &p->x.frames[i]));
		proto_number(&p->part, 2, p->x.frames[i].line);
		proto_message(&m, 4, &p->part);
	}
	proto_message(&p->top, LOCATION, &m);
	proto_release(&m);
}

/* The location that frames from .. to belong to. */
static uint64_t location_id(struct profile *p, size_t from, size_t to)
{
	const struct shown_frame *f = &p->x.frames[from];
	uint32_t id =
		f->location == NO_ID ? map_get(&p->cuts, f->name, 0) : p->location_ids[f->location];

	if (id)
		return id;
	id = ++p->location_count;
	if (f->location == NO_ID)
		map_set(&p->cuts, f->name, id);
	else
		p->location_ids[f->location] = id;
	location(p, id, from, to);
	return id;
}

static void put_mapping(struct profile *p, uint32_t id, const struct module *k)
{
	char build_id[2 * MTW_BUILD_ID_MAX + 1] = "";

	for (uint32_t i = 0; i < k->build_id_len; i++)
		snprintf(build_id + (size_t)2 * i, 3, "%02x", k->build_id[i]);
	p->module_ids[id] = ++p->module_count;
	proto_number(&p->message, 1, p->module_ids[id]);
	proto_number(&p->message, 2, k->start);
	proto_number(&p->message, 3, k->end);
	proto_number(&p->message, 5, text(p, k->path));
	proto_number(&p->message, 6, text(p, build_id));
	for (unsigned has = 7; has <= 10; has++) /* names are in the profile: ask nobody */
		proto_number(&p->message, has, 1);
	finish(p, MAPPING);
}

/* The program comes first: readers take the first mapping for it. */
static void put_mappings(struct profile *p)
{
	const struct model *m = p->x.report->model;

	for (unsigned main = 2; main-- > 0;) {
		for (uint32_t id = 0; id < model_module_count(m); id++) {
			const struct module *k = model_module(m, id);
			if (k && k->known && !(k->flags & MTW_MODULE_MAIN) == !main)
				put_mapping(p, id, k);
		}
	}
}

static void put_type(struct profile *p, unsigned field, const char *type, const char *unit)
{
	proto_number(&p->message, 1, text(p, type));
	proto_number(&p->message, 2, text(p, unit));
	finish(p, field);
}

static void put_types(struct profile *p)
{
	if (p->x.changes) {
		put_type(p, SAMPLE_TYPE, "growth_objects", "count");
		put_type(p, SAMPLE_TYPE, "growth_space", "bytes");
		return;
	}
	put_type(p, SAMPLE_TYPE, "alloc_objects", "count");
	put_type(p, SAMPLE_TYPE, "alloc_space", "bytes");
	put_type(p, SAMPLE_TYPE, "inuse_objects", "count");
	put_type(p, SAMPLE_TYPE, "inuse_space", "bytes");
}

/* word: a label's number; 0 = it has a number instead */
static void put_label(struct profile *p, const char *key, uint32_t word, uint64_t number)
{
	proto_number(&p->part, 1, text(p, key));
	if (word)
		proto_number(&p->part, 2, word);
	else
		proto_number(&p->part, 3, number);
	proto_message(&p->message, 3, &p->part);
}

static void put_thread(struct profile *p, uint32_t index)
{
	const struct thread *t = model_thread(p->x.report->model, index);

	if (!t || !t->known)
		return;
	put_label(p, "thread", text(p, *t->name ? t->name : "?"), 0);
	put_label(p, "tid", 0, t->tid);
}

/* The locations of the frames in x.frames. */
static void pack_locations(struct profile *p, size_t count, struct proto *ids)
{
	for (size_t from = 0, i = 0; i < count; i++) {
		if (p->x.frames[i].inlined)
			continue;
		proto_varint(ids, location_id(p, from, i));
		from = i + 1;
	}
}

/* thread: NO_ID = unknown, or several */
static void put_sample(struct profile *p, const struct proto *ids, const int64_t *values, size_t n,
		       uint32_t thread)
{
	proto_bytes(&p->message, 1, ids->data, ids->len);
	for (size_t i = 0; i < n; i++)
		proto_varint(&p->part, (uint64_t)values[i]);
	proto_message(&p->message, 2, &p->part);
	put_label(p, "pid", 0, p->x.report->pid);
	put_label(p, "command", p->command, 0);
	if (thread != NO_ID)
		put_thread(p, thread);
	finish(p, SAMPLE);
}

/* The stack's live blocks by thread, as the last scan saw them. 0 unless that is what is live. */
static size_t by_thread(const struct profile *p, const struct report_stack *s, struct cohort *list,
			size_t room)
{
	const struct model *m = p->x.report->model;
	const struct cohorts *c = model_cohorts(m);
	const struct columns *slots = p->x.report->columns;
	uint64_t blocks = 0, bytes = 0;
	struct cohort x;
	size_t count = 0;

	for (uint32_t at = c ? slots->first[s->stack + 1] : 0;
	     c && at-- > slots->first[s->stack];) {
		struct cohort_at of = cohorts_of_slot(c, p->slot_ids[at]);
		while (cohorts_next(c, &of, &x) && x.slot == p->slot_ids[at]) {
			size_t k = 0;
			while (k < count && list[k].thread != x.thread)
				k++;
			if (k == room)
				return 0;
			if (k == count)
				list[count++] = (struct cohort){ .thread = x.thread };
			list[k].blocks += x.blocks;
			list[k].bytes += x.bytes;
			blocks += x.blocks;
			bytes += x.bytes;
		}
	}
	return blocks == live_blocks(&s->sum) && bytes == live_bytes(&s->sum) ? count : 0;
}

/*
 * A sample a thread for what is live, where that is known, and one for what was allocated. The
 * latter has no thread, so that it keeps its labels while threads come and go: servers that collect
 * profiles tell samples by stack and labels, and subtract what they collected before.
 */
static void put_amounts(struct profile *p, const struct report_stack *s, const struct proto *ids)
{
	struct cohort list[64];
	int64_t all[VALUES_MAX] = { (int64_t)s->sum.alloc_blocks, (int64_t)s->sum.alloc_bytes,
				    (int64_t)live_blocks(&s->sum), (int64_t)live_bytes(&s->sum) };
	size_t n = 0;

	if (p->only_thread == NO_ID)
		n = by_thread(p, s, list, 64);
	else if (all[2])
		list[n++] = (struct cohort){ .thread = p->only_thread,
					     .blocks = (uint64_t)all[2],
					     .bytes = (uint64_t)all[3] };
	for (size_t i = 0; i < n; i++) {
		int64_t own[VALUES_MAX] = { 0, 0, (int64_t)list[i].blocks, (int64_t)list[i].bytes };
		put_sample(p, ids, own, VALUES_MAX, list[i].thread);
	}
	if (n)
		all[2] = all[3] = 0;
	put_sample(p, ids, all, VALUES_MAX, NO_ID);
}

static void put_stack(struct profile *p, const struct report_stack *s)
{
	struct proto ids = { 0 };
	int64_t growth[2] = { shown_blocks(&p->x, s), shown_bytes(&p->x, s) };

	pack_locations(p, shown_frames(&p->x, s->stack), &ids);
	if (p->x.changes)
		put_sample(p, &ids, growth, 2, p->only_thread);
	else
		put_amounts(p, s, &ids);
	proto_release(&ids);
}

static uint32_t only_thread(const struct model *m)
{
	uint32_t found = NO_ID;

	for (uint32_t i = 0; i < model_thread_count(m); i++) {
		const struct thread *t = model_thread(m, i);
		if (!t || !t->known)
			continue;
		if (found != NO_ID)
			return NO_ID;
		found = i;
	}
	return found;
}

static uint32_t command(struct profile *p)
{
	char brief[4 * COMMAND_CHARS + 4], *whole = report_command(p->x.report->model);
	uint32_t number = text(
		p, *whole ? columns_clip(brief, sizeof brief, whole, COMMAND_CHARS, "...") : "?");

	free(whole);
	return number;
}

static void raise_to(uint64_t *most, uint64_t n)
{
	*most = n > *most ? n : *most;
}

static uint32_t *ids_of_places(const struct columns *c)
{
	uint32_t *of_slot = slots_ids(c->slots);
	uint32_t *list = xmalloc((c->slots->count + 1ul) * sizeof *list);

	for (uint32_t a = 0; a < c->slots->count; a++)
		list[c->place_of[a]] = of_slot[a];
	free(of_slot);
	return list;
}

static void put_process(struct profile *p, const struct report_options *o)
{
	const struct model *m = p->x.report->model;
	const struct recorded *filter = model_filter(m);
	char *title = shown_title(&p->x, o);

	p->only_thread = only_thread(m);
	p->command = command(p);
	p->module_ids = xcalloc(model_module_count(m) + 1u, sizeof *p->module_ids);
	p->location_ids = xcalloc(model_location_count(m) + 1u, sizeof *p->location_ids);
	p->slot_ids = ids_of_places(p->x.report->columns);
	put_mappings(p);
	for (size_t i = 0; i < p->x.count; i++) {
		struct report_stack s = shown_stack(&p->x, i);

		put_stack(p, &s);
	}
	raise_to(&p->end_unix_ns, model_program(m)->start_unix_ns + model_time(m));
	raise_to(&p->duration_ns, model_time(m));
	raise_to(&p->period, filter && filter->sample ? filter->sample : 1);
	proto_number(&p->top, COMMENT, text(p, title));
	free(title);
	free(p->slot_ids);
	free(p->module_ids);
	free(p->location_ids);
}

static void put_rest(struct profile *p, const struct report_options *o)
{
	proto_number(&p->top, TIME, p->end_unix_ns);
	proto_number(&p->top, DURATION, p->duration_ns);
	put_type(p, PERIOD_TYPE, "space", "bytes");
	proto_number(&p->top, PERIOD, p->period);
	proto_number(&p->top, DEFAULT_TYPE,
		     text(p, p->x.changes                  ? "growth_space"
			     : o->value == VALUE_ALLOCATED ? "alloc_space"
							   : "inuse_space"));
	for (size_t i = 0; i < p->x.label_count; i++) { /* last: all are known now */
		proto_bytes(&p->top, STRING, p->x.labels[i], strlen(p->x.labels[i]));
		send(p);
	}
}

static int write_all(const struct report_source *list, size_t count, FILE *out, struct err *err)
{
	struct profile p = { .out = NULL };

	if (shown_open(&p.x, list->watch, list->options, err))
		return -1;
	p.out = gzip_open(out);
	text(&p, ""); /* is string 0 */
	put_types(&p);
	put_process(&p, list->options);
	int rc = 0;
	for (size_t i = 1; !rc && i < count; i++)
		if (!(rc = shown_next(&p.x, list[i].watch, list[i].options, err)))
			put_process(&p, list[i].options);
	if (!rc) {
		put_rest(&p, list->options);
		shown_close(&p.x);
	}
	fclose(p.out);
	proto_release(&p.top);
	proto_release(&p.message);
	proto_release(&p.part);
	map_release(&p.functions);
	map_release(&p.cuts);
	return rc ? rc : report_flush(out, err);
}

static int write_pprof(struct watch *w, struct query *q, const struct report_options *o, FILE *out,
		       struct err *err)
{
	(void)q;
	return write_all(&(struct report_source){ w, o }, 1, out, err);
}

const struct report_format report_pprof = {
	.name = "pprof",
	.ending = ".pb.gz",
	.write = write_pprof,
	.about = "for go tool pprof and profile servers",
	.binary = true,
	.write_all = write_all,
};
