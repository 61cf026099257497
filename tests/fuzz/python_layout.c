// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * u16 version, then a _Py_DebugOffsets as a process shows it. What is accepted stays
 * within the memory that the kernel side reads.
 */
#include <assert.h>
#include <string.h>

#include "decode/python/layout.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 5};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[PYTHON_MAX_DEBUG_BYTES] = {0};
	struct python_layout layout;
	uint16_t version;
	size_t needed;

	if (size < sizeof(version))
		return -1;
	memcpy(&version, data, sizeof(version));
	data += sizeof(version);
	size -= sizeof(version);
	needed = python_debug_bytes(version);
	assert(needed <= sizeof(bytes));
	if (!needed)
		return -1;
	memcpy(bytes, data, size < needed ? size : needed);
	if (python_layout_read(version, bytes, &layout))
		assert(python_layout_is_sane(&layout.frames));
	return 0;
}
