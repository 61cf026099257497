/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies a profile that keeps its tables and is filled again and again, as a recording
 * with a live view does: the tables once, the samples of each window.
 */
#ifndef LB_PROFILE_MIRROR_H
#define LB_PROFILE_MIRROR_H

#include "profile/profile.h"

/**
 * Appends to the tables of @to (mappings, functions, lines, locations) what @from has
 * more. @to got them by this function only, so an item has the same number in both. Texts
 * are copied into the pool of @to.
 *
 * Return: 0 or -ENOMEM; then @to is to be given up.
 */
int profile_copy_tables(struct profile *to, const struct profile *from);

/**
 * Appends the samples of @from, whose tables @to has, with their labels and values, but
 * not their times. Samples are not joined: @to may have several with one stack.
 *
 * Return: 0, or -ENOMEM with some or none of them appended.
 */
int profile_copy_samples(struct profile *to, const struct profile *from);

/**
 * Copies the texts of source files that @from has, in place of older ones of the same
 * files. Return: 0 or -ENOMEM.
 */
int profile_copy_sources(struct profile *to, const struct profile *from);

#endif
