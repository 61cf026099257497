// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/match.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

/* Is it the beginning of an id? nspawn and LXC have names for ids. */
static bool is_id_prefix(const char *value, const struct cgroup_owner *owner)
{
	size_t len = strlen(value);
	const char *slash = strchr(value, '/'); /* behind the uid of who claims it */
	const char *digits = slash ? slash + 1 : value;

	if (owner->runtime == CONTAINER_NSPAWN || owner->runtime == CONTAINER_LXC ||
	    strlen(digits) < MATCH_MIN_ID_LEN ||
	    digits[strspn(digits, "0123456789abcdef")])
		return false;
	return !strncmp(owner->container, value, len);
}

bool match_container(const char *value, const struct cgroup_owner *owner,
		     const char *name)
{
	if (!owner->container[0])
		return false;
	if (!strcmp(owner->container, value) || is_id_prefix(value, owner))
		return true;
	/* No pattern reaches over the slash, so what is claimed is only chosen as such. */
	return !fnmatch(value, owner->container, FNM_NOESCAPE | FNM_PATHNAME) ||
	       (*name && !fnmatch(value, name, FNM_NOESCAPE));
}

bool match_unit(const char *value, const struct cgroup_owner *owner)
{
	char name[UNIT_BYTES + 16];

	/* As struct cgroup_owner has it. */
	if (!owner->unit[0] || !cgroup_unescape(value, name, UNIT_BYTES))
		return false;
	if (!fnmatch(name, owner->unit, FNM_NOESCAPE))
		return true;
	strcat(name, ".service");
	return !fnmatch(name, owner->unit, FNM_NOESCAPE);
}

bool match_path_above(const char *path, const char *below)
{
	size_t len = strlen(path);

	if (!strcmp(path, "/"))
		return true;
	return !strncmp(path, below, len) && (!below[len] || below[len] == '/');
}

int match_clean_path(const char *path, char *ret, size_t size)
{
	size_t used = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len) {
			if (used + len + 2 > size)
				return -ENAMETOOLONG;
			ret[used++] = '/';
			memcpy(ret + used, path, len);
			used += len;
		}
		path += len + (path[len] == '/');
	}
	if (!used)
		ret[used++] = '/';
	ret[used] = '\0';
	return 0;
}
