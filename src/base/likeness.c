// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/likeness.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Characters of a name that letters are compared in: a container's id has 64. */
#define MAX_COMPARED 79
#define FIRST_LETTER 3 /* likeness is this and the letters that differ */

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
 * Letters to add, take away, replace or swap with the next one (the optimal string
 * alignment distance), whatever their case.
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
