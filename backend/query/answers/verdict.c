/* SPDX-License-Identifier: MIT
 *
 * verdict.c - is the heap growing, how fast, and where, in one line of words.
 *
 * The same intervals decide as for every call site's shape (query/sites/growth.c), so that the line
 * agrees with the rows below it: the agent's samples, the same for every viewer, report and file.
 * The line names the call site that grew most, by file and line where known. If the process grows
 * but the heap does not, the line says so.
 */
#include "base/format.h"
#include "owners/runtimes.h"
#include "query/sites/expected_sites.h"
#include "query/sites/sites.h"

#include <string.h>

#define NS 1000000000ull
#define STILL_BYTES 4096 /* as for the shapes: less is flat */
#define OTHER_PART 20    /* of growth, less than one part in so many is little */
#define RSS_PART 20      /* of RSS, less than one part in so many is no growth worth a line */
#define RSS_LEAST (4u << 20)

static void say(struct verdict *v, const char *format, ...) PRINTF(2, 3);
static void say(struct verdict *v, const char *format, ...)
{
	size_t len = strlen(v->text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(v->text + len, sizeof v->text - len, format, ap);
	va_end(ap);
}

/* "+2.4M" a minute, for "10 min". */
static void per_minute(struct query *q, struct verdict *v, int64_t total,
		       char number[FORMAT_NUMBER + 1], char time[FORMAT_SPAN])
{
	const struct growth *g = &q->sites->growth;
	uint64_t length = g->at_ns[g->count] - g->at_ns[0];
	size_t about = model_estimate(q->m);

	v->rated = true;
	v->per_minute =
		length ? (int64_t)((double)total / ((double)length / (60.0 * (double)NS))) : 0;
	v->over_ns = g->end_ns - g->at_ns[0];
	v->at_ns = q->sites->samples[q->sites->sample_count - 1].time_ns;
	number[0] = '~';
	format_signed(number + about, v->per_minute);
	format_span(time, v->over_ns);
}

/* Prints the share, at most 100 %. */
static void say_share(struct verdict *v, uint64_t part, uint64_t whole)
{
	v->share_percent = whole && part < whole ? (int)((double)part / (double)whole * 100) : 100;
	say(v, ".  %d %% of it: ", v->share_percent);
}

/* A name of more than `most` bytes ends in dots; no character of UTF-8 is cut. */
static void say_name(struct verdict *v, const char *before, const char *name, size_t most)
{
	size_t n = strlen(name);
	bool cut = n > most;

	if (cut)
		for (n = most - 3; n && (name[n] & 0xc0) == 0x80;)
			n--;
	say(v, "%s%.*s%s", before, (int)n, name, cut ? "..." : "");
}

static void say_site(struct verdict *v, const struct site *s)
{
	const char *slash = s->file ? strrchr(s->file, '/') : NULL;

	say_name(v, "", s->name, 60);
	if (s->file && s->line) {
		say_name(v, " ", slash ? slash + 1 : s->file, 40);
		say(v, ":%u", s->line);
	} else if (s->caller) {
		say_name(v, " < ", s->caller, 40);
	}
	if (s->owner)
		say_name(v, "  ", s->owner->name, 40);
	v->site = s->id;
}

/* It stopped growing: the newest intervals show none. Growth that merely slows does not count. */
static bool stopped(struct verdict *v, const struct growth *g)
{
	int64_t after = 0, before = 0;
	size_t last = g->count;
	char number[FORMAT_NUMBER], time[FORMAT_SPAN], flat[FORMAT_SPAN];

	while (last && after + g->whole.net[last - 1] <= STILL_BYTES)
		after += g->whole.net[--last];
	for (size_t i = 0; i < last; i++)
		before += g->whole.net[i];
	if (!last || last == g->count || before <= STILL_BYTES)
		return false;
	v->kind = V_FLAT;
	v->word = "GREW";
	format_span(time, g->at_ns[last] - g->at_ns[0]);
	format_span(flat, g->end_ns - g->at_ns[last]);
	say(v, "GREW %s in %s, then not for %s", format_signed(number, before), time, flat);
	return true;
}

static void say_step(const struct site_table *t, struct verdict *v)
{
	const struct growth *g = &t->growth;
	char number[FORMAT_NUMBER];
	size_t largest = 0;

	for (size_t i = 0; i < g->count; i++)
		largest = g->whole.net[i] > g->whole.net[largest] ? i : largest;
	uint64_t s = t->samples[g->edge[largest + 1]].time_ns / NS;
	v->kind = V_STEP;
	v->word = "STEP";
	say(v, "STEP %s before %u:%02u:%02u", format_signed(number, g->whole.net[largest]),
	    (unsigned)(s / 3600), (unsigned)(s / 60 % 60), (unsigned)(s % 60));
}

static void say_rate(struct verdict *v, int kind, const char *word, const char *number,
		     const char *over, const char *time, const char *how)
{
	v->kind = kind;
	v->word = word;
	say(v, "%s %s/min %s %s%s", word, number, over, time, how);
}

/* steady: the part from call sites that grow steadily, 0 when unknown. */
static void say_shape(struct query *q, struct verdict *v, enum shape shape, int64_t steady)
{
	const struct growth *g = &q->sites->growth;
	char number[FORMAT_NUMBER + 1], time[FORMAT_SPAN];

	per_minute(q, v, g->whole.total, number, time);
	if (shape == SHAPE_STEADY)
		say_rate(v, V_GROWING, "GROWING", number, "for", time, ", steady");
	else if (shape == SHAPE_SLOWING && steady >= g->whole.total / 2)
		/* A leak beside what fills up, or beside a vector that doubles ever more rarely. */
		say_rate(v, V_GROWING, "GROWING", number, "for", time, ", mostly steady");
	else if (shape == SHAPE_SLOWING && !stopped(v, g))
		say_rate(v, V_FILLING, "FILLING", number, "for", time, ", slowing (a cache?)");
	else if (shape == SHAPE_STEP)
		say_step(q->sites, v);
	else if (shape == SHAPE_SAWTOOTH)
		say_rate(v, V_FLAT, "UP AND DOWN", number, "over", time, "");
	else if (shape == SHAPE_SHRINKING)
		say_rate(v, V_SHRINKING, "SHRINKING", number, "over", time, "");
	else if (shape == SHAPE_FLAT)
		say_rate(v, V_FLAT, "FLAT", number, "over", time, "");
}

/* Of all processes, the one that grew most (processes/all.h). */
static void say_process(const struct query *q, struct verdict *v, int64_t total)
{
	const char *most = model_option(q->m, "grew_most");

	if (most && *most && total > 0 && v->kind != V_FLAT)
		say(v, ", most in %s", most);
}

/* The total growth to explain; 0 = it does not grow. */
static int64_t judge(struct query *q, struct verdict *v)
{
	const struct site_table *t = q->sites;
	const struct growth *g = &t->growth;
	enum shape shape = g->whole.shape;

	say_shape(q, v, shape, growth_steady(t));
	say_process(q, v, g->whole.total);
	return shape == SHAPE_FLAT || shape == SHAPE_SAWTOOTH ? 0 : g->whole.total;
}

/*
 * The process grows far more than the heap and the agent's memory explain: the heap does not grow,
 * or by less than a third as much. Only the memory view knows the rest; a language runtime is
 * likely.
 */
static void look_at_rss(struct query *q, struct verdict *v, int64_t heap)
{
	const struct site_table *t = q->sites;
	const struct growth *g = &t->growth;
	int64_t agent = (int64_t)(model_totals(q->m)->agent_memory_bytes & INT64_MAX),
		total = g->rss.total;
	const struct runtime *own = runtime_of(q->m);
	char number[FORMAT_NUMBER + 1], time[FORMAT_SPAN];

	uint64_t rss = t->samples[t->sample_count - 1].rss_bytes,
		 least = rss / RSS_PART > RSS_LEAST ? rss / RSS_PART : RSS_LEAST;
	int64_t known = heap > 0 ? heap : 0, rest = total - known - agent;
	if (!t->samples[g->edge[0]].rss_bytes || rest < (int64_t)least || rest / 2 <= known ||
	    g->rss.shape != SHAPE_STEADY)
		return;
	*v = (struct verdict){ .kind = V_RSS_GROWING, .word = "RSS GROWS", .share_percent = -1 };
	per_minute(q, v, total, number, time);
	say(v, "RSS GROWS %s/min for %s, the heap %s: ", number, time,
	    known ? "by far less" : "does not");
	/* a question: the growth may also be free memory of the heap, and every viewer gets the
	 * same */
	if (own)
		say(v, "%s? Memory (7) says; %s shows it", own->heap, own->shows);
	else
		say(v, "Memory (7) says what%s does", known ? " else" : "");
}

/* Nothing else grows steadily, and the rest is small. */
static bool only_expected(struct query *q, int64_t total, int64_t expected)
{
	int64_t little = total / OTHER_PART > STILL_BYTES ? total / OTHER_PART : STILL_BYTES;

	return growth_steady(q->sites) <= STILL_BYTES && total - expected <= little;
}

static void say_growth(struct query *q, struct verdict *v)
{
	const struct site *s = NULL;
	int64_t total = judge(q, v), most;
	struct expected_growth expected = growth_expected(q->sites);
	char number[FORMAT_NUMBER + 1], time[FORMAT_SPAN];

	look_at_rss(q, v, total);
	if (total <= 0 || v->kind == V_RSS_GROWING)
		return;
	if (expected.net > 0 && v->kind != V_FLAT && only_expected(q, total, expected.net)) {
		*v = (struct verdict){ .kind = V_FLAT, .word = "AS EXPECTED", .share_percent = -1 };
		per_minute(q, v, total, number, time);
		say(v, "AS EXPECTED %s/min for %s", number, time);
	}
	if (growth_top(q->sites, &most, &s) && most >= expected.net) {
		say_share(v, (uint64_t)most, (uint64_t)total);
		say_site(v, s);
	} else if (expected.net > 0) {
		say_share(v, (uint64_t)expected.net, (uint64_t)total);
		say(v, "%u expected call site%s, %s", expected.sites, format_s(expected.sites),
		    format_bytes(number, expected.live_bytes));
	}
}

/* Nothing more comes: the verdict was not possible at that instant. */
static void say_too_early(struct query *q, struct verdict *v)
{
	unsigned needed = (unsigned)(GROWTH_NEEDED_NS / NS);
	uint64_t ran = model_running(q->m, model_time(q->m));

	if (ran < GROWTH_NEEDED_NS)
		say(v, "no verdict on growth: that takes %u s of a run, and this is after %.1f s",
		    needed, (double)ran / (double)NS);
	else
		say(v, "no verdict on growth: too few of the agent's samples up to here");
}

/* A past instant, or the program ended: no later sample will tell. */
static bool no_more_comes(const struct query *q)
{
	return model_still(q->m) || model_final(q->m) || model_state(q->m, NULL, NULL) == MTW_CUT;
}

static void say_waiting(struct query *q, struct verdict *v)
{
	const struct growth *g = &q->sites->growth;

	v->kind = V_WATCHING;
	v->word = "WATCHING";
	if (!model_complete(q->m))
		say(v, "loading: no verdict until the state is complete");
	else if (!model_samples_told(q->m))
		say(v, "no verdict on growth: the agent is older than this memtop and takes no "
		       "samples");
	else if (no_more_comes(q))
		say_too_early(q, v);
	else
		say(v, "a verdict on growth needs %u s more",
		    (unsigned)((g->needed_ns + NS - 1) / NS));
	v->needed_ns = no_more_comes(q) ? 0 : g->needed_ns;
}

static const struct site *heaviest(const struct site_table *t)
{
	const struct site *top = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct site *s = &t->sites[i]->pub;
		uint64_t held = live_bytes(&s->amounts.sum),
			 most = top ? live_bytes(&top->amounts.sum) : 0;
		if (s->stacks && held && (held > most || (held == most && site_first(s, top))))
			top = s;
	}
	return top;
}

static void say_alive(struct query *q, struct verdict *v, uint32_t state)
{
	const struct tally *sum = &model_totals(q->m)->sum;
	const struct site *top = heaviest(q->sites);
	char bytes[FORMAT_NUMBER], blocks[FORMAT_NUMBER];

	say(v, ", %s alive %s in %s block%s", format_bytes(bytes, live_bytes(sum)),
	    state == MTW_CUT        ? "where it was cut"
	    : state == MTW_DETACHED ? "when the agent was taken out"
				    : "at the end",
	    format_count(blocks, live_blocks(sum)), format_s(live_blocks(sum)));
	if (top) {
		say_share(v, live_bytes(&top->amounts.sum), live_bytes(sum));
		say_site(v, top);
	}
}

static const char *state_word(uint32_t state, bool known)
{
	return state == MTW_SIGNALLED         ? "KILLED"
	       : state == MTW_EXECED          ? "REPLACED"
	       : state == MTW_EXITED && known ? "EXITED"
	       : state == MTW_CUT             ? "CUT OFF"
	       : state == MTW_DETACHED        ? "DETACHED"
					      : "ENDED";
}

/* Two answers in one sentence: how the program ended, and what its heap did up to there, or, where
 * no call site is to blame for that, what was alive. */
static void ended(struct query *q, struct verdict *v)
{
	int status;
	bool known;
	char signal[FORMAT_SIGNAL];
	uint32_t state = model_state(q->m, &status, &known);
	struct verdict growth;
	bool judged = query_growth(q, &growth);

	sites_update(q);
	if (judged)
		*v = growth;
	v->kind = V_ENDED;
	v->word = state_word(state, known);
	v->growth = judged ? growth.kind : V_ENDED;
	v->growth_word = judged ? growth.word : v->word;
	v->text[0] = '\0';
	say(v, "%s%s", v->word, state == MTW_EXECED ? " by another program" : "");
	if (known && state == MTW_EXITED && (status || !judged))
		say(v, " (status %d)", status);
	else if (known && state == MTW_SIGNALLED)
		say(v, " (%s)", format_signal(status, signal));
	if (judged)
		say(v, ", %s", growth.text);
	if (!judged || growth.share_percent < 0)
		say_alive(q, v, state);
}

/* What a verdict on growth depends on: not on the tick. */
static struct judged judged_now(const struct query *q)
{
	return (struct judged){ model_resets(q->m), model_samples_generation(q->m), q->naming,
				expected_now(q), names_version(q->n) };
}

static void judge_growth(struct query *q, struct verdict *v)
{
	struct judged now = judged_now(q);
	struct site_table *t = q->sites;

	if (t && t->growth.count && t->verdict.text[0] && !memcmp(&now, &t->judged, sizeof now)) {
		*v = t->verdict;
		return;
	}
	t = sites_update(q);
	*v = (struct verdict){ .kind = V_EMPTY, .word = "WAITING", .share_percent = -1 };
	if (!model_totals(q->m)->sum.alloc_blocks) {
		say(v, no_more_comes(q) ? "no allocation up to here"
					: "waiting for the first allocation");
		if (t->growth.count)
			look_at_rss(q, v, 0);
	} else if (t->growth.count) {
		say_growth(q, v);
		t->verdict = *v;
		t->judged = judged_now(q);
	} else {
		say_waiting(q, v);
	}
}

bool query_growth(struct query *q, struct verdict *v)
{
	query_mine(q);
	judge_growth(q, v);
	v->growth = v->kind;
	v->growth_word = v->word;
	return v->kind != V_EMPTY && v->kind != V_WATCHING;
}

void query_verdict(struct query *q, struct verdict *v)
{
	query_mine(q);
	*v = (struct verdict){ .share_percent = -1 };
	if (!model_final(q->m) && model_state(q->m, NULL, NULL) != MTW_CUT) {
		query_growth(q, v);
		return;
	}
	ended(q, v);
}
