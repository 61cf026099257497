// SPDX-License-Identifier: GPL-2.0-or-later
/* Every option of every command is in the manual page. Run in the top directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/options.h"

/* Captures what --help prints for @command: stdout is redirected to a file. */
static void help_of(enum command command, char *text, size_t size)
{
	FILE *file = tmpfile();
	int saved = dup(STDOUT_FILENO);

	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	options_print_help(command);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
}

static size_t check_options(const char *help, const char *page)
{
	size_t nr = 0;

	for (const char *at = strstr(help, " --"); at; at = strstr(at + 3, " --")) {
		size_t name = strcspn(at + 3, "=[ \n");
		char item[64];

		snprintf(item, sizeof(item), "Fl -%.*s", (int)name, at + 3);
		if (!strstr(page, item))
			fail_msg("docs/lineburn.1 lacks --%.*s", (int)name, at + 3);
		nr++;
	}
	return nr;
}

static void every_option_is_explained(void **state)
{
	static const enum command commands[] = {
		COMMAND_RUN,    COMMAND_RECORD, COMMAND_ANNOTATE, COMMAND_REPORT,
		COMMAND_EXPORT, COMMAND_HTML,   COMMAND_DOCTOR,   COMMAND_PYTHON_HOOK};
	_cleanup_free_ char *page = NULL;
	size_t len, nr = 0;

	(void)state;
	assert_int_equal(io_read_file("docs/lineburn.1", 1 << 20, &page, &len), 0);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		char help[16384];

		help_of(commands[i], help, sizeof(help));
		nr += check_options(help, page);
	}
	assert_true(nr > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
