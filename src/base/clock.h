/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock of samples, events and time budgets. */
#ifndef LB_BASE_CLOCK_H
#define LB_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_SECOND_NS 1000000000ULL
#define CLOCK_MS_NS     1000000ULL

/** CLOCK_MONOTONIC. */
uint64_t clock_now_ns(void);

/** CLOCK_BOOTTIME: the same plus the time that the machine was suspended. */
uint64_t clock_boot_ns(void);

/** CLOCK_REALTIME. */
int64_t clock_wall_ns(void);

#endif
