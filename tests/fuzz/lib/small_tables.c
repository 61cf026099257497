// SPDX-License-Identifier: GPL-2.0-or-later
/* unwind/tables.c with small limits, in place of the library's. */
#include "lib/small_tables.h"

#include "unwind/tables.c"
