// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/window.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LAST_SECOND INT64_C(253402300799) /* of the year 9999: four digits */

static const char suffix[] = ".pb.gz";

/* Bytes of @output in front of ".pb.gz". */
static size_t stem_len(const char *output)
{
	size_t len = strlen(output), tail = sizeof(suffix) - 1;

	/* A name that is nothing but the suffix is a hidden file of that name. */
	if (len > tail && !strcmp(output + len - tail, suffix) &&
	    output[len - tail - 1] != '/')
		return len - tail;
	return len;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int window_path(const char *output, const struct window_id *id, char *ret, size_t size)
{
	time_t begin = (time_t)(id->begin_s < 0             ? 0
				: id->begin_s > LAST_SECOND ? LAST_SECOND
							    : id->begin_s);
	char stamp[32], number[16] = "";
	struct tm utc;
	int len;

	gmtime_r(&begin, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
	if (id->number > 1)
		snprintf(number, sizeof(number), "_%02u", id->number);
	len = snprintf(ret, size, "%.*s.%s%s%s", (int)stem_len(output), output, stamp,
		       number, suffix);
	if (len < 0 || (size_t)len >= size || strlen(last_component(ret)) > NAME_MAX)
		return -ENAMETOOLONG;
	return 0;
}

/* @text is what follows the point behind the stem: "20261121T160000Z" and more. */
static bool read_stamp(const char *text, struct window_id *ret)
{
	struct tm utc = {0};
	const char *rest = strptime(text, "%Y%m%dT%H%M%SZ", &utc);
	unsigned int number = 1;

	if (!rest)
		return false;
	if (*rest == '_' && sscanf(rest + 1, "%5u", &number) != 1)
		return false;
	*ret = (struct window_id){.begin_s = timegm(&utc), .number = number};
	return true;
}

bool window_of_name(const char *output, const char *name, struct window_id *ret)
{
	const char *base = last_component(output);
	size_t stem = stem_len(base);
	char again[NAME_MAX + 1];
	struct window_id id;

	if (strncmp(name, base, stem) != 0 || name[stem] != '.' ||
	    !read_stamp(name + stem + 1, &id))
		return false;
	/* Exactly as we write it: no other file is taken for one of ours. */
	if (window_path(base, &id, again, sizeof(again)) || strcmp(name, again) != 0)
		return false;
	*ret = id;
	return true;
}

int window_compare(const struct window_id *a, const struct window_id *b)
{
	if (a->begin_s != b->begin_s)
		return a->begin_s < b->begin_s ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

size_t window_surplus(const uint64_t *sizes_bytes, size_t nr, size_t keep,
		      uint64_t max_bytes)
{
	uint64_t sum = 0;
	size_t stay = 0;

	while (stay < nr && (!keep || stay < keep)) {
		uint64_t size = sizes_bytes[nr - 1 - stay];

		if (max_bytes && stay && (size > max_bytes || sum > max_bytes - size))
			break;
		sum += size;
		stay++;
		if (max_bytes && sum > max_bytes)
			break; /* the newest alone is too large */
	}
	return nr - stay;
}
