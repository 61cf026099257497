// SPDX-License-Identifier: GPL-2.0-or-later
/* Options of annotate and report. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/options_parse.h"

int options_parse_charge(struct options *o, const char *arg, struct error *err)
{
	if (!strcmp(arg, "line"))
		o->viewing.attribution.charge = CHARGE_LINE;
	else if (!strcmp(arg, "mine"))
		o->viewing.attribution.charge = CHARGE_MINE;
	else if (!strcmp(arg, "leaf"))
		o->viewing.attribution.charge = CHARGE_LEAF;
	else
		return usage(err, "%s takes line, mine or leaf, not \"%s\"", "--charge",
			     arg);
	return 0;
}

int options_parse_source_path(struct options *o, const char *arg, struct error *err)
{
	char *copy, *equals;

	if (!strchr(arg, '=') || *arg == '=')
		return usage(err, "%s takes OLD=NEW, two path prefixes, not \"%s\"",
			     "--source-path", arg);
	copy = strdup(arg);
	if (!copy || vec_grow(&o->viewing.source_paths, &o->viewing.cap_source_paths,
			      o->viewing.nr_source_paths + 1,
			      sizeof(*o->viewing.source_paths), 64)) {
		free(copy);
		return usage(err, "%s can be given 64 times at most, the next one was %s",
			     "--source-path", arg);
	}
	equals = strchr(copy, '=');
	*equals = '\0';
	o->viewing.source_paths[o->viewing.nr_source_paths++] =
		(struct source_path_rule){.old_prefix = copy, .new_prefix = equals + 1};
	return 0;
}

int options_parse_context(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long lines = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || lines > 1000)
		return usage(err, "%s takes a number of lines from 0 to 1000, not \"%s\"",
			     "--context", arg);
	o->viewing.context = (unsigned int)lines;
	return 0;
}

int options_parse_min_percent(struct options *o, const char *arg, struct error *err)
{
	char *end;
	double percent = strtod(arg, &end);

	if (end == arg || *end || !(percent >= 0 && percent <= 100))
		return usage(err, "%s takes a percentage from 0 to 100, not \"%s\"",
			     "--min-percent", arg);
	o->viewing.min_share = percent / 100;
	return 0;
}

int options_parse_colour(struct options *o, const char *arg, struct error *err)
{
	if (!strcmp(arg, "auto"))
		o->viewing.colour = COLOUR_AUTO;
	else if (!strcmp(arg, "always"))
		o->viewing.colour = COLOUR_ALWAYS;
	else if (!strcmp(arg, "never"))
		o->viewing.colour = COLOUR_NEVER;
	else
		return usage(err, "%s takes auto, always or never, not \"%s\"", "--color",
			     arg);
	return 0;
}

int options_parse_file_filter(struct options *o, const char *arg, struct error *err)
{
	(void)err;
	o->viewing.file_filter = arg;
	return 0;
}

int options_parse_asm(struct options *o, const char *arg, struct error *err)
{
	if (arg && !*arg)
		return usage(err, "%s takes a function or FILE:LINE, not \"%s\"", "--asm",
			     arg);
	o->viewing.show_asm = true;
	o->viewing.asm_what = arg;
	return 0;
}

static int set_call_tree(struct options *o, enum call_direction direction,
			 const char *arg, struct error *err)
{
	const char *name = direction == CALL_CALLERS ? "--callers" : "--callees";

	if (arg && !*arg)
		return usage(err, "%s takes a function or FILE:LINE, not \"%s\"", name,
			     arg);
	if (o->viewing.call_direction && o->viewing.call_direction != direction)
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "--callers and --callees exclude each other");
	o->viewing.call_direction = direction;
	o->viewing.call_what = arg;
	return 0;
}

int options_parse_callers(struct options *o, const char *arg, struct error *err)
{
	return set_call_tree(o, CALL_CALLERS, arg, err);
}

int options_parse_callees(struct options *o, const char *arg, struct error *err)
{
	return set_call_tree(o, CALL_CALLEES, arg, err);
}

int options_parse_depth(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long depth = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || depth < 1 || depth > CALL_TREE_MAX_DEPTH)
		return usage(err, "%s takes a number of calls from 1 to 1000, not \"%s\"",
			     "--depth", arg);
	o->viewing.call_depth = (unsigned int)depth;
	return 0;
}

/*
 * "annotate --asm dither": a profile or what to show? A profile is gzipped, or
 * is called like one; "./main" may well be a program beside the function main.
 */
static bool is_profile(const char *arg)
{
	static const char *const suffixes[] = {".pb.gz", ".pb", ".pprof", ".prof"};
	unsigned char magic[2];
	size_t len = strlen(arg);
	_cleanup_close_ int fd = -1;

	if (!strcmp(arg, "-"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (len > strlen(suffixes[i]) &&
		    !strcmp(arg + len - strlen(suffixes[i]), suffixes[i]))
			return true;
	fd = open(arg, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	       magic[0] == 0x1f && magic[1] == 0x8b;
}

/* Profile and, after --asm or --callers alone, what to show, in whichever order. */
void options_take_view_arguments(int argc, char **argv, struct options *o)
{
	const char **what = o->viewing.show_asm ? &o->viewing.asm_what
						: &o->viewing.call_what;
	bool takes_what = (o->viewing.show_asm || o->viewing.call_direction) && !*what;

	for (int nr = 0; optind < argc && nr < 2; nr++) {
		const char *arg = argv[optind];

		if (takes_what && (o->viewing.input_given || !is_profile(arg))) {
			*what = arg;
			takes_what = false;
		} else if (!o->viewing.input_given) {
			o->viewing.input = arg;
			o->viewing.input_given = true;
		} else {
			return;
		}
		optind++;
	}
}

int options_check_view(const struct options *o, struct error *err)
{
	if (o->viewing.group_by && (o->viewing.call_direction || o->viewing.show_types))
		return error_set_exit(
			err, EXIT_USAGE, -EINVAL,
			"--by and %s exclude each other: groups have no "
			"functions",
			o->viewing.call_direction == CALL_CALLERS   ? "--callers"
			: o->viewing.call_direction == CALL_CALLEES ? "--callees"
								    : "--types");
	return 0;
}
