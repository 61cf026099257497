/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An option of the command line: its row in the table (cli/options.c), and parsers of
 * simple values.
 */
#ifndef LB_CLI_OPTION_H
#define LB_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct options;
struct option_row;

/* Return: 0, or -EINVAL with a message and EXIT_USAGE in @err. */
typedef int option_parse_fn(struct options *o, const struct option_row *row,
			    const char *arg, struct error *err);

struct option_row {
	const char *name; /* long; NULL ends the table */
	char letter; /* 0: long only */
	/*
	 * Name of the argument; NULL: none; "[=NAME]": optional. Completion offers files
	 * for FILE and so on (cli/completion.c).
	 */
	const char *arg;
	unsigned int on; /* commands that take it: 1 << enum command */
	option_parse_fn *parse;
	const char *help;
	const char *takes; /* for the message about an invalid argument */
	size_t at; /* offset of the member of struct options that it sets */
	int kind; /* selects the variant of parse(); or the member's value */
	unsigned long min, max; /* of a number; of the member's values with words */
	const char *const *words; /* by the member's value */
	/*
	 * Words that depend on the command or come from another table: returns word @i;
	 * NULL: there are no more.
	 */
	const char *(*word)(const char *command, size_t i);
};

/** Returns word @i of an option that takes fixed words in @command; NULL: no more. */
const char *option_word(const struct option_row *row, const char *command, size_t i);

/** Returns the member of @o that the option sets. */
void *option_member(struct options *o, const struct option_row *row);

/** Returns the name for messages: "-F", "--budget". */
const char *option_name(const struct option_row *row, char ret[32]);

/** Reports an error of the command line. Return: -EINVAL. */
#define usage(err, ...) error_set_exit(err, EXIT_USAGE, -EINVAL, __VA_ARGS__)

/** "-F takes ..., not ARG". Return: -EINVAL. */
int option_refuse(const struct option_row *row, const char *arg, struct error *err);

/** Reads the id of a process or thread; 0: invalid. */
uint32_t option_id(const char *text);

/** The option was given more than @max times. Return: -EINVAL. */
int option_refuse_more(const struct option_row *row, int max, const char *arg,
		       struct error *err);

/* ---- values of option_row.parse; each sets the member at row->at ---- */

option_parse_fn parse_flag; /* bool: true */
option_parse_fn parse_value; /* int: row->kind */
option_parse_fn parse_text; /* const char *: the argument, borrowed */
option_parse_fn parse_word; /* unsigned int: the number of one of row->words */
/* Both take a whole number from row->min to row->max. */
option_parse_fn parse_number; /* uint32_t */
option_parse_fn parse_mib; /* uint64_t: as bytes */
/* Both take a number from row->min to row->max, with an optional fraction. */
option_parse_fn parse_seconds; /* double */
option_parse_fn parse_percent; /* double: as a share */

#endif
