/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and lines of addresses, from a jitdump in memory. */
#ifndef LB_DECODE_JIT_JITDUMP_H
#define LB_DECODE_JIT_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/answer.h"
#include "decode/jit/owners.h"

struct jitdump {
	const uint8_t *bytes; /* borrowed */
	uint64_t len;
	uint64_t first_off; /* of the first record */
	/* Times are of a CPU's counter (flag bit 0): not comparable with samples. */
	bool arch_time;
	/* V8 writes 0xdeadbeef into the header's pad; others leave 0 or garbage. */
	bool is_v8;
};

/** Return: false if the bytes are not a jitdump of this machine. */
bool jitdump_open(const void *bytes, uint64_t len, struct jitdump *ret);

enum record_id {
	RECORD_LOAD = 0, /* new code */
	RECORD_MOVE = 1, /* code moved, and keeps its description */
	RECORD_DEBUG_INFO = 2, /* lines of the LOAD that follows */
	RECORD_CLOSE = 3, /* the writer ended; more records may follow */
	RECORD_UNWINDING = 4, /* .eh_frame of the LOAD that follows */
};

struct record {
	uint32_t id; /* enum record_id, or unknown */
	uint64_t off, size; /* in the file, with header; all of it is in the file */
	uint64_t time_ns; /* CLOCK_MONOTONIC unless arch_time */
};

enum record_next {
	RECORD_OK,
	RECORD_END, /* the file ends where a record ends */
	RECORD_CUT, /* the file ends within a record, or a size is invalid */
};

/** Reads the record at *off and moves *off after it. Unknown ids are returned too. */
enum record_next jitdump_next(const struct jitdump *jd, uint64_t *off,
			      struct record *ret);

struct record_load {
	uint64_t start_ip, size_bytes; /* does not wrap */
	uint64_t code_index; /* unique in the dump */
	const char *name; /* into the bytes, not terminated */
	size_t name_len; /* at most JIT_NAME_MAX_BYTES */
};
/** Return: false when malformed. */
bool record_load(const struct jitdump *jd, const struct record *rec,
		 struct record_load *ret);

struct record_move {
	uint64_t old_ip, new_ip, size_bytes; /* neither range wraps */
	uint64_t code_index;
};
bool record_move(const struct jitdump *jd, const struct record *rec,
		 struct record_move *ret);

/**
 * Answers every query, by its index, in @a. Pure.
 *
 * @pool        gets the names that queries hit
 * @ret_nr_bad  number of records that are malformed or cut, or have unusable lines
 * Return: 0, -E2BIG (too many claims, or too many moved functions) or -ENOMEM.
 */
int jitdump_resolve(const struct jitdump *jd, struct queries *queries,
		    struct strpool *pool, struct answer_writer *a, uint64_t *ret_nr_bad);

#endif
