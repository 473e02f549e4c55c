/* SPDX-License-Identifier: MIT
 *
 * ingest.c - applies frames to a model and its symbols.
 *
 *   link or file --frame--> wire_read --event--> model, symbols
 *
 * A session file repeats the link's frames, so both take the same path. A HELLO starts over. From
 * the same process (a reconnect), the model keeps showing its state until it is whole again, and
 * code names stay. From another one (after an exec), both are cleared.
 */
#include "link/ingest.h"

#include "session/session.h"
#include "wire/decode.h"

#include <stdlib.h>

int ingest_init(struct ingest *in, struct loop *loop, const char *target,
		const struct symbol_options *o, struct err *err)
{
	in->target = target;
	in->model = model_new();
	in->symbols = symbols_new(loop, in->model, o, err);
	in->expected = expected_new();
	if (in->symbols)
		return 0;
	ingest_release(in);
	return -1;
}

void ingest_release(struct ingest *in)
{
	symbols_free(in->symbols);
	model_free(in->model);
	expected_free(in->expected);
	in->symbols = NULL;
	in->model = NULL;
	in->expected = NULL;
}

/* A program is known. */
static bool has_hello(const struct ingest *in)
{
	const struct program *p = model_program(in->model);

	return p && p->pid;
}

static void take_symbol(struct ingest *in, const struct event *e)
{
	struct symbol_frame frames[64];
	struct symbol sym = { (int)e->u.s_symbol.source, (uint32_t)e->u.s_symbol.count, frames };
	char *strings[128];
	size_t used = 0;

	for (uint32_t i = 0; i < sym.count; i++) {
		size_t from = sym.count - 1 - i; /* innermost first here */
		const struct text *fn = &e->u.s_symbol.frames[from].function,
				  *file = &e->u.s_symbol.frames[from].file;
		frames[i] = (struct symbol_frame){ .line = e->u.s_symbol.frames[from].line,
						   .inlined = e->u.s_symbol.frames[from].inlined };
		if (fn->len)
			frames[i].function = strings[used++] = xstrndup(fn->s, fn->len);
		if (file->len)
			frames[i].file = strings[used++] = xstrndup(file->s, file->len);
	}
	if (sym.count)
		symbols_put(in->symbols, e->u.s_symbol.module, e->u.s_symbol.offset,
			    (uint8_t)e->u.s_symbol.kind, &sym);
	while (used)
		free(strings[--used]);
}

static void take_hello(struct ingest *in, const struct event *e)
{
	if (in->session_pid != e->u.hello.pid || in->session_start != e->u.hello.start_unix_ns) {
		if (in->forgets)
			in->forgets(in->arg);
		symbols_clear(in->symbols);
	}
	in->session_pid = e->u.hello.pid;
	in->session_start = e->u.hello.start_unix_ns;
	in->hello_ns = e->u.hello.now_ns;
}

/* Is the session the child's? Another process may listen at its address (listen=@NAME, and a
 * fork). */
static bool is_of_child(const struct ingest *in)
{
	return !in->child_pid || !in->session_pid || in->session_pid == in->child_pid;
}

static void take_child_state(struct ingest *in)
{
	if (is_of_child(in))
		model_set_state(in->model, in->child_state, in->child_status, true);
}

bool ingest_child_ended(struct ingest *in, uint64_t pid, uint32_t state, int status)
{
	in->child_ended = true;
	in->child_pid = pid;
	in->child_state = state;
	in->child_status = status;
	take_child_state(in);
	return is_of_child(in);
}

static void take_note(struct ingest *in, const struct event *e)
{
	char *text = xstrndup(e->u.s_note.s, e->u.s_note.len);

	in->note(in->arg, text);
	free(text);
}

static void take_expected(struct ingest *in, const struct event *e)
{
	char *rule = xstrndup(e->u.s_expected.key.s, e->u.s_expected.key.len);

	/* of more than there may be, the first */
	expected_set(in->expected, rule, e->u.s_expected.on);
	free(rule);
}

static int on_event(void *arg, const struct event *e, struct err *err)
{
	struct ingest *in = arg;

	switch (e->type) {
	case MTW_S_SYMBOL:
	case MTW_S_GENERATED: take_symbol(in, e); return 0;
	case MTW_S_EXIT:
		ingest_child_ended(in, in->session_pid, e->u.s_exit.state, (int)e->u.s_exit.status);
		return 0;
	case MTW_S_NOTE: take_note(in, e); return 0;
	case MTW_S_META:
	case MTW_S_TIME: return 0;
	case MTW_S_EXPECTED: take_expected(in, e); return 0;
	case MTW_HELLO: take_hello(in, e); break;
	default:
		if (!has_hello(in))
			return err_set(err, 3, "%s: state before its HELLO", in->target);
	}
	int rc = model_apply(in->model, e, err);
	/* What memtop saw of its own child is certain; the agent may only have guessed. */
	if (rc == 0 && in->child_ended && (e->type == MTW_STATE || e->type == MTW_TICK))
		take_child_state(in);
	return rc;
}

int ingest_frame(struct ingest *in, uint64_t type, const uint8_t *payload, size_t len,
		 struct err *err)
{
	struct err why = { 0 };

	if (wire_read(type, payload, len, on_event, in, &why))
		return err_set(err, 3,
			       "%s: the stream is broken: %s; use the same memtop on both sides",
			       in->target, why.text);
	return 0;
}

static int holds_nothing(const struct ingest *in, const struct session_reader *r,
			 const struct err *why, struct err *err)
{
	if (*why->text)
		*err = *why;
	else
		err_set(err, 3, "%s: holds no session: %s; record it again", in->target,
			session_cut(r) ? "it was cut before its first block"
				       : "no agent ever answered");
	err->status = 3;
	return -1;
}

/* The key frame is whole, but this memtop does not take its frames: the stream has it all. */
static void start_over(struct ingest *in, struct session_reader *r, struct err *cut)
{
	cut->text[0] = '\0';
	model_clear(in->model);
	symbols_clear(in->symbols);
	in->session_pid = in->session_start = 0;
	in->child_ended = false;
	session_rewind(r);
}

int ingest_file(struct ingest *in, const char *path, uint32_t stream, struct err *cut,
		struct err *err)
{
	struct session_reader *r = session_open(path, stream, err);
	struct err last = { 0 };
	const uint8_t *payload;
	uint64_t type;
	size_t len;
	bool in_key = false;
	int rc;

	if (!r)
		return -1;
	if (!in->each_tick) /* nobody looks at what was before the newest key frame */
		in_key = session_start_near(r, UINT64_MAX, NULL);
	while (session_next(r, &in->file_ns, &type, &payload, &len, cut) > 0) {
		if (!ingest_frame(in, type, payload, len, cut)) {
			in_key = in_key && type != MTW_S_KEY;
		} else if (in_key) {
			start_over(in, r, cut);
			in_key = false;
		} else {
			break;
		}
	}
	if (model_catch_up(in->model, &last) && !*cut->text)
		*cut = last;
	rc = has_hello(in) ? 0 : holds_nothing(in, r, cut, err);
	in->being_written = !*cut->text && session_cut(r) && session_being_written(r);
	if (in->being_written)
		err_set(cut, 3,
			"%s: still being written: read to %.1f s; open it again to see more",
			in->target, (double)in->file_ns / 1e9);
	else if (!*cut->text && session_cut(r))
		err_set(cut, 3,
			"%s: cut: read to its last whole block (%.1f s); the end is missing",
			in->target, (double)in->file_ns / 1e9);
	session_reader_free(r);
	return rc;
}
