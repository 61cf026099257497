// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/group_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ID_LENGTH 32 /* hexadecimal digits from which on an id is one that nobody reads */

static const char *const not_told[] = {
	[GROUP_BY_NOTHING] = "",
	[GROUP_BY_CONTAINER] = "(no container)",
	[GROUP_BY_UNIT] = "(no unit)",
	[GROUP_BY_POD] = "(no pod)",
	[GROUP_BY_PROCESS] = "(process not told)",
	[GROUP_BY_THREAD] = "(thread not told)",
	[GROUP_BY_COMM] = "(command not told)",
	[GROUP_BY_USER] = "(user not told)",
	[GROUP_BY_CGROUP] = "(no cgroup)",
};
_Static_assert(ARRAY_SIZE(not_told) == NR_GROUP_BY, "one text each");

struct group_name container_short_id(const char *id)
{
	struct group_name name;
	bool is_long = strlen(id) >= ID_LENGTH &&
		       strspn(id, "0123456789abcdef") >= ID_LENGTH;

	snprintf(name.text, sizeof(name.text), "%.*s",
		 is_long ? SHORT_ID_LENGTH : (int)sizeof(name.text), id);
	return name;
}

void group_name_shorten_ids(struct group_name *name)
{
	static const char dots[] = "...";
	char *to = name->text;

	for (const char *from = name->text; *from;) {
		size_t len = strspn(from, "0123456789abcdef");
		size_t kept = len >= ID_LENGTH ? SHORT_ID_LENGTH : len + !len;

		memmove(to, from, kept);
		to += kept;
		from += len + !len;
		if (len < ID_LENGTH)
			continue;
		memcpy(to, dots, sizeof(dots) - 1);
		to += sizeof(dots) - 1;
	}
	*to = '\0';
}

static struct group_name container_name(const struct group *g)
{
	const char *id = g->text[OWNER_CONTAINER], *name = g->text[OWNER_CONTAINER_NAME];
	const char *runtime = g->text[OWNER_RUNTIME];
	struct group_name ret, short_id = container_short_id(id);
	bool has_name = *name && strcmp(name, id) != 0;

	snprintf(ret.text, sizeof(ret.text), "%.512s%s%.256s%s%.64s%s",
		 has_name ? name : short_id.text, has_name || *runtime ? " (" : "",
		 has_name ? short_id.text : "", has_name && *runtime ? ", " : "", runtime,
		 has_name || *runtime ? ")" : "");
	return ret;
}

struct group_name group_name_of(enum group_by by, const struct group *g)
{
	const char *gap = *g->text[OWNER_COMM] ? " " : "";
	struct group_name ret = {0};

	if (!g->is_told) {
		snprintf(ret.text, sizeof(ret.text), "%s", not_told[by]);
		return ret;
	}
	switch (by) {
	case GROUP_BY_CONTAINER:
		return container_name(g);
	case GROUP_BY_PROCESS:
		snprintf(ret.text, sizeof(ret.text), "%" PRIu32 "%s%s", g->pid, gap,
			 g->text[OWNER_COMM]);
		return ret;
	case GROUP_BY_THREAD:
		snprintf(ret.text, sizeof(ret.text), "%" PRIu32 "/%" PRIu32 "%s%s",
			 g->pid, g->tid, gap, g->text[OWNER_COMM]);
		return ret;
	case GROUP_BY_CGROUP:
		if (!*g->text[OWNER_CGROUP])
			snprintf(ret.text, sizeof(ret.text),
				 "(path not told, id %" PRIu64 ")", g->cgroup_id);
		else
			snprintf(ret.text, sizeof(ret.text), "%s", g->text[OWNER_CGROUP]);
		return ret;
	default:
		snprintf(ret.text, sizeof(ret.text), "%s",
			 by == GROUP_BY_UNIT   ? g->text[OWNER_UNIT]
			 : by == GROUP_BY_POD  ? g->text[OWNER_POD]
			 : by == GROUP_BY_COMM ? g->text[OWNER_COMM]
					       : g->text[OWNER_USER]);
		return ret;
	}
}

const char *group_heading(enum group_by by)
{
	return by == GROUP_BY_COMM ? "command" : group_by_names[by];
}

struct group_name group_place(const struct group *g)
{
	struct group_name ret;

	if (*g->text[OWNER_CONTAINER])
		return container_name(g);
	snprintf(ret.text, sizeof(ret.text), "%s", g->text[OWNER_UNIT]);
	return ret;
}
