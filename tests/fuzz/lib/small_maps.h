/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of process/maps.c as small_maps.c has them: so small that a text of some kilobytes
 * reaches them all.
 */
#ifndef LB_TESTS_FUZZ_SMALL_MAPS_H
#define LB_TESTS_FUZZ_SMALL_MAPS_H

#include "process/maps.h"

#undef MAPS_MAX
#define MAPS_MAX 256
#undef MAPS_PAST_MAX
#define MAPS_PAST_MAX 32

#endif
