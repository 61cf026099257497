// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz: profile/arena.c profile/attribution_code.c profile/code_pack.c profile/code_table.c profile/extra_pack.c profile/extra_unpack.c profile/gzip.c profile/main_mapping.c profile/mapping_kind.c profile/pprof_parts.c profile/pprof_passes.c profile/pprof_read.c profile/pprof_tables.c profile/pprof_write.c profile/profile.c profile/profile_sample.c profile/profile_words.c profile/stack_status.c profile/string_table.c profile/attribution.c profile/attribution_index.c profile/attribution_miss.c profile/attribution_process.c profile/attribution_tables.c profile/language.c profile/sample_weight.c profile/tally.c profile/wilson.c symbolize/frame.c base/error.c base/escape.c base/hashmap.c base/strpool.c base/vec.c
// fuzz-generated: profile.pb-c.c lineburn.pb-c.c
/*
 * Any bytes are read or refused with a sentence; what was read adds up, and can
 * be written and read once more.
 */
#include <stdlib.h>

#include "profile/attribution.h"
#include "profile/pprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_attribution(const struct profile *p, enum charge charge)
{
	const struct attribution_options options = {.charge = charge};
	struct attribution *a = NULL;
	uint64_t sum;

	check(attribution_new(p, &options, &a) == 0);
	if (!__builtin_add_overflow(a->with_line.samples, a->function_only.samples,
				    &sum) &&
	    !__builtin_add_overflow(sum, a->unknown.samples, &sum))
		check(sum == a->all.samples);
	attribution_free(a);
}

static void check_written(const struct profile *p)
{
	struct profile *again = NULL;
	void *written = NULL;
	size_t len;

	check(pprof_write(p, true, &written, &len) == 0);
	/* Only the bounds of a file may be met: strings grow when made valid UTF-8. */
	if (!pprof_read(written, len, "again", p->pool, &again, NULL)) {
		check(again->nr_samples == p->nr_samples);
		check(again->nr_locations == p->nr_locations);
		check(again->nr_functions == p->nr_functions);
		check(again->extra.present == p->extra.present);
		check(again->extra.nr_sources == p->extra.nr_sources);
	} else {
		check(len > 4096);
	}
	profile_free(again);
	free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strpool *pool = strpool_new(16 << 20);
	struct profile *p = NULL;
	struct error err = {0};

	if (pprof_read(data, size, "input", pool, &p, &err)) {
		check(!p && err.text[0]);
	} else {
		check_attribution(p, CHARGE_LINE);
		check_attribution(p, CHARGE_MINE);
		check_attribution(p, CHARGE_LEAF);
		check_written(p);
	}
	profile_free(p);
	strpool_free(pool);
	return 0;
}
