/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of one walk of a user stack, one per CPU, because programs on a CPU's
 * events do not interrupt each other. Frames are added directly to the stored body and
 * to its hash, which saves a second loop.
 */
#ifndef LB_BPF_WALK_H
#define LB_BPF_WALK_H

#include "arch.h"
#include "lineburn.h"
#include "lineburn_unwind.h"

/* Set by sampler.c between open and load. */
const volatile __u64 hash_seed;
/* Of lb_mix_body(); odd. */
const volatile __u64 hash_factor = 0x9e3779b97f4a7c15ULL;
const volatile __u32 max_frames = LB_MAX_FRAMES; /* of a user stack, 1..LB_MAX_FRAMES */

enum lb_walk_mode {
	LB_WALK_NATIVE, /* one native frame a step */
	LB_WALK_STAGE, /* one interpreter frame a step, up to the end of the run */
	LB_WALK_EMIT, /* one staged frame a step is added to the stack */
	LB_WALK_SEARCH, /* one level a step of the kernel's tree of mappings */
};

/*
 * The walk over the thread's interpreter frames (interp.h). The fields that a walk
 * without an interpreter uses, too, come last: next to those of the native walk.
 */
struct lb_interp_walk {
	__u64 bias; /* lb_unwind_process.interp_bias */
	__u64 eval_lo, eval_hi; /* LB_LINK_EVAL */
	__u64 followed; /* one of the frames, to notice a circle */
	__u64 window_addr; /* of the bytes in frame_bytes */
	__u32 window_bytes; /* valid bytes in frame_bytes; 0: none */
	__u32 frame_off; /* of the current frame, in the window */
	__u64 state_addr; /* where the thread keeps its thread state */
	__u64 code_id; /* of the current code object */
	__u64 code_addr;
	__u32 index; /* of its layout */
	__u32 link; /* enum lb_interp_link */
	__u32 nr_emitted;
	__u32 nr_followed; /* frames followed so far */
	__u32 nr_identified; /* code objects, also those of dropped runs */
	__u32 nr_told; /* code objects that this walk sends to user space */
	__u64 below; /* is_new: the frame that the run's last one must have been called by */
	bool is_new; /* the run is the innermost CFrame's, which may have no frame yet */
	bool was_run; /* a run was begun */
	bool is_started; /* the thread state was read */
	bool is_in_run; /* the run's first frame is known already */

	bool is_left; /* the innermost frame is being left (LB_LINK_OBJECT) */
	bool is_cut; /* frames are missing */
	__u32 nr_staged;
	/* address in the C frame that the staged run follows; 0: not known */
	__u64 anchor;
	__u64 frame; /* to be staged next; 0: none */
	__u64 cframe; /* of the run after the staged one; 0: none */
};

/* A search in the rows of a page. */
struct lb_row_search {
	__u64 lo, hi; /* the row is one of [lo, hi] */
	__u64 mid; /* to be compared next */
	__u64 low; /* the key: address & 0xffff */
	__u64 rule; /* of the last row at or below the key */
};

/*
 * What this CPU knows of an image that it has sampled. So most samples need neither the
 * announced images nor the processes, whose look-ups touch several cache lines and pages
 * each.
 */
#define LB_RECENT_IMAGES 64
struct lb_recent_image {
	struct lb_image image;
	__u64 announced; /* hash of image, user and group when it was announced; 0: not */
	struct lb_unwind_process process; /* generation 0: to be looked up */
	__u32 changes; /* of image_changes, before all this was read */
	__u32 pad; /* not used */
};
_Static_assert(sizeof(struct lb_recent_image) == 64, "one or two cache lines");

/*
 * Numbers of changes, by tgid: of a process's entry by user space, or of the user and group
 * with which an image was announced. Incremented after the change, and read before what it
 * is about. The kernel side's changes of entries need none: an image is new at a fork, and
 * cannot be sampled any more after an exec or the exit. Nothing orders the reads on arm64:
 * a copy that is out of date may stay until the next change there, but its segments are
 * not used once they are given to another process.
 */
volatile __u32 image_changes[LB_IMAGE_CHANGES];

#define LB_TREE_NODE_WORDS 32 /* of a maple tree */

/* A search in the kernel's tree of mappings (mappings.h). */
struct lb_mapping_search {
	__u64 ip; /* searched for */
	__u64 at; /* where the search is, in the tree */
	volatile __u64 slot; /* in the node that was read */
	__u8 is_node; /* nonzero: of a maple tree, not a mapping */
	struct lb_unwind_file_key file;
	struct lb_unwind_file tables; /* of the file */
	__u64 node[LB_TREE_NODE_WORDS];
};

/*
 * At low rates no field is in the CPU's caches when a sample comes. So those that every
 * sample uses are adjacent: the end of interp, all up to the first bytes of the stack's
 * window, and the begin of the body.
 */
struct lb_walk {
	struct lb_recent_image recent[LB_RECENT_IMAGES]; /* by hash */
	struct lb_interp_walk interp;
	struct lb_stack_key key;
	struct lb_image image;
	__u64 image_hash;
	__u64 now;
	/* Of the process; the last segment that was hit is kept. */
	struct lb_unwind_segment segment;
	__u32 first_segment, nr_segments;
	__u32 segment_flags; /* of all that the walk went through */
	__u32 pages_generation; /* when the walk began */
	__u64 missed; /* address without a segment */
	__u64 searched; /* the last address that was searched for (mappings.h); 0: none */
	struct lb_unwind_segment found; /* last mapping found; no flags */

	__u32 mode; /* enum lb_walk_mode */
	__u32 status; /* enum lb_stack_status, once is_ended */
	bool is_ended; /* the native part has ended; the interpreter's part follows */
	bool is_unknown; /* the process has no segments yet */
	bool is_again; /* the frame was added already: a search for its mapping has ended */
	bool is_second_look; /* no rule at the call: try the return address */
	bool is_at_begin; /* a table says so: the frame is the thread's outermost one */

	/* the last two: callers that were found so */
	__u32 nr_native, nr_interp, nr_guessed, nr_derived;
	__u32 nr_stacks_left; /* for a lower one, at a signal frame */
	__u32 nr_requests; /* sent, or without room */
	__u32 nr_requests_dropped, nr_stale, nr_faults, nr_codes_dropped;
	struct lb_stack stack;

	struct lb_body body;
	struct lb_body kern; /* the kernel's part of the stack */

	struct lb_row_search rows;
	struct lb_mapping_search search;
	__u64 staged[LB_MAX_FRAMES];
	/*
	 * Bytes of the interpreter's memory; padded, so that a word at any offset is
	 * inside.
	 */
	__u8 frame_bytes[LB_WINDOW_BYTES + 8];
	__u8 code_bytes[LB_INTERP_CODE_BYTES + 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lb_walk);
} walks SEC(".maps");

/* Has the walk reached the outermost frame? */
static __always_inline bool lb_is_whole(__u32 status)
{
	return status == LB_STACK_COMPLETE || status == LB_STACK_GUESSED_END ||
	       status == LB_STACK_AT_FUNCTION;
}

static __always_inline struct lb_walk *lb_walk_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&walks, &zero);
}

/* Returns the entry of the walk's image. */
static __always_inline struct lb_recent_image *lb_recent(struct lb_walk *w)
{
	return &w->recent[w->image_hash % LB_RECENT_IMAGES];
}

static __always_inline volatile __u32 *lb_changes_of(__u32 tgid)
{
	return &image_changes[tgid % LB_IMAGE_CHANGES];
}

/* Empties the entry unless it is of the walk's image, of which nothing has changed. */
static __always_inline void lb_recent_begin(struct lb_walk *w)
{
	struct lb_recent_image *recent = lb_recent(w);
	__u32 changes = *lb_changes_of(w->image.tgid);

	if (recent->image.start_boottime_ns == w->image.start_boottime_ns &&
	    recent->image.tgid == w->image.tgid &&
	    recent->image.exec_id == w->image.exec_id && recent->changes == changes)
		return;
	recent->image = w->image;
	recent->announced = 0;
	recent->process.generation = 0;
	recent->changes = changes;
}

/* A separate function, so that the verifier checks it once. */
__noinline int lb_read_window(__u64 addr)
{
	__u64 bytes = LB_PAGE_BYTES - addr % LB_PAGE_BYTES;
	struct lb_walk *w = lb_walk_here();
	struct lb_stack *s;

	if (!w)
		return 0;
	s = &w->stack;
	if (bytes > s->next_window_bytes)
		bytes = s->next_window_bytes;
	/* An unaligned word may cross pages: read only the word. */
	if (bytes < 8)
		bytes = 8;
	/* Known to be less, but not to the verifier. */
	if (bytes > LB_WINDOW_BYTES)
		bytes = LB_WINDOW_BYTES;
	s->next_window_bytes = LB_WINDOW_BYTES;
	s->window_addr = addr;
	s->window_bytes = bytes;
	if (!bpf_probe_read_user(s->window, bytes, (void *)addr))
		return 1;
	s->window_bytes = 0;
	return 0;
}

static __always_inline __u64 lb_mix_by(__u64 factor, __u64 hash, __u64 word)
{
	hash = (hash ^ word) * factor;
	return hash ^ hash >> 29;
}

static __always_inline __u64 lb_mix(__u64 hash, __u64 word)
{
	return lb_mix_by(0x9e3779b97f4a7c15ULL, hash, word);
}

/*
 * A program chooses the words of its stack. With a known factor there are changes of two
 * words that leave the hash as it is for many seeds, so that it could give its stack the
 * hash of another's.
 */
static __always_inline __u64 lb_mix_body(__u64 hash, __u64 word)
{
	return lb_mix_by(hash_factor, hash, word);
}

/* Adds a frame. Return: false if the stack has reached max_frames. */
static __always_inline bool lb_push(struct lb_walk *w, __u64 ip)
{
	__u32 nr = w->body.nr_frames;

	if (nr >= max_frames || nr >= LB_MAX_FRAMES)
		return false;
	w->body.ips[nr] = ip;
	w->body.nr_frames = nr + 1;
	w->body.hash = lb_mix_body(w->body.hash, ip);
	return true;
}

#endif
