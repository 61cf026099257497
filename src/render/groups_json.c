// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/groups.h"

#include <inttypes.h>

#include "render/group_name.h"

static const char *const members[] = {
	[OWNER_CONTAINER_NAME] = "container_name",
	[OWNER_CONTAINER] = "container",
	[OWNER_RUNTIME] = "container_runtime",
	[OWNER_POD] = "pod",
	[OWNER_UNIT] = "unit",
	[OWNER_COMM] = "comm",
	[OWNER_EXE] = "exe",
	[OWNER_USER] = "user",
	[OWNER_CGROUP] = "cgroup",
};
_Static_assert(ARRAY_SIZE(members) == NR_OWNER_TEXTS, "one member per text");

static json_t *text_or_null(const char *s)
{
	return *s ? json_text(s) : json_null();
}

static json_t *number_or_null(uint64_t n)
{
	return n ? json_count(n) : json_null();
}

/* What the option that narrows a listing to this group takes. */
static json_t *key_value(enum group_by by, const struct group *g)
{
	char number[16];

	if (!g->is_told)
		return json_null();
	if (by != GROUP_BY_PROCESS && by != GROUP_BY_THREAD)
		return text_or_null(g->text[group_by_text(by)]);
	snprintf(number, sizeof(number), "%" PRIu32,
		 by == GROUP_BY_THREAD ? g->tid : g->pid);
	return json_text(number);
}

json_t *groups_value(struct json_builder *b, const struct groups *groups)
{
	json_t *array = json_array();

	for (size_t i = 0; i < groups->nr; i++) {
		const struct group *g = &groups->items[i];
		json_t *group = json_object();

		json_set(b, group, "name",
			 g->is_told ? json_text(group_name_of(groups->by, g).text)
				    : json_null());
		json_set(b, group, "key", key_value(groups->by, g));
		json_set(b, group, "pid", number_or_null(g->pid));
		json_set(b, group, "tid", number_or_null(g->tid));
		for (size_t k = 0; k < NR_OWNER_TEXTS; k++)
			json_set(b, group, members[k], text_or_null(g->text[k]));
		json_set(b, group, "cgroup_id", number_or_null(g->cgroup_id));
		json_set(b, group, "samples", json_count(g->self.samples));
		json_set(b, group, "cpu_ns", json_count(g->self.cpu_ns));
		json_set_weight(b, group, "with_line", &g->with_line);
		json_add(b, array, group);
	}
	return array;
}
