/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names Python frames by a decoder, which gets the copied code objects. */
#ifndef LB_RUNTIME_PYTHON_NAME_H
#define LB_RUNTIME_PYTHON_NAME_H

#include "runtime/runtime.h"

/** Implements runtime.put_frames() for DECODER_PYTHON_CODE. */
void python_put_frames(struct wire_writer *request, const struct runtime_frame *frames,
		       size_t nr);
/** Implements runtime.name_frames(). */
int python_name_frames(const struct runtime_naming *with,
		       const struct runtime_frame *frames, size_t nr,
		       struct answers *ret);
/** Implements runtime.find_files(). */
int python_find_files(const struct runtime_naming *with, struct answers *answers,
		      void **state);

#endif
