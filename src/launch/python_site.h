/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy of the hook in a prefix's site-packages, started by a .pth file: for
 * services that lineburn does not start (docs.python.org/3/library/site.html).
 */
#ifndef LB_LAUNCH_PYTHON_SITE_H
#define LB_LAUNCH_PYTHON_SITE_H

#include "base/error.h"

/**
 * Installs, or renews, the copy for each CPython >= 3.9 of @prefix, and says so on
 * stderr. The .pth file comes last: an interrupted installation starts nothing.
 *
 * @home       what python_hook_find() found
 * @cache_dir  NULL: none given, and one of an earlier installation is forgotten
 * Return: 0, or a negative errno with a sentence.
 */
int python_site_install(const char *prefix, const char *home, const char *cache_dir,
			struct error *err);

/**
 * Undoes it: our files, and what Python compiled of them, and nothing else. Where
 * nothing is installed, nothing is done.
 */
int python_site_remove(const char *prefix, struct error *err);

#endif
