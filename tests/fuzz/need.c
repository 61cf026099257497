// SPDX-License-Identifier: GPL-2.0-or-later
/* A decoder's request for a file: it is refused, or says the same when written again. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/need.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 6000, .per_byte = 5};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader r = {.data = data, .len = size};
	struct wire_writer w = {0};
	struct need *need = calloc(2, sizeof(*need));
	int rc;

	assert(need);
	rc = need_get(&r, &need[0]);
	assert(!rc || rc == -EBADMSG);
	if (!rc) {
		assert(need[0].build_id_len <= sizeof(need[0].build_id));
		assert(strnlen(need[0].name, sizeof(need[0].name)) <
		       sizeof(need[0].name));
		assert(strnlen(need[0].comp_dir, sizeof(need[0].comp_dir)) <
		       sizeof(need[0].comp_dir));
		need_put(&w, &need[0]);
		assert(!w.failed);
		r = (struct wire_reader){.data = w.data, .len = w.len};
		assert(!need_get(&r, &need[1]));
		assert(!memcmp(&need[0], &need[1], sizeof(need[0])));
	}
	wire_writer_deinit(&w);
	free(need);
	return 0;
}
