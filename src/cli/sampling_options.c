// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/sampling_options.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "collect/sampler.h"
#include "record/sampling.h"
#include "target/comm_glob.h"

#define MAX_PIDS          4096
#define MAX_TARGET_VALUES 4096
#define MIN_WINDOW_S      0.1
#define DEFAULT_FREQ_HZ   99

/* ---- sampling ---- */

const char *sampling_event_word(const char *command, size_t i)
{
	(void)command;
	return sample_source_name(i);
}

int parse_event(struct options *o, const struct option_row *row, const char *arg,
		struct error *err)
{
	struct sampling *s = option_member(o, row);

	s->source = sample_source_named(arg);
	return s->source ? 0 : option_refuse(row, arg, err);
}

int parse_budget(struct options *o, const struct option_row *row, const char *arg,
		 struct error *err)
{
	struct sampling *s = option_member(o, row);
	char *end;
	double percent = strtod(arg, &end);

	if (end != arg && *end == '%')
		end++;
	if (end == arg || *end || !(percent >= 0.001 && percent <= 100))
		return option_refuse(row, arg, err);
	s->budget_ppm = (uint32_t)lround(percent * 1e4);
	return 0;
}

/*
 * Reads digits, at most one point, and optionally a unit, which is one letter of
 * @suffixes.
 */
static bool read_scaled(const char *text, const char *suffixes, const double *scales,
			double *ret)
{
	size_t len = strspn(text, "0123456789.");
	const char *suffix = text[len] ? strchr(suffixes, text[len]) : NULL;
	char *end;

	if (!len || len > 32 || (text[len] && (!suffix || text[len + 1])))
		return false;
	*ret = strtod(text, &end) * (suffix ? scales[suffix - suffixes] : 1);
	return end == text + len;
}

int parse_window(struct options *o, const struct option_row *row, const char *arg,
		 struct error *err)
{
	struct sampling *s = option_member(o, row);
	static const double scales[] = {1, 60, 3600};
	double seconds;

	if (!read_scaled(arg, "smh", scales, &seconds) || seconds < MIN_WINDOW_S ||
	    seconds > MAX_SECONDS)
		return option_refuse(row, arg, err);
	s->window_s = seconds;
	return 0;
}

int parse_max_size(struct options *o, const struct option_row *row, const char *arg,
		   struct error *err)
{
	struct sampling *s = option_member(o, row);
	static const double scales[] = {1 << 10, 1 << 20, 1 << 30};
	double bytes;

	if (!read_scaled(arg, "KMG", scales, &bytes) || bytes < 1 ||
	    bytes >= (double)(1ULL << 62))
		return option_refuse(row, arg, err);
	s->max_size_bytes = (uint64_t)bytes;
	return 0;
}

/* The workers must not keep the descriptor open. */
int parse_ready_fd(struct options *o, const struct option_row *row, const char *arg,
		   struct error *err)
{
	const uint32_t *fd = option_member(o, row);
	int rc = parse_number(o, row, arg, err);

	if (!rc && fcntl((int)*fd, F_SETFD, FD_CLOEXEC))
		return option_refuse(row, arg, err);
	return rc;
}

int parse_output(struct options *o, const struct option_row *row, const char *arg,
		 struct error *err)
{
	struct sampling *s = option_member(o, row);

	if (!*arg)
		return option_refuse(row, arg, err);
	s->output = arg;
	s->output_given = true;
	return 0;
}

/* ---- targets ---- */

static int check_comm(const struct target_request *t, const struct option_row *row,
		      const char *arg, struct error *err)
{
	_cleanup_free_ struct lb_comm_table *table = calloc(1, sizeof(*table));
	int nr = 0;

	if (table && comm_glob_add(table, arg + (*arg == '!'), false) == -E2BIG)
		return usage(
			err,
			"--comm is compared with the 15 bytes that the kernel keeps of a "
			"name, and \"%s\" asks for more",
			arg);
	for (size_t i = 0; i < t->nr_values; i++)
		nr += t->values[i].kind == LB_FILTER_COMM;
	return nr == LB_COMM_PATTERNS
		       ? option_refuse_more(row, LB_COMM_PATTERNS, arg, err)
		       : 0;
}

static int add_pid(struct target_request *t, const struct option_row *row, uint32_t pid,
		   const char *arg, struct error *err)
{
	if (vec_grow(&t->pids, &t->cap_pids, t->nr_pids + 1, sizeof(*t->pids), MAX_PIDS))
		return option_refuse_more(row, MAX_PIDS, arg, err);
	t->pids[t->nr_pids++] = pid;
	return 0;
}

int parse_target(struct options *o, const struct option_row *row, const char *arg,
		 struct error *err)
{
	enum lb_filter_kind kind = (enum lb_filter_kind)row->kind;
	bool has_id = kind == LB_FILTER_PROCESS || kind == LB_FILTER_THREAD;
	struct target_request *t = option_member(o, row);
	bool excludes = *arg == '!';
	uint32_t id = has_id ? option_id(arg + excludes) : 0;
	char name[32];

	if (!arg[excludes] || (has_id && !id))
		return option_refuse(row, arg, err);
	if (kind == LB_FILTER_PROCESS && !excludes)
		return add_pid(t, row, id, arg, err);
	if (kind == LB_FILTER_COMM && check_comm(t, row, arg, err))
		return -EINVAL;
	if (vec_grow(&t->values, &t->cap_values, t->nr_values + 1, sizeof(*t->values),
		     MAX_TARGET_VALUES))
		return usage(err,
			     "%d choices can be given at most, the next one was "
			     "%s %s",
			     MAX_TARGET_VALUES, option_name(row, name), arg);
	t->values[t->nr_values++] = (struct target_value){
		.kind = kind, .excludes = excludes, .text = arg + excludes, .number = id};
	return 0;
}

/* Does any option include targets by @kind? */
static bool includes(const struct target_request *t, enum lb_filter_kind kind)
{
	if (kind == LB_FILTER_PROCESS && t->nr_pids)
		return true;
	for (size_t i = 0; i < t->nr_values; i++)
		if (t->values[i].kind == kind && !t->values[i].excludes)
			return true;
	return false;
}

/* The root of a hierarchy contains every process. */
static bool is_root_cgroup(const char *path)
{
	return !path[strspn(path, "/.")];
}

bool sampling_names_targets(const struct target_request *t)
{
	if (t->is_command || t->nr_pids)
		return true;
	for (size_t i = 0; i < t->nr_values; i++) {
		const struct target_value *v = &t->values[i];

		if (v->excludes || v->kind == LB_FILTER_COMM || v->kind == LB_FILTER_USER)
			continue;
		if (v->kind != LB_FILTER_CGROUP || !is_root_cgroup(v->text))
			return true;
	}
	return false;
}

/* Is -p given, even as an exclusion? */
static bool names_process(const struct target_request *t)
{
	for (size_t i = 0; i < t->nr_values; i++)
		if (t->values[i].kind == LB_FILTER_PROCESS)
			return true;
	return t->nr_pids;
}

int sampling_check_target(struct target_request *t, struct error *err)
{
	bool is_narrow = includes(t, LB_FILTER_PROCESS) || includes(t, LB_FILTER_THREAD);

	if (!t->whole_machine && !is_narrow && !t->nr_values)
		return usage(err, "record needs a target: -p PID, -t TID, --container "
				  "NAME, --unit NAME, -G CGROUP, --comm NAME or --user "
				  "NAME, or -a for the whole machine");
	if (t->whole_machine && is_narrow)
		return usage(err, "-a and %s exclude each other",
			     t->nr_pids ? "-p" : "-t");
	if (t->no_children && !names_process(t))
		return usage(err, "--no-children goes with -p");
	t->whole_machine = !is_narrow;
	return 0;
}

int sampling_check_source(struct sampling *s, struct error *err)
{
	if (s->source->is_clock && s->event_period)
		return usage(
			err,
			"-c goes with -e page-faults; -F sets the rate of cpu-clock");
	if (!s->source->is_clock && (s->freq_hz || s->budget_ppm))
		return usage(err,
			     "%s goes with -e cpu-clock; -c sets how many %s a sample "
			     "stands for",
			     s->freq_hz ? "-F" : "--budget", s->source->name);
	if (s->source->is_clock && !s->freq_hz)
		s->freq_hz = DEFAULT_FREQ_HZ;
	if (!s->source->is_clock && !s->event_period)
		s->event_period = 1;
	return 0;
}

int sampling_check_window(const struct sampling *s, struct error *err)
{
	if (!s->window_s && (s->keep_windows || s->max_size_bytes || s->group_reads))
		return usage(err, "--keep, --max-size and --group-read go with "
				  "--window");
	if (s->window_s > 0 && !strcmp(s->output, "-"))
		return usage(err, "--window writes a file for each window, and derives "
				  "their names from -o: give a file name, not -");
	return 0;
}
