/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives each specialisation of a function a name of its own (--types). */
#ifndef LB_ANALYZE_TYPE_NAMES_H
#define LB_ANALYZE_TYPE_NAMES_H

#include "profile/profile.h"

/**
 * Gives each function that has a system name of its own a name that says which
 * specialisation it is: "dither [_ZN8__main__6dither...]". So functions of one name
 * are no longer one.
 */
void type_names_apply(struct profile *p);

#endif
