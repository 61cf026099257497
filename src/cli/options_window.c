// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/options_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options_parse.h"

#define MIN_WINDOW_S 0.1
#define MAX_SECONDS  1e7
#define MAX_KEEP     1000000
#define MIN_MEMORY   64 /* MiB */
#define MAX_MEMORY   65536

/* Digits, at most one point, at most one letter behind. 0: no letter. */
static bool parse_number(const char *text, double *ret, char *ret_suffix)
{
	size_t len = strspn(text, "0123456789.");
	char *end;
	double number;

	if (!len || len > 32 || (text[len] && text[len + 1]))
		return false;
	number = strtod(text, &end);
	if (end != text + len)
		return false;
	*ret = number;
	*ret_suffix = text[len];
	return true;
}

/* What a suffix stands for; 0: it is none of @suffixes. */
static double scale_of(char suffix, const char *suffixes, const double *scales)
{
	const char *at = suffix ? strchr(suffixes, suffix) : NULL;

	if (!suffix)
		return 1;
	return at ? scales[at - suffixes] : 0;
}

bool duration_parse(const char *text, double *ret_s)
{
	static const double scales[] = {1, 60, 3600};
	double number;
	char suffix;

	if (!parse_number(text, &number, &suffix))
		return false;
	/* A suffix that is none makes it 0 for every number. */
	if (!(scale_of(suffix, "smh", scales) > 0))
		return false;
	number *= scale_of(suffix, "smh", scales);
	if (number > MAX_SECONDS)
		return false;
	*ret_s = number;
	return true;
}

bool size_parse(const char *text, uint64_t *ret_bytes)
{
	static const double scales[] = {1 << 10, 1 << 20, 1 << 30};
	double number;
	char suffix;

	if (!parse_number(text, &number, &suffix))
		return false;
	number *= scale_of(suffix, "KMG", scales);
	if (!(number >= 1) || number >= (double)(1ULL << 62))
		return false;
	*ret_bytes = (uint64_t)number;
	return true;
}

int options_parse_window(struct options *o, const char *arg, struct error *err)
{
	double seconds;

	if (!duration_parse(arg, &seconds) || seconds < MIN_WINDOW_S)
		return usage(err,
			     "%s takes a time from 0.1 s on, such as 60s, 5m or "
			     "1h, not \"%s\"",
			     "--window", arg);
	o->sampling.window_s = seconds;
	return 0;
}

int options_parse_keep(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long files = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || files < 1 || files > MAX_KEEP)
		return usage(err,
			     "%s takes a number of files from 1 to 1000000, not "
			     "\"%s\"",
			     "--keep", arg);
	o->sampling.keep_files = (uint32_t)files;
	return 0;
}

int options_parse_max_size(struct options *o, const char *arg, struct error *err)
{
	if (!size_parse(arg, &o->sampling.max_size_bytes))
		return usage(err, "%s takes bytes, such as 500M or 2G, not \"%s\"",
			     "--max-size", arg);
	return 0;
}

int options_parse_memory(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long mib = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || mib < MIN_MEMORY || mib > MAX_MEMORY)
		return usage(err, "%s takes MiB from 64 to 65536, not \"%s\"", "--memory",
			     arg);
	o->sampling.memory_bytes = (uint64_t)mib << 20;
	return 0;
}

int options_check_window(const struct options *o, struct error *err)
{
	if (!o->sampling.window_s &&
	    (o->sampling.keep_files || o->sampling.max_size_bytes))
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "--keep and --max-size go with --window");
	if (o->sampling.window_s > 0 && !strcmp(o->sampling.output, "-"))
		return error_set_exit(
			err, EXIT_USAGE, -EINVAL,
			"--window writes a file for each window: -o takes a file name to "
			"build theirs from, not -");
	return 0;
}
