/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plain result of naming one address: source frames, or why there are none. */
#ifndef LB_DECODE_FRAME_H
#define LB_DECODE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Why an address has no source line. A miss is data: it travels with the
 * address into the profile and is counted under every report.
 * Stored in files by its name, never by its number.
 */
enum miss {
	MISS_NONE, /* it has a line */
	MISS_NO_PROCESS, /* the process ended before it was identified */
	MISS_NO_MAPPING, /* nothing executable was known at this address */
	MISS_AMBIGUOUS_TIME, /* the address changed its owner while it was sampled */
	MISS_FILE_GONE, /* the mapped file could not be opened */
	MISS_FILE_REPLACED, /* the file is not the one that was mapped (build id) */
	MISS_TOO_MANY_FILES, /* not opened: the table of open files is full */
	/* a mapped file, a perf map or a jitdump was not opened: it, its process or others of
	 * its tenant were slow */
	MISS_FILE_LATE,
	MISS_BAD_FILE, /* malformed ELF */
	MISS_BAD_DEBUG_INFO, /* malformed DWARF, or of an unknown version */
	MISS_DECODER_GAVE_UP, /* the decoder died, or met its deadline or memory limit */
	MISS_NO_SYMBOLS, /* no symbol covers the address */
	MISS_NO_DEBUG_INFO, /* a symbol, but no debug info was found */
	MISS_NO_LINE, /* debug info without a line for this address */
	MISS_NO_DWZ, /* the shared part of the debug info (dwz) was not found */
	MISS_NO_DWO, /* the split part of the debug info (.dwo) was not found */
	MISS_JIT_UNKNOWN, /* anonymous code without any description */
	MISS_JIT_LOST, /* same, and some registrations of the process were lost */
	MISS_JIT_NO_LINES, /* the runtime names the function, not the line */
	MISS_JIT_FILE_REFUSED, /* perf map or jitdump was unsafe to read, or garbage */
	MISS_KERNEL, /* kernel code: function only */
	MISS_KERNEL_HIDDEN, /* kernel addresses are hidden (kptr_restrict) */
	MISS_PYTHON_LOST, /* a Python function: its code object was not copied */
	MISS_PYTHON_CUT, /* line table too long to copy, and the process is gone */
	MISS_INTERPRETER, /* C code of an interpreter, with no interpreter frame near */
	MISS_C_RUNTIME, /* C runtime code, with callers unknown or not to be charged */
	MISS_NO_STACK, /* the sample carries no address to look up */
	MISS_LIMIT, /* a table of the profiler was full */
	MISS_OTHER_TOOL, /* the tool that wrote the profile stored no line */
	NR_MISSES,
};

/** Stable name ("no-debug-info"), for JSON and files. */
const char *miss_name(enum miss miss);
/** Returns the miss of that name, or NR_MISSES. */
enum miss miss_from_name(const char *name);
/** One sentence for people: what happened. */
const char *miss_text(enum miss miss);
/** One sentence for people: what to do about it; "" when nothing can be done. */
const char *miss_remedy(enum miss miss);

/* How to look up an address. */
enum frame_kind {
	FRAME_LEAF, /* the interrupted instruction */
	FRAME_RETURN, /* a return address: of the instruction after the call */
};

/** Returns the address to look up. Only this function subtracts 1 in user space. */
static inline uint64_t frame_lookup(uint64_t address, enum frame_kind kind)
{
	return kind == FRAME_RETURN ? address - 1 : address;
}

/* One source frame; several at one address when code was inlined. */
struct frame {
	const char *function; /* readable; "" not known */
	const char *system_name; /* mangled, or the runtime's; "" same or not known */
	const char *file; /* the compiler's path, joined with its directory; "" */
	uint32_t line; /* 1-based; 0: none */
	uint32_t start_line; /* of the function's declaration; 0: not known */
	bool inlined; /* this frame was inlined into the next one */
};

#define FRAMES_MAX_INLINE 64 /* frames at one address; deeper chains lose the middle */

/*
 * The machine code of a sampled function, with the line of each part. Used to find
 * lines without code, and for the instruction view.
 *
 * One row of a function's line table. @frame is the innermost frame with a line of the
 * code from @address to the next row, or to the end of the code.
 *
 * A row of length 0 (the next row or the end has the same address) only marks its line
 * as having code elsewhere: a call that was inlined from here on, whose code has the
 * lines of the callee; at the end of the code, a line whose code is in another piece.
 */
struct code_row {
	uint64_t address; /* vaddr in the file; of a JIT: run-time address */
	struct frame frame; /* line 0: no line */
};

/* One contiguous piece of code; a function split in hot and cold parts is two. */
struct code {
	uint64_t address, size_bytes; /* [address, address + size_bytes) */
	/* Ascending, possibly equal (rows of length 0). rows[0].address >= address. */
	const struct code_row *rows;
	size_t nr_rows; /* > 0 */
	const uint8_t *bytes; /* size_bytes of machine code; NULL: it is in the file */
};

#define CODE_MAX_BYTES (1u << 20) /* of one piece; larger ones are left out */
#define CODE_MAX_ROWS  65536 /* same */

enum instruction_flow {
	INSTRUCTION_ON, /* to the next instruction, or nowhere (a return, a trap) */
	INSTRUCTION_JUMP, /* conditional or not */
	INSTRUCTION_CALL,
	NR_INSTRUCTION_FLOWS,
};

/* One instruction of a piece of code. */
struct instruction {
	uint64_t address;
	uint32_t size_bytes; /* at least 1 */
	enum instruction_flow flow;
	bool has_target; /* the instruction contains the target of the jump or call */
	uint64_t target; /* 0 without one */
	/* Hostile. "mov eax, dword ptr [rdi]", or ".byte 0x06": no instruction */
	const char *text;
};

#endif
