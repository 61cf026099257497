/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capabilities of the calling thread (capabilities(7)), as sets of bits. */
#ifndef LB_BASE_CAPABILITY_H
#define LB_BASE_CAPABILITY_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef CAP_BPF /* Linux 5.8 */
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif

#ifndef CAP_CHECKPOINT_RESTORE /* Linux 5.9 */
#define CAP_CHECKPOINT_RESTORE 40
#endif

/** @number  CAP_*. Return: its bit. */
#define CAPABILITY(number) (UINT64_C(1) << (number))

/** Reads the permitted ones. Return: 0 or -errno. */
int capabilities_permitted(uint64_t *ret);

/** Return: 0 or -errno (-EPERM: @permitted has more than is permitted now). */
int capabilities_set(uint64_t effective, uint64_t permitted, uint64_t inheritable);

/**
 * Drops all but @keep, of those it has, for good.
 *
 * @pass_on  programs that it executes get them, too (ambient)
 * Return: 0 or -errno.
 */
int capabilities_keep(uint64_t keep, bool pass_on);

#endif
