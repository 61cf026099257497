// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/likeness.h"
#include "base/vec.h"

#define SHOWN_BYTES 80 /* of a name */

void suggestions_add(struct suggestions *s, const char *name)
{
	char *copy;

	for (size_t i = 0; i < s->nr; i++)
		if (!strcmp(s->names[i], name))
			return;
	if (!*name)
		return;
	copy = strdup(name);
	if (!copy || vec_grow(&s->names, &s->cap, s->nr + 1, sizeof(*s->names),
			      SUGGESTIONS_MAX_NAMES)) {
		free(copy);
		s->nr_dropped++;
		return;
	}
	s->names[s->nr++] = copy;
}

void suggestions_deinit(struct suggestions *s)
{
	for (size_t i = 0; i < s->nr; i++)
		free(s->names[i]);
	free(s->names);
	*s = (struct suggestions){0};
}

struct likely {
	const char *name;
	unsigned int likeness;
};

/* The best, as they were added where they are as good. Return: how many. */
static size_t find_best(const struct suggestions *s, const char *asked,
			struct likely best[SUGGESTIONS_SHOWN])
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr; i++) {
		struct likely one = {s->names[i], likeness(asked, s->names[i])};
		size_t at = nr;

		while (at && one.likeness < best[at - 1].likeness)
			at--;
		if (one.likeness == LIKENESS_NONE || at == SUGGESTIONS_SHOWN)
			continue;
		nr += nr < SUGGESTIONS_SHOWN;
		memmove(&best[at + 1], &best[at], (nr - 1 - at) * sizeof(*best));
		best[at] = one;
	}
	return nr;
}

static size_t append(char *buf, size_t size, size_t used, const char *text)
{
	int n = used < size ? snprintf(buf + used, size - used, "%s", text) : 0;

	return n < 0 ? used : used + (size_t)n;
}

const char *suggestions_say(const struct suggestions *s, const char *asked, char *buf,
			    size_t size)
{
	struct likely best[SUGGESTIONS_SHOWN];
	size_t nr_best = find_best(s, asked, best), used, i;
	char shown[SHOWN_BYTES];

	used = append(buf, size, 0, nr_best ? "similar: " : "there are ");
	for (i = 0; i < SUGGESTIONS_SHOWN && i < (nr_best ? nr_best : s->nr); i++) {
		const char *name = nr_best ? best[i].name : s->names[i];

		used = append(buf, size, used, i ? ", " : "");
		used = append(buf, size, used,
			      escape_terminal_buf(shown, sizeof(shown), name));
	}
	if (!i)
		append(buf, size, 0, "there is none");
	else if (!nr_best && i < s->nr)
		append(buf, size, used, " and others");
	return buf;
}
