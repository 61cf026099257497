/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gets debug files from the servers in DEBUGINFOD_URLS by debuginfod-find(1). Only for
 * report and annotate, with the user's privileges: never while recording, never in the
 * collector.
 */
#ifndef LB_SYMBOLIZE_DEBUGINFOD_H
#define LB_SYMBOLIZE_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEBUGINFOD_TIMEOUT_MS 60000 /* for one file in total */

/** Returns whether DEBUGINFOD_URLS names a server. */
bool debuginfod_is_wanted(void);

/**
 * Gets the debug file of a build id, from debuginfod-find's cache or a server.
 *
 * @build_id, @len  1 to 64 bytes
 * Return: 0 with *ret_fd a descriptor the caller closes, -ENOENT (no server has it),
 * -ENOSYS (no debuginfod-find), -ETIMEDOUT, -EINVAL, or another negative errno.
 */
int debuginfod_fetch(const uint8_t *build_id, size_t len, int timeout_ms, int *ret_fd);

#endif
