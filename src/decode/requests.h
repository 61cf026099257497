/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests that workers serve: format of request and reply, and the function. */
#ifndef LB_DECODE_REQUESTS_H
#define LB_DECODE_REQUESTS_H

#include "decode/operation.h"
#include "worker/worker.h"

/*
 * DECODER_ELF. Request: u32 flags, bytes expected build id (empty: any), u64 root
 * (only with ELF_REQUEST_KEEP), u32 nr_code (only with ELF_REQUEST_CODE), u32 nr,
 * nr * u64 address. fds[0]: the file.
 * Reply: u32 object miss (enum miss: MISS_NONE, or why nothing could be read),
 * bytes build id, u64 vaddr of the executable segment that holds the first
 * address, u64 its file offset, u64 its size, u64 nr_bad_units (of the debug info:
 * malformed, or of an unknown version), then an answer (answer.h).
 * An address is a file offset, or a vaddr with ELF_REQUEST_VADDR.
 */
#define ELF_REQUEST_VADDR    (1u << 0)
#define ELF_REQUEST_NO_LINES (1u << 1) /* symbols only */
/* The answer has the code of the functions that hold the first nr_code addresses. */
#define ELF_REQUEST_CODE (1u << 2)
/*
 * More requests about this file will come soon (decode/dwarf/kept.h). What it needs is the
 * same in those of the same root only.
 */
#define ELF_REQUEST_KEEP (1u << 3)
worker_fn elf_serve;

/*
 * DECODER_PERF_MAP. Request: u32 nr_sizes, nr_sizes * {u64 time_ns, u64 size_bytes},
 * u32 nr, nr * {u64 ip, u64 first_ns, u64 last_ns}. fds[0]: the file.
 * Reply: u32 object miss, u64 nr_bad_lines, an answer.
 */
worker_fn perfmap_serve;

/*
 * DECODER_JITDUMP. Request: u32 nr, nr * {u64 ip, u64 first_ns, u64 last_ns}.
 * fds[0]: the file. Reply: u32 object miss, u64 nr_bad_records, an answer.
 * An address that the dump does not describe is MISS_JIT_UNKNOWN.
 */
worker_fn jitdump_serve;

/*
 * DECODER_GDBJIT. Request: u32 nr_objects, nr_objects * {u64 offset, u64 size_bytes,
 * u64 from_ns, u64 until_ns, u64 seen_ns}, u32 nr, nr * {u64 ip, u64 first_ns, u64
 * last_ns}. fds[0]: the objects, concatenated. Reply: u32 object miss, u64
 * nr_bad_objects, an answer. An address in no object is MISS_JIT_UNKNOWN; one whose
 * owner changed in [first_ns, last_ns] is MISS_AMBIGUOUS_TIME; one in an object without
 * lines has its function, and MISS_JIT_NO_LINES.
 */
worker_fn gdbjit_serve;

/*
 * DECODER_INSPECT. Request: empty. fds[0]: a file. Reply: u32 is_elf (0 or 1), then for
 * each row of decode/runtimes.h bytes: the facts that its inspector found, or empty.
 * Callers use process/file.h.
 */
worker_fn inspect_serve;

/*
 * DECODER_PYTHON_DEFS. Request: u32 nr, nr * string qualified name in its module.
 * fds[0]: Python source. Reply: nr * u32 line of the def, 0: none or several.
 */
worker_fn python_defs_serve;

#define INSTRUCTIONS_MAX_BYTES (1u << 20) /* of one piece; larger ones are refused */
enum instructions_status {
	INSTRUCTIONS_OK,
	INSTRUCTIONS_BAD_FILE, /* no ELF file, or a broken one */
	INSTRUCTIONS_FILE_REPLACED, /* another build id */
	INSTRUCTIONS_NOT_THERE, /* the file has no such address */
	INSTRUCTIONS_UNKNOWN_MACHINE, /* no decoder for it */
	INSTRUCTIONS_TOO_LARGE, /* INSTRUCTIONS_MAX_BYTES */
	INSTRUCTIONS_GAVE_UP, /* the decoder died, or met its deadline or memory limit */
	NR_INSTRUCTIONS_STATUSES,
};
/*
 * DECODER_DISASSEMBLE. Request: u32 machine (EM_*), u64 address, u64 size_bytes,
 * bytes expected build id (empty: any), bytes machine code (empty: that of the ELF
 * file fds[0], of its machine, at vaddr @address). Reply: u32 enum
 * instructions_status, bytes machine code, then {u8 size_bytes, u8 enum
 * instruction_flow, u8 has_target, u64 target, str text} until the sizes add up to
 * that of the code.
 */
worker_fn instructions_serve;

/*
 * READER_JIT_LIST. Request: u32 pid, u64 address of __jit_debug_descriptor, u32 nr,
 * nr * {u64 entry_addr, u64 symfile_addr, u64 size_bytes, u64 ends (jit/list.h)}:
 * objects that need not be sent again. Reply: any number of {u32 1, u64 entry_addr,
 * u64 symfile_addr, u64 size_bytes, u32 state (enum list_state of jit/list.h), bytes
 * object (empty unless LIST_NEW)}, then u32 0, u32 walk result (enum list_walk). It takes
 * at most half of JIT_LIST_CALL_MS unless the target's memory does not answer, and sends
 * at most 16 MiB of objects: LIST_MORE then. Callers use runtime/jit/list_walk.h.
 */
worker_fn list_serve;

/*
 * DECODER_PYTHON_CODE. Request: u32 nr, nr * {u32 version, u32 first line, and file,
 * name and line table, each u8 bytes a char, u8 is cut, bytes}, then u32 nr_frames,
 * nr_frames * {u32 code, u32 index (LB_FRAME_INDEX)}. Reply: u32 object miss, an
 * answer. If the table has no line for a frame, its line is 0 and its miss
 * MISS_NO_LINE, or MISS_PYTHON_CUT if the index is after the end of a cut table. A code
 * object without a file is MISS_PYTHON_LOST.
 */
worker_fn python_code_serve;

#define INTERP_MAX_TEXT_BYTES  4096 /* of a name read by READER_PYTHON_CODE */
#define INTERP_MAX_TABLE_BYTES (1u << 20) /* of a line table, same */
/*
 * READER_PYTHON_CODE. Request: u32 pid, the struct lb_interp as bytes, u32 nr, nr *
 * {u64 address of the code object, u64 of its line table, u32 first line}. Reply: nr *
 * {u8 found, and file, name and line table, each u8 bytes a char, u8 is cut, bytes}.
 * found is 0 if that address no longer holds this code object. Callers use
 * runtime/python/read.h.
 */
worker_fn python_code_read_serve;

/*
 * DECODER_CFI. Request: u32 nr, nr * {u64 page (file offset >> 16), u8 is needed}.
 * fds[0]: an ELF file, or a memory image of the vdso. Reply: u32 whole, cfi pages
 * (cfi_pages_write()), u32 nr, nr * u64 page that was left out. If whole is 0, these are
 * the requested pages; if it is 1, all pages of text that have rows, sent where that is
 * cheap. Other pages are empty. A page that is not needed is left out if its code would
 * have to be disassembled, because that is slow: 2.7 ms a page of OpenBLAS instead of
 * 0.13. Callers use unwind/ask.h.
 */
worker_fn cfi_serve;

/*
 * DECODER_CFI_JIT. Request: u32 nr, nr * {u64 offset, u64 size_bytes}. fds[0]: objects
 * as registered, concatenated (process/jit_code.h). Reply: for each u32 nr of text
 * sections, nr * {u64 start, u64 end (run-time addresses), cfi pages}. The worker
 * relocates .eh_frame by the object's relocations, as the JIT did. Functions that are
 * not in .eh_frame (LLVM omits those that cannot throw) get rows from their machine
 * code.
 */
worker_fn cfi_jit_serve;

/*
 * READER_PYTHON_STATE. Request: u32 pid, u32 version, u64 run-time address of
 * _PyRuntime. Reply: u32 enum locate_result, the struct lb_interp as bytes (eval_lo and
 * eval_hi are 0), u64 interp_tls_off.
 */
worker_fn python_state_serve;

/*
 * OPENER_LOOK. Request: for each descriptor, which is a base: u32 nr, nr * a look
 * (opener/look.h). Reply: the results of all looks; the descriptors of those that have one,
 * in order. Callers use opener/opener.h.
 */
worker_fn opener_serve;

/* The operations that workers serve: the table for worker_main(). */
extern const worker_op operations[NR_OPERATIONS];

#endif
