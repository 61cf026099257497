/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "There is no container web1; there are web and db": of the names that exist, a few. */
#ifndef LB_SIMILAR_H
#define LB_SIMILAR_H

#include <stddef.h>

#define SIMILAR_MAX_NAMES 4096
#define SIMILAR_SHOWN     3

struct similar {
	char **names; /* heap, each too */
	size_t nr, cap;
	size_t nr_dropped; /* over SIMILAR_MAX_NAMES */
};

/** All zeroes is empty. A name that is there already, or is "", is not added again. */
void similar_add(struct similar *s, const char *name);
void similar_deinit(struct similar *s);

/**
 * What follows "there is no X; ": "similar: a, b", or "there are a, b and 5 more", or
 * "there is none". Names are escaped and cut.
 * Return: @buf.
 */
const char *similar_say(const struct similar *s, const char *asked, char *buf,
			size_t size);

#endif
