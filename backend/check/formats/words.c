/* SPDX-License-Identifier: MIT
 *
 * words.c - verdicts as sentences, the same in every format.
 */
#include "check/formats/formats.h"

#include "base/sanitize.h"
#include "report/between.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void add(char buf[VERDICT_TEXT], const char *format, ...) PRINTF(2, 3);
static void add(char buf[VERDICT_TEXT], const char *format, ...)
{
	size_t len = strlen(buf);
	va_list ap;

	va_start(ap, format);
	vsnprintf(buf + len, VERDICT_TEXT - len, format, ap);
	va_end(ap);
}

/* "1.2M (1,228,800 bytes)", "812 bytes", "~1.2M", "+1.2M (...)". Exact bytes, since a figure may
 * exceed its limit by one. */
static void add_bytes(char buf[VERDICT_TEXT], int64_t bytes, bool estimate, bool change)
{
	char brief[FORMAT_NUMBER], exact[FORMAT_NUMBER];
	uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;
	const char *sign = bytes < 0 ? "-" : change && bytes ? "+" : "";

	if (estimate)
		add(buf, "~%s%s", sign, format_bytes(brief, size));
	else if (size < 1024)
		add(buf, "%s%llu byte%s", sign, (unsigned long long)size, format_s(size));
	else
		add(buf, "%s%s (%s bytes)", sign, format_bytes(brief, size),
		    format_count(exact, size));
}

static void add_blocks(char buf[VERDICT_TEXT], int64_t blocks, bool estimate)
{
	char n[FORMAT_NUMBER];
	uint64_t size = blocks < 0 ? -(uint64_t)blocks : (uint64_t)blocks;

	add(buf, "%s%s%s block%s", estimate ? "~" : "", blocks < 0 ? "-" : "",
	    format_count(n, size), format_s(size));
}

/* Exact where the short form is not: 99,999 bytes are not 97.7K. */
static void add_limit(const struct check_verdict *v, char buf[VERDICT_TEXT])
{
	char n[FORMAT_NUMBER];
	uint64_t unit = v->most >= 1u << 20 ? 1u << 20 : 1u << 10;

	if (limit_counts_blocks(v->kind))
		add(buf, ", limit %s", format_count(n, v->most));
	else if (v->most >= unit && v->most % (unit / 2) == 0)
		add(buf, ", limit %s", format_bytes(n, v->most));
	else
		add(buf, ", limit %s byte%s", format_count(n, v->most), format_s(v->most));
}

static void add_found(const struct check *c, const struct check_verdict *v, char buf[VERDICT_TEXT])
{
	static const char *const what[] = {
		[CHECK_LIVE] = "live at the end",   [CHECK_LEAKED] = "alive at exit",
		[CHECK_PEAK] = "at the peak",       [CHECK_RATE] = "allocated per second",
		[CHECK_GROWTH] = "growth",          [CHECK_BASELINE] = "",
		[CHECK_BLOCKS] = "live at the end",
	};

	if (limit_counts_blocks(v->kind))
		add_blocks(buf, v->found, v->estimate);
	else
		add_bytes(buf, v->found, v->estimate, v->kind == CHECK_GROWTH);
	if (v->kind == CHECK_LIVE || v->kind == CHECK_LEAKED || v->kind == CHECK_GROWTH) {
		add(buf, " in ");
		add_blocks(buf, v->blocks, v->estimate);
	}
	if (v->kind == CHECK_GROWTH && c->options.between->to)
		add(buf, " from %s to %s", c->options.between->from, c->options.between->to);
	else if (v->kind == CHECK_GROWTH)
		add(buf, " born in %s", v->window);
	else if (v->kind != CHECK_BASELINE)
		add(buf, " %s", what[v->kind]);
	if (v->windows > 1)
		add(buf, ", the most of %zu windows", v->windows);
}

static void add_before(const struct check_verdict *v, char buf[VERDICT_TEXT])
{
	if (v->before.count > 1)
		add(buf, ", the %zu baselines have ", v->before.count);
	else
		add(buf, ", the baseline has ");
	add_bytes(buf, (int64_t)v->before.low, false, false);
	if (v->before.high == v->before.low)
		return;
	add(buf, " to ");
	add_bytes(buf, (int64_t)v->before.high, false, false);
}

const char *words_verdict(const struct check *c, const struct check_verdict *v,
			  char buf[VERDICT_TEXT])
{
	buf[0] = '\0';
	if (v->judged) {
		add_found(c, v, buf);
		if (v->kind == CHECK_BASELINE)
			add_before(v, buf);
		add_limit(v, buf);
	}
	if (v->why)
		add(buf, "%s%s", v->judged ? "; " : "", v->why);
	return sanitize_clean(buf, VERDICT_TEXT, buf);
}

const char *words_stack(const struct check_verdict *v, const struct check_stack *s,
			char buf[VERDICT_TEXT])
{
	buf[0] = '\0';
	add_bytes(buf, s->bytes, s->estimate, v->kind == CHECK_GROWTH);
	add(buf, " in ");
	add_blocks(buf, s->blocks, s->estimate);
	add(buf, "%s, owner %s", v->kind == CHECK_RATE ? " per second" : "", s->owner);
	return sanitize_clean(buf, VERDICT_TEXT, buf);
}

const char *words_frame(const struct check_frame *f, char buf[VERDICT_TEXT])
{
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;

	buf[0] = '\0';
	if (f->function)
		add(buf, "%.700s", f->function);
	else
		add(buf, "0x%llx", (unsigned long long)f->address);
	if (f->file)
		add(buf, "  %.128s:%u", slash ? slash + 1 : f->file, f->line);
	if (f->module)
		add(buf, "  %.128s", f->module);
	return sanitize_clean(buf, VERDICT_TEXT, buf);
}

const char *words_process(const struct check_process *p, char buf[VERDICT_TEXT])
{
	buf[0] = '\0';
	add(buf, "%.256s", p->name);
	if (p->pid)
		add(buf, " [%d]", p->pid);
	if (*p->state)
		add(buf, ", %s", p->state);
	return sanitize_clean(buf, VERDICT_TEXT, buf);
}

const char *words_summary(const struct check *c, char buf[VERDICT_TEXT])
{
	size_t bad = check_findings(c), good = c->count - bad, processes = c->process_count;

	buf[0] = '\0';
	add(buf, "%zu finding%s, %zu limit%s kept", bad, format_s(bad), good, format_s(good));
	for (size_t i = 0; i < c->process_count; i++)
		processes -= c->processes[i].all;
	if (processes > 1)
		add(buf, ", %zu processes", processes);
	return buf;
}

size_t words_first(const struct check_stack *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->frames[i].site)
			return i;
	return 0;
}
