/* SPDX-License-Identifier: MIT
 *
 * test_jdwp.c - jdwp_load() against a fake Java machine at the other end of a socket pair: ids of
 * other widths than OpenJDK's, objects that a collection takes, events of others, Android's name;
 * and replies with random changes.
 */
#include "attach/jdwp/jdwp.h"
#include "attach/jdwp/packets.h"

#include "check.h"
#include "random.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>

#define THREAD 0x51
#define OTHER 0x52
#define THROWN 0x77

struct machine {
	int fd;
	unsigned method_bytes, object_bytes, type_bytes;
	const char *name;
	/* so many objects are collected before they can be kept; of exceptions alone */
	int lost, lost_exceptions;
	bool throws, random;
	/* what came of it */
	unsigned breakpoints, steps, cleared, resumed_thread, resumed_other, disposed, invoked;
	char text[256], loaded[256]; /* the last string made; what System.load got */
};

/* What a reply needs of the command; types: class 1 = File, 2 = System, 3 = Throwable, 4 =
 * another. */
struct command {
	int what;
	struct jdwp_in in;
	uint8_t bytes[JDWP_COMMAND_MAX];
};

static bool receive(int fd, void *to, size_t len)
{
	return recv(fd, to, len, MSG_WAITALL) == (ssize_t)len;
}

static bool next(struct machine *m, struct command *c, uint8_t *head)
{
	if (!receive(m->fd, head, 11))
		return false;
	size_t len = ((size_t)head[2] << 8 | head[3]) - 11;
	if (len && !receive(m->fd, c->bytes, len))
		return false;
	c->what = head[9] << 8 | head[10];
	c->in = (struct jdwp_in){ c->bytes, c->bytes + len, false };
	return true;
}

static void send_packet(struct machine *m, const uint8_t *id, unsigned flags, unsigned code,
			const struct jdwp_out *data)
{
	struct jdwp_out p = { .len = 0 };

	jdwp_put(&p, 11 + data->len, 4);
	for (int i = 0; i < 4; i++)
		jdwp_put(&p, id[i], 1);
	jdwp_put(&p, flags, 1);
	jdwp_put(&p, code, 2);
	for (size_t i = 0; i < data->len; i++)
		jdwp_put(&p, data->bytes[i], 1);
	if (m->random && below(8) == 0)
		p.bytes[below((uint32_t)p.len)] = (uint8_t)below(256);
	if (m->random && below(40) == 0)
		p.len = below((uint32_t)p.len);
	send(m->fd, p.bytes, p.len, MSG_NOSIGNAL);
}

static void send_event(struct machine *m, unsigned kind, uint64_t thread)
{
	struct jdwp_out o = { .len = 0 };

	jdwp_put(&o, kind == 90 ? 2 : 1, 1);
	jdwp_put(&o, 1, 4);
	jdwp_put(&o, kind, 1);
	jdwp_put(&o, 900, 4);
	jdwp_put(&o, thread, m->object_bytes);
	jdwp_put(&o, 1, 1);
	jdwp_put(&o, 7, m->type_bytes);
	jdwp_put(&o, 8, m->method_bytes);
	jdwp_put(&o, 9, 8);
	send_packet(m, (const uint8_t *)"\0\0\1\0", 0, JDWP_EVENT_COMPOSITE, &o);
}

static void put_method(struct machine *m, struct jdwp_out *o, uint64_t id, const char *name,
		       const char *signature)
{
	jdwp_put(o, id, m->method_bytes);
	jdwp_put_text(o, name);
	jdwp_put_text(o, signature);
	jdwp_put(o, 1, 4);
}

static void put_methods(struct machine *m, struct jdwp_out *o)
{
	jdwp_put(o, 6, 4);
	put_method(m, o, 10, "load", "(Ljava/lang/Object;)V");
	put_method(m, o, 11, "load", "(Ljava/lang/String;)V");
	put_method(m, o, 12, "<init>", "(Ljava/lang/String;)V");
	put_method(m, o, 13, "getCanonicalPath", "()Ljava/lang/String;");
	put_method(m, o, 14, "getMessage", "()Ljava/lang/String;");
	put_method(m, o, 15, "dispatchMessage", "(Landroid/os/Message;)V");
}

static void put_tagged(struct machine *m, struct jdwp_out *o, char tag, uint64_t id)
{
	jdwp_put(o, (uint8_t)tag, 1);
	if (tag != 'V')
		jdwp_put(o, id, m->object_bytes);
}

static void take_text(struct machine *m, struct jdwp_in *in)
{
	size_t len;
	const char *text = jdwp_get_text(in, &len);

	snprintf(m->text, sizeof m->text, "%.*s", (int)(len < 200 ? len : 200), text);
}

/* Of CLASS_INVOKE, CLASS_NEW, OBJECT_INVOKE. */
static void invoke(struct machine *m, struct command *c, struct jdwp_out *o)
{
	bool of_object = c->what == JDWP_OBJECT_INVOKE;

	jdwp_get(&c->in, of_object ? m->object_bytes : m->type_bytes);
	m->invoked += jdwp_get(&c->in, m->object_bytes) == THREAD;
	if (of_object)
		jdwp_get(&c->in, m->type_bytes);
	uint64_t method = jdwp_get(&c->in, m->method_bytes);
	if (method == 11)
		snprintf(m->loaded, sizeof m->loaded, "%s", m->text);
	if (method == 13)
		snprintf(m->text, sizeof m->text, "/proc/4242");
	put_tagged(m, o, method == 11 ? 'V' : method == 12 ? 'L' : 's', 0x99);
	put_tagged(m, o, 'L', method == 11 && m->throws ? THROWN : 0);
	if (method == 14)
		snprintf(m->text, sizeof m->text, "no \033[31mway\nthere");
}

/* The error code. */
static unsigned answer(struct machine *m, struct command *c, struct jdwp_out *o)
{
	switch (c->what) {
	case JDWP_VM_ID_SIZES:
		for (int i = 0; i < 5; i++)
			jdwp_put(o,
				 i == 1   ? m->method_bytes
				 : i == 2 ? m->object_bytes
					  : m->type_bytes,
				 4);
		return 0;
	case JDWP_VM_VERSION:
		jdwp_put_text(o, "description");
		jdwp_put(o, 1, 4);
		jdwp_put(o, 8, 4);
		jdwp_put_text(o, "17");
		jdwp_put_text(o, m->name);
		return 0;
	case JDWP_VM_ALL_THREADS:
		jdwp_put(o, 2, 4);
		jdwp_put(o, THREAD, m->object_bytes);
		jdwp_put(o, OTHER, m->object_bytes);
		return 0;
	case JDWP_THREAD_NAME: jdwp_put_text(o, "main"); return 0;
	case JDWP_VM_CLASSES_BY_SIGNATURE:
		take_text(m, &c->in);
		jdwp_put(o, strcmp(m->text, "Landroid/app/Activity;") != 0, 4);
		jdwp_put(o, 1, 1);
		jdwp_put(o, 2, m->type_bytes);
		jdwp_put(o, 7, 4);
		return 0;
	case JDWP_TYPE_METHODS: put_methods(m, o); return 0;
	case JDWP_EVENT_SET:
		m->breakpoints += *c->in.at == 2;
		m->steps += *c->in.at == 1;
		jdwp_put(o, m->breakpoints + m->steps, 4);
		return 0;
	case JDWP_EVENT_CLEAR:
		m->cleared++;
		if (m->cleared == 1)
			send_event(m, 1, OTHER); /* it came by meanwhile */
		return 0;
	case JDWP_THREAD_RESUME: {
		uint64_t thread = jdwp_get(&c->in, m->object_bytes);
		m->resumed_thread += thread == THREAD;
		m->resumed_other += thread == OTHER;
		return 0;
	}
	case JDWP_VM_CREATE_STRING:
		take_text(m, &c->in);
		jdwp_put(o, 0x55, m->object_bytes);
		return 0;
	case JDWP_OBJECT_KEEP:
		if (jdwp_get(&c->in, m->object_bytes) == THROWN && m->lost_exceptions > 0)
			return m->lost_exceptions--, JDWP_E_INVALID_OBJECT;
		return m->lost-- > 0 ? JDWP_E_INVALID_OBJECT : 0;
	case JDWP_STRING_VALUE: jdwp_put_text(o, m->text); return 0;
	case JDWP_OBJECT_TYPE:
		jdwp_put(o, 1, 1);
		jdwp_put(o, 6, m->type_bytes);
		return 0;
	case JDWP_TYPE_SIGNATURE: jdwp_put_text(o, "Ljava/lang/UnsatisfiedLinkError;"); return 0;
	case JDWP_VM_DISPOSE: m->disposed++; return 0;
	case JDWP_CLASS_INVOKE:
	case JDWP_CLASS_NEW:
	case JDWP_OBJECT_INVOKE: invoke(m, c, o); return 0;
	default: return 99;
	}
}

static void *serve(void *arg)
{
	struct machine *m = arg;
	struct command c;
	uint8_t head[14];

	if (!receive(m->fd, head, 14))
		return NULL;
	send(m->fd, head, 14, MSG_NOSIGNAL);
	while (next(m, &c, head)) {
		struct jdwp_out o = { .len = 0 };
		unsigned code = answer(m, &c, &o);
		if (c.what == JDWP_EVENT_SET && m->breakpoints + m->steps == 1)
			/* before the reply that tells its number */
			send_event(m, m->steps ? 1 : 2, THREAD);
		send_packet(m, head + 4, 0x80, code, &o);
	}
	shutdown(m->fd, SHUT_RDWR);
	return NULL;
}

static enum jdwp_result load(struct machine *m, const char *const *breaks, int64_t *pid, char *why,
			     size_t n)
{
	int ends[2];
	pthread_t thread;
	uint64_t held;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	m->fd = ends[1];
	if (m->random) /* both would wait for the rest of a packet */
		setsockopt(m->fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ 0, 10000 },
			   sizeof(struct timeval));
	CHECK(pthread_create(&thread, NULL, serve, m) == 0);
	struct jdwp_request q = { .fd = ends[0],
				  .library = "/x/agent.so",
				  .breaks = breaks,
				  .timeout_ms = m->random ? 20 : 60000,
				  .held_ns = &held };
	enum jdwp_result result = jdwp_load(&q, pid, why, n);
	close(ends[0]);
	pthread_join(thread, NULL);
	close(ends[1]);
	return result;
}

static struct machine made(unsigned method, unsigned object, unsigned type)
{
	return (struct machine){ .method_bytes = method,
				 .object_bytes = object,
				 .type_bytes = type,
				 .name = "OpenJDK" };
}

static void check_left(const struct machine *m)
{
	CHECK_EQ(m->cleared, m->breakpoints + m->steps);
	CHECK_EQ(m->resumed_thread, 1);
	CHECK_EQ(m->resumed_other, 1);
	CHECK_EQ(m->disposed, 1);
}

TEST(ids_of_any_width)
{
	static const unsigned widths[][3] = {
		{ 8, 8, 8 }, { 4, 4, 8 }, { 8, 4, 2 }, { 1, 2, 3 }, { 4, 8, 4 }
	};
	char why[512];
	int64_t pid;

	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		struct machine m = made(widths[i][0], widths[i][1], widths[i][2]);
		CHECK_EQ(load(&m, NULL, &pid, why, sizeof why), JDWP_LOADED);
		CHECK_STR(why, "");
		CHECK_STR(m.loaded, "/x/agent.so");
		CHECK_EQ(pid, 4242);
		CHECK_EQ(m.steps, 1);
		CHECK_EQ(m.invoked, 3);
		check_left(&m);
	}
}

TEST(what_a_collection_took_is_made_again)
{
	struct machine m = made(8, 8, 8);
	char why[512];

	m.lost = 3;
	CHECK_EQ(load(&m, NULL, NULL, why, sizeof why), JDWP_LOADED);
	CHECK_STR(m.loaded, "/x/agent.so");
	check_left(&m);
	m = made(8, 8, 8);
	m.lost_exceptions = 3;
	m.throws = true;
	CHECK_EQ(load(&m, NULL, NULL, why, sizeof why), JDWP_THREW);
	CHECK(strstr(why, "UnsatisfiedLinkError"));
	CHECK_EQ(m.lost_exceptions, 0);
}

TEST(android_by_its_own_methods)
{
	struct machine m = made(8, 8, 8);
	char why[512];

	m.name = "Dalvik";
	CHECK_EQ(load(&m, NULL, NULL, why, sizeof why), JDWP_LOADED);
	CHECK_EQ(m.breakpoints, 1);
	CHECK_EQ(m.steps, 0);
	check_left(&m);
}

TEST(what_was_thrown)
{
	struct machine m = made(4, 8, 8);
	char why[512];

	m.throws = true;
	CHECK_EQ(load(&m, NULL, NULL, why, sizeof why), JDWP_THREW);
	CHECK(strstr(why, "System.load threw java.lang.UnsatisfiedLinkError: no  [31mway there; "));
	check_left(&m);
}

TEST(a_method_that_is_not_there)
{
	static const char *const breaks[] = { "android.app.Activity.onResume", NULL },
				 *const others[] = { "a.B.run", NULL };
	struct machine m = made(8, 8, 8);
	char why[512];

	CHECK_EQ(load(&m, breaks, NULL, why, sizeof why), JDWP_NO_CLASS);
	CHECK_EQ(m.disposed, 1);
	CHECK_EQ(load(&m, others, NULL, why, sizeof why), JDWP_NO_METHOD);
	CHECK_EQ(m.disposed, 2);
}

/* Whatever comes: an end, and a line for all but success. */
TEST(replies_with_random_changes)
{
	char why[512];

	seed = 20260;
	for (int i = 0; i < 250; i++) {
		struct machine m = made(8, 8, 8);
		m.random = true;
		m.throws = i % 2;
		enum jdwp_result result = load(&m, NULL, NULL, why, sizeof why);
		CHECK((result == JDWP_LOADED) == (*why == '\0'));
		CHECK(!strpbrk(why, "\033\n"));
	}
}
