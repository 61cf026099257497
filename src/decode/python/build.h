/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about a CPython: those of its file, and those of the process that runs it. */
#ifndef LB_DECODE_PYTHON_BUILD_H
#define LB_DECODE_PYTHON_BUILD_H

#include <stdint.h>

/* What a file says: the executable, or libpython. */
struct python_build {
	uint32_t version; /* PY_VERSION_HEX >> 16, 0x0309 and later */
	/*
	 * A vaddr - (vaddr of the file's first executable segment - its file offset): added
	 * to the bias of that segment's mapping they are run-time addresses.
	 */
	uint64_t runtime_off; /* of _PyRuntime */
	uint64_t eval_off, eval_bytes; /* of _PyEval_EvalFrameDefault; 0: not known */
};

enum python_state {
	PYTHON_FOUND,
	PYTHON_NOT_YET, /* no thread state is there yet: ask again, less and less often */
	PYTHON_UNKNOWN, /* a layout that we do not know, or memory that makes no sense */
	PYTHON_NO_ANSWER, /* its memory did not answer in time: do not ask again */
};

#endif
