// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text of /proc/PID/maps (proc(5); fs/proc/task_mmu.c, show_map_vma), a line
 * a mapping:
 *
 *   55d0c8a00000-55d0c8a9c000 r-xp 00022000 fe:01 393449    /usr/bin/node
 *   7f8a1c000000-7f8a1c021000 r-xp 00000000 00:00 0
 *   7f8a2c000000-7f8a2c001000 r-xp 00000000 00:01 2048      /memfd:code (deleted)
 *
 * The name goes to the end of the line, blanks included; a newline in it is
 * written \012. Whoever owns the process chose the names.
 */
#include "process/maps.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

static const char deleted_suffix[] = " (deleted)";

static bool starts_with(const char *s, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);

	return len >= n && !memcmp(s, prefix, n);
}

static bool equals(const char *s, size_t len, const char *other)
{
	return len == strlen(other) && !memcmp(s, other, len);
}

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
	const char *base = slash ? slash + 1 : path;
	size_t n = len - (size_t)(base - path), i = 4;

	if (!slash || !starts_with(base, n, "jit-"))
		return false;
	while (i < n && isdigit((unsigned char)base[i]))
		i++;
	return i > 4 && equals(base + i, n - i, ".dump");
}

static enum mapping_kind kind_of(const char *name, size_t len)
{
	size_t stem = maps_text_without_deleted(name, len);

	if (!len || starts_with(name, len, "//anon") || starts_with(name, len, "[anon"))
		return MAPPING_ANON;
	if (starts_with(name, len, "[heap"))
		return MAPPING_HEAP;
	if (starts_with(name, len, "[stack"))
		return MAPPING_STACK;
	if (starts_with(name, len, "[vdso"))
		return MAPPING_VDSO;
	if (name[0] == '[')
		return MAPPING_VSYSCALL;
	/* MAP_ANONYMOUS | MAP_HUGETLB; and a private map of /dev/zero is anonymous. */
	if (equals(name, len, "/anon_hugepage (deleted)") ||
	    equals(name, len, "/dev/zero"))
		return MAPPING_ANON;
	if (starts_with(name, len, "/memfd:") || equals(name, len, "/dev/zero (deleted)"))
		return MAPPING_MEMFD;
	if (starts_with(name, len, "/SYSV") && stem < len &&
	    stem == strlen("/SYSV00000000"))
		return MAPPING_MEMFD;
	return is_jitdump_name(name, stem) ? MAPPING_JITDUMP : MAPPING_FILE;
}

enum mapping_kind mapping_kind_of(const char *path)
{
	return kind_of(path, strlen(path));
}

bool mapping_may_be_jit(const struct mapping *m)
{
	return m->kind == MAPPING_ANON || m->kind == MAPPING_HEAP ||
	       m->kind == MAPPING_MEMFD;
}

void mapping_set_path(struct mapping *m, struct strpool *pool, const char *name,
		      size_t len)
{
	size_t stem;

	len = strnlen(name, len);
	m->kind = kind_of(name, len);
	stem = starts_with(name, len, "/") ? maps_text_without_deleted(name, len) : len;
	m->deleted = stem < len;
	if (starts_with(name, len, "//anon"))
		stem = 0;
	m->path = stem < PATH_MAX ? strpool_add_n(pool, name, stem) : "//toolong";
}

/* What is left of a line. */
struct cursor {
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

/* At least one digit, no overflow, and @stop behind it (consumed). */
static bool take_number(struct cursor *c, unsigned int base, char stop, uint64_t *ret)
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
	/* The inode ends the line where there is no name. */
	if (c->at < c->end && *c->at++ != stop)
		return false;
	*ret = value;
	return true;
}

/* "r-xp " -> PROT_*, or -1. */
static int take_prot(struct cursor *c)
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

static void take_name(struct cursor *c, struct strpool *pool, struct mapping *m)
{
	char plain[PATH_MAX + sizeof(deleted_suffix)];
	size_t len = 0, left;

	while (c->at < c->end && *c->at == ' ')
		c->at++;
	left = c->at < c->end ? (size_t)(c->end - c->at) : 0;
	if (!memchr(c->at, '\\', left)) {
		mapping_set_path(m, pool, c->at, left);
		return;
	}
	while (c->at < c->end && len < sizeof(plain)) {
		if (c->end - c->at >= 4 && !memcmp(c->at, "\\012", 4)) {
			plain[len++] = '\n';
			c->at += 4;
		} else {
			plain[len++] = *c->at++;
		}
	}
	mapping_set_path(m, pool, plain, len);
}

/* Return: false when malformed. @m is written only for executable mappings. */
static bool parse_line(struct cursor c, struct strpool *pool, struct mapping *m,
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

size_t maps_parse(const char *text, size_t len, uint64_t time_ns, struct strpool *pool,
		  int (*add)(void *ctx, const struct mapping *m), void *ctx)
{
	const char *end = text + len;
	size_t nr_malformed = 0;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct cursor line = {.at = text, .end = newline ? newline : end};
		struct mapping m;
		bool is_executable = false;

		if (!parse_line(line, pool, &m, &is_executable)) {
			nr_malformed++;
		} else if (is_executable) {
			m.from_ns = time_ns;
			if (add(ctx, &m))
				break;
		}
		text = newline ? newline + 1 : end;
	}
	return nr_malformed;
}
