/* SPDX-License-Identifier: MIT
 *
 * file.c - the table of a process tree in a session file: written during recording, and read back.
 *
 * A line is written when it is new and when it changed, at most once a second: one process of a
 * build costs some hundred bytes. A file with the first program alone gets no table, so every
 * memtop can read it. The table read is untrusted and checked like the board.
 */
#include "processes/file.h"
#include "processes/lines.h"
#include "session/format.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#define IDS_MAX (1u << 22)

static uint64_t flags_of(const struct line *l)
{
	return (l->p.forked ? MTW_PROCESS_FORKED : 0) |
	       (l->p.status_known ? MTW_PROCESS_STATUS_KNOWN : 0) |
	       (l->p.exact ? MTW_PROCESS_EXACT : 0) | (l->p.matters ? MTW_PROCESS_MATTERS : 0) |
	       (l->hidden ? MTW_PROCESS_HIDDEN : 0);
}

static uint64_t stream_of(const struct line *l)
{
	return l->stream == STREAM_NONE ? 0 : (uint64_t)l->stream + 1;
}

static size_t put_line(const struct line *l, uint8_t *payload, size_t size)
{
	const struct process *p = &l->p;
	struct mtw_out o = { payload, payload + size, false };
	/* clang-format off */
	const uint64_t figures[] = {
		p->id, p->parent, (uint64_t)p->pid, p->state, (uint64_t)p->status, flags_of(l),
		stream_of(l), p->begin_ns, p->end_ns, p->sum.alloc_blocks, p->sum.alloc_bytes,
		p->sum.free_blocks, p->sum.free_bytes, p->peak_bytes, l->p.inherited_blocks,
		p->inherited_bytes, p->before_blocks, p->before_bytes,
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		mtw_put(&o, figures[i]);
	mtw_put_string(&o, p->name);
	mtw_put_string(&o, p->path);
	mtw_put_string(&o, p->why);
	mtw_put(&o, p->inherited_known);
	mtw_put(&o, p->inherited_live_blocks);
	mtw_put(&o, p->inherited_live_bytes);
	mtw_put_string(&o, p->title);
	return o.full ? 0 : (size_t)(o.at - payload);
}

static bool write_line(struct processes *p, struct line *l)
{
	uint8_t payload[4 * MTW_STRING_MAX + 256];
	size_t len = put_line(l, payload, sizeof payload);
	uint32_t sum = session_crc(payload, len);

	if (!len || sum == l->written)
		return false;
	l->written = sum;
	watch_keep_table(p->first, processes_time_ns(p), MTW_S_PROCESS, payload, len);
	return true;
}

static void write_tree(struct processes *p)
{
	uint8_t payload[64];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	mtw_put(&o, p->options.matter_bytes);
	mtw_put(&o, p->options.matter_ns);
	mtw_put(&o, processes_missed(p));
	mtw_put(&o, processes_time_ns(p));
	mtw_put(&o, p->options.matter_alloc_bytes);
	watch_keep_table(p->first, processes_time_ns(p), MTW_S_TREE, payload,
			 (size_t)(o.at - payload));
}

static bool is_tree(struct processes *p)
{
	for (size_t i = 1; i < p->count && !p->tree; i++)
		p->tree = p->lines[i] && p->lines[i]->p.pid != p->lines[0]->p.pid;
	return p->tree;
}

/* The line is final. */
static bool is_settled(const struct line *l)
{
	return l->written && !line_runs(l) && !l->p.watch && l->changed_ns + 2000000000u < now_ns();
}

void file_write(struct processes *p)
{
	bool wrote = false;

	if (p->file || !p->first || !watch_keeps(p->first) || !is_tree(p))
		return;
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] && !is_settled(p->lines[i]))
			wrote |= write_line(p, p->lines[i]);
	if (wrote)
		write_tree(p);
}

static char *get_string(struct mtw_in *in)
{
	size_t len;
	const char *s = mtw_get_bytes(in, MTW_STRING_MAX, &len);

	return xstrndup(s, len);
}

static struct line *line_for(struct processes *p, uint64_t id)
{
	if (!id || id > IDS_MAX)
		return NULL;
	GROW(p->lines, p->room, (size_t)id);
	if (p->count < id)
		p->count = (size_t)id;
	if (!p->lines[id - 1]) {
		p->lines[id - 1] = xcalloc(1, sizeof(struct line));
		p->kept++;
	}
	return p->lines[id - 1];
}

static void take_flags(struct line *l, uint64_t flags)
{
	l->p.forked = flags & MTW_PROCESS_FORKED;
	l->p.status_known = flags & MTW_PROCESS_STATUS_KNOWN;
	l->p.exact = flags & MTW_PROCESS_EXACT;
	l->p.matters = flags & MTW_PROCESS_MATTERS;
	l->hidden = flags & MTW_PROCESS_HIDDEN;
}

static void take_strings(struct line *l, struct mtw_in *in)
{
	char *name = get_string(in), *path = get_string(in), *why = get_string(in);

	snprintf(l->p.name, sizeof l->p.name, "%s", name);
	line_say(&l->path, path);
	line_say(&l->why, why);
	l->p.path = l->path ? l->path : "";
	l->p.why = l->why;
	free(name);
	free(path);
	free(why);
}

static void take_process(struct processes *p, const uint8_t *payload, size_t len)
{
	struct mtw_in in = { payload, payload + len, false };
	uint64_t v[18];

	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		v[i] = mtw_get(&in);
	struct line *l = in.bad ? NULL : line_for(p, v[0]);
	if (!l)
		return;
	l->p.id = (uint32_t)v[0];
	l->p.parent = v[1] <= IDS_MAX ? (uint32_t)v[1] : 0;
	l->p.pid = v[2] <= INT32_MAX ? (int)v[2] : 0;
	l->p.state = v[3] <= PROCESS_UNFOLLOWED ? (enum process_state)v[3] : PROCESS_GONE;
	l->p.status = (int)(v[4] & 0xffff);
	take_flags(l, v[5]);
	line_stream(l, v[6] && v[6] < STREAM_NONE ? (uint32_t)v[6] - 1 : STREAM_NONE);
	l->p.begin_ns = v[7];
	l->p.end_ns = v[8];
	l->p.inherited_blocks = v[14];
	l->p.inherited_bytes = v[15];
	l->p.before_blocks = v[16];
	l->p.before_bytes = v[17];
	line_figures(l, &(struct tally){ v[9], v[10], v[11], v[12] }, v[13]);
	take_strings(l, &in);
	uint64_t known = mtw_get(&in), blocks = mtw_get(&in), bytes = mtw_get(&in);
	l->p.inherited_known = known && !in.bad; /* an older memtop's ends before */
	l->p.inherited_live_blocks = l->p.inherited_known ? blocks : 0;
	l->p.inherited_live_bytes = l->p.inherited_known ? bytes : 0;
	char *title = in.bad ? NULL : get_string(&in);
	line_title(l, title && !in.bad ? title : "");
	free(title);
}

static void take_tree(struct processes *p, const uint8_t *payload, size_t len)
{
	struct mtw_in in = { payload, payload + len, false };

	p->options.matter_bytes = mtw_get(&in);
	p->options.matter_ns = mtw_get(&in);
	p->file_missed = mtw_get(&in);
	p->file_ns = mtw_get(&in);
	p->options.matter_alloc_bytes = mtw_get(&in); /* an older file: 0 */
}

/* Is it a daemon, whose starter ends right after the fork? The blocks live at the fork are then
 * the daemon's. */
static bool is_heir(const struct processes *p, const struct line *l, const struct line *above)
{
	return l->p.forked && l->p.recorded && above && above->p.state == PROCESS_EXITED &&
	       above->p.end_ns < l->p.begin_ns + p->options.matter_ns &&
	       (!l->p.end_ns || l->p.end_ns > above->p.end_ns);
}

static void find_heirs(struct processes *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct line *l = p->lines[i], *above = l ? lines_at(p, l->p.parent) : NULL;
		if (l && is_heir(p, l, above))
			l->heir = above->succeeded = true;
	}
}

bool processes_read(struct processes *p, const char *path)
{
	struct session_reader *r = session_open(path, SESSION_TABLE, NULL);
	const uint8_t *payload;
	uint64_t time_ns, type;
	size_t len;

	while (r && session_next(r, &time_ns, &type, &payload, &len, NULL) > 0) {
		if (type == MTW_S_PROCESS)
			take_process(p, payload, len);
		else if (type == MTW_S_TREE)
			take_tree(p, payload, len);
	}
	session_reader_free(r);
	find_heirs(p);
	p->tree = p->kept > 0;
	if (p->tree && !p->file)
		p->file = xstrdup(path);
	p->ordered = false;
	return p->kept > 0;
}

static uint64_t weight(const struct line *l)
{
	return process_allocated(&l->p) + (l->heir ? l->p.inherited_bytes : 0);
}

static bool is_heavier(const struct line *l, const struct line *than)
{
	if (!than || l->p.recorded != than->p.recorded)
		return !than || l->p.recorded;
	if (l->p.matters != than->p.matters) /* one that a mark brought in comes last */
		return l->p.matters;
	return l->succeeded != than->succeeded ? than->succeeded : weight(l) > weight(than);
}

static bool is_named(const struct line *l, const char *word)
{
	return !strcmp(l->p.name, word) || !strcmp(l->p.path, word) ||
	       (strspn(word, "0123456789") == strlen(word) && atoi(word) == l->p.pid);
}

const struct process *processes_named(const struct processes *p, const char *word, struct err *err)
{
	const struct line *found = NULL;

	for (size_t i = 0; i < p->count; i++) {
		const struct line *l = p->lines[i];
		if (!l || l->hidden || !is_named(l, word))
			continue;
		if (is_heavier(l, found))
			found = l;
	}
	if (!found)
		err_set(err, 2,
			"%s: no process has this name or pid; the report's table lists them", word);
	return found ? &found->p : NULL;
}

const struct process *processes_heaviest(const struct processes *p)
{
	const struct line *most = NULL;

	for (size_t i = 0; i < p->count; i++) {
		const struct line *l = p->lines[i];
		if (l && !l->hidden && l->p.recorded && is_heavier(l, most))
			most = l;
	}
	return most ? &most->p : NULL;
}

int processes_target(const struct processes *p, uint32_t id, struct target *t, struct err *err)
{
	const struct line *l = lines_at(p, id);

	if (!l || l->stream == STREAM_NONE)
		return err_set(err, 3,
			       "%s [%d]: only its totals were recorded: %s; they are in the report "
			       "without --process",
			       l ? l->p.name : "process", l ? l->p.pid : 0,
			       l && l->p.why ? l->p.why : "it was small and short-lived");
	t->stream = l->stream;
	return 0;
}

/* Does the stream have a session? A recorder that was killed may have written the line alone. */
static bool has_session(const char *path, uint32_t stream)
{
	struct session_reader *r = session_open(path, stream, NULL);
	uint64_t time_ns, type = 0;
	const uint8_t *payload;
	size_t len;

	while (r && type != MTW_HELLO && session_next(r, &time_ns, &type, &payload, &len, NULL) > 0)
		;
	session_reader_free(r);
	return type == MTW_HELLO;
}

static void note_missing(struct processes *p, const struct process *missing,
			 const struct process *shown)
{
	char text[320];

	snprintf(text, sizeof text,
		 "%s [%d]: its call paths are not in this session; this is %s [%d], the next "
		 "largest",
		 missing->name, missing->pid, shown->name, shown->pid);
	line_say(&p->note, text);
}

int processes_choose(struct processes *p, const char *word, struct target *t, struct err *err)
{
	const struct process *one, *missing = NULL;

	if (word) {
		one = processes_named(p, word, err);
		return one ? processes_target(p, one->id, t, err) : -1;
	}
	while ((one = processes_heaviest(p)) &&
	       !has_session(t->name, lines_at(p, one->id)->stream)) {
		missing = missing ? missing : one;
		line_stream(lines_at(p, one->id), STREAM_NONE);
	}
	if (one && missing)
		note_missing(p, missing, one);
	return one ? processes_target(p, one->id, t, err) : 0;
}

const char *processes_note(const struct processes *p)
{
	return p->note;
}
