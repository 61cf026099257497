// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/file_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/requests.h"
#include "process/file.h"
#include "worker/worker.h"

static int read_reply(struct wire_reader *r, struct file_facts *ret)
{
	struct file_facts facts = {0};

	facts.is_elf = wire_get_u32(r) == 1;
	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		size_t len;
		const void *bytes = wire_get_bytes(r, &len);

		if (r->failed || (len && len != RUNTIME_FACTS_BYTES))
			return -ENODATA;
		facts.runtimes[i].is_known = len != 0;
		if (len)
			memcpy(facts.runtimes[i].words, bytes, len);
	}
	if (r->pos != r->len)
		return -ENODATA;
	*ret = facts;
	return 0;
}

int file_facts_read(struct worker *decoder, int fd, const char *path,
		    struct file_facts *ret)
{
	struct wire_writer request = {.max = WORKER_MAX_REQUEST_BYTES};
	enum worker_answer answer = WORKER_FAILED;
	struct wire_reader reply;

	wire_put_str(&request, path);
	if (!request.failed)
		answer = worker_call(decoder, DECODER_INSPECT, request.data, request.len,
				     &fd, 1, NULL, NULL, FILE_FACTS_DEADLINE_MS, &reply,
				     NULL);
	wire_writer_deinit(&request);
	return answer == WORKER_OK ? read_reply(&reply, ret) : -ENODATA;
}

const struct file_facts *file_facts_get(struct target_file *file, struct worker *decoder)
{
	if (!file->facts && file->fd >= 0) {
		file->facts = calloc(1, sizeof(*file->facts));
		/* Nothing of what could not be told is filled in. */
		if (file->facts)
			file_facts_read(decoder, file->fd, file->path, file->facts);
	}
	return file->facts;
}
