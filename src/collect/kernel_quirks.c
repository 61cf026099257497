// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel_quirks.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

struct level {
	unsigned int major, minor, patch;
};

/*
 * bpf_probe_read_user() in the timer interrupt took vmap_area_lock through the
 * hardened usercopy check, and froze the host when that lock was held.
 */
static const struct bad_range {
	struct level first, fixed; /* [first, fixed) */
	struct kernel_quirk quirk;
} bad_ranges[] = {
	{{5, 19, 0},
	 {6, 1, 36},
	 {"5.19 to 6.1.35", "this kernel (5.19 to 6.1.35) can freeze when user memory is "
			    "read in the sampling "
			    "interrupt, so only the innermost user address of a sample "
			    "is kept; update to 6.1.36 or "
			    "newer"}},
	{{6, 2, 0},
	 {6, 3, 10},
	 {"6.2 to 6.3.9", "this kernel (6.2 to 6.3.9) can freeze when user memory is "
			  "read in the sampling "
			  "interrupt, so only the innermost user address of a sample is "
			  "kept; update to 6.3.10 or "
			  "newer"}},
};

static uint64_t order(const struct level *l)
{
	return (uint64_t)l->major << 40 | (uint64_t)l->minor << 20 | l->patch;
}

static bool parse(const char *text, struct level *ret)
{
	*ret = (struct level){0};
	return sscanf(text, "%u.%u.%u", &ret->major, &ret->minor, &ret->patch) >= 2 &&
	       ret->major < 1000 && ret->minor < 1000 && ret->patch < 100000;
}

/*
 * The stable level that a distribution names behind its own word in /proc/version:
 * "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-01-01)".
 */
static bool parse_version(const char *version, const struct level *release,
			  struct level *ret)
{
	static const char *const words[] = {"Debian ", "Ubuntu "};

	for (size_t i = 0; version && i < ARRAY_SIZE(words); i++) {
		/* The builder's own name comes first and may hold the word too. */
		for (const char *at = version; (at = strstr(at, words[i]));
		     at += strlen(words[i]))
			if (parse(at + strlen(words[i]), ret) &&
			    ret->major == release->major && ret->minor == release->minor)
				return true;
	}
	return false;
}

const struct kernel_quirk *kernel_quirk_find(const char *release, const char *version)
{
	struct level level, exact;

	if (!parse(release, &level))
		return NULL;
	if (parse_version(version, &level, &exact))
		level = exact;
	for (size_t i = 0; i < ARRAY_SIZE(bad_ranges); i++)
		if (order(&level) >= order(&bad_ranges[i].first) &&
		    order(&level) < order(&bad_ranges[i].fixed))
			return &bad_ranges[i].quirk;
	return NULL;
}
