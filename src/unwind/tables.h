/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables in kernel maps (lineburn_unwind.h): rows, pages, rules, segments
 * and processes. They know nothing of files: the caller supplies the contents.
 *
 * Space that a running BPF program may still read is not reused before
 * unwind_tables_grace(), which the caller calls in each drain after waiting for all
 * running programs.
 */
#ifndef LB_UNWIND_TABLES_H
#define LB_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/quota.h"
#include "collect/kmap.h"
#include "lineburn_unwind.h"
#include "unwind/ask.h"

struct unwind_tables;

/**
 * @max_row_bytes  of kernel memory for rows, at least one slab; 0: 64 MiB
 * @maps           copied; its descriptors are borrowed
 * Return: 0, -ENOMEM or -errno.
 */
int unwind_tables_new(uint64_t max_row_bytes, const struct unwind_kmaps *maps,
		      struct unwind_tables **ret, struct error *err);
void unwind_tables_free(struct unwind_tables *t);
DEFINE_CLEANUP(struct unwind_tables, unwind_tables_free);

/**
 * Nobody but root gets more than a quarter (base/quota.h), of rows while others want them.
 * Call it first.
 */
void unwind_tables_share(struct unwind_tables *t);

/** @who pays for what is added next; at first root. */
void unwind_tables_serve(struct unwind_tables *t, struct tenant who);

/** Any of them pays for objects, their rows and files that are added next. */
void unwind_tables_serve_any(struct unwind_tables *t, const struct payers *payers);

/** The process that is served pays for them, also if it shares them with others. */
void unwind_tables_serve_own(struct unwind_tables *t);

/** quota_each_refused() of all tables. */
void unwind_tables_each_refused(struct unwind_tables *t, quota_refused_fn fn, void *ctx);

/* ---- objects: runs of pages ---- */

#define UNWIND_NO_OBJECT UINT32_MAX

/**
 * Adds an object of @nr_pages pages, all absent. Return: its first page, which identifies
 * it, or UNWIND_NO_OBJECT (counted): no room.
 */
uint32_t unwind_object_add(struct unwind_tables *t, uint64_t nr_pages);
/** Frees its pages and rows. No segment may refer to it. */
void unwind_object_remove(struct unwind_tables *t, uint32_t object);

/**
 * Fills pages of @object. Pages missing in @pages become empty: with @pages->whole all
 * of the object, else those in @asked (page numbers). Makes room by evicting pages that
 * were not used recently, which become absent.
 * Return: 0, or -ENOSPC (counted) with a part filled.
 */
int unwind_object_fill(struct unwind_tables *t, uint32_t object,
		       const struct row_pages *pages, const uint64_t *asked,
		       size_t nr_asked);

/** Makes all pages absent. What they get next replaces the rules that CPUs have cached. */
void unwind_object_clear(struct unwind_tables *t, uint32_t object);

/** Same, pages without rows only. */
void unwind_object_clear_empty(struct unwind_tables *t, uint32_t object);

/** From now on these share it: its rows are dropped first only if all have too many. */
void unwind_object_share(struct unwind_tables *t, uint32_t object,
			 const struct payers *payers);

/** Is @page (number in @object) neither filled nor known to be empty? */
bool unwind_page_is_absent(const struct unwind_tables *t, uint32_t object, uint64_t page);

/* ---- processes ---- */

/* What an image has in the tables. Zeroed: nothing. */
struct unwind_entry {
	uint32_t run; /* number of its run of segments; 0: it has no entry */
	struct tenant payer;
};

/**
 * Replaces the entry of @image. Equal runs of different images are stored once.
 *
 * @entry     updated
 * @segments  copied; must be sorted and disjoint
 * Return: 0, -ENOSPC (counted) or -errno; on failure nothing changed.
 */
int unwind_process_set(struct unwind_tables *t, const struct lb_image *image,
		       struct unwind_entry *entry,
		       const struct lb_unwind_segment *segments, size_t nr,
		       uint32_t interp, int32_t interp_tls_off, uint64_t interp_bias);
/** Removes the entry of an image that has exited or changed, if it has one. */
void unwind_process_remove(struct unwind_tables *t, const struct lb_image *image,
			   struct unwind_entry *entry);
/**
 * Takes a reference to a layout in the kernel's table, where it is added if needed.
 * Return: its number (LB_INTERP_NUMBER()); 0: no room, or quota.
 */
uint32_t unwind_interp_get(struct unwind_tables *t, const struct lb_interp *interp);
/** Takes another reference. @number  0: none. Return: @number */
uint32_t unwind_interp_ref(struct unwind_tables *t, uint32_t number);
/** Drops one. No process may have the number any more, but copies by a fork may. */
void unwind_interp_put(struct unwind_tables *t, uint32_t number);
/** @number  of a layout with a reference */
const struct lb_interp *unwind_interp_at(const struct unwind_tables *t, uint32_t number);

/* ---- files ---- */

/**
 * Lets the kernel side use pages of an object for each mapping of a file that has no
 * segment yet. Call unwind_file_unshare() before the object is removed.
 *
 * @ret_payer  who paid
 * Return: 0 or -errno (-E2BIG: no room; -ENOSPC: quota).
 */
int unwind_file_share(struct unwind_tables *t, const struct lb_unwind_file_key *key,
		      const struct lb_unwind_file *file, struct tenant *ret_payer);
/** @payer  of unwind_file_share() */
void unwind_file_unshare(struct unwind_tables *t, const struct lb_unwind_file_key *key,
			 struct tenant payer);

/* ---- maintenance ---- */

/** Reports that no earlier BPF program still runs: freed space may be reused. */
void unwind_tables_grace(struct unwind_tables *t);

/* Current contents of the unwinder, and counters of what happened so far. */
struct unwind_totals {
	uint64_t nr_objects, nr_pages, nr_rows, nr_rules; /* held */
	uint64_t nr_processes, nr_segments; /* same */
	uint64_t row_bytes; /* kernel memory of rows; the sampler owns the other tables */
	uint64_t nr_pages_evicted;
	uint64_t nr_pages_refused; /* over a maximum, like the following ones */
	uint64_t nr_rules_refused; /* their rows are unsupported */
	uint64_t nr_processes_refused, nr_segments_refused;
	uint64_t nr_requests, nr_requests_dropped; /* too many at once */
	uint64_t nr_interps_found;
	uint64_t nr_interps_refused; /* images with an unknown layout or no answer */
	uint64_t nr_asked; /* calls of the decoder for files */
	uint64_t nr_failed; /* files and JIT objects without rows because of a failure */
	uint64_t ask_ns; /* time spent waiting for the decoder */
};

/** Sets the members that the tables count themselves. */
void unwind_tables_totals(const struct unwind_tables *t, struct unwind_totals *ret);

#endif
