/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests that a decoder serves (worker/worker.h), and their operations. */
#ifndef LB_SYMBOLIZE_DECODER_H
#define LB_SYMBOLIZE_DECODER_H

#include "worker/worker.h"

enum decoder_op {
	DECODER_ELF, /* elf.c: addresses in an ELF file */
	DECODER_PERF_MAP, /* jit/perfmap.c: addresses in a perf map */
	DECODER_JITDUMP, /* jit/jitdump.c: addresses in a jitdump */
	DECODER_GDBJIT, /* jit/gdbjit.c: addresses in objects that a JIT registered */
	DECODER_JIT_SYMBOLS, /* jit/hook_point.c: where a file has the GDB JIT interface */
	READER_JIT_LIST, /* jit/list.c: what is registered now (WORKER_READER only) */
	NR_DECODER_OPS,
};

/* For worker_main(). */
extern const worker_op decoder_ops[NR_DECODER_OPS];

/*
 * DECODER_ELF. Request: u32 flags, bytes expected build id (empty: any), with
 * ELF_REQUEST_CODE u32 nr_code, u32 nr, nr * u64 address. fds[0]: the file.
 * Reply: u32 object miss (enum miss: MISS_NONE, or why nothing could be read),
 * bytes build id, u64 vaddr of the executable segment that holds the first
 * address, u64 its file offset, u64 its size, then an answer (answer.h).
 * An address is a file offset, or a vaddr with ELF_REQUEST_VADDR.
 */
#define ELF_REQUEST_VADDR    (1u << 0)
#define ELF_REQUEST_NO_LINES (1u << 1) /* symbols only */
/* The answer has the code of the functions that hold the first nr_code addresses. */
#define ELF_REQUEST_CODE (1u << 2)
int elf_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
	      size_t nr_fds, struct wire_writer *reply);

/*
 * DECODER_PERF_MAP. Request: u32 nr_sizes, nr_sizes * {u64 time_ns, u64 size_bytes},
 * u32 nr, nr * {u64 ip, u64 first_ns, u64 last_ns}. fds[0]: the file.
 * Reply: u32 object miss, u64 nr_bad_lines, an answer.
 */
int perfmap_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply);

/*
 * DECODER_JITDUMP. Request: u32 nr, nr * {u64 ip, u64 first_ns, u64 last_ns}.
 * fds[0]: the file. Reply: u32 object miss, u64 nr_bad_records, an answer.
 * An address that the dump does not describe is MISS_JIT_UNKNOWN.
 */
int jitdump_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply);

/*
 * DECODER_GDBJIT. Request: u32 nr_objects, nr_objects * {u64 offset, u64 size_bytes,
 * u64 from_ns, u64 until_ns}, u32 nr, nr * {u64 ip, u64 first_ns, u64 last_ns}.
 * fds[0]: the objects, one behind the other. Reply: u32 object miss, u64 nr_bad_objects,
 * an answer. An address that no object has is MISS_JIT_UNKNOWN; one whose owner
 * changed in [first_ns, last_ns] is MISS_AMBIGUOUS_TIME; one in an object without
 * lines has its function, and MISS_JIT_NO_LINES.
 */
int gdbjit_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		 size_t nr_fds, struct wire_writer *reply);

/*
 * DECODER_JIT_SYMBOLS. Request: nothing. fds[0]: an ELF file. Reply: u32 found (0 or
 * 1), u64 file offset of __jit_debug_register_code, u64 its vaddr, u64 vaddr of
 * __jit_debug_descriptor. .symtab first, then .dynsym: where LLVM is linked
 * statically both are local symbols.
 */
int hook_point_serve(struct worker_call *call, struct wire_reader *request,
		     const int *fds, size_t nr_fds, struct wire_writer *reply);

/*
 * READER_JIT_LIST. Request: u32 pid, u64 address of __jit_debug_descriptor, u32 nr,
 * nr * {u64 entry_addr, u64 symfile_addr, u64 size_bytes}: objects that need not be
 * sent again. Reply: u32 walk result (enum list_walk of jit/list.h), u32 nr, nr *
 * {u64 entry_addr, u64 symfile_addr, u64 size_bytes, bytes object (empty: known, or
 * not to be had)}.
 */
int list_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
	       size_t nr_fds, struct wire_writer *reply);

#endif
