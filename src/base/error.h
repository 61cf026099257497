/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Failure of the run: a message for the user, printed once, in main.c. */
#ifndef LB_BASE_ERROR_H
#define LB_BASE_ERROR_H

/* Exit status of the process; 0 is success. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* no more specific code */
	EXIT_USAGE = 2, /* the command line is wrong */
	EXIT_SYSTEM = 3, /* the system does not allow it; the message has the remedy */
	EXIT_NO_SAMPLES = 4, /* nothing was sampled, or no sample was selected */
	EXIT_GREW = 5, /* diff: a limit of --fail-if is exceeded */
	EXIT_OWN_FAILURE = 125, /* run: lineburn failed after the command started */
	EXIT_NOT_EXECUTABLE = 126, /* run: the command cannot be executed; as env(1) */
	EXIT_NOT_FOUND = 127, /* run: the command does not exist; as env(1) */
};

struct error {
	char text[1024]; /* what, on which object, what to try; no newline */
	enum exit_code exit_code; /* EXIT_OK: not set, main uses EXIT_FAILED */
};

/**
 * Formats the message in @err and returns @code, so that a caller can write "return
 * error_set(err, -EINVAL, ...)". %m prints errno. @err may be NULL.
 */
#define error_set(err, code, ...) error_set_exit(err, EXIT_FAILED, code, __VA_ARGS__)

/** The same, with an exit code for main.c. */
__attribute__((format(printf, 4, 5))) int error_set_exit(struct error *err,
							 enum exit_code exit_code,
							 int code, const char *fmt, ...);

#endif
