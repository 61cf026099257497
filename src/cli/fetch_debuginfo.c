// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/fetch_debuginfo.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "profile/mapping_kind.h"
#include "profile/profile.h"
#include "symbolize/debuginfod.h"
#include "symbolize/symbolizer.h"

#define MAX_FETCHES 64 /* files per run; the hottest come first in a profile */

struct fetch {
	struct profile *profile;
	struct worker *worker;
	struct symbolizer *symbolizer;
	uint32_t *nr_lacking; /* by mapping: locations without a line; heap */
	uint32_t *locations; /* of one mapping, without a line */
	uint64_t *vaddrs; /* of the locations */
	size_t nr, cap_locations, cap_vaddrs;
};

static void fetch_deinit(struct fetch *f)
{
	symbolizer_free(f->symbolizer);
	worker_free(f->worker);
	free(f->nr_lacking);
	free(f->locations);
	free(f->vaddrs);
}

static bool lacks_line(const struct profile *p, const struct profile_location *location)
{
	for (uint32_t i = 0; i < location->nr_lines; i++)
		if (p->lines[location->first_line + i].line)
			return false;
	return true;
}

/* The build id of generated code, and of Python's own frames, is that of no file. */
static bool has_file(const struct profile_mapping *m)
{
	enum code_kind kind = code_kind_of(m->filename);

	return kind != CODE_JIT && kind != CODE_PYTHON;
}

/*
 * Counts the locations without a line of all mappings at once: there may be as many
 * mappings as locations. Return: false if out of memory.
 */
static bool count_lacking(struct fetch *f)
{
	const struct profile *p = f->profile;

	f->nr_lacking = calloc(p->nr_mappings + 1, sizeof(*f->nr_lacking));
	for (size_t i = 0; f->nr_lacking && i < p->nr_locations; i++) {
		const struct profile_location *location = &p->locations[i];

		if (location->mapping != PROFILE_NONE && lacks_line(p, location))
			f->nr_lacking[location->mapping]++;
	}
	return f->nr_lacking;
}

static void gather(struct fetch *f, uint32_t mapping)
{
	const struct profile *p = f->profile;

	f->nr = 0;
	for (uint32_t i = 0; i < p->nr_locations && f->nr < f->nr_lacking[mapping]; i++) {
		const struct profile_location *location = &p->locations[i];

		if (location->mapping != mapping || !lacks_line(p, location))
			continue;
		if (vec_grow(&f->locations, &f->cap_locations, f->nr + 1,
			     sizeof(uint32_t), 0) ||
		    vec_grow(&f->vaddrs, &f->cap_vaddrs, f->nr + 1, sizeof(uint64_t), 0))
			return;
		f->locations[f->nr] = i;
		f->vaddrs[f->nr++] = location->address;
	}
}

/* Sets a location's frames to those found; unchanged when out of memory. */
static void set_lines(struct profile *p, struct profile_location *location,
		      const struct resolved *r)
{
	uint32_t first = (uint32_t)p->nr_lines;

	if (vec_grow(&p->lines, &p->cap_lines, p->nr_lines + r->nr_frames,
		     sizeof(*p->lines), 0))
		return;
	for (size_t i = 0; i < r->nr_frames; i++)
		p->lines[first + i] =
			profile_add_frame(p, &r->frames[i], r->frames[i].file);
	p->nr_lines += r->nr_frames;
	location->first_line = first;
	location->nr_lines = (uint32_t)r->nr_frames;
	location->miss = r->miss;
}

static void resolve(struct fetch *f, int fd)
{
	_cleanup_free_ struct resolved *found = calloc(f->nr, sizeof(*found));

	if (!found ||
	    symbolizer_resolve_vaddrs(f->symbolizer, fd, f->vaddrs, f->nr, found))
		return;
	for (size_t i = 0; i < f->nr; i++)
		if (found[i].nr_frames && found[i].frames[0].line)
			set_lines(f->profile, &f->profile->locations[f->locations[i]],
				  &found[i]);
}

static bool fetch_open(struct fetch *f)
{
	struct symbolizer_config config = {.debug_dir = "/usr/lib/debug"};
	struct worker_config worker_config = {0};

	return debuginfod_is_wanted() && !worker_new(&worker_config, &f->worker, NULL) &&
	       !symbolizer_new(&config, f->profile->pool, f->worker, NULL, &f->symbolizer,
			       NULL);
}

static void fetch_all(struct fetch *f)
{
	const struct profile *p = f->profile;
	unsigned int nr_fetches = 0;

	for (uint32_t i = 0; i < p->nr_mappings && nr_fetches < MAX_FETCHES; i++) {
		uint8_t id[BUILD_ID_MAX_BYTES];
		size_t len = build_id_parse(p->mappings[i].build_id, id);
		_cleanup_close_ int fd = -1;
		int rc;

		if (!len || !f->nr_lacking[i] || !has_file(&p->mappings[i]))
			continue;
		gather(f, i);
		if (!f->nr)
			continue;
		nr_fetches++;
		rc = debuginfod_fetch(id, len, DEBUGINFOD_TIMEOUT_MS, &fd);
		if (rc == -ENOSYS) {
			log_info("DEBUGINFOD_URLS is set, but there is no "
				 "debuginfod-find (Debian: package debuginfod), "
				 "skipping");
			return;
		}
		if (rc)
			log_info("debuginfod has no debug info for %s, skipping",
				 p->mappings[i].filename);
		else
			resolve(f, fd);
	}
}

/* ---- a folder for what is downloaded ---- */

#define ENV_CACHE "DEBUGINFOD_CACHE_PATH" /* debuginfod_find_debuginfo(3) */

/* @ret  has PATH_MAX bytes; "": there is none */
static void cache_make(char *ret)
{
	const char *tmp = getenv("TMPDIR");
	int len = snprintf(ret, PATH_MAX, "%s/lineburn-debuginfod.XXXXXX",
			   tmp && *tmp == '/' ? tmp : "/tmp");

	if (len >= PATH_MAX || !mkdtemp(ret) || setenv(ENV_CACHE, ret, 1))
		*ret = '\0';
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	(void)remove(path);
	return 0;
}

void fetch_debug_info(struct profile *p, bool has_no_home)
{
	struct fetch f = {.profile = p};
	char cache[PATH_MAX] = "";

	if (has_no_home && debuginfod_is_wanted())
		cache_make(cache);
	if (fetch_open(&f) && count_lacking(&f))
		fetch_all(&f);
	fetch_deinit(&f);
	if (*cache)
		nftw(cache, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
