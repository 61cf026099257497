// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/render.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/match.h"

#define ANNOTATE_NEEDS (RENDER_SOURCE | RENDER_CODE | RENDER_PHASES)
#define REPORT_NEEDS   (RENDER_CALL_TREE | RENDER_GROUPS | RENDER_PHASES | RENDER_PROCESSES)

const struct render_format render_formats[] = {
	{"annotate", "text", ANNOTATE_NEEDS, render_annotate},
	{"annotate", "json", ANNOTATE_NEEDS | RENDER_PROCESSES, render_annotate_json},
	{"annotate", "csv", RENDER_CHANGES, render_annotate_csv},
	{"annotate", "quickfix", RENDER_CHANGES, render_annotate_quickfix},
	{"annotate", "html", RENDER_SOURCE | RENDER_PHASES | RENDER_HOT_CODE,
	 render_annotate_html},
	{"report", "text", REPORT_NEEDS, render_report},
	{"report", "json", REPORT_NEEDS, render_report_json},
	{"report", "csv", 0, render_report_csv},
	{"diff", "text", 0, render_diff},
	{"diff", "json", 0, render_diff_json},
	{"diff", "github", 0, render_diff_github},
	{"diff", "html", RENDER_STACKS, render_diff_html},
};
const size_t nr_render_formats = ARRAY_SIZE(render_formats);

const struct render_format *render_format_find(const char *command, const char *name)
{
	for (size_t i = 0; i < nr_render_formats; i++)
		if (!strcmp(render_formats[i].command, command) &&
		    !strcmp(render_formats[i].name, name))
			return &render_formats[i];
	return NULL;
}

const char *render_format_of_output(const char *command, const char *output)
{
	for (size_t i = 0; i < nr_render_formats; i++) {
		const struct render_format *format = &render_formats[i];
		char suffix[32];

		snprintf(suffix, sizeof(suffix), ".%s", format->name);
		if (!strcmp(format->command, command) && match_ends(output, suffix))
			return format->name;
	}
	return "text";
}
