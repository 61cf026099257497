/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages on stderr. Libraries below main.c use log_debug() only. */
#ifndef LB_BASE_LOG_H
#define LB_BASE_LOG_H

#include <stdbool.h>

/* @level  0 quiet, 1 = -v (what was done), 2 = -vv (every path tried) */
void log_set_level(int level);
int log_level(void);

/* Printed from -v on. A message about something survivable ends in ", skipping". */
__attribute__((format(printf, 1, 2))) void log_info(const char *fmt, ...);
/* Printed from -vv on. */
__attribute__((format(printf, 1, 2))) void log_debug(const char *fmt, ...);
/* Always printed, as "lineburn: ...". For main.c and cli/commands.c. */
__attribute__((format(printf, 1, 2))) void log_warning(const char *fmt, ...);

#endif
