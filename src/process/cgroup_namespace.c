// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/cgroup_namespace.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAX_LOOKED_AT 4096 /* directories */

/* Levels that @path begins above the root. @ret: what is behind them, "" or "/a/b". */
static unsigned int count_up(const char *path, const char **ret)
{
	unsigned int nr = 0;

	while (!strncmp(path, "/..", 3) && (!path[3] || path[3] == '/')) {
		path += 3;
		nr++;
	}
	*ret = strcmp(path, "/") ? path : "";
	return nr;
}

/* Is @path at or below @above? @ret: the rest, "" or "/a/b". */
static bool is_below(const char *path, const char *above, const char **ret)
{
	size_t len = strlen(above);

	if (strncmp(path, above, len) || (path[len] && path[len] != '/'))
		return false;
	*ret = path + len;
	return true;
}

static char *join(const char *front, size_t front_len, const char *rest)
{
	char *path = NULL;

	if (!front_len && !*rest)
		rest = "/";
	return asprintf(&path, "%.*s%s", (int)front_len, front, rest) < 0 ? NULL : path;
}

char *cgroup_namespace_to_mount(const char *root, const char *base, const char *path)
{
	const char *root_rest, *rest;
	unsigned int root_up = count_up(root, &root_rest), up = count_up(path, &rest);
	size_t len;

	if (up == root_up)
		return is_below(rest, root_rest, &rest) ? join("", 0, rest) : NULL;
	if (up > root_up || *root_rest || !base)
		return NULL;
	len = strlen(base);
	while (up--)
		while (len && base[--len] != '/')
			;
	return join(base, len, rest);
}

static bool is_here(const char *dir, const char *own)
{
	_cleanup_fclose_ FILE *procs = NULL;
	char path[PATH_MAX], line[32];

	if (snprintf(path, sizeof(path), "%s%s/cgroup.procs", dir, own) >=
	    (int)sizeof(path))
		return false;
	procs = fopen(path, "re");
	while (procs && fgets(line, sizeof(line), procs))
		if (strtol(line, NULL, 10) == getpid())
			return true;
	return false;
}

/* @path: of a directory @depth levels above those that are asked; changed meanwhile. */
static bool find_below(char path[PATH_MAX], unsigned int depth, const char *own,
		       unsigned int *nr_looked_at)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	size_t len = strlen(path);

	if ((*nr_looked_at)++ == MAX_LOOKED_AT)
		return false;
	if (!depth)
		return is_here(path, own);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && *nr_looked_at < MAX_LOOKED_AT) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    len + 1 + strlen(entry->d_name) >= PATH_MAX)
			continue;
		path[len] = '/';
		strcpy(path + len + 1, entry->d_name);
		if (find_below(path, depth - 1, own, nr_looked_at))
			return true;
		path[len] = '\0';
	}
	return false;
}

char *cgroup_namespace_find(const char *mount, const char *root, const char *own)
{
	unsigned int nr_looked_at = 0, depth;
	const char *root_rest, *own_rest;
	char path[PATH_MAX];

	depth = count_up(root, &root_rest);
	if (!depth || *root_rest || count_up(own, &own_rest) ||
	    strlen(mount) >= sizeof(path))
		return NULL;
	strcpy(path, mount);
	if (!find_below(path, depth, own_rest, &nr_looked_at))
		return NULL;
	return strdup(path + strlen(mount));
}
