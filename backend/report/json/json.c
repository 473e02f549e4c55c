/* SPDX-License-Identifier: MIT
 *
 * json.c - the report for scripts: one object, schema 2. The keys are a contract: more may be
 * added, none may go or change; lists are empty, never missing; names ending in _s are seconds
 * since the start, as numbers.
 *
 * Each element of a list is built, printed and freed alone; stacks, of which there may be a
 * million, are written member by member (report/json/stream.h).
 */
#include "base/map.h"
#include "report/coverage.h"
#include "report/frames.h"
#include "report/holders.h"
#include "report/json/json.h"
#include "report/json/stream.h"
#include "report/json/values.h"
#include "report/report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMELINE_MAX 600 /* points of the timeline, and its end */

/* frames[] of the report: each distinct frame once, in the order of their first use. Frames found
 * by a frame pointer are others than those of the same code that an unwind table led to. */
struct frame_table {
	uint32_t *number; /* by 2 * frame of the names + by_pointer: its place in list; NO_ID */
	struct report_frame *list;
	size_t count, room;
};

struct printer {
	struct json_stream stream;
	struct report *report;
	struct query *query;
	struct holders holders;
	struct report_frame *frames; /* REPORT_FRAMES of them */
	struct frame_table table;
	/* written once for all stacks */
	struct map owner_texts; /* struct owner's address -> place in owners, + 1 */
	char **owners, *reasons[MTW_TRUNC_COUNT];
	size_t owner_count, owner_room;
	const struct expected *rules;
	uint8_t *expected; /* by frame of the names, where call sites are: 0 = not asked yet, 1 +
			      bool */
};

static json_t *start_time(const struct program *g)
{
	char stamp[64];
	time_t s = (time_t)(g->start_unix_ns / 1000000000);
	struct tm tm;

	if (!g->start_unix_ns || !gmtime_r(&s, &tm))
		return json_null();
	size_t n = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(stamp + n, sizeof stamp - n, ".%03uZ",
		 (unsigned)(g->start_unix_ns / 1000000 % 1000));
	return json_string(stamp);
}

static const char *stop_why(uint32_t why)
{
	return why == MTW_STOP_SIGNAL   ? "signal"
	       : why == MTW_STOP_TRACED ? "traced"
	       : why == MTW_STOP_FROZEN ? "frozen"
					: "unknown";
}

/* stopped_s is less than to_s - from_s where several stops are one entry. */
static json_t *stops(const struct model *m)
{
	const struct stops *x = model_stops(m);
	uint64_t now = model_time(m);
	json_t *list = json_array();

	for (size_t i = 0; i < x->count; i++) {
		const struct stop *p = &x->list[i];
		bool open = p->end_ns == UINT64_MAX;
		uint64_t lasted = now > p->begin_ns ? now - p->begin_ns : 0;
		json_t *o = json_object();
		set(o, "from_s", seconds(p->begin_ns));
		set(o, "to_s", open ? json_null() : seconds(p->end_ns));
		set(o, "stopped_s", seconds(open ? lasted : p->stopped_ns));
		set(o, "times", number(p->times));
		set(o, "why", json_string(stop_why(p->why)));
		set(o, "tracer_pid", p->pid ? number(p->pid) : json_null());
		set(o, "tracer", p->name[0] ? report_json_text(p->name) : json_null());
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *program(const struct report *r)
{
	const struct model *m = r->model;
	const struct program *g = model_program(m);
	json_t *o = json_object(), *args = json_array();
	int status;
	bool known;
	uint32_t state = model_state(m, &status, &known);
	struct program_end end =
		state == MTW_CUT ? model_cut_end(m) : (struct program_end){ state, status, known };

	for (size_t i = 0; i < g->arg_count; i++)
		json_array_append_new(args, report_json_text(g->args[i]));
	set(o, "pid", number(r->pid));
	set(o, "inner_pid", r->inner_pid ? number(r->inner_pid) : json_null());
	set(o, "exe", report_json_text(g->exe));
	set(o, "args", args);
	set(o, "start_time", start_time(g));
	set(o, "duration_s", seconds(model_time(m)));
	set(o, "state", json_string(report_state(state, known)));
	set(o, "status",
	    end.state == MTW_EXITED && end.known ? json_integer(end.status) : json_null());
	set(o, "signal",
	    end.state == MTW_SIGNALLED && end.known ? json_integer(end.status) : json_null());
	set(o, "complete", json_boolean(model_whole(m)));
	set(o, "slept_s", seconds(model_stops(m)->slept_ns));
	set(o, "stops", stops(m));
	return o;
}

/* One entry per change; the first applies from the start. */
static void sampling(struct printer *p)
{
	const struct recorded *list;
	size_t n = model_filters(p->report->model, &list);
	uint64_t before = 0;

	stream_list_begin(&p->stream, "sampling");
	for (size_t i = 0; i < n; i++) {
		if (list[i].sample == before)
			continue;
		json_t *o = json_object();
		set(o, "from_s", seconds(list[i].since_ns));
		set(o, "bytes", number(before = list[i].sample));
		stream_element(&p->stream, o);
	}
	stream_list_end(&p->stream);
}

/* Beyond the contract: everything left out, since when, and by whom. */
static void filters(struct printer *p)
{
	const struct recorded *list;
	size_t n = model_filters(p->report->model, &list);

	stream_list_begin(&p->stream, "filters");
	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();

		set(o, "from_s", seconds(list[i].since_ns));
		set(o, "sample", number(list[i].sample));
		set(o, "min_size", number(list[i].min_size));
		set(o, "max_size", number(list[i].max_size));
		set(o, "libs", report_json_text(list[i].libs));
		set(o, "exclude", report_json_text(list[i].exclude));
		set(o, "merge", number(list[i].merge));
		set(o, "set_by", report_json_text(list[i].who));
		stream_element(&p->stream, o);
	}
	stream_list_end(&p->stream);
}

static json_t *totals(const struct model *m)
{
	const struct totals *t = model_totals(m);
	json_t *o = json_object();

	set_tally(o, &t->sum);
	set(o, "estimate", json_boolean(model_estimate(m)));
	set(o, "freed_bytes", number(t->sum.free_bytes));
	set(o, "freed_blocks", number(t->sum.free_blocks));
	set(o, "peak_bytes", number(t->peak_bytes));
	set(o, "peak_error_bytes", number(t->peak_error_bytes));
	set(o, "peak_time_s", seconds(t->peak_time_ns));
	return o;
}

static void libraries(struct printer *p)
{
	const struct owner *list = NULL;
	size_t n = owners_update(p->report->owners, &list);

	stream_list_begin(&p->stream, "libraries");
	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();

		set(o, "name", report_json_text(list[i].name));
		set(o, "build_id",
		    report_json_build_id(model_module(p->report->model, list[i].module)));
		set_tally(o, &list[i].amounts.sum);
		set(o, "estimate", json_boolean(list[i].amounts.sampled != 0));
		stream_element(&p->stream, o);
	}
	stream_list_end(&p->stream);
}

static int compare_threads(const void *pa, const void *pb)
{
	const struct thread *a = *(const struct thread *const *)pa,
			    *b = *(const struct thread *const *)pb;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes > b->live_bytes ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static void threads(struct printer *p)
{
	const struct model *m = p->report->model;
	uint32_t limit = model_thread_count(m);
	bool looked = model_looked(m, MTW_KIND_THREADS) != 0; /* null: "not_known" says why */
	const struct thread **list = xcalloc(limit + 1, sizeof *list);
	size_t n = 0;

	for (uint32_t i = 0; i < limit; i++)
		if (model_thread(m, i) && model_thread(m, i)->known)
			list[n++] = model_thread(m, i);
	qsort(list, n, sizeof *list, compare_threads);
	stream_list_begin(&p->stream, "threads");
	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();

		set(o, "tid", number(list[i]->tid));
		set(o, "name", report_json_text(list[i]->name));
		set(o, "live_bytes", looked ? number(list[i]->live_bytes) : json_null());
		set(o, "live_blocks", looked ? number(list[i]->live_blocks) : json_null());
		set(o, "allocated_bytes", number(list[i]->done.alloc_bytes));
		set(o, "allocated_blocks", number(list[i]->done.alloc_blocks));
		/* It is unknown which threads were sampled. */
		set(o, "estimate", json_boolean(model_estimate(m)));
		stream_element(&p->stream, o);
	}
	stream_list_end(&p->stream);
	free(list);
}

/* False: it stands for code that nothing is known of. */
static bool is_shown(const struct report *r, const struct report_frame *f)
{
	struct frame_out out = report_frame_out(r, f);

	return !f->cut && (out.has_offset || out.address || out.module);
}

static void put_frame(struct printer *p, const struct report_frame *f)
{
	struct frame_table *t = &p->table;
	uint32_t *number = &t->number[2 * (size_t)f->frame + f->by_pointer];

	if (*number == NO_ID) {
		if (!is_shown(p->report, f))
			return;
		GROW(t->list, t->room, t->count + 1);
		t->list[t->count] = *f;
		*number = (uint32_t)t->count++;
	}
	stream_number(&p->stream, NULL, *number);
}

static void frames(struct printer *p)
{
	stream_list_begin(&p->stream, "frames");
	for (size_t i = 0; i < p->table.count; i++) {
		const struct frame_out of = report_frame_out(p->report, &p->table.list[i]),
				       *f = &of;
		json_t *o = json_object();

		set(o, "function", report_json_text(f->function));
		set(o, "module", report_json_text(f->module));
		set(o, "offset", f->has_offset ? number(f->offset) : json_null());
		set(o, "address", number(f->address));
		set(o, "file", report_json_text(f->file));
		set(o, "line", f->line ? number(f->line) : json_null());
		set(o, "inlined", json_boolean(f->inlined));
		if (f->by_pointer)
			set(o, "by", report_json_text("fp"));
		stream_element(&p->stream, o);
	}
	stream_list_end(&p->stream);
}

static const char *owner_text(struct printer *p, const struct report_stack *s)
{
	const struct owner *owner = report_owner(p->report, s->stack);
	uint32_t at = map_get(&p->owner_texts, (uintptr_t)owner, 0);

	if (!at) {
		GROW(p->owners, p->owner_room, p->owner_count + 1);
		p->owners[p->owner_count++] = report_json_line(report_json_text(owner->name));
		map_set(&p->owner_texts, (uintptr_t)owner, at = (uint32_t)p->owner_count);
	}
	return p->owners[at - 1];
}

static const char *reason_text(struct printer *p, uint32_t reason)
{
	char **text = &p->reasons[reason < MTW_TRUNC_COUNT ? reason : MTW_TRUNC_NONE];

	if (!*text)
		*text = report_json_line(report_json_text(report_truncation(reason)));
	return *text;
}

/* Asked once for each call site. */
static bool is_expected(struct printer *p, uint32_t stack)
{
	uint32_t site = report_site(p->report, stack);
	char key[EXPECTED_KEY_MAX];

	if (site == NO_ID)
		return false;
	if (!p->expected[site]) {
		report_site_key(p->report, stack, key);
		p->expected[site] = 1 + expected_has(p->rules, key);
	}
	return p->expected[site] - 1;
}

static void put_change(struct printer *p, const struct change *c)
{
	stream_number(&p->stream, "born_bytes", c->born_bytes);
	stream_number(&p->stream, "born_blocks", c->born_blocks);
	stream_number(&p->stream, "gone_bytes", c->gone_bytes);
	stream_number(&p->stream, "gone_blocks", c->gone_blocks);
	stream_number(&p->stream, "net_bytes", c->born_bytes - c->gone_bytes);
	stream_number(&p->stream, "net_blocks", c->born_blocks - c->gone_blocks);
}

static void put_stack(struct printer *p, const struct report_stack *s, bool change)
{
	struct json_stream *out = &p->stream;
	size_t count = report_frames(p->report, s->stack, p->frames);

	stream_object_begin(out);
	stream_number(out, "id", s->leaf);
	stream_text(out, "owner", owner_text(p, s));
	stream_number(out, "live_bytes", live_bytes(&s->sum));
	stream_number(out, "live_blocks", live_blocks(&s->sum));
	stream_number(out, "allocated_bytes", s->sum.alloc_bytes);
	stream_number(out, "allocated_blocks", s->sum.alloc_blocks);
	if (p->holders.all)
		stream_number(out, "processes", holders_of_stack(&p->holders, s->stack));
	stream_flag(out, "estimate", s->estimate);
	stream_flag(out, "expected", is_expected(p, s->stack));
	if (change)
		put_change(p, &s->change);
	stream_text(out, "truncated", reason_text(p, report_truncated(p->report, s->stack)));
	stream_open(out, "frames", '[');
	for (size_t i = 0; i < count; i++)
		put_frame(p, &p->frames[i]);
	stream_close(out, ']');
	stream_close(out, '}');
}

/* A finished program has many stacks without live blocks, and few readers ask for them. */
static void stacks(struct printer *p, size_t which)
{
	struct tally omitted = { 0 };
	uint64_t count = 0;

	stream_list_begin(&p->stream, "stacks");
	for (size_t i = 0; i < p->report->stack_count; i++) {
		struct report_stack s = report_stack(p->report, p->report->order[i]);

		if (stacks_list(which, i, &s.sum)) {
			put_stack(p, &s, false);
			continue;
		}
		tally_add(&omitted, &s.sum);
		count++;
	}
	stream_list_end(&p->stream);
	json_t *o = json_object();
	set(o, "stacks", number(count));
	set_tally(o, &omitted);
	stream_value(&p->stream, "omitted", o);
}

static void marks(struct printer *p)
{
	const struct model *m = p->report->model;

	stream_list_begin(&p->stream, "marks");
	for (uint32_t id = 1; id < model_mark_limit(m); id++) {
		const struct mark *k = model_mark(m, id);

		if (!k || !k->known || (k->flags & MTW_MARK_DROPPED))
			continue;
		json_t *o = json_object();
		set(o, "id", number(id));
		set(o, "name", report_json_text(k->name));
		set(o, "set_by", report_json_text(k->set_by));
		set(o, "time_s", seconds(k->time_ns));
		set_live(o, &k->totals);
		set(o, "estimate", json_boolean(model_mark_estimate(m, id)));
		stream_element(&p->stream, o);
	}
	stream_list_end(&p->stream);
}

static void timeline(struct printer *p)
{
	const struct point *points = NULL;
	size_t n = model_history(p->report->model, &points),
	       step = (n + TIMELINE_MAX - 1) / TIMELINE_MAX;

	stream_list_begin(&p->stream, "timeline");
	for (size_t i = 0; i < n; i++) {
		if (i && i + 1 < n && i % step)
			continue;
		json_t *o = json_object();

		set(o, "time_s", seconds(points[i].time_ns));
		set(o, "live_bytes", number(points[i].live_bytes));
		set(o, "live_blocks", number(points[i].live_blocks));
		set(o, "allocated_bytes", number(points[i].alloc_bytes));
		set(o, "rss_bytes",
		    points[i].rss_bytes ? number(points[i].rss_bytes) : json_null());
		stream_element(&p->stream, o);
	}
	stream_list_end(&p->stream);
}

static void changes(struct printer *p, const struct report_stack *list, size_t n)
{
	stream_list_begin(&p->stream, "changes");
	for (size_t i = 0; i < n; i++)
		put_stack(p, &list[i], true);
	stream_list_end(&p->stream);
}

static void warnings(struct printer *p)
{
	stream_list_begin(&p->stream, "warnings");
	for (size_t i = 0; i < p->report->warning_count; i++)
		stream_element(&p->stream, report_json_text(p->report->warnings[i]));
	stream_list_end(&p->stream);
}

/* The addresses of the frames' modules. Beyond the contract: needed to resolve them elsewhere. */
static void modules(struct printer *p)
{
	const struct model *m = p->report->model;

	stream_list_begin(&p->stream, "modules");
	for (uint32_t id = 0; id < model_module_count(m); id++) {
		const struct module *k = model_module(m, id);

		if (!k || !k->known)
			continue;
		json_t *o = json_object();
		set(o, "name", report_json_text(k->name));
		set(o, "path", report_json_text(k->path));
		set(o, "build_id", report_json_build_id(k));
		set(o, "load_bias", number(k->bias));
		set(o, "hooks", report_json_text(coverage_word(k->flags)));
		stream_element(&p->stream, o);
	}
	stream_list_end(&p->stream);
}

/* The program's process tree, largest peak first. */
static void processes(struct printer *p, const struct report_options *o)
{
	const struct process **sorted = NULL;
	size_t n = o->processes ? report_tree_sorted(o->processes, &sorted) : 0;

	if (o->processes)
		stream_value(&p->stream, "tree", report_tree_json(o->processes));
	if (o->all)
		stream_value(&p->stream, "all", json_true());
	stream_list_begin(&p->stream, "processes");
	for (size_t i = 0; i < n; i++)
		stream_element(&p->stream, report_process_json(sorted[i]));
	stream_list_end(&p->stream);
	free(sorted);
}

static void printer_begin(struct printer *p)
{
	size_t frames = p->report->names->first[p->report->names->locations];

	p->frames = xcalloc(REPORT_FRAMES, sizeof *p->frames);
	p->expected = xcalloc(frames + 1, sizeof *p->expected);
	p->table.number = xmalloc((2 * frames + 1) * sizeof *p->table.number);
	memset(p->table.number, 0xff, 2 * frames * sizeof *p->table.number); /* NO_ID */
}

static void printer_end(struct printer *p)
{
	for (size_t i = 0; i < p->owner_count; i++)
		free(p->owners[i]);
	for (size_t i = 0; i < MTW_TRUNC_COUNT; i++)
		free(p->reasons[i]);
	map_release(&p->owner_texts);
	free(p->owners);
	free(p->expected);
	free(p->table.number);
	free(p->table.list);
	free(p->frames);
}

static int write_report(struct watch *w, struct query *q, const struct report_options *o, FILE *out,
			struct err *err)
{
	struct report *r = report_new(w);
	struct printer p = {
		.stream = { .out = out }, .report = r, .query = q, .rules = watch_expected(w)
	};
	struct report_stack *changed = NULL;
	size_t changed_count = 0;
	int rc = 0;

	holders_init(&p.holders, r, o->all);
	if (o->changes && !(changed = report_changes(r, o, &changed_count, err))) {
		rc = -1;
		goto out;
	}
	printer_begin(&p);
	fputs("{\n", out);
	stream_value(&p.stream, "schema", json_integer(2));
	stream_value(&p.stream, "program", program(r));
	stream_value(&p.stream, "agent", report_json_agent(r));
	sampling(&p);
	stream_value(&p.stream, "totals", totals(r->model));
	libraries(&p);
	threads(&p);
	stacks(&p, o->stacks ? o->stacks : STACKS_LIVE);
	marks(&p);
	timeline(&p);
	changes(&p, changed, changed_count);
	frames(&p);
	warnings(&p);
	modules(&p);
	filters(&p);
	stream_value(&p.stream, "resident", report_json_resident(r->model));
	stream_value(&p.stream, "ages", report_json_ages(r->model));
	stream_value(&p.stream, "not_known", report_json_not_known(w));
	stream_value(&p.stream, "verdict", report_json_verdict(r, q));
	processes(&p, o);
	fputs("\n}\n", out);
	rc = report_flush(out, err);
out:
	printer_end(&p);
	holders_release(&p.holders);
	free(changed);
	report_free(r);
	return rc;
}

const struct report_format report_json = {
	.name = "json",
	.ending = ".json",
	.write = write_report,
	.about = "for scripts: one object with everything",
};
