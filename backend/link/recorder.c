/* SPDX-License-Identifier: MIT
 *
 * recorder.c - writes the session of a live watch.
 *
 * File time = ns since the first agent started, by memtop's clock from its HELLO on: it continues
 * through reconnects and after an exec, and never goes back.
 */
#include "link/recorder.h"

#include "base/build.h"
#include "session/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIME_NS 1000000ull

struct session_writer *recorder_writer(const struct recorder *k)
{
	return k->of ? k->of->writer : k->writer;
}

static void put_meta(struct recorder *k, const char *target)
{
	uint8_t payload[1024];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	mtw_put_string(&o, build_version);
	mtw_put_string(&o, target);
	mtw_put(&o, unix_now_ns());
	recorder_frame(k, MTW_S_META, payload, (size_t)(o.at - payload));
}

int recorder_record(struct recorder *k, const char *path, bool whole, const char *target,
		    struct err *err)
{
	k->writer = session_create(path, 0, err);
	if (!k->writer)
		return -1;
	session_is_live(k->writer);
	if (whole)
		session_keep_whole(k->writer);
	k->path = xstrdup(path);
	put_meta(k, target);
	return 0;
}

void recorder_join(struct recorder *k, struct recorder *of, uint32_t stream, const char *target)
{
	k->of = of;
	k->stream = stream;
	put_meta(k, target);
}

void recorder_spool(struct recorder *k, const char *program, unsigned pid, unsigned keep,
		    const char *target)
{
	char path[4096];

	if (k->of || k->writer || *k->failed.text)
		return;
	k->writer = spool_create(program, pid, keep, path, sizeof path, &k->failed);
	if (!k->writer)
		return;
	session_is_live(k->writer);
	k->path = xstrdup(path);
	put_meta(k, target);
}

bool recorder_open(const struct recorder *k)
{
	return recorder_writer(k) && !*k->failed.text;
}

const char *recorder_path(const struct recorder *k)
{
	return k->of ? k->of->path : k->path;
}

void recorder_clock(struct recorder *k, uint64_t agent_ns)
{
	if (k->base_at)
		return;
	k->base_ns = agent_ns;
	k->base_at = now_ns();
}

uint64_t recorder_time(const struct recorder *k)
{
	uint64_t ns = k->base_at ? k->base_ns + (now_ns() - k->base_at) : 0;

	/* Up to the next millisecond: thousands of names come at once, and each new time is a
	 * frame. */
	return (ns + TIME_NS - 1) / TIME_NS * TIME_NS;
}

void recorder_frame(struct recorder *k, uint64_t type, const uint8_t *payload, size_t len)
{
	if (recorder_open(k))
		session_frame(recorder_writer(k), k->stream, recorder_time(k), type, payload, len,
			      &k->failed);
}

void recorder_table(struct recorder *k, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		    size_t len)
{
	if (recorder_open(k))
		session_frame(recorder_writer(k), SESSION_TABLE, time_ns, type, payload, len,
			      &k->failed);
}

size_t recorder_symbol_frame(uint32_t module, uint64_t offset, uint8_t kind,
			     const struct symbol *sym, uint64_t *type, const uint8_t **frame)
{
	static uint8_t payload[MTW_FRAME_MAX]; /* main thread only */
	struct mtw_out o = { payload, payload + sizeof payload, false };
	uint32_t n = sym->count > 64 ? 64 : sym->count;
	bool generated = kind == MTW_NODE_NOWHERE;

	if (generated && sym->source <= SYMBOL_NONE)
		return 0;
	if (!generated)
		mtw_put(&o, module);
	mtw_put(&o, offset);
	if (!generated)
		mtw_put(&o, kind == MTW_NODE_SIGNAL);
	mtw_put(&o, (uint64_t)sym->source);
	mtw_put(&o, n);
	/* Outermost first; of a deeper pile than the bound the innermost are left out. */
	for (uint32_t i = sym->count; i > sym->count - n; i--) {
		mtw_put_string(&o, sym->frames[i - 1].function);
		mtw_put_string(&o, sym->frames[i - 1].file);
		mtw_put(&o, sym->frames[i - 1].line);
		mtw_put(&o, sym->frames[i - 1].inlined);
	}
	*type = generated ? MTW_S_GENERATED : MTW_S_SYMBOL;
	*frame = payload;
	return o.full ? 0 : (size_t)(o.at - payload);
}

void recorder_symbol(struct recorder *k, uint32_t module, uint64_t offset, uint8_t kind,
		     const struct symbol *sym)
{
	uint64_t type;
	const uint8_t *payload;
	size_t len = recorder_symbol_frame(module, offset, kind, sym, &type, &payload);

	if (len)
		recorder_frame(k, type, payload, len);
}

void recorder_exit(struct recorder *k, uint32_t state, int status)
{
	uint8_t payload[20];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	mtw_put(&o, state);
	mtw_put(&o, (uint64_t)status);
	recorder_frame(k, MTW_S_EXIT, payload, (size_t)(o.at - payload));
}

void recorder_note(struct recorder *k, const char *text)
{
	uint8_t payload[MTW_STRING_MAX + 16];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	mtw_put_string(&o, text);
	recorder_frame(k, MTW_S_NOTE, payload, (size_t)(o.at - payload));
	GROW(k->notes, k->note_room, k->note_count + 1);
	k->notes[k->note_count++] = xstrdup(text);
}

void recorder_rule(struct recorder *k, const char *rule, bool on)
{
	uint8_t payload[2 * EXPECTED_KEY_MAX + 32];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	mtw_put_string(&o, rule);
	mtw_put(&o, on);
	recorder_frame(k, MTW_S_EXPECTED, payload, (size_t)(o.at - payload));
}

void recorder_rules(struct recorder *k, const struct expected *e)
{
	const struct expected_rule *rules;
	size_t n = expected_rules(e, &rules);

	for (size_t i = 0; i < n; i++)
		recorder_rule(k, rules[i].text, rules[i].on);
}

void recorder_flush(struct recorder *k)
{
	if (recorder_open(k))
		session_flush(recorder_writer(k), &k->failed);
}

static int say_failed(const struct recorder *k, struct err *err)
{
	if (!*k->failed.text)
		return 0;
	*err = k->failed;
	return -1;
}

int recorder_copy(struct recorder *k, const char *path, struct err *err)
{
	if (!recorder_writer(k))
		return err_set(err, 125, "%s: nothing of this session was saved: %s", path,
			       *k->failed.text ? k->failed.text : "no agent answered yet");
	return session_copy(recorder_writer(k), path, err) ? -1 : say_failed(k, err) != 0;
}

static int copy_bytes(const char *from, const char *to, struct err *err)
{
	FILE *in = fopen(from, "re"), *out = in ? fopen(to, "wxe") : NULL;
	char buf[65536];
	size_t n;
	int rc = 0;

	if (!in || !out) {
		rc = err_set(err, 125, "%s: cannot be %s: %s; choose another place", in ? to : from,
			     in ? "written" : "read", strerror(errno));
	} else {
		while (rc == 0 && (n = fread(buf, 1, sizeof buf, in)) > 0)
			if (fwrite(buf, 1, n, out) != n)
				rc = err_set(
					err, 125,
					"%s: cannot be written whole: %s; choose another place", to,
					strerror(errno));
	}
	if (out && fclose(out) && rc == 0)
		rc = err_set(err, 125, "%s: cannot be written whole: %s; choose another place", to,
			     strerror(errno));
	if (in)
		fclose(in);
	return rc;
}

/* Rewrites all frames of all streams, and adds the rules. 1: some could not be read. */
static int add_rules(struct session_reader *r, const char *to, const struct expected *e,
		     uint32_t stream, struct err *err)
{
	struct recorder k = { .stream = stream };
	const uint8_t *payload;
	uint64_t time_ns = 0, type, end_ns = 0;
	size_t len;
	int more;

	k.writer = session_create(to, 0, err);
	if (!k.writer)
		return -1;
	while ((more = session_next(r, &time_ns, &type, &payload, &len, NULL)) > 0) {
		if (session_frame(k.writer, session_stream(r), time_ns, type, payload, len,
				  &k.failed))
			break;
		if (session_stream(r) == stream)
			end_ns = time_ns;
	}
	k.base_ns = end_ns; /* where its stream ends */
	k.base_at = now_ns();
	recorder_rules(&k, e);
	return recorder_end(&k, err) ? -1 : more < 0;
}

int recorder_copy_file(const char *from, const char *to, const struct expected *e, uint32_t stream,
		       struct err *err)
{
	if (!e)
		return copy_bytes(from, to, err);
	struct session_reader *r = session_open(from, SESSION_ALL, err);
	/* A rewritten copy would hide that the session was cut. */
	int rc = !r ? -1 : session_cut(r) ? 1 : add_rules(r, to, e, stream, err);

	session_reader_free(r);
	if (rc <= 0)
		return rc;
	unlink(to);
	if (copy_bytes(from, to, err))
		return -1;
	err_set(err, 125,
		"without the call sites marked by x: the session was cut or is damaged; w "
		"NAME.supp saves them");
	return 1;
}

static int close_file(struct recorder *k, struct err *err)
{
	struct session_writer *w = k->writer;

	k->writer = NULL;
	if (!w)
		return 0;
	session_thin_stop(w);
	return session_close(w, err);
}

int recorder_end(struct recorder *k, struct err *err)
{
	struct err why = { 0 };

	if (k->of && recorder_open(k))
		session_end(recorder_writer(k), k->stream, &k->failed);
	k->of = NULL;
	if (close_file(k, &why) && !*k->failed.text)
		k->failed = why;
	return say_failed(k, err);
}

void recorder_release(struct recorder *k)
{
	if (k->of && recorder_open(k))
		session_end(recorder_writer(k), k->stream, NULL);
	k->of = NULL;
	close_file(k, NULL);
	free(k->path);
	k->path = NULL;
	for (size_t i = 0; i < k->note_count; i++)
		free(k->notes[i]);
	free(k->notes);
	k->notes = NULL;
	k->note_count = k->note_room = 0;
}
