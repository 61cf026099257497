/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Look-ups in the unwind tables, which user space fills (lineburn_unwind.h). */
#ifndef LB_BPF_TABLES_H
#define LB_BPF_TABLES_H

#include "walk.h"

/* Sizes instead of types, because clang does not emit a type that is used only here. */
struct slab_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LB_SLAB_VALUES);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct lb_unwind_rows));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LB_MAX_SLABS);
	__type(key, __u32);
	__array(values, struct slab_map);
} slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LB_UNWIND_MAX_PAGES);
	__type(key, __u32);
	__type(value, struct lb_unwind_page);
} pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LB_UNWIND_MAX_RULES);
	__type(key, __u32);
	__type(value, __u64); /* struct lb_unwind_rule */
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LB_UNWIND_MAX_SEGMENTS);
	__type(key, __u32);
	__type(value, struct lb_unwind_segment);
} segments SEC(".maps");

/*
 * Cache of recent rules, so that most frames read neither their page nor its rows nor
 * the array of rules. The key is hashed to 64 bits, one to one, so a hit is exact. The
 * tag is the hash XOR the rule. So if another CPU writes an entry meanwhile, and the two
 * words that were read do not belong together, they give another hash.
 *
 * At low rates each cache line and each page that a walk touches is cold. So callers are
 * not hashed: a page of text has LINES_A_PAGE lines, next to those of its neighbours, and a
 * return address has the line of its LINE_TEXT_BYTES, where it is in any place. So small
 * functions that call each other share lines, and two calls of a function do not replace
 * each other. Text 4 KiB apart in a page shares lines, too; few stacks need both. Leaves
 * are too many for that: they are hashed to the lines of LEAF_PAGES pages of text, which
 * are one page of the cache.
 */
#define LINES_AT_HAND   4096
#define LINES_A_PAGE    32
#define LINE_TEXT_BYTES 128
#define LEAF_PAGES      2
#define RULES_A_LINE    4
struct rules_line {
	struct rule_at_hand {
		__u64 tag;
		__u64 rule; /* struct lb_unwind_rule */
	} at[RULES_A_LINE];
};
_Static_assert(sizeof(struct rules_line) == 64, "a cache line");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* so that it begins at a page */
	__uint(max_entries, LINES_AT_HAND);
	__type(key, __u32);
	__type(value, struct rules_line);
} rules_at_hand SEC(".maps");

/*
 * Part of the key. Incremented by user space after pages were reassigned to another
 * object and all programs that ran before have ended, after an object was cleared, so
 * that it gets other rules, and after pages were marked as unused, because a hit does not
 * mark its page as used.
 */
volatile __u32 pages_generation;

/* Preallocated, because perf event programs may use no other maps before Linux 6.1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LB_UNWIND_MAX_PROCESSES);
	__type(key, struct lb_image);
	__type(value, struct lb_unwind_process);
} processes SEC(".maps");

/*
 * Copies of the parents' entries that children get at a fork. A map of its own, because
 * nobody's account has them: many children that sleep must not take the places of others.
 * An image whose copy was evicted sends a request, like any unknown one.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LB_UNWIND_MAX_INHERITED);
	__type(key, struct lb_image);
	__type(value, struct lb_unwind_process);
} inherited SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LB_UNWIND_MAX_FILES);
	__type(key, struct lb_unwind_file_key);
	__type(value, struct lb_unwind_file);
} unwind_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 128 * 1024);
} requests SEC(".maps");

/*
 * Time of the last request, by the hash of its contents. Requests with the same slot
 * share its rate limit, so the total rate is limited in any case.
 */
#define REQUEST_TIMES 8192
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REQUEST_TIMES);
	__type(key, __u32);
	__type(value, __u64);
} request_times SEC(".maps");

/* Announces a new program before its first sample. */
static __always_inline void lb_request_process(const struct lb_image *image)
{
	struct lb_unwind_request *request =
		bpf_ringbuf_reserve(&requests, sizeof(*request), 0);

	if (!request)
		return; /* its first sample will request it again */
	request->image = *image;
	request->ip = 0;
	request->kind = LB_REQUEST_PROCESS;
	request->pad = 0;
	bpf_ringbuf_submit(request, 0);
}

/*
 * Most requests that one walk sends. Most of them end the walk, so only a stack that was
 * made for it has more.
 */
#define REQUESTS_A_WALK 8

/* @ip  of no account where the request is for all of the process */
static __always_inline void lb_request(struct lb_walk *w, __u32 kind, __u64 ip)
{
	bool is_for_all = kind == LB_REQUEST_PROCESS || kind == LB_REQUEST_LIST;
	__u64 what = is_for_all ? kind : (ip >> 16) << 2 | kind;
	__u32 place = lb_mix(w->image_hash, what) >> 32 & (REQUEST_TIMES - 1);
	__u64 *last = bpf_map_lookup_elem(&request_times, &place);
	struct lb_unwind_request *request = NULL;

	if (!last || (*last && w->now - *last < LB_REQUEST_PAUSE_NS))
		return;
	if (w->nr_requests++ < REQUESTS_A_WALK) {
		*last = w->now;
		request = bpf_ringbuf_reserve(&requests, sizeof(*request), 0);
	}
	if (!request) {
		w->nr_requests_dropped++;
		return;
	}
	request->image = w->image;
	request->ip = ip;
	request->kind = kind;
	request->pad = 0;
	bpf_ringbuf_submit(request, 0);
}

/* What user space wrote counts before the copy. Return: NULL: none. */
static __always_inline struct lb_unwind_process *lb_process_entry(
	const struct lb_image *image)
{
	struct lb_unwind_process *process = bpf_map_lookup_elem(&processes, image);

	return process ? process : bpf_map_lookup_elem(&inherited, image);
}

static __always_inline void lb_delete_process(const struct lb_image *image)
{
	bpf_map_delete_elem(&inherited, image);
	bpf_map_delete_elem(&processes, image);
}

/*
 * Finds the image's process entry and its run of segments, unless that was reassigned.
 */
static __always_inline bool lb_find_process(struct lb_walk *w,
					    struct lb_unwind_process *ret)
{
	struct lb_recent_image *recent = lb_recent(w);
	struct lb_unwind_segment *stamp;

	if (!recent->process.generation) {
		struct lb_unwind_process *process = lb_process_entry(&w->image);

		if (!process)
			return false;
		recent->process = *process;
	}
	*ret = recent->process;
	stamp = bpf_map_lookup_elem(&segments, &ret->stamp);
	return ret->generation && stamp && stamp->start == ret->generation && !stamp->end;
}

/*
 * Searches, in functions that the verifier checks separately, once.
 *
 * lo and hi are unknown numbers to the verifier: if it knew their bounds, each
 * iteration would have its own bounds, and it would follow all paths through the loop.
 * For the same reason an iteration has one path, which also avoids mispredicted
 * branches.
 */

/* Returns all ones if a <= b, else 0; both below 2^63. */
static __always_inline __u64 lb_is_below(__u64 a, __u64 b)
{
	return (__s64)(a - b - 1) >> 63;
}

static __always_inline __u64 lb_either(__u64 mask, __u64 a, __u64 b)
{
	return b ^ ((a ^ b) & mask);
}

static __always_inline bool lb_is_in(const struct lb_unwind_segment *s, __u64 ip)
{
	return ip >= s->start && ip < s->end;
}

/* Sets the walk's segment to the one at @ip. Return: 0 if there is none. */
__noinline int lb_search_segment(__u64 ip)
{
	struct lb_walk *w = lb_walk_here();
	struct lb_unwind_segment *s;
	__u64 lo, hi, below;
	__u32 at;

	if (!w)
		return 0;
	lo = w->first_segment;
	hi = lo + w->nr_segments;
	/* [lo, hi): possible positions of the first segment that starts above ip. */
	for (int i = 0; i < LB_UNWIND_SEARCH_STEPS && lo < hi; i++) {
		__u64 mid = (lo + hi) >> 1;

		at = mid;
		s = bpf_map_lookup_elem(&segments, &at);
		if (!s)
			return 0;
		below = lb_is_below(s->start, ip);
		lo = lb_either(below, mid + 1, lo);
		hi = lb_either(below, hi, mid);
	}
	/* May be the stamp, which ends at 0, so no ip is in it. */
	at = lo - 1;
	s = bpf_map_lookup_elem(&segments, &at);
	if (!s || !lb_is_in(s, ip))
		s = &w->found;
	if (!lb_is_in(s, ip)) {
		w->missed = ip;
		return 0;
	}
	w->segment = *s;
	return 1;
}

/* Requests the mapping at @ip, unless the whole process was requested. */
static __always_inline void lb_request_mapping(struct lb_walk *w, __u64 ip)
{
	if (!w->is_unknown)
		lb_request(w, LB_REQUEST_MAPPING, ip);
}

/* Steps for 2^16 rows: the first row, which is below every key, then halvings. */
#define LB_HALVINGS         17
#define LB_HALVINGS_AT_ONCE 6

/* Does some halvings of the walk's search. Return: nonzero when it is over. */
__noinline int lb_halve_rows(void)
{
	struct lb_walk *w = lb_walk_here();
	struct lb_row_search *s;
	__u32 at;
	void *slab;

	if (!w)
		return 1;
	s = &w->rows;
	at = s->lo / LB_SLAB_ROWS;
	slab = bpf_map_lookup_elem(&slabs, &at);
	if (!slab)
		return 1;
	for (int i = 0; i < LB_HALVINGS_AT_ONCE; i++) {
		__u64 mid = s->mid, below, row;
		struct lb_unwind_rows *rows;

		at = mid / LB_ROWS_PER_VALUE % LB_SLAB_VALUES;
		rows = bpf_map_lookup_elem(slab, &at);
		if (!rows)
			return 1;
		row = *(__u32 *)&rows->row[mid % LB_ROWS_PER_VALUE];
		below = lb_is_below(row & 0xffff, s->low);
		s->lo = lb_either(below, mid, s->lo);
		s->hi = lb_either(below, s->hi, mid - 1);
		s->rule = lb_either(below, row >> 16, s->rule);
		if (s->lo >= s->hi)
			return 1;
		s->mid = (s->lo + s->hi + 1) >> 1;
	}
	return 0;
}

/* Returns the number of the rule at @low in a page; 0, {LB_CFA_NONE}, if none. */
static __always_inline __u32 lb_search_row(struct lb_walk *w,
					   const struct lb_unwind_page *page, __u32 low)
{
	w->rows.lo = w->rows.mid = page->first_row;
	w->rows.hi = w->rows.lo + page->last_row;
	w->rows.low = low;
	w->rows.rule = 0;
	for (int i = 0; i < LB_HALVINGS; i += LB_HALVINGS_AT_ONCE)
		if (lb_halve_rows())
			break;
	return w->rows.rule;
}

/*
 * Reads the rule at @low in page number @nr, and marks the page as used.
 * Return: LB_STACK_COMPLETE with *ret set, or why there is no rule.
 */
static __always_inline __u32 lb_read_rule(struct lb_walk *w, __u32 nr, __u32 low,
					  __u64 *ret)
{
	union {
		__u64 word; /* user space writes it as one word */
		struct lb_unwind_page page;
	} u;
	struct lb_unwind_page *page = bpf_map_lookup_elem(&pages, &nr);
	__u64 *rule;

	u.word = page ? *(volatile __u64 *)page : 0;
	if (u.page.state == LB_PAGE_ABSENT)
		return LB_STACK_NO_TABLE;
	if (page && !u.page.used)
		page->used = 1;
	nr = u.page.state == LB_PAGE_ROWS ? lb_search_row(w, &u.page, low) : 0;
	rule = bpf_map_lookup_elem(&rules, &nr);
	if (!rule)
		return LB_STACK_UNSUPPORTED;
	*ret = *rule;
	return LB_STACK_COMPLETE;
}

/* Returns the line of the rule; NULL: impossible. */
static __always_inline volatile struct rules_line *lb_rules_line(const struct lb_walk *w,
								 __u32 nr, __u32 low,
								 __u64 hash)
{
	__u32 line = nr * LINES_A_PAGE + low / LINE_TEXT_BYTES % LINES_A_PAGE;

	if (w->stack.is_live)
		line = (nr & ~(LEAF_PAGES - 1)) * LINES_A_PAGE +
		       hash % (LEAF_PAGES * LINES_A_PAGE);
	line &= LINES_AT_HAND - 1;
	return bpf_map_lookup_elem(&rules_at_hand, &line);
}

/* Like lb_read_rule(), with a cache. */
static __always_inline __u32 lb_rule_of_page(struct lb_walk *w, __u32 nr, __u32 low,
					     __u64 *ret)
{
	__u64 what = (__u64)w->pages_generation << 33 | (__u64)nr << 16 | low;
	__u64 hash = lb_mix(hash_seed, what);
	volatile struct rules_line *line = lb_rules_line(w, nr, low, hash);
	__u32 status, place;

	_Static_assert(LB_UNWIND_MAX_PAGES <= 1 << 17, "the parts do not overlap");
	if (!line)
		return LB_STACK_UNSUPPORTED;
#pragma unroll
	for (int i = 0; i < RULES_A_LINE; i++) {
		*ret = line->at[i].rule; /* read once: it is compared and used */
		if ((line->at[i].tag ^ *ret) == hash)
			return LB_STACK_COMPLETE;
	}
	status = lb_read_rule(w, nr, low, ret);
	if (status)
		return status;
	/* At random, so that rules that a stack needs come to different places. */
	place = (w->now + w->nr_native) % RULES_A_LINE;
	line->at[place].rule = *ret;
	line->at[place].tag = hash ^ *ret;
	return LB_STACK_COMPLETE;
}

/* Return: LB_STACK_COMPLETE with *ret set, or why there is no rule at @ip. */
static __always_inline __u32 lb_find_rule(struct lb_walk *w, __u64 ip,
					  struct lb_unwind_rule *ret)
{
	union {
		__u64 word;
		struct lb_unwind_rule rule;
	} u = {};
	__u64 addr;
	__u32 status;

	if (!lb_is_in(&w->segment, ip) && !lb_search_segment(ip)) {
		lb_request_mapping(w, ip);
		return LB_STACK_NO_MAPPING;
	}
	w->segment_flags |= w->segment.flags;
	if (w->segment.flags & LB_SEGMENT_NO_ROWS) {
		if (w->segment.flags & LB_SEGMENT_LISTED)
			lb_request(w, LB_REQUEST_LIST, ip);
		return LB_STACK_COMPLETE;
	}
	addr = ip - w->segment.bias;
	status = lb_rule_of_page(w, w->segment.first_page + (__u32)(addr >> 16),
				 addr & 0xffff, &u.word);
	if (status == LB_STACK_NO_TABLE)
		lb_request(w, LB_REQUEST_PAGE, ip);
	*ret = u.rule;
	return status;
}

#endif
