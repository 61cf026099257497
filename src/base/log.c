// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/escape.h"

static int current_level;

void log_set_level(int level)
{
	current_level = level;
}

int log_level(void)
{
	return current_level;
}

/* Escapes the message: names in it are untrusted. */
static void print(const char *fmt, va_list args)
{
	char line[2048];

	vsnprintf(line, sizeof(line), fmt, args);
	/* Files are written by a thread of its own (record/file_writer.h). */
	flockfile(stderr);
	fputs("lineburn: ", stderr);
	escape_terminal(stderr, line);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void log_info(const char *fmt, ...)
{
	va_list args;

	if (current_level < 1)
		return;
	va_start(args, fmt);
	print(fmt, args);
	va_end(args);
}

void log_debug(const char *fmt, ...)
{
	va_list args;

	if (current_level < 2)
		return;
	va_start(args, fmt);
	print(fmt, args);
	va_end(args);
}

void log_warning(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print(fmt, args);
	va_end(args);
}
