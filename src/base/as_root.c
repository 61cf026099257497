// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/as_root.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"

#define ARGUMENTS_MAX_BYTES (1 << 20)
#define CUT                 " ..."

/* Characters that mean nothing to a shell. */
static const char plain[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	"@%+=:,./_-";

static bool append_word(char *buf, size_t size, const char *word)
{
	if (*word && !word[strspn(word, plain)])
		return text_append(buf, size, "%s", word);
	if (!text_append(buf, size, "'"))
		return false;
	for (;;) {
		size_t len = strcspn(word, "'");

		if (!text_append(buf, size, "%.*s", (int)len, word))
			return false;
		word += len;
		if (!*word++)
			return text_append(buf, size, "'");
		if (!text_append(buf, size, "'\\''"))
			return false;
	}
}

static void append_program(char *buf, size_t size)
{
	char path[PATH_MAX] = "lineburn";
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (len > 0)
		path[len] = '\0';
	text_append(buf, size, "sudo ");
	append_word(buf, size, path);
}

const char *as_root_program(char *buf, size_t size)
{
	*buf = '\0';
	append_program(buf, size);
	return buf;
}

/* Appends a word of the command line, or CUT for all that remain. */
static bool append_argument(char *buf, size_t size, const char *word)
{
	size_t before = strlen(buf);

	/* Each leaves room for CUT, because the next one may not fit. */
	if (size > before + sizeof(CUT) && text_append(buf, size - sizeof(CUT), " ") &&
	    append_word(buf, size - sizeof(CUT), word))
		return true;
	buf[before] = '\0';
	text_append(buf, size, CUT);
	return false;
}

void as_root_add_arguments(char *buf, size_t size, const char *cmdline, size_t len)
{
	/* The first one is the program. */
	for (size_t at = strnlen(cmdline, len) + 1; at < len;
	     at += strlen(cmdline + at) + 1)
		if (!append_argument(buf, size, cmdline + at))
			break;
}

const char *as_root_advice(char *buf, size_t size)
{
	_cleanup_free_ char *cmdline = NULL;
	size_t len;

	*buf = '\0';
	if (!geteuid())
		return buf;
	text_append(buf, size, ", or run it as root: ");
	append_program(buf, size);
	/* It ends the text with a NUL. */
	if (!io_read_file("/proc/self/cmdline", ARGUMENTS_MAX_BYTES, &cmdline, &len))
		as_root_add_arguments(buf, size, cmdline, len);
	return buf;
}
