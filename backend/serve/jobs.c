/* SPDX-License-Identifier: MIT
 *
 * jobs.c - requests that wait, and what the routes share.
 *
 * Nothing blocks the loop for long: a request that needs scans, names or a written report becomes a
 * job, which a timer steps. So a slow target delays its own answers alone.
 */
#include "serve/requests.h"

#include "base/loop.h"

#include <stdlib.h>

#define STEP_MS 20
#define YOUNG_NS 3000000000ull /* agents are asked every two seconds at most (link/looks.h) */

void job_free(struct job *j)
{
	if (j->release)
		j->release(j);
	free(j->state);
	free(j);
}

static void step_all(void *arg)
{
	struct server *s = arg;

	for (struct job **at = &s->jobs; *at;) {
		struct job *j = *at;

		if (j->request && !j->step(j)) {
			at = &j->next;
			continue;
		}
		*at = j->next;
		job_free(j);
	}
	if (!s->jobs) {
		loop_remove(s->timer);
		s->timer = NULL;
	}
}

void job_start(struct server *s, struct http_request *r, bool (*step)(struct job *j),
	       void (*release)(struct job *j), void *state_take)
{
	struct job *j = xcalloc(1, sizeof *j), **last = &s->jobs;

	*j = (struct job){ .server = s,
			   .request = r,
			   .begun_ns = now_ns(),
			   .step = step,
			   .release = release,
			   .state = state_take };
	if (step(j)) {
		job_free(j);
		return;
	}
	while (*last)
		last = &(*last)->next;
	*last = j;
	if (!s->timer)
		s->timer = loop_timer(s->loop, STEP_MS, true, step_all, s);
}

bool job_older(const struct job *j, uint64_t ns)
{
	return now_ns() - j->begun_ns > ns;
}

static void say_which(struct http_request *r, struct member *const *list, size_t n)
{
	char text[800] = "";
	size_t len = 0;

	for (size_t i = 0; i < n && len < sizeof text - 32; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, " %d", list[i]->pid);
	http_say(r, 400, "several processes are followed: add ?pid=all, or ?pid=N, one of%s", text);
}

static size_t known(struct server *s, const char *pid, bool up, struct member **out)
{
	struct member *const *list;
	size_t n = fleet_list(s->fleet, &list), count = 0;

	for (size_t i = 0; i < n; i++)
		if (fleet_known(list[i]) && (!up || fleet_up(list[i])) &&
		    (!pid || list[i]->pid == strtol(pid, NULL, 10)))
			out[count++] = list[i];
	return count;
}

bool server_of_all(const struct http_request *r)
{
	const char *pid = http_parameter(r, "pid");

	return pid && !strcmp(pid, "all");
}

size_t server_choose(struct server *s, struct http_request *r, bool several, struct member ***list)
{
	bool all = server_of_all(r);
	const char *pid = all ? NULL : http_parameter(r, "pid");
	struct member *const *unused;
	size_t n;

	*list = xcalloc(fleet_list(s->fleet, &unused) + 1, sizeof **list);
	n = known(s, pid, true, *list);
	if (!n)
		n = known(s, pid, false, *list);
	if (n > 1 && pid) /* the same pid twice: one of them was named, too */
		n = 1;
	if (n == 1 || (n && (several || all)))
		return n;
	if (n)
		say_which(r, *list, n);
	else if (pid)
		http_say(r, 404, "no followed process has this pid, or its state is still loading");
	else
		http_say(r, 503, "no process is followed yet; try again");
	return 0;
}

void server_send(struct http_request *r, int status, const char *type, FILE *out, char **text,
		 size_t *len)
{
	if (fclose(out))
		base_out_of_memory();
	http_reply(r, status, type, *text, *len);
	free(*text);
}

bool server_looked(struct member *m, enum mtw_kind kind)
{
	const struct model *model = watch_model(m->watch);
	uint64_t at = model_looked(model, kind);

	if (!watch_live(m->watch) || model_final(model))
		return true;
	watch_want(m->watch, kind);
	return at && at + YOUNG_NS > model_time(model);
}
