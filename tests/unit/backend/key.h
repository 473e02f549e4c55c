/* SPDX-License-Identifier: MIT
 *
 * key.h - puts a key frame of a model into a file, when one is due, as a live view does.
 */
#ifndef KEY_H
#define KEY_H

#include "check.h"
#include "model/model.h"
#include "session/key.h"
#include "session/session.h"

static inline void key_put(struct session_writer *file, const struct model *m, uint64_t time_ns)
{
	struct err err = { 0 };
	size_t len;

	if (!session_key_due(file, 0, false))
		return;
	struct session_key_out *key =
		session_key_new(0, session_key_resume(file, 0), time_ns, model_ticks_read(m));
	CHECK(model_dumps(m));
	CHECK_EQ(model_dump(m, session_key_frame, key), 0);
	CHECK_EQ(model_dump_end(m, session_key_frame, key), 0);
	uint8_t *blocks = session_key_end(key, &len);
	CHECK_EQ(session_put_key(file, 0, blocks, len, &err), 0);
	session_key_over(file);
	free(blocks);
}

#endif
