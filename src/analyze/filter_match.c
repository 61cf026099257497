// SPDX-License-Identifier: GPL-2.0-or-later
/* Does a filter mean this container, unit, process...? */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/filter_work.h"

enum {
	NO_MATCH,
	MATCH_WEAK, /* a start, a pattern, or something implied */
	MATCH_EXACT,
};

static int by_start(const char *value, const char *id)
{
	if (!strcmp(value, id))
		return MATCH_EXACT;
	return strncmp(value, id, strlen(value)) ? NO_MATCH : MATCH_WEAK;
}

/* Paths of cgroups have no dashes where systemd made them: they tell slices apart there. */
static int pod_strength(const char *value, const char *uid)
{
	size_t i = 0;

	for (; value[i]; i++)
		if (uid[i] != value[i] && !(uid[i] == '-' && value[i] == '_'))
			return NO_MATCH;
	return uid[i] ? MATCH_WEAK : MATCH_EXACT;
}

static bool is_like(const char *pattern, const char *text)
{
	return !fnmatch(pattern, text, FNM_NOESCAPE);
}

static int container_strength(const char *value, const char *id, const char *name)
{
	if (!strcmp(value, name))
		return MATCH_EXACT;
	/* No pattern reaches over a slash: "1000/ID" is what a user calls a container. */
	if (!fnmatch(value, id, FNM_NOESCAPE | FNM_PATHNAME) ||
	    (*name && is_like(value, name)))
		return strcmp(value, id) ? MATCH_WEAK : MATCH_EXACT;
	return by_start(value, id);
}

static int unit_strength(const char *value, const char *unit)
{
	char longer[512];

	if (!strcmp(value, unit))
		return MATCH_EXACT;
	if (is_like(value, unit))
		return MATCH_WEAK;
	/* A pattern that has no suffix means what has this one. */
	if (snprintf(longer, sizeof(longer), "%s.service", value) >= (int)sizeof(longer))
		return NO_MATCH;
	return is_like(longer, unit) ? MATCH_WEAK : NO_MATCH;
}

/* "/sys/fs/cgroup/a/b/", "a/b" and "/a/b" are the same cgroup. */
static int cgroup_strength(const char *value, const char *path)
{
	static const char mount[] = "/sys/fs/cgroup";
	size_t len;

	if (!strncmp(value, mount, sizeof(mount) - 1) &&
	    (value[sizeof(mount) - 1] == '/' || !value[sizeof(mount) - 1]))
		value += sizeof(mount) - 1;
	value += strspn(value, "/");
	path += strspn(path, "/");
	len = strlen(value);
	while (len && value[len - 1] == '/')
		len--;
	if (!len)
		return MATCH_EXACT; /* the root: all there is */
	return !strncmp(value, path, len) && (!path[len] || path[len] == '/')
		       ? MATCH_EXACT
		       : NO_MATCH;
}

static int exact(bool is_equal)
{
	return is_equal ? MATCH_EXACT : NO_MATCH;
}

int filter_strength(const struct profile_filter *f, const struct tally_item *subject)
{
	const char *value = f->value, *text;

	if (!strcmp(value, "-") || subject_is_none(f->kind, subject))
		return exact(!strcmp(value, "-") && subject_is_none(f->kind, subject));
	if (filter_kind_is_number(f->kind))
		return exact(strtoull(value, NULL, 10) == subject->a);
	text = tally_string(subject->a);
	switch (f->kind) {
	case FILTER_CONTAINER:
		return container_strength(value, text, tally_string(subject->b));
	case FILTER_UNIT:
		return unit_strength(value, text);
	case FILTER_POD:
		return pod_strength(value, text);
	case FILTER_COMM: /* a thread may well be called "[x]" */
		return exact(!strcmp(value, text) || !fnmatch(value, text, FNM_NOESCAPE));
	case FILTER_CGROUP:
		return cgroup_strength(value, text);
	default:
		return exact(!strcmp(value, text));
	}
}
