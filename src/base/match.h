/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matches containers, units and cgroups against what the caller names, for recording and
 * for viewing. Pure functions. Names may be patterns as of fnmatch(3), but for '\', which
 * units have in their names.
 */
#ifndef LB_BASE_MATCH_H
#define LB_BASE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

enum match {
	MATCH_NONE,
	MATCH_WEAK, /* a start, a pattern, or something implied */
	MATCH_EXACT,
};

/* Which starts of an id match. */
enum match_start {
	MATCH_START_NONE, /* it is a name: nspawn and LXC have these for ids */
	MATCH_START_HEX, /* MATCH_MIN_ID_LEN or more hex digits of it */
	MATCH_START_ANY,
};

/* Fewer hex digits are a word by chance. */
#define MATCH_MIN_ID_LEN 4

/**
 * By name, or by id, or by what that starts with.
 *
 * @id    "UID/" in front of it says which user named it; "": it is no container
 * @name  "": not known
 */
enum match match_container(const char *value, const char *id, const char *name,
			   enum match_start start);

/** As systemctl(1) takes them: ".service" may be left out. @unit  "": none */
enum match match_unit(const char *value, const char *unit);

/** Is it @id, or what that starts with? */
enum match match_id_start(const char *value, const char *id);

/** Is @path "/", or is it @below, or above it? Both begin with '/'. */
bool match_path_above(const char *path, const char *below);

/** Puts a '/' first, and takes those away that are double or last. Return: 0 or -ENAMETOOLONG. */
int match_clean_path(const char *path, char *ret, size_t size);

#endif
