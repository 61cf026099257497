/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels on which a feature is known to stop the host, and the safe choice
 * (DESIGN C3). The only place that looks at versions instead of features.
 */
#ifndef LB_COLLECT_KERNEL_QUIRKS_H
#define LB_COLLECT_KERNEL_QUIRKS_H

struct kernel_quirk {
	const char *versions; /* as people write it: "6.2" */
	const char
		*reason; /* a sentence: what is wrong, and what lineburn does about it */
};

/**
 * @release  uname(2): "6.1.0-56-cloud-amd64"
 * @version  text of /proc/version; it has the stable patch level where a
 *           distribution's release does not ("Debian 6.1.192-1"). May be NULL.
 *
 * A kernel in a bad range whose patch level neither text tells counts as bad.
 * Return: the quirk whose safe choice is to leave user memory alone in the
 * sampling interrupt, or NULL.
 */
const struct kernel_quirk *kernel_quirk_find(const char *release, const char *version);

#endif
