/* SPDX-License-Identifier: MIT
 *
 * frames.c - a walk up the snapshot's call tree: what a location is called, and what is inlined
 * there, are columns of its names.
 */
#include "report/frames.h"

#include "heap/sites.h"

#include <stdlib.h>

static bool is_cut(const struct report *r, uint32_t location)
{
	return model_location(r->model, location)->kind == MTW_NODE_TRUNCATED;
}

size_t report_frames(const struct report *r, uint32_t stack, struct report_frame *list)
{
	const struct skeleton *s = r->heap->skeleton;
	const struct heap_names *names = r->names;
	uint32_t site_frame, site = heap_site_node(s, names, stack, &site_frame);
	bool by_pointer = false;
	size_t count = 0;

	for (uint32_t n = s->node_of_stack[stack]; n; n = s->parent[n]) {
		uint32_t location = s->location[n], end = names->first[location + 1];
		bool cut = is_cut(r, location);

		for (uint32_t i = names->first[location]; i < end && count < REPORT_FRAMES; i++)
			list[count++] = (struct report_frame){
				.location = location,
				.frame = i,
				.inlined = names->frames[i].inlined && i + 1 < end,
				.by_pointer = by_pointer,
				.cut = cut,
				.site = n == site && i == site_frame,
			};
		if (count == REPORT_FRAMES)
			break;
		by_pointer = bit_of(s->by_pointer_bits, n);
	}
	return count;
}

struct frame_out report_frame_out(const struct report *r, const struct report_frame *f)
{
	const struct heap_frame *frame = &r->names->frames[f->frame];
	const struct location *at = model_location(r->model, f->location);
	const struct module *x = model_module(r->model, at->module);

	return (struct frame_out){
		.function = r->names->function[frame->function].function,
		.file = frame->file,
		.line = frame->line,
		.inlined = frame->inlined,
		.module = x                              ? x->name
			  : at->kind == MTW_NODE_NOWHERE ? GENERATED_NAME
							 : NULL,
		.module_id = at->module,
		.offset = at->offset,
		.location = f->location,
		.part = f->frame - r->names->first[f->location],
		.has_offset = x != NULL,
		.address = x ? x->bias + at->offset : at->offset,
		.site = f->site,
		.by_pointer = f->by_pointer,
	};
}

size_t report_stack_frames(const struct report *r, uint32_t stack, struct frame_out *list,
			   size_t max)
{
	struct report_frame *frames = xmalloc(REPORT_FRAMES * sizeof *frames);
	size_t n = report_frames(r, stack, frames), count = 0;

	for (size_t i = 0; i < n && count < max; i++)
		if (!frames[i].cut)
			list[count++] = report_frame_out(r, &frames[i]);
	free(frames);
	return count;
}

uint32_t report_site(const struct report *r, uint32_t stack)
{
	uint32_t frame;

	heap_site_node(r->heap->skeleton, r->names, stack, &frame);
	return frame;
}

/* What is no code of a module is described by its name. */
void report_site_key(const struct report *r, uint32_t stack, char key[EXPECTED_KEY_MAX])
{
	const struct skeleton *s = r->heap->skeleton;
	uint32_t frame, node = heap_site_node(s, r->names, stack, &frame);
	const struct location *at = node ? model_location(r->model, s->location[node]) : NULL;
	const struct module *m = at ? model_module(r->model, at->module) : NULL;
	const struct heap_function *f =
		node ? &r->names->function[r->names->frames[frame].function] : NULL;

	expected_key(key, m,
		     !f                 ? NULL
		     : f->function || m ? f->function
					: f->name,
		     at ? at->offset : 0);
}
