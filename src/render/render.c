// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/render.h"

#include "base/cleanup.h"

const struct render_format render_formats[] = {
	{"annotate", "text", "hot lines within their source", render_annotate},
	{"annotate", "json", "lines, functions, misses and cost, for scripts",
	 render_annotate_json},
	{"report", "text", "functions, self and total", render_report},
	{"report", "json", "functions, processes, misses and cost, for scripts",
	 render_report_json},
};
const size_t nr_render_formats = ARRAY_SIZE(render_formats);
