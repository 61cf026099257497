// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Patience diff (Bram Cohen): lines that are unique in both texts are anchors, as many
 * as have the same order in both. Between two anchors it begins again, since more lines
 * are unique there. Where no line is unique, the longest common subsequence decides, if
 * the place is small. So a line is rarely taken for an equal one of another function,
 * as a lone bracket would be.
 *
 * 	before             after
 * 	def load(path):    def load(path):       same
 * 	    x = parse()        x = parse_fast()  changed: between two that are same
 * 	    return x           return x          same
 * 	def main():        def helper():         unmatched
 */
#include "analyze/line_align.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/vec.h"

#define MAX_CELLS     (1u << 20) /* of the table of one common subsequence */
#define WORK_PER_LINE 64 /* steps and cells; when they are spent, the rest is unmatched */
#define MIN_WORK      (4u << 20)
#define MAX_CHANGED   8 /* longer runs were written anew rather than edited */
#define MIN_MOVED     20 /* letters and digits of a block that moved; git's rule, too */
#define NONE          UINT32_MAX

/* A line whose text is known. */
struct known_line {
	uint32_t number;
	uint32_t text; /* equal for equal texts */
	uint32_t partner; /* index into the other side; NONE */
	enum line_match match;
};

struct side {
	struct known_line *lines;
	uint32_t nr;
};

/* How often a text occurs in the present range, and where. */
struct occurrence {
	uint32_t nr[2];
	uint32_t at[2];
};

/* Lines [first, end) of either side. */
struct line_range {
	uint32_t first[2], end[2];
};

struct aligner {
	struct side sides[2];
	const char **texts; /* by known_line.text */
	size_t nr_texts, cap_texts;
	struct hashmap index;
	struct occurrence *occurrences; /* by known_line.text; zero between two uses */
	struct line_range *todo;
	size_t nr_todo, cap_todo;
	uint64_t work_left;
};

/* ---- texts become numbers ---- */

static bool text_eq(uint32_t item, const void *key, const void *ctx)
{
	return !strcmp(((const struct aligner *)ctx)->texts[item], key);
}

static int number_text(struct aligner *a, const char *text, uint32_t *ret)
{
	uint64_t hash = hash_bytes(0, text, strlen(text));
	uint32_t found = hashmap_get(&a->index, hash, text_eq, text, a);

	*ret = found != HASHMAP_NONE ? found : (uint32_t)a->nr_texts;
	if (found != HASHMAP_NONE)
		return 0;
	if (vec_grow(&a->texts, &a->cap_texts, a->nr_texts + 1, sizeof(*a->texts), 0) ||
	    hashmap_add(&a->index, hash, *ret))
		return -ENOMEM;
	a->texts[a->nr_texts++] = text;
	return 0;
}

static int read_side(struct aligner *a, struct side *side, char *const *lines, size_t nr)
{
	side->lines = calloc(nr + 1, sizeof(*side->lines));
	if (!side->lines)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct known_line *line = &side->lines[side->nr];

		if (!lines[i])
			continue;
		*line = (struct known_line){.number = (uint32_t)i + 1, .partner = NONE};
		if (number_text(a, lines[i], &line->text))
			return -ENOMEM;
		side->nr++;
	}
	return 0;
}

/* ---- the diff ---- */

static void match(struct aligner *a, uint32_t before, uint32_t after, enum line_match how)
{
	a->sides[0].lines[before].partner = after;
	a->sides[0].lines[before].match = how;
	a->sides[1].lines[after].partner = before;
	a->sides[1].lines[after].match = how;
}

static bool is_equal(const struct aligner *a, uint32_t before, uint32_t after)
{
	return a->sides[0].lines[before].text == a->sides[1].lines[after].text;
}

static bool is_empty(const struct line_range *r)
{
	return r->first[0] == r->end[0] || r->first[1] == r->end[1];
}

static bool spend(struct aligner *a, uint64_t work)
{
	if (work > a->work_left)
		return false;
	a->work_left -= work;
	return true;
}

/* Matches equal lines at both ends, and takes them off the range. */
static void trim(struct aligner *a, struct line_range *r)
{
	while (!is_empty(r) && is_equal(a, r->first[0], r->first[1]))
		match(a, r->first[0]++, r->first[1]++, LINE_SAME);
	while (!is_empty(r) && is_equal(a, r->end[0] - 1, r->end[1] - 1))
		match(a, --r->end[0], --r->end[1], LINE_SAME);
}

static void count_range(struct aligner *a, const struct line_range *r)
{
	for (int s = 0; s < 2; s++)
		for (uint32_t i = r->first[s]; i < r->end[s]; i++) {
			struct occurrence *o = &a->occurrences[a->sides[s].lines[i].text];

			o->nr[s]++;
			o->at[s] = i;
		}
}

static void uncount_range(struct aligner *a, const struct line_range *r)
{
	for (int s = 0; s < 2; s++)
		for (uint32_t i = r->first[s]; i < r->end[s]; i++)
			a->occurrences[a->sides[s].lines[i].text] =
				(struct occurrence){0};
}

/* A pair of unique lines, on a chain of pairs that ascend in both texts. */
struct anchor {
	uint32_t before, after;
	uint32_t previous; /* the pair before it on the longest chain; NONE */
};

/*
 * Returns the last pair of the longest ascending chain; NONE: no pairs. tails[n] is the
 * pair with the lowest line of AFTER that ends a chain of n + 1 pairs.
 */
static uint32_t longest_chain(struct anchor *anchors, uint32_t nr, uint32_t *tails)
{
	uint32_t nr_tails = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t low = 0, high = nr_tails;

		while (low < high) {
			uint32_t middle = (low + high) / 2;

			if (anchors[tails[middle]].after < anchors[i].after)
				low = middle + 1;
			else
				high = middle;
		}
		anchors[i].previous = low ? tails[low - 1] : NONE;
		tails[low] = i;
		nr_tails += low == nr_tails;
	}
	return nr_tails ? tails[nr_tails - 1] : NONE;
}

static int push(struct aligner *a, const struct line_range *r)
{
	if (is_empty(r))
		return 0;
	if (vec_grow(&a->todo, &a->cap_todo, a->nr_todo + 1, sizeof(*a->todo), 0))
		return -ENOMEM;
	a->todo[a->nr_todo++] = *r;
	return 0;
}

/*
 * Matches the anchors of a range and leaves the ranges between them to do. Return: the
 * number of anchors, or -ENOMEM.
 */
static int64_t match_anchors(struct aligner *a, const struct line_range *r)
{
	uint32_t length = r->end[0] - r->first[0], nr = 0, at;
	_cleanup_free_ struct anchor *anchors = calloc(length, sizeof(*anchors));
	_cleanup_free_ uint32_t *tails = calloc(length, sizeof(*tails));
	struct line_range rest = *r;
	int64_t nr_matched = 0;

	if (!anchors || !tails)
		return -ENOMEM;
	count_range(a, r);
	for (uint32_t i = r->first[0]; i < r->end[0]; i++) {
		const struct occurrence *o = &a->occurrences[a->sides[0].lines[i].text];

		if (o->nr[0] == 1 && o->nr[1] == 1)
			anchors[nr++] = (struct anchor){i, o->at[1], NONE};
	}
	uncount_range(a, r);
	for (at = longest_chain(anchors, nr, tails); at != NONE;
	     at = anchors[at].previous) {
		struct line_range inner = rest;

		match(a, anchors[at].before, anchors[at].after, LINE_SAME);
		nr_matched++;
		inner.first[0] = anchors[at].before + 1;
		inner.first[1] = anchors[at].after + 1;
		if (push(a, &inner))
			return -ENOMEM;
		rest.end[0] = anchors[at].before;
		rest.end[1] = anchors[at].after;
	}
	return nr_matched && push(a, &rest) ? -ENOMEM : nr_matched;
}

/* Matches a longest common subsequence, if the range is small. */
static int match_subsequence(struct aligner *a, const struct line_range *r)
{
	uint64_t rows = r->end[0] - r->first[0], columns = r->end[1] - r->first[1];
	uint64_t width = columns + 1, i = 0, k = 0;
	_cleanup_free_ uint16_t *length = NULL; /* of [i..end) and [k..end) */

	if ((rows + 1) * width > MAX_CELLS || rows > UINT16_MAX ||
	    !spend(a, (rows + 1) * width))
		return 0;
	length = calloc((rows + 1) * width, sizeof(*length));
	if (!length)
		return -ENOMEM;
	for (i = rows; i-- > 0;)
		for (k = columns; k-- > 0;) {
			uint16_t *cell = &length[i * width + k];
			uint16_t below = cell[width], right = cell[1];

			if (is_equal(a, r->first[0] + (uint32_t)i,
				     r->first[1] + (uint32_t)k))
				*cell = (uint16_t)(cell[width + 1] + 1);
			else
				*cell = below > right ? below : right;
		}
	for (i = 0, k = 0; i < rows && k < columns;) {
		uint32_t before = r->first[0] + (uint32_t)i;
		uint32_t after = r->first[1] + (uint32_t)k;

		if (is_equal(a, before, after)) {
			match(a, before, after, LINE_SAME);
			i++;
			k++;
		} else if (length[(i + 1) * width + k] >= length[i * width + k + 1]) {
			i++;
		} else {
			k++;
		}
	}
	return 0;
}

static int diff(struct aligner *a)
{
	struct line_range r = {.end = {a->sides[0].nr, a->sides[1].nr}};
	int rc = push(a, &r);

	while (!rc && a->nr_todo) {
		int64_t nr;

		r = a->todo[--a->nr_todo];
		if (!spend(a, r.end[0] - r.first[0] + r.end[1] - r.first[1]))
			break;
		trim(a, &r);
		if (is_empty(&r))
			continue;
		nr = match_anchors(a, &r);
		if (nr < 0)
			rc = (int)nr;
		else if (!nr)
			rc = match_subsequence(a, &r);
	}
	return rc;
}

/* ---- lines that were edited in place ---- */

static bool is_blank(const char *text)
{
	return !text[strspn(text, " \t\r\f\v")];
}

/*
 * Is [first, end) a run without matches and without unknown lines inside of it, between
 * two lines of the order, or the ends of the text?
 */
static bool is_run(const struct side *side, uint32_t first, uint32_t end)
{
	uint32_t from = first ? first - 1 : 0;
	uint32_t to = end < side->nr ? end : side->nr - 1;

	for (uint32_t i = first; i < end; i++)
		if (side->lines[i].partner != NONE)
			return false;
	return side->lines[to].number - side->lines[from].number == to - from;
}

/* Pairs the lines of a gap that has the same few lines on both sides. */
static void pair_gap(struct aligner *a, const struct line_range *gap)
{
	uint32_t nr = gap->end[0] - gap->first[0];

	if (!nr || nr > MAX_CHANGED || gap->end[1] < gap->first[1] ||
	    gap->end[1] - gap->first[1] != nr ||
	    !is_run(&a->sides[0], gap->first[0], gap->end[0]) ||
	    !is_run(&a->sides[1], gap->first[1], gap->end[1]))
		return;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t before = gap->first[0] + i, after = gap->first[1] + i;

		if (is_blank(a->texts[a->sides[0].lines[before].text]) ==
		    is_blank(a->texts[a->sides[1].lines[after].text]))
			match(a, before, after, LINE_CHANGED);
	}
}

static void pair_changed(struct aligner *a)
{
	const struct side *side = &a->sides[0];
	struct line_range gap = {0};

	for (uint32_t i = 0; i <= side->nr; i++) {
		bool is_last = i == side->nr;

		if (!is_last && (side->lines[i].match == LINE_UNMATCHED ||
				 side->lines[i].match == LINE_MOVED))
			continue;
		gap.end[0] = i;
		gap.end[1] = is_last ? a->sides[1].nr : side->lines[i].partner;
		pair_gap(a, &gap);
		gap.first[0] = i + 1;
		gap.first[1] = gap.end[1] + 1;
	}
}

/* ---- blocks that moved ---- */

static unsigned int nr_letters(const char *text)
{
	unsigned int nr = 0;

	for (; *text && nr < MIN_MOVED; text++)
		nr += isalnum((unsigned char)*text) != 0;
	return nr;
}

static bool is_free_pair(const struct aligner *a, uint32_t before, uint32_t after)
{
	return before < a->sides[0].nr && after < a->sides[1].nr &&
	       a->sides[0].lines[before].partner == NONE &&
	       a->sides[1].lines[after].partner == NONE && is_equal(a, before, after);
}

/* Matches the block of equal lines around a pair, if it has enough text. */
static void match_block(struct aligner *a, uint32_t before, uint32_t after)
{
	unsigned int letters = 0;
	uint32_t nr = 0;

	while (before && after && is_free_pair(a, before - 1, after - 1)) {
		before--;
		after--;
	}
	for (; is_free_pair(a, before + nr, after + nr); nr++)
		if (letters < MIN_MOVED)
			letters +=
				nr_letters(a->texts[a->sides[0].lines[before + nr].text]);
	if (letters < MIN_MOVED || !spend(a, nr))
		return;
	for (uint32_t i = 0; i < nr; i++)
		match(a, before + i, after + i, LINE_MOVED);
}

static void match_moved(struct aligner *a)
{
	for (int s = 0; s < 2; s++)
		for (uint32_t i = 0; i < a->sides[s].nr; i++) {
			const struct known_line *line = &a->sides[s].lines[i];

			if (line->partner != NONE)
				continue;
			a->occurrences[line->text].nr[s]++;
			a->occurrences[line->text].at[s] = i;
		}
	for (uint32_t i = 0; i < a->sides[0].nr; i++) {
		const struct occurrence *o = &a->occurrences[a->sides[0].lines[i].text];

		if (o->nr[0] == 1 && o->nr[1] == 1 && is_free_pair(a, i, o->at[1]))
			match_block(a, i, o->at[1]);
	}
}

/* ---- the whole ---- */

static int align(struct aligner *a, char *const *before, size_t nr_before,
		 char *const *after, size_t nr_after)
{
	int rc = read_side(a, &a->sides[0], before, nr_before);

	if (!rc)
		rc = read_side(a, &a->sides[1], after, nr_after);
	if (rc)
		return rc;
	a->work_left = MIN_WORK +
		       (uint64_t)WORK_PER_LINE * (a->sides[0].nr + a->sides[1].nr);
	a->occurrences = calloc(a->nr_texts + 1, sizeof(*a->occurrences));
	if (!a->occurrences)
		return -ENOMEM;
	rc = diff(a);
	if (rc)
		return rc;
	match_moved(a);
	pair_changed(a);
	return 0;
}

static int take_result(const struct aligner *a, size_t nr, struct line_alignment *ret)
{
	struct line_partner *partners = calloc(nr + 1, sizeof(*partners));

	if (!partners)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->sides[0].nr; i++) {
		const struct known_line *line = &a->sides[0].lines[i];

		if (line->partner != NONE)
			partners[line->number - 1] = (struct line_partner){
				a->sides[1].lines[line->partner].number, line->match};
	}
	*ret = (struct line_alignment){partners, nr};
	return 0;
}

int line_align(char *const *before, size_t nr_before, char *const *after, size_t nr_after,
	       struct line_alignment *ret)
{
	struct aligner a = {0};
	int rc;

	if (nr_before > LINE_ALIGN_MAX_LINES || nr_after > LINE_ALIGN_MAX_LINES)
		return -EFBIG;
	rc = align(&a, before, nr_before, after, nr_after);
	if (!rc)
		rc = take_result(&a, nr_before, ret);
	hashmap_deinit(&a.index);
	free(a.texts);
	free(a.sides[0].lines);
	free(a.sides[1].lines);
	free(a.occurrences);
	free(a.todo);
	return rc;
}

void line_alignment_deinit(struct line_alignment *a)
{
	free(a->partners);
	*a = (struct line_alignment){0};
}
