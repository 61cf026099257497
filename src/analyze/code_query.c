// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/code_query.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/numba/name.h"

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

bool name_matches(const char *name, const char *what, enum name_step step)
{
	size_t len = strlen(name), what_len = strlen(what);

	switch (step) {
	case NAME_WHOLE:
		return !strcmp(name, what);
	case NAME_LAST_PART:
		return len > what_len && !strcmp(name + len - what_len, what) &&
		       !is_name_char(name[len - what_len - 1]);
	default:
		return strstr(name, what) != NULL;
	}
}

bool code_place_parse(const char *what, struct code_place *ret)
{
	const char *colon = strrchr(what, ':');
	unsigned long line;
	char *end;

	if (!colon || colon == what || !isdigit((unsigned char)colon[1]))
		return false;
	line = strtoul(colon + 1, &end, 10);
	if (*end || !line || line > UINT32_MAX)
		return false;
	*ret = (struct code_place){what, (size_t)(colon - what), (uint32_t)line};
	return true;
}

/* Does @path end in these whole path components? */
static bool path_ends_in(const char *path, const char *end, size_t end_len)
{
	size_t len = strlen(path);

	return len >= end_len && !memcmp(path + len - end_len, end, end_len) &&
	       (len == end_len || path[len - end_len - 1] == '/' || end[0] == '/');
}

bool code_place_is_in(const struct code_place *place, const char *path)
{
	return path_ends_in(path, place->file, place->file_len);
}

/* ---- names of specialisations ---- */

/*
 * Longest text: names that differ only after it count as one. Such names have hundreds
 * of bytes.
 */
#define MAX_TYPES_BYTES 200

/* "__main__.dither(array(uint8, 2d, C))"; "work [_Z4workRK5Image]" without types. */
static void describe(const struct profile_function *f, char *buf, size_t size)
{
	int max = MAX_TYPES_BYTES;
	char types[512];

	if (*numba_name_types(f->system_name, types, sizeof(types)))
		snprintf(buf, size, "%.500s%s", f->name, types);
	else /* a cut character is escaped when printed */
		snprintf(buf, size, "%.700s [%.*s%s]", f->name, max, f->system_name,
			 strlen(f->system_name) > MAX_TYPES_BYTES ? "..." : "");
}

void type_names_apply(struct profile *p)
{
	for (size_t i = 0; i < p->nr_functions; i++) {
		struct profile_function *f = &p->functions[i];
		char name[1024];

		if (!*f->system_name || f->system_name == f->name)
			continue;
		describe(f, name, sizeof(name));
		f->name = strpool_add(p->pool, name);
	}
}
