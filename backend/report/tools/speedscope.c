/* SPDX-License-Identifier: MIT
 *
 * speedscope.c - the file of speedscope.app: one table of frames, one sampled profile a value. Of a
 * change: what was born, what has gone, and what each stack grew or shrank by, since a profile has
 * no negative weights.
 */
#include "report/shown.h"

#include <inttypes.h>
#include <stdlib.h>

struct profile {
	const char *name, *unit;
	uint64_t (*value)(const struct report_stack *);
};

static uint64_t live(const struct report_stack *s)
{
	return live_bytes(&s->sum);
}
static uint64_t blocks(const struct report_stack *s)
{
	return live_blocks(&s->sum);
}
static uint64_t allocated(const struct report_stack *s)
{
	return s->sum.alloc_bytes;
}
static uint64_t allocations(const struct report_stack *s)
{
	return s->sum.alloc_blocks;
}
static uint64_t temporary(const struct report_stack *s)
{
	return s->sum.free_bytes;
}
static uint64_t born(const struct report_stack *s)
{
	return s->change.born_bytes;
}
static uint64_t gone(const struct report_stack *s)
{
	return s->change.gone_bytes;
}
static uint64_t grown(const struct report_stack *s)
{
	return born(s) > gone(s) ? born(s) - gone(s) : 0;
}
static uint64_t shrunk(const struct report_stack *s)
{
	return gone(s) > born(s) ? gone(s) - born(s) : 0;
}

static const struct profile amounts[] = {
	{ "live", "bytes", live },           { "blocks", "none", blocks },
	{ "allocated", "bytes", allocated }, { "allocations", "none", allocations },
	{ "temporary", "bytes", temporary }, { NULL, NULL, NULL },
};
static const struct profile moves[] = {
	{ "grown", "bytes", grown }, { "shrunk", "bytes", shrunk }, { "born", "bytes", born },
	{ "gone", "bytes", gone },   { NULL, NULL, NULL },
};

/* Labels are valid UTF-8 without control characters. */
static void put_text(FILE *out, const char *s)
{
	putc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', out);
		putc(*s, out);
	}
	putc('"', out);
}

static void put_samples(struct shown *x, const struct profile *p, FILE *out)
{
	bool comma = false;

	for (size_t k = 0; k < x->count; k++) {
		struct report_stack s = shown_stack(x, k);

		if (!p->value(&s))
			continue;
		fputs(comma ? ",\n[" : "\n[", out);
		comma = true;
		for (size_t i = shown_frames(x, s.stack); i-- > 0;)
			fprintf(out, "%" PRIu32 "%s", x->frames[i].name, i ? "," : "]");
	}
}

static void put_weights(struct shown *x, const struct profile *p, FILE *out)
{
	bool comma = false;

	for (size_t k = 0; k < x->count; k++) {
		struct report_stack s = shown_stack(x, k);
		uint64_t value = p->value(&s);

		if (value)
			fprintf(out, "%s%" PRIu64, comma ? "," : "", value);
		comma |= value != 0;
	}
}

static void put_profile(struct shown *x, const struct profile *p, FILE *out)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < x->count; k++) {
		struct report_stack s = shown_stack(x, k);

		sum += p->value(&s);
	}
	fprintf(out,
		"{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"startValue\":0,"
		"\"endValue\":%" PRIu64 ",\n\"samples\":[",
		p->name, p->unit, sum);
	put_samples(x, p, out);
	fputs("],\n\"weights\":[", out);
	put_weights(x, p, out);
	fputs("]}", out);
}

static void put_profiles(struct shown *x, FILE *out)
{
	const struct profile *list = x->changes ? moves : amounts;

	fputs("\"profiles\":[\n", out);
	for (const struct profile *p = list; p->name; p++) {
		put_profile(x, p, out);
		fputs(p[1].name ? ",\n" : "\n],\n", out);
	}
}

/* After the profiles, which have named them. */
static void put_frames(const struct shown *x, FILE *out)
{
	fputs("\"shared\":{\"frames\":[\n", out);
	for (size_t i = 0; i < x->label_count; i++) {
		fputs("{\"name\":", out);
		put_text(out, x->labels[i]);
		fputs(i + 1 < x->label_count ? "},\n" : "}\n", out);
	}
	fputs("]}}\n", out);
}

static int write_speedscope(struct watch *w, struct query *q, const struct report_options *o,
			    FILE *out, struct err *err)
{
	struct shown x;

	(void)q;
	if (shown_open(&x, w, o, err))
		return -1;
	char *title = shown_title(&x, o);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"memtop\",\"activeProfileIndex\":0,\"name\":",
	      out);
	put_text(out, title);
	fputs(",\n", out);
	put_profiles(&x, out);
	put_frames(&x, out);
	free(title);
	shown_close(&x);
	return report_flush(out, err);
}

const struct report_format report_speedscope = {
	.name = "speedscope",
	.ending = ".speedscope.json",
	.write = write_speedscope,
	.about = "for www.speedscope.app",
};
