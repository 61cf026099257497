/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages on stderr. */
#ifndef LB_BASE_LOG_H
#define LB_BASE_LOG_H

/* @level  0 quiet, 1 = -v (what was done), 2 = -vv (every path tried) */
void log_set_level(int level);
int log_level(void);

__attribute__((format(printf, 2, 3))) void log_at(int level, const char *fmt, ...);

/* Always printed, as "lineburn: ...", for anything the user must know. */
#define log_warning(...) log_at(0, __VA_ARGS__)
/* Printed with -v. A message about a survivable problem ends in ", skipping". */
#define log_info(...) log_at(1, __VA_ARGS__)
/* Printed with -vv. */
#define log_debug(...) log_at(2, __VA_ARGS__)

#endif
