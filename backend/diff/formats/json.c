/* SPDX-License-Identifier: MIT
 *
 * json.c - a diff for scripts; memtop(1) lists the keys. Stacks whose four amounts are equal in
 * all sessions are summed in "unchanged": with it, all sums hold.
 */
#include "diff/formats/formats.h"

#include "base/format.h"
#include "diff/formats/paths.h"
#include "report/json/stream.h"
#include "report/json/values.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

struct printer {
	const struct diff *d;
	struct json_stream stream;
	struct paths paths;
	struct map owner_of; /* an owner's address -> number + 1 */
	char **owners;       /* as JSON */
	size_t owner_count, owner_room;
};

static uint64_t allocated_bytes(const struct tally *t)
{
	return t->alloc_bytes;
}

static uint64_t allocated_blocks(const struct tally *t)
{
	return t->alloc_blocks;
}

static const struct amount {
	const char *name;
	uint64_t (*of)(const struct tally *t);
} amounts[] = {
	{ "live_bytes", live_bytes },
	{ "live_blocks", live_blocks },
	{ "allocated_bytes", allocated_bytes },
	{ "allocated_blocks", allocated_blocks },
};
#define AMOUNTS (sizeof amounts / sizeof *amounts)

/* {"live_bytes": [of each session], ...} */
static json_t *one_side(const struct diff *d, const struct tally *sums, bool b)
{
	json_t *o = json_object();

	for (size_t k = 0; k < AMOUNTS; k++) {
		json_t *list = json_array();
		for (size_t i = b ? d->sides_a : 0; i < (b ? d->sides_count : d->sides_a); i++)
			json_array_append_new(list, number(amounts[k].of(&sums[i])));
		set(o, amounts[k].name, list);
	}
	return o;
}

/* A whole number where it is one. */
static json_t *change_of(const struct diff *d, const struct tally *sums, const struct amount *k)
{
	uint64_t a = 0, b = 0, count_a = d->sides_a, count_b = d->sides_count - d->sides_a;

	for (size_t i = 0; i < d->sides_count; i++)
		*(i < d->sides_a ? &a : &b) += k->of(&sums[i]);
	int64_t moved = (int64_t)(b * count_a - a * count_b), by = (int64_t)(count_a * count_b);
	return moved % by ? json_real((double)moved / (double)by) : json_integer(moved / by);
}

static void set_amounts(json_t *o, const struct diff *d, const struct tally *sums)
{
	json_t *change = json_object();

	set(o, "a", one_side(d, sums, false));
	set(o, "b", one_side(d, sums, true));
	for (size_t k = 0; k < AMOUNTS; k++)
		set(change, amounts[k].name, change_of(d, sums, &amounts[k]));
	set(o, "change", change);
}

static json_t *row(const struct diff *d, const struct diff_row *r)
{
	json_t *o = json_object();

	set(o, "kind", json_string(diff_kind_name(r->kind)));
	set(o, "noise", d->judged ? json_boolean(r->noise) : json_null());
	if (r->owner)
		set(o, "owner", report_json_text(r->owner));
	set(o, "stacks", number(r->stacks));
	set_amounts(o, d, r->sums);
	return o;
}

static json_t *session(const struct side *s)
{
	json_t *o = json_object();

	set(o, "target", report_json_text(s->label));
	set(o, "program", report_json_text(s->program));
	set(o, "pid", number(s->pid));
	set(o, "time_s", seconds(s->time_ns));
	set(o, "mark", report_json_text(s->mark));
	set(o, "state", report_json_text(s->state));
	set(o, "estimate", json_boolean(s->estimate));
	return o;
}

static void sessions(struct printer *p, const char *name, size_t from, size_t to)
{
	stream_list_begin(&p->stream, name);
	for (size_t i = from; i < to; i++)
		stream_element(&p->stream, session(p->d->sides[i]));
	stream_list_end(&p->stream);
}

static void owners(struct printer *p)
{
	stream_list_begin(&p->stream, "owners");
	for (size_t i = 0; i < p->d->owners.count; i++)
		stream_element(&p->stream, row(p->d, &p->d->owners.list[i]));
	stream_list_end(&p->stream);
}

static void sites(struct printer *p)
{
	stream_list_begin(&p->stream, "sites");
	for (size_t i = 0; i < p->d->sites.count; i++) {
		const struct diff_row *r = &p->d->sites.list[i];
		json_t *o = row(p->d, r);
		set(o, "function", report_json_text(r->name));
		set(o, "caller", report_json_text(r->caller));
		set(o, "file", report_json_text(r->file));
		set(o, "line", r->line ? number(r->line) : json_null());
		stream_element(&p->stream, o);
	}
	stream_list_end(&p->stream);
}

/* The objects of its frames, innermost first. */
static char *piece(void *arg, const struct join_frame *frames, size_t count)
{
	char *all = xstrdup("");

	(void)arg;
	for (size_t i = 0; i < count; i++) {
		const struct join_frame *f = &frames[i];
		json_t *o = json_object();
		set(o, "function", report_json_text(f->function));
		set(o, "module", report_json_text(f->module));
		set(o, "offset", f->module ? number(f->offset) : json_null());
		set(o, "file", report_json_text(f->file));
		set(o, "line", f->line ? number(f->line) : json_null());
		set(o, "inlined", json_boolean(f->inlined));
		set(o, "site", json_boolean(f->site));
		char *one = report_json_line(o),
		     *more = xasprintf("%s%s%s", all, i ? "," : "", one);
		free(one);
		free(all);
		all = more;
	}
	return all;
}

static const char *owner_text(struct printer *p, const char *owner)
{
	uint64_t key = (uint64_t)(uintptr_t)owner;
	uint32_t number = map_get(&p->owner_of, key, 0);

	if (!number) {
		GROW(p->owners, p->owner_room, p->owner_count + 1);
		p->owners[p->owner_count++] = report_json_line(report_json_text(owner));
		map_set(&p->owner_of, key, number = (uint32_t)p->owner_count);
	}
	return p->owners[number - 1];
}

static void put_side(struct printer *p, const struct tally *sums, bool b)
{
	const struct diff *d = p->d;

	stream_open(&p->stream, b ? "b" : "a", '{');
	for (size_t k = 0; k < AMOUNTS; k++) {
		stream_open(&p->stream, amounts[k].name, '[');
		for (size_t i = b ? d->sides_a : 0; i < (b ? d->sides_count : d->sides_a); i++)
			stream_number(&p->stream, NULL, amounts[k].of(&sums[i]));
		stream_close(&p->stream, ']');
	}
	stream_close(&p->stream, '}');
}

static void put_change(struct printer *p, const struct tally *sums)
{
	stream_open(&p->stream, "change", '{');
	for (size_t k = 0; k < AMOUNTS; k++) {
		json_t *by = change_of(p->d, sums, &amounts[k]);

		if (json_is_integer(by)) {
			stream_number(&p->stream, amounts[k].name,
				      (uint64_t)json_integer_value(by));
		} else {
			char *text = json_dumps(by, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
			stream_text(&p->stream, amounts[k].name, text ? text : "null");
			free(text);
		}
		json_decref(by);
	}
	stream_close(&p->stream, '}');
}

/* As row(), but a million of them. */
static void put_stack(struct printer *p, const struct diff_row *r)
{
	struct json_stream *out = &p->stream;
	const char *by = join_by_name(p->d->join->list[r->stack].by);
	char kind[32], joined_by[32];
	size_t n = paths_of(&p->paths, r->stack);

	snprintf(kind, sizeof kind, "\"%s\"", diff_kind_name(r->kind));
	snprintf(joined_by, sizeof joined_by, "\"%s\"", by ? by : "");
	stream_object_begin(out);
	stream_text(out, "kind", kind);
	if (p->d->judged)
		stream_flag(out, "noise", r->noise);
	else
		stream_text(out, "noise", "null");
	stream_text(out, "owner", owner_text(p, r->owner));
	stream_number(out, "stacks", r->stacks);
	put_side(p, r->sums, false);
	put_side(p, r->sums, true);
	put_change(p, r->sums);
	stream_text(out, "joined_by", by ? joined_by : "null");
	stream_number(out, "among", p->d->join->list[r->stack].among);
	stream_open(out, "frames", '[');
	for (size_t i = 0; i < n; i++)
		stream_text(out, NULL, p->paths.path[i]);
	stream_close(out, ']');
	stream_close(out, '}');
}

static bool differs(const struct diff *d, const struct tally *sums)
{
	for (size_t i = 1; i < d->sides_count; i++)
		if (memcmp(&sums[0], &sums[i], sizeof *sums))
			return true;
	return false;
}

static void stacks(struct printer *p)
{
	const struct diff *d = p->d;
	struct diff_row same = { .sums = NULL };
	struct tally *sums = xcalloc(d->sides_count, sizeof *sums);

	stream_list_begin(&p->stream, "stacks");
	for (size_t i = 0; i < d->stacks.count; i++) {
		const struct diff_row *r = &d->stacks.list[i];
		if (!differs(d, r->sums)) {
			same.stacks++;
			for (size_t k = 0; k < d->sides_count; k++)
				tally_add(&sums[k], &r->sums[k]);
			continue;
		}
		put_stack(p, r);
	}
	stream_list_end(&p->stream);
	same.sums = sums;
	stream_value(&p->stream, "unchanged", row(d, &same));
	free(sums);
}

static void warnings(struct printer *p)
{
	stream_list_begin(&p->stream, "warnings");
	for (size_t i = 0; i < p->d->sides_count; i++) {
		const struct side *s = p->d->sides[i];
		for (size_t k = 0; k < s->warning_count; k++) {
			char *text = xasprintf("%s: %s", s->label, s->warnings[k]);
			stream_element(&p->stream, report_json_text(text));
			free(text);
		}
	}
	stream_list_end(&p->stream);
}

int diff_write_json(const struct diff *d, FILE *out, struct err *err)
{
	struct printer p = {
		.d = d,
		.stream = { .out = out },
		.paths = { .d = d, .piece = piece },
	};
	char rule[DIFF_RULE];

	fputs("{\n", out);
	stream_value(&p.stream, "schema", json_integer(1));
	stream_value(&p.stream, "value", json_string(diff_value_name(d->value)));
	stream_value(&p.stream, "noise_rule",
		     d->judged ? json_string(diff_noise_rule(d, rule)) : json_null());
	sessions(&p, "a", 0, d->sides_a);
	sessions(&p, "b", d->sides_a, d->sides_count);
	stream_value(&p.stream, "totals", row(d, &d->totals));
	owners(&p);
	sites(&p);
	stacks(&p);
	warnings(&p);
	fputs("\n}\n", out);
	paths_release(&p.paths);
	map_release(&p.owner_of);
	for (size_t i = 0; i < p.owner_count; i++)
		free(p.owners[i]);
	free(p.owners);
	return report_flush(out, err);
}
