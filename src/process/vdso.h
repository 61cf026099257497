/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Provides the kernel's vdso as a file. Every 64-bit process maps the same one. */
#ifndef LB_PROCESS_VDSO_H
#define LB_PROCESS_VDSO_H

#include <stdint.h>

/**
 * Copies this process' own vdso into a memfd.
 *
 * @ret_size  bytes mapped; a target whose [vdso] has another size (a 32-bit
 *            process) has another image
 * Return: a descriptor the caller closes, -ENOENT (no vdso), or -errno.
 */
int vdso_open(uint64_t *ret_size);

#endif
