// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return (uint64_t)read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_boot_ns(void)
{
	return (uint64_t)read_ns(CLOCK_BOOTTIME);
}

int64_t clock_wall_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}
