/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and lines of addresses, from a jitdump in memory. */
#ifndef LB_DECODE_JIT_JITDUMP_H
#define LB_DECODE_JIT_JITDUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/answer.h"
#include "decode/jit/query.h"

struct jitdump {
	const uint8_t *bytes; /* borrowed */
	uint64_t len;
	uint64_t first_off; /* of the first record */
	/* Times are of a CPU's counter (flag bit 0): not comparable with samples. */
	bool arch_time;
	/* V8 marks the header's pad with 0xdeadbeef; others leave 0 or garbage. */
	bool is_v8;
};

/** Return: false when these bytes are no jitdump of this machine. */
bool jitdump_open(const void *bytes, uint64_t len, struct jitdump *ret);

/**
 * Answers every query, by its index, in @a. Pure.
 *
 * @pool        gets the names that queries hit
 * @ret_nr_bad  records that were malformed or cut, lines that could not be used
 * Return: 0, -E2BIG (too many claims, or too many moved functions) or -ENOMEM.
 */
int jitdump_resolve(const struct jitdump *jd, struct queries *queries,
		    struct strpool *pool, struct answer_writer *a, uint64_t *ret_nr_bad);

#endif
