/* SPDX-License-Identifier: MIT
 *
 * json.c - the result of a check for scripts; memtop(1) lists the keys.
 */
#include "check/formats/formats.h"

#include "report/json/values.h"

static json_t *frame(const struct check_frame *f)
{
	json_t *o = json_object();

	set(o, "function", report_json_text(f->function));
	set(o, "module", report_json_text(f->module));
	set(o, "file", report_json_text(f->file));
	set(o, "line", f->file ? number(f->line) : json_null());
	set(o, "inlined", json_boolean(f->inlined));
	set(o, "site", json_boolean(f->site));
	return o;
}

static json_t *stack(const struct check_stack *s)
{
	json_t *o = json_object(), *frames = json_array();

	for (size_t i = 0; i < s->count; i++)
		json_array_append_new(frames, frame(&s->frames[i]));
	set(o, "bytes", json_integer(s->bytes));
	set(o, "blocks", json_integer(s->blocks));
	set(o, "estimate", json_boolean(s->estimate));
	set(o, "owner", report_json_text(s->owner));
	set(o, "frames", frames);
	return o;
}

static json_t *range(const struct check_before *b)
{
	json_t *o = json_object();

	set(o, "count", json_integer((json_int_t)b->count));
	set(o, "least", number(b->low));
	set(o, "most", number(b->high));
	return o;
}

static json_t *verdict(const struct check *c, const struct check_verdict *v)
{
	json_t *o = json_object(), *stacks = json_array();
	char text[VERDICT_TEXT];
	int pid = c->processes[v->process].pid;

	for (size_t i = 0; i < v->stack_count; i++)
		json_array_append_new(stacks, stack(&v->stacks[i]));
	set(o, "kind", json_string(limit_option(v->kind)));
	set(o, "name", report_json_text(v->name));
	set(o, "where", report_json_text(v->where));
	set(o, "pid", pid ? json_integer(pid) : json_null());
	set(o, "passed", json_boolean(!v->failed));
	set(o, "error", json_boolean(v->error));
	set(o, "found", v->judged ? json_integer(v->found) : json_null());
	set(o, "limit", v->judged ? number(v->most) : json_null());
	set(o, "baseline", v->kind == CHECK_BASELINE ? number(v->before.mean) : json_null());
	set(o, "baselines", v->before.count > 1 ? range(&v->before) : json_null());
	set(o, "blocks", json_integer(v->blocks));
	set(o, "window", report_json_text(v->window));
	set(o, "windows", number(v->windows));
	set(o, "estimate", json_boolean(v->estimate));
	set(o, "text", report_json_text(words_verdict(c, v, text)));
	set(o, "stacks", stacks);
	return o;
}

static json_t *processes(const struct check *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->process_count; i++) {
		const struct check_process *p = &c->processes[i];
		json_t *o = json_object();

		set(o, "name", report_json_text(p->name));
		set(o, "pid", p->pid ? json_integer(p->pid) : json_null());
		set(o, "state", report_json_text(p->state));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *suppressed(const struct check *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->suppressed_count; i++) {
		const struct check_suppressed *s = &c->suppressed[i];
		json_t *o = json_object();

		set(o, "name", report_json_text(s->name));
		set(o, "live_bytes", number(s->live_bytes));
		set(o, "live_blocks", number(s->live_blocks));
		json_array_append_new(list, o);
	}
	return list;
}

int check_json(const struct check *c, FILE *out, struct err *err)
{
	json_t *o = json_object(), *verdicts = json_array(), *notes = json_array();

	for (size_t i = 0; i < c->count; i++)
		json_array_append_new(verdicts, verdict(c, &c->verdicts[i]));
	for (size_t i = 0; i < c->note_count; i++)
		json_array_append_new(notes, report_json_text(c->notes[i]));
	set(o, "schema", json_integer(1));
	set(o, "passed", json_boolean(!check_findings(c)));
	set(o, "findings", number(check_findings(c)));
	set(o, "errors", number(check_errors(c)));
	set(o, "processes", processes(c));
	set(o, "verdicts", verdicts);
	set(o, "suppressed", suppressed(c));
	set(o, "notes", notes);
	report_json_put(out, o, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	fputc('\n', out);
	return report_flush(out, err);
}
