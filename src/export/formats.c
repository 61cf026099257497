// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/export.h"

#include <string.h>

#include "base/cleanup.h"
#include "profile/labels.h"

const struct export_format export_formats[] = {
	{"pprof", export_pprof},
};
const size_t nr_export_formats = ARRAY_SIZE(export_formats);

const char *const export_labels[] = {LABEL_COMM, LABEL_CONTAINER_NAME, LABEL_UNIT,
				     LABEL_PHASE};
const size_t nr_export_labels = ARRAY_SIZE(export_labels);

const struct export_format *export_format_find(const char *name)
{
	for (size_t i = 0; i < nr_export_formats; i++)
		if (!strcmp(export_formats[i].name, name))
			return &export_formats[i];
	return NULL;
}
