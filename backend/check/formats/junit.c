/* SPDX-License-Identifier: MIT
 *
 * junit.c - the result of a check as JUnit XML, which most CI servers read: a suite for each
 * process, a test case for each limit.
 *
 * Jenkins and GitLab know a test case from one build to the next by its suite, class and name, so
 * that these hold no pid and differ within a file. Jenkins takes what follows the last dot of a
 * class for its name. GitLab shows the text of a failure and not its message.
 */
#include "check/formats/formats.h"

#include "base/sanitize.h"

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

/* "sh", and "sh 2" for the next process of that name; dots of a class are underscores. */
static void put_name(const struct check *c, size_t process, bool class, FILE *out)
{
	char name[VERDICT_TEXT], *dot = name;
	size_t turn = 1;

	snprintf(name, sizeof name, "%s", c->processes[process].name);
	while (class && (dot = strchr(dot, '.')))
		*dot = '_';
	put(out, name);
	for (size_t i = 0; i < process; i++)
		turn += !strcmp(c->processes[i].name, c->processes[process].name);
	if (turn > 1)
		fprintf(out, " %zu", turn);
}

static void put_stacks(const struct check_verdict *v, FILE *out)
{
	char text[VERDICT_TEXT];

	for (size_t i = 0; i < v->stack_count; i++) {
		const struct check_stack *s = &v->stacks[i];

		fputc('\n', out);
		put(out, words_stack(v, s, text));
		for (size_t k = words_first(s); k < s->count; k++) {
			fputs("\n    ", out);
			put(out, words_frame(&s->frames[k], text));
		}
	}
}

static void put_case(const struct check *c, const struct check_verdict *v, FILE *out)
{
	const char *element = v->error ? "error" : v->failed ? "failure" : "system-out";
	char text[VERDICT_TEXT];

	fputs("    <testcase classname=\"memtop.", out);
	put_name(c, v->process, true, out);
	fputs("\" name=\"", out);
	put(out, v->name);
	fprintf(out, "\">\n      <%s", element);
	words_verdict(c, v, text);
	if (v->failed) {
		fprintf(out, " type=\"memtop.%s\" message=\"", limit_option(v->kind));
		put(out, text);
		fputc('"', out);
	}
	fputc('>', out);
	put(out, text);
	put_stacks(v, out);
	fprintf(out, "</%s>\n    </testcase>\n", element);
}

static void put_suite(const struct check *c, size_t process, FILE *out)
{
	const struct check_process *p = &c->processes[process];
	size_t tests = 0, failed = 0, errors = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct check_verdict *v = &c->verdicts[i];

		if (v->process != process)
			continue;
		tests++;
		failed += v->failed;
		errors += v->error;
	}
	fputs("  <testsuite name=\"", out);
	put_name(c, process, false, out);
	fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\">\n", tests,
		failed - errors, errors);
	fprintf(out, "    <properties>\n      <property name=\"pid\" value=\"%d\"/>\n", p->pid);
	fputs("      <property name=\"state\" value=\"", out);
	put(out, p->state);
	fputs("\"/>\n    </properties>\n", out);
	for (size_t i = 0; i < c->count; i++)
		if (c->verdicts[i].process == process)
			put_case(c, &c->verdicts[i], out);
	fputs("  </testsuite>\n", out);
}

int check_junit(const struct check *c, FILE *out, struct err *err)
{
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites name=\"memtop check\" tests=\"%zu\" failures=\"%zu\" "
		"errors=\"%zu\">\n",
		c->count, check_findings(c) - check_errors(c), check_errors(c));
	for (size_t i = 0; i < c->process_count; i++)
		put_suite(c, i, out);
	fputs("</testsuites>\n", out);
	return report_flush(out, err);
}
