// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/option.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *option_member(struct options *o, const struct option_row *row)
{
	return (char *)o + row->at;
}

const char *option_word(const struct option_row *row, const char *command, size_t i)
{
	if (row->word)
		return row->word(command, i);
	return row->words && i <= row->max - row->min ? row->words[row->min + i] : NULL;
}

const char *option_name(const struct option_row *row, char ret[32])
{
	if (row->letter)
		snprintf(ret, 32, "-%c", row->letter);
	else
		snprintf(ret, 32, "--%s", row->name);
	return ret;
}

uint32_t option_id(const char *text)
{
	char *end;
	unsigned long id = strtoul(text, &end, 10);

	return isdigit((unsigned char)*text) && !*end && id <= INT32_MAX ? (uint32_t)id
									 : 0;
}

int option_refuse(const struct option_row *row, const char *arg, struct error *err)
{
	char name[32];

	return usage(err, "%s takes %s, not \"%s\"", option_name(row, name), row->takes,
		     arg);
}

int option_refuse_more(const struct option_row *row, int max, const char *arg,
		       struct error *err)
{
	char name[32];

	return usage(err, "%s can be given %d times at most, the next one was \"%s\"",
		     option_name(row, name), max, arg);
}

/* ---- parsers of values ---- */

int parse_flag(struct options *o, const struct option_row *row, const char *arg,
	       struct error *err)
{
	(void)arg;
	(void)err;
	*(bool *)option_member(o, row) = true;
	return 0;
}

int parse_value(struct options *o, const struct option_row *row, const char *arg,
		struct error *err)
{
	(void)arg;
	(void)err;
	*(int *)option_member(o, row) = row->kind;
	return 0;
}

int parse_text(struct options *o, const struct option_row *row, const char *arg,
	       struct error *err)
{
	(void)err;
	*(const char **)option_member(o, row) = arg;
	return 0;
}

int parse_word(struct options *o, const struct option_row *row, const char *arg,
	       struct error *err)
{
	for (unsigned long value = row->min; value <= row->max; value++)
		if (!strcmp(row->words[value], arg)) {
			*(unsigned int *)option_member(o, row) = (unsigned int)value;
			return 0;
		}
	return option_refuse(row, arg, err);
}

static bool read_number(const struct option_row *row, const char *arg, unsigned long *ret)
{
	char *end;

	*ret = strtoul(arg, &end, 10);
	return end != arg && !*end && *arg != '-' && *ret >= row->min && *ret <= row->max;
}

int parse_number(struct options *o, const struct option_row *row, const char *arg,
		 struct error *err)
{
	unsigned long number;

	if (!read_number(row, arg, &number))
		return option_refuse(row, arg, err);
	*(uint32_t *)option_member(o, row) = (uint32_t)number;
	return 0;
}

int parse_mib(struct options *o, const struct option_row *row, const char *arg,
	      struct error *err)
{
	unsigned long mib;

	if (!read_number(row, arg, &mib))
		return option_refuse(row, arg, err);
	*(uint64_t *)option_member(o, row) = (uint64_t)mib << 20;
	return 0;
}

/* Reads a number from row->min to row->max, with an optional fraction. */
static bool read_real(const struct option_row *row, const char *arg, double *ret)
{
	char *end;

	*ret = strtod(arg, &end);
	return end != arg && !*end && *ret >= (double)row->min &&
	       *ret <= (double)row->max;
}

int parse_seconds(struct options *o, const struct option_row *row, const char *arg,
		  struct error *err)
{
	double seconds;

	if (!read_real(row, arg, &seconds))
		return option_refuse(row, arg, err);
	*(double *)option_member(o, row) = seconds;
	return 0;
}

int parse_percent(struct options *o, const struct option_row *row, const char *arg,
		  struct error *err)
{
	double percent;

	if (!read_real(row, arg, &percent))
		return option_refuse(row, arg, err);
	*(double *)option_member(o, row) = percent / 100;
	return 0;
}
