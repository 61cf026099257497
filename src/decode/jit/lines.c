// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An address has the line of the entry with the greatest address at or below it.
 * Before the first entry there is no line: a prologue has no entry in some
 * runtimes, and the function's start line is said anyway.
 *
 * - V8 adds 0x40, the size of an ELF header, to each entry's address, for the sake
 *   of "perf inject", which puts one before the code (its constant is
 *   kElfHeaderSize; seen in all 25 records of Node 20: the first entry of
 *   optimised code, the function's own start, is at 0x40). Nobody else does: the
 *   shift is taken off when every entry is at 0x40 or above, in V8's dumps always,
 *   elsewhere only when the entries do not fit the code without it.
 * - V8's baseline code (names "JS:^f") has a DEBUG_INFO whose "addresses" are
 *   offsets in the bytecode: for hot.js exactly those that --print-bytecode lists
 *   (0, 2, 4, 6, 11, 14 ...) where the machine code is six times as long. Taken as
 *   addresses they would charge wrong lines, so this code has none.
 * - Entries of inlined functions carry the inlined line and file. The frame has
 *   them, under the name of the outer function: a jitdump does not name others.
 */
#include "decode/jit/lines.h"

#include <errno.h>

#include "decode/jit/name.h"

#define V8_SHIFT 0x40 /* sizeof(Elf64_Ehdr) */
#define MAX_LINE INT32_MAX

void line_source_deinit(struct line_source *s)
{
	scripts_free(s->scripts);
	s->scripts = NULL;
}

/*
 * By how much the entries are too high, from a first reading of the record.
 * Return: false when the record is malformed.
 */
static bool entry_shift(struct debug_iter it, const struct record_load *load,
			uint64_t *ret)
{
	uint64_t lowest = UINT64_MAX, highest = 0;
	struct debug_entry e;
	bool above;

	while (debug_iter_next(&it, &e)) {
		if (e.ip < lowest)
			lowest = e.ip;
		if (e.line && e.ip > highest)
			highest = e.ip;
	}
	if (it.broken)
		return false;
	above = lowest >= load->start_ip && lowest - load->start_ip >= V8_SHIFT;
	if (!it.jd->is_v8)
		above = above && highest - load->start_ip >= load->size_bytes &&
			highest - load->start_ip - V8_SHIFT < load->size_bytes;
	*ret = above ? V8_SHIFT : 0;
	return true;
}

/* The first hit at or above @ip. */
static size_t first_hit(const struct line_hit *hits, size_t nr, uint64_t ip)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (hits[mid].ip < ip)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Each entry is left with the first hit that it covers, the highest one stays;
 * then it holds for the hits above as well, up to one with a better entry.
 */
static void find_entries(struct debug_iter *it, uint64_t shift, struct line_hit *hits,
			 size_t nr)
{
	struct debug_entry e;

	while (debug_iter_next(it, &e)) {
		size_t i;

		e.ip -= e.ip > shift ? shift : e.ip;
		i = first_hit(hits, nr, e.ip);
		if (i < nr && (!hits[i].has_entry || e.ip >= hits[i].entry.ip)) {
			hits[i].entry = e;
			hits[i].has_entry = true;
		}
	}
	for (size_t i = 1; i < nr; i++) {
		if (!hits[i - 1].has_entry ||
		    (hits[i].has_entry && hits[i].entry.ip >= hits[i - 1].entry.ip))
			continue;
		hits[i].entry = hits[i - 1].entry;
		hits[i].has_entry = true;
	}
}

/* Return: 1 if the file of a damaged entry could not be told, 0, or -ENOMEM. */
static int name_line(struct line_source *s, struct line_hit *hit)
{
	const struct debug_entry *e = &hit->entry;
	const char *file = NULL;

	if (!hit->has_entry || !e->line || e->line > MAX_LINE || !e->file_len)
		return 0;
	if (!e->damaged) {
		size_t len = e->file_len < JIT_NAME_MAX_BYTES ? e->file_len
							      : JIT_NAME_MAX_BYTES;

		file = strpool_add_n(s->pool, e->file, len);
	} else {
		if (!s->scripts)
			s->scripts = scripts_new(s->jd, s->pool);
		if (!s->scripts)
			return -ENOMEM;
		file = scripts_find(s->scripts, e);
	}
	if (!file)
		return 1;
	hit->file = file;
	hit->line = e->line;
	return 0;
}

int line_source_resolve(struct line_source *s, const struct record *debug,
			const struct record_load *load, struct line_hit *hits, size_t nr)
{
	struct debug_iter it;
	struct jit_name name;
	uint64_t shift;
	bool lost = false;

	jit_name_split(load->name, load->name_len, &name);
	if (name.bytecode_positions && s->jd->is_v8)
		return 0;
	if (!debug_iter_init(&it, s->jd, debug, load, name.file_len) ||
	    !entry_shift(it, load, &shift)) {
		s->nr_bad++;
		return 0;
	}
	find_entries(&it, shift, hits, nr);
	for (size_t i = 0; i < nr; i++) {
		int rc = name_line(s, &hits[i]);

		if (rc < 0)
			return rc;
		lost |= rc;
	}
	s->nr_bad += lost;
	return 0;
}
