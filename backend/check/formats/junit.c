/* SPDX-License-Identifier: MIT
 *
 * junit.c - the result of a check as JUnit XML, which most CI servers read: a suite for each
 * process, a test case for each limit.
 */
#include "check/formats/formats.h"

#include "base/sanitize.h"

#include <string.h>

/* Clean text has no control characters, which XML 1.0 cannot hold. */
static void put(FILE *out, const char *s)
{
	char clean[VERDICT_TEXT];

	for (const char *c = sanitize_clean(clean, sizeof clean, s); *c; c++)
		switch (*c) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\t': fputc(' ', out); break;
		default: fputc(*c, out);
		}
}

static void put_stacks(const struct check_verdict *v, FILE *out)
{
	char text[VERDICT_TEXT];

	for (size_t i = 0; i < v->stack_count; i++) {
		const struct check_stack *s = &v->stacks[i];

		put(out, words_stack(v, s, text));
		fputc('\n', out);
		for (size_t k = words_first(s); k < s->count; k++) {
			fputs("    ", out);
			put(out, words_frame(&s->frames[k], text));
			fputc('\n', out);
		}
	}
}

static void put_case(const struct check *c, const struct check_verdict *v, FILE *out)
{
	char text[VERDICT_TEXT];

	fputs("    <testcase classname=\"memtop.", out);
	put(out, c->processes[v->process].name);
	fputs("\" name=\"", out);
	put(out, v->name);
	fputs(v->failed ? "\">\n      <failure message=\"" : "\">\n      <system-out>", out);
	put(out, words_verdict(c, v, text));
	if (!v->failed) {
		fputs("</system-out>\n    </testcase>\n", out);
		return;
	}
	fputs("\" type=\"memtop\">", out);
	put_stacks(v, out);
	fputs("</failure>\n    </testcase>\n", out);
}

static void put_suite(const struct check *c, size_t process, FILE *out)
{
	size_t tests = 0, failures = 0;
	char text[VERDICT_TEXT];

	for (size_t i = 0; i < c->count; i++) {
		tests += c->verdicts[i].process == process;
		failures += c->verdicts[i].process == process && c->verdicts[i].failed;
	}
	fputs("  <testsuite name=\"", out);
	put(out, words_process(&c->processes[process], text));
	fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n", tests,
		failures);
	for (size_t i = 0; i < c->count; i++)
		if (c->verdicts[i].process == process)
			put_case(c, &c->verdicts[i], out);
	fputs("  </testsuite>\n", out);
}

int check_junit(const struct check *c, FILE *out, struct err *err)
{
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites name=\"memtop check\" tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
		c->count, check_findings(c));
	for (size_t i = 0; i < c->process_count; i++)
		put_suite(c, i, out);
	fputs("</testsuites>\n", out);
	return report_flush(out, err);
}
