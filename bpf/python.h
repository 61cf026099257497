/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Python between the native ones. The interpreter keeps a list of its frames,
 * which calls among Python functions extend without using the C stack. Each run of them
 * that one C call of the interpreter evaluates is anchored: something of it lies in the
 * C frame of that call. So a run is staged, native frames are walked, and behind the one
 * that has the anchor between its stack pointer and its CFA the run is put. No symbol of
 * the interpreter is needed for that, and it is right in the middle of a prologue.
 *
 * Where the native walk ends early the runs that are left follow its last frame. They are
 * callers of it, only what is native between them is missing: the totals of Python's
 * lines are right before any unwind table is there.
 *
 * Layouts: Include/internal/pycore_frame.h and Include/cpython/pystate.h of each CPython,
 * given by user space as struct lb_python.
 */
#ifndef LB_BPF_PYTHON_H
#define LB_BPF_PYTHON_H

#include "python_code.h"

#define MAX_PYTHON_FOLLOWED 2048 /* frames of one stack that are looked at */

/* To be called at the begin of a walk. */
static __always_inline void lb_python_begin(struct lb_walk *w,
					    const struct lb_unwind_process *process,
					    struct task_struct *task)
{
	struct lb_python_walk *py = &w->py;

	py->python = process->python;
	py->anchor = py->nr_staged = py->nr_followed = 0;
	py->is_cut = false;
	py->is_started = false;
	py->bias = process->python_bias;
	py->frame = py->cframe = 0;
	py->code_addr = 0;
	if (process->python) {
		py->state_addr = lb_thread_pointer(task) + process->python_tls_off;
		w->mode = LB_WALK_STAGE;
	}
}

static __always_inline bool lb_read_word(__u64 addr, __u64 *ret)
{
	return !bpf_probe_read_user(ret, 8, (void *)addr);
}

/* Memory that cannot be read, or a list that is none: its rest is missing. */
static __always_inline void lb_python_cut(struct lb_walk *w)
{
	w->py.frame = w->py.cframe = 0;
	w->py.is_cut = true;
	w->nr_faults++;
}

/* From the thread state to the first frame. A thread that never ran Python has none. */
static __always_inline void lb_python_start(struct lb_walk *w,
					    const struct lb_python *layout)
{
	struct lb_python_walk *py = &w->py;
	__u64 state = 0, first = 0;

	py->is_started = true;
	py->is_in_run = false;
	py->window_bytes = 0;
	py->link = layout->link;
	py->eval_lo = py->bias + layout->eval_lo;
	py->eval_hi = py->bias + layout->eval_hi;
	if (!lb_read_word(py->state_addr, &state) ||
	    (layout->ts_is_in_table && state &&
	     !lb_read_word(state + layout->ts_table_off, &state)))
		lb_python_cut(w);
	else if (state && !lb_read_word(state + layout->ts_frame, &first))
		lb_python_cut(w);
	else if (py->link == LB_PY_LINK_CFRAME)
		py->cframe = first;
	else
		py->frame = first;
	if (first && py->link == LB_PY_LINK_OBJECT &&
	    !lb_read_word(state + layout->ts_cframe, &py->cframe))
		lb_python_cut(w);
}

/* @off  of a word, in bytes. No variable index: that is not for what is on the stack. */
static __always_inline __u64 lb_one_of(const __u64 *words, __u32 off)
{
	if (off < 8)
		return words[0];
	if (off < 16)
		return words[1];
	return off < 24 ? words[2] : words[3];
}

/* What the thread's list of CFrames says about the run that begins. */
static __always_inline void lb_python_begin_run(struct lb_walk *w,
						const struct lb_python *layout)
{
	struct lb_python_walk *py = &w->py;
	__u64 cframe = py->cframe, words[4] = {};

	py->is_in_run = true;
	if (!cframe)
		return;
	py->anchor = cframe;
	if (bpf_probe_read_user(words, sizeof(words), (void *)cframe)) {
		lb_python_cut(w);
		return;
	}
	py->cframe = lb_one_of(words, layout->cframe_previous);
	if (py->link == LB_PY_LINK_CFRAME)
		py->frame = lb_one_of(words, layout->cframe_frame);
	/* The one of the thread itself has no frame; nor has it a place in the C stack. */
	if (!py->frame)
		py->cframe = py->anchor = 0;
}

/*
 * Reads the frame. Those of one thread lie one behind the other, callers below (not before
 * 3.11), so as many bytes before it are read too.
 */
static __always_inline bool lb_read_frame(struct lb_python_walk *py, __u8 *window,
					  const struct lb_python *layout)
{
	__u64 at = py->frame, bytes = layout->frame_bytes, off = at - py->window_addr;
	__u64 more = at % LB_PAGE_BYTES;

	if (bytes > LB_PY_FRAME_BYTES)
		bytes = LB_PY_FRAME_BYTES;
	if (off < LB_WINDOW_BYTES && off + bytes <= py->window_bytes) {
		py->frame_off = off;
		return true;
	}
	if (more > LB_WINDOW_BYTES - bytes)
		more = LB_WINDOW_BYTES - bytes;
	if (py->link == LB_PY_LINK_OBJECT || py->link == LB_PY_LINK_EVAL)
		more = 0;
	bytes += more;
	py->window_addr = at - more;
	py->window_bytes = bytes;
	py->frame_off = more;
	if (bytes > LB_WINDOW_BYTES)
		bytes = LB_WINDOW_BYTES;
	return !bpf_probe_read_user(window, bytes, (void *)(at - more));
}

/* @off  in the frame that was read */
static __always_inline __u64 lb_frame_word(const struct lb_walk *w, __u32 off)
{
	return *(__u64 *)(w->frame_bytes + (w->py.frame_off + off) % LB_WINDOW_BYTES);
}

/* Stages one frame. Return: whether the run goes on behind it. */
static __always_inline bool lb_python_follow(struct lb_walk *w,
					     const struct lb_python *layout)
{
	struct lb_python_walk *py = &w->py;
	__u64 at = py->frame, code, previous;
	__u32 nr = py->nr_staged;
	bool is_entry = true, has_code = true;
	__u8 owner;

	if (!at)
		return false;
	if (py->nr_followed++ >= MAX_PYTHON_FOLLOWED ||
	    !lb_read_frame(py, w->frame_bytes, layout)) {
		lb_python_cut(w);
		return false;
	}
	owner = lb_frame_word(w, layout->frame_owner);
	if (py->link == LB_PY_LINK_CFRAME) {
		is_entry = owner == layout->owner_entry;
		has_code = !is_entry || layout->entry_has_code;
	} else if (py->link == LB_PY_LINK_SHIM) {
		is_entry = owner >= layout->owner_shim;
		has_code = !is_entry;
		if (is_entry)
			py->anchor = at;
	}
	previous = lb_frame_word(w, layout->frame_previous);
	/* A CFrame says where the next run begins. */
	py->frame = is_entry && py->link == LB_PY_LINK_CFRAME ? 0 : previous;

	code = lb_frame_word(w, layout->frame_code) & ~(__u64)layout->code_tag_mask;
	/* More than fit the stack need no name; they are followed to find the anchor. */
	if (has_code && code && nr < max_frames && nr < LB_MAX_FRAMES) {
		w->staged[nr] = lb_python_frame(w, layout, code,
						lb_frame_word(w, layout->frame_ip));
		py->nr_staged = nr + 1;
	}
	return !is_entry && previous;
}

/* The staged run is in the stack, or dropped. Return: whether the walk is over. */
static __always_inline bool lb_python_next(struct lb_walk *w)
{
	w->py.nr_staged = 0;
	w->py.anchor = 0;
	w->mode = w->py.frame || w->py.cframe ? LB_WALK_STAGE : LB_WALK_NATIVE;
	return w->is_ended && w->mode == LB_WALK_NATIVE;
}

/* LB_WALK_STAGE. Return: whether the walk is over. */
static __always_inline bool lb_python_stage(struct lb_walk *w)
{
	struct lb_python_walk *py = &w->py;
	__u32 index = py->python - 1;
	struct lb_python *layout = bpf_map_lookup_elem(&pythons, &index);

	if (!layout)
		return lb_python_next(w); /* cannot be: the index is in range */
	if (!py->is_started)
		lb_python_start(w, layout);
	if (!py->is_in_run)
		lb_python_begin_run(w, layout);
	if (lb_python_follow(w, layout))
		return false;
	py->is_in_run = false;
	if (!py->nr_staged)
		return lb_python_next(w);
	py->nr_emitted = 0;
	w->mode = w->is_ended ? LB_WALK_EMIT : LB_WALK_NATIVE;
	return false;
}

/* LB_WALK_EMIT. Return: whether the walk is over. */
static __always_inline bool lb_python_emit(struct lb_walk *w)
{
	__u32 i = w->py.nr_emitted;

	if (i >= w->py.nr_staged || i >= LB_MAX_FRAMES)
		return lb_python_next(w);
	if (!lb_push(w, w->staged[i])) {
		if (!w->is_ended || w->status == LB_STACK_COMPLETE)
			w->status = LB_STACK_TRUNCATED;
		w->is_ended = true;
		return true;
	}
	w->py.nr_emitted = i + 1;
	w->nr_python++;
	return false;
}

/*
 * A native frame was walked: is this where the staged run goes?
 *
 * @below   its stack pointer; the CFA is the stack pointer now
 * @lookup  where in the code it was
 */
static __always_inline void lb_python_place(struct lb_walk *w, __u64 below, __u64 lookup)
{
	struct lb_python_walk *py = &w->py;

	if (w->stack.is_live) {
		/*
		 * A signal frame: the stack may be another from here on, and what was no
		 * anchor on the handler's may be one here.
		 */
		if (w->nr_stale && !w->nr_python) {
			w->nr_stale = 0;
			py->is_started = false;
			w->mode = LB_WALK_STAGE;
		}
		return;
	}
	if (!py->nr_staged)
		return;
	if (py->link == LB_PY_LINK_EVAL) {
		if (lookup >= py->eval_lo && lookup < py->eval_hi)
			w->mode = LB_WALK_EMIT;
	} else if (py->anchor >= below && py->anchor < w->stack.sp) {
		w->mode = LB_WALK_EMIT;
	} else if (py->anchor && py->anchor < below) {
		w->nr_stale++;
		lb_python_next(w);
	}
}

/* The native walk has ended. Return: whether that is all. */
static __always_inline bool lb_python_rest(struct lb_walk *w)
{
	if (!w->py.nr_staged)
		return lb_python_next(w);
	/* Nothing of the stack was missing, and yet the place was not found. */
	w->nr_stale += w->status == LB_STACK_COMPLETE;
	w->mode = LB_WALK_EMIT;
	return false;
}

#endif
