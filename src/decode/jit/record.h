/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a jitdump, version 1, as in tools/perf/Documentation/
 * jitdump-specification.txt of Linux, and as runtimes really write them. Bytes in
 * host order; the other order is refused by the magic. Everything here is pure
 * and reads within [bytes, bytes + len) only, also when the bytes change meanwhile.
 */
#ifndef LB_DECODE_JIT_RECORD_H
#define LB_DECODE_JIT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_id {
	RECORD_LOAD = 0, /* code came */
	RECORD_MOVE = 1, /* code moved, its description with it */
	RECORD_DEBUG_INFO = 2, /* lines of the LOAD that follows */
	RECORD_CLOSE = 3, /* the writer was done; others may follow */
	RECORD_UNWINDING = 4, /* .eh_frame of the LOAD that follows */
};

struct jitdump {
	const uint8_t *bytes; /* borrowed */
	uint64_t len;
	uint64_t first_off; /* of the first record */
	/* Times are of a CPU's counter (flag bit 0): not comparable with samples. */
	bool arch_time;
	/* V8 marks the header's pad with 0xdeadbeef; others leave 0 or garbage. */
	bool is_v8;
};

struct record {
	uint32_t id; /* enum record_id or one we do not know */
	uint64_t off, size; /* in the file, header included; all of it is there */
	uint64_t time_ns; /* CLOCK_MONOTONIC unless arch_time */
};

/** Return: false when these bytes are no jitdump of this machine. */
bool jitdump_open(const void *bytes, uint64_t len, struct jitdump *ret);

enum record_next {
	RECORD_OK,
	RECORD_END, /* the file ends where a record ends */
	RECORD_CUT, /* it ends within a record, or the record's size is a lie */
};

/** Reads the record at *off and moves *off behind it. Unknown ids are returned too. */
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

struct debug_entry {
	uint64_t ip; /* as written: V8's are 0x40 too high, see lines.c */
	uint32_t line; /* 1-based; 0: no line from here on (Erlang) */
	uint32_t column; /* V8 only; elsewhere a discriminator */
	const char *file; /* into the bytes, not terminated */
	size_t file_len;
	bool damaged; /* the first 16 bytes of the name (or all) are not the name's */
};

/* Walks the entries of one DEBUG_INFO. */
struct debug_iter {
	const struct jitdump *jd;
	uint64_t pos, end;
	uint64_t nr_left;
	uint64_t low_ip, high_ip; /* where entries of this code can be: [low, high] */
	size_t own_file_len; /* of the file that the code's own name tells; 0 unknown */
	const char *file; /* of the entry before */
	size_t file_len;
	bool damaged;
	bool broken; /* it ended early: nothing behind can be believed */
};

/**
 * @load           the code that @rec describes
 * @own_file_len   length of the file in the code's name, 0 if it has none
 * Return: false when malformed.
 */
bool debug_iter_init(struct debug_iter *it, const struct jitdump *jd,
		     const struct record *rec, const struct record_load *load,
		     size_t own_file_len);

/** Return: false at the end; then it->broken tells whether all was well. */
bool debug_iter_next(struct debug_iter *it, struct debug_entry *ret);

#endif
