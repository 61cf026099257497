/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A clock that a test sets, in place of base/clock.c. These are definitions: one file of
 * a test program includes them.
 */
#ifndef LB_TESTS_FAKE_CLOCK_H
#define LB_TESTS_FAKE_CLOCK_H

#include "base/clock.h"

uint64_t fake_now_ns;
uint64_t fake_call_ns; /* what each look at the clock takes */

uint64_t clock_now_ns(void)
{
	fake_now_ns += fake_call_ns;
	return fake_now_ns;
}

uint64_t clock_boot_ns(void)
{
	return fake_now_ns;
}

int64_t clock_wall_ns(void)
{
	return (int64_t)fake_now_ns;
}

#endif
