/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables in kernel maps (lineburn_unwind.h): rows, pages, rules, segments and
 * processes. Knows nothing of files: the caller says what to put where.
 *
 * What a running BPF program may still look at is not used again before
 * unwind_tables_grace(): the caller calls it in each drain, once that has waited for
 * all running programs.
 */
#ifndef LB_UNWIND_TABLES_H
#define LB_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/kmap.h"
#include "lineburn_unwind.h"
#include "unwind/ask.h"

struct unwind_tables;

struct unwind_tables_config {
	uint64_t
		max_row_bytes; /* of kernel memory for rows; 0: 64 MiB; at least one slab */
};

/** @maps is copied, its descriptors are borrowed. Return: 0, -ENOMEM or -errno. */
int unwind_tables_new(const struct unwind_tables_config *config,
		      const struct unwind_kmaps *maps, struct unwind_tables **ret,
		      struct error *err);
void unwind_tables_free(struct unwind_tables *t);
DEFINE_CLEANUP(struct unwind_tables, unwind_tables_free);

/* ---- objects: runs of pages ---- */

#define UNWIND_NO_OBJECT UINT32_MAX

/**
 * Makes room for @nr_pages pages, all absent. Return: its first page, which is its name,
 * or UNWIND_NO_OBJECT, counted: no room.
 */
uint32_t unwind_object_add(struct unwind_tables *t, uint64_t nr_pages);
/** Its pages and rows are given back. No segment may refer to it any more. */
void unwind_object_remove(struct unwind_tables *t, uint32_t object);

/**
 * Fills pages of @object. With @pages->whole, pages of the object that are not there
 * become empty; else those of @asked (page numbers) that are not there do. Makes room by
 * evicting the pages that were used least lately; they become absent.
 * Return: 0, or -ENOSPC (counted) with a part filled.
 */
int unwind_object_fill(struct unwind_tables *t, uint32_t object,
		       const struct row_pages *pages, const uint64_t *asked,
		       size_t nr_asked);

/** Has @page (number in @object) neither rows nor is it known to be empty? */
bool unwind_page_is_absent(const struct unwind_tables *t, uint32_t object, uint64_t page);

/* ---- processes ---- */

/**
 * Replaces what is known of @image. @segments is copied; must be sorted and disjoint.
 * Equal runs of different images are kept once. Return: 0, -ENOSPC (counted) or -errno.
 */
int unwind_process_set(struct unwind_tables *t, const struct lb_image *image,
		       const struct lb_unwind_segment *segments, size_t nr,
		       uint32_t interp, int32_t interp_tls_off, uint64_t interp_bias);
/** It is gone, or is another. */
void unwind_process_remove(struct unwind_tables *t, const struct lb_image *image);
/** Number + 1 of this layout in the kernel's table; 0: no room. */
uint32_t unwind_interp_add(struct unwind_tables *t, const struct lb_interp *interp);

/* ---- upkeep ---- */

/** No program that ran before this call still runs: what was given back may be used. */
void unwind_tables_grace(struct unwind_tables *t);

struct unwind_tables_stats {
	uint64_t nr_objects, nr_pages, nr_rows, nr_rules; /* held now */
	uint64_t nr_processes, nr_segments;
	uint64_t nr_evicted; /* pages, so far */
	uint64_t
		nr_refused_rules; /* rules over the maximum: those rows are unsupported */
	uint64_t nr_refused_pages; /* over a maximum */
	uint64_t nr_refused_processes;
	uint64_t row_bytes; /* kernel memory that the slabs of rows take */
};
void unwind_tables_stats(const struct unwind_tables *t, struct unwind_tables_stats *ret);

#endif
