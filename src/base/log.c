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

/*
 * Escapes the message, because names in it are untrusted. One call prints all of it:
 * stderr has no buffer, and the thread of record/file_writer.h writes messages, too.
 */
void log_at(int level, const char *fmt, ...)
{
	char line[2048], escaped[4 * sizeof(line)];
	va_list args;

	if (current_level < level)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	fprintf(stderr, "lineburn: %s\n",
		escape_terminal_buf(escaped, sizeof(escaped), line));
}
