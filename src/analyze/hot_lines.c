// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/hot_lines.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/match.h"

static int hottest_first(const void *va, const void *vb)
{
	const struct hot_line *a = va, *b = vb;
	int order = weight_compare(a->line->self, b->line->self);

	if (!order)
		order = weight_compare(a->line->total, b->line->total);
	if (!order)
		order = (a->file > b->file) - (a->file < b->file);
	return order ? order
		     : (a->line->line > b->line->line) - (a->line->line < b->line->line);
}

static bool has_file(const struct attribution_file *f, const char *suffix)
{
	return !suffix || match_ends(f->path, suffix);
}

int hot_lines_of(const struct attribution *a, const char *suffix, struct hot_line **ret,
		 size_t *ret_nr)
{
	struct hot_line *lines;
	size_t nr = 0, max = 0;

	for (size_t i = 0; i < a->nr_files; i++)
		max += a->files[i].nr_lines;
	lines = calloc(max + 1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_files; i++) {
		struct attribution_file *f = &a->files[i];

		for (size_t j = 0; has_file(f, suffix) && j < f->nr_lines; j++)
			if (!f->lines[j].no_code)
				lines[nr++] = (struct hot_line){f, &f->lines[j]};
	}
	qsort(lines, nr, sizeof(*lines), hottest_first);
	*ret = lines;
	*ret_nr = nr;
	return 0;
}

int hot_lines_limit(struct attribution *a, const char *suffix, size_t limit)
{
	_cleanup_free_ struct hot_line *lines = NULL;
	size_t nr;
	bool cuts;

	if (hot_lines_of(a, suffix, &lines, &nr))
		return -ENOMEM;
	cuts = nr > limit;
	a->left_out = (struct attribution_left_out){0};
	for (size_t i = 0; i < a->nr_files; i++) {
		struct attribution_file *f = &a->files[i];

		f->left_out = cuts && has_file(f, suffix);
		a->left_out.files += f->left_out;
		for (size_t j = 0; j < f->nr_lines; j++)
			f->lines[j].left_out = cuts && f->lines[j].no_code;
	}
	for (size_t i = 0; i < nr; i++) {
		if (i < limit) {
			a->left_out.files -= lines[i].file->left_out;
			lines[i].file->left_out = false;
			continue;
		}
		lines[i].line->left_out = true;
		a->left_out.lines++;
		weight_add(&a->left_out.self, lines[i].line->self);
	}
	return 0;
}
