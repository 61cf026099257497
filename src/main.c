// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses, runs, prints the error if any, and sets the exit code. Nothing else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/caller.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/target_fd.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/options.h"
#include "cli/version.h"
#include "decode/requests.h"
#include "doctor/doctor.h"
#include "doctor/fix.h"
#include "launch/python_hook.h"
#include "worker/worker.h"

static int run(const struct options *o, int *status, struct error *err)
{
	int rc;

	switch (o->command) {
	case COMMAND_RUN:
	case COMMAND_RECORD:
		rc = caller_lift_file_limit(err);
		return rc ? rc : command_record(o, status, err);
	case COMMAND_TOP:
		rc = caller_lift_file_limit(err);
		return rc ? rc : command_top(o, err);
	case COMMAND_ANNOTATE:
	case COMMAND_REPORT:
		return command_view(o, err);
	case COMMAND_DIFF:
		return command_diff(o, err);
	case COMMAND_EXPORT:
	case COMMAND_HTML:
		return command_export(o, err);
	case COMMAND_DOCTOR:
		if (o->fix)
			return doctor_fix(o->agreed, stdout, err);
		*status = doctor_run(!strcmp(o->viewing.format, "json"), stdout);
		return 0;
	case COMMAND_PYTHON_HOOK:
		return python_hook_run(o->python_hook_action, o->python_prefix,
				       o->python_cache_dir, err);
	case COMMAND_COMPLETION:
		completion_print(o->shell, stdout);
		return 0;
	case COMMAND_VERSION:
		version_print(o->verbose, stdout);
		return 0;
	case COMMAND_HELP:
	case COMMAND_NONE:
		options_print_help(o->help_for);
		return 0;
	}
	return 0;
}

static void print_error(const struct error *err)
{
	fputs("lineburn: ", stderr);
	escape_terminal(stderr, err->text);
	fputc('\n', stderr);
}

int main(int argc, char **argv)
{
	struct options o;
	struct error err = {0};
	int status = EXIT_OK;
	int rc;

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(operations, NR_OPERATIONS);
	caller_open_streams();
	rc = options_parse(argc, argv, &o, &err);
	if (!rc) {
		log_set_level(o.verbose);
		rc = run(&o, &status, &err);
	}
	/*
	 * Flush to detect a full disk. EPIPE is not a failure: the reader closed the
	 * pipe.
	 */
	if (!rc && (fflush(stdout) || ferror(stdout)) && errno != EPIPE)
		rc = error_set(&err, -errno, "cannot write to stdout: %m");
	options_deinit(&o);
	if (rc) {
		print_error(&err);
		status = err.exit_code ? (int)err.exit_code : EXIT_FAILED;
	}
	target_fd_leave();
	return status;
}
