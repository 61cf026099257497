// SPDX-License-Identifier: GPL-2.0-or-later
#include "lineburn.h"
#include "process/file.h"
#include "process/maps.h"
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

bool runtime_facts_of(enum runtime_number number, const struct mapping *m,
		      struct shared_worker *decoder, struct tenant who,
		      struct runtime_facts *ret, uint64_t *ret_again_ns)
{
	const struct runtime *runtime = runtimes[number];

	if (!runtime->locate || !runtime->recognise(m->path))
		return false;
	if (!file_facts_are_there(m->file, decoder, who)) {
		uint64_t again_ns = file_facts_late_until(m->file);

		if (again_ns < *ret_again_ns)
			*ret_again_ns = again_ns;
		return false;
	}
	if (!file_facts_of(m->file->facts, number))
		return false;
	*ret = m->file->facts->runtimes[number];
	if (runtime->name_facts)
		runtime->name_facts(ret->words, m->path);
	return runtime->facts_are_sane(ret->words);
}
