// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/instructions.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/requests.h"

#define DEADLINE_MS 10000

void instruction_list_deinit(struct instruction_list *list)
{
	free(list->bytes);
	free(list->items);
	free(list->texts);
	*list = (struct instruction_list){0};
}

uint16_t instructions_machine(const char *name)
{
	if (!strcmp(name, "x86_64"))
		return EM_X86_64;
	if (!strcmp(name, "aarch64") || !strcmp(name, "arm64"))
		return EM_AARCH64;
	return strlen(name) == 4 && name[0] == 'i' && !strcmp(name + 2, "86") ? EM_386
									      : EM_NONE;
}

/* Minimum size of a row in the reply. */
#define MIN_ROW_BYTES (3 + 8 + 4)

static int read_row(struct wire_reader *r, uint64_t address, size_t bytes_left,
		    char *text_buf, size_t *ret_text_len, struct instruction *ret)
{
	const char *text;
	uint8_t flow;

	*ret = (struct instruction){
		.address = address, .size_bytes = wire_get_u8(r), .text = text_buf};
	flow = wire_get_u8(r);
	ret->has_target = wire_get_u8(r);
	ret->target = wire_get_u64(r);
	text = wire_get_str(r, ret_text_len);
	if (r->failed || flow >= NR_INSTRUCTION_FLOWS || !ret->size_bytes ||
	    ret->size_bytes > bytes_left)
		return -EBADMSG;
	ret->flow = (enum instruction_flow)flow;
	memcpy(text_buf, text, *ret_text_len);
	text_buf[*ret_text_len] = '\0';
	return 0;
}

static int read_rows(struct wire_reader *r, uint64_t address,
		     struct instruction_list *list)
{
	size_t left = r->len - r->pos, max = left / MIN_ROW_BYTES, texts = 0;

	list->items = calloc(max + 1, sizeof(*list->items));
	list->texts = malloc(left + 1); /* no longer than the rows in the reply */
	if (!list->items || !list->texts)
		return -ENOMEM;
	for (size_t at = 0; at < list->nr_bytes;) {
		struct instruction *one = &list->items[list->nr];
		size_t len;

		if (list->nr == max || read_row(r, address + at, list->nr_bytes - at,
						list->texts + texts, &len, one))
			return -EBADMSG;
		list->nr++;
		texts += len + 1;
		at += one->size_bytes;
	}
	return 0;
}

static int read_reply(struct wire_reader *r, uint64_t address,
		      struct instruction_list *list)
{
	uint32_t status = wire_get_u32(r);
	const void *bytes = wire_get_bytes(r, &list->nr_bytes);

	if (r->failed || status >= NR_INSTRUCTIONS_STATUSES ||
	    list->nr_bytes > INSTRUCTIONS_MAX_BYTES ||
	    (status == INSTRUCTIONS_OK) != (list->nr_bytes > 0))
		return -EBADMSG;
	list->status = (enum instructions_status)status;
	if (list->status != INSTRUCTIONS_OK)
		return 0;
	list->bytes = malloc(list->nr_bytes);
	if (!list->bytes)
		return -ENOMEM;
	memcpy(list->bytes, bytes, list->nr_bytes);
	return read_rows(r, address, list);
}

int instructions_read(struct wire_reader *r, uint64_t address,
		      struct instruction_list *ret)
{
	_cleanup_(instruction_list_deinit) struct instruction_list list = {0};
	int err = read_reply(r, address, &list);

	if (err)
		return err;
	*ret = list;
	list = (struct instruction_list){0};
	return 0;
}

int instructions_ask(struct worker *w, const struct instructions_question *question,
		     struct instruction_list *ret)
{
	struct wire_writer request = {.max = WORKER_MAX_REQUEST_BYTES};
	enum worker_answer answer;
	struct wire_reader r;
	int err;

	if (!question->size_bytes || question->size_bytes > INSTRUCTIONS_MAX_BYTES) {
		ret->status = INSTRUCTIONS_TOO_LARGE;
		return 0;
	}
	wire_put_u32(&request, question->machine);
	wire_put_u64(&request, question->address);
	wire_put_u64(&request, question->size_bytes);
	wire_put_bytes(&request, question->build_id, question->build_id_len);
	wire_put_bytes(&request, question->bytes,
		       question->bytes ? question->size_bytes : 0);
	if (request.failed) {
		wire_writer_deinit(&request);
		return -ENOMEM;
	}
	answer = worker_call(w, DECODER_DISASSEMBLE, request.data, request.len,
			     &question->fd, question->bytes ? 0 : 1, NULL, NULL,
			     DEADLINE_MS, &r, NULL);
	wire_writer_deinit(&request);
	err = answer == WORKER_OK ? instructions_read(&r, question->address, ret)
				  : -EBADMSG;
	if (err == -EBADMSG)
		ret->status = INSTRUCTIONS_GAVE_UP;
	return err == -ENOMEM ? err : 0;
}
