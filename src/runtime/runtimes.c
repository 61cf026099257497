// SPDX-License-Identifier: GPL-2.0-or-later
#include "lineburn.h"
#include "process/file.h"
#include "runtime/runtime.h"

_Static_assert(NR_RUNTIMES <= 1 << LB_FRAME_KIND_BITS, "a frame tells which");

const struct runtime *const runtimes[NR_RUNTIMES] = {
#define RUNTIME_ROW(number, name) [RUNTIME_##number] = &name##_runtime,
	RUNTIME_ROWS(RUNTIME_ROW)
#undef RUNTIME_ROW
};

const struct runtime *runtime_of_frame(uint64_t frame)
{
	uint32_t kind = LB_FRAME_KIND(frame);

	return kind < NR_RUNTIMES && runtimes[kind]->name_frames ? runtimes[kind] : NULL;
}

const void *runtime_facts_of(enum runtime_number number, struct target_file *file,
			     struct shared_worker *decoder, struct tenant who,
			     bool *ret_later)
{
	const struct runtime *runtime = runtimes[number];
	const void *facts;

	if (!runtime->locate || !runtime->recognise(file->path))
		return NULL;
	if (!file_facts_are_there(file, decoder, who)) {
		*ret_later = true;
		return NULL;
	}
	facts = file_facts_of(file->facts, number);
	return facts && runtime->facts_are_sane(facts) ? facts : NULL;
}
