/* SPDX-License-Identifier: MIT
 *
 * commands.c - writes a viewer's commands as frames, in wire.h's order of fields.
 */
#include "link/commands.h"

#include <memtop/wire.h>

static int send_frame(struct conn *c, uint64_t type, const uint8_t *payload,
		      const struct mtw_out *o)
{
	return o->full ? -1 : conn_send(c, type, payload, (size_t)(o->at - payload));
}

int command_mark(struct conn *c, const char *name)
{
	uint8_t p[MTW_STRING_MAX + 16];
	struct mtw_out o = { p, p + sizeof p, false };

	mtw_put_string(&o, name);
	return send_frame(c, MTW_SET_MARK, p, &o);
}

int command_drop_mark(struct conn *c, uint32_t id)
{
	uint8_t p[16];
	struct mtw_out o = { p, p + sizeof p, false };

	mtw_put(&o, id);
	return send_frame(c, MTW_DROP_MARK, p, &o);
}

int command_rename_mark(struct conn *c, uint32_t id, const char *name)
{
	uint8_t p[MTW_STRING_MAX + 32];
	struct mtw_out o = { p, p + sizeof p, false };

	mtw_put(&o, id);
	mtw_put_string(&o, name);
	return send_frame(c, MTW_RENAME_MARK, p, &o);
}

int command_set_option(struct conn *c, const char *name, const char *value)
{
	uint8_t p[2 * MTW_STRING_MAX + 32];
	struct mtw_out o = { p, p + sizeof p, false };

	mtw_put_string(&o, name);
	mtw_put_string(&o, value);
	return send_frame(c, MTW_SET_OPTION, p, &o);
}

int command_detach(struct conn *c)
{
	uint8_t p[16];
	struct mtw_out o = { p, p + sizeof p, false };

	mtw_put(&o, 1);
	return send_frame(c, MTW_DETACH, p, &o);
}

int command_scan(struct conn *c, uint64_t request, enum mtw_kind kind, const uint32_t *slots,
		 size_t count)
{
	uint8_t p[MTW_CLIENT_FRAME_MAX];
	struct mtw_out o = { p, p + sizeof p, false };

	mtw_put(&o, request);
	mtw_put(&o, (uint64_t)kind);
	mtw_put(&o, count);
	for (size_t i = 0; i < count; i++)
		mtw_put(&o, slots[i] - (i ? slots[i - 1] : 0));
	return send_frame(c, MTW_SCAN, p, &o);
}
