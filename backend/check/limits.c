/* SPDX-License-Identifier: MIT */
#include "check/limits.h"

#include <memtop/amount.h>
#include <stdlib.h>
#include <string.h>

#define AMOUNT_MAX 1000000000000000000ull /* far below UINT64_MAX: sums of two stay exact */

static const struct {
	const char *option, *example;
	bool blocks; /* it counts blocks, not bytes */
} kinds[CHECK_KINDS] = {
	[CHECK_LIVE] = { "max-live", "--max-live 10M or --max-live lib:ssl=2M" },
	[CHECK_PEAK] = { "max-peak", "--max-peak 10M or --max-peak lib:ssl=2M" },
	[CHECK_LEAKED] = { "max-leaked", "--max-leaked 64K or --max-leaked fn:parse_*=0" },
	[CHECK_GROWTH] = { "max-growth", "--max-growth 1M or --max-growth lib:ssl=64K" },
	[CHECK_BLOCKS] = { "max-blocks", "--max-blocks 10000 or --max-blocks lib:ssl=500", true },
	[CHECK_RATE] = { "max-rate", "--max-rate 10M (bytes a second)" },
	[CHECK_BASELINE] = { "baseline", NULL },
	[CHECK_GROWING] = { "no-growing", NULL },
	[CHECK_WHOLE] = { "whole", NULL },
	[CHECK_CRASH] = { "crash", NULL },
};

const char *limit_option(enum check_kind kind)
{
	return kinds[kind].option;
}

bool limit_counts_blocks(enum check_kind kind)
{
	return kinds[kind].blocks;
}

bool limit_outlives_exec(enum check_kind kind)
{
	return kind == CHECK_PEAK || kind == CHECK_RATE;
}

/* "64K", "1.5M", "2GiB"; of blocks K is 1000. */
static bool read_amount(const char *text, bool blocks, uint64_t *amount)
{
	return mtw_amount(text, blocks ? MTW_AMOUNT_BLOCKS : MTW_AMOUNT_BYTES, amount) &&
	       *amount <= AMOUNT_MAX;
}

static int not_a_limit(enum check_kind kind, const char *text, struct err *err)
{
	return err_set(err, 2, "--%s %s: not a limit; write %s", kinds[kind].option, text,
		       kinds[kind].example);
}

/* false: no name is left before the `?` */
static bool read_where(struct limit *l)
{
	char *pattern = strchr(l->where, ':') + 1, *end = pattern + strlen(pattern) - 1;

	l->optional = *end == '?';
	if (l->optional)
		*end = '\0';
	l->covers = !strncmp(l->where, "lib:", 4) ? COVERS_LIBRARY : COVERS_FUNCTION;
	if (l->covers == COVERS_LIBRARY && !strchr(pattern, '*'))
		l->pattern = xasprintf("*%s*", pattern);
	else
		l->pattern = xstrdup(pattern);
	return *pattern;
}

void limit_release(struct limit *l)
{
	free(l->text);
	free(l->where);
	free(l->pattern);
}

/* The rest of a limit of all processes; NULL: it is one of each process. */
static const char *of_tree(const char *text)
{
	return !strncmp(text, "all:", 4) || !strncmp(text, "all=", 4) ? text + 4 : NULL;
}

static int parse(struct limit *l, enum check_kind kind, const char *given, const char *text,
		 struct err *err)
{
	/* A function's name may have `=` in it: the amount follows the last one. */
	const char *equals = strrchr(text, '='), *amount = equals ? equals + 1 : text;
	size_t len = equals ? (size_t)(equals - text) : 0;

	if (!read_amount(amount, kinds[kind].blocks, &l->most))
		return not_a_limit(kind, given, err);
	if (equals && strncmp(text, "lib:", 4) && strncmp(text, "fn:", 3))
		return not_a_limit(kind, given, err);
	if (equals && strchr(text, ':') + 1 == equals)
		return not_a_limit(kind, given, err);
	*l = (struct limit){ .kind = kind, .most = l->most, .tree = text != given };
	l->text = xstrdup(given);
	l->where = xstrndup(text, len);
	if (!len || read_where(l))
		return 0;
	limit_release(l);
	return not_a_limit(kind, given, err);
}

int limit_parse(struct limit *l, enum check_kind kind, const char *text, struct err *err)
{
	const char *rest = of_tree(text);

	/* "all=lib:ssl=2M", "all:2M" */
	if (rest && (text[3] == '=') == (strchr(rest, '=') != NULL))
		return not_a_limit(kind, text, err);
	if (rest && text[3] == ':' && kind == CHECK_PEAK)
		return err_set(err, 2,
			       "--max-peak %s: the peak of a part is known of each process, not of "
			       "all together; leave out all:",
			       text);
	return parse(l, kind, text, rest ? rest : text, err);
}

static bool read_part(struct tolerance *t, const char *part)
{
	size_t len = strlen(part);
	char percent[64];
	uint64_t millionths;

	if (!len || part[len - 1] != '%')
		return read_amount(part, false, &t->bytes);
	snprintf(percent, sizeof percent, "%.*s", (int)(len - 1), part);
	if (!mtw_amount(percent, MTW_AMOUNT_MICRO, &millionths))
		return false;
	t->share = (double)millionths / 1e8;
	return t->share <= 1e4;
}

int tolerance_parse(struct tolerance *t, const char *text, struct err *err)
{
	char part[64];
	const char *comma = strchr(text, ',');
	size_t len = comma ? (size_t)(comma - text) : 0;

	*t = (struct tolerance){ 0.05, 1024 };
	snprintf(part, sizeof part, "%.*s", (int)(len < sizeof part ? len : 0), text);
	if ((!comma || (read_part(t, part) && part[len - 1] == '%')) &&
	    read_part(t, comma ? comma + 1 : text))
		return 0;
	return err_set(err, 2,
		       "--tolerance %s: not a tolerance; write --tolerance 5%% or --tolerance "
		       "5%%,64K",
		       text);
}

uint64_t tolerance_most(const struct tolerance *t, uint64_t before)
{
	return before + (uint64_t)((double)before * t->share) + t->bytes;
}
