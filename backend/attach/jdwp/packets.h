/* SPDX-License-Identifier: MIT
 *
 * packets.h - packets of the Java Debug Wire Protocol: the handshake, commands and their replies,
 * and their fields. Main thread only. attach/jdwp/jdwp.c and its parts give them their meaning.
 *
 * A packet is: u32 length (header included), u32 id, u8 flags, then u8 set and u8 command, or, in a
 * reply (flags 0x80), u16 error code; then data. All fields are big-endian. Ids of objects, types
 * and methods have the widths that the machine states (IDSizes) and are kept as numbers here.
 */
#ifndef ATTACH_JDWP_PACKETS_H
#define ATTACH_JDWP_PACKETS_H

#include "base/base.h"
#include "attach/jdwp/jdwp.h"

#define JDWP_COMMAND_MAX 8192u      /* sent commands: a path and some numbers */
#define JDWP_PACKET_MAX (16u << 20) /* received packets: a list of classes or methods */

/* Fields of a received packet; a missing one reads as 0 and sets bad. Borrowed until the next
 * call on the link. */
struct jdwp_in {
	const uint8_t *at, *end;
	bool bad;
};

/* Data of a command under construction; data that does not fit is left out and sets bad. */
struct jdwp_out {
	uint8_t bytes[JDWP_COMMAND_MAX];
	size_t len;
	bool bad;
};

struct jdwp_link {
	int fd;               /* borrowed */
	uint64_t deadline_ns; /* now_ns() at which a request times out; the caller sets it */
	/* widths of ids, 1..8; 8 until jdwp_greet() asked */
	uint8_t method_bytes, object_bytes, type_bytes;
	uint32_t id;       /* of the last command */
	uint8_t *packet;   /* owned; the packet being read */
	size_t room, have; /* bytes; have < a packet: the rest is still to come */
	size_t taken;      /* bytes of the packet handed out last */
	/* Receives an Event.Composite's fields; also called between a command and its reply. */
	void (*event)(void *arg, struct jdwp_in *in);
	void *arg;
	enum jdwp_result broken; /* not 0: the link is unusable, err says why */
	struct err err;
};

enum jdwp_command { /* set * 256 + command */
		    JDWP_VM_VERSION = 0x101,
		    JDWP_VM_CLASSES_BY_SIGNATURE = 0x102,
		    JDWP_VM_ALL_THREADS = 0x104,
		    JDWP_VM_DISPOSE = 0x106,
		    JDWP_VM_ID_SIZES = 0x107,
		    JDWP_VM_RESUME = 0x109,
		    JDWP_VM_CREATE_STRING = 0x10b,
		    JDWP_TYPE_SIGNATURE = 0x201,
		    JDWP_TYPE_METHODS = 0x205,
		    JDWP_CLASS_INVOKE = 0x303,
		    JDWP_CLASS_NEW = 0x304,
		    JDWP_OBJECT_TYPE = 0x901,
		    JDWP_OBJECT_INVOKE = 0x906,
		    JDWP_OBJECT_KEEP = 0x907, /* DisableCollection */
		    JDWP_STRING_VALUE = 0xa01,
		    JDWP_THREAD_NAME = 0xb01,
		    JDWP_THREAD_RESUME = 0xb03,
		    JDWP_EVENT_SET = 0xf01,
		    JDWP_EVENT_CLEAR = 0xf02,
		    JDWP_EVENT_COMPOSITE = 0x4064,
};

enum { /* error codes that occur in ordinary use */
       JDWP_E_INVALID_OBJECT = 20,
       JDWP_E_INVALID_LOCATION = 24,
};

/* The handshake, and the widths of ids. 0, or -1: l->broken. */
int jdwp_greet(struct jdwp_link *l);
/* Sends a command and reads its reply. 0; an error code of the protocol; -1: l->broken. in may be
 * NULL. */
int jdwp_call(struct jdwp_link *l, enum jdwp_command command, const struct jdwp_out *out,
	      struct jdwp_in *in);
/* Reads events until *until or the deadline (1); -1: l->broken. */
int jdwp_listen(struct jdwp_link *l, const bool *until);
void jdwp_release(struct jdwp_link *l);

/* Writes a sanitized line to *err; too long text is cut in its middle. */
void jdwp_say(struct err *err, const char *format, va_list args);
/* Breaks the link: nothing more goes over it. Returns -1. */
int jdwp_break(struct jdwp_link *l, enum jdwp_result result, const char *format, ...) PRINTF(3, 4);
/* as in the specification; "?" = not in it */
const char *jdwp_error_name(int code);

void jdwp_put(struct jdwp_out *o, uint64_t value, unsigned bytes);
void jdwp_put_text(struct jdwp_out *o, const char *text);
uint64_t jdwp_get(struct jdwp_in *in, unsigned bytes);
const char *jdwp_get_text(struct jdwp_in *in, size_t *len); /* not ended; "" when bad */

static inline void jdwp_put_object(const struct jdwp_link *l, struct jdwp_out *o, uint64_t id)
{
	jdwp_put(o, id, l->object_bytes);
}

static inline void jdwp_put_type(const struct jdwp_link *l, struct jdwp_out *o, uint64_t id)
{
	jdwp_put(o, id, l->type_bytes);
}

static inline void jdwp_put_method(const struct jdwp_link *l, struct jdwp_out *o, uint64_t id)
{
	jdwp_put(o, id, l->method_bytes);
}

#endif
