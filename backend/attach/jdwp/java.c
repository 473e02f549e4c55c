/* SPDX-License-Identifier: MIT
 *
 * java.c - finds classes and methods and calls them on the stopped thread (INVOKE_SINGLE_THREADED:
 * the other threads run anyway).
 *
 * The machine may collect an object without references between two commands. memtop therefore keeps
 * each object that it made (DisableCollection) as soon as it has its id, and makes it again if the
 * collector was faster. VM.Dispose releases all of them.
 *
 * new File("/proc/self").getCanonicalPath() gives the machine's pid: its classes are always loaded,
 * and it works on every version and on Android. ProcessHandle needs Java 9, and memtop would have
 * to load it.
 */
#include "attach/jdwp/machine.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SINGLE_THREADED 1
#define TRIES 10

struct value {
	char tag;
	uint64_t value;
	uint64_t thrown; /* the exception's object; 0 = none */
};

/* A call: of an object, or static, or of a constructor (method "<init>"); at most one argument, a
 * string. */
struct call {
	const char *type, *method, *signature;
	uint64_t object;
	const char *argument; /* NULL = none */
};

int jdwp_types(struct jdwp_machine *m, const char *signature, uint64_t *types, int max)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	int n = 0;

	jdwp_put_text(&out, signature);
	int rc = jdwp_call(&m->link, JDWP_VM_CLASSES_BY_SIGNATURE, &out, &in);
	if (rc)
		return jdwp_fail_code(m, rc, "find a class");
	for (uint64_t left = jdwp_get(&in, 4); left && n < max && !in.bad; left--) {
		jdwp_get(&in, 1);
		types[n] = jdwp_get(&in, m->link.type_bytes);
		jdwp_get(&in, 4);
		n += !in.bad;
	}
	return n;
}

static bool is_text(struct jdwp_in *in, const char *text)
{
	size_t len;
	const char *is = jdwp_get_text(in, &len);

	return !text || (!in->bad && len == strlen(text) && !memcmp(is, text, len));
}

int jdwp_methods(struct jdwp_machine *m, uint64_t type, const char *name, const char *signature,
		 struct jdwp_method *methods, int max)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	int n = 0;

	jdwp_put_type(&m->link, &out, type);
	int rc = jdwp_call(&m->link, JDWP_TYPE_METHODS, &out, &in);
	if (rc)
		return jdwp_fail_code(m, rc, "list the methods of a class");
	for (uint64_t left = jdwp_get(&in, 4); left && n < max && !in.bad; left--) {
		uint64_t id = jdwp_get(&in, m->link.method_bytes);
		bool named = is_text(&in, name), fits = is_text(&in, signature);
		methods[n] = (struct jdwp_method){ .id = id, .bits = (unsigned)jdwp_get(&in, 4) };
		n += named && fits && !in.bad;
	}
	return n;
}

/* The reply's error code, or -1. */
static int keep(struct jdwp_machine *m, uint64_t object)
{
	struct jdwp_out out = { .len = 0 };

	jdwp_put_object(&m->link, &out, object);
	return jdwp_call(&m->link, JDWP_OBJECT_KEEP, &out, NULL);
}

static int make_string(struct jdwp_machine *m, const char *text, uint64_t *string)
{
	struct jdwp_in in;
	int rc = JDWP_E_INVALID_OBJECT;

	for (int tries = 0; tries < TRIES && rc == JDWP_E_INVALID_OBJECT; tries++) {
		struct jdwp_out out = { .len = 0 };
		jdwp_put_text(&out, text);
		rc = jdwp_call(&m->link, JDWP_VM_CREATE_STRING, &out, &in);
		if (rc)
			break;
		*string = jdwp_get(&in, m->link.object_bytes);
		rc = keep(m, *string);
	}
	return rc ? jdwp_fail_code(m, rc, "make a string") : 0;
}

static uint64_t get_value(struct jdwp_machine *m, struct jdwp_in *in, char *tag)
{
	*tag = (char)jdwp_get(in, 1);
	switch (*tag) {
	case 'V': return 0;
	case 'B':
	case 'Z': return jdwp_get(in, 1);
	case 'C':
	case 'S': return jdwp_get(in, 2);
	case 'I':
	case 'F': return jdwp_get(in, 4);
	case 'J':
	case 'D': return jdwp_get(in, 8);
	default: return jdwp_get(in, m->link.object_bytes);
	}
}

static int get_result(struct jdwp_machine *m, struct jdwp_in *in, struct value *v)
{
	char tag;

	v->value = get_value(m, in, &v->tag);
	v->thrown = get_value(m, in, &tag);
	if (in->bad)
		return jdwp_fail(m, JDWP_NOT_JDWP,
				 "it breaks the debug protocol: a call without a result; is it the "
				 "port of a Java program's -agentlib:jdwp?");
	if (v->value && strchr("Lstglc[", v->tag))
		keep(m, v->value);
	return m->link.broken ? -1 : 0;
}

static int call(struct jdwp_machine *m, const struct call *c, struct value *v)
{
	bool constructor = !strcmp(c->method, "<init>");
	struct jdwp_method method;
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	uint64_t type, string = 0;

	int n = jdwp_types(m, c->type, &type, 1);
	n = n > 0 ? jdwp_methods(m, type, c->method, c->signature, &method, 1) : n;
	if (n < 1)
		return n < 0 ? -1
			     : jdwp_fail(m, JDWP_NO_METHOD,
					 "its Java machine has no %s %s; use memtop attach PID",
					 c->type, c->method);
	if (c->argument && make_string(m, c->argument, &string))
		return -1;
	if (c->object)
		jdwp_put_object(&m->link, &out, c->object);
	else
		jdwp_put_type(&m->link, &out, type);
	jdwp_put_object(&m->link, &out, m->thread);
	if (c->object)
		jdwp_put_type(&m->link, &out, type);
	jdwp_put_method(&m->link, &out, method.id);
	jdwp_put(&out, c->argument != NULL, 4);
	if (c->argument) {
		jdwp_put(&out, 's', 1);
		jdwp_put_object(&m->link, &out, string);
	}
	jdwp_put(&out, SINGLE_THREADED, 4);
	int rc = jdwp_call(&m->link,
			   c->object     ? JDWP_OBJECT_INVOKE
			   : constructor ? JDWP_CLASS_NEW
					 : JDWP_CLASS_INVOKE,
			   &out, &in);
	return rc ? jdwp_fail_code(m, rc, "call a method") : get_result(m, &in, v);
}

/* Reads the text of a string object; "" = not available. */
static void get_string(struct jdwp_machine *m, uint64_t object, char *buf, size_t size)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	size_t len;

	*buf = '\0';
	jdwp_put_object(&m->link, &out, object);
	if (!object || jdwp_call(&m->link, JDWP_STRING_VALUE, &out, &in))
		return;
	const char *text = jdwp_get_text(&in, &len);
	snprintf(buf, size, "%.*s", (int)(len < size ? len : size), text);
}

/* "java.lang.UnsatisfiedLinkError" */
static void name_type(struct jdwp_machine *m, uint64_t object, char *buf, size_t size)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	size_t len;

	snprintf(buf, size, "an exception");
	jdwp_put_object(&m->link, &out, object);
	if (jdwp_call(&m->link, JDWP_OBJECT_TYPE, &out, &in))
		return;
	jdwp_get(&in, 1);
	uint64_t type = jdwp_get(&in, m->link.type_bytes);
	out = (struct jdwp_out){ .len = 0 };
	jdwp_put_type(&m->link, &out, type);
	if (jdwp_call(&m->link, JDWP_TYPE_SIGNATURE, &out, &in))
		return;
	const char *signature = jdwp_get_text(&in, &len);
	if (len < 3 || len > size)
		return;
	snprintf(buf, size, "%.*s", (int)len - 2, signature + 1);
	for (char *c = buf; *c; c++)
		*c = *c == '/' ? '.' : *c;
}

static int explain_thrown(struct jdwp_machine *m, uint64_t thrown)
{
	struct call get_message = { .type = "Ljava/lang/Throwable;",
				    .method = "getMessage",
				    .signature = "()Ljava/lang/String;",
				    .object = thrown };
	char name[256], text[512] = "";
	struct value v;

	name_type(m, thrown, name, sizeof name);
	for (int tries = 0;
	     tries < TRIES && !*text && !call(m, &get_message, &v) && !v.thrown && v.value; tries++)
		get_string(m, v.value, text, sizeof text);
	/* report the exception even if its text was not available */
	jdwp_forgive(m);
	return jdwp_fail(m, JDWP_THREW,
			 "System.load threw %s%s%s; give an agent that its libc can load and its "
			 "user may read with --agent",
			 name, *text ? ": " : "", text);
}

int jdwp_java_load(struct jdwp_machine *m, const char *path)
{
	struct call load = { .type = "Ljava/lang/System;",
			     .method = "load",
			     .signature = "(Ljava/lang/String;)V",
			     .argument = path };
	struct value v;
	int rc = JDWP_E_INVALID_OBJECT;

	/* the exception object was collected: try again */
	for (int tries = 0; tries < TRIES && rc == JDWP_E_INVALID_OBJECT; tries++) {
		if (call(m, &load, &v))
			return -1;
		rc = v.thrown ? keep(m, v.thrown) : 0;
	}
	return v.thrown ? explain_thrown(m, v.thrown) : 0;
}

int64_t jdwp_java_pid(struct jdwp_machine *m)
{
	struct call file = { .type = "Ljava/io/File;",
			     .method = "<init>",
			     .signature = "(Ljava/lang/String;)V",
			     .argument = "/proc/self" };
	struct call resolve = { .type = file.type,
				.method = "getCanonicalPath",
				.signature = "()Ljava/lang/String;" };
	char path[64] = "", *end;
	long pid = 0;

	/* each but the first: a collection was faster than keep() */
	for (int tries = 0; tries < TRIES && !pid; tries++) {
		struct value v;
		jdwp_forgive(m);
		if (call(m, &file, &v) || v.thrown)
			continue;
		resolve.object = v.value;
		if (call(m, &resolve, &v) || v.thrown)
			continue;
		get_string(m, v.value, path, sizeof path);
		pid = strncmp(path, "/proc/", 6) ? 0 : strtol(path + 6, &end, 10);
		pid = pid > 0 && pid <= INT_MAX && !*end ? pid : 0;
	}
	jdwp_forgive(m); /* it is not needed */
	return pid;
}
