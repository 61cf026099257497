/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The target of a recording, as requested by the user. */
#ifndef LB_TARGET_REQUEST_H
#define LB_TARGET_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lineburn_filter.h"

/* A value of -t, -G, --container, --unit, --comm, --user, or of "-p !PID". */
struct target_value {
	enum lb_filter_kind kind;
	bool excludes;
	const char *text; /* without the '!'; borrowed */
	uint32_t number; /* PROCESS and THREAD: its id */
};

struct target_request {
	bool is_command; /* run: the command and its descendants */
	uint32_t *pids; /* heap */
	size_t nr_pids, cap_pids;
	bool whole_machine; /* no process or thread is given: all tasks are checked */
	struct target_value *values; /* heap; in addition to pids */
	size_t nr_values, cap_values;
	bool no_children; /* do not follow children of pids or of the command */
};

#endif
