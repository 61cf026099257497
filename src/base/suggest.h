/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suggests names that exist in place of one that does not: "similar: web1, web2". */
#ifndef LB_BASE_SUGGEST_H
#define LB_BASE_SUGGEST_H

#include <stddef.h>
#include <stdint.h>

#define SUGGESTIONS_MAX_NAMES 4096
#define SUGGESTIONS_SHOWN     3

struct suggestions {
	char **names; /* heap, each too */
	size_t nr, cap;
	size_t nr_dropped; /* over SUGGESTIONS_MAX_NAMES */
};

/** All zeroes is empty. A name that is there already, or is "", is not added again. */
void suggestions_add(struct suggestions *s, const char *name);
void suggestions_deinit(struct suggestions *s);

/**
 * What follows "there is no X; ": "similar: a, b", or "there are a, b and 5 more", or
 * "there is none". Names are escaped and cut.
 * Return: @buf.
 */
const char *suggestions_say(const struct suggestions *s, const char *asked, char *buf,
			    size_t size);

/* ---- Which of the names that exist somebody may have meant ---- */

#define LIKENESS_NONE 1000

/**
 * How like @name is to what was asked for, whatever their case: one begins with the other,
 * or has it inside, or a letter in three of the longer one differs.
 * Return: the lower the more alike; LIKENESS_NONE: not at all.
 */
unsigned int likeness(const char *asked, const char *name);

struct likely {
	const void *item;
	unsigned int likeness;
	uint64_t weight; /* of those that are as like, the heavier is better */
};

/**
 * Puts @one among the best so far, the best first; of those that are as good, the first.
 * An item that is there already, or is not like at all, is left out.
 * Return: how many there are now.
 */
size_t likely_keep(struct likely best[SUGGESTIONS_SHOWN], size_t nr, struct likely one);

#endif
