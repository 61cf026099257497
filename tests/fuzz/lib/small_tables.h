/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of unwind/tables.c as small_tables.c has them: so small that an input of some
 * hundred bytes reaches them all, and an input costs little.
 */
#ifndef LB_TESTS_FUZZ_SMALL_TABLES_H
#define LB_TESTS_FUZZ_SMALL_TABLES_H

#include "lineburn_unwind.h"

#undef LB_SLAB_VALUES
#define LB_SLAB_VALUES 16
#undef LB_UNWIND_MAX_RULES
#define LB_UNWIND_MAX_RULES 256
#undef LB_UNWIND_MAX_PAGES
#define LB_UNWIND_MAX_PAGES 4096
#undef LB_UNWIND_MAX_SEGMENTS
#define LB_UNWIND_MAX_SEGMENTS 4096
#undef LB_UNWIND_MAX_PROCESSES
#define LB_UNWIND_MAX_PROCESSES 256
#undef LB_UNWIND_MAX_FILES
#define LB_UNWIND_MAX_FILES 64

#endif
