// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/dwarf/decode.h"

#include <errno.h>
#include <string.h>

#include "symbolize/dwarf/companion.h"

/* Split DWARF: the DIEs are elsewhere, the line table is here. */
static int find_split(struct decoded *d)
{
	int r;

	if (!d->unit.dwo_name.form)
		return 0;
	r = companion_split_unit(&d->unit, &d->dwo, &d->split);
	if (r == -ENOENT) {
		d->split_missing = true;
		d->unit.file->context->stats.nr_dwo_missing++;
		return 0;
	}
	d->has_split = r == 0;
	return r;
}

/* Without its .dwo a skeleton may still hold the inlined calls; it is looked at too. */
static const struct unit *unit_of_scopes(const struct decoded *d)
{
	return d->has_split ? &d->split : &d->unit;
}

int decoded_init(struct decoded *d, const struct unit *unit, struct abbrev_cache *abbrevs,
		 struct hit *hits, size_t nr)
{
	int r;

	memset(d, 0, sizeof(*d));
	d->unit = *unit;
	d->abbrevs = abbrevs;
	r = line_table_open(&d->unit, &d->lines);
	if (r == 0)
		r = line_table_run(d->lines, hits, nr);
	if (r == -EBADMSG)
		d->malformed = true;
	if (r != -ENOMEM)
		r = find_split(d);
	if (r != -ENOMEM)
		r = scopes_find(unit_of_scopes(d), abbrevs, hits, nr, &d->scopes);
	if (r == -EBADMSG)
		d->malformed = true;
	if (r != -ENOMEM)
		r = scopes_name(&d->scopes, unit_of_scopes(d), abbrevs);
	if (r == -ENOMEM) {
		decoded_deinit(d);
		return r;
	}
	unit->file->context->stats.nr_bad_units += d->malformed;
	return 0;
}

void decoded_deinit(struct decoded *d)
{
	line_table_free(d->lines);
	scopes_deinit(&d->scopes);
	if (d->dwo)
		abbrev_cache_drop(d->abbrevs, d->dwo);
	debug_file_free(d->dwo);
}

#define NO_FILE UINT32_MAX

/* Which line a frame is on, as numbers of the line table. */
struct place {
	uint32_t scope, file, line;
};

static struct place caller_of(const struct decoded *d, struct place inner)
{
	const struct scope *s = &d->scopes.items[inner.scope];

	return (struct place){s->parent, s->call_file, s->call_line};
}

static bool is_inlined(const struct decoded *d, uint32_t scope)
{
	return scope && d->scopes.items[scope].parent;
}

static struct place innermost(const struct decoded *d, const struct hit *hit)
{
	struct place leaf = {hit->scope, hit->file, hit->line}, place = leaf;

	while (!place.line && is_inlined(d, place.scope))
		place = caller_of(d, place);
	if (place.line)
		return place;
	leaf.line = hit->near_line;
	leaf.file = leaf.line || hit->has_row ? hit->near_file : NO_FILE;
	return leaf;
}

static void make_frame(struct decoded *d, struct place place, struct frame *ret)
{
	const struct scope *s = &d->scopes.items[place.scope];

	*ret = (struct frame){.function = "",
			      .system_name = "",
			      .file = d->lines ? line_table_path(d->lines, place.file)
					       : "",
			      .line = place.line,
			      .inlined = is_inlined(d, place.scope)};
	if (!place.scope)
		return;
	ret->function = s->full_name ? s->full_name : s->function.name;
	ret->system_name = s->function.linkage_name;
	ret->start_line = s->function.decl_line;
}

static enum miss why_no_line(const struct decoded *d)
{
	const struct debug_context *context = d->unit.file->context;

	if (!context->work_left || context->over_inflated)
		return MISS_DECODER_GAVE_UP;
	if (d->malformed || context->corrupt_section)
		return MISS_BAD_DEBUG_INFO;
	return d->split_missing ? MISS_NO_DWO : MISS_NO_LINE;
}

size_t decoded_frames(struct decoded *d, const struct hit *hit,
		      struct frame frames[FRAMES_MAX_INLINE], enum miss *ret_miss)
{
	struct place place = innermost(d, hit);
	size_t depth = 1, nr = 0;

	*ret_miss = why_no_line(d);
	if (!hit->has_row && !hit->scope)
		return 0;
	for (struct place p = place; is_inlined(d, p.scope); p = caller_of(d, p))
		depth++;
	for (size_t i = 0; i < depth; i++, place = caller_of(d, place)) {
		/* Of a deeper chain the middle is lost. */
		if (i >= FRAMES_MAX_INLINE / 2 && depth - i > FRAMES_MAX_INLINE / 2)
			continue;
		make_frame(d, place, &frames[nr++]);
	}
	if (frames[0].line)
		*ret_miss = MISS_NONE;
	return nr;
}
