// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "analyze/line_stacks.h"
#include "analyze/tally.h"
#include "base/cleanup.h"
#include "export/export.h"
#include "profile/gzip.h"
#include "profile/pprof.h"

/* What Pyroscope takes by default: bytes unpacked, and samples of one profile. */
#define MAX_BYTES   (4u << 20)
#define MAX_SAMPLES 16000u

struct file_bytes {
	void *data; /* heap */
	size_t len;
};

/*
 * Writes @p. Return: 0 with *@ret_size the larger part used of both limits: 1 is full;
 * or -ENOMEM.
 */
static int write_sized(const struct profile *p, struct file_bytes *ret, double *ret_size)
{
	double samples = (double)p->nr_samples / MAX_SAMPLES, bytes;

	free(ret->data);
	ret->data = NULL;
	if (pprof_write(p, false, &ret->data, &ret->len))
		return -ENOMEM;
	bytes = (double)gzip_unpacked_bytes(ret->data, ret->len) / MAX_BYTES;
	*ret_size = bytes > samples ? bytes : samples;
	return 0;
}

/* "the callers of 2.1 % of the samples' CPU time are left out (...)" */
static const char *note_of(struct profile *p, struct weight cut)
{
	struct weight all = weight_of_profile(p);
	double share;

	share = all.cpu_ns ? (double)cut.cpu_ns / (double)all.cpu_ns
			   : (double)cut.samples / (double)(all.samples + !all.samples);
	return strpool_print(
		p->pool,
		"the rarest stacks, %.1f %% of the profile, have their innermost line, "
		"but "
		"not its callers, because servers take 4 MiB and %u stacks; export one "
		"container or service at a time, or record shorter windows",
		100 * share, MAX_SAMPLES);
}

/* Cuts the callers of as few samples as the limits ask for. */
static int write_cut(const struct profile *whole, double size, struct file_bytes *ret,
		     const char **ret_note, struct error *err)
{
	double nr_whole = (double)whole->nr_samples;

	while (nr_whole >= 1) {
		_cleanup_(profile_freep) struct profile *p = NULL;
		struct weight cut;

		/* The size is not quite proportional: a tenth less, so that it ends. */
		nr_whole = (double)(size_t)(nr_whole / size * 0.9);
		if (line_stacks_cut(whole, (size_t)nr_whole, &p, &cut))
			return error_set(err, -ENOMEM, "out of memory");
		*ret_note = note_of(p, cut);
		if (profile_add_comment(p, *ret_note) == -ENOMEM ||
		    write_sized(p, ret, &size))
			return error_set(err, -ENOMEM, "out of memory");
		if (size <= 1)
			return 0;
	}
	return error_set(err, -EFBIG,
			 "the profile is too big for servers, which take 4 MiB and %u "
			 "stacks, even without callers; export one container or service "
			 "at a time, with fewer labels, or record shorter windows; -f "
			 "pprof-full, for pprof itself, has no limit",
			 MAX_SAMPLES);
}

int export_pprof_full(const struct export_input *in, FILE *out, const char **ret_note,
		      struct error *err)
{
	_cleanup_free_ void *data = NULL;
	size_t len;

	(void)ret_note;
	if (pprof_write(in->profile, false, &data, &len))
		return error_set(err, -ENOMEM, "out of memory");
	fwrite(data, 1, len, out);
	return 0;
}

int export_pprof(const struct export_input *in, FILE *out, const char **ret_note,
		 struct error *err)
{
	const struct line_stacks_labels labels = {
		.keys = in->labels,
		.nr = in->nr_labels,
		.is_stable = in->stable_labels,
		.phases = in->phases,
	};
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct file_bytes file = {0};
	double size;
	int rc = line_stacks_new(in->profile, in->attribution, &labels, &p);

	if (!rc)
		rc = write_sized(p, &file, &size);
	if (rc)
		rc = error_set(err, rc, "out of memory");
	else if (size > 1)
		rc = write_cut(p, size, &file, ret_note, err);
	if (!rc)
		fwrite(file.data, 1, file.len, out);
	free(file.data);
	return rc;
}
