/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder below /tmp for one test. */
#ifndef LB_TESTS_SCRATCH_H
#define LB_TESTS_SCRATCH_H

#include <sys/types.h>

#define SCRATCH_BYTES 32 /* of its path, with the NUL */

/* Makes it; the program ends where that cannot be done. @mode: its permissions */
void scratch_make(char path[SCRATCH_BYTES], mode_t mode);

/* Removes it, with all that is in it. */
void scratch_remove(const char *path);

#endif
