/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds where each thread of a running CPython has the pointer to its thread state. A
 * pure function of the target's memory, which is hostile.
 */
#ifndef LB_DECODE_PYTHON_STATE_H
#define LB_DECODE_PYTHON_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "decode/python/build.h"
#include "decode/python/layout.h"
#include "decode/runtimes.h"

#define PYTHON_MAX_INTERPRETERS  256
#define PYTHON_MAX_THREAD_STATES 1024 /* read from the lists */
#define PYTHON_MAX_THREADS       64 /* whose memory is searched */

/* Bytes searched around a thread pointer. */
#define PYTHON_BYTES_BELOW 8192 /* thread-local variables */
#define PYTHON_BYTES_ABOVE 2048 /* struct pthread */

struct python_search {
	uint32_t version; /* PY_VERSION_HEX >> 16 */
	uint64_t runtime_addr; /* of _PyRuntime */
	/* Return: bytes read, less than @len if the rest is unmapped, or -errno. */
	ssize_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	void *ctx;
};

struct python_state_found {
	struct lb_interp layout; /* eval_lo and eval_hi are 0 */
	int32_t tls_off;
	/* For tests and figures. */
	uint32_t nr_threads; /* with a thread state, whose memory was searched */
	uint32_t nr_candidates; /* offsets at which every thread has a state */
};

/** Return: LOCATE_FOUND with @ret set, LOCATE_NOT_YET, or LOCATE_UNKNOWN. */
enum locate_result python_state_search(const struct python_search *s,
				       struct python_state_found *ret);

#endif
