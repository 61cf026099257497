// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int error_set_exit(struct error *err, enum exit_code exit_code, int code, const char *fmt,
		   ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	err->exit_code = exit_code;
	return code;
}
