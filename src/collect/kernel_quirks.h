/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels on which a bug lets the sampler hang or crash the host, and the safe choice for
 * each. The only place that checks version numbers; everything else tests for features.
 */
#ifndef LB_COLLECT_KERNEL_QUIRKS_H
#define LB_COLLECT_KERNEL_QUIRKS_H

#include <stdbool.h>

struct kernel_quirk {
	/*
	 * Nothing is recorded. Otherwise the sampler never reads user memory in the
	 * interrupt: only leaves.
	 */
	bool is_refused;
	const char *versions; /* for messages: "5.19 to 6.1.35" */
	const char *reason; /* a sentence: what is wrong, what lineburn does about it */
	const char *remedy; /* a sentence */
};

/* The upstream release that a kernel is built from. */
struct kernel_level {
	unsigned int major, minor;
	unsigned int patch; /* 0 when not known */
	bool patch_known;
};

/**
 * Finds the upstream release in the most exact source:
 *  1. a word of @version that begins with the same major and minor and has a
 *     patch level. Debian and its derivatives have it in /proc/version, after the
 *     '#' ("Debian 6.1.192-1"), Ubuntu as the last word of
 *     /proc/version_signature ("Ubuntu 6.2.0-26.26-generic 6.2.13");
 *  2. the patch level in @release, unless it is 0 with a suffix: "6.1.0-56-amd64"
 *     and "6.2.0-26-generic" name an ABI, not a patch level.
 *
 * @release  uname(2): "6.1.0-56-cloud-amd64"
 * @version  text of /proc/version, of /proc/version_signature, or both, in lines; may
 *           be NULL
 * Return: false when @release does not begin with a version.
 */
bool kernel_level_find(const char *release, const char *version,
		       struct kernel_level *ret);

/**
 * Finds the quirk of a kernel by its version. An unknown patch level in an affected
 * series counts as affected, and so does an unreadable version. Arguments as above.
 * Return: the quirk, or NULL when there is none.
 */
const struct kernel_quirk *kernel_quirk_find(const char *release, const char *version);

/**
 * The same for the running kernel. On PREEMPT_RT it also reads the kernel's types, which
 * show a fix in whatever version has it; there unreadable types count as affected.
 *
 * @root  prefix of the paths in /proc and /sys: "" for this system, a folder for tests
 */
const struct kernel_quirk *kernel_quirk_find_running(const char *root);

/**
 * Reads the texts that identify the kernel, terminated, empty when unreadable: @release
 * without its newline, @version with the lines of both files.
 */
#define KERNEL_RELEASE_BYTES 256
#define KERNEL_VERSION_BYTES 2048
void kernel_texts_read(const char *root, char release[KERNEL_RELEASE_BYTES],
		       char version[KERNEL_VERSION_BYTES]);

#endif
