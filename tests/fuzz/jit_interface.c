// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a file has the JIT interface: what is found lies in the file. */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_writer reply = {0};
	struct wire_reader r = {0};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size &&
	    !jit_interface_serve(NULL, &r, &fd, 1, &reply)) {
		uint32_t is_found;
		uint64_t off;

		r = (struct wire_reader){.data = reply.data, .len = reply.len};
		is_found = wire_get_u32(&r);
		off = wire_get_u64(&r);
		assert(is_found <= 1 && (!is_found || off < size));
	}
	wire_writer_deinit(&reply);
	close(fd);
	return 0;
}
