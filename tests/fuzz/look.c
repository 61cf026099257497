// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an opener gets and what it answers: it is refused, or says the same when written
 * again.
 */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "opener/look.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 5};

static void check_request(const uint8_t *data, size_t size)
{
	struct wire_reader r = {.data = data, .len = size};
	struct wire_writer w = {0};
	char name[PATH_MAX];
	struct look look;

	if (look_get(&r, &look, name, sizeof(name))) {
		assert(strlen(name) < sizeof(name));
		look_put(&w, &look);
		assert(w.len == r.pos && !memcmp(w.data, data, w.len));
	}
	wire_writer_deinit(&w);
}

static void check_result(const uint8_t *data, size_t size)
{
	struct wire_reader r = {.data = data, .len = size};
	struct look look = {.fd = -1};
	bool has_fd;

	if (look_get_result(&r, &look, &has_fd)) {
		assert(look.rc <= 0 && look.rc >= -4095);
		assert(look.fd == -1);
		assert(look.text ? !look.text[look.len] : !look.len);
	}
	look_deinit(&look);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_request(data, size);
	check_result(data, size);
	return 0;
}
