/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perf maps: "START SIZE NAME\n" in hex, as tools/perf/Documentation/jit-interface.txt
 * of Linux describes them and as runtimes really write them (with 0x: OpenJDK, Erlang).
 * Lines are never removed, so a later line wins.
 */
#ifndef LB_DECODE_JIT_PERFMAP_H
#define LB_DECODE_JIT_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strpool.h"
#include "decode/jit/owners.h"

struct perfmap_line {
	uint64_t start_ip, size_bytes; /* does not wrap; size 0 covers nothing */
	const char *name; /* into the text, not terminated */
	size_t name_len; /* 1..JIT_NAME_MAX_BYTES */
};

/** @len without the newline. Pure. Return: false when it is not such a line. */
bool perfmap_parse_line(const char *text, size_t len, struct perfmap_line *ret);

/* The size of the file when the collector looked at it. */
struct perfmap_look {
	uint64_t time_ns, size_bytes;
};

/* One reading of a file from its start to its end, in pieces of any size. */
struct perfmap_scan {
	const struct perfmap_look *looks; /* in order of time; borrowed */
	size_t nr_looks;
	struct queries *queries; /* borrowed; gets the claims */
	struct strpool *pool; /* borrowed; gets the names that queries hit */
	uint64_t offset; /* of the next byte */
	uint64_t nr_lines, nr_bad;
	size_t look; /* the first one that covers the current line */
	char *tail; /* the incomplete line at the end of the last piece */
	size_t tail_len, tail_cap;
	bool tail_too_long; /* it was cut: at its end the line counts as bad */
};

/**
 * A line was written between the last look at which it was not complete and the first
 * one at which it was. If a look saw a smaller file than the look before, the file was
 * rewritten in between, and the earlier looks are ignored.
 */
void perfmap_scan_init(struct perfmap_scan *s, const struct perfmap_look *looks,
		       size_t nr_looks, struct queries *queries, struct strpool *pool);
void perfmap_scan_deinit(struct perfmap_scan *s);

/** Return: 0, -E2BIG (too many claims) or -ENOMEM. An incomplete last line is kept. */
int perfmap_scan_bytes(struct perfmap_scan *s, const char *text, size_t len);

#endif
