/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gets debug files from the servers in DEBUGINFOD_URLS with libdebuginfod, which is
 * loaded if installed (like libdw does). Only for report and annotate, with the user's
 * privileges: never while recording, never in the collector.
 */
#ifndef LB_SYMBOLIZE_DEBUGINFOD_H
#define LB_SYMBOLIZE_DEBUGINFOD_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct debuginfod;

struct debuginfod_config {
	unsigned int timeout_ms; /* for one file in total; 0: 60000 */
	const volatile sig_atomic_t *stop; /* nonzero: give up at once; may be NULL */
};

/**
 * Return: 0, -ENOENT (DEBUGINFOD_URLS is not set), -ENOSYS (no libdebuginfod; logged
 * once), -ENOMEM. *ret is written only on success.
 */
int debuginfod_new(const struct debuginfod_config *config, struct debuginfod **ret);
void debuginfod_free(struct debuginfod *d);
DEFINE_CLEANUP(struct debuginfod, debuginfod_free);

/**
 * Gets the debug file of a build id, from the library's cache or a server.
 *
 * @build_id, @len  1 to 64 bytes
 * Return: 0 with *ret_fd a descriptor the caller closes, -ENOENT (no server has
 * it), -ETIMEDOUT, -EINTR (@stop was set), -EINVAL, or another negative errno.
 */
int debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, size_t len,
		     int *ret_fd);

#endif
