// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/comm_glob.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

/* Most bytes of a "[...]"; useful ones are shorter. */
#define MAX_ELEMENT_BYTES 63

/*
 * A parsed pattern: which bytes each element matches, and which elements follow a '*'.
 */
struct elements {
	unsigned int nr;
	unsigned int
		stars; /* bit i: before element i, or, for the last bit, at the end */
	struct {
		/* part of the pattern; fnmatch(3) matches it with one byte */
		const char *text;
		size_t len;
	} at[LB_COMM_MAX_ELEMENTS];
};

/* Returns the length of the "[...]" at the start of @text; 0: not closed. */
static size_t bracket_len(const char *text)
{
	size_t i = 1;

	if (text[i] == '!' || text[i] == '^')
		i++;
	if (text[i] == ']')
		i++;
	for (; text[i] && text[i] != ']'; i++) {
		const char *end;

		if (text[i] == '\\' && text[i + 1]) {
			i++;
		} else if (text[i] == '[' && text[i + 1] == ':') {
			end = strstr(text + i + 2, ":]");
			if (end)
				i = (size_t)(end - text) + 1;
		}
	}
	return text[i] ? i + 1 : 0;
}

static size_t element_len(const char *text)
{
	size_t len = 0;

	if (*text == '[')
		len = bracket_len(text);
	else if (*text == '\\' && text[1])
		len = 2;
	return len ? len : 1;
}

static int split(const char *pattern, struct elements *ret)
{
	bool is_name = !strpbrk(pattern, "*?[\\");

	*ret = (struct elements){0};
	while (*pattern) {
		size_t len = element_len(pattern);

		if (len > MAX_ELEMENT_BYTES)
			return -E2BIG;
		if (*pattern == '*') {
			ret->stars |= 1u << ret->nr;
		} else if (ret->nr == LB_COMM_MAX_ELEMENTS) {
			return is_name ? 0 : -E2BIG;
		} else {
			ret->at[ret->nr].text = pattern;
			ret->at[ret->nr++].len = len;
		}
		pattern += len;
	}
	return 0;
}

static bool matches_byte(const char *element, size_t len, unsigned int byte)
{
	char text[MAX_ELEMENT_BYTES + 1], name[2] = {(char)byte, '\0'};

	if (len == 1)
		return *element == '?' || *element == name[0];
	memcpy(text, element, len);
	text[len] = '\0';
	return !fnmatch(text, name, 0);
}

int comm_glob_add(struct lb_comm_table *table, const char *pattern, bool excludes)
{
	unsigned int nr = 0, shift;
	struct lb_comm_word *word;
	struct elements e;
	int rc = split(pattern, &e);

	if (rc)
		return rc;
	for (unsigned int i = 0; i < table->nr_words; i++)
		nr += (unsigned int)__builtin_popcountll(table->words[i].start);
	if (nr == LB_COMM_PATTERNS)
		return -ENOSPC;
	word = &table->words[nr / LB_COMM_PER_WORD];
	shift = nr % LB_COMM_PER_WORD * LB_COMM_PATTERN_BITS;
	table->nr_words = nr / LB_COMM_PER_WORD + 1;

	word->start |= 1ULL << shift;
	*(excludes ? &word->out : &word->in) |= 1ULL << (shift + e.nr);
	word->bytes[0].stay = UINT64_MAX;
	for (unsigned int byte = 1; byte < 256; byte++) {
		word->bytes[byte].stay |= (__u64)e.stars << shift;
		for (unsigned int i = 0; i < e.nr; i++)
			if (matches_byte(e.at[i].text, e.at[i].len, byte))
				word->bytes[byte].match |= 1ULL << (shift + i);
	}
	return 0;
}

__u32 comm_glob_match(const struct lb_comm_table *table, const char *comm)
{
	__u8 name[LB_COMM_LEN] = {0};
	__u32 mask = 0;

	memcpy(name, comm, strnlen(comm, LB_COMM_LEN - 1));
	for (unsigned int i = 0; i < table->nr_words; i++) {
		const struct lb_comm_word *word = &table->words[i];
		__u64 bits = word->start;

		for (unsigned int at = 0; at < LB_COMM_LEN; at += LB_COMM_AT_ONCE)
			bits = lb_comm_step(word, bits, name + at);
		mask |= lb_comm_end(word, bits);
	}
	return mask;
}
