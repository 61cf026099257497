/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the names that exist somebody may have meant. */
#ifndef LB_BASE_LIKENESS_H
#define LB_BASE_LIKENESS_H

#define LIKENESS_NONE 1000

/**
 * How like @name is to what was asked for, whatever their case: one begins with the other,
 * or has it inside, or a letter in three of the longer one differs.
 * Return: the lower the more alike; LIKENESS_NONE: not at all.
 */
unsigned int likeness(const char *asked, const char *name);

#endif
