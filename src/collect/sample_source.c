// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/sample_source.h"

#include <string.h>

static const struct sample_source_kind *const kinds[LB_NR_SOURCES] = {
	[LB_SOURCE_CPU_CLOCK] = &cpu_clock_source,
	[LB_SOURCE_PAGE_FAULTS] = &page_fault_source,
};

const struct sample_source_kind *sample_source_named(const char *name)
{
	for (size_t i = 0; i < LB_NR_SOURCES; i++)
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return NULL;
}
