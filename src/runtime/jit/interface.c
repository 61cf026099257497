// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/jit/interface.h"

#include <errno.h>

#include "decode/requests.h"

int jit_interface_find(struct worker *decoder, int fd, struct jit_interface *ret)
{
	struct jit_interface found;
	struct wire_reader r;
	enum worker_answer answer;
	uint32_t is_found;

	answer = worker_call(decoder, DECODER_JIT_SYMBOLS, NULL, 0, &fd, 1, NULL, NULL,
			     JIT_INTERFACE_DEADLINE_MS, &r, NULL);
	if (answer == WORKER_CANNOT_START)
		return -EAGAIN;
	if (answer != WORKER_OK)
		return -ENODATA;
	is_found = wire_get_u32(&r);
	found.register_off = wire_get_u64(&r);
	found.register_vaddr = wire_get_u64(&r);
	found.descriptor_vaddr = wire_get_u64(&r);
	if (r.failed || r.pos != r.len)
		return -ENODATA;
	if (is_found != 1)
		return -ENOENT;
	*ret = found;
	return 0;
}
