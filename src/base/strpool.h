/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every name and path is interned once: valid for the whole run, compared by pointer.
 */
#ifndef LB_BASE_STRPOOL_H
#define LB_BASE_STRPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/quota.h"

struct strpool;

#define POOL_MAX_BYTES (512u << 20) /* of a profile's names, or of a recording's */

/**
 * @max_bytes  most bytes of text and index (40 a string); > 0
 * Return: NULL when out of memory.
 */
struct strpool *strpool_new(size_t max_bytes);
void strpool_free(struct strpool *pool);
DEFINE_CLEANUP(struct strpool, strpool_free);

/** Nobody but root gets more than a quarter of the bytes (base/quota.h). Call it first. */
void strpool_share(struct strpool *pool);
/** @who pays for new strings from now on; at first root. */
void strpool_serve(struct strpool *pool, struct tenant who);
/** The same, if any of them pays. */
void strpool_serve_any(struct strpool *pool, const struct payers *payers);
/** quota_each_refused() of it. */
void strpool_each_refused(struct strpool *pool, quota_refused_fn fn, void *ctx);

/**
 * Returns the interned copy of @s. Never NULL: if the pool, or a tenant's part of it, is
 * full, or out of memory, it is the text "[too many names]" and the loss is counted. NULL
 * gives "".
 */
const char *strpool_add(struct strpool *pool, const char *s);

/**
 * Adds a string of the pool that this one replaces: it counts for who is served, who is
 * not refused it, but gets no new ones while over its part.
 */
const char *strpool_move(struct strpool *pool, const char *s);

/**
 * Adds another string with the same text, at an address of its own. If there is no
 * room: like strpool_add().
 */
const char *strpool_add_namesake(struct strpool *pool, const char *s);

/** Like strpool_add() for @len bytes, cut at the first NUL. */
const char *strpool_add_n(struct strpool *pool, const char *s, size_t len);

/** The same for formatted text, cut at 8 KiB. */
__attribute__((format(printf, 2, 3))) const char *strpool_print(struct strpool *pool,
								const char *fmt, ...);

/** Returns how many names did not fit. */
uint64_t strpool_nr_dropped(const struct strpool *pool);

#endif
