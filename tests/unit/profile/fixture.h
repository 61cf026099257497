/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles built by hand in a few lines: "name@file:line" is a frame; frames of one
 * address are separated by "|", innermost first.
 */
#ifndef LB_TESTS_PROFILE_FIXTURE_H
#define LB_TESTS_PROFILE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lineburn.h"
#include "profile/profile.h"

#define PERIOD_NS 10000000

static inline uint32_t add_mapping(struct profile *p, const char *filename)
{
	return profile_add_mapping(
		p, &(struct profile_mapping){.filename = filename,
					     /* pprof takes equal ids for one file */
					     .build_id = *filename == '/' ? "c0ffee" : "",
					     .start = 0x1000 * (p->nr_mappings + 1),
					     .limit = 0x1000 * (p->nr_mappings + 2),
					     .has_functions = true,
					     .has_filenames = true,
					     .has_line_numbers = true,
					     .has_inline_frames = true});
}

static inline struct profile_line parse_frame(struct profile *p, char *frame)
{
	struct profile_function f = {.name = frame, .filename = "", .system_name = ""};
	struct profile_line line = {.function = PROFILE_NONE};
	char *file = strchr(frame, '@'), *colon;

	if (file) {
		*file++ = '\0';
		colon = strrchr(file, ':');
		*colon++ = '\0';
		line.line = (uint32_t)atoi(colon);
		f.filename = file;
		f.start_line = line.line ? (line.line - 1) / 10 * 10 + 1 : 0;
	}
	if (*frame || file)
		line.function = profile_add_function(p, &f);
	return line;
}

/* @frames "": an unknown address. */
static inline uint32_t add_location(struct profile *p, uint32_t mapping, uint64_t address,
				    enum miss miss, const char *frames)
{
	struct profile_line lines[8];
	char copy[256], *save = NULL;
	size_t nr = 0;

	snprintf(copy, sizeof(copy), "%s", frames);
	for (char *f = strtok_r(copy, "|", &save); f; f = strtok_r(NULL, "|", &save))
		lines[nr++] = parse_frame(p, f);
	return profile_add_location(p, mapping, address, miss, lines, nr);
}

#define add_stack(p, status, count, ...)                                               \
	profile_add_sample(p, (const uint32_t[]){__VA_ARGS__},                         \
			   sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
			   NULL, 0, status,                                            \
			   (int64_t[]){count, (int64_t)(count)*PERIOD_NS})

#endif
