// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/decoder.h"

const worker_op decoder_ops[NR_DECODER_OPS] = {
	[DECODER_ELF] = elf_serve,
	[DECODER_PERF_MAP] = perfmap_serve,
	[DECODER_JITDUMP] = jitdump_serve,
	[DECODER_GDBJIT] = gdbjit_serve,
	[DECODER_JIT_SYMBOLS] = hook_point_serve,
	[DECODER_PYTHON_DEFS] = python_defs_serve,
	[DECODER_DISASSEMBLE] = instructions_serve,
	[READER_JIT_LIST] = list_serve,
};
