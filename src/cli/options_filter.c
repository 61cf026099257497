// SPDX-License-Identifier: GPL-2.0-or-later
/* report --by, and whose samples annotate and report show: --container, --unit, ... */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/options_parse.h"

int options_parse_by(struct options *o, const char *arg, struct error *err)
{
	for (int by = GROUP_BY_NOTHING + 1; by < NR_GROUP_BY; by++)
		if (!strcmp(group_by_names[by], arg)) {
			o->viewing.group_by = (enum group_by)by;
			return 0;
		}
	return usage(err,
		     "%s takes container, unit, pod, process, thread, comm, user or "
		     "cgroup, not \"%s\"",
		     "--by", arg);
}

uint32_t options_id(const char *text)
{
	char *end;
	unsigned long id = strtoul(text, &end, 10);

	return isdigit((unsigned char)*text) && !*end && id <= INT32_MAX ? (uint32_t)id
									 : 0;
}

static int add(struct options *o, enum filter_kind kind, const char *arg,
	       struct error *err)
{
	static const char *const takes[] = {
		[FILTER_CONTAINER] = "a container's name or the start of its id",
		[FILTER_UNIT] = "the name of a systemd unit",
		[FILTER_POD] = "a pod's uid or its start",
		[FILTER_PID] = "a process id",
		[FILTER_THREAD] = "a thread id",
		[FILTER_COMM] = "a pattern of commands' names",
		[FILTER_USER] = "a user's name or number",
		[FILTER_CGROUP] = "the path of a cgroup",
	};
	bool exclude = *arg == '!';
	const char *value = arg + exclude;
	bool is_number = kind == FILTER_PID || kind == FILTER_THREAD;

	if (!*value || (is_number && strcmp(value, "-") != 0 && !options_id(value)))
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "--%s takes %s, with \"!\" in front all others, "
				      "not \"%s\"",
				      filter_kind_names[kind], takes[kind], arg);
	if (vec_grow(&o->viewing.filters, &o->viewing.cap_filters,
		     o->viewing.nr_filters + 1, sizeof(*o->viewing.filters),
		     FILTER_MAX_FILTERS))
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "%d of --container, --unit and so on can be given "
				      "at most, the next one was \"%s\"",
				      FILTER_MAX_FILTERS, arg);
	o->viewing.filters[o->viewing.nr_filters++] =
		(struct profile_filter){.kind = kind, .exclude = exclude, .value = value};
	return 0;
}

int options_narrow_container(struct options *o, const char *arg, struct error *err)
{
	return add(o, FILTER_CONTAINER, arg, err);
}

int options_narrow_unit(struct options *o, const char *arg, struct error *err)
{
	return add(o, FILTER_UNIT, arg, err);
}

int options_narrow_pod(struct options *o, const char *arg, struct error *err)
{
	return add(o, FILTER_POD, arg, err);
}

int options_narrow_pid(struct options *o, const char *arg, struct error *err)
{
	return add(o, FILTER_PID, arg, err);
}

int options_narrow_thread(struct options *o, const char *arg, struct error *err)
{
	return add(o, FILTER_THREAD, arg, err);
}

int options_narrow_comm(struct options *o, const char *arg, struct error *err)
{
	return add(o, FILTER_COMM, arg, err);
}

int options_narrow_user(struct options *o, const char *arg, struct error *err)
{
	return add(o, FILTER_USER, arg, err);
}

int options_narrow_cgroup(struct options *o, const char *arg, struct error *err)
{
	return add(o, FILTER_CGROUP, arg, err);
}
