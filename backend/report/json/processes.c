/* SPDX-License-Identifier: MIT
 *
 * processes.c - the processes of a tree for scripts: each process, and the sums.
 */
#include "report/json/json.h"

#include "base/sanitize.h"
#include "report/json/values.h"

static void set_number(json_t *o, const char *key, uint64_t n)
{
	set(o, key, number(n));
}

static json_t *word(const char *s)
{
	json_t *whole = s ? json_string(s) : NULL;
	char clean[512];

	return whole ? whole
	       : s   ? json_string(sanitize_clean(clean, sizeof clean, s))
		     : json_null();
}

static void set_figures(json_t *o, const struct process *p)
{
	bool known = p->state != PROCESS_UNFOLLOWED;

	set_number(o, "live_bytes", known ? p->live_bytes : 0);
	set_number(o, "live_blocks", known ? p->live_blocks : 0);
	set_number(o, "allocated_bytes", process_allocated(p));
	set_number(o, "allocated_blocks", process_allocated_blocks(p));
	set_number(o, "peak_bytes", p->peak_bytes);
	set_number(o, "inherited_bytes", p->inherited_bytes);
	set(o, "inherited_live_bytes",
	    p->inherited_known || !p->forked ? json_integer((json_int_t)process_inherited(p))
					     : json_null());
	set(o, "exact", json_boolean(p->exact));
	set(o, "recorded", json_boolean(p->recorded));
}

struct json_t *report_process_json(const struct process *p)
{
	static const char *const states[] = { "starting", "running", "exited",      "signalled",
					      "execed",   "gone",    "not_followed" };
	json_t *o = json_object();

	set_number(o, "id", p->id);
	set(o, "parent", p->parent ? json_integer(p->parent) : json_null());
	set(o, "pid", p->pid ? json_integer(p->pid) : json_null());
	set(o, "name", word(p->name));
	set(o, "exe", *p->path ? word(p->path) : json_null());
	set(o, "title", *p->title ? word(p->title) : json_null());
	set(o, "forked", json_boolean(p->forked));
	set(o, "state", json_string(states[p->state]));
	set(o, "status",
	    p->state == PROCESS_EXITED && p->status_known ? json_integer(p->status) : json_null());
	set(o, "signal",
	    p->state == PROCESS_SIGNALLED && p->status_known ? json_integer(p->status)
							     : json_null());
	set(o, "begin_s", json_real((double)p->begin_ns / 1e9));
	set(o, "end_s", p->end_ns ? json_real((double)p->end_ns / 1e9) : json_null());
	set_figures(o, p);
	set(o, "why", word(p->why));
	return o;
}

struct json_t *report_tree_json(const struct processes *p)
{
	struct processes_sum sum = { 0 };
	json_t *o = json_object();

	processes_total(p, &sum);
	set_number(o, "processes", sum.lines);
	set_number(o, "running", sum.running);
	set_number(o, "not_followed", sum.unfollowed);
	set_number(o, "missed", processes_missed(p));
	set_number(o, "live_bytes", sum.bytes.least);
	set_number(o, "live_blocks", sum.blocks.least);
	set_number(o, "live_bytes_most", sum.bytes.most);
	set_number(o, "live_blocks_most", sum.blocks.most);
	set_number(o, "allocated_bytes", sum.sum.alloc_bytes);
	set_number(o, "allocated_blocks", sum.sum.alloc_blocks);
	return o;
}
