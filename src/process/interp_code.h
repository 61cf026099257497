/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampled code objects of interpreters, copied by the kernel side (struct
 * lb_interp_code), for all images. They name frames after the process is gone.
 */
#ifndef LB_PROCESS_INTERP_CODE_H
#define LB_PROCESS_INTERP_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/quota.h"
#include "lineburn_unwind.h"

/* Texts and tables, deduplicated over all images. */
struct interp_store {
	uint64_t max_bytes;
	struct stored_text **texts; /* by number; stats.nr_texts of them */
	size_t cap_texts;
	struct hashmap by_content;
	struct quota quota; /* of max_bytes */
	struct interp_store_stats {
		uint64_t nr_texts, nr_bytes; /* held */
		uint64_t nr_refused; /* code objects and texts, over the maximum */
	} stats;
};

#define INTERP_STORE_DEFAULT_BYTES (64ull << 20)
#define INTERP_MAX_CODES           65536 /* of one image */

/* @max_bytes  of texts and their index */
int interp_store_new(uint64_t max_bytes, struct interp_store **ret);
/** Nobody but root gets more than a quarter of the bytes. Call it first. */
void interp_store_share(struct interp_store *s);
/** Frees the store. Call it after freeing all interp_codes that use it. */
void interp_store_free(struct interp_store *s);
DEFINE_CLEANUP(struct interp_store, interp_store_free);

/* Bytes in the store. */
struct interp_text {
	const uint8_t *bytes; /* owned by the store; NULL: none */
	uint32_t len; /* in bytes: a multiple of width */
	uint8_t width; /* bytes a char: 1 (Latin-1), 2, 4; tables: 1; 0: none */
	bool is_cut; /* the text is longer than what was copied */
};

struct interp_code {
	uint64_t code_id;
	uint64_t code_addr, table_addr; /* in the target */
	uint32_t version;
	uint32_t first_line;
	struct interp_text file, name, table;
	bool is_cut; /* a text is cut: read it again while the process lives */
};

/* Code objects of one image; embedded in struct process. Zero-initialised: empty. */
struct interp_codes {
	struct interp_store *store; /* holds all that was added; NULL: empty */
	struct tenant tenant; /* pays for it: interp_codes_charge() */
	struct interp_code *items;
	size_t nr, cap;
	struct hashmap by_id;
	uint64_t nr_lost; /* no room, or no memory */
	size_t nr_cut; /* items with is_cut */
};
/** Lets @who pay for the code objects, also for those that are here. */
void interp_codes_charge(struct interp_codes *c, struct tenant who);
/** Releases its references to the store. */
void interp_codes_deinit(struct interp_codes *c);

/**
 * Adds a code object, or completes the cut texts of a known one. Validates @record,
 * which has @size_bytes. Always pass the same store.
 * Return: 0, -EINVAL (malformed), or -ENOSPC or -ENOMEM, counted as lost.
 */
int interp_codes_add(struct interp_codes *c, struct interp_store *s,
		     const struct lb_interp_code *record, size_t size_bytes);

/**
 * Replaces cut texts of the code object with @whole's code_id by copies of @whole's,
 * unless addresses or first line differ (another code object has the id now).
 * Afterwards it is not read again, even if still cut.
 */
void interp_codes_complete(struct interp_codes *c, const struct interp_code *whole);
/** Do not read its cut texts again. */
void interp_codes_give_up(struct interp_codes *c, uint64_t code_id);
void interp_codes_give_up_all(struct interp_codes *c);

/** Finds one; NULL: not known. Borrowed until the next one is added or completed. */
const struct interp_code *interp_codes_find(const struct interp_codes *c,
					    uint64_t code_id);

#endif
