// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyze/attribution.h"
#include "analyze/code_query.h"
#include "analyze/hot_lines.h"
#include "analyze/machine_code.h"
#include "analyze/phase.h"
#include "analyze/source.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/match.h"
#include "cli/disassembly.h"
#include "render/render.h"

#define MAX_TREES_OF_CALLERS 10 /* most functions whose callers are shown */
#define MAX_CHANGED_NAMES    5 /* most files that a warning names */

static bool wants_colour(const struct viewing *v)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (v->colour != COLOUR_AUTO)
		return v->colour == COLOUR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(term && !strcmp(term, "dumb"));
}

/* Does the locale use UTF-8? Does not load the locale. */
static bool speaks_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

static unsigned int terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

/*
 * Reports how many files were not opened because a stranger may have named them. Not in run,
 * which opens none: it cannot tell which are there.
 */
static void say_withheld(const struct attribution *a, const struct named_files *named,
			 size_t nr)
{
	const char *plural;

	for (size_t i = 0; i < a->nr_files; i++)
		nr += a->files[i].source.is_withheld;
	plural = nr == 1 ? " that the profile names was"
			 : "s that the profile names were";
	if (nr && named->is_strangers)
		log_warning("%zu file%s not opened, since the profile is not a file of "
			    "yours; --sources opens what it names",
			    nr, plural);
	else if (nr)
		log_warning("%zu file%s not opened, since not every user may read %s; "
			    "--sources opens what it names",
			    nr, plural, nr == 1 ? "it" : "them");
}

void say_changed(const struct attribution *a, const char *file_filter)
{
	char names[1024] = "";
	size_t nr = 0;

	for (size_t i = 0; i < a->nr_files; i++) {
		const struct attribution_file *file = &a->files[i];

		if (!file->source.is_changed || file->left_out ||
		    (file_filter && !match_ends(file->path, file_filter)))
			continue;
		if (nr++ < MAX_CHANGED_NAMES)
			text_append(names, sizeof(names), "%s%s", *names ? ", " : "",
				    file->path);
	}
	if (nr > MAX_CHANGED_NAMES)
		text_append(names, sizeof(names), " and %zu more",
			    nr - MAX_CHANGED_NAMES);
	if (nr)
		log_warning("%zu file%s changed since the recording, so figures may "
			    "stand at wrong lines: %s",
			    nr, nr == 1 ? " has" : "s have", names);
}

static int add_machine_code(const char *what, const struct profile *p,
			    const struct named_files *named, struct machine_code **ret,
			    size_t *ret_nr_withheld, struct error *err)
{
	_cleanup_(machine_code_freep) struct machine_code *m = NULL;
	int rc = machine_code_new(p, what, &m, err);

	if (rc)
		return rc;
	rc = disassembly_fill(m, p, named, ret_nr_withheld);
	if (!rc)
		rc = machine_code_place(m, p);
	if (rc)
		return error_set(err, rc, "out of memory");
	*ret = take_ptr(m);
	return 0;
}

static int add_call_tree(const struct viewing *v, const struct profile *p,
			 struct call_tree **ret, struct error *err)
{
	const struct call_tree_options how = {
		.direction = v->call_direction,
		.what = v->call_what,
		.kernel = v->attribution.kernel,
		.runtime = v->attribution.runtime,
		.min_share = v->min_share,
		.max_depth = v->call_depth,
		.max_nodes = v->limit,
		.max_roots = v->call_direction == CALL_CALLERS && !v->call_what
				     ? MAX_TREES_OF_CALLERS
				     : 0,
	};

	return call_tree_new(p, &how, ret, err);
}

struct render_options viewing_options(const struct viewing *v)
{
	return (struct render_options){
		.colour = wants_colour(v),
		.utf8 = speaks_utf8(),
		.width = terminal_width(),
		.context = v->context,
		.min_share = v->min_share,
		.limit = v->limit,
		.file_filter = v->file_filter,
	};
}

const struct render_format *viewing_format(const struct viewing *v)
{
	return render_format_find(v->is_report ? "report" : "annotate", v->format);
}

bool has_filters(const struct viewing *v)
{
	return v->nr_filters || v->time_text || v->nr_frame_filters;
}

int apply_filters(const struct viewing *v, struct profile *p, struct filtered **ret,
		  struct error *err)
{
	_cleanup_(filtered_freep) struct filtered *filtered = NULL;
	int rc = 0;

	if (v->nr_filters)
		rc = filter_profile(p, v->filters, v->nr_filters, &filtered, err);
	if (!rc && v->time_text)
		rc = time_filter_profile(p, &v->time, v->time_text, &filtered, err);
	if (!rc && v->nr_frame_filters)
		rc = frame_filter_profile(p, v->frame_filters, v->nr_frame_filters,
					  &filtered, err);
	if (!rc)
		*ret = take_ptr(filtered);
	return rc;
}

/* Return: 0 or -ENOMEM. */
static int add_attribution(const struct viewing *v, const struct profile *p,
			   const struct named_files *named, struct attribution **ret)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	unsigned int needs = viewing_format(v)->needs;
	bool is_listing = !strcmp(v->format, "text") && !v->file_filter && !v->show_asm &&
			  !v->call_direction;
	bool has_least = is_listing || !strcmp(v->format, "quickfix");
	const struct source_search search = {.rules = v->source_paths,
					     .nr_rules = v->nr_source_paths,
					     .is_strangers = named->is_strangers,
					     .is_careful = named->is_careful,
					     .opener = named->opener,
					     .min_share = has_least ? v->min_share : 0};
	int rc = attribution_new(p, &v->attribution, &a);

	if (!rc && v->limit)
		rc = hot_lines_limit(a, v->file_filter, v->limit);
	if (!rc && needs & RENDER_SOURCE)
		rc = source_attach(a, p, &search);
	if (!rc && needs & RENDER_CHANGES)
		rc = source_compare(a, p, &search);
	if (!rc)
		*ret = take_ptr(a);
	return rc;
}

int show_profile(const struct viewing *v, struct profile *p, const char *file_name,
		 const struct named_files *named, FILE *out, struct error *err)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_(machine_code_freep) struct machine_code *m = NULL;
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	_cleanup_(groups_freep) struct groups *groups = NULL;
	_cleanup_(filtered_freep) struct filtered *filtered = NULL;
	const struct render_format *format = viewing_format(v);
	struct render_options opts = viewing_options(v);
	struct render_input in = {.profile = p, .file_name = file_name};
	struct phases phases;
	size_t nr_withheld = 0;
	int rc = apply_filters(v, p, &filtered, err);

	if (rc)
		return rc;
	in.filtered = filtered;
	if (v->skip_compile || format->needs & RENDER_PHASES) {
		rc = phases_of(p, v->skip_compile, &phases);
		in.phases = &phases;
	}
	if (rc)
		return error_set(err, rc, "out of memory");
	if (v->show_asm)
		rc = add_machine_code(v->asm_what, p, named, &m, &nr_withheld, err);
	else if (format->needs & RENDER_HOT_CODE && p->extra.nr_codes)
		rc = add_machine_code(machine_code_of_all, p, named, &m, &nr_withheld,
				      err);
	if (rc)
		return rc;
	/* After choosing the code: a function is requested without its types. */
	if (v->show_types)
		type_names_apply(p);
	if (v->call_direction)
		rc = add_call_tree(v, p, &tree, err);
	if (rc)
		return rc;
	in.call_tree = tree;
	rc = add_attribution(v, p, named, &a);
	if (rc)
		return error_set(err, rc, "out of memory");
	in.attribution = a;
	if (!named->is_run)
		say_withheld(a, named, nr_withheld);
	say_changed(a, v->file_filter);
	if (v->group_by || format->needs & RENDER_PROCESSES)
		rc = groups_new(p, a, v->group_by ? v->group_by : GROUP_BY_OWNER,
				v->group_label, &groups, err);
	if (rc)
		return rc;
	*(v->group_by ? &in.groups : &in.processes) = groups;
	in.machine_code = m;
	rc = format->write(&in, &opts, out);
	if (!rc && fflush(out))
		rc = -errno;
	if (rc && rc != -EPIPE) {
		errno = -rc;
		return error_set(err, rc, "cannot write the listing: %m");
	}
	return 0;
}
