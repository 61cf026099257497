// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What processes register as code of JITs, in any order: they choose addresses, bytes, forks
 * and the times. Each step has four bytes: what is done, to which of four images, and two
 * arguments. The store must hold exactly what the images refer to, and give all of it back.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "process/jit_code.h"
#include "lib/cost.h"

#define NR_IMAGES   4
#define MAX_STEPS   600
#define STEP_BYTES  4
#define STORE_BYTES (32 << 10) /* little, so that it gets full, and is compacted */
#define NR_ENTRIES  16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A fork that changes copies its parent's table. */
const struct cost_bound cost_bound = {.fixed = 2000000, .per_byte = 3000};

static struct jit_code images[NR_IMAGES];
static struct jit_store *store;

enum step {
	STEP_REGISTER,
	STEP_SEE, /* by a walk that knows its bytes already */
	STEP_UNREGISTER,
	STEP_FORK,
	STEP_FORGET,
	STEP_CLEAN,
	STEP_DROP,
	STEP_UNPROBED,
	NR_STEPS,
};

static void register_code(struct jit_code *c, unsigned int entry, unsigned int what,
			  bool has_bytes, uint64_t now_ns)
{
	static uint8_t bytes[3 << 12];
	const struct jit_registration r = {
		.entry_addr = 0x1000 + entry % NR_ENTRIES * 8,
		.symfile_addr = 0x2000 + what % 4,
		.object = has_bytes ? bytes : NULL,
		.size_bytes = 1 + (what << 5) % (sizeof(bytes) - 1),
		.time_ns = now_ns - what % 2,
		.seen_ns = what % 3 ? now_ns : 0,
	};
	uint64_t nr_lost = c->nr_lost;
	int rc;

	memset(bytes, (int)what, sizeof(bytes));
	rc = jit_code_register(c, store, &r);
	assert(!rc || rc == -ENOSPC);
	assert(!rc || c->nr_lost >= nr_lost);
}

static bool is_shared_with_earlier(size_t image)
{
	for (size_t i = 0; i < image; i++)
		if (images[image].nr_sharers &&
		    images[i].nr_sharers == images[image].nr_sharers)
			return true;
	return false;
}

static void check_image(const struct jit_code *c, uint32_t *nr_refs)
{
	size_t nr_live = 0;

	for (size_t i = 0; i < c->nr; i++) {
		const struct jit_object *o = &c->items[i];

		nr_live += o->until_ns == UINT64_MAX;
		if (!o->size_bytes)
			continue;
		assert(o->body < store->nr_bodies);
		assert(store->bodies[o->body].size_bytes == o->size_bytes);
		assert(jit_store_ends(store, o));
		nr_refs[o->body]++;
	}
	assert(c->live.nr_items == nr_live);
}

static void check_store(void)
{
	uint32_t *nr_refs = calloc(store->nr_bodies + 1, sizeof(*nr_refs));
	uint64_t nr_items = 0, nr_objects = 0, nr_bytes = 0;

	assert(nr_refs);
	for (size_t i = 0; i < NR_IMAGES; i++)
		if (!is_shared_with_earlier(i)) {
			check_image(&images[i], nr_refs);
			nr_items += images[i].nr;
		}
	for (size_t i = 0; i < store->nr_bodies; i++) {
		const struct kept_object *b = &store->bodies[i];

		assert(b->nr_refs == nr_refs[i]);
		nr_objects += b->nr_refs > 0;
		nr_bytes += b->nr_refs ? (b->size_bytes + 4095) & ~UINT64_C(4095) : 0;
		assert(!b->nr_refs || b->offset + b->size_bytes <= store->end_bytes);
	}
	assert(store->stats.nr_registrations == nr_items);
	assert(store->stats.nr_objects == nr_objects);
	assert(store->stats.nr_bytes == nr_bytes && nr_bytes <= STORE_BYTES);
	free(nr_refs);
}

static void do_step(const uint8_t *step, uint64_t now_ns)
{
	struct jit_code *c = &images[step[1] % NR_IMAGES];
	struct jit_code *other = &images[step[2] % NR_IMAGES];

	/* Root may have all of it, others a quarter. */
	store->tenant = (struct tenant){.uid = step[1] / NR_IMAGES % 2 * 1000};
	switch ((enum step)(step[0] % NR_STEPS)) {
	case STEP_REGISTER:
	case STEP_SEE:
		register_code(c, step[2], step[3], step[0] % NR_STEPS == STEP_REGISTER,
			      now_ns);
		break;
	case STEP_UNREGISTER:
		jit_code_unregister(c, store, 0x1000 + step[2] % NR_ENTRIES * 8, now_ns);
		break;
	case STEP_FORK:
		if (c == other)
			break;
		jit_code_deinit(other, store);
		jit_code_copy(other, c, store, now_ns - step[3] % 8);
		break;
	case STEP_FORGET:
		jit_code_forget(c, store, now_ns - step[3] % 8);
		break;
	case STEP_CLEAN:
		jit_store_was_cleaned(store);
		assert(!store->stats.nr_bytes || !jit_store_is_filling(store));
		break;
	case STEP_DROP:
		jit_code_drop(c, store);
		break;
	case STEP_UNPROBED:
		c->is_unprobed = step[2] & 1;
		c->was_walked = step[2] & 2;
		break;
	case NR_STEPS:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t nr = size / STEP_BYTES < MAX_STEPS ? size / STEP_BYTES : MAX_STEPS;

	assert(!jit_store_new(STORE_BYTES, &store));
	jit_store_share(store);
	for (size_t i = 0; i < nr; i++)
		do_step(data + i * STEP_BYTES, 100 + i);
	check_store();
	for (size_t i = 0; i < NR_IMAGES; i++)
		jit_code_deinit(&images[i], store);
	assert(!store->stats.nr_objects && !store->stats.nr_bytes &&
	       !store->stats.nr_registrations);
	jit_store_free(store);
	return 0;
}
