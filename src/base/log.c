// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
 * stderr has no buffer, and the thread of base/job.h writes messages, too.
 */
void log_at(int level, const char *fmt, ...)
{
	static const char prefix[] = "lineburn: ";
	char line[2048], said[sizeof(prefix) + 4 * sizeof(line)];
	va_list args;
	size_t len;

	if (current_level < level)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	memcpy(said, prefix, sizeof(prefix));
	len = sizeof(prefix) - 1;
	escape_terminal_buf(said + len, sizeof(said) - len - 1, line);
	len += strlen(said + len);
	said[len++] = '\n';
	fwrite(said, 1, len, stderr);
}
