/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matches containers, units and cgroups against the caller's names, for recording and
 * viewing. Pure functions. Names may be fnmatch(3) patterns, except that '\' is literal:
 * unit names contain it.
 */
#ifndef LB_BASE_MATCH_H
#define LB_BASE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

enum match {
	MATCH_NONE,
	MATCH_WEAK, /* a prefix, a pattern, or something implied */
	MATCH_EXACT,
};

/* Which prefixes of an id match. */
enum match_start {
	MATCH_START_NONE, /* none: nspawn and LXC use names as ids */
	MATCH_START_HEX, /* four or more hex digits of it */
	MATCH_START_ANY,
};

/**
 * Matches a container by name, id, or a prefix of the id.
 *
 * @id    a prefix "UID/" is the user who named it; "": it is no container
 * @name  "": not known
 */
enum match match_container(const char *value, const char *id, const char *name,
			   enum match_start start);

/** Matches a unit as systemctl(1) does: ".service" may be left out. @unit  "": none */
enum match match_unit(const char *value, const char *unit);

/** Returns the last component of a path; @path itself when it has no "/". Borrowed. */
const char *path_basename(const char *path);

bool match_starts(const char *s, const char *prefix);
bool match_ends(const char *s, const char *suffix);

/** Is @path equal to @below or an ancestor of it? Both begin with '/'. */
bool match_path_above(const char *path, const char *below);

/** Is @word, which is not "", one of @words? Each of these is between spaces. */
bool match_word(const char *word, const char *words);

/** Adds a leading '/', removes double and trailing ones. Return: 0 or -ENAMETOOLONG. */
int match_clean_path(const char *path, char *ret, size_t size);

#endif
