/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A virtual environment, or another prefix of Pythons, that is changed by root and
 * belongs to somebody: every folder is opened once, and nothing is looked up by its
 * path again.
 */
#ifndef LB_LAUNCH_PYTHON_PREFIX_H
#define LB_LAUNCH_PYTHON_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/creds.h"
#include "base/error.h"

#define PYTHON_OLDEST_MINOR 9

struct python_folder {
	int fd; /* O_PATH */
	char *path; /* heap, for messages alone */
};

struct python_prefix {
	const char *path; /* as it was given, borrowed; for messages alone */
	int fd; /* O_PATH */
	uid_t uid; /* its owner */
	gid_t gid;
	bool is_other; /* we have its owner's rights instead of root's */
	struct creds creds;
	struct python_folder *sites; /* site-packages of each CPython >= 3.9 */
	size_t nr_sites; /* at least one */
};

/**
 * Opens the prefix at @path, and from then until python_prefix_deinit() root has the
 * file rights of its owner. Root follows links to the prefix if they are root's or
 * the owner's, and none in it; what it would change belongs to the same owner.
 * Others are only held to what they may do anyway.
 *
 * Return: 0; or a negative errno with a sentence, and then there is nothing to undo.
 */
int python_prefix_init(struct python_prefix *p, const char *path, struct error *err);
void python_prefix_deinit(struct python_prefix *p);

#endif
