/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matches a cgroup against a value of --container, --unit or -G. Pure functions. */
#ifndef LB_TARGET_MATCH_H
#define LB_TARGET_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "process/cgroup.h"

/* Of the beginning of a container's id, in hex: fewer are a word by chance. */
#define MATCH_MIN_ID_LEN 4

/**
 * By id, the first MATCH_MIN_ID_LEN or more digits of it, or name. Names of containers
 * and units may be patterns as of fnmatch(3), but for '\', which units have in their names.
 *
 * @name  of the container; "": not known
 */
bool match_container(const char *value, const struct cgroup_owner *owner,
		     const char *name);

/** As systemctl(1) takes them: ".service" may be left out. */
bool match_unit(const char *value, const struct cgroup_owner *owner);

/** Is @path "/", or is it @below, or above it? Both begin with '/'. */
bool match_path_above(const char *path, const char *below);

/** Puts a '/' first, and takes those away that are double or last. Return: 0 or -ENAMETOOLONG. */
int match_clean_path(const char *path, char *ret, size_t size);

#endif
