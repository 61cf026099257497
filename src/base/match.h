/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matches containers, units and cgroups against names given by the caller, for
 * recording and viewing. Pure functions. Names may be fnmatch(3) patterns, except that
 * '\' is literal, because unit names contain it.
 */
#ifndef LB_BASE_MATCH_H
#define LB_BASE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

enum match {
	MATCH_NONE,
	MATCH_WEAK, /* a prefix, a pattern, or implied */
	MATCH_EXACT,
};

/* Which prefixes of an id match. */
enum match_start {
	MATCH_START_NONE, /* none: nspawn and LXC use names as ids */
	MATCH_START_HEX, /* at least four hex digits of it */
	MATCH_START_ANY,
};

/**
 * Matches a container by name, id, or a prefix of the id.
 *
 * @id    a prefix "UID/" is the user who chose the name; "": not a container
 * @name  "": not known
 */
enum match match_container(const char *value, const char *id, const char *name,
			   enum match_start start);

/** Matches a unit like systemctl(1): ".service" may be omitted. @unit  "": none */
enum match match_unit(const char *value, const char *unit);

bool match_starts(const char *s, const char *prefix);
bool match_ends(const char *s, const char *suffix);

/** Is @path equal to @below or an ancestor of it? Both begin with '/'. */
bool match_path_above(const char *path, const char *below);

/** Is @word, which must not be "", one of @words? These are each between spaces. */
bool match_word(const char *word, const char *words);

/**
 * Adds a leading '/', removes repeated and trailing ones. Return: 0 or -ENAMETOOLONG.
 */
int match_clean_path(const char *path, char *ret, size_t size);

#endif
