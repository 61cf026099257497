// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static void compose(struct error *err, enum exit_code exit_code, const char *fmt,
		    va_list args)
{
	if (!err)
		return;
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	err->exit_code = exit_code;
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	errno = saved; /* for %m */
	compose(err, EXIT_FAILED, fmt, args);
	va_end(args);
	return code;
}

int error_set_exit(struct error *err, enum exit_code exit_code, int code, const char *fmt,
		   ...)
{
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	errno = saved; /* for %m */
	compose(err, exit_code, fmt, args);
	va_end(args);
	return code;
}
