// SPDX-License-Identifier: GPL-2.0-or-later
/* process/maps.c with small limits, in place of the library's. */
#include "lib/small_maps.h"

#include "process/maps.c"
