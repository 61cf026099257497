/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names frames of Python: a decoder is given what was copied of their code objects. */
#ifndef LB_RUNTIME_PYTHON_NAME_H
#define LB_RUNTIME_PYTHON_NAME_H

#include "runtime/runtime.h"

/** runtime.name_frames(). */
int python_name_frames(const struct runtime_naming *with,
		       const struct runtime_frame *frames, size_t nr,
		       struct answers *ret);

#endif
