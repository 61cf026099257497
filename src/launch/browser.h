/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a page in the user's browser. */
#ifndef LB_LAUNCH_BROWSER_H
#define LB_LAUNCH_BROWSER_H

/**
 * Starts xdg-open(1) for the file at @path, as the user who called sudo, in the
 * environment from before sudo; never as root. Does not wait for it. On failure it warns
 * and says what to do: the page is written all the same.
 */
void browser_open(const char *path);

#endif
