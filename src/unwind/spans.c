// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

int spans_init(struct spans *s, uint32_t nr)
{
	*s = (struct spans){0};
	if (vec_grow(&s->free, &s->cap_free, 1, sizeof(*s->free), 0))
		return -ENOMEM;
	s->free[0] = (struct span){0, nr};
	s->nr_free_spans = nr > 0;
	s->nr_free = nr;
	return 0;
}

void spans_deinit(struct spans *s)
{
	free(s->free);
	free(s->resting);
	*s = (struct spans){0};
}

static void remove_free(struct spans *s, size_t at)
{
	s->nr_free_spans--;
	memmove(s->free + at, s->free + at + 1,
		(s->nr_free_spans - at) * sizeof(*s->free));
}

uint32_t spans_take(struct spans *s, uint32_t nr)
{
	uint32_t start;
	size_t at = 0;

	while (at < s->nr_free_spans && s->free[at].nr < nr)
		at++;
	/* Among n spans in use there are at most n + 1 free ones: freeing cannot fail. */
	if (at == s->nr_free_spans ||
	    vec_grow(&s->free, &s->cap_free, s->nr_taken + 2, sizeof(*s->free), 0) ||
	    vec_grow(&s->resting, &s->cap_resting, s->nr_taken + 1, sizeof(*s->resting),
		     0))
		return SPANS_NONE;
	start = s->free[at].start;
	s->free[at].start += nr;
	s->free[at].nr -= nr;
	if (!s->free[at].nr)
		remove_free(s, at);
	s->nr_taken++;
	s->nr_free -= nr;
	return start;
}

void spans_rest(struct spans *s, uint32_t start, uint32_t nr)
{
	s->resting[s->nr_resting_spans++] = (struct span){start, nr};
}

static void give_back(struct spans *s, const struct span *span)
{
	/* The first free span above. */
	size_t at = SEARCH_FIRST(i, s->nr_free_spans, s->free[i].start > span->start);
	struct span *below = at ? &s->free[at - 1] : NULL;
	struct span *above = at < s->nr_free_spans ? &s->free[at] : NULL;

	s->nr_free += span->nr;
	s->nr_taken--;
	if (below && below->start + below->nr == span->start) {
		below->nr += span->nr;
		if (above && below->start + below->nr == above->start) {
			below->nr += above->nr;
			remove_free(s, at);
		}
		return;
	}
	if (above && span->start + span->nr == above->start) {
		above->start = span->start;
		above->nr += span->nr;
		return;
	}
	memmove(s->free + at + 1, s->free + at,
		(s->nr_free_spans - at) * sizeof(*s->free));
	s->free[at] = *span;
	s->nr_free_spans++;
}

void spans_wake(struct spans *s)
{
	for (size_t i = 0; i < s->nr_resting_spans; i++)
		give_back(s, &s->resting[i]);
	s->nr_resting_spans = 0;
}
