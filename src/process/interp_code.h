/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code objects of interpreters that were sampled, as the kernel side copied them (struct
 * lb_interp_code), for all images: what names their frames after the process is gone.
 */
#ifndef LB_PROCESS_INTERP_CODE_H
#define LB_PROCESS_INTERP_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "lineburn_unwind.h"

/* The texts and tables, each distinct one once, over all images. */
struct interp_store;

#define INTERP_STORE_DEFAULT_BYTES (64ull << 20)
#define INTERP_MAX_CODES           65536 /* of one image */

/* @max_bytes  of texts and of what refers to them; 0: the default */
int interp_store_new(uint64_t max_bytes, struct interp_store **ret);
/** After the interp_codes that use it. */
void interp_store_free(struct interp_store *s);
DEFINE_CLEANUP(struct interp_store, interp_store_free);

/* Bytes in the store. */
struct interp_text {
	const uint8_t *bytes; /* owned by the store; NULL: none */
	uint32_t len; /* in bytes: a multiple of width */
	uint8_t width; /* bytes a char: 1 (Latin-1), 2, 4; tables: 1; 0: none */
	bool is_cut; /* there was more of it */
};

struct interp_code {
	uint64_t code_id;
	uint64_t code_addr, table_addr; /* in the target */
	uint32_t version;
	uint32_t first_line;
	struct interp_text file, name, table;
	bool is_cut; /* something of it is: read it again while the process lives */
};

/* Of one image; embedded in struct process. All zeroes: nothing. */
struct interp_codes {
	struct interp_store *store; /* of all that was added; NULL: nothing was */
	struct interp_code *items;
	size_t nr, cap;
	struct hashmap by_id;
	uint64_t nr_lost; /* no room, or no memory */
	size_t nr_cut; /* items with is_cut */
};
/** Gives back what it held of the store. */
void interp_codes_deinit(struct interp_codes *c);

/**
 * Notes a code object; one that is known already only fills in what was cut. @record is
 * checked: @size_bytes of it are there. Always with the same store.
 * Return: 0, -EINVAL (malformed), or -ENOSPC or -ENOMEM, counted as lost.
 */
int interp_codes_add(struct interp_codes *c, struct interp_store *s,
		     const struct lb_interp_code *record, size_t size_bytes);

/**
 * Puts the texts of @whole, which are copied, in the place of shorter ones of the code
 * object with its code_id, unless that is another by now (addresses, first line). It is
 * not to be read again after that, whatever is cut still.
 */
void interp_codes_complete(struct interp_codes *c, const struct interp_code *whole);
/** It cannot be read again. */
void interp_codes_give_up(struct interp_codes *c, uint64_t code_id);
void interp_codes_give_up_all(struct interp_codes *c);

/** NULL: not known. Borrowed until the next one is added or completed. */
const struct interp_code *interp_codes_find(const struct interp_codes *c,
					    uint64_t code_id);

struct interp_store_stats {
	uint64_t nr_texts, nr_bytes; /* held */
	uint64_t nr_refused; /* code objects and texts, over the maximum */
};
void interp_store_stats(const struct interp_store *s, struct interp_store_stats *ret);

#endif
