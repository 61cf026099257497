/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests about unwinding that workers serve: what each takes and answers. */
#ifndef LB_UNWIND_SERVE_H
#define LB_UNWIND_SERVE_H

#include "worker/worker.h"

/*
 * DECODER_CFI. Request: u32 nr, nr * u64 page (file offset >> 16). fds[0]: an ELF file,
 * or a memory image of the vdso. Reply: u32 whole, then cfi pages (cfi_pages_write()):
 * those asked for, or, with whole 1, every page of text that has a row, because that is
 * cheap; pages that are not in the reply are empty. What cannot be read is empty too.
 * Callers use unwind/ask.h.
 */
int cfi_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
	      size_t nr_fds, struct wire_writer *reply);

/*
 * DECODER_CFI_JIT. Request: u32 nr, nr * {u64 offset, u64 size_bytes}. fds[0]: objects
 * as registered, one behind the other (process/jit_code.h). Reply: for each u32 nr of
 * text sections, nr * {u64 start, u64 end (run-time addresses), cfi pages}. Its .eh_frame
 * is relocated here, by its own relocations, as the JIT did. Functions that it leaves out
 * (LLVM: where nothing can throw) have rows made from their machine code.
 */
int cfi_jit_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply);

/*
 * DECODER_PYTHON_BUILD. Request: bytes path. fds[0]: an ELF file. Reply: u32 found (0
 * or 1), then the members of struct python_build: u32 version, u64 runtime_off, u64
 * eval_off, u64 eval_bytes. Callers use unwind/python.h.
 */
int python_build_serve(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply);

/*
 * READER_PYTHON_STATE. Request: u32 pid, u32 version, u64 run-time address of
 * _PyRuntime. Reply: u32 enum python_state, the struct lb_python as bytes (eval_lo and
 * eval_hi are 0), u64 python_tls_off. Callers use unwind/python.h.
 */
int python_state_serve(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply);

#endif
