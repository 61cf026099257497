/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names frames of Python: sends the copied code objects to a decoder. */
#ifndef LB_RUNTIME_PYTHON_NAME_H
#define LB_RUNTIME_PYTHON_NAME_H

#include "runtime/runtime.h"

/** Implements runtime.name_frames(). */
int python_name_frames(const struct runtime_naming *with,
		       const struct runtime_frame *frames, size_t nr,
		       struct answers *ret);

#endif
