/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which function a prange stands in. Numba compiles the body of a prange into an
 * object of its own, and copies it into the object of the function around it: both
 * have the same symbol, and the latter has one function that is no copy.
 */
#ifndef LB_DECODE_NUMBA_PRANGE_PARENTS_H
#define LB_DECODE_NUMBA_PRANGE_PARENTS_H

#include "decode/jit/hit_functions.h"

/**
 * Adds the parents of all bodies in @h, behind what is there, and sets parent_object
 * and parent_ip of the bodies. Return: 0 or -ENOMEM.
 */
int prange_parents_find(struct hit_functions *h);

#endif
