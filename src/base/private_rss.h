/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resident memory of this process that is not shared. */
#ifndef LB_BASE_PRIVATE_RSS_H
#define LB_BASE_PRIVATE_RSS_H

#include <stdint.h>

/** Returns bytes of anonymous memory, from /proc/self/statm; 0 if unknown. */
uint64_t private_rss_bytes(void);

#endif
