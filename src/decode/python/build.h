/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about the CPython in a file, for RUNTIME_PYTHON. */
#ifndef LB_DECODE_PYTHON_BUILD_H
#define LB_DECODE_PYTHON_BUILD_H

#include <stdint.h>

/* Facts about an executable or a libpython. */
struct python_build {
	/* PY_VERSION_HEX >> 16, 0x0309 and later; 0: only a name of the file tells it. */
	uint32_t version;
	/*
	 * Each is a vaddr - (vaddr of the file's first executable segment - its file
	 * offset). Adding the bias of that segment's mapping gives the run-time
	 * address.
	 */
	uint64_t runtime_off; /* of _PyRuntime */
	uint64_t eval_off, eval_bytes; /* of _PyEval_EvalFrameDefault; 0: not known */
};

/** Returns the version that a file's name tells, as in python_build; 0: none. */
uint32_t python_version_of_name(const char *path);

#endif
