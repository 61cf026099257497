// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/requests.h"

const worker_op operations[NR_OPERATIONS] = {
	[DECODER_ELF] = elf_serve,
	[DECODER_PERF_MAP] = perfmap_serve,
	[DECODER_JITDUMP] = jitdump_serve,
	[DECODER_GDBJIT] = gdbjit_serve,
	[DECODER_INSPECT] = inspect_serve,
	[DECODER_PYTHON_DEFS] = python_defs_serve,
	[DECODER_DISASSEMBLE] = instructions_serve,
	[DECODER_CFI] = cfi_serve,
	[DECODER_CFI_JIT] = cfi_jit_serve,
	[DECODER_PYTHON_CODE] = python_code_serve,
	[READER_JIT_LIST] = list_serve,
	[READER_PYTHON_STATE] = python_state_serve,
	[READER_PYTHON_CODE] = python_code_read_serve,
	[OPENER_LOOK] = opener_serve,
};
