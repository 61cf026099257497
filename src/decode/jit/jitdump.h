/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and lines of addresses, from a jitdump in memory. */
#ifndef LB_DECODE_JIT_JITDUMP_H
#define LB_DECODE_JIT_JITDUMP_H

#include "decode/answer.h"
#include "decode/jit/query.h"
#include "decode/jit/record.h"

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
