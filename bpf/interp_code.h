/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identifies code objects of interpreters, and copies their names and line table at
 * their first sample, because the script may end before user space can read them.
 */
#ifndef LB_BPF_INTERP_CODE_H
#define LB_BPF_INTERP_CODE_H

#include "walk.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LB_MAX_INTERPS);
	__type(key, __u32);
	__type(value, struct lb_interp);
} interps SEC(".maps");

/* Most code objects that one walk sends: honest programs have fewer new ones in a sample. */
#define CODES_A_WALK       128

#define INTERP_CODES_BYTES (1024 * 1024)
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, INTERP_CODES_BYTES);
} interp_codes SEC(".maps");

/* Cache of ids that were sent to user space, by their low bits. */
#define CODES_AT_HAND 16384
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CODES_AT_HAND);
	__type(key, __u32);
	__type(value, __u64);
} codes_at_hand SEC(".maps");

/* Further sent ids. An evicted id causes a second record. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u8);
} codes_told SEC(".maps");

/* Buffer for a record, which is too big for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lb_interp_code);
} code_records SEC(".maps");

/* @off  of a word in the code object's fixed part, whose size is in the layout */
static __always_inline __u64 lb_code_word(const struct lb_walk *w, __u32 off)
{
	return *(__u64 *)(w->code_bytes + off % LB_INTERP_CODE_BYTES);
}

/*
 * Returns the width of a str's characters (PEP 393; Include/cpython/unicodeobject.h).
 * Its state has "kind", the width, in 3 bits, then "compact" and "ascii". Before "kind"
 * is the interned state, in 2 bits, 8 bits without the GIL, 16 bits in 3.14. "kind" is
 * never 0, which shows its position.
 * Return: 0 if it is not a compact str.
 */
static __always_inline __u32 lb_str_width(__u32 state, bool *is_ascii)
{
	__u32 kind = state >> 2;

	if (!(kind & 7))
		kind = state >> 8;
	if (!(kind & 7))
		kind = state >> 16;
	*is_ascii = kind & 16;
	if (!(kind & 8))
		return 0;
	kind &= 7;
	return kind == 1 || kind == 2 || kind == 4 ? kind : 0;
}

static __always_inline __u32 lb_clamp(__u64 n)
{
	return n > 0xffffffffULL ? 0xffffffffU : n;
}

/* Like lb_copy_str(). A string that fills the buffer may be longer. */
static __always_inline __u8 lb_copy_c_string(__u64 addr, __u8 *to, __u32 *ret_chars)
{
	long bytes = bpf_probe_read_user_str(to, LB_INTERP_TEXT_BYTES, (void *)addr);

	if (bytes <= 1)
		return 0;
	*ret_chars = bytes == LB_INTERP_TEXT_BYTES ? LB_INTERP_NOT_READ : bytes - 1;
	return 1;
}

/* Copies the str at @addr. Return: its width, with *ret_chars set; 0: not read. */
static __always_inline __u8 lb_copy_str(const struct lb_interp *layout, __u64 addr,
					__u8 *to, __u32 *ret_chars)
{
	__u32 state = 0, width;
	__u64 chars = 0, bytes;
	bool is_ascii;

	*ret_chars = 0;
	if (layout->text == LB_TEXT_C)
		return lb_copy_c_string(addr, to, ret_chars);
	if (!addr ||
	    bpf_probe_read_user(&chars, 8, (void *)(addr + layout->str_length)) ||
	    bpf_probe_read_user(&state, 4, (void *)(addr + layout->str_state)))
		return 0;
	width = lb_str_width(state, &is_ascii);
	if (!width || !chars)
		return 0;
	addr += is_ascii ? layout->str_ascii : layout->str_wide;
	/* Only whole characters: LB_INTERP_TEXT_BYTES is a multiple of four. */
	bytes = chars > LB_INTERP_TEXT_BYTES ? LB_INTERP_TEXT_BYTES : chars * width;
	if (bytes > LB_INTERP_TEXT_BYTES)
		bytes = LB_INTERP_TEXT_BYTES;
	if (bpf_probe_read_user(to, bytes, (void *)addr))
		return 0;
	*ret_chars = lb_clamp(chars);
	return width;
}

/* Copies a line table. Return: bytes copied. */
static __always_inline __u32 lb_copy_table(const struct lb_interp *layout,
					   struct lb_interp_code *code)
{
	__u64 bytes = 0, copied;

	code->table_bytes = layout->text == LB_TEXT_C ? 0 : LB_INTERP_NOT_READ;
	if (!code->table_bytes || !code->table_addr ||
	    bpf_probe_read_user(&bytes, 8,
				(void *)(code->table_addr + layout->bytes_size)))
		return 0;
	copied = bytes > LB_INTERP_TABLE_BYTES ? LB_INTERP_TABLE_BYTES : bytes;
	if (bpf_probe_read_user(code->table, copied,
				(void *)(code->table_addr + layout->bytes_data)))
		return 0;
	code->table_bytes = lb_clamp(bytes);
	return copied;
}

/* Sends the walk's code object to user space. Return: 0; nonzero: no room. */
__noinline int lb_send_code(void)
{
	struct lb_walk *w = lb_walk_here();
	__u32 zero = 0, index, copied;
	struct lb_interp_code *code = bpf_map_lookup_elem(&code_records, &zero);
	struct lb_interp *layout;
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (!w || !code)
		return 1;
	index = w->interp.index;
	layout = bpf_map_lookup_elem(&interps, &index);
	if (!layout)
		return 1;
	code->image = w->image;
	code->code_id = w->interp.code_id;
	code->code_addr = w->interp.code_addr;
	code->table_addr = lb_code_word(w, layout->code_linetable);
	code->version = layout->version;
	code->first_line = lb_code_word(w, layout->code_firstlineno);
	code->file_width = lb_copy_str(layout, lb_code_word(w, layout->code_filename),
				       code->file, &code->file_chars);
	code->name_width = lb_copy_str(layout, lb_code_word(w, layout->code_qualname),
				       code->name, &code->name_chars);
	copied = lb_copy_table(layout, code);
	code->table_copied = copied;
	if (copied > LB_INTERP_TABLE_BYTES)
		return 1;
	/*
	 * User space reads the ring at each drain: wake it earlier only if the ring
	 * fills up.
	 */
	if (bpf_ringbuf_query(&interp_codes, BPF_RB_AVAIL_DATA) > INTERP_CODES_BYTES / 4)
		flags = BPF_RB_FORCE_WAKEUP;
	return bpf_ringbuf_output(&interp_codes, code,
				  __builtin_offsetof(struct lb_interp_code, table) +
					  copied,
				  flags) != 0;
}

/*
 * Reads the code object and computes its id. The id includes names and first line,
 * because another code object may be at the address later.
 * Return: whether it could be read.
 */
static __always_inline bool lb_identify_code(struct lb_walk *w,
					     const struct lb_interp *layout)
{
	__u64 hash = lb_mix(w->image_hash, w->interp.code_addr);
	__u32 bytes = layout->code_bytes;
	bool is_read;

	if (bytes > LB_INTERP_CODE_BYTES)
		bytes = LB_INTERP_CODE_BYTES;
	/* The helper zeroes the buffer on failure. */
	is_read = !bpf_probe_read_user(w->code_bytes, bytes, (void *)w->interp.code_addr);
#pragma unroll
	for (int i = 0; i < LB_INTERP_IDENTITY_WORDS; i++) {
		__u64 off = layout->code_identity[i];
		__u64 is_any = (__s64)-off >> 63; /* all ones if off is not 0 */

		hash = lb_mix(hash, lb_code_word(w, off) & is_any);
	}
	hash = lb_mix(hash, (__u32)lb_code_word(w, layout->code_firstlineno));
	w->interp.code_id = hash >> (64 - LB_FRAME_ID_BITS);
	return is_read;
}

/*
 * Sends the code object to user space, once. A walk sends some only, and nothing after
 * what found no room: the rest comes with the next sample. So a process that makes code
 * objects up does not make its samples long.
 */
static __always_inline void lb_tell_code(struct lb_walk *w)
{
	__u64 id = w->interp.code_id;
	__u32 place = id & (CODES_AT_HAND - 1);
	__u64 *at_hand = bpf_map_lookup_elem(&codes_at_hand, &place);
	__u8 told = 1;

	if (!at_hand || *at_hand == id)
		return;
	if (!bpf_map_lookup_elem(&codes_told, &id)) {
		if (w->nr_codes_dropped || w->interp.nr_told >= CODES_A_WALK)
			return;
		w->interp.nr_told++;
		if (lb_send_code()) {
			w->nr_codes_dropped++;
			return;
		}
		bpf_map_update_elem(&codes_told, &id, &told, BPF_ANY);
	}
	*at_hand = id;
}

/* @ip  as in the frame. Return: the instruction's index in the code. */
static __always_inline __u32 lb_code_index(const struct lb_walk *w,
					   const struct lb_interp *layout, __u64 ip)
{
	__s64 index;

	if (layout->ip_is_index) {
		index = (__s32)ip;
		if (layout->ip_is_index == 2)
			index >>= 1;
	} else {
		index = (__s64)(ip - w->interp.code_addr - layout->code_bytecode) >> 1;
		/*
		 * The size of a code object (PyVarObject) is its number of
		 * instructions, and is at the same offset as the size of a bytes
		 * object. An index outside of it is in a thread's own copy of the
		 * instructions.
		 */
		if (index >= (__s64)lb_code_word(w, layout->bytes_size))
			return LB_FRAME_INDEX_UNKNOWN;
	}
	return index < 0 || index >= LB_FRAME_INDEX_UNKNOWN ? LB_FRAME_INDEX_UNKNOWN
							    : index;
}

/*
 * May a frame be added that runs @code_addr? Runs that are dropped would allow any number
 * of code objects otherwise, which the walk reads one by one.
 */
static __always_inline bool lb_interp_may_identify(const struct lb_interp_walk *interp,
						   __u64 code_addr)
{
	return code_addr == interp->code_addr || interp->nr_identified < LB_MAX_FRAMES;
}

/* Encodes the frame that runs @code_addr at @ip as a stack entry. */
static __always_inline __u64 lb_interp_frame(struct lb_walk *w,
					     const struct lb_interp *layout,
					     __u64 code_addr, __u64 ip)
{
	/* For a recursive call the code object is cached. */
	if (code_addr != w->interp.code_addr) {
		w->interp.code_addr = code_addr;
		w->interp.nr_identified++;
		if (lb_identify_code(w, layout))
			lb_tell_code(w);
		else
			w->nr_faults++; /* the frame is kept without a name */
	}
	return LB_FRAME_OF(layout->kind, w->interp.code_id, lb_code_index(w, layout, ip));
}

#endif
