/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suggests existing names for one that does not exist: "similar: web1, web2". */
#ifndef LB_BASE_SUGGEST_H
#define LB_BASE_SUGGEST_H

#include <stddef.h>
#include <stdint.h>

#define SUGGESTIONS_MAX_NAMES 4096
#define SUGGESTIONS_SHOWN     3

struct suggestions {
	char **names; /* heap, each name too */
	size_t nr, cap;
	size_t nr_dropped; /* over SUGGESTIONS_MAX_NAMES */
};

/** Adds a name; ignores "" and duplicates. Zero-initialised: empty. */
void suggestions_add(struct suggestions *s, const char *name);
void suggestions_deinit(struct suggestions *s);

/**
 * Writes the text after "there is no X; ": "similar: a, b", or "there are a, b and 5
 * more", or "there is none". Names are escaped and cut.
 * Return: @buf.
 */
const char *suggestions_say(const struct suggestions *s, const char *asked, char *buf,
			    size_t size);

/* ---- similar names ---- */

#define LIKENESS_NONE 1000

/**
 * Compares @name with @asked, ignoring case: similar if one is a prefix of the other, or
 * contains it, or at most a third of the longer one's letters differ.
 * Return: lower is more similar; LIKENESS_NONE: not similar.
 */
unsigned int likeness(const char *asked, const char *name);

struct likely {
	const void *item;
	unsigned int likeness;
	uint64_t weight; /* of equally similar ones the heavier is better */
};

/**
 * Inserts @one into the best items so far, best first; of equal ones the earlier is
 * first. Ignores duplicates and items that are not similar.
 * Return: the new number of items.
 */
size_t likely_keep(struct likely best[SUGGESTIONS_SHOWN], size_t nr, struct likely one);

#endif
