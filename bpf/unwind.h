/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks a user stack into walks[].body: native frames by unwind tables, or by frame
 * pointers where there are none, with an interpreter's frames in their places between
 * them.
 *
 * A walk is a state machine. Its step is a global function, which the verifier checks
 * once regardless of the number of calls, and so are the loops around it. That avoids
 * tail calls and bpf_loop, and works on Linux 5.10. There all functions of a call chain
 * share 512 bytes of stack, of which this chain needs nearly all. The build fails if a
 * chain needs more (tools/bpf-stack.py).
 */
#ifndef LB_BPF_UNWIND_H
#define LB_BPF_UNWIND_H

#include "native.h"
#include "interp.h"
#include "mappings.h"

/* Cubed, 4096 steps: three for each of 512 frames, and a reserve for corrupt lists. */
#define STEPS_AT_ONCE 16

/* Ends the native part. Return: whether the walk is over. */
static __always_inline bool lb_end(struct lb_walk *w, __u32 status)
{
	w->status = status;
	w->is_ended = true;
	return status == LB_STACK_TRUNCATED || lb_interp_rest(w);
}

/*
 * Continues after a native step that found no mapping. A separate function, so that the
 * verifier checks it once. Return: whether the same frame is to be tried again.
 */
__noinline int lb_try_again(void)
{
	struct lb_walk *w = lb_walk_here();

	if (!w)
		return 0;
	w->is_again = lb_search_begin(w);
	return w->is_again;
}

/* Does one step. Return: nonzero when the walk is over. */
__noinline int lb_step(void)
{
	struct lb_walk *w = lb_walk_here();
	__u64 lookup, below;
	__u32 status;

	if (!w)
		return 1;
	if (w->mode == LB_WALK_STAGE)
		return lb_interp_stage(w);
	if (w->mode == LB_WALK_EMIT)
		return lb_interp_emit(w);
	if (w->mode == LB_WALK_SEARCH)
		return lb_search_step();
	if (!w->is_second_look && !w->is_again) {
		if (!lb_push(w, w->stack.ip))
			return lb_end(w, LB_STACK_TRUNCATED);
		w->nr_native++;
	}
	w->is_again = false;
	lookup = lb_lookup_ip(w);
	below = w->stack.sp;
	status = lb_native_step(w, lookup);
	if (status == LB_STACK_NO_MAPPING && lb_try_again())
		return 0;
	if (status != LB_STACK_GOES_ON)
		return lb_end(w, status);
	lb_interp_place(w, below, lookup);
	return 0;
}

__noinline int lb_steps(void)
{
	for (int i = 0; i < STEPS_AT_ONCE; i++)
		if (lb_step())
			return 1;
	return 0;
}

__noinline int lb_more_steps(void)
{
	for (int i = 0; i < STEPS_AT_ONCE; i++)
		if (lb_steps())
			return 1;
	return 0;
}

/* Walks the stack. Return: nonzero when it is over; 0: steps used up. */
__noinline int lb_walk(void)
{
	for (int i = 0; i < STEPS_AT_ONCE; i++)
		if (lb_more_steps())
			return 1;
	return 0;
}

/* Resets to an empty stack. */
static __always_inline void lb_walk_reset(struct lb_walk *w)
{
	w->body.hash = hash_seed;
	w->body.nr_frames = 0;
	w->nr_native = w->nr_interp = w->nr_guessed = w->nr_derived = 0;
	w->nr_stacks_left = 0;
	w->nr_requests = w->nr_requests_dropped = w->nr_stale = w->nr_faults =
		w->nr_codes_dropped = 0;
}

/*
 * Begins a walk. Call it after lb_walk_reset(), with stack, image, its hash, and now set.
 */
static __always_inline void lb_walk_begin(struct lb_walk *w, struct task_struct *task)
{
	struct lb_unwind_process process = {};

	w->segment.start = w->segment.end = 0;
	w->segment_flags = 0;
	w->mode = LB_WALK_NATIVE;
	w->status = LB_STACK_TRUNCATED; /* if the steps run out */
	w->is_ended = w->is_second_look = w->is_at_begin = w->is_again = false;
	w->searched = w->missed = 0;
	w->found.start = w->found.end = 0;
	w->stack.is_live = true;
	w->stack.window_bytes = 0;
	w->stack.next_window_bytes = LB_FIRST_WINDOW_BYTES;

	w->is_unknown = !lb_find_process(w, &process);
	if (w->is_unknown)
		lb_request(w, LB_REQUEST_PROCESS, w->stack.ip);
	/*
	 * After the segments were chosen. Otherwise they could be newer, and lead to a page
	 * that had other rows in that generation.
	 */
	w->pages_generation = pages_generation;
	w->first_segment = w->is_unknown ? 0 : process.stamp + 1;
	w->nr_segments = w->is_unknown ? 0 : process.nr_segments;
	lb_interp_begin(w, &process, task);
}

#endif
