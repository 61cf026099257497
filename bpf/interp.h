/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inserts an interpreter's frames between the native ones. The interpreter keeps a list
 * of its frames; calls between its functions extend the list without using the C stack.
 * A run is the sequence of frames that one C call of the interpreter evaluates. It has
 * an anchor, which is an address inside the C frame of that call. So a run is staged,
 * native frames are walked, and the run is inserted after the frame that has the anchor
 * between its stack pointer and its CFA. That needs no symbols of the interpreter, and
 * is correct in the middle of a prologue.
 *
 * If the native walk ends early, the remaining runs follow its last frame. They are its
 * callers; only native frames between them are missing. So the totals of the program's
 * lines are correct even without unwind tables.
 *
 * Layouts: Include/internal/pycore_frame.h and Include/cpython/pystate.h of each
 * CPython, provided by user space as struct lb_interp.
 */
#ifndef LB_BPF_INTERP_H
#define LB_BPF_INTERP_H

#include "interp_code.h"

#define MAX_INTERP_FOLLOWED 2048 /* most frames followed in one stack */

/* Two CFrames that are further apart count as being in two C stacks. */
#define LB_CFRAMES_MAX_BYTES (1 << 20)

/* f_state of a frame that its C call leaves (Include/cpython/frameobject.h of 3.10) */
#define FRAME_SUSPENDED 0xff
#define FRAME_RETURNED  1
#define FRAME_RAISED    3

/* Begins the interpreter's part of a walk. */
static __always_inline void lb_interp_begin(struct lb_walk *w,
					    const struct lb_unwind_process *process,
					    struct task_struct *task)
{
	struct lb_interp_walk *interp = &w->interp;
	__u32 index = LB_INTERP_INDEX(process->interp);
	struct lb_interp *layout;

	interp->anchor = interp->frame = interp->cframe = 0;
	interp->nr_staged = 0;
	interp->is_cut = interp->is_left = false;
	if (!process->interp)
		return;
	layout = bpf_map_lookup_elem(&interps, &index);
	if (!layout || layout->use != LB_INTERP_USE(process->interp))
		return; /* a fork's copy of an entry that is gone */
	interp->index = index;
	interp->nr_followed = interp->nr_identified = interp->nr_told = 0;
	interp->is_started = false;
	interp->bias = process->interp_bias;
	interp->code_addr = 0;
	interp->state_addr = lb_thread_pointer(task) + process->interp_tls_off;
	w->mode = LB_WALK_STAGE;
}

static __always_inline bool lb_read_word(__u64 addr, __u64 *ret)
{
	return !bpf_probe_read_user(ret, 8, (void *)addr);
}

/* Ends the list at unreadable or invalid memory: the rest is missing. */
static __always_inline void lb_interp_cut(struct lb_walk *w)
{
	w->interp.frame = w->interp.cframe = 0;
	w->interp.is_cut = true;
	w->nr_faults++;
}

/*
 * Finds the first frame through the thread state. A thread without Python code has
 * none.
 */
static __always_inline void lb_interp_start(struct lb_walk *w,
					    const struct lb_interp *layout)
{
	struct lb_interp_walk *interp = &w->interp;
	__u64 state = 0, first = 0;

	if (layout->state_off)
		interp->state_addr = interp->bias + layout->state_off;
	interp->is_started = true;
	interp->is_in_run = interp->was_run = interp->is_new = false;
	interp->followed = 0;
	interp->window_bytes = 0;
	interp->link = layout->link;
	interp->eval_lo = interp->bias + layout->eval_lo;
	interp->eval_hi = interp->bias + layout->eval_hi;
	if (!lb_read_word(interp->state_addr, &state) ||
	    (layout->ts_is_in_table && state &&
	     !lb_read_word(state + layout->ts_table_off, &state)))
		lb_interp_cut(w);
	else if (state && !lb_read_word(state + layout->ts_frame, &first))
		lb_interp_cut(w);
	else if (interp->link == LB_LINK_CFRAME)
		interp->cframe = first;
	else
		interp->frame = first;
	if (first && interp->link == LB_LINK_OBJECT &&
	    !lb_read_word(state + layout->ts_cframe, &interp->cframe))
		lb_interp_cut(w);
}

/*
 * Drops the innermost run, because its CFrame has no frame yet. The next run is that of
 * the CFrame before.
 */
static __always_inline void lb_interp_drop_run(struct lb_walk *w)
{
	w->interp.frame = w->interp.anchor = w->interp.followed = 0;
	w->interp.nr_staged = 0;
	w->interp.is_new = false;
	w->nr_faults++;
}

/* Selects the word at byte @off, because BPF forbids variable stack indexes. */
static __always_inline __u64 lb_one_of(const __u64 *words, __u32 off)
{
	if (off < 8)
		return words[0];
	if (off < 16)
		return words[1];
	return off < 24 ? words[2] : words[3];
}

/* Begins a run from the thread's list of CFrames. */
static __always_inline void lb_interp_begin_run(struct lb_walk *w,
						const struct lb_interp *layout)
{
	struct lb_interp_walk *interp = &w->interp;
	__u64 cframe = interp->cframe, words[4] = {};

	interp->is_in_run = true;
	if (!cframe)
		return;
	interp->anchor = cframe;
	if (bpf_probe_read_user(words, sizeof(words), (void *)cframe)) {
		lb_interp_cut(w);
		return;
	}
	interp->cframe = lb_one_of(words, layout->cframe_previous);
	interp->is_left = interp->link == LB_LINK_OBJECT && !interp->nr_followed &&
			  !(__u32)lb_one_of(words, layout->cframe_frame);
	if (interp->link == LB_LINK_CFRAME) {
		interp->frame = lb_one_of(words, layout->cframe_frame);
		/*
		 * A call of the interpreter links its CFrame before it sets the frame
		 * there, which until then is what was on the C stack. So the innermost run
		 * must lead to the frame of the CFrame before. That holds between two of one
		 * C stack only: greenlets exchange the frame of the thread's own CFrame.
		 */
		interp->is_new = !interp->was_run &&
				 interp->cframe - cframe < LB_CFRAMES_MAX_BYTES;
		interp->was_run = true;
		if (interp->is_new && !lb_read_word(interp->cframe + layout->cframe_frame,
						    &interp->below)) {
			lb_interp_cut(w);
			return;
		}
		if (interp->is_new && !interp->frame) {
			lb_interp_drop_run(w);
			return;
		}
	}
	/* The thread's own CFrame has no frame and is not on the C stack. */
	if (!interp->frame)
		interp->cframe = interp->anchor = 0;
}

/*
 * Reads the frame. Since 3.11 the frames of a thread are contiguous, with callers at
 * lower addresses, so the window also includes as many bytes before it as fit.
 */
static __always_inline bool lb_read_frame(struct lb_interp_walk *interp, __u8 *window,
					  const struct lb_interp *layout)
{
	__u64 at = interp->frame, bytes = layout->frame_bytes,
	      off = at - interp->window_addr;
	__u64 more = at % LB_PAGE_BYTES;

	if (bytes > LB_INTERP_FRAME_BYTES)
		bytes = LB_INTERP_FRAME_BYTES;
	if (off < LB_WINDOW_BYTES && off + bytes <= interp->window_bytes) {
		interp->frame_off = off;
		return true;
	}
	if (more > LB_WINDOW_BYTES - bytes)
		more = LB_WINDOW_BYTES - bytes;
	if (interp->link == LB_LINK_OBJECT || interp->link == LB_LINK_EVAL)
		more = 0;
	bytes += more;
	interp->window_addr = at - more;
	interp->window_bytes = bytes;
	interp->frame_off = more;
	if (bytes > LB_WINDOW_BYTES)
		bytes = LB_WINDOW_BYTES;
	return !bpf_probe_read_user(window, bytes, (void *)(at - more));
}

/* @off  in the frame that was read */
static __always_inline __u64 lb_frame_word(const struct lb_walk *w, __u32 off)
{
	return *(__u64 *)(w->frame_bytes + (w->interp.frame_off + off) % LB_WINDOW_BYTES);
}

static __always_inline void lb_stage(struct lb_walk *w, __u64 frame)
{
	/* Read here, because Linux 5.10 forgets the bounds of a number on the stack. */
	__u32 nr = *(const volatile __u32 *)&w->interp.nr_staged;

	if (nr < LB_MAX_FRAMES) {
		w->staged[nr] = frame;
		w->interp.nr_staged = nr + 1;
	}
}

/* Stages one frame. Return: whether the run continues. */
static __always_inline bool lb_interp_follow(struct lb_walk *w,
					     const struct lb_interp *layout)
{
	struct lb_interp_walk *interp = &w->interp;
	__u64 at = interp->frame, code, previous;
	bool is_entry = true, has_code = true;
	__u8 owner;

	if (!at)
		return false;
	if (at == interp->followed || interp->nr_followed++ >= MAX_INTERP_FOLLOWED ||
	    !lb_read_frame(interp, w->frame_bytes, layout)) {
		if (interp->is_new)
			lb_interp_drop_run(w);
		else
			lb_interp_cut(w);
		return false;
	}
	/*
	 * Keeps the 1st, 2nd, 4th, 8th, ... frame. A circle returns to the first of them
	 * that is in it and at least as far along the list as the circle is long.
	 */
	if (!(interp->nr_followed & (interp->nr_followed - 1)))
		interp->followed = at;
	owner = lb_frame_word(w, layout->frame_owner);
	if (interp->link == LB_LINK_CFRAME) {
		is_entry = owner == layout->owner_entry;
		has_code = !is_entry || layout->entry_has_code;
	} else if (interp->link == LB_LINK_SHIM) {
		is_entry = owner >= layout->owner_shim;
		has_code = !is_entry;
		if (is_entry)
			interp->anchor = at;
	} else if (interp->link == LB_LINK_LIST) {
		interp->anchor = at;
	} else if (interp->is_left) {
		interp->is_left = owner == FRAME_SUSPENDED || owner == FRAME_RETURNED ||
				  owner == FRAME_RAISED;
	}
	previous = lb_frame_word(w, layout->frame_previous);
	if (interp->is_new && is_entry) {
		interp->is_new = false;
		if (previous != interp->below) {
			lb_interp_drop_run(w);
			return false;
		}
	}
	/* A CFrame determines where the next run begins. */
	interp->frame = is_entry && interp->link == LB_LINK_CFRAME ? 0 : previous;

	code = lb_frame_word(w, layout->frame_code) & ~(__u64)layout->code_tag_mask;
	/* Frames that do not fit the stack are followed only to find the anchor. */
	if (has_code && code && interp->nr_staged < max_frames) {
		if (lb_interp_may_identify(interp, code))
			lb_stage(w, lb_interp_frame(w, layout, code,
						    lb_frame_word(w, layout->frame_ip)));
		else
			interp->is_cut = true;
	}
	return !is_entry && previous;
}

/*
 * Continues after the staged run was emitted or dropped. Return: whether the walk is
 * over.
 */
static __always_inline bool lb_interp_next(struct lb_walk *w)
{
	w->interp.nr_staged = 0;
	w->interp.anchor = 0;
	w->mode = w->interp.frame || w->interp.cframe ? LB_WALK_STAGE : LB_WALK_NATIVE;
	return w->is_ended && w->mode == LB_WALK_NATIVE;
}

/* LB_WALK_STAGE. Return: whether the walk is over. */
static __always_inline bool lb_interp_stage(struct lb_walk *w)
{
	struct lb_interp_walk *interp = &w->interp;
	__u32 index = interp->index;
	struct lb_interp *layout = bpf_map_lookup_elem(&interps, &index);

	if (!layout)
		return lb_interp_next(w); /* impossible: the index is in range */
	if (!interp->is_started)
		lb_interp_start(w, layout);
	if (!interp->is_in_run)
		lb_interp_begin_run(w, layout);
	if (lb_interp_follow(w, layout))
		return false;
	interp->is_in_run = false;
	if (!interp->nr_staged)
		return lb_interp_next(w);
	interp->nr_emitted = 0;
	w->mode = w->is_ended ? LB_WALK_EMIT : LB_WALK_NATIVE;
	return false;
}

/* LB_WALK_EMIT. Return: whether the walk is over. */
static __always_inline bool lb_interp_emit(struct lb_walk *w)
{
	__u32 i = w->interp.nr_emitted;

	if (i >= w->interp.nr_staged || i >= LB_MAX_FRAMES)
		return lb_interp_next(w);
	if (!lb_push(w, w->staged[i])) {
		if (!w->is_ended || lb_is_whole(w->status))
			w->status = LB_STACK_TRUNCATED;
		w->is_ended = true;
		return true;
	}
	w->interp.nr_emitted = i + 1;
	w->nr_interp++;
	return false;
}

/*
 * Emits the staged run after the native frame just walked, if its anchor is there.
 *
 * @below   the frame's stack pointer; its CFA is the current stack pointer
 * @lookup  its code address
 */
static __always_inline void lb_interp_place(struct lb_walk *w, __u64 below, __u64 lookup)
{
	struct lb_interp_walk *interp = &w->interp;
	bool is_left = interp->is_left;

	interp->is_left = false; /* only the innermost call can be at its end */
	if (w->stack.is_live) {
		/*
		 * A signal frame: the walk may now be on another stack, and an anchor
		 * that was not on the handler's stack may be there.
		 */
		if (w->nr_stale && !w->nr_interp) {
			w->nr_stale = 0;
			interp->is_started = false;
			w->mode = LB_WALK_STAGE;
		}
		return;
	}
	if (!interp->nr_staged)
		return;
	if (interp->link == LB_LINK_EVAL) {
		if (lookup >= interp->eval_lo && lookup < interp->eval_hi)
			w->mode = LB_WALK_EMIT;
	} else if (interp->anchor >= below && interp->anchor < w->stack.sp) {
		w->mode = LB_WALK_EMIT;
	} else if (is_left && interp->anchor >= w->stack.sp) {
		/*
		 * 3.10 drops the CFrame of a call before its frame, and nothing is called
		 * between: the CFrame is already that of the next frame.
		 */
		interp->cframe = interp->anchor;
		w->mode = LB_WALK_EMIT;
	} else if (interp->anchor && interp->anchor < below) {
		w->nr_stale++;
		lb_interp_next(w);
	}
}

/* Handles the end of the native walk. Return: whether the walk is over. */
static __always_inline bool lb_interp_rest(struct lb_walk *w)
{
	if (!w->interp.nr_staged)
		return lb_interp_next(w);
	/* The native stack is complete, but the run's place was not found. */
	w->nr_stale += lb_is_whole(w->status);
	/* The thread began here: the run and all after it are on another stack. */
	if (w->is_at_begin && w->interp.anchor)
		return true;
	w->mode = LB_WALK_EMIT;
	return false;
}

#endif
