// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the JIT interface of an ELF file: the result must lie within the file. */
#include <assert.h>

#include "decode/jit/image.h"
#include "decode/jit/interface.h"
#include "decode/runtimes.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 5};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inspected_file file = {.fd = -1};
	struct jit_interface point = {0};
	struct jit_image image;

	assert(jit_recognise("")); /* any name */
	if (!image_open(data, size, &image))
		return 0;
	file.image = &image;
	if (jit_inspect(&file, &point))
		assert(point.register_off < size);
	return 0;
}
