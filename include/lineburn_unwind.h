/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of the kernel side, which user space fills, and the requests that the
 * walk sends for missing ones.
 *
 * ip -> segment of its process -> page of the object's text -> row -> rule.
 *
 * An address in an object is the file offset for a mapped file, and the distance from
 * the start of the text for a JIT's object. Rows are built per 64 KiB of addresses (a
 * page).
 */
#ifndef LB_LINEBURN_UNWIND_H
#define LB_LINEBURN_UNWIND_H

#include "lineburn.h"

/* ---- rules and rows ---- */

/* How to compute the canonical frame address (DWARF 5, 6.4). SP and FP: rsp and rbp. */
enum lb_cfa_kind {
	LB_CFA_NONE, /* no information (between functions): frame pointers */
	LB_CFA_SP, /* SP + cfa_off */
	LB_CFA_FP, /* FP + cfa_off */
	LB_CFA_PLT, /* x86 PLT stub: SP + 8, from byte cfa_off of 16 on SP + 16 */
	LB_CFA_DEREF_FP, /* *(FP + cfa_off) */
	LB_CFA_DEREF_SP, /* *(SP + cfa_off) */
	/* *(FP + cfa_off) + 8: the SP at entry was saved (OpenSSL) */
	LB_CFA_DEREF_FP_8,
	LB_CFA_DEREF_SP_8, /* *(SP + cfa_off) + 8 */
	LB_CFA_SIGNAL, /* a signal frame: the ucontext on the stack has the registers */
	LB_CFA_END, /* the outermost frame: return address undefined */
	LB_CFA_UNSUPPORTED,
	LB_CFA_REG, /* LB_CFA_REG + DWARF number (0..15 on x86): only at the leaf */
};

/* How to compute the caller's FP. */
enum lb_fp_kind {
	LB_FP_SAME,
	LB_FP_AT_CFA, /* *(CFA + fp_off) */
	LB_FP_AT_FP, /* *(FP + fp_off) */
	LB_FP_UNDEFINED,
	LB_FP_UNSUPPORTED,
	/*
	 * Flag: no call enters the code: its table has one rule, and not the one behind a
	 * call. It is a part of a function, or an interpreter's assembly (LuaJIT).
	 */
	LB_FP_UNCALLED = 1 << 6,
	/* Flag: the rule was made from machine code, not read from a table. */
	LB_FP_DERIVED = 1 << 7,
	LB_FP_KIND = LB_FP_UNCALLED - 1, /* mask: without the flags */
};

/* The return address is at CFA - 8 on x86; see bpf/arch/ for others. */
struct lb_unwind_rule {
	__u8 cfa; /* enum lb_cfa_kind */
	__u8 fp; /* enum lb_fp_kind, perhaps with flags */
	__s16 fp_off;
	__s32 cfa_off;
};
_Static_assert(sizeof(struct lb_unwind_rule) == 8, "no padding in map values");

#define LB_UNWIND_MAX_RULES 16384 /* distinct ones; [0] is {LB_CFA_NONE} */

/* In order of pc_low within a page; a row is valid up to the next one. */
struct lb_unwind_row {
	__u16 pc_low; /* address & 0xffff */
	__u16 rule;
};

#define LB_ROWS_PER_VALUE 64 /* because array maps round small values up to 8 bytes */
struct lb_unwind_rows {
	struct lb_unwind_row row[LB_ROWS_PER_VALUE];
};

#define LB_SLAB_VALUES 4096 /* of struct lb_unwind_rows: 1 MiB */
#define LB_SLAB_ROWS   (LB_SLAB_VALUES * LB_ROWS_PER_VALUE) /* a page never needs more */
#define LB_MAX_SLABS   1024 /* 1 GiB; an option limits them further */

/* ---- pages ---- */

enum lb_page_state {
	LB_PAGE_ABSENT, /* never built, or evicted: request it */
	LB_PAGE_ROWS,
	LB_PAGE_EMPTY, /* no rows: frame pointers */
};

struct lb_unwind_page {
	__u32 first_row; /* slab * LB_SLAB_ROWS + row; never crosses a slab */
	__u16 last_row; /* number of rows - 1; the first has pc_low 0 */
	__u8 state; /* enum lb_page_state */
	__u8 used; /* set by the walk, cleared by user space */
};
_Static_assert(sizeof(struct lb_unwind_page) == 8, "no padding in map values");

#define LB_UNWIND_MAX_PAGES 131072 /* of all objects */

/* ---- segments: executable mappings of processes ---- */

enum lb_segment_flag {
	LB_SEGMENT_NO_ROWS = 1 << 0, /* a JIT's memory: frame pointers, no page */
	/* also set: code is known only from the JIT's list */
	LB_SEGMENT_LISTED = 1 << 1,
	/* Text of an interpreter whose frames in the process are not found yet. */
	LB_SEGMENT_AWAITED = 1 << 2,
};

/*
 * A run of segments begins with its stamp, {.start = generation, .end = 0}; nr_segments
 * segments in order of start follow. If the generation of a process differs from that
 * of its stamp, the run was reassigned to another process.
 */
struct lb_unwind_segment {
	__u64 start, end; /* [start, end), run-time addresses */
	__u64 bias; /* ip - bias is the address in the object */
	__u32 first_page; /* + (address in the object >> 16) */
	__u32 flags; /* enum lb_segment_flag */
};
_Static_assert(sizeof(struct lb_unwind_segment) == 32, "no padding in map values");

#define LB_UNWIND_MAX_SEGMENTS 131072 /* of all processes, stamps included */
#define LB_UNWIND_SEARCH_STEPS 17 /* of a binary search over them */

/* Value of the map of processes, whose key is struct lb_image. */
struct lb_unwind_process {
	__u64 generation; /* of the run; 0: no run yet */
	__u32 stamp; /* index of the run's stamp */
	__u32 nr_segments;
	__u32 interp; /* LB_INTERP_NUMBER(); 0: no known interpreter */
	/* thread state: *(thread pointer + interp_tls_off), or ts_is_in_table */
	__s32 interp_tls_off;
	__u64 interp_bias; /* added to lb_interp.eval_lo and eval_hi */
};
_Static_assert(sizeof(struct lb_unwind_process) == 32, "no padding in map values");

#define LB_UNWIND_MAX_PROCESSES 16384
/* Entries that children have from their parents; the least recently used are evicted. */
#define LB_UNWIND_MAX_INHERITED 4096

#define LB_IMAGE_CHANGES        256 /* counters of changes, by tgid modulo this (bpf/walk.h) */

/* ---- files: for mappings that user space has not described yet ---- */

/* As the kernel names the file of a mapping in /proc/PID/maps. All 0: the vdso. */
struct lb_unwind_file_key {
	__u64 inode;
	__u32 dev; /* major << 20 | minor */
	__u32 pad; /* 0 */
};

/*
 * Pages of a file's object. Not of an interpreter: the walk needs to know its state in the
 * process, too.
 */
struct lb_unwind_file {
	__u64 size_bytes; /* when it was opened; another size or time: another content */
	__s64 mtime_ns; /* 0: the vdso */
	__u32 first_page; /* in the array of pages */
	__u32 page; /* its number in the file: offset >> 16 */
	__u32 nr_pages;
	__u32 pad; /* 0 */
};
_Static_assert(sizeof(struct lb_unwind_file_key) == 16 &&
		       sizeof(struct lb_unwind_file) == 32,
	       "no padding in map keys and values");

#define LB_UNWIND_MAX_FILES 4096

/* ---- requests of the walk ---- */

enum lb_request_kind {
	LB_REQUEST_PROCESS, /* the image has no (valid) run of segments */
	LB_REQUEST_MAPPING, /* no segment at ip */
	LB_REQUEST_PAGE, /* the page of ip is absent */
	LB_REQUEST_LIST, /* code at ip in a LISTED segment may be new on the list */
};

/*
 * Sent at most once in LB_REQUEST_PAUSE_NS for the same image and page; LB_REQUEST_PROCESS
 * and LB_REQUEST_LIST for the same image.
 */
struct lb_unwind_request {
	struct lb_image image;
	__u64 ip; /* as looked up (return addresses - 1); 0: not sampled yet */
	__u32 kind; /* enum lb_request_kind */
	__u32 pad; /* 0 */
};
_Static_assert(sizeof(struct lb_unwind_request) == 32, "no padding in records");

#define LB_REQUEST_PAUSE_NS 50000000ULL

/* ---- interpreters ---- */

#define LB_INTERP_FRAME_BYTES 120 /* most bytes read of an interpreter frame */
#define LB_INTERP_CODE_BYTES  256 /* same, of a code object's fixed part */
#define LB_INTERP_IDENTITY_WORDS \
	8 /* words that distinguish a code object from a later one at its address */
#define LB_MAX_INTERPS 64 /* distinct layouts */

/* How names are stored. */
enum lb_interp_text {
	LB_TEXT_STR, /* objects of CPython */
	LB_TEXT_C, /* addresses of C strings; code objects have no line table then */
};

/* How the frames of a thread are linked and anchored to the C stack. */
enum lb_interp_link {
	/* 3.9: thread state -> PyFrameObject -> f_back; one C frame in [eval_lo, eval_hi) each. */
	LB_LINK_EVAL,
	/* 3.10: same, and thread state -> CFrame, which lies in that C frame. */
	LB_LINK_OBJECT,
	/* 3.11, 3.12: thread state -> CFrame (in the C stack) -> frames up to the entry frame. */
	LB_LINK_CFRAME,
	/* 3.13 on: thread state -> frames; entry frames lie in the C stack. */
	LB_LINK_SHIM,
	/* Not CPython: state -> frames; each lies in the C frame that evaluates it. */
	LB_LINK_LIST,
};

/*
 * Layout of one build of an interpreter: a list of frames, each of which refers to a
 * code object. The names are those of CPython. Offsets are in bytes; the reader checks
 * bounds: frame offsets + 8 <= LB_INTERP_FRAME_BYTES, code offsets + 8 <=
 * LB_INTERP_CODE_BYTES.
 */
struct lb_interp {
	__u32 version; /* PY_VERSION_HEX >> 16: 0x030b */
	__u32 link; /* enum lb_interp_link */
	__u64 eval_lo, eval_hi; /* LB_LINK_EVAL: + interp_bias; else 0 */
	__u16 ts_frame; /* of the thread state: the frame, or the CFrame */
	__u16 ts_cframe; /* LB_LINK_OBJECT */
	/* of a CFrame; LB_LINK_OBJECT: the first is use_tracing */
	__u16 cframe_frame, cframe_previous;
	/* LB_LINK_OBJECT: the last is f_state */
	__u16 frame_code, frame_previous, frame_ip, frame_owner;
	__u16 owner_entry; /* LB_LINK_CFRAME: value of owner at an entry frame */
	__u16 owner_shim; /* LB_LINK_SHIM: owners >= this are entry frames */
	__u8 entry_has_code; /* LB_LINK_CFRAME: the entry frame is a frame of Python (3.11) */
	/* low bits of frame_code that are not part of the address */
	__u8 code_tag_mask;
	__u8 ip_is_index; /* 1: frame_ip is an int, in code units; 2: in bytes; 0: an address */
	/* of a frame, for all of the above; memory after them may be unmapped */
	__u8 frame_bytes;
	__u16 code_bytecode; /* of the code object: start of the instructions */
	__u16 code_filename, code_qualname, code_linetable, code_firstlineno;
	__u16 code_identity
		[LB_INTERP_IDENTITY_WORDS]; /* offsets of u64 words; 0: none (the type is at 8) */
	__u16 str_length, str_state, str_ascii,
		str_wide; /* of a str; data of ASCII and of other strs */
	__u16 bytes_size, bytes_data; /* of a bytes object */
	__u16 code_bytes; /* of a code object, large enough for all of the above */
	/* 1: *(thread pointer + interp_tls_off) is a table that contains it (musl). */
	__u16 ts_is_in_table;
	__u16 ts_table_off; /* in that table */
	__u16 kind; /* of its frames: LB_FRAME_KIND() */
	__u16 text; /* enum lb_interp_text */
	/* + interp_bias: the single state of all threads; 0: see interp_tls_off. */
	__u64 state_off;
	/*
	 * How many layouts had this place before. If the number that a process has differs, its
	 * layout was given back. Set by unwind/tables.c.
	 */
	__u32 use;
	__u32 pad; /* 0 */
};
_Static_assert(sizeof(struct lb_interp) == 112, "no padding in map values");

/* Number of the layout at an index: its index + 1, and above it its use. */
#define LB_INTERP_INDEX_BITS         8
#define LB_INTERP_INDEX(number)      (((number) & ((1U << LB_INTERP_INDEX_BITS) - 1)) - 1)
#define LB_INTERP_USES               (1U << (32 - LB_INTERP_INDEX_BITS))
#define LB_INTERP_USE(number)        ((number) >> LB_INTERP_INDEX_BITS)
#define LB_INTERP_NUMBER(index, use) ((use) << LB_INTERP_INDEX_BITS | ((index) + 1))
_Static_assert(LB_MAX_INTERPS < 1 << LB_INTERP_INDEX_BITS, "an index + 1 fits");

#define LB_INTERP_TEXT_BYTES  256 /* copied of a name */
#define LB_INTERP_TABLE_BYTES 4096 /* copied of a line table */
#define LB_INTERP_NOT_READ    0xffffffffU /* or the length exceeds any limit */

/*
 * A code object at its first sample in an image. Texts that do not fit are cut; user
 * space reads those again while the process lives.
 */
struct lb_interp_code {
	struct lb_image image;
	__u64 code_id; /* LB_FRAME_ID_BITS */
	__u64 code_addr;
	__u64 table_addr; /* of the bytes object */
	__u32 version; /* of struct lb_interp */
	__u32 first_line;
	__u32 file_chars, name_chars; /* whole length; 0: could not be read */
	/*
	 * Same, or LB_INTERP_NOT_READ. 0 is a complete table: 3.9, code with one line.
	 */
	__u32 table_bytes;
	__u32 table_copied; /* bytes in table[] */
	__u8 file_width,
		name_width; /* bytes a char: 1 (Latin-1 or ASCII), 2, 4; 0: not read */
	__u8 pad[6];
	__u8 file[LB_INTERP_TEXT_BYTES],
		name[LB_INTERP_TEXT_BYTES]; /* cut to whole chars */
	__u8 table[LB_INTERP_TABLE_BYTES]; /* the record ends after table_copied */
};
_Static_assert(sizeof(struct lb_interp_code) ==
		       72 + 2 * LB_INTERP_TEXT_BYTES + LB_INTERP_TABLE_BYTES,
	       "no padding in records");

#endif
