// SPDX-License-Identifier: GPL-2.0-or-later
/* Serves DECODER_INSPECT: asks every runtime about a file. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "decode/jit/image.h"
#include "decode/requests.h"
#include "decode/runtimes.h"

static const struct inspector {
	bool (*inspect)(const struct inspected_file *file, void *ret);
} inspectors[NR_RUNTIMES] = {
#define INSPECTOR(number, name) [RUNTIME_##number] = {name##_inspect},
	RUNTIME_ROWS(INSPECTOR)
#undef INSPECTOR
};

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
}

int inspect_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	struct inspected_file file;
	struct jit_image image;
	void *data = NULL;
	uint64_t data_len = 0;
	bool elf;

	(void)call;
	(void)request;
	if (!nr_fds)
		return -EBADMSG;
	file = (struct inspected_file){.fd = fds[0]};
	elf = is_elf(file.fd);
	if (elf && !io_map_file(file.fd, UINT64_MAX, &data, &data_len) && data &&
	    image_open(data, data_len, &image))
		file.image = &image;
	wire_put_u32(reply, elf);
	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		/* uint64_t, so that any struct of facts is aligned. */
		uint64_t facts[RUNTIME_FACTS_BYTES / sizeof(uint64_t)] = {0};
		bool is_one = elf && inspectors[i].inspect(&file, facts);

		wire_put_bytes(reply, facts, is_one ? sizeof(facts) : 0);
	}
	if (data)
		munmap(data, data_len);
	return 0;
}
