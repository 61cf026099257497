/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of all requests that workers serve. decode/requests.h documents request and
 * reply of each; src/decode/requests.c has the table of functions.
 */
#ifndef LB_DECODE_OPERATION_H
#define LB_DECODE_OPERATION_H

enum operation {
	DECODER_ELF, /* addresses in an ELF file */
	DECODER_PERF_MAP, /* addresses in a perf map */
	DECODER_JITDUMP, /* addresses in a jitdump */
	DECODER_GDBJIT, /* addresses in objects that a JIT registered */
	DECODER_INSPECT, /* which runtimes a file has, and where */
	DECODER_PYTHON_DEFS, /* where functions begin in Python source */
	DECODER_DISASSEMBLE, /* a piece of machine code */
	DECODER_CFI, /* unwind rows of a file */
	DECODER_CFI_JIT, /* unwind rows of an object that a JIT registered */
	DECODER_PYTHON_CODE, /* function, file and line of frames of Python */
	READER_JIT_LIST, /* registered objects (WORKER_READER only, as are the next) */
	READER_PYTHON_STATE, /* offsets of a running interpreter, and of its thread states */
	READER_PYTHON_CODE, /* a complete code object */
	OPENER_LOOK, /* files and /proc (WORKER_OPENER only) */
	NR_OPERATIONS,
};

#endif
