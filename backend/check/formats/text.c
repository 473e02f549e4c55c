/* SPDX-License-Identifier: MIT
 *
 * text.c - the result of a check for people: a line for each verdict, and below a finding the
 * heaviest stacks from their call sites outwards.
 */
#include "check/formats/formats.h"

#include "base/sanitize.h"

static void put_stack(const struct check_verdict *v, const struct check_stack *s, FILE *out)
{
	char text[VERDICT_TEXT];
	size_t first = words_first(s), left = s->count - first;
	size_t shown = left > FRAMES_SHOWN ? FRAMES_SHOWN - 1 : left;

	fprintf(out, "        %s\n", words_stack(v, s, text));
	for (size_t i = 0; i < shown; i++)
		fprintf(out, "            %s\n", words_frame(&s->frames[first + i], text));
	if (left > shown)
		fprintf(out, "            ... %zu frame%s more\n", left - shown,
			format_s(left - shown));
}

static void put_verdict(const struct check *c, const struct check_verdict *v, FILE *out)
{
	char text[VERDICT_TEXT], name[VERDICT_TEXT];

	fprintf(out, "  %s  %s: %s\n", v->failed ? "FAIL" : "ok  ",
		sanitize_clean(name, sizeof name, v->name), words_verdict(c, v, text));
	for (size_t i = 0; i < v->stack_count; i++)
		put_stack(v, &v->stacks[i], out);
}

static void put_process(const struct check *c, size_t process, FILE *out)
{
	char text[VERDICT_TEXT];

	fprintf(out, "%s\n", words_process(&c->processes[process], text));
	for (size_t i = 0; i < c->count; i++)
		if (c->verdicts[i].process == process)
			put_verdict(c, &c->verdicts[i], out);
}

static void put_suppressed(const struct check_suppressed *s, FILE *out)
{
	char bytes[FORMAT_NUMBER], blocks[FORMAT_NUMBER], name[512];

	if (s->live_blocks)
		fprintf(out, "suppressed %s in %s block%s: %s\n",
			format_bytes(bytes, s->live_bytes), format_count(blocks, s->live_blocks),
			format_s(s->live_blocks), sanitize_clean(name, sizeof name, s->name));
}

int check_text(const struct check *c, FILE *out, struct err *err)
{
	char text[VERDICT_TEXT];

	for (size_t i = 0; i < c->process_count; i++)
		put_process(c, i, out);
	for (size_t i = 0; i < c->suppressed_count; i++)
		put_suppressed(&c->suppressed[i], out);
	for (size_t i = 0; i < c->note_count; i++)
		fprintf(out, "! %s\n", sanitize_clean(text, sizeof text, c->notes[i]));
	fprintf(out, "memtop check: %s\n", words_summary(c, text));
	return report_flush(out, err);
}
