// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a reader answers, as the collector reads it. First byte: the question (where a
 * Python has its frames; the list of a JIT; texts of code objects; the first once more).
 * Rest: the answers, each of u16 bytes and these bytes; for the last question, how its
 * answer differs from a right one. What is taken of them keeps its bounds.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/python/build.h"
#include "decode/python/layout.h"
#include "decode/python/state.h"
#include "process/table.h"
#include "runtime/jit/list_walk.h"
#include "runtime/python/read.h"
#include "runtime/runtime.h"
#include "lib/cost.h"
#include "lib/replies.h"

#define NR_CODES 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 10000, .per_byte = 6};

static volatile uint64_t sum;

bool process_is_alive(struct process_table *t, const struct process *p)
{
	(void)t;
	(void)p;
	return true;
}

static void locate(struct worker *reader, uint32_t version)
{
	const struct python_build build = {.version = version,
					   .runtime_off = 0x1000,
					   .eval_off = 0x2000,
					   .eval_bytes = 0x1000};
	struct runtime_place place;
	enum locate_result result =
		python_runtime.locate(reader, 1, &build, 0x400000, &place);

	assert(result <= LOCATE_READER_DIED);
	if (result != LOCATE_FOUND)
		return;
	assert(python_layout_is_sane(&place.layout));
	assert(place.layout.version == build.version && place.tls_off % 8 == 0);
	assert(place.tls_off >= -PYTHON_BYTES_BELOW &&
	       place.tls_off < PYTHON_BYTES_ABOVE);
}

/*
 * The layout of a version, with changed bytes: u8 version, u8 state, i32 offset of the
 * thread's state, then pairs of u8 offset and u8 value.
 */
static void locate_changed(struct worker *reader, const uint8_t *data, size_t size)
{
	static const uint16_t versions[] = {0x0309, 0x030a, 0x030b, 0x030c};
	struct wire_writer piece = {0};
	struct lb_interp layout;
	const uint16_t bytes = 4 + 4 + sizeof(layout) + 8;
	uint32_t version;
	int32_t tls_off;

	if (size < 6)
		return;
	version = versions[data[0] % ARRAY_SIZE(versions)];
	layout = python_layout_find(version)->frames;
	memcpy(&tls_off, data + 2, sizeof(tls_off));
	for (size_t i = 6; i + 2 <= size; i += 2)
		((uint8_t *)&layout)[data[i] % sizeof(layout)] = data[i + 1];
	wire_put_u8(&piece, (uint8_t)bytes);
	wire_put_u8(&piece, (uint8_t)(bytes >> 8));
	wire_put_u32(&piece, data[1]);
	wire_put_bytes(&piece, &layout, sizeof(layout));
	wire_put_u64(&piece, (uint64_t)(int64_t)tls_off);
	assert(piece.len == sizeof(bytes) + bytes);
	reader->replies = (struct pieces){piece.data, piece.len};
	locate(reader, version);
	wire_writer_deinit(&piece);
}

/*
 * A walk goes on while it has time. Each call takes some, and sends all that is known by then,
 * so they are few.
 */
#define MAX_CALLS 4

struct walked {
	uint64_t nr_found, nr_calls;
};

static bool has_time(void *ctx)
{
	struct walked *walked = ctx;

	return ++walked->nr_calls < MAX_CALLS;
}

static void found(void *ctx, const struct list_object *o, enum list_state state,
		  const void *bytes)
{
	struct walked *walked = ctx;

	walked->nr_found++;
	assert(state < NR_LIST_STATES && state != LIST_LATER);
	assert((bytes != NULL) == (state == LIST_NEW));
	/* All of it must be there. */
	for (uint64_t i = 0; bytes && i < o->size_bytes; i++)
		sum += ((const uint8_t *)bytes)[i];
}

static void walk(struct worker *reader)
{
	const struct list_object known[] = {{0x1000, 0x2000, 100, 1}};
	struct jit_list_stats stats;
	struct walked walked = {0};

	if (jit_list_walk(reader, 1, 0x5000, UINT64_MAX, known, 1, has_time, found,
			  &walked, &stats) != WORKER_OK)
		assert(stats.result == LIST_NONE);
	assert(stats.result < NR_LIST_WALKS);
	assert(stats.nr_new + stats.nr_foreign + stats.nr_unreadable <= walked.nr_found);
}

/* A code object whose texts are longer than what the kernel side copied. */
static void add_cut(struct interp_codes *codes, struct interp_store *store, uint64_t id)
{
	struct lb_interp_code *record = calloc(1, sizeof(*record));
	size_t size = sizeof(*record) - sizeof(record->table);

	assert(record);
	record->code_id = id;
	record->code_addr = 0x10000 * id;
	record->version = 0x030b;
	record->file_chars = record->name_chars = record->table_bytes = 5000;
	record->file_width = record->name_width = 1;
	memset(record->file, 'f', sizeof(record->file));
	memset(record->name, 'n', sizeof(record->name));
	assert(!interp_codes_add(codes, store, record, size));
	free(record);
}

static void check_text(const struct interp_text *text)
{
	assert(!text->width || text->len % text->width == 0);
	for (uint32_t i = 0; text->bytes && i < text->len; i++)
		sum += text->bytes[i];
}

static void read_cut(struct worker *reader)
{
	struct process p = {.tgid = 1};
	struct interp_store *store = NULL;
	struct lb_interp layout = {.version = 0x030b};

	assert(!interp_store_new(1 << 20, &store));
	for (uint64_t id = 1; id <= NR_CODES; id++)
		add_cut(&p.interp_codes, store, id);
	assert(p.interp_codes.nr_cut == NR_CODES);
	python_read_cut(reader, NULL, &p, &layout);
	assert(!p.interp_codes.nr_cut);
	for (uint64_t id = 1; id <= NR_CODES; id++) {
		const struct interp_code *code = interp_codes_find(&p.interp_codes, id);

		assert(code);
		check_text(&code->file);
		check_text(&code->name);
		check_text(&code->table);
	}
	interp_codes_deinit(&p.interp_codes);
	assert(!store->stats.nr_texts && !store->stats.nr_bytes);
	interp_store_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return -1;
	worker.replies = (struct pieces){data + 1, size - 1};
	switch (data[0] % 4) {
	case 0:
		locate(&worker, 0x030b);
		break;
	case 1:
		walk(&worker);
		break;
	case 2:
		read_cut(&worker);
		break;
	default:
		locate_changed(&worker, data + 1, size - 1);
	}
	worker_free(&worker);
	return 0;
}
