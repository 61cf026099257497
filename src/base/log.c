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

/* Escapes the message, because names in it are untrusted. */
void log_at(int level, const char *fmt, ...)
{
	char line[2048];
	va_list args;

	if (current_level < level)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	/* Lock, because the thread of record/file_writer.h also writes messages. */
	flockfile(stderr);
	fputs("lineburn: ", stderr);
	escape_terminal(stderr, line);
	fputc('\n', stderr);
	funlockfile(stderr);
}
