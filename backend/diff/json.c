/* SPDX-License-Identifier: MIT
 *
 * json.c - a diff for scripts; memtop(1) lists the keys. Stacks whose four amounts are equal in
 * all sessions are summed in "unchanged": with it, all sums hold.
 */
#include "diff/diff.h"
#include "diff/noise.h"

#include "report/json/values.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 512

struct printer {
	const struct diff *d;
	FILE *out;
	bool keys, elements; /* some were written: a comma comes first */
	struct join_frame *frames;
};

static void dump(struct printer *p, json_t *value_take)
{
	json_dumpf(value_take, p->out, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(value_take);
}

static void key(struct printer *p, const char *name)
{
	fprintf(p->out, "%s\"%s\": ", p->keys ? ",\n" : "", name);
	p->keys = true;
}

static void value(struct printer *p, const char *name, json_t *value_take)
{
	key(p, name);
	dump(p, value_take);
}

static void list_begin(struct printer *p, const char *name)
{
	key(p, name);
	fputc('[', p->out);
	p->elements = false;
}

static void element(struct printer *p, json_t *value_take)
{
	fputs(p->elements ? ",\n  " : "\n  ", p->out);
	p->elements = true;
	dump(p, value_take);
}

static void list_end(struct printer *p)
{
	fputs(p->elements ? "\n]" : "]", p->out);
}

/* --- amounts */

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

/* --- the keys */

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
	list_begin(p, name);
	for (size_t i = from; i < to; i++)
		element(p, session(p->d->sides[i]));
	list_end(p);
}

static void owners(struct printer *p)
{
	list_begin(p, "owners");
	for (size_t i = 0; i < p->d->owners.count; i++)
		element(p, row(p->d, &p->d->owners.list[i]));
	list_end(p);
}

static void sites(struct printer *p)
{
	list_begin(p, "sites");
	for (size_t i = 0; i < p->d->sites.count; i++) {
		const struct diff_row *r = &p->d->sites.list[i];
		json_t *o = row(p->d, r);
		set(o, "function", report_json_text(r->name));
		set(o, "caller", report_json_text(r->caller));
		set(o, "file", report_json_text(r->file));
		set(o, "line", r->line ? number(r->line) : json_null());
		element(p, o);
	}
	list_end(p);
}

static json_t *frames(struct printer *p, uint32_t joined)
{
	size_t n = join_frames(p->d->join, joined, p->frames, FRAMES_MAX);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct join_frame *f = &p->frames[i];
		json_t *o = json_object();
		set(o, "function", report_json_text(f->f->function));
		set(o, "module", report_json_text(f->module));
		set(o, "offset", f->module ? number(f->offset) : json_null());
		set(o, "file", report_json_text(f->f->file));
		set(o, "line", f->f->line ? number(f->f->line) : json_null());
		set(o, "inlined", json_boolean(f->f->inlined));
		set(o, "site", json_boolean(f->site));
		json_array_append_new(list, o);
	}
	return list;
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

	list_begin(p, "stacks");
	for (size_t i = 0; i < d->stacks.count; i++) {
		const struct diff_row *r = &d->stacks.list[i];
		if (!differs(d, r->sums)) {
			same.stacks++;
			for (size_t k = 0; k < d->sides_count; k++)
				tally_add(&sums[k], &r->sums[k]);
			continue;
		}
		json_t *o = row(d, r);
		set(o, "joined_by", report_json_text(join_by_name(d->join->list[r->stack].by)));
		set(o, "frames", frames(p, r->stack));
		element(p, o);
	}
	list_end(p);
	same.sums = sums;
	value(p, "unchanged", row(d, &same));
	free(sums);
}

static void warnings(struct printer *p)
{
	list_begin(p, "warnings");
	for (size_t i = 0; i < p->d->sides_count; i++) {
		const struct side *s = p->d->sides[i];
		for (size_t k = 0; k < s->warning_count; k++) {
			char *text = xasprintf("%s: %s", s->label, s->warnings[k]);
			element(p, report_json_text(text));
			free(text);
		}
	}
	list_end(p);
}

int diff_write_json(const struct diff *d, FILE *out, struct err *err)
{
	struct printer p = { .d = d, .out = out };

	p.frames = xcalloc(FRAMES_MAX, sizeof *p.frames);
	fputs("{\n", out);
	value(&p, "schema", json_integer(1));
	value(&p, "value", json_string(diff_value_name(d->value)));
	value(&p, "noise_rule", d->judged ? json_string(NOISE_RULE) : json_null());
	sessions(&p, "a", 0, d->sides_a);
	sessions(&p, "b", d->sides_a, d->sides_count);
	value(&p, "totals", row(d, &d->totals));
	owners(&p);
	sites(&p);
	stacks(&p);
	warnings(&p);
	fputs("\n}\n", out);
	free(p.frames);
	return report_flush(out, err);
}
