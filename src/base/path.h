/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths as text: nothing here looks at the file system. */
#ifndef LB_BASE_PATH_H
#define LB_BASE_PATH_H

#include <stddef.h>

/** Returns the last component of a path; @path itself if it has no "/". Borrowed. */
const char *path_basename(const char *path);

/**
 * Removes empty and "." components, and each ".." with the component before it:
 * "./elf/../sysdeps//x86_64/a.S" is "sysdeps/x86_64/a.S". Names that are no paths
 * ("<string>", "file:///x/a.js") stay as they are. A ".." after a symbolic link would
 * lead elsewhere; compilers and runtimes write paths that begin with the working
 * directory, where that is rare.
 *
 * Return: @path, or @buf with the shorter path. @path if that does not fit into @size.
 */
const char *path_clean(const char *path, char *buf, size_t size);

#endif
