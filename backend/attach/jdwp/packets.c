/* SPDX-License-Identifier: MIT
 *
 * packets.c - packets of the Java Debug Wire Protocol.
 *
 * One command is open at a time. Before its reply the peer may send events, replies to abandoned
 * commands, and its own commands (ART sends some of its set 199, which need no answer). All but
 * events are dropped. A partly read packet stays in the buffer, so a wait may end in the middle of
 * a packet and the next call continues there.
 *
 * The peer is any program that listens at the port: lengths are checked before memory is allocated,
 * memory grows as bytes arrive, and every wait has a limit.
 */
#include "attach/jdwp/packets.h"

#include "base/sanitize.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HEADER_BYTES 11u
#define READ_BYTES 65536u
#define REPLY 0x80

static const char handshake[] = "JDWP-Handshake";

void jdwp_say(struct err *err, const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	err_set(err, 3, "%s", text ? text : "out of memory");
	free(text);
}

int jdwp_break(struct jdwp_link *l, enum jdwp_result result, const char *format, ...)
{
	va_list args;

	l->broken = result;
	va_start(args, format);
	jdwp_say(&l->err, format, args);
	va_end(args);
	return -1;
}

static int break_protocol(struct jdwp_link *l, const char *what)
{
	return jdwp_break(l, JDWP_NOT_JDWP,
			  "it breaks the debug protocol: %s; is it the port of a Java program's "
			  "-agentlib:jdwp?",
			  what);
}

static int break_closed(struct jdwp_link *l, int error)
{
	if (!l->id)
		return jdwp_break(l, JDWP_CLOSED,
				  "it closed the connection at once: not a debug port, or another "
				  "debugger uses it; close that debugger, or name the port of the "
				  "program's -agentlib:jdwp");
	return jdwp_break(l, JDWP_CLOSED,
			  "the connection was lost%s%s: the program or the port forwarding ended; "
			  "check that it runs",
			  error ? ": " : "", error ? strerror(error) : "");
}

/* 1: ready; 0: the deadline; -1: broken. */
static int await(struct jdwp_link *l, short events)
{
	struct pollfd p = { .fd = l->fd, .events = events };

	for (;;) {
		uint64_t now = now_ns();
		int ms = now < l->deadline_ns ? (int)((l->deadline_ns - now) / 1000000) + 1 : 0;
		int rc = poll(&p, 1, ms);
		if (rc > 0)
			return 1;
		if (rc == 0 && now_ns() >= l->deadline_ns)
			return 0;
		if (rc < 0 && errno != EINTR)
			return break_closed(l, errno);
	}
}

static int break_silent(struct jdwp_link *l)
{
	if (l->id > 1)
		return jdwp_break(
			l, JDWP_SILENT,
			"its Java machine no longer answers: it is stopped, or the called method "
			"waits for something; check that it runs, and try again");
	return jdwp_break(
		l, JDWP_SILENT,
		"it takes connections but does not answer: another debugger uses it, the program "
		"is stopped, or it is not a debug port; close that debugger and try again");
}

static int send_all(struct jdwp_link *l, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = send(l->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return break_closed(l, errno);
		if (n < 0 && errno == EAGAIN) {
			int rc = await(l, POLLOUT);
			if (rc <= 0)
				return rc < 0 ? -1 : break_silent(l);
		}
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* Reads until `need` bytes are there. 1; 0: the deadline; -1: broken. */
static int fill(struct jdwp_link *l, size_t need)
{
	while (l->have < need) {
		size_t most = need - l->have < READ_BYTES ? need - l->have : READ_BYTES;
		GROW(l->packet, l->room, l->have + most);
		ssize_t n = recv(l->fd, l->packet + l->have, most, MSG_DONTWAIT);
		if (n == 0)
			return break_closed(l, 0);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return break_closed(l, errno);
		if (n < 0 && errno == EAGAIN) {
			int rc = await(l, POLLIN);
			if (rc <= 0)
				return rc;
		}
		l->have += n > 0 ? (size_t)n : 0;
	}
	return 1;
}

static uint64_t number(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

/* The next packet, whole. 1; 0: the deadline; -1: broken. */
static int next_packet(struct jdwp_link *l)
{
	if (l->taken)
		l->have = l->taken = 0;
	/* however much there is to read */
	int rc = now_ns() < l->deadline_ns ? fill(l, HEADER_BYTES) : 0;
	if (rc <= 0)
		return rc;
	uint64_t length = number(l->packet, 4);
	if (length < HEADER_BYTES)
		return break_protocol(l, "a packet shorter than its header");
	if (length > JDWP_PACKET_MAX)
		return break_protocol(l, "a packet of more than 16 MiB");
	rc = fill(l, length);
	if (rc > 0)
		l->taken = length;
	return rc;
}

/* Is the current packet the reply to the last command? Passes an event on. */
static bool is_reply(struct jdwp_link *l, struct jdwp_in *in)
{
	const uint8_t *p = l->packet;

	*in = (struct jdwp_in){ .at = p + HEADER_BYTES, .end = p + l->taken };
	if (p[8] & REPLY)
		return number(p + 4, 4) == l->id;
	if (number(p + 9, 2) == JDWP_EVENT_COMPOSITE && l->event)
		l->event(l->arg, in);
	return false;
}

static void put_bytes(struct jdwp_out *o, const void *p, size_t len)
{
	o->bad = o->bad || len > sizeof o->bytes - o->len;
	if (o->bad)
		return;
	memcpy(o->bytes + o->len, p, len);
	o->len += len;
}

int jdwp_call(struct jdwp_link *l, enum jdwp_command command, const struct jdwp_out *out,
	      struct jdwp_in *in)
{
	static const struct jdwp_out nothing;
	/* in one piece: of two, the second waits for the first one's ACK, 40 ms */
	struct jdwp_out packet = { .len = 0 };
	struct jdwp_in reply;

	if (l->broken)
		return -1;
	out = out ? out : &nothing;
	jdwp_put(&packet, HEADER_BYTES + out->len, 4);
	jdwp_put(&packet, ++l->id, 4);
	jdwp_put(&packet, 0, 1);
	jdwp_put(&packet, command, 2);
	put_bytes(&packet, out->bytes, out->len);
	if (out->bad || packet.bad)
		return jdwp_break(l, JDWP_ERROR,
				  "a name is too long for a command of the debug protocol; use a "
				  "shorter one");
	if (send_all(l, packet.bytes, packet.len))
		return -1;
	do {
		int rc = next_packet(l);
		if (rc <= 0)
			return rc < 0 ? -1 : break_silent(l);
	} while (!is_reply(l, &reply));
	if (in)
		*in = reply;
	int code = (int)number(l->packet + 9, 2);
	debug_log("jdwp", 2, "command %d/%d: %zu bytes, reply %zu bytes, error %d", command >> 8,
		  command & 255, out->len, l->taken - HEADER_BYTES, code);
	return code;
}

int jdwp_listen(struct jdwp_link *l, const bool *until)
{
	struct jdwp_in unwanted;

	while (!*until) {
		int rc = l->broken ? -1 : next_packet(l);
		if (rc <= 0)
			return rc < 0 ? -1 : 1;
		is_reply(l, &unwanted);
	}
	return 0;
}

/* Quotes the peer's bytes in the error: an HTTP server, for example, names itself. */
static int break_stranger(struct jdwp_link *l)
{
	char said[64];

	GROW(l->packet, l->room, sizeof said);
	ssize_t more = recv(l->fd, l->packet + l->have, sizeof said - l->have, MSG_DONTWAIT);
	l->have += more > 0 ? (size_t)more : 0;
	snprintf(said, sizeof said, "%.*s", (int)l->have, (const char *)l->packet);
	said[strcspn(said, "\r\n")] = '\0';
	sanitize_clean(said, sizeof said, said);
	return jdwp_break(l, JDWP_NOT_JDWP,
			  "not a Java debug port: it answers \"%s\"; use the port of the program's "
			  "-agentlib:jdwp",
			  said);
}

static int shake_hands(struct jdwp_link *l)
{
	size_t len = sizeof handshake - 1;

	if (send_all(l, (const uint8_t *)handshake, len))
		return -1;
	for (size_t need = 1; need <= len; need++) {
		int rc = fill(l, need);
		if (l->have && memcmp(l->packet, handshake, l->have))
			return break_stranger(l);
		if (rc <= 0)
			return rc < 0 ? -1 : break_silent(l);
	}
	l->taken = len;
	return 0;
}

static uint8_t width(struct jdwp_in *in)
{
	uint64_t v = jdwp_get(in, 4);

	in->bad = in->bad || v < 1 || v > 8;
	return (uint8_t)v;
}

int jdwp_greet(struct jdwp_link *l)
{
	struct jdwp_in in;

	l->method_bytes = l->object_bytes = l->type_bytes = 8;
	if (shake_hands(l))
		return -1;
	int rc = jdwp_call(l, JDWP_VM_ID_SIZES, NULL, &in);
	if (rc < 0)
		return -1;
	width(&in); /* of fields, which we have none of */
	l->method_bytes = width(&in);
	l->object_bytes = width(&in);
	l->type_bytes = width(&in);
	return rc || in.bad ? break_protocol(l, "no sizes of its ids") : 0;
}

void jdwp_release(struct jdwp_link *l)
{
	free(l->packet);
	l->packet = NULL;
	l->room = l->have = l->taken = 0;
}

void jdwp_put(struct jdwp_out *o, uint64_t value, unsigned bytes)
{
	o->bad = o->bad || bytes > sizeof o->bytes - o->len;
	while (!o->bad && bytes--)
		o->bytes[o->len++] = (uint8_t)(value >> 8 * bytes);
}

void jdwp_put_text(struct jdwp_out *o, const char *text)
{
	size_t len = strlen(text);

	jdwp_put(o, len, 4);
	put_bytes(o, text, len);
}

uint64_t jdwp_get(struct jdwp_in *in, unsigned bytes)
{
	in->bad = in->bad || bytes > (size_t)(in->end - in->at);
	if (in->bad)
		return 0;
	in->at += bytes;
	return number(in->at - bytes, bytes);
}

const char *jdwp_get_text(struct jdwp_in *in, size_t *len)
{
	*len = (size_t)jdwp_get(in, 4);
	in->bad = in->bad || *len > (size_t)(in->end - in->at);
	if (in->bad) {
		*len = 0;
		return "";
	}
	in->at += *len;
	return (const char *)in->at - *len;
}

const char *jdwp_error_name(int code)
{
	/* clang-format off */
	static const struct { int code; const char *name; } names[] = {
		{ 10, "INVALID_THREAD" }, { 11, "INVALID_THREAD_GROUP" },
		{ 12, "INVALID_PRIORITY" }, { 13, "THREAD_NOT_SUSPENDED" },
		{ 14, "THREAD_SUSPENDED" }, { 15, "THREAD_NOT_ALIVE" }, { 20, "INVALID_OBJECT" },
		{ 21, "INVALID_CLASS" }, { 22, "CLASS_NOT_PREPARED" }, { 23, "INVALID_METHODID" },
		{ 24, "INVALID_LOCATION" }, { 25, "INVALID_FIELDID" }, { 30, "INVALID_FRAMEID" },
		{ 31, "NO_MORE_FRAMES" }, { 32, "OPAQUE_FRAME" }, { 33, "NOT_CURRENT_FRAME" },
		{ 34, "TYPE_MISMATCH" }, { 35, "INVALID_SLOT" }, { 40, "DUPLICATE" },
		{ 41, "NOT_FOUND" }, { 50, "INVALID_MONITOR" }, { 51, "NOT_MONITOR_OWNER" },
		{ 52, "INTERRUPT" }, { 99, "NOT_IMPLEMENTED" }, { 100, "NULL_POINTER" },
		{ 101, "ABSENT_INFORMATION" }, { 102, "INVALID_EVENT_TYPE" },
		{ 103, "ILLEGAL_ARGUMENT" }, { 110, "OUT_OF_MEMORY" }, { 111, "ACCESS_DENIED" },
		{ 112, "VM_DEAD" }, { 113, "INTERNAL" }, { 115, "UNATTACHED_THREAD" },
		{ 500, "INVALID_TAG" }, { 502, "ALREADY_INVOKING" }, { 503, "INVALID_INDEX" },
		{ 504, "INVALID_LENGTH" }, { 506, "INVALID_STRING" },
		{ 507, "INVALID_CLASS_LOADER" }, { 508, "INVALID_ARRAY" },
		{ 509, "TRANSPORT_LOAD" }, { 510, "TRANSPORT_INIT" }, { 511, "NATIVE_METHOD" },
		{ 512, "INVALID_COUNT" },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].code == code)
			return names[i].name;
	return "?";
}
