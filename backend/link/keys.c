/* SPDX-License-Identifier: MIT
 *
 * keys.c - writes key frames into the session of a live watch (session/session.h says what they
 * are).
 *
 * The whole state of a large program takes a fraction of a second to write, in which the screen
 * would stand still. So a forked child, which has the model of that instant, makes the blocks in a
 * memfd, and the watch appends them later: what came meanwhile lies before them in the file, and
 * behind the offset where they say that reading goes on. Only the last one, when the session ends,
 * is made at once. Of a tree's hundreds of processes a short one has none: reading its frames is as
 * fast.
 */
#include "link/keys.h"

#include "base/child.h"
#include "link/watch_state.h"
#include "link/thin/thin.h"
#include "model/columns.h"
#include "owners/expected.h"
#include "session/key.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void put_symbol(void *key, uint32_t module, uint64_t offset, uint8_t kind,
		       const struct symbol *sym)
{
	uint64_t type;
	const uint8_t *payload;
	size_t len = recorder_symbol_frame(module, offset, kind, sym, &type, &payload);

	if (len)
		session_key_frame(key, type, payload, len);
}

static void put_text(struct session_key_out *key, uint64_t type, const char *text, int on)
{
	uint8_t payload[2 * EXPECTED_KEY_MAX + 32];
	struct mtw_out o = { payload, payload + sizeof payload, false };
	size_t len = strlen(text);

	mtw_put_bytes(&o, text, len);
	if (on >= 0)
		mtw_put(&o, (uint64_t)on);
	if (!o.full)
		session_key_frame(key, type, payload, (size_t)(o.at - payload));
}

/* What the watch knows beside the model. */
static void put_own(struct session_key_out *key, const struct watch *w)
{
	const struct expected_rule *rules;
	uint8_t payload[20];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	symbols_each(w->in.symbols, put_symbol, key);
	for (size_t i = 0, n = expected_rules(w->in.expected, &rules); i < n; i++)
		put_text(key, MTW_S_EXPECTED, rules[i].text, rules[i].on);
	for (size_t i = 0; i < w->keep.note_count; i++)
		put_text(key, MTW_S_NOTE, w->keep.notes[i], -1);
	mtw_put(&o, w->in.child_state);
	mtw_put(&o, (uint64_t)w->in.child_status);
	if (w->in.child_ended)
		session_key_frame(key, MTW_S_EXIT, payload, (size_t)(o.at - payload));
}

/* The blocks; NULL = none. */
static uint8_t *make(const struct watch *w, uint64_t resume, size_t *len)
{
	const struct model *m = w->in.model;
	struct session_key_out *key = session_key_new(w->keep.stream, resume,
						      recorder_time(&w->keep), model_ticks_read(m));
	int rc = model_dump(m, session_key_frame, key);

	put_own(key, w);
	if (!rc)
		model_dump_end(m, session_key_frame, key);
	return session_key_end(key, len);
}

static _Noreturn void child(const struct watch *w, uint64_t resume, int fd)
{
	size_t len;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	child_begin(fd);
	model_forked(w->in.model);
	uint8_t *blocks = make(w, resume, &len);
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, blocks + at, len - at);
		if (n <= 0)
			_exit(1);
		at += (size_t)n;
	}
	_exit(blocks ? 0 : 1);
}

static void end_child(struct watch *w)
{
	if (recorder_writer(&w->keep))
		session_key_over(recorder_writer(&w->keep));
	if (w->keys.fd >= 0)
		close(w->keys.fd);
	w->keys.pid = 0;
}

static void start_child(struct watch *w)
{
	struct keys *k = &w->keys;
	uint64_t resume = session_key_resume(recorder_writer(&w->keep), w->keep.stream);

	if (!resume)
		return;
	k->fd = memfd_create("memtop-key", MFD_CLOEXEC);
	k->pid = k->fd < 0 ? -1 : fork();
	if (k->pid == 0)
		child(w, resume, k->fd);
	if (k->pid < 0) /* there will be another time */
		end_child(w);
}

static void take(struct watch *w, size_t len)
{
	uint8_t *blocks = mmap(NULL, len, PROT_READ, MAP_SHARED | MAP_POPULATE, w->keys.fd, 0);

	if (blocks == MAP_FAILED)
		return;
	session_put_key(recorder_writer(&w->keep), w->keep.stream, blocks, len, &w->keep.failed);
	munmap(blocks, len);
}

/* True: it has ended, one way or the other. */
static bool hear_child(struct watch *w)
{
	int status;
	pid_t pid = waitpid(w->keys.pid, &status, WNOHANG);
	off_t len;

	if (!pid || (pid < 0 && errno == EINTR))
		return false;
	if (pid > 0 && status == 0 && (len = lseek(w->keys.fd, 0, SEEK_END)) > 0)
		take(w, (size_t)len);
	end_child(w);
	return true;
}

/* The model's instants are those of the file. */
static void forget_instants(struct watch *w)
{
	const uint64_t *ticks;
	size_t n = session_thinned(recorder_writer(&w->keep), w->keep.stream, &w->keys.thinned,
				   &ticks);

	if (n)
		model_keep_instants(w->in.model, ticks, n);
}

int keys_thin(struct watch *w, struct err *err)
{
	if (!recorder_open(&w->keep))
		return 0;
	int rc = session_thin(recorder_writer(&w->keep), thin_file, err);
	forget_instants(w);
	return rc;
}

void keys_go_on(struct watch *w)
{
	if (!recorder_open(&w->keep) || (w->keys.pid && !hear_child(w)))
		return;
	if (session_key_due(recorder_writer(&w->keep), w->keep.stream, false) &&
	    model_dumps(w->in.model))
		start_child(w);
}

/* Ends the child. True: its key frame is lost with it. */
static bool drop_child(struct watch *w)
{
	if (!w->keys.pid || hear_child(w))
		return false;
	kill(w->keys.pid, SIGKILL);
	while (waitpid(w->keys.pid, NULL, 0) < 0 && errno == EINTR)
		;
	end_child(w);
	return true;
}

void keys_end(struct watch *w)
{
	size_t len;
	bool lost = drop_child(w); /* it was due, and still is */
	if (recorder_open(&w->keep))
		model_columns(w->in.model); /* no worker has half of them */

	if (recorder_open(&w->keep) && !w->keep.of) /* else it is of more than this stream */
		session_thin_stop(recorder_writer(&w->keep));
	if (!recorder_open(&w->keep) || !model_dumps(w->in.model) ||
	    !(lost || session_key_due(recorder_writer(&w->keep), w->keep.stream, !w->keep.of)))
		return;
	uint64_t resume = session_key_resume(recorder_writer(&w->keep), w->keep.stream);
	if (!resume)
		return;
	uint8_t *blocks = make(w, resume, &len);
	if (blocks)
		session_put_key(recorder_writer(&w->keep), w->keep.stream, blocks, len,
				&w->keep.failed);
	free(blocks);
	session_key_over(recorder_writer(&w->keep));
}
