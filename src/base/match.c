// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/match.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* Shorter ids could be words by chance. */
#define MIN_ID_LEN 4

bool match_starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool match_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return len >= n && !strcmp(s + len - n, suffix);
}

static bool is_like(const char *pattern, const char *text)
{
	return !fnmatch(pattern, text, FNM_NOESCAPE);
}

static bool is_hex_start(const char *value)
{
	/* after the uid of the user who chose the name */
	const char *slash = strchr(value, '/');
	const char *digits = slash ? slash + 1 : value;

	return strlen(digits) >= MIN_ID_LEN &&
	       !digits[strspn(digits, "0123456789abcdef")];
}

static enum match match_id_start(const char *value, const char *id)
{
	if (!strcmp(value, id))
		return MATCH_EXACT;
	return strncmp(value, id, strlen(value)) ? MATCH_NONE : MATCH_WEAK;
}

enum match match_container(const char *value, const char *id, const char *name,
			   enum match_start start)
{
	if (!*id)
		return MATCH_NONE;
	if (!strcmp(value, name) || !strcmp(value, id))
		return MATCH_EXACT;
	/*
	 * FNM_PATHNAME: a pattern does not match "/", so ids with a user's uid match
	 * only if the pattern has it, too.
	 */
	if (!fnmatch(value, id, FNM_NOESCAPE | FNM_PATHNAME) ||
	    (*name && is_like(value, name)))
		return MATCH_WEAK;
	if (start == MATCH_START_NONE ||
	    (start == MATCH_START_HEX && !is_hex_start(value)))
		return MATCH_NONE;
	return match_id_start(value, id);
}

enum match match_unit(const char *value, const char *unit)
{
	char longer[512];

	if (!*unit)
		return MATCH_NONE;
	if (!strcmp(value, unit))
		return MATCH_EXACT;
	if (is_like(value, unit))
		return MATCH_WEAK;
	if (snprintf(longer, sizeof(longer), "%s.service", value) >= (int)sizeof(longer))
		return MATCH_NONE;
	return is_like(longer, unit) ? MATCH_WEAK : MATCH_NONE;
}

bool match_path_above(const char *path, const char *below)
{
	size_t len = strlen(path);

	if (!strcmp(path, "/"))
		return true;
	return !strncmp(path, below, len) && (!below[len] || below[len] == '/');
}

int match_clean_path(const char *path, char *ret, size_t size)
{
	size_t used = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len) {
			if (used + len + 2 > size)
				return -ENAMETOOLONG;
			ret[used++] = '/';
			memcpy(ret + used, path, len);
			used += len;
		}
		path += len + (path[len] == '/');
	}
	if (!used)
		ret[used++] = '/';
	ret[used] = '\0';
	return 0;
}

bool match_word(const char *word, const char *words)
{
	size_t len = strlen(word);
	const char *at = strchr(word, ' ') ? NULL : words;

	while (len && at && (at = strstr(at, word))) {
		if (at[-1] == ' ' && at[len] == ' ')
			return true;
		at++;
	}
	return false;
}
