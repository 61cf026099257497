/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that a V8 jitdump knows by their full names, to tell which one a
 * damaged name (record.h) was. Never a guess: either exactly one is possible, or
 * the line has no file.
 */
#ifndef LB_DECODE_JIT_SCRIPTS_H
#define LB_DECODE_JIT_SCRIPTS_H

#include "base/cleanup.h"
#include "base/strpool.h"
#include "decode/jit/record.h"

#define SCRIPTS_MAX           65536 /* files; more are not recovered */
#define SCRIPTS_MAX_POSITIONS (1u << 20) /* of files with short names; same */

struct scripts;

/**
 * Reads the whole dump once. @pool is borrowed and gets the paths.
 * Return: NULL when out of memory.
 */
struct scripts *scripts_new(const struct jitdump *jd, struct strpool *pool);
void scripts_free(struct scripts *s);
DEFINE_CLEANUP(struct scripts, scripts_free);

/** The file (as V8 wrote it, interned) that a damaged entry means, or NULL. */
const char *scripts_find(const struct scripts *s, const struct debug_entry *entry);

#endif
