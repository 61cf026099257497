// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk of the sampler, with parts of user space's work at chosen points of it, which
 * are before and after its look-ups: a page of unwind rows is given to another object.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

int at_point(void);

static __always_inline void *lookup(void *map, const void *key)
{
	void *value;

	at_point();
	value = bpf_map_lookup_elem(map, key);
	at_point();
	return value;
}
#define bpf_map_lookup_elem lookup

#include "unwind.h"

char LICENSE[] SEC("license")
= "GPL";

/* Set by the test; point_nr too, to 0 before each walk. */
__u32 point_nr; /* points of this walk so far */
/* Changed at these points, from 1; 0: never. */
__u32 segments_at, owner_at, told_at;
bool is_by_file; /* the owner is a file, which the kernel's tree of mappings leads to */
struct lb_image image;
__u64 ip, fp;
__u64 now; /* ns; 0: as the clock tells */
__u32 stamp; /* of the run */
struct lb_unwind_segment run[2];
struct lb_unwind_process process;
struct lb_unwind_file_key file_key;
struct lb_unwind_file file;

/* Results of a walk. */
__u32 status;
__u64 body_hash;
__u32 nr_native, nr_requests_dropped;
__u32 nr_identified, nr_codes_dropped, nr_stale; /* of the interpreter */
bool is_cut;
__u32 nr_faults; /* the walk did not begin, or its steps were used up */

static __always_inline void give_to_owner(void)
{
	if (is_by_file)
		bpf_map_update_elem(&unwind_files, &file_key, &file, BPF_ANY);
	else
		bpf_map_update_elem(&processes, &image, &process, BPF_ANY);
}

__noinline int at_point(void)
{
	__u32 nr = ++point_nr, at = stamp;

	if (nr == segments_at) {
		pages_generation++;
		bpf_map_update_elem(&segments, &at, &run[0], BPF_ANY);
		at++;
		bpf_map_update_elem(&segments, &at, &run[1], BPF_ANY);
	}
	if (nr == owner_at)
		give_to_owner();
	if (nr == told_at)
		*lb_changes_of(image.tgid) += 1;
	return 0;
}

/* Walks a stack from ip on; fp, where the stack is, is 0 if it has one frame. */
SEC("raw_tp")
int walk_once(void *ctx)
{
	struct lb_walk *w = lb_walk_here();

	if (!w) {
		nr_faults++;
		return 0;
	}
	lb_walk_reset(w);
	w->image = image;
	w->image_hash = lb_mix(hash_seed, image.tgid);
	w->now = now ? now : bpf_ktime_get_ns();
	w->stack.ip = ip;
	w->stack.sp = w->stack.fp = fp;
	lb_recent_begin(w);
	lb_walk_begin(w, lb_current_task());
	if (!lb_walk())
		nr_faults++;
	status = w->status;
	body_hash = w->body.hash;
	nr_native = w->nr_native;
	nr_requests_dropped = w->nr_requests_dropped;
	nr_identified = w->interp.nr_identified;
	nr_codes_dropped = w->nr_codes_dropped;
	nr_stale = w->nr_stale;
	is_cut = w->interp.is_cut;
	return 0;
}
