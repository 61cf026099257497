// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a decoder answers, as the collector reads it: first byte: the question, then the
 * answers, each of u16 bytes and these bytes. Answers about unwinding have their own target
 * (cfi.c), and the part that all answers with names share (answer.c).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strpool.h"
#include "decode/answer.h"
#include "process/process.h"
#include "runtime/python/name.h"
#include "symbolize/instructions.h"
#include "symbolize/symbolizer.h"
#include "lib/cost.h"
#include "lib/replies.h"

#define NR_ADDRESSES 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 30000, .per_byte = 100};

static volatile size_t sum;

static void read_facts(void)
{
	struct file_facts facts;

	if (!file_facts_read(&worker, (struct tenant){0}, -1, &facts))
		for (size_t i = 0; i < NR_RUNTIMES; i++)
			assert(facts.runtimes[i].is_known || !facts.runtimes[i].words[0]);
}

static void read_instructions(void)
{
	const struct instructions_question question = {
		.address = UINT64_MAX - 100, .size_bytes = 1000, .fd = -1};
	struct instruction_list list = {0};
	size_t bytes = 0;

	assert(!instructions_ask(&worker, &question, &list));
	assert(list.status < NR_INSTRUCTIONS_STATUSES);
	for (size_t i = 0; i < list.nr; i++) {
		assert(list.items[i].flow < NR_INSTRUCTION_FLOWS);
		bytes += list.items[i].size_bytes;
		sum += strlen(list.items[i].text);
	}
	assert(bytes == list.nr_bytes);
	instruction_list_deinit(&list);
}

static void name_python_frames(struct strpool *pool)
{
	const struct process p = {.cwd = "/home/user", .root_fd = -1};
	struct runtime_naming with = {.pool = pool, .process = &p};
	struct runtime_frame frames[NR_ADDRESSES] = {{0}};
	struct answers answers = {0};
	struct wire_reader reply;
	void *state = NULL;
	int rc;

	if (worker_call(&worker, 0, NULL, 0, NULL, 0, NULL, NULL, 0, &reply, NULL))
		return;
	with.reply = &reply;
	rc = python_name_frames(&with, frames, NR_ADDRESSES, &answers);
	assert(!rc || rc == -ENODATA);
	assert(rc || answers.nr == NR_ADDRESSES);
	with.may_open = true;
	do
		rc = python_find_files(&with, &answers, &state);
	while (rc == -EAGAIN);
	assert(!rc);
	free(state);
	answers_deinit(&answers);
}

static void name_addresses(struct strpool *pool)
{
	static const uint64_t vaddrs[NR_ADDRESSES] = {0x1000, 0x2000, 0x3000, UINT64_MAX};
	const struct symbolizer_config config = {.debug_dir = "/none"};
	struct resolved resolved[NR_ADDRESSES];
	struct symbolizer *s = NULL;

	if (symbolizer_new(&config, pool, &worker, NULL, &s, NULL))
		abort();
	assert(!symbolizer_resolve_vaddrs(s, -1, vaddrs, NR_ADDRESSES, resolved));
	for (size_t i = 0; i < NR_ADDRESSES; i++) {
		assert((unsigned int)resolved[i].miss < NR_MISSES);
		for (size_t k = 0; k < resolved[i].nr_frames; k++)
			sum += strlen(resolved[i].frames[k].function) +
			       strlen(resolved[i].frames[k].file);
	}
	symbolizer_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strpool *pool;

	if (!size)
		return -1;
	pool = strpool_new(1 << 20);
	worker.replies = (struct pieces){data + 1, size - 1};
	switch (data[0] % 4) {
	case 0:
		read_facts();
		break;
	case 1:
		read_instructions();
		break;
	case 2:
		name_python_frames(pool);
		break;
	default:
		name_addresses(pool);
	}
	worker_free(&worker);
	strpool_free(pool);
	return 0;
}
