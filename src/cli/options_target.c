// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/options_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cli/options_parse.h"
#include "target/comm_glob.h"

#define MAX_PIDS    4096
#define MAX_CHOICES 4096

static int add(struct options *o, enum lb_filter_kind kind, const char *option,
	       const char *arg, const char *takes, uint32_t number, struct error *err)
{
	bool excludes = *arg == '!';

	if (!arg[excludes])
		return usage(err, takes, option, arg);
	if (vec_grow(&o->sampling.target.values, &o->sampling.target.cap_values,
		     o->sampling.target.nr_values + 1, sizeof(*o->sampling.target.values),
		     MAX_CHOICES))
		return usage(err,
			     "4096 choices can be given at most, the next one was %s %s",
			     option, arg);
	o->sampling.target.values[o->sampling.target.nr_values++] =
		(struct target_value){.kind = kind,
				      .excludes = excludes,
				      .text = arg + excludes,
				      .number = number};
	return 0;
}

int parse_target_pid(struct options *o, const char *arg, struct error *err)
{
	static const char takes[] = "%s takes a process id, not \"%s\"";
	uint32_t pid = options_id(arg + (*arg == '!'));

	if (!pid)
		return usage(err, takes, "-p", arg);
	if (*arg == '!')
		return add(o, LB_FILTER_PROCESS, "-p", arg, takes, pid, err);
	if (vec_grow(&o->sampling.target.pids, &o->sampling.target.cap_pids,
		     o->sampling.target.nr_pids + 1, sizeof(*o->sampling.target.pids),
		     MAX_PIDS))
		return usage(err,
			     "%s can be given 4096 times at most, the next one was %s",
			     "-p", arg);
	o->sampling.target.pids[o->sampling.target.nr_pids++] = pid;
	return 0;
}

int parse_target_thread(struct options *o, const char *arg, struct error *err)
{
	static const char takes[] = "%s takes a thread id, not \"%s\"";
	uint32_t tid = options_id(arg + (*arg == '!'));

	if (!tid)
		return usage(err, takes, "-t", arg);
	return add(o, LB_FILTER_THREAD, "-t", arg, takes, tid, err);
}

int parse_target_cgroup(struct options *o, const char *arg, struct error *err)
{
	return add(o, LB_FILTER_CGROUP, "-G", arg,
		   "%s takes the path of a cgroup, not \"%s\"", 0, err);
}

int parse_target_container(struct options *o, const char *arg, struct error *err)
{
	return add(o, LB_FILTER_CONTAINER, "--container", arg,
		   "%s takes a name, or the first 4 or more digits of an id, not \"%s\"",
		   0, err);
}

int parse_target_unit(struct options *o, const char *arg, struct error *err)
{
	return add(o, LB_FILTER_UNIT, "--unit", arg,
		   "%s takes the name of a unit of systemd, not \"%s\"", 0, err);
}

int parse_target_comm(struct options *o, const char *arg, struct error *err)
{
	struct lb_comm_table *table = calloc(1, sizeof(*table));
	unsigned int nr = 0;
	int rc = table ? comm_glob_add(table, arg + (*arg == '!'), false) : -ENOMEM;

	free(table);
	if (rc == -E2BIG)
		return usage(
			err,
			"%s is compared with the 15 bytes that the kernel keeps of a "
			"name, and \"%s\" asks for more",
			"--comm", arg);
	for (size_t i = 0; i < o->sampling.target.nr_values; i++)
		nr += o->sampling.target.values[i].kind == LB_FILTER_COMM;
	if (nr == LB_COMM_PATTERNS)
		return usage(err,
			     "%s can be given 16 times at most, the next one was \"%s\"",
			     "--comm", arg);
	return add(o, LB_FILTER_COMM, "--comm", arg,
		   "%s takes a pattern of thread names, not \"%s\"", 0, err);
}

int parse_target_user(struct options *o, const char *arg, struct error *err)
{
	return add(o, LB_FILTER_USER, "--user", arg,
		   "%s takes a user's name or number, not \"%s\"", 0, err);
}

/* Does anything include by @kind? */
static bool includes(const struct options *o, enum lb_filter_kind kind)
{
	if (kind == LB_FILTER_PROCESS && o->sampling.target.nr_pids)
		return true;
	for (size_t i = 0; i < o->sampling.target.nr_values; i++)
		if (o->sampling.target.values[i].kind == kind &&
		    !o->sampling.target.values[i].excludes)
			return true;
	return false;
}

/* The root of a hierarchy has every process. */
static bool is_root_cgroup(const char *path)
{
	return !path[strspn(path, "/.")];
}

static bool names_targets(const struct options *o)
{
	if (o->command == COMMAND_RUN || o->sampling.target.nr_pids)
		return true;
	for (size_t i = 0; i < o->sampling.target.nr_values; i++) {
		const struct target_value *v = &o->sampling.target.values[i];

		if (v->excludes || v->kind == LB_FILTER_COMM || v->kind == LB_FILTER_USER)
			continue;
		if (v->kind != LB_FILTER_CGROUP || !is_root_cgroup(v->text))
			return true;
	}
	return false;
}

enum jit_probing options_probing(const struct options *o)
{
	if (o->uprobe)
		return JIT_PROBING_ALL;
	return o->no_uprobe || !names_targets(o) ? JIT_PROBING_NONE : JIT_PROBING_TRUSTED;
}

/* With -p, be it to leave one out. */
static bool names_process(const struct options *o)
{
	for (size_t i = 0; i < o->sampling.target.nr_values; i++)
		if (o->sampling.target.values[i].kind == LB_FILTER_PROCESS)
			return true;
	return o->sampling.target.nr_pids;
}

int options_check_target(struct options *o, struct error *err)
{
	bool is_narrow = includes(o, LB_FILTER_PROCESS) || includes(o, LB_FILTER_THREAD);

	if (!o->sampling.target.whole_machine && !is_narrow &&
	    !o->sampling.target.nr_values)
		return error_set_exit(
			err, EXIT_USAGE, -EINVAL,
			"record needs to know what: -p PID, -t TID, --container NAME, "
			"--unit NAME, -G CGROUP, --comm NAME or --user NAME, or -a for "
			"the whole machine");
	if (o->sampling.target.whole_machine && is_narrow)
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "-a and %s exclude each other",
				      o->sampling.target.nr_pids ? "-p" : "-t");
	if (o->sampling.target.no_children && !names_process(o))
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "--no-children goes with -p");
	o->sampling.target.whole_machine = !is_narrow;
	return 0;
}
