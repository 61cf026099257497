// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/path.h"

#include <stdbool.h>
#include <string.h>

const char *path_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Has a path an empty, "." or ".." component? May be true for a path without one. */
static bool may_be_unclean(const char *path)
{
	return path[0] == '.' || strstr(path, "//") || strstr(path, "/.");
}

/* Removes the last component of the path in @buf, if it can be removed. */
static bool go_up(const char *buf, size_t *len)
{
	size_t begin = *len;

	while (begin && buf[begin - 1] != '/')
		begin--;
	if (*len - begin == 2 && !memcmp(buf + begin, "..", 2))
		return false;
	if (begin == *len) /* "" or "/" */
		return begin == 1;
	*len = begin > 1 ? begin - 1 : begin;
	return true;
}

static void append(char *buf, size_t *len, const char *part, size_t n)
{
	if (*len && buf[*len - 1] != '/')
		buf[(*len)++] = '/';
	memcpy(buf + *len, part, n);
	*len += n;
}

const char *path_clean(const char *path, char *buf, size_t size)
{
	size_t len = 0;

	if (path[0] == '<' || strstr(path, "://") || !may_be_unclean(path) ||
	    strlen(path) >= size)
		return path;
	if (path[0] == '/')
		buf[len++] = '/';
	for (const char *at = path; *at;) {
		size_t n = strcspn(at, "/");
		bool is_up = n == 2 && !memcmp(at, "..", 2);

		if (n && !(n == 1 && *at == '.') && !(is_up && go_up(buf, &len)))
			append(buf, &len, at, n);
		at += n + (at[n] == '/');
	}
	if (!len)
		return path;
	buf[len] = '\0';
	return buf;
}
