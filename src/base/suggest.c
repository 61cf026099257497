// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/escape.h"
#include "base/vec.h"

/* Characters of a name that are compared; a container's id has 64. */
#define MAX_COMPARED 79
#define FIRST_LETTER 3 /* likeness is this plus the number of letters that differ */

static unsigned int smallest(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int ab = a < b ? a : b;

	return ab < c ? ab : c;
}

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * Number of letters to add, remove, replace or swap with the next one (the optimal
 * string alignment distance), ignoring case.
 */
static unsigned int letters_apart(const char *a, const char *b)
{
	size_t len_a = strnlen(a, MAX_COMPARED), len_b = strnlen(b, MAX_COMPARED);
	unsigned int rows[3][MAX_COMPARED + 1];

	for (size_t k = 0; k <= len_b; k++)
		rows[0][k] = (unsigned int)k;
	for (size_t i = 1; i <= len_a; i++) {
		unsigned int *row = rows[i % 3], *above = rows[(i + 2) % 3];
		const unsigned int *two_above = rows[(i + 1) % 3];

		row[0] = (unsigned int)i;
		for (size_t k = 1; k <= len_b; k++) {
			bool same = same_letter(a[i - 1], b[k - 1]);

			row[k] = smallest(above[k] + 1, row[k - 1] + 1,
					  above[k - 1] + !same);
			if (i > 1 && k > 1 && same_letter(a[i - 1], b[k - 2]) &&
			    same_letter(a[i - 2], b[k - 1]))
				row[k] = smallest(row[k], two_above[k - 2] + 1, row[k]);
		}
	}
	return rows[len_a % 3][len_b];
}

unsigned int likeness(const char *asked, const char *name)
{
	size_t len = strlen(asked), len_name = strlen(name);
	size_t shorter = len < len_name ? len : len_name;
	size_t longer = len < len_name ? len_name : len;
	size_t most = longer / 3 ? longer / 3 : 1;
	unsigned int apart;

	if (!*name)
		return LIKENESS_NONE;
	if (!strncasecmp(asked, name, shorter))
		return len == len_name ? 0 : 1;
	if (strcasestr(name, asked) || (shorter > 2 && strcasestr(asked, name)))
		return 2;
	if (longer > MAX_COMPARED || longer - shorter > most)
		return LIKENESS_NONE;
	apart = letters_apart(asked, name);
	return apart <= most ? FIRST_LETTER + apart : LIKENESS_NONE;
}

static bool is_better(struct likely one, struct likely than)
{
	return one.likeness < than.likeness ||
	       (one.likeness == than.likeness && one.weight > than.weight);
}

size_t likely_keep(struct likely best[SUGGESTIONS_SHOWN], size_t nr, struct likely one)
{
	size_t at = nr;

	for (size_t i = 0; i < nr; i++)
		if (best[i].item == one.item)
			return nr;
	while (at && is_better(one, best[at - 1]))
		at--;
	if (one.likeness == LIKENESS_NONE || at == SUGGESTIONS_SHOWN)
		return nr;
	nr += nr < SUGGESTIONS_SHOWN;
	memmove(&best[at + 1], &best[at], (nr - 1 - at) * sizeof(*best));
	best[at] = one;
	return nr;
}

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

/* Finds the best ones; equal ones keep their order. Return: how many. */
static size_t find_best(const struct suggestions *s, const char *asked,
			struct likely best[SUGGESTIONS_SHOWN])
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr; i++)
		nr = likely_keep(
			best, nr,
			(struct likely){.item = s->names[i],
					.likeness = likeness(asked, s->names[i])});
	return nr;
}

const char *suggestions_say(const struct suggestions *s, const char *asked, char *buf,
			    size_t size)
{
	struct likely best[SUGGESTIONS_SHOWN];
	size_t nr_best = find_best(s, asked, best), i;
	char shown[SHOWN_BYTES];

	snprintf(buf, size, nr_best ? "similar: " : "there are ");
	for (i = 0; i < SUGGESTIONS_SHOWN && i < (nr_best ? nr_best : s->nr); i++) {
		const char *name = nr_best ? best[i].item : s->names[i];

		text_append(buf, size, "%s%s", i ? ", " : "",
			    escape_terminal_buf(shown, sizeof(shown), name));
	}
	if (!i)
		snprintf(buf, size, "there is none");
	else if (!nr_best && i < s->nr)
		text_append(buf, size, " and others");
	return buf;
}
