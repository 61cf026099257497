// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The log of an image's executable mappings.
 *
 * Its entries are disjoint rectangles of address x time: at any time an address has one
 * owner. Two indexes make look-ups fast without a tree: live mappings by address (one
 * binary search answers nearly every sample), and ended mappings by end time (a sample
 * needs only those that ended after its first moment, which is the tail).
 */
#include "process/maps.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/match.h"
#include "base/search.h"
#include "base/vec.h"

/*
 * The text of /proc/PID/maps (proc(5); fs/proc/task_mmu.c, show_map_vma), one mapping a
 * line:
 *
 *   55d0c8a00000-55d0c8a9c000 r-xp 00022000 fe:01 393449    /usr/bin/node
 *   7f8a1c000000-7f8a1c021000 r-xp 00000000 00:00 0
 *   7f8a2c000000-7f8a2c001000 r-xp 00000000 00:01 2048      /memfd:code (deleted)
 *
 * The name extends to the end of the line, including blanks; a newline in it is written
 * \012. Names are untrusted: the owner of the process chose them.
 */

static const char deleted_suffix[] = " (deleted)";

size_t maps_text_without_deleted(const char *name, size_t len)
{
	size_t n = sizeof(deleted_suffix) - 1;

	if (len > n && !memcmp(name + len - n, deleted_suffix, n))
		return len - n;
	return len;
}

/* The convention of tools/perf/Documentation/jitdump-specification.txt. */
static bool is_jitdump_name(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	int n = 0;

	if (!slash)
		return false;
	sscanf(slash + 1, "jit-%*[0-9].dump%n", &n);
	return n && slash + 1 + n == path + len;
}

static enum mapping_kind kind_of(const char *name, size_t len)
{
	size_t stem = maps_text_without_deleted(name, len);

	if (!*name || match_starts(name, "//anon") || match_starts(name, "[anon"))
		return MAPPING_ANON;
	if (match_starts(name, "[heap"))
		return MAPPING_HEAP;
	if (match_starts(name, "[stack"))
		return MAPPING_STACK;
	if (match_starts(name, "[vdso"))
		return MAPPING_VDSO;
	if (name[0] == '[')
		return MAPPING_VSYSCALL;
	/*
	 * The kernel's names of MAP_ANONYMOUS | MAP_HUGETLB and of a private map of
	 * /dev/zero.
	 */
	if (!strcmp(name, "/anon_hugepage (deleted)") || !strcmp(name, "/dev/zero"))
		return MAPPING_ANON;
	if (match_starts(name, "/memfd:") || !strcmp(name, "/dev/zero (deleted)"))
		return MAPPING_MEMFD;
	if (match_starts(name, "/SYSV") && stem < len && stem == strlen("/SYSV00000000"))
		return MAPPING_MEMFD;
	return is_jitdump_name(name, stem) ? MAPPING_JITDUMP : MAPPING_FILE;
}

bool mapping_may_be_jit(const struct mapping *m)
{
	return m->kind == MAPPING_ANON || m->kind == MAPPING_HEAP ||
	       m->kind == MAPPING_MEMFD;
}

void mapping_set_path(struct mapping *m, struct strpool *pool, const char *name)
{
	size_t len = strlen(name);
	size_t stem = *name == '/' ? maps_text_without_deleted(name, len) : len;

	m->kind = kind_of(name, len);
	m->deleted = stem < len;
	if (match_starts(name, "//anon"))
		stem = 0;
	m->path = stem < PATH_MAX ? strpool_add_n(pool, name, stem) : "//toolong";
}

/* The rest of a line. */
struct maps_cursor {
	const char *at, *end;
};

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

/* Reads a number: at least one digit, no overflow, then @stop (consumed). */
static bool take_number(struct maps_cursor *c, unsigned int base, char stop,
			uint64_t *ret)
{
	uint64_t value = 0;
	const char *first = c->at;

	while (c->at < c->end && (unsigned int)digit_of(*c->at) < base) {
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_of(*c->at), &value))
			return false;
		c->at++;
	}
	if (c->at == first)
		return false;
	/* Without a name the inode ends the line. */
	if (c->at < c->end && *c->at++ != stop)
		return false;
	*ret = value;
	return true;
}

/* "r-xp " -> PROT_*, or -1. */
static int take_prot(struct maps_cursor *c)
{
	static const char letters[] = "rwx";
	int prot = 0;

	if (c->end - c->at < 5 || c->at[4] != ' ' || (c->at[3] != 'p' && c->at[3] != 's'))
		return -1;
	for (int i = 0; i < 3; i++) {
		if (c->at[i] == letters[i])
			prot |= i == 0 ? PROT_READ : i == 1 ? PROT_WRITE : PROT_EXEC;
		else if (c->at[i] != '-')
			return -1;
	}
	c->at += 5;
	return prot;
}

/* A name that is cut here exceeds PATH_MAX in any case. */
static void take_name(struct maps_cursor *c, struct strpool *pool, struct mapping *m)
{
	char name[PATH_MAX + sizeof(deleted_suffix)];
	size_t len = 0;

	while (c->at < c->end && *c->at == ' ')
		c->at++;
	while (c->at < c->end && len < sizeof(name) - 1) {
		bool is_newline = c->end - c->at >= 4 && !memcmp(c->at, "\\012", 4);

		name[len++] = is_newline ? '\n' : *c->at;
		c->at += is_newline ? 4 : 1;
	}
	name[len] = '\0';
	mapping_set_path(m, pool, name);
}

/* Return: false when malformed. @m is written only for executable mappings. */
static bool parse_line(struct maps_cursor c, struct strpool *pool, struct mapping *m,
		       bool *is_executable)
{
	uint64_t start, end, file_off, major, minor, inode;
	int prot;

	if (!take_number(&c, 16, '-', &start) || !take_number(&c, 16, ' ', &end))
		return false;
	prot = take_prot(&c);
	if (prot < 0 || !take_number(&c, 16, ' ', &file_off) ||
	    !take_number(&c, 16, ':', &major) || !take_number(&c, 16, ' ', &minor) ||
	    !take_number(&c, 10, ' ', &inode))
		return false;
	if (start >= end || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	*is_executable = prot & PROT_EXEC;
	if (!*is_executable)
		return true;
	*m = (struct mapping){
		.start = start,
		.end = end,
		.file_off = file_off,
		.major = (uint32_t)major,
		.minor = (uint32_t)minor,
		.inode = inode,
		.until_ns = UINT64_MAX,
	};
	take_name(&c, pool, m);
	return true;
}

/*
 * The kernel lists mappings in order of address. One that grew between two reads begins
 * before the end of the one before: the rest of it counts. Return: false if there is none.
 */
static bool skip_to(struct mapping *m, uint64_t done)
{
	if (m->end <= done)
		return false;
	if (m->start < done) {
		m->file_off += done - m->start;
		m->start = done;
	}
	return true;
}

size_t maps_parse(const char *text, size_t len, uint64_t time_ns, struct strpool *pool,
		  int (*add)(void *ctx, const struct mapping *m), void *ctx)
{
	const char *end = text + len;
	uint64_t done = 0; /* the end of the last executable mapping */
	size_t nr_malformed = 0;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct maps_cursor line = {.at = text, .end = newline ? newline : end};
		struct mapping m;
		bool is_executable = false;

		if (!parse_line(line, pool, &m, &is_executable) ||
		    (is_executable && !skip_to(&m, done))) {
			nr_malformed++;
		} else if (is_executable) {
			done = m.end;
			m.from_ns = time_ns;
			if (add(ctx, &m))
				break;
		}
		text = newline ? newline + 1 : end;
	}
	return nr_malformed;
}

/*
 * Most entries one maps_add() appends: the mapping and both remainders of one it
 * splits.
 */
#define ADD_MAX 3

void maps_deinit(struct maps *maps)
{
	free(maps->items);
	free(maps->live);
	free(maps->past);
	*maps = (struct maps){0};
}

static struct mapping *live_at(const struct maps *maps, size_t pos)
{
	return &maps->items[maps->live[pos]];
}

/* Position of the first live mapping that ends above @ip. */
static size_t live_above(const struct maps *maps, uint64_t ip)
{
	return SEARCH_FIRST(i, maps->nr_live, live_at(maps, i)->end > ip);
}

static int reserve(struct maps *maps, size_t need)
{
	int rc = vec_grow(&maps->items, &maps->cap, need, sizeof(*maps->items), MAPS_MAX);

	/* Every item is in one of the two indexes, and may move to the other. */
	if (!rc)
		rc = vec_grow(&maps->live, &maps->cap_live, need, sizeof(*maps->live), 0);
	if (!rc)
		rc = vec_grow(&maps->past, &maps->cap_past, need, sizeof(*maps->past), 0);
	return rc;
}

int maps_copy(struct maps *dst, const struct maps *src)
{
	_cleanup_(maps_deinit) struct maps copy = {0};
	_cleanup_free_ uint32_t *number = NULL;

	*dst = copy;
	if (!src || !src->nr_live)
		return 0;
	copy.items = malloc(src->nr_live * sizeof(*copy.items));
	copy.live = malloc(src->nr_live * sizeof(*copy.live));
	number = malloc(src->nr * sizeof(*number));
	if (!copy.items || !copy.live || !number)
		return -ENOMEM;
	copy.cap = copy.cap_live = copy.nr_live = src->nr_live;
	for (size_t i = 0; i < src->nr; i++) {
		if (src->items[i].until_ns != UINT64_MAX)
			continue;
		number[i] = (uint32_t)copy.nr;
		copy.items[copy.nr++] = src->items[i];
	}
	for (size_t pos = 0; pos < src->nr_live; pos++)
		copy.live[pos] = number[src->live[pos]];
	copy.has_untold_ends = src->has_untold_ends;
	*dst = copy;
	copy = (struct maps){0};
	return 0;
}

/* Drops the @nr_gone mappings that ended first. */
static void forget_past(struct maps *maps, size_t nr_gone)
{
	_cleanup_free_ uint32_t *number = malloc((maps->nr + 1) * sizeof(*number));
	size_t nr = 0;

	if (!number)
		return;
	for (size_t i = 0; i < nr_gone; i++)
		maps->items[maps->past[i]].end = 0; /* no valid entry ends at 0 */
	for (size_t i = 0; i < maps->nr; i++) {
		number[i] = (uint32_t)nr;
		if (maps->items[i].end)
			maps->items[nr++] = maps->items[i];
	}
	for (size_t i = nr_gone; i < maps->nr_past; i++)
		maps->past[i - nr_gone] = number[maps->past[i]];
	for (size_t i = 0; i < maps->nr_live; i++)
		maps->live[i] = number[maps->live[i]];
	maps->nr = nr;
	maps->nr_past -= nr_gone;
	maps->nr_forgotten += nr_gone;
}

void maps_forget(struct maps *maps, uint64_t before_ns)
{
	size_t nr_gone = 0;

	while (nr_gone < maps->nr_past &&
	       maps->items[maps->past[nr_gone]].until_ns <= before_ns)
		nr_gone++;
	if (nr_gone)
		forget_past(maps, nr_gone);
}

/* One step can end all that are mapped. */
static void forget_excess(struct maps *maps)
{
	if (maps->nr_past > MAPS_PAST_MAX)
		forget_past(maps, maps->nr_past - MAPS_PAST_MAX / 2);
}

/*
 * Do both name the same owner? Events have a build id, the text of maps has an inode: a
 * value that one side lacks is not a difference.
 */
static bool same_owner(const struct mapping *a, const struct mapping *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case MAPPING_ANON:
	case MAPPING_HEAP:
	case MAPPING_STACK:
	case MAPPING_VDSO:
	case MAPPING_VSYSCALL:
		return true;
	case MAPPING_FILE:
	case MAPPING_MEMFD:
	case MAPPING_JITDUMP:
		break;
	}
	if (a->start - a->file_off != b->start - b->file_off)
		return false;
	if (a->build_id_len && b->build_id_len &&
	    (a->build_id_len != b->build_id_len ||
	     memcmp(a->build_id, b->build_id, a->build_id_len)))
		return false;
	if (a->inode && b->inode)
		return a->inode == b->inode && a->major == b->major &&
		       a->minor == b->minor;
	return a->path == b->path || !strcmp(a->path, b->path);
}

/* Adds details of @m to @known, which is the same mapping. */
static void learn(struct mapping *known, const struct mapping *m)
{
	if (!known->build_id_len && m->build_id_len) {
		memcpy(known->build_id, m->build_id, sizeof(known->build_id));
		known->build_id_len = m->build_id_len;
	}
	if (!known->inode) {
		known->major = m->major;
		known->minor = m->minor;
		known->inode = m->inode;
	}
	known->deleted |= m->deleted;
}

/* Puts @m into the log as the live mapping @pos, in a place that is free. */
static void append_live(struct maps *maps, size_t pos, const struct mapping *m)
{
	maps->live[pos] = (uint32_t)maps->nr;
	maps->items[maps->nr] = *m;
	maps->items[maps->nr++].until_ns = UINT64_MAX;
}

/*
 * Adds @m in place of the live mappings [pos, end), which have ended; what they had outside
 * of it continues as @left and @right (both may be empty). All others move once.
 */
static void replace_live(struct maps *maps, size_t pos, size_t end,
			 const struct mapping *m, const struct mapping *left,
			 const struct mapping *right)
{
	size_t nr_left = left->start < left->end, nr_right = right->start < right->end;
	size_t nr = nr_left + 1 + nr_right;

	memmove(maps->live + pos + nr, maps->live + end,
		(maps->nr_live - end) * sizeof(*maps->live));
	maps->nr_live = maps->nr_live - (end - pos) + nr;
	if (nr_left)
		append_live(maps, pos, left);
	append_live(maps, pos + nr_left, m);
	if (nr_right)
		append_live(maps, pos + nr_left + 1, right);
}

/*
 * Ends the mappings that @m overlaps, and adds it; their parts outside of @m continue as
 * entries of their own. Merges adjacent anonymous memory into @m, which grows.
 */
static void take_place(struct maps *maps, struct mapping *m)
{
	size_t pos = live_above(maps, m->start), end;
	struct mapping left = {0}, right = {0};

	if (pos && m->kind == MAPPING_ANON &&
	    live_at(maps, pos - 1)->kind == MAPPING_ANON &&
	    live_at(maps, pos - 1)->end == m->start)
		pos--;
	for (end = pos; end < maps->nr_live; end++) {
		struct mapping *old = live_at(maps, end);
		bool absorb = m->kind == MAPPING_ANON && old->kind == MAPPING_ANON;

		if (old->start > m->end || (old->start == m->end && !absorb))
			break;
		old->until_ns = m->from_ns;
		maps->past[maps->nr_past++] = maps->live[end];
		m->took_over |= old->took_over && !old->told_ns;
		if (absorb) {
			m->start = old->start < m->start ? old->start : m->start;
			m->end = old->end > m->end ? old->end : m->end;
			continue;
		}
		m->took_over |= old->told_ns && !same_owner(old, m);
		if (old->start < m->start) {
			left = *old;
			left.end = m->start;
			left.from_ns = m->from_ns;
		}
		if (old->end > m->end) {
			right = *old;
			right.file_off += m->end - old->start;
			right.start = m->end;
			right.from_ns = m->from_ns;
		}
	}
	replace_live(maps, pos, end, m, &left, &right);
}

/* Nothing begins or ends before this: the log is in order. */
static uint64_t newest_ns(const struct maps *maps)
{
	uint64_t from_ns = maps->nr ? maps->items[maps->nr - 1].from_ns : 0;
	uint64_t until_ns = 0;

	if (maps->nr_past)
		until_ns = maps->items[maps->past[maps->nr_past - 1]].until_ns;
	return from_ns > until_ns ? from_ns : until_ns;
}

int maps_add(struct maps *maps, const struct mapping *m)
{
	struct mapping add = *m;
	size_t pos;
	int rc;

	if (add.start >= add.end)
		return -EINVAL;
	pos = live_above(maps, add.start);
	if (pos < maps->nr_live) {
		struct mapping *known = live_at(maps, pos);

		if (known->start <= add.start && known->end >= add.end &&
		    same_owner(known, &add)) {
			learn(known, &add);
			return 0;
		}
	}
	if (maps->nr_live + ADD_MAX > MAPS_LIVE_MAX) {
		maps->nr_dropped++;
		return -ENOSPC;
	}
	rc = reserve(maps, maps->nr + ADD_MAX);
	if (rc) {
		maps->nr_dropped++;
		return rc;
	}
	if (add.from_ns < newest_ns(maps))
		add.from_ns = newest_ns(maps);
	add.took_over |= maps->has_untold_ends;
	take_place(maps, &add);
	maps->nr_changes++;
	maps->nr_took_over += add.took_over;
	forget_excess(maps);
	return 0;
}

void maps_see(struct maps *maps, uint64_t start, uint64_t end)
{
	for (size_t pos = live_above(maps, start);
	     pos < maps->nr_live && live_at(maps, pos)->start < end; pos++)
		live_at(maps, pos)->is_seen = true;
}

void maps_end_unseen(struct maps *maps, uint64_t before_ns)
{
	uint64_t until_ns = newest_ns(maps);
	size_t nr_kept = 0;

	/* A fork's copy has no room for ended ones. */
	if (vec_grow(&maps->past, &maps->cap_past, maps->nr, sizeof(*maps->past), 0))
		return;
	if (until_ns < before_ns)
		until_ns = before_ns;
	for (size_t pos = 0; pos < maps->nr_live; pos++) {
		struct mapping *m = live_at(maps, pos);

		if (m->is_seen || m->from_ns >= before_ns) {
			m->is_seen = false;
			maps->live[nr_kept++] = maps->live[pos];
			continue;
		}
		m->until_ns = until_ns;
		maps->past[maps->nr_past++] = maps->live[pos];
		maps->has_untold_ends |= m->told_ns != 0;
		maps->nr_changes++;
	}
	maps->nr_live = nr_kept;
	forget_excess(maps);
}

void maps_told(struct maps *maps, uint64_t now_ns)
{
	maps->has_untold_ends = false;
	for (size_t pos = 0; pos < maps->nr_live; pos++)
		if (!live_at(maps, pos)->told_ns)
			live_at(maps, pos)->told_ns = now_ns;
}

bool maps_table_was_stale(const struct maps *maps, uint64_t ip, uint64_t first_ns,
			  uint64_t last_ns, size_t *left)
{
	const struct mapping *m;

	if (!maps->nr_took_over)
		return false;
	switch (maps_find_within(maps, ip, first_ns, last_ns, left, &m)) {
	case MAPS_NONE:
		return false;
	case MAPS_AMBIGUOUS:
		return true;
	case MAPS_FOUND:
		break;
	}
	return m->took_over && (!m->told_ns || first_ns < m->told_ns);
}

enum maps_answer maps_find_within(const struct maps *maps, uint64_t ip, uint64_t first_ns,
				  uint64_t last_ns, size_t *left,
				  const struct mapping **ret)
{
	const struct mapping *owner = NULL;
	size_t pos = live_above(maps, ip);

	if (pos < maps->nr_live && live_at(maps, pos)->start <= ip &&
	    live_at(maps, pos)->from_ns <= last_ns)
		owner = live_at(maps, pos);
	if (owner && owner->from_ns <= first_ns) {
		*ret = owner;
		return MAPS_FOUND;
	}
	for (size_t i = maps->nr_past; i-- > 0;) {
		const struct mapping *old = &maps->items[maps->past[i]];

		if (old->until_ns <= first_ns)
			break;
		if (!*left)
			return MAPS_AMBIGUOUS;
		(*left)--;
		if (ip < old->start || ip >= old->end || old->from_ns > last_ns ||
		    old->from_ns == old->until_ns)
			continue;
		if (owner && !same_owner(owner, old))
			return MAPS_AMBIGUOUS;
		if (!owner)
			owner = old;
		/* The owners of an address follow each other. */
		if (old->from_ns <= first_ns)
			break;
	}
	if (!owner)
		return MAPS_NONE;
	*ret = owner;
	return MAPS_FOUND;
}

enum maps_answer maps_find(const struct maps *maps, uint64_t ip, uint64_t first_ns,
			   uint64_t last_ns, const struct mapping **ret)
{
	size_t left = SIZE_MAX;

	return maps_find_within(maps, ip, first_ns, last_ns, &left, ret);
}
