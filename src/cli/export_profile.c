// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/export_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/phase.h"
#include "analyze/source.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "profile/labels.h"

int export_check_output(const struct exporting *e, const char *input, struct error *err)
{
	struct stat from, to;

	if (!strcmp(e->output, "-")) {
		if (e->format && e->format->is_binary && isatty(STDOUT_FILENO))
			return error_set_exit(err, EXIT_USAGE, -EINVAL,
					      "the export is binary: give a file with -o "
					      "FILE, or pipe it into a program");
		return 0;
	}
	if (!stat(input, &from) && !stat(e->output, &to) && from.st_dev == to.st_dev &&
	    from.st_ino == to.st_ino)
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "%s is the recording, which has more in it than an "
				      "export: give -o another name",
				      e->output);
	return io_check_output(e->output, err);
}

static bool has_label(const struct profile *p, const char *key)
{
	for (size_t i = 0; i < p->nr_labels; i++)
		if (!strcmp(p->labels[i].key, key))
			return true;
	return false;
}

static void say_missing_labels(const struct exporting *e, const struct profile *p)
{
	for (size_t i = 0; i < e->nr_labels; i++)
		if (strcmp(e->labels[i], LABEL_PHASE) != 0 && !has_label(p, e->labels[i]))
			log_warning("no sample has the label \"%s\"; docs/formats.md "
				    "lists those of a recording",
				    e->labels[i]);
}

static size_t nr_labels_of(const struct export_format *format)
{
	size_t nr = 0;

	while (format->labels && format->labels[nr])
		nr++;
	return nr;
}

int export_profile(const struct exporting *e, const struct viewing *v, struct profile *p,
		   const struct named_files *named, FILE *out, struct error *err)
{
	static const struct attribution_options as_annotate = {0};
	const struct source_search search = {.is_strangers = named->is_strangers,
					     .is_careful = named->is_careful,
					     .opener = named->opener};
	_cleanup_(filtered_freep) struct filtered *filtered = NULL;
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_free_ uint8_t *phases = NULL;
	struct export_input in = {
		.profile = p,
		.labels = e->labels ? e->labels : e->format->labels,
		.nr_labels = e->labels ? e->nr_labels : nr_labels_of(e->format),
		.stable_labels = !e->labels,
	};
	const char *note = NULL;
	int rc;

	say_missing_labels(e, p);
	rc = apply_filters(v, p, &filtered, err);
	if (rc)
		return rc;
	phases = malloc(p->nr_samples + 1);
	if (!phases || phases_of_samples(p, phases) ||
	    attribution_new(p, &as_annotate, &a))
		return error_set(err, -ENOMEM, "out of memory");
	if (e->format->opens_files && source_compare(a, p, &search))
		return error_set(err, -ENOMEM, "out of memory");
	in.phases = phases;
	in.attribution = a;
	rc = e->format->write(&in, out, &note, err);
	if (rc)
		return rc;
	say_changed(a, NULL);
	if (note)
		log_warning("%s", note);
	return 0;
}
