/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests that a decoder serves (worker/worker.h), and their operations. */
#ifndef LB_SYMBOLIZE_DECODER_H
#define LB_SYMBOLIZE_DECODER_H

#include "worker/worker.h"

enum decoder_op {
	DECODER_ELF, /* elf.c: addresses in an ELF file */
	DECODER_PERF_MAP, /* jit/perfmap.c: addresses in a perf map */
	DECODER_JITDUMP, /* jit/jitdump.c: addresses in a jitdump */
	NR_DECODER_OPS,
};

/* For worker_main(). */
extern const worker_op decoder_ops[NR_DECODER_OPS];

/*
 * DECODER_ELF. Request: u32 flags, bytes expected build id (empty: any),
 * u32 nr, nr * u64 address. fds[0]: the file.
 * Reply: u32 object miss (enum miss: MISS_NONE, or why nothing could be read),
 * bytes build id, u64 vaddr of the executable segment that holds the first
 * address, u64 its file offset, u64 its size, then an answer (answer.h).
 * An address is a file offset, or a vaddr with ELF_REQUEST_VADDR.
 */
#define ELF_REQUEST_VADDR    (1u << 0)
#define ELF_REQUEST_NO_LINES (1u << 1) /* symbols only */
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

#endif
