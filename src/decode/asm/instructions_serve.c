// SPDX-License-Identifier: GPL-2.0-or-later
/* Serves DECODER_DISASSEMBLE. */
#include <errno.h>
#include <string.h>

#include "decode/asm/disassemble.h"
#include "decode/elf/binary.h"
#include "decode/requests.h"

struct request {
	uint16_t machine;
	uint64_t address, size_bytes;
	const uint8_t *build_id;
	size_t build_id_len;
	const uint8_t *code;
	size_t code_len; /* 0: in the file */
};

static int read_request(struct wire_reader *r, size_t nr_fds, struct request *ret)
{
	ret->machine = (uint16_t)wire_get_u32(r);
	ret->address = wire_get_u64(r);
	ret->size_bytes = wire_get_u64(r);
	ret->build_id = wire_get_bytes(r, &ret->build_id_len);
	ret->code = wire_get_bytes(r, &ret->code_len);
	if (r->failed || nr_fds != (ret->code_len ? 0 : 1))
		return -EBADMSG;
	return ret->code_len && ret->code_len != ret->size_bytes ? -EBADMSG : 0;
}

/* Takes code and machine from the file. Return: enum instructions_status, or -ENOMEM. */
static int find_code(struct request *q, const struct binary *b)
{
	if (q->build_id_len && (q->build_id_len != b->build_id_len ||
				memcmp(q->build_id, b->build_id, q->build_id_len)))
		return INSTRUCTIONS_FILE_REPLACED;
	q->machine = b->machine;
	q->code = binary_bytes_at(b, q->address, q->size_bytes);
	return q->code ? INSTRUCTIONS_OK : INSTRUCTIONS_NOT_THERE;
}

static void put_rows(struct disassembler *d, const struct request *q,
		     struct wire_writer *reply)
{
	struct disassembled one;

	for (size_t at = 0; at < q->size_bytes; at += one.size_bytes) {
		disassembler_next(d, q->code + at, q->size_bytes - at, q->address + at,
				  &one);
		wire_put_u8(reply, (uint8_t)one.size_bytes);
		wire_put_u8(reply, (uint8_t)one.flow);
		wire_put_u8(reply, one.has_target);
		wire_put_u64(reply, one.target);
		wire_put_str(reply, one.text);
	}
}

static int put_status(enum instructions_status status, struct wire_writer *reply)
{
	wire_put_u32(reply, status);
	wire_put_bytes(reply, NULL, 0);
	return 0;
}

int instructions_serve(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(binary_freep) struct binary *binary = NULL;
	_cleanup_(disassembler_freep) struct disassembler *d = NULL;
	struct request q;
	bool from_file;
	int err = read_request(request, nr_fds, &q);

	(void)call;
	if (err)
		return err;
	if (!q.size_bytes || q.size_bytes > INSTRUCTIONS_MAX_BYTES)
		return put_status(INSTRUCTIONS_TOO_LARGE, reply);
	from_file = !q.code_len;
	if (from_file) {
		err = binary_open(fds[0], &binary);
		if (err)
			return err == -ENOMEM ? err
					      : put_status(INSTRUCTIONS_BAD_FILE, reply);
		err = find_code(&q, binary);
		if (err)
			return put_status((enum instructions_status)err, reply);
	}
	err = disassembler_new(q.machine, !from_file, &d);
	if (err == -EOPNOTSUPP)
		return put_status(INSTRUCTIONS_UNKNOWN_MACHINE, reply);
	if (err)
		return err;
	wire_put_u32(reply, INSTRUCTIONS_OK);
	wire_put_bytes(reply, q.code, q.size_bytes);
	put_rows(d, &q, reply);
	return 0;
}
