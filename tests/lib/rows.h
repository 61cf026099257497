/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests unwind rows from a decoder, and waits for the answer. */
#ifndef LB_TESTS_LIB_ROWS_H
#define LB_TESTS_LIB_ROWS_H

#include "decode/operation.h"
#include "unwind/ask.h"

static inline enum worker_answer rows_of_file(struct worker *decoder, int fd,
					      const struct asked_page *pages, size_t nr,
					      struct row_pages *ret)
{
	struct wire_writer request = {0};
	struct wire_reader reply = {0};
	enum worker_answer answer;

	rows_of_file_put(&request, pages, nr);
	answer = worker_call(decoder, DECODER_CFI, request.data, request.len, &fd, 1,
			     NULL, NULL, ROWS_DEADLINE_MS, &reply, NULL);
	wire_writer_deinit(&request);
	return rows_of_file_take(answer, &reply, pages, nr, ret);
}

static inline enum worker_answer rows_of_jit(
	struct worker *decoder, int fd, const struct jit_piece *pieces, size_t nr,
	void (*fn)(void *ctx, size_t piece, struct jit_text *text), void *ctx)
{
	struct wire_writer request = {0};
	struct wire_reader reply = {0};
	enum worker_answer answer;

	rows_of_jit_put(&request, pieces, nr);
	answer = worker_call(decoder, DECODER_CFI_JIT, request.data, request.len, &fd, 1,
			     NULL, NULL, ROWS_DEADLINE_MS, &reply, NULL);
	wire_writer_deinit(&request);
	return rows_of_jit_take(answer, &reply, nr, fn, ctx);
}

#endif
