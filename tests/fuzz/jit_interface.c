// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a file has the JIT interface: what is found lies in the file. */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/jit/interface.h"
#include "decode/runtimes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inspected_file file = {.fd = memfd_create("fuzz", MFD_CLOEXEC),
				      .path = ""};
	struct jit_interface point = {0};

	if (file.fd < 0)
		return 0;
	if (write(file.fd, data, size) == (ssize_t)size && jit_inspect(&file, &point))
		assert(point.register_off < size);
	close(file.fd);
	return 0;
}
