// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every option and every word of the table is in the script of each shell, below its
 * command. What the shells make of the scripts: tests/cli/completion.sh and
 * tests/nightly/completion.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/completion.h"

static char *script_of(enum shell shell)
{
	char *text = NULL;
	size_t len;
	FILE *file = open_memstream(&text, &len);

	assert_non_null(file);
	completion_print(shell, file);
	assert_int_equal(fclose(file), 0);
	return text;
}

/* Does a line between @from and @to have all three texts? */
static bool has_line(const char *from, const char *to, const char *a, const char *b,
		     const char *c)
{
	for (const char *line = from; line && line < to; line = strchr(line, '\n')) {
		char copy[1024];

		line += *line == '\n';
		snprintf(copy, sizeof(copy), "%.*s ", (int)strcspn(line, "\n"), line);
		if (strstr(copy, a) && strstr(copy, b) && strstr(copy, c))
			return true;
	}
	return false;
}

/* The part of a script that begins with @begin and ends before the next @end. */
static const char *part_of(const char *script, const char *begin, const char *end,
			   const char **ret_end)
{
	const char *part = strstr(script, begin);

	if (!part)
		fail_msg("the script lacks \"%s\"", begin);
	*ret_end = strstr(part + 1, end);
	return part;
}

static void every_option(void (*check)(const char *script, const struct command_row *c,
				       const struct option_row *row),
			 enum shell shell)
{
	_cleanup_free_ char *script = script_of(shell);
	size_t nr = 0;

	for (size_t i = 0; i < nr_command_rows; i++)
		for (const struct option_row *row = option_rows; row->name; row++)
			if (row->on & 1U << command_rows[i].command) {
				check(script, &command_rows[i], row);
				nr++;
			}
	assert_true(nr > 90);
}

static const char *joined_words(const struct option_row *row, const char *command)
{
	static char words[256];

	*words = '\0';
	for (size_t i = 0; option_word(row, command, i); i++) {
		strcat(words, i ? " " : "");
		strcat(words, option_word(row, command, i));
	}
	return words;
}

static void check_bash(const char *script, const struct command_row *c,
		       const struct option_row *row)
{
	char begin[64], name[64], letter[8] = "";
	const char *part, *end;

	snprintf(begin, sizeof(begin), "\n\t%s)\n", c->name);
	part = part_of(script, begin, "\t\t;;\n", &end);
	snprintf(name, sizeof(name), "--%s", row->name);
	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c ", row->letter);
	if (!has_line(part, end, "options=", name, letter))
		fail_msg("bash, %s: no %s %s", c->name, letter, name);
	if (row->arg && row->arg[0] != '[' &&
	    !has_line(part, end, name, "value=", joined_words(row, c->name)))
		fail_msg("bash, %s: %s has no value", c->name, name);
}

static void check_zsh(const char *script, const struct command_row *c,
		      const struct option_row *row)
{
	char begin[64], name[64], help[64];
	const char *part, *end;

	snprintf(begin, sizeof(begin), "\n\t%s)\n", c->name);
	part = part_of(script, begin, "\t\t;;\n", &end);
	if (row->letter)
		snprintf(name, sizeof(name), "{-%c%s,--%s%s}'", row->letter,
			 row->arg ? "+" : "", row->name, row->arg ? "=" : "");
	else
		snprintf(name, sizeof(name), "--%s%s'", row->name,
			 !row->arg            ? ""
			 : row->arg[0] == '[' ? "=-"
					      : "=");
	snprintf(help, sizeof(help), "[%.*s", (int)strcspn(row->help, "'["), row->help);
	if (!has_line(part, end, name, help, joined_words(row, c->name)))
		fail_msg("zsh, %s: no %s", c->name, name);
}

static void check_fish(const char *script, const struct command_row *c,
		       const struct option_row *row)
{
	char at[64], name[64], help[64];

	snprintf(at, sizeof(at), "'__lineburn_at %s' %s", c->name,
		 row->letter ? "-s " : "-l ");
	if (row->letter)
		snprintf(at + strlen(at), sizeof(at) - strlen(at), "%c ", row->letter);
	snprintf(name, sizeof(name), "-l %s %s", row->name,
		 *joined_words(row, c->name) ? "-x -a" : "");
	snprintf(help, sizeof(help), "-d '%.*s", (int)strcspn(row->help, "'"), row->help);
	if (!has_line(script, script + strlen(script), at, name, help))
		fail_msg("fish, %s: no %s", c->name, name);
	if (!has_line(script, script + strlen(script), at, name,
		      joined_words(row, c->name)))
		fail_msg("fish, %s: %s lacks its words", c->name, name);
}

static void bash_has_every_option(void **state)
{
	(void)state;
	every_option(check_bash, SHELL_BASH);
}

static void zsh_has_every_option(void **state)
{
	(void)state;
	every_option(check_zsh, SHELL_ZSH);
}

static void fish_has_every_option(void **state)
{
	(void)state;
	every_option(check_fish, SHELL_FISH);
}

/* The scripts are static text: no lineburn runs while a line is completed. */
static void every_command(void **state)
{
	(void)state;
	for (int shell = 0; shell < NR_SHELLS; shell++) {
		_cleanup_free_ char *script = script_of((enum shell)shell);

		for (size_t i = 0; i < nr_command_rows; i++)
			assert_non_null(strstr(script, command_rows[i].name));
		assert_null(strstr(script, "$(lineburn"));
		assert_null(strstr(script, "(lineburn "));
		assert_null(strstr(script, "`"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bash_has_every_option),
		cmocka_unit_test(zsh_has_every_option),
		cmocka_unit_test(fish_has_every_option),
		cmocka_unit_test(every_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
