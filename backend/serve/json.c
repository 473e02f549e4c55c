/* SPDX-License-Identifier: MIT
 *
 * json.c - what is answered as JSON. /targets lists the processes for service discovery. GET /marks
 * lists the marks of each process, POST sets one.
 *
 * A page of another site must not set marks: http.c refuses what it sends. The form of an old
 * browser, which does not say where it comes from, cannot send application/json. A mark is
 * recognised as in tui/cli/mark.c: the first new one that was set in this server's name. So POSTs
 * wait for each other.
 */
#include "serve/requests.h"

#include "report/json/values.h"
#include "report/report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONFIRM_NS 10000000000ull

struct asked {
	uint64_t serial;
	uint32_t before; /* model_mark_limit() at the question */
};

struct marking {
	char name[MTW_NAME_MAX + 1];
	char who[MTW_NAME_MAX + 1];
	long pid; /* 0 = all processes */
	bool sent;
	size_t count;
	struct asked asked[FLEET_MAX];
};

static void reply(struct http_request *r, int status, json_t *value_take)
{
	char *text = report_json_line(value_take);

	http_reply(r, status, "application/json", text, strlen(text));
	free(text);
}

/* Names are foreign bytes: those that are no UTF-8 are left out. */
static json_t *text_of(const char *s)
{
	json_t *t = json_string(s);

	return t ? t : json_string("?");
}

static json_t *target_of(const struct member *m, const char *address)
{
	char pid[16], *command = report_command(watch_model(m->watch));
	json_t *t;

	snprintf(pid, sizeof pid, "%d", m->pid);
	t = json_pack("{s:[o], s:{s:s, s:s, s:o, s:o}}", "targets", text_of(address), "labels",
		      "__param_pid", pid, "__meta_memtop_pid", pid, "__meta_memtop_name",
		      text_of(m->name), "__meta_memtop_command", text_of(command));
	free(command);
	return t;
}

/* The address is the one that the client came by: --listen may be 0.0.0.0. */
void targets_answer(struct server *s, struct http_request *r)
{
	const char *host = http_header(r, "Host");
	struct member *const *list;
	size_t n = fleet_list(s->fleet, &list);
	json_t *out = json_array();

	for (size_t i = 0; i < n; i++)
		if (fleet_up(list[i]))
			json_array_append_new(out, target_of(list[i], host ? host : "localhost"));
	reply(r, 200, out);
}

static json_t *describe(const struct mark *k)
{
	return json_pack("{s:i,s:o,s:o,s:f,s:I,s:I}", "id", (int)k->id, "name", text_of(k->name),
			 "set_by", text_of(k->set_by), "time_s", (double)k->time_ns / 1e9,
			 "live_bytes", (json_int_t)live_bytes(&k->totals), "live_blocks",
			 (json_int_t)live_blocks(&k->totals));
}

static json_t *marks_of(const struct model *m)
{
	json_t *list = json_array();

	for (uint32_t id = 1; id < model_mark_limit(m); id++) {
		const struct mark *k = model_mark(m, id);

		if (k && k->known && !(k->flags & MTW_MARK_DROPPED))
			json_array_append_new(list, describe(k));
	}
	return list;
}

static void list_marks(struct server *s, struct http_request *r)
{
	struct member *const *list;
	size_t n = fleet_list(s->fleet, &list);
	json_t *out = json_array();

	for (size_t i = 0; i < n; i++)
		if (fleet_known(list[i]))
			json_array_append_new(out,
					      json_pack("{s:i,s:o,s:o}", "pid", list[i]->pid,
							"name", text_of(list[i]->name), "marks",
							marks_of(watch_model(list[i]->watch))));
	reply(r, 200, json_pack("{s:o}", "processes", out));
}

static void send_marks(struct server *s, struct marking *k)
{
	struct member *const *list;
	size_t n = fleet_list(s->fleet, &list);

	for (size_t i = 0; i < n && k->count < FLEET_MAX; i++) {
		uint32_t limit = model_mark_limit(watch_model(list[i]->watch));

		if (!fleet_up(list[i]) || (k->pid && list[i]->pid != k->pid) ||
		    watch_mark(list[i]->watch, k->name))
			continue;
		k->asked[k->count++] = (struct asked){ list[i]->serial, limit };
	}
}

static const struct mark *found(struct server *s, const struct marking *k, const struct asked *a,
				struct member **member)
{
	struct member *m = *member = fleet_by_serial(s->fleet, a->serial);
	const struct model *model = m ? watch_model(m->watch) : NULL;

	for (uint32_t id = a->before; m && id < model_mark_limit(model); id++) {
		const struct mark *mark = model_mark(model, id);

		if (mark && mark->known && !strcmp(mark->set_by, k->who))
			return mark;
	}
	return NULL;
}

static bool confirmed(struct server *s, const struct marking *k)
{
	struct member *m;

	for (size_t i = 0; i < k->count; i++)
		if (!found(s, k, &k->asked[i], &m) && m && watch_live(m->watch))
			return false;
	return true;
}

static void say_marks(struct job *j, const struct marking *k)
{
	json_t *list = json_array();

	for (size_t i = 0; i < k->count; i++) {
		struct member *m;
		const struct mark *mark = found(j->server, k, &k->asked[i], &m);

		if (mark)
			json_array_append_new(list, json_pack("{s:i,s:i,s:o}", "pid", m->pid, "id",
							      (int)mark->id, "name",
							      text_of(mark->name)));
	}
	int status = !k->count ? 503 : json_array_size(list) < k->count ? 504 : 201;
	reply(j->request, status, json_pack("{s:o}", "marks", list));
}

static bool mark_step(struct job *j)
{
	struct marking *k = j->state;

	if (!k->sent) {
		if (j->server->marking)
			return false;
		j->server->marking = k->sent = true;
		send_marks(j->server, k);
	}
	if (!confirmed(j->server, k) && !job_older(j, CONFIRM_NS))
		return false;
	say_marks(j, k);
	return true;
}

static void mark_release(struct job *j)
{
	struct marking *k = j->state;

	if (k->sent)
		j->server->marking = false;
}

/* "" = memtop's own numbering. False: an answer was sent. */
static bool read_name(struct http_request *r, char name[MTW_NAME_MAX + 1])
{
	size_t len;
	const char *body = http_body(r, &len);
	json_t *o = len ? json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL) : json_object();
	json_t *given = json_object_get(o, "name");
	bool good =
		json_is_object(o) &&
		(!given || (json_is_string(given) && json_string_length(given) <= MTW_NAME_MAX));

	if (good)
		snprintf(name, MTW_NAME_MAX + 1, "%s", given ? json_string_value(given) : "");
	else
		http_say(r, 400, "the body is {\"name\": TEXT} with a name of at most %u bytes",
			 MTW_NAME_MAX);
	json_decref(o);
	return good;
}

static void set_mark(struct server *s, struct http_request *r)
{
	const char *type = http_header(r, "Content-Type"), *pid = http_parameter(r, "pid");

	if (!type || strncasecmp(type, "application/json", 16)) {
		http_say(r, 415, "send {\"name\": TEXT} as Content-Type: application/json");
		return;
	}
	struct marking *k = xcalloc(1, sizeof *k);
	if (!read_name(r, k->name)) {
		free(k);
		return;
	}
	k->pid = pid ? strtol(pid, NULL, 10) : 0;
	snprintf(k->who, sizeof k->who, "%s", fleet_who(s->fleet));
	if (pid && !k->pid) {
		free(k);
		http_say(r, 400, "?pid= is a number");
		return;
	}
	job_start(s, r, mark_step, mark_release, k);
}

void marks_answer(struct server *s, struct http_request *r)
{
	if (http_method(r) == HTTP_POST)
		set_mark(s, r);
	else
		list_marks(s, r);
}
