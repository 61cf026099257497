/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: records of a jitdump file (Linux: tools/perf/Documentation/
 * jitdump-specification.txt, version 1). Pure over (bytes, length).
 */
#ifndef LB_SYMBOLIZE_JIT_JITDUMP_H
#define LB_SYMBOLIZE_JIT_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitdump {
	const uint8_t *data;
	size_t len;
	size_t at; /* of the next record */
	bool timeless; /* times are of another clock (header flag ARCH_TIMESTAMP) */
	uint64_t
		nr_bad; /* records that lie about themselves, a truncated tail included */
};

enum jitdump_kind {
	JITDUMP_LOAD,
	JITDUMP_MOVE,
	JITDUMP_OTHER,
};

struct jitdump_record {
	enum jitdump_kind kind;
	uint64_t time_ns;
	uint64_t addr, size; /* LOAD, MOVE: where the code is now: [addr, addr + size) */
	uint64_t index; /* of the code; MOVE names its LOAD by it */
	const char *name; /* LOAD: terminated within the record */
	size_t at; /* of the record in the file */
	size_t debug_at; /* LOAD: its DEBUG_INFO record, which stands before it; 0: none */
};

/** Return: 0, or -EBADMSG when the header is not that of a jitdump of this machine. */
int jitdump_open(const void *data, size_t len, struct jitdump *ret);

/** The next record. Return: false at the end, also when the rest is not a record. */
bool jitdump_next(struct jitdump *d, struct jitdump_record *ret);

struct jitdump_line {
	const char *file; /* terminated within the record, or @own_file */
	uint32_t line;
};

/**
 * The source line of @ip in the code of @load, from its DEBUG_INFO record.
 * V8 writes addresses 0x40 too high (room for an ELF header), and has already
 * freed the first 16 bytes of each file name when it writes it: a name is taken
 * for @own_file if its length and its remaining bytes agree.
 *
 * @offset    of the address asked about from the start of the code
 * @own_file  of the function, from its name; "" not known
 * Return: false when no entry tells.
 */
bool jitdump_find_line(const struct jitdump *d, const struct jitdump_record *load,
		       uint64_t offset, const char *own_file, bool is_v8,
		       struct jitdump_line *ret);

/** The LOAD record at @at, as jitdump_next() gave it. */
bool jitdump_load_at(const struct jitdump *d, size_t at, size_t debug_at,
		     struct jitdump_record *ret);

#endif
